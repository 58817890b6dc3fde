/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Fourier transforms of the GPU beside the CPU's: lengths of every kind, several axes, views that
 * cuFFT cannot describe, operands that are no real numbers' transforms, and those that are results'
 * too; one plan of two threads on two streams, plans that go while their work is queued. */
#include <math.h>
#include <pthread.h>
#include "tests/cuda/gpu.h"

static nd_device *cpu;

typedef nd_status transform(const nd_array *, const nd_fft_opts *, nd_array **);
typedef struct {
    const char *name;
    transform *run;
    nd_dtype dtype; /* of double precision: ND_F64 or ND_C128 */
    int ndim, naxes;
    int64_t shape[6];
    int32_t axes[6]; /* naxes of them; 0: all */
    int64_t real;    /* length of the real result's last axis; 0: as usual */
} row;
static const row rows[] = {
    {"fft of 2^20", nd_fft, ND_C128, 1, 0, {1 << 20}, {0}, 0},
    {"ifft of 1000 numbers, 50 times", nd_ifft, ND_C128, 2, 0, {50, 1000}, {0}, 0},
    {"fft of a prime, 1009", nd_fft, ND_C128, 2, 0, {7, 1009}, {0}, 0},
    {"fft of a long prime", nd_fft, ND_C128, 1, 0, {100003}, {0}, 0},
    {"fft of length 1", nd_fft, ND_C128, 2, 0, {9, 1}, {0}, 0},
    {"fft along the first axis", nd_fft, ND_C128, 2, 1, {96, 130}, {0}, 0},
    {"fft along the middle axis", nd_fft, ND_C128, 3, 1, {12, 60, 33}, {1}, 0},
    {"fftn of 3 axes", nd_fftn, ND_C128, 4, 3, {3, 20, 24, 25}, {1, 2, 3}, 0},
    {"fftn of axes in another order", nd_fftn, ND_C128, 3, 2, {24, 5, 36}, {2, 0}, 0},
    {"fftn of 5 axes", nd_fftn, ND_C128, 6, 5, {2, 6, 5, 4, 7, 8}, {1, 2, 3, 4, 5}, 0},
    {"ifftn of 4 axes", nd_ifftn, ND_C128, 5, 4, {200, 2, 3, 6, 5}, {1, 2, 3, 4}, 0},
    {"rfft of 4096, 64 times", nd_rfft, ND_F64, 2, 0, {64, 4096}, {0}, 0},
    {"rfft of an odd length", nd_rfft, ND_F64, 2, 0, {33, 1001}, {0}, 0},
    {"ihfft", nd_ihfft, ND_F64, 2, 0, {33, 128}, {0}, 0},
    {"rfftn of 3 axes", nd_rfftn, ND_F64, 4, 3, {2, 18, 20, 30}, {1, 2, 3}, 0},
    {"rfftn of 4 axes", nd_rfftn, ND_F64, 4, 0, {6, 8, 10, 12}, {0}, 0},
    {"irfft of any numbers", nd_irfft, ND_C128, 2, 0, {40, 513}, {0}, 0},
    {"irfft to an odd length", nd_irfft, ND_C128, 2, 1, {40, 300}, {1}, 599},
    {"hfft of any numbers", nd_hfft, ND_C128, 2, 0, {40, 65}, {0}, 0},
    {"irfftn of 2 axes, any numbers", nd_irfftn, ND_C128, 3, 2, {4, 36, 33}, {1, 2}, 0},
    {"irfftn of 3 axes, any numbers", nd_irfftn, ND_C128, 4, 3, {2, 12, 16, 17}, {1, 2, 3}, 0},
    {"irfftn of 4 axes, any numbers", nd_irfftn, ND_C128, 5, 4, {3, 4, 6, 8, 9}, {1, 2, 3, 4}, 0},
};

static nd_dtype narrow(nd_dtype dtype)
{
    return dtype == ND_C128 ? ND_C64 : ND_F32;
}

