/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Shared by the fuzz targets: the input as a file, through the public API like any other. A target
 * has libFuzzer's form, so that clang -fsanitize=fuzzer and tests/fuzz/replay.c can both run it. */
#ifndef NDOCK_TESTS_FUZZ_H
#define NDOCK_TESTS_FUZZ_H
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <ndock/ndock.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The input read as numbers; zeros after its end. */
typedef struct {
    const uint8_t *data;
    size_t left;
} fuzz_reader;

static inline uint8_t fuzz_byte(fuzz_reader *r)
{
    if (r->left == 0)
        return 0;
    r->left--;
    return *r->data++;
}

/* Mostly -below ... above - 1, above + below a divisor of 256; now and then eight bytes as they
 * stand. */
static inline int64_t fuzz_number(fuzz_reader *r, int below, int above)
{
    int64_t wild = 0;
    uint8_t b = fuzz_byte(r);
    if (b < 240)
        return b % (below + above) - below;
    for (int i = 0; i < 8; i++)
        wild = (int64_t)((uint64_t)wild << 8 | fuzz_byte(r));
    return wild;
}

/* A file in memory with these bytes; the same one every time. */
static inline const char *fuzz_file(const uint8_t *data, size_t size)
{
    static char path[64];
    static int fd = -1;
    if (fd < 0) {
        fd = memfd_create("fuzz", MFD_CLOEXEC);
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    }
    if (fd < 0 || ftruncate(fd, 0) < 0 || pwrite(fd, data, size, 0) != (ssize_t)size)
        abort();
    return path;
}

/* While muted, what a tool of the command says goes nowhere; a sanitizer writes to the descriptor
 * and is seen. */
static inline void fuzz_mute(int muted)
{
    static FILE *nowhere, *out, *err;
    if (!nowhere) {
        nowhere = fopen("/dev/null", "w");
        out = stdout;
        err = stderr;
    }
    if (!nowhere)
        abort();
    stdout = muted ? nowhere : out;
    stderr = muted ? nowhere : err;
}

/* A file of that name in a folder of this process alone, with these bytes; both go at its end. */
static char fuzz_folder[64], fuzz_path[192];
static inline void fuzz_remove(void)
{
    (void)unlink(fuzz_path);
    for (char *end; strlen(fuzz_path) > strlen(fuzz_folder); (void)rmdir(fuzz_path)) {
        if ((end = strrchr(fuzz_path, '/')) == NULL)
            return;
        *end = 0;
    }
}
static inline void fuzz_write(const char *name, const void *data, size_t size)
{
    if (!fuzz_folder[0]) {
        snprintf(fuzz_folder, sizeof fuzz_folder, "/tmp/ndock-fuzz.XXXXXX");
        if (!mkdtemp(fuzz_folder) || atexit(fuzz_remove) != 0)
            abort();
    }
    snprintf(fuzz_path, sizeof fuzz_path, "%s/%s", fuzz_folder, name);
    for (char *p = fuzz_path + strlen(fuzz_folder) + 1; (p = strchr(p, '/')) != NULL; *p++ = '/') {
        *p = 0;
        (void)mkdir(fuzz_path, 0700);
    }
    int fd = open(fuzz_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size || close(fd) < 0)
        abort();
}

/* A failure leaves no result and a message; a result can be read to its last element. */
static inline void fuzz_result(nd_status status, nd_array *a)
{
    if ((status == ND_OK) != (a != NULL))
        abort();
    if (!a) {
        if (!nd_last_error()->message[0] || nd_last_error()->status != status)
            abort();
        return;
    }
    size_t nbytes = (size_t)nd_size(a) * nd_dtype_size(nd_dtype_of(a));
    void *copy = malloc(nbytes + 1);
    if (!copy || nd_to_host(a, copy, nbytes) != ND_OK)
        abort();
    free(copy);
    nd_release(a);
}
#endif
