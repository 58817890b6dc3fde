/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Shared by the fuzz targets: the input as a file, through the public API like any other. A target
 * has libFuzzer's form, so that clang -fsanitize=fuzzer and tests/fuzz/replay.c can both run it. */
#ifndef NDOCK_TESTS_FUZZ_H
#define NDOCK_TESTS_FUZZ_H
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <ndock/ndock.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The input read as numbers; zeros after its end. */
typedef struct {
    const uint8_t *data;
    size_t left;
} fuzz_reader;

__attribute__((unused)) static uint8_t fuzz_byte(fuzz_reader *r)
{
    if (r->left == 0)
        return 0;
    r->left--;
    return *r->data++;
}

/* Mostly -below ... above - 1, above + below a divisor of 256; now and then eight bytes as they
 * stand. */
__attribute__((unused)) static int64_t fuzz_number(fuzz_reader *r, int below, int above)
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
__attribute__((unused)) static const char *fuzz_file(const uint8_t *data, size_t size)
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

/* A failure leaves no result and a message; a result can be read to its last element. */
__attribute__((unused)) static void fuzz_result(nd_status status, nd_array *a)
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
