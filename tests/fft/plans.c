/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Plans of Fourier transforms in the device's plan cache: ten thousand of them through a cache of
 * 64 with no memory but that of those which are kept, and one plan that threads share while others
 * push it out. */
#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <ndock/ndock.h>
#include "tests/tap.h"

enum { KINDS = 4, KEPT = 64, THREADS = 2, SHARED = 4099 };

static nd_device *cpu;
static int64_t lengths = 2500; /* of each kind; of a slice of the tests, fewer */
static int rounds = 400;       /* of each thread with one plan */

static nd_plan_stats stats(void)
{
    nd_plan_stats s = {.size = sizeof s};
    if (nd_plan_cache_stats(cpu, &s) != ND_OK)
        abort();
    return s;
}

/* Zero where the C library does not say: then only the cache's own count is looked at. */
static size_t used_bytes(void)
{
#if defined __GLIBC__ && __GLIBC_PREREQ(2, 33)
    struct mallinfo2 m = mallinfo2();
    return m.uordblks + m.hblkhd;
#else
    return 0;
#endif
}

static nd_status transform(const nd_array *a)
{
    nd_array *r = NULL;
    const nd_dtype dtype = nd_dtype_of(a);
    const bool real = dtype == ND_F32 || dtype == ND_F64;
    const nd_status status = real ? nd_rfft(a, NULL, &r) : nd_fft(a, NULL, &r);
    nd_release(r);
    return status;
}

/* Every length up to that in four dtypes. Returns how many failed; *most: the most memory beside
 * what the cache says it has, in bytes. */
static int many(size_t base, int64_t *most)
{
    static const nd_dtype dtypes[KINDS] = {ND_C64, ND_C128, ND_F32, ND_F64};
    int failed = 0;
    for (int64_t n = 1; n <= lengths; n++)
        for (int k = 0; k < KINDS; k++) {
            nd_array *a = NULL;
            failed += nd_ones(cpu, dtypes[k], 1, &n, &a) != ND_OK || transform(a) != ND_OK;
            nd_release(a);
            if (k)
                continue;
            const nd_plan_stats s = stats();
            const int64_t beside = (int64_t)(used_bytes() - base) - s.nbytes;
            *most = beside > *most ? beside : *most;
            failed += s.count > KEPT || s.in_flight != 0;
        }
    return failed;
}

static void test_ten_thousand(void)
{
    int64_t first = 0, second = 0;
    is_int(nd_plan_cache_set_max(cpu, KEPT), ND_OK, "64 plans at most");
    is_int(nd_plan_cache_clear(cpu), ND_OK, "none yet");
    is_int(many(used_bytes(), &first), 0, "all transforms, to warm the allocator");
    is_int(nd_plan_cache_clear(cpu), ND_OK, "forgotten");
    const nd_plan_stats before = stats();
    is_int(before.count, 0, "none is kept");
    is_int(before.nbytes, 0, "no byte either");
    const size_t base = used_bytes();
    is_int(many(base, &second), 0, "transforms with at most 64 plans at any time");
    const nd_plan_stats after = stats();
    is_int(after.count, KEPT, "64 are kept");
    is_int(after.misses - before.misses, lengths * KINDS, "every one was made once");
    is_int(after.evictions - before.evictions, lengths * KINDS - KEPT, "all others went");
    ok(second < 1 << 20, "the most memory beside the plans is %lld bytes", (long long)second);
    is_int(nd_plan_cache_clear(cpu), ND_OK, "all forgotten");
    const int64_t left = (int64_t)(used_bytes() - base);
    ok(left < 1 << 18, "%lld bytes are left of them", (long long)left);
}

/* ---- one plan, several threads ---- */

typedef struct {
    const nd_array *a;
    double *want;
    int number, wrong;
} worker;

static void *compute(void *arg)
{
    worker *w = arg;
    double *got = malloc(SHARED * 2 * sizeof *got);
    for (int i = 0; i < rounds && !w->wrong; i++) {
        nd_array *r = NULL, *other = NULL;
        const int64_t n = 3 + (i * 2 + w->number) % 90;
        w->wrong = nd_fft(w->a, NULL, &r) != ND_OK ||
                   nd_to_host(r, got, SHARED * 2 * sizeof *got) != ND_OK ||
                   memcmp(got, w->want, SHARED * 2 * sizeof *got) != 0;
        /* A plan of its own pushes the shared one out of a cache of one. */
        if (i % 3 == w->number)
            w->wrong |= nd_ones(cpu, ND_C64, 1, &n, &other) != ND_OK || transform(other) != ND_OK;
        nd_release(r);
        nd_release(other);
    }
    free(got);
    return NULL;
}

static void share(const nd_array *a, double *want, int64_t max_size, const char *what)
{
    pthread_t threads[THREADS];
    worker w[THREADS];
    int wrong = 0;
    if (nd_plan_cache_set_max(cpu, max_size) != ND_OK)
        abort();
    for (int i = 0; i < THREADS; i++) {
        w[i] = (worker){.a = a, .want = want, .number = i};
        if (pthread_create(&threads[i], NULL, compute, &w[i]) != 0)
            abort();
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        wrong += w[i].wrong;
    }
    is_int(wrong, 0, what);
    is_int(stats().in_flight, 0, "no plan is left behind");
}

static void test_threads(void)
{
    nd_array *a = NULL, *r = NULL;
    const int64_t n = SHARED;
    double *want = malloc(SHARED * 2 * sizeof *want);
    if (nd_arange(cpu, ND_C128, nd_float(0), nd_float(SHARED), nd_float(1), &a) != ND_OK ||
        nd_fft(a, NULL, &r) != ND_OK || nd_to_host(r, want, SHARED * 2 * sizeof *want) != ND_OK)
        abort();
    is_int(nd_shape(r)[0], n, "a transform of a prime length");
    share(a, want, KEPT, "two threads with one plan have the same bits");
    share(a, want, 1, "two threads that push each other's plans out have them too");
    share(a, want, 0, "two threads whose plans are never kept have them too");
    is_int(nd_plan_cache_set_max(cpu, 4096), ND_OK, "the default again");
    free(want);
    nd_release(a);
    nd_release(r);
}

int main(int argc, char **argv)
{
    static const tap_case cases[] = {{"ten_thousand", test_ten_thousand},
                                     {"threads", test_threads}};
    if (getenv("NDOCK_TEST_SLICE"))
        lengths = 400, rounds = 40;
    if (nd_device_get("cpu", &cpu) != ND_OK || nd_device_set_current(cpu) != ND_OK)
        return 1;
    return tap_main(argc, argv, cases, 2);
}