/* Random numbers of that dtype on a device, the same on each. */
static nd_array *numbers(nd_device *device, nd_dtype dtype, int ndim, const int64_t *shape)
{
    const nd_layout layout = {.size = sizeof layout, .dtype = dtype, .ndim = ndim, .shape = shape};
    const int parts = dtype == ND_C64 || dtype == ND_C128 ? 2 : 1;
    const bool single = dtype == ND_F32 || dtype == ND_C64;
    int64_t n = parts;
    uint64_t state = 14;
    nd_array *a = NULL;
    for (int d = 0; d < ndim; d++)
        n *= shape[d];
    void *data = malloc((size_t)n * 8);
    if (!data)
        bail("no memory");
    for (int64_t i = 0; i < n; i++) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        const double x = (double)(int64_t)(state >> 40) / (1 << 23) - 1;
        if (single)
            ((float *)data)[i] = (float)x;
        else
            ((double *)data)[i] = x;
    }
    DO(nd_from_host(&layout, data, device, &a));
    free(data);
    return a;
}

/* Elements as doubles, in C order; *n: how many, parts counted one by one. */
static double *values(const nd_array *a, int64_t *n)
{
    const nd_dtype dtype = nd_dtype_of(a);
    const size_t nbytes = (size_t)nd_size(a) * nd_dtype_size(dtype);
    const bool single = dtype == ND_F32 || dtype == ND_C64;
    *n = (int64_t)(nbytes / (single ? 4 : 8));
    void *raw = malloc(nbytes + 1);
    double *x = malloc((size_t)*n * sizeof *x + 1);
    if (!raw || !x)
        bail("no memory");
    DO(nd_to_host(a, raw, nbytes));
    for (int64_t i = 0; i < *n; i++)
        x[i] = single ? ((float *)raw)[i] : ((double *)raw)[i];
    free(raw);
    return x;
}

/* The root mean square of the difference over that of b; huge for NaN or another size. */
static double difference(const nd_array *a, const nd_array *b)
{
    int64_t n, m;
    double *x = values(a, &n), *y = values(b, &m), apart = 0, all = 0;
    for (int64_t i = 0; i < n && n == m; i++) {
        apart += (x[i] - y[i]) * (x[i] - y[i]);
        all += y[i] * y[i];
    }
    free(x);
    free(y);
    return n == m && apart >= 0 && all > 0 ? sqrt(apart / all) : HUGE_VAL;
}

/* Both devices' results, of the array itself or, for `every` above 1, of each so manieth element of
 * every axis backwards. */
static double beside(const row *r, nd_dtype dtype, int every)
{
    nd_device *const devices[2] = {gpu, cpu};
    nd_array *result[2] = {NULL, NULL};
    for (int i = 0; i < 2; i++) {
        int64_t whole[6], lengths[6];
        nd_index cut[6];
        nd_array *view = NULL;
        nd_fft_opts opts = {.size = sizeof opts, .naxes = r->naxes, .norm = every % 3};
        opts.axes = r->naxes ? r->axes : NULL;
        opts.lengths = r->real ? lengths : NULL;
        for (int d = 0; d < r->ndim; d++) {
            whole[d] = r->shape[d] * every;
            cut[d] = nd_range(whole[d] - 1, ND_END_OPEN, -every);
            lengths[d] = d + 1 == r->naxes ? r->real : -1;
        }
        nd_array *a = numbers(devices[i], dtype, r->ndim, whole);
        if (every > 1)
            DO(nd_slice(a, cut, r->ndim, &view));
        DO(r->run(every > 1 ? view : a, &opts, &result[i]));
        nd_release(view);
        nd_release(a);
    }
    const double apart = difference(result[0], result[1]);
    nd_release(result[0]);
    nd_release(result[1]);
    return apart;
}

static void test_rows(void)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const row *r = &rows[i];
        const int every = r->ndim > 1 ? 2 : 3;
        const double apart[4] = {beside(r, narrow(r->dtype), 1), beside(r, r->dtype, 1),
                                 beside(r, narrow(r->dtype), every), beside(r, r->dtype, every)};
        ok(apart[0] < 2e-6 && apart[2] < 2e-6, "%s, single: %.1e, of a view %.1e", r->name,
           apart[0], apart[2]);
        ok(apart[1] < 4e-15 && apart[3] < 4e-15, "%s, double: %.1e, of a view %.1e", r->name,
           apart[1], apart[3]);
    }
}

