/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * C28: what a hit costs, allocate and free of one small size, beside malloc and free in the same
 * run. Prints ns a pair; judges nothing. Argument: millions of pairs, 10 unless told. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "core/memory/memory.h"

static nd_status segment_alloc(void *ctx, nd_stream *s, uint64_t nbytes, ndp_mem **mem, char **host)
{
    (void)ctx;
    (void)s;
    *host = aligned_alloc(4096, nbytes);
    *mem = (ndp_mem *)(void *)*host;
    return *host ? (nd_status)ND_OK : nd__fail(ND_ERR_MEMORY, "speed", -1, "none");
}

static void segment_free(void *ctx, nd_stream *s, ndp_mem *mem, uint64_t nbytes)
{
    (void)ctx;
    (void)s;
    (void)nbytes;
    free(mem);
}

/* Having events at all is what makes a device one with streams. */
static nd_status record(void *ctx, nd_stream *s, ndp_event **out)
{
    (void)ctx;
    (void)s;
    *out = NULL;
    return ND_OK;
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double pair_ns(nd_maker *m, uint64_t nbytes, long n)
{
    nd_block *b = NULL;
    double start = seconds();
    for (long i = 0; i < n; i++) {
        if (m->type->alloc(m, NULL, nbytes, &b) != ND_OK)
            exit(1);
        m->type->free(b);
    }
    return (seconds() - start) * 1e9 / (double)n;
}

static double malloc_ns(uint64_t nbytes, long n)
{
    double start = seconds();
    for (long i = 0; i < n; i++) {
        char *p = malloc(nbytes);
        __asm__ volatile("" : : "r"(p) : "memory");
        free(p);
    }
    return (seconds() - start) * 1e9 / (double)n;
}

int main(int argc, char **argv)
{
    static const uint64_t sizes[] = {512, 4000, 16384, 100000, 4u << 20};
    long n = (argc > 1 ? atol(argv[1]) : 10) * 1000000;
    nd_hooks hooks = {.segment_alloc = segment_alloc, .segment_free = segment_free};
    nd_maker *with_magazines, *locked;
    if (nd__caching_create(NULL, &hooks, &with_magazines) != ND_OK)
        return 1;
    hooks.record = record;
    if (nd__caching_create(NULL, &hooks, &locked) != ND_OK)
        return 1;
    for (int i = 0; i < 5; i++) {
        double a = pair_ns(with_magazines, sizes[i], n), b = pair_ns(locked, sizes[i], n);
        printf("%8llu bytes: host-visible %6.1f ns, with streams %6.1f ns, malloc %6.1f ns\n",
               (unsigned long long)sizes[i], a, b, malloc_ns(sizes[i], n));
    }
    nd__maker_release(with_magazines);
    nd__maker_release(locked);
    return 0;
}
