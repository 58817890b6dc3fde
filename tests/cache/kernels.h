/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * A compiler for tests of the kernel cache: code of kernel i that only i gives, and counts. */
#ifndef NDOCK_TESTS_KERNELS_H
#define NDOCK_TESTS_KERNELS_H
#include <stdatomic.h>
#include <unistd.h>
#include "core/plugin/service/service.h"
#include "tests/tap.h"

typedef struct {
    int number;
    size_t nbytes; /* of the code */
    bool fails;
    atomic_int *held; /* no compile ends while this is set; may be NULL */
    atomic_int runs;
} compiler;

static inline unsigned char code_byte(int number, size_t i)
{
    return (unsigned char)((size_t)number * 131 + i * 7 + (i >> 8));
}

__attribute__((unused)) static int32_t compile(void *arg, ndh_compiled *out)
{
    compiler *c = arg;
    atomic_fetch_add(&c->runs, 1);
    while (c->held && atomic_load(c->held))
        usleep(1000);
    if (c->fails) {
        out->log = strdup("line 3: undeclared name qqq");
        return nd__fail(ND_ERR_PLUGIN, NULL, -1, "the compiler refuses: undeclared name qqq");
    }
    unsigned char *code = malloc(c->nbytes);
    for (size_t i = 0; i < c->nbytes; i++)
        code[i] = code_byte(c->number, i);
    out->code = code;
    out->nbytes = c->nbytes;
    return ND_OK;
}

__attribute__((unused)) static ndh_kernel_key key_of(int number)
{
    static _Thread_local char source[64];
    snprintf(source, sizeof source, "kernel void k%d() {}", number);
    return (ndh_kernel_key){.size = sizeof(ndh_kernel_key),
                            .source = source,
                            .options = "-O3",
                            .arch = "sm_90",
                            .compiler = "test 1",
                            .library = "mock 2"};
}

/* Gets the kernel, compares its code, releases it. */
__attribute__((unused)) static int get_is_right(nd_kernel_cache *cache, compiler *c)
{
    ndh_kernel_key key = key_of(c->number);
    ndh_code *handle;
    const void *code;
    uint64_t n;
    if (nd__kernel_get(cache, &key, 0, compile, c, &handle, &code, &n) != ND_OK)
        return 0;
    int right = n == c->nbytes;
    for (size_t i = 0; right && i < n; i++)
        right = ((const unsigned char *)code)[i] == code_byte(c->number, i);
    nd__kernel_release(handle);
    return right;
}

static char folder[64];

__attribute__((unused)) static void make_folder(void)
{
    /* In memory where there is such a place: thousands of entries are flushed here. */
    snprintf(folder, sizeof folder, "%s/ndock-kernels.XXXXXX",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    if (!mkdtemp(folder))
        bail("no temporary folder");
}

__attribute__((unused)) static void remove_folder(void)
{
    char command[200];
    snprintf(command, sizeof command, "chmod -R u+w %s; rm -rf %s", folder, folder);
    if (system(command) != 0)
        diag("%s stays", folder);
}

__attribute__((unused)) static nd_kernel_cache *open_cache(const char *dir, uint64_t max_bytes)
{
    nd_kernel_cache *c;
    if (nd__kernel_cache_create(dir, max_bytes, &c) != ND_OK)
        bail(nd_last_error()->message);
    return c;
}

__attribute__((unused)) static nd_kernel_stats stats_of(nd_kernel_cache *c)
{
    nd_kernel_stats s = {.size = sizeof s};
    nd__kernel_stats(c, &s);
    return s;
}
#endif