/* The result is the operand, or a view with gaps, of which the rest stays as it is. */
static void test_places(void)
{
    const int64_t shape[2] = {48, 100};
    const nd_index cut[2] = {nd_range(0, 48, 1), nd_range(1, 100, 2)};
    nd_array *a = numbers(gpu, ND_C128, 2, shape), *want = NULL, *half = NULL, *rest = NULL;
    nd_array *before = numbers(gpu, ND_C128, 2, shape), *from = NULL, *beside_it = NULL;
    const nd_index others[2] = {nd_range(0, 48, 1), nd_range(0, 100, 2)};
    DO(nd_slice(a, cut, 2, &half));
    DO(nd_slice(before, cut, 2, &from));
    DO(nd_fft(from, NULL, &want));
    DO(nd_fft_into(half, NULL, half));
    ok(difference(half, want) < 1e-15, "a view with gaps becomes its own transform");
    DO(nd_slice(a, others, 2, &rest));
    DO(nd_slice(before, others, 2, &beside_it));
    ok(difference(rest, beside_it) == 0, "what is between stays as it is");
    nd_release(want);
    DO(nd_fftn(before, NULL, &want));
    DO(nd_fftn_into(before, NULL, before));
    ok(difference(before, want) < 1e-15, "an array becomes its own transform");
    nd_array *const all[] = {a, want, half, rest, before, from, beside_it};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        nd_release(all[i]);
}

/* ---- plans ---- */
enum { ROUNDS = 60 };
typedef struct {
    const nd_array *a;
    nd_array *want;
    int failed;
    double worst;
} worker;

static void *compute(void *arg)
{
    worker *w = arg;
    nd_stream *stream = NULL;
    nd_array *r[ROUNDS] = {NULL};
    w->failed = nd_stream_create(gpu, NULL, &stream) != ND_OK || nd_stream_push(stream) != ND_OK;
    for (int i = 0; i < ROUNDS && !w->failed; i++)
        w->failed = nd_fft(w->a, NULL, &r[i]) != ND_OK;
    for (int i = 0; i < ROUNDS && !w->failed; i++)
        w->worst = fmax(w->worst, difference(r[i], w->want));
    for (int i = 0; i < ROUNDS; i++)
        nd_release(r[i]);
    if (stream)
        w->failed |= nd_stream_pop(stream) != ND_OK;
    nd_stream_release(stream);
    return NULL;
}

static void share(int64_t kept, const char *what)
{
    const int64_t shape[2] = {16, 3001}; /* cuFFT has a work area for primes */
    nd_array *a = numbers(gpu, ND_C64, 2, shape), *want = NULL;
    pthread_t threads[2];
    worker w[2];
    DO(nd_fft(a, NULL, &want));
    DO(nd_synchronize(gpu));
    DO(nd_plan_cache_set_max(gpu, kept));
    for (int i = 0; i < 2; i++) {
        w[i] = (worker){.a = a, .want = want};
        if (pthread_create(&threads[i], NULL, compute, &w[i]) != 0)
            bail("no thread");
    }
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    ok(!w[0].failed && !w[1].failed && w[0].worst == 0 && w[1].worst == 0,
       "%s: %.1e and %.1e apart", what, w[0].worst, w[1].worst);
    nd_release(a);
    nd_release(want);
}

static void test_plans(void)
{
    nd_plan_stats s = {.size = sizeof s};
    share(4096, "two threads on two streams have the same bits from one plan");
    share(0, "and from plans that go while their work is queued");
    DO(nd_synchronize(gpu));
    DO(nd_plan_cache_set_max(gpu, 64));
    for (int64_t n = 2; n < 302; n++) {
        nd_array *a = NULL, *r = NULL;
        DO(nd_ones(gpu, ND_C64, 1, &n, &a));
        DO(nd_fft(a, NULL, &r));
        nd_release(a);
        nd_release(r);
    }
    DO(nd_synchronize(gpu));
    DO(nd_plan_cache_stats(gpu, &s));
    is_int(s.count, 64, "of 300 plans 64 are kept");
    is_int(s.in_flight, 0, "none of the others is left when the work is done");
    DO(nd_plan_cache_clear(gpu));
    DO(nd_plan_cache_set_max(gpu, 4096));
}

int main(int argc, char **argv)
{
    static const tap_case cases[] = {
        {"rows", test_rows}, {"places", test_places}, {"plans", test_plans}};
    nd_status status = ND_OK;
    open_gpu();
    const nd_warmup_item item = {ND_OP_fft, ND_C64, gpu};
    if (nd_warmup(&item, 1, &status) == ND_OK && status == ND_ERR_UNSUPPORTED) {
        puts("1..0 # SKIP no cuFFT (libcufft.so.12 or libcufft.so.11)");
        return 0;
    }
    DO(nd_device_get("cpu", &cpu));
    return tap_main(argc, argv, cases, 3);
}
