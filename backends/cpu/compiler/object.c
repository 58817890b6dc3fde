/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * A shared object in memory, opened as a library without a name in any folder. */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "compiler/compiler.h"

static int write_all(int fd, const char *p, uint64_t n)
{
    while (n) {
        const ssize_t done = write(fd, p, n);
        if (done < 0 && errno != EINTR)
            return 0;
        p += done > 0 ? done : 0;
        n -= done > 0 ? (uint64_t)done : 0;
    }
    return 1;
}

static void *open_fd(int fd, const char *path, const void *code, uint64_t nbytes, char *why,
                     size_t n)
{
    void *library = NULL;
    if (fd < 0 || !write_all(fd, code, nbytes)) {
        snprintf(why, n, "%s", strerror(errno));
    } else {
        library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        const char *text = library ? NULL : dlerror();
        if (!library)
            snprintf(why, n, "%s", text ? text : "dlopen gave no reason");
    }
    if (fd >= 0)
        close(fd);
    return library;
}

/* Where memory cannot be opened as a file (no /proc, a policy), a file does it that has no name
 * afterwards. */
static void *open_by_file(const void *code, uint64_t nbytes, char *why, size_t n)
{
    static atomic_uint count;
    char path[4096];
    const char *tmp = getenv("TMPDIR");
    snprintf(path, sizeof path, "%s/ndock.%u.XXXXXX", tmp && tmp[0] == '/' ? tmp : "/tmp",
             atomic_fetch_add(&count, 1));
    const int fd = mkstemp(path); /* of mode 0600, and new */
    void *library = open_fd(fd, path, code, nbytes, why, n);
    if (fd >= 0)
        (void)unlink(path);
    return library;
}

/* The path of an open file, which no other object had: the dynamic linker takes a library for one
 * that is open already by its path alone, and numbers of files come again. The bits of a count are
 * written as "/." and "//", which lead nowhere else. */
static void unique_path(int fd, char *path, size_t n)
{
    static atomic_uint count;
    const unsigned bits = atomic_fetch_add(&count, 1);
    char *at = path + snprintf(path, n, "/proc/self/fd");
    for (int i = 0; i < 32; i++, at += 2)
        memcpy(at, bits >> i & 1 ? "/." : "//", 2);
    snprintf(at, n - (size_t)(at - path), "/%d", fd);
}

void *cpu_object_open(const void *code, uint64_t nbytes, char *why, size_t n)
{
    char path[128];
    const int fd = memfd_create("ndock kernel", MFD_CLOEXEC);
    unique_path(fd, path, sizeof path);
    void *library = fd >= 0 ? open_fd(fd, path, code, nbytes, why, n) : NULL;
    return library ? library : open_by_file(code, nbytes, why, n);
}
