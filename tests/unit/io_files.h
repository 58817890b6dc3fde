/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * A scratch folder for tests of file formats, and files made of bytes in it. */
#ifndef NDOCK_TESTS_IO_FILES_H
#define NDOCK_TESTS_IO_FILES_H
#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>
#include <ndock/ndock.h>
#include "tests/tap.h"

static char io_folder[256];

static void io_remove(void)
{
    char path[600];
    DIR *folder = opendir(io_folder);
    for (struct dirent *e; folder && (e = readdir(folder));) {
        snprintf(path, sizeof path, "%s/%s", io_folder, e->d_name);
        if (e->d_name[0] != '.' || strlen(e->d_name) > 2)
            remove(path);
    }
    if (folder)
        closedir(folder);
    rmdir(io_folder);
}

/* Path of a file in the scratch folder, which is made by the first call. Good for eight calls. */
static const char *io_path(const char *name)
{
    static char ring[8][600];
    static unsigned next;
    char *path = ring[next++ % 8];
    if (!io_folder[0]) {
        const char *tmp = getenv("TMPDIR");
        snprintf(io_folder, sizeof io_folder, "%s/ndock-test-XXXXXX", tmp ? tmp : "/tmp");
        if (!mkdtemp(io_folder))
            bail("no scratch folder");
        atexit(io_remove);
    }
    snprintf(path, sizeof ring[0], "%s/%s", io_folder, name);
    return path;
}

/* Writes bytes to a file of the scratch folder and returns its path. */
__attribute__((unused)) static const char *io_put(const char *name, const void *data, size_t n)
{
    const char *path = io_path(name);
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(data, 1, n, f) != n || fclose(f) != 0)
        bail("cannot write a scratch file");
    return path;
}

/* Up to room bytes of a file; their number, or -1. */
__attribute__((unused)) static long io_get(const char *path, void *data, size_t room)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        return -1;
    long n = (long)fread(data, 1, room, f);
    fclose(f);
    return n;
}

__attribute__((unused)) static int io_same(const char *path, const void *want, size_t n)
{
    char *got = malloc(n + 2);
    int same = io_get(path, got, n + 1) == (long)n && memcmp(got, want, n) == 0;
    free(got);
    return same;
}

/* Number of entries of the scratch folder. */
__attribute__((unused)) static int io_entries(void)
{
    int n = 0;
    DIR *folder = opendir(io_folder);
    for (struct dirent *e; folder && (e = readdir(folder));)
        n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    if (folder)
        closedir(folder);
    return n;
}

/* An array of n bytes of elements. */
__attribute__((unused)) static nd_array *io_array(nd_dtype dtype, int ndim, const int64_t *shape,
                                                  const void *data)
{
    nd_layout layout = {.size = sizeof layout, .dtype = dtype, .ndim = ndim, .shape = shape};
    nd_array *a = NULL;
    if (nd_from_host(&layout, data, NULL, &a) != ND_OK) {
        diag("%s", nd_last_error()->message);
        bail("nd_from_host failed");
    }
    return a;
}

/* Dtype, shape and bytes in C order are as told. */
__attribute__((unused)) static int io_is(const nd_array *a, nd_dtype dtype, int ndim,
                                         const int64_t *shape, const void *want)
{
    if (!a || nd_dtype_of(a) != dtype || nd_ndim(a) != ndim)
        return 0;
    for (int i = 0; i < ndim; i++)
        if (nd_shape(a)[i] != shape[i])
            return 0;
    size_t nbytes = (size_t)nd_size(a) * nd_dtype_size(dtype);
    char *got = malloc(nbytes + 1);
    int same = nd_to_host(a, got, nbytes) == ND_OK && memcmp(got, want, nbytes) == 0;
    free(got);
    return same;
}

/* Bytes that differ from one another; a bool is 0 or 1. */
__attribute__((unused)) static void io_fill(nd_dtype dtype, unsigned char *data, size_t n)
{
    for (size_t i = 0; i < n; i++)
        data[i] = (unsigned char)(dtype == ND_BOOL ? i % 3 == 1 : i * 37 + 11);
}

/* The status, and a word of the message. */
__attribute__((unused)) static void io_fails(nd_status got, nd_status want, const char *word,
                                             const char *what)
{
    const char *message = nd_last_error()->message;
    int pass = got == want && strstr(message, word);
    ok(pass, "%s", what);
    if (!pass)
        diag("got status %d: %s; want status %d with \"%s\"", (int)got,
             got == ND_OK ? "(success)" : message, (int)want, word);
}
#endif
