/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The folder of compiled kernels, read: whole files are checked against their checksums, and the
 * texts of their keys are taken out. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "core/base/store.h"
#include "tools/cache/cache.h"

enum { KEY_TEXTS = 5 };

static uint64_t number(const uint8_t *p, int n)
{
    uint64_t v = 0;
    while (n-- > 0)
        v = v << 8 | p[n];
    return v;
}

/* A file of a cache, whole; NULL: it cannot be read, or is none. */
static uint8_t *read_file(int folder, const char *name, struct stat *st)
{
    const int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    FILE *file = fd >= 0 ? fdopen(fd, "r") : NULL;
    uint8_t *bytes = NULL;
    if (!file) {
        if (fd >= 0)
            close(fd);
        return NULL;
    }
    if (fstat(fd, st) == 0 && S_ISREG(st->st_mode)) {
        const size_t n = (size_t)st->st_size;
        bytes = malloc(n + 1);
        if (bytes && fread(bytes, 1, n, file) != n) {
            free(bytes);
            bytes = NULL;
        }
    }
    fclose(file);
    return bytes;
}

static bool is_whole(const uint8_t *file, uint64_t size)
{
    uint8_t digest[32];
    nd_sha256 sha;
    if (size < ND_STORE_HEADER || memcmp(file, "NDOCKKRN", 8) != 0 ||
        number(file + 8, 4) != ND_STORE_VERSION || number(file + 16, 8) > size - ND_STORE_HEADER ||
        number(file + 24, 8) != size - ND_STORE_HEADER - number(file + 16, 8))
        return false;
    nd__sha256_init(&sha);
    nd__sha256_add(&sha, file, 32);
    nd__sha256_add(&sha, file + ND_STORE_HEADER, (size_t)(size - ND_STORE_HEADER));
    nd__sha256_end(&sha, digest);
    return memcmp(digest, file + 32, sizeof digest) == 0;
}

/* The key's texts: source, options, arch, compiler, library, each behind its length. */
static void read_key(const uint8_t *key, uint64_t nbytes, cache_entry *e)
{
    char *const out[KEY_TEXTS] = {NULL, e->options, e->arch, e->compiler, e->library};
    for (int i = 0; i < KEY_TEXTS && nbytes >= 8; i++) {
        const uint64_t n = number(key, 8);
        key += 8;
        nbytes -= 8;
        if (n > nbytes)
            return;
        if (out[i])
            snprintf(out[i], CACHE_TEXT, "%.*s", (int)(n < CACHE_TEXT ? n : CACHE_TEXT - 1),
                     (const char *)key);
        key += n;
        nbytes -= n;
    }
}

static int add_entry(cache_entries *all, int folder, const char *prefix, const char *name)
{
    struct stat st;
    if (all->n == all->room) {
        const size_t room = all->room ? 2 * all->room : 64;
        cache_entry *items = realloc(all->items, room * sizeof *items);
        if (!items)
            return -1;
        all->items = items;
        all->room = room;
    }
    uint8_t *file = read_file(folder, name, &st);
    if (!file)
        return 0;
    cache_entry *e = &all->items[all->n++];
    *e = (cache_entry){.nbytes = (uint64_t)st.st_size, .used = (int64_t)st.st_mtime};
    snprintf(e->name, sizeof e->name, "%.2s%.62s", prefix, name);
    e->damaged = !is_whole(file, e->nbytes);
    if (!e->damaged)
        read_key(file + ND_STORE_HEADER, number(file + 16, 8), e);
    all->damaged += e->damaged;
    free(file);
    return 0;
}

static bool is_hex(const char *text, size_t n)
{
    return strlen(text) == n && strspn(text, "0123456789abcdef") == n;
}

static int read_folder(cache_entries *all, int top, const char *name)
{
    const int fd = openat(top, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
    int status = 0;
    if (!d) {
        if (fd >= 0)
            close(fd);
        return 0;
    }
    for (struct dirent *e; status == 0 && (e = readdir(d)) != NULL;)
        if (is_hex(e->d_name, 62))
            status = add_entry(all, fd, name, e->d_name);
    closedir(d);
    return status;
}

static int by_use(const void *a, const void *b)
{
    const cache_entry *x = a, *y = b;
    return x->used != y->used ? (x->used < y->used) - (x->used > y->used)
                              : strcmp(x->name, y->name);
}

static int sum_makers(cache_entries *all)
{
    all->makers = calloc(all->n + 1, sizeof *all->makers);
    if (!all->makers)
        return -1;
    for (size_t i = 0; i < all->n; i++) {
        const cache_entry *e = &all->items[i];
        size_t k = 0;
        while (k < all->n_makers && strcmp(all->makers[k].name, e->library) != 0)
            k++;
        if (e->damaged)
            continue;
        if (k == all->n_makers)
            snprintf(all->makers[all->n_makers++].name, CACHE_TEXT, "%s", e->library);
        all->makers[k].entries++;
        all->makers[k].nbytes += e->nbytes;
    }
    return 0;
}

int cache_read(const char *dir, cache_entries *out)
{
    *out = (cache_entries){.items = NULL};
    const int top = dir[0] ? open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    DIR *d = top >= 0 ? fdopendir(top) : NULL;
    int status = 0;
    for (struct dirent *e; d && status == 0 && (e = readdir(d)) != NULL;)
        if (is_hex(e->d_name, 2))
            status = read_folder(out, top, e->d_name);
    if (d)
        closedir(d);
    else if (top >= 0)
        close(top);
    if (status == 0 && out->n)
        qsort(out->items, out->n, sizeof *out->items, by_use);
    if (status == 0)
        status = sum_makers(out);
    if (status != 0)
        cache_free(out);
    return status;
}

void cache_free(cache_entries *all)
{
    free(all->items);
    free(all->makers);
    *all = (cache_entries){.items = NULL};
}
