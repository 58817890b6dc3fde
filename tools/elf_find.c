/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Where the dynamic loader would find a library (ld.so(8)), without asking it: asking loads the
 * library and runs its constructors. */
#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "tools/elf.h"

static bool fits(const elf_file *by, const char *path)
{
    elf_file library;
    char error[16];
    if (!elf_open(path, &library, error, sizeof error))
        return false;
    bool same = library.wide == by->wide && library.big == by->big &&
                library.machine == by->machine && library.type == ET_DYN;
    elf_close(&library);
    return same;
}

/* A folder of a path list with $ORIGIN put in; false for an empty one, one that is too long, or
 * with another variable, whose value is the loader's secret. */
static bool expand(const char *folder, size_t n, const char *origin, char *out, size_t room)
{
    size_t len = 0;
    for (size_t i = 0; i < n && len < room; i++) {
        size_t skip = strncmp(folder + i, "${ORIGIN}", 9) == 0 ? 9
                      : strncmp(folder + i, "$ORIGIN", 7) == 0 ? 7
                                                               : 0;
        if (folder[i] == '$' && (skip == 0 || i + skip > n))
            return false;
        if (skip) {
            len += (size_t)snprintf(out + len, room - len, "%s", origin);
            i += skip - 1;
        } else {
            out[len++] = folder[i];
        }
    }
    if (len == 0 || len >= room)
        return false;
    out[len] = 0;
    return true;
}

static bool in_folder(const elf_file *by, const char *folder, const char *library, char *found,
                      size_t n)
{
    int length = snprintf(found, n, "%s/%s", folder, library);
    return length > 0 && (size_t)length < n && fits(by, found);
}

static bool in_list(const elf_file *by, const char *list, const char *origin, const char *library,
                    char *found, size_t n)
{
    char folder[PATH_MAX];
    for (const char *p = list; p && *p;) {
        size_t length = strcspn(p, ":;");
        if (expand(p, length, origin, folder, sizeof folder) &&
            in_folder(by, folder, library, found, n))
            return true;
        p += length + (p[length] != 0);
    }
    return false;
}

/* /etc/ld.so.cache of glibc: a magic text, the number of entries, and for each the offsets of name
 * and path from the beginning. Older files have a table of another form before it, 16 + 12 bytes an
 * entry, padded to 8. */
#define CACHE_MAGIC "glibc-ld.so.cache1.1"
#define OLD_MAGIC "ld.so-1.7.0"
enum { HEADER = 48, ENTRY = 24 };

static uint32_t u32(const unsigned char *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

static const char *cache_text(const unsigned char *cache, size_t size, uint32_t at)
{
    return at < size && memchr(cache + at, 0, size - at) ? (const char *)cache + at : NULL;
}

static bool in_cache_text(const elf_file *by, const unsigned char *cache, size_t size,
                          const char *library, char *found, size_t n)
{
    if (size >= 16 && memcmp(cache, OLD_MAGIC, strlen(OLD_MAGIC)) == 0) {
        size_t old = (16 + 12 * (size_t)u32(cache + 12) + 7) & ~(size_t)7;
        if (old > size)
            return false;
        cache += old;
        size -= old;
    }
    if (size < HEADER || memcmp(cache, CACHE_MAGIC, strlen(CACHE_MAGIC)) != 0)
        return false;
    for (uint32_t i = 0; i < u32(cache + 20) && HEADER + ENTRY * ((size_t)i + 1) <= size; i++) {
        const unsigned char *entry = cache + HEADER + ENTRY * (size_t)i;
        const char *name = cache_text(cache, size, u32(entry + 4));
        const char *path = cache_text(cache, size, u32(entry + 8));
        if (name && path && strcmp(name, library) == 0 && strlen(path) < n && fits(by, path)) {
            strcpy(found, path);
            return true;
        }
    }
    return false;
}

static bool in_cache(const elf_file *by, const char *library, char *found, size_t n)
{
    struct stat st;
    bool yes = false;
    int fd = open("/etc/ld.so.cache", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    if (fstat(fd, &st) == 0 && st.st_size > 0) {
        void *cache = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (cache != MAP_FAILED) {
            yes = in_cache_text(by, cache, (size_t)st.st_size, library, found, n);
            (void)munmap(cache, (size_t)st.st_size);
        }
    }
    close(fd);
    return yes;
}

bool elf_find(const elf_file *e, const char *path, const char *library, char *found, size_t n)
{
    char origin[PATH_MAX];
    uint64_t at = 0;
    if (strchr(library, '/'))
        return (size_t)snprintf(found, n, "%s", library) < n && fits(e, found);
    if (!realpath(path, origin))
        origin[0] = 0;
    char *slash = strrchr(origin, '/');
    if (slash)
        *slash = 0;
    const char *runpath = elf_dynamic_text(e, DT_RUNPATH, &at);
    at = 0;
    const char *rpath = runpath ? NULL : elf_dynamic_text(e, DT_RPATH, &at);
    return in_list(e, rpath, origin, library, found, n) ||
           in_list(e, secure_getenv("LD_LIBRARY_PATH"), origin, library, found, n) ||
           in_list(e, runpath, origin, library, found, n) || in_cache(e, library, found, n) ||
           in_list(e, e->wide ? "/lib64:/usr/lib64:/lib:/usr/lib" : "/lib:/usr/lib", origin,
                   library, found, n);
}
