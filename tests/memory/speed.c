/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * C28: what a hit costs, allocate and free of one small size, beside malloc and free in the same
 * run: the best of many short runs of each, in turn, by the thread's own clock, since the machine
 * has other work. Argument: how many runs. */
#include <time.h>
#include "core/memory/memory.h"
#include "tests/tap.h"

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

static double pair_ns(nd_backend *m, uint64_t nbytes, long n)
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

/* The figures of C28; or, where this machine is slow now, at most so many times malloc and free. */
enum { RUNS = 60, PAIRS = 2000, WITHOUT_STREAMS_NS = 35, WITH_STREAMS_NS = 150 };
static const double without_streams_times = 6, with_streams_times = 20;

static void best(double *least, double now)
{
    *least = now < *least ? now : *least;
}

static void judge(uint64_t nbytes, nd_backend *with_magazines, nd_backend *locked, int runs)
{
    double a = 1e9, b = 1e9, m = 1e9;
    for (int i = 0; i < runs; i++) {
        best(&a, pair_ns(with_magazines, nbytes, PAIRS));
        best(&b, pair_ns(locked, nbytes, PAIRS));
        best(&m, malloc_ns(nbytes, PAIRS));
    }
    diag("%llu bytes: host-visible %.1f ns, with streams %.1f ns, malloc %.1f ns",
         (unsigned long long)nbytes, a, b, m);
    ok(a <= WITHOUT_STREAMS_NS || a <= without_streams_times * m,
       "C28 a hit of %llu bytes in host memory", (unsigned long long)nbytes);
    ok(b <= WITH_STREAMS_NS || b <= with_streams_times * m,
       "C28 a hit of %llu bytes on a device with streams", (unsigned long long)nbytes);
}

int main(int argc, char **argv)
{
    static const uint64_t sizes[] = {512, 4000, 16384};
    const int runs = argc > 1 ? atoi(argv[1]) : RUNS;
    nd_hooks hooks = {.segment_alloc = segment_alloc, .segment_free = segment_free};
    nd_backend *with_magazines, *locked;
    if (nd__caching_create(NULL, &hooks, &with_magazines) != ND_OK)
        bail(nd_last_error()->message);
    hooks.record = record;
    if (nd__caching_create(NULL, &hooks, &locked) != ND_OK)
        bail(nd_last_error()->message);
    for (int i = 0; i < 3; i++)
        judge(sizes[i], with_magazines, locked, runs);
    nd__backend_release(with_magazines);
    nd__backend_release(locked);
    printf("1..%d\n", tap_count);
    return tap_failures != 0;
}
