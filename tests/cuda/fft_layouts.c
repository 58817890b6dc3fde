/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Fourier transforms of the CUDA plug-in without a GPU: cuFFT, the driver and its few kernels
 * pretend, on memory of the host, so everything but arithmetic is the plug-in's own: which layouts
 * it describes, what it copies, scales, conjugates and takes axis by axis. Random views are
 * compared with the CPU's results; then plans, and what is said where there is no cuFFT. */
#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <ndock/ndock.h>
#include "tests/cuda/stubs.h"

enum { TRIALS = 3000, DIMS = 5, MOST = 1500, GAP = 3 };

/* ---- the process that transforms ---- */
static nd_device *dev, *cpu;

static uint64_t state = 20261123;
static int64_t below(int64_t n)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (int64_t)(state >> 11) % n;
}

typedef nd_status fresh_fn(const nd_array *, const nd_fft_opts *, nd_array **);
typedef nd_status into_fn(const nd_array *, const nd_fft_opts *, const nd_array *);
typedef struct {
    const char *name;
    fresh_fn *run;
    into_fn *into;
    int from_real, to_real, many;
} function;
static const function functions[] = {
    {"fft", nd_fft, nd_fft_into, 0, 0, 0},       {"ifft", nd_ifft, nd_ifft_into, 0, 0, 0},
    {"rfft", nd_rfft, nd_rfft_into, 1, 0, 0},    {"irfft", nd_irfft, nd_irfft_into, 0, 1, 0},
    {"hfft", nd_hfft, nd_hfft_into, 0, 1, 0},    {"ihfft", nd_ihfft, nd_ihfft_into, 1, 0, 0},
    {"fftn", nd_fftn, nd_fftn_into, 0, 0, 1},    {"ifftn", nd_ifftn, nd_ifftn_into, 0, 0, 1},
    {"rfftn", nd_rfftn, nd_rfftn_into, 1, 0, 1}, {"irfftn", nd_irfftn, nd_irfftn_into, 0, 1, 1},
};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

/* A view into an array with room around it: dimensions in any order, backwards, with gaps. */
typedef struct {
    nd_dtype dtype;
    int ndim;
    int32_t order[DIMS];
    int64_t shape[DIMS], whole[DIMS]; /* of the view; of the array, in memory's order */
    nd_index cut[DIMS];
} layout;

static int64_t product(int n, const int64_t *extent)
{
    int64_t size = 1;
    for (int d = 0; d < n; d++)
        size *= extent[d];
    return size;
}

/* A random layout of that shape. */
static void lay_out(layout *l)
{
    const int plain = below(3) == 0;
    for (int d = 0; d < l->ndim; d++)
        l->order[d] = d;
    for (int d = l->ndim - 1; d > 0 && !plain; d--) {
        const int e = (int)below(d + 1);
        const int32_t t = l->order[d];
        l->order[d] = l->order[e];
        l->order[e] = t;
    }
    /* Dimension d of the view is dimension order[d] of the array. */
    for (int d = 0; d < l->ndim; d++) {
        const int64_t n = l->shape[d], step = plain || below(2) ? 1 : 1 + below(GAP);
        const int64_t first = plain ? 0 : below(2), turned = !plain && below(4) == 0;
        l->whole[l->order[d]] = first + (n - 1) * step + 1 + (plain ? 0 : below(2));
        if (turned)
            l->cut[l->order[d]] =
                nd_range(first + (n - 1) * step, first ? first - 1 : ND_END_OPEN, -step);
        else
            l->cut[l->order[d]] = nd_range(first, first + (n - 1) * step + 1, step);
    }
}

/* The view of an array with those elements on a device; *base: the array itself. */
static nd_status make(const layout *l, nd_device *device, const void *data, nd_array **base,
                      nd_array **view)
{
    const nd_layout whole = {
        .size = sizeof whole, .dtype = l->dtype, .ndim = l->ndim, .shape = l->whole};
    nd_array *cut = NULL;
    *base = *view = NULL;
    nd_status status = nd_from_host(&whole, data, device, base);
    if (status == ND_OK)
        status = nd_slice(*base, l->cut, l->ndim, &cut);
    if (status == ND_OK)
        status = nd_permute(cut, l->ndim, l->order, view);
    nd_release(cut);
    return status;
}

/* The largest difference, relative to the largest number; huge where sizes differ or a NaN is. */
static double difference(const nd_array *a, const nd_array *b)
{
    const int64_t size = nd_size(a);
    const nd_dtype dtype = nd_dtype_of(a);
    const int parts = dtype == ND_C64 || dtype == ND_C128 ? 2 : 1;
    const int single = dtype == ND_F32 || dtype == ND_C64;
    const size_t nbytes = (size_t)size * nd_dtype_size(dtype);
    void *x = malloc(nbytes + 1), *y = malloc(nbytes + 1);
    double most = 0, largest = 1e-30;
    if (nd_size(b) != size || nd_to_host(a, x, nbytes) != ND_OK ||
        nd_to_host(b, y, nbytes) != ND_OK)
        most = HUGE_VAL;
    for (int64_t i = 0; i < size * parts && most < HUGE_VAL; i++) {
        const double u = single ? ((float *)x)[i] : ((double *)x)[i];
        const double v = single ? ((float *)y)[i] : ((double *)y)[i];
        most = isnan(u) || isnan(v) ? HUGE_VAL : fmax(most, fabs(u - v));
        largest = fmax(largest, fabs(v));
    }
    free(x);
    free(y);
    return most / largest;
}

typedef struct {
    const function *f;
    layout in, out;
    int32_t axes[DIMS];
    int64_t lengths[DIMS];
    nd_fft_opts opts;
} trial;

static void choose(trial *t)
{
    t->f = &functions[below(FUNCTIONS)];
    const int single = (int)below(2), naxes = t->f->many ? 0 : 1;
    layout *in = &t->in, *out = &t->out;
    in->ndim = out->ndim = 1 + (int)below(DIMS);
    in->dtype = t->f->from_real ? (single ? ND_F32 : ND_F64) : single ? ND_C64 : ND_C128;
    out->dtype = t->f->to_real ? (single ? ND_F32 : ND_F64) : single ? ND_C64 : ND_C128;
    t->opts = (nd_fft_opts){
        .size = sizeof t->opts, .axes = t->axes, .lengths = t->lengths, .norm = (int32_t)below(3)};
    t->opts.naxes = naxes ? naxes : 1 + (int)below(in->ndim);
    for (int d = 0; d < in->ndim; d++) {
        in->shape[d] = 1 + below(in->ndim < 2 ? 40 : 6);
        if (product(d + 1, in->shape) > MOST)
            in->shape[d] = 1;
        out->shape[d] = in->shape[d];
        t->axes[d] = d;
    }
    for (int d = in->ndim - 1; d > 0; d--) {
        const int e = (int)below(d + 1);
        const int32_t axis = t->axes[d];
        t->axes[d] = t->axes[e];
        t->axes[e] = axis;
    }
    for (int i = 0; i < t->opts.naxes; i++)
        t->lengths[i] = in->shape[t->axes[i]];
    /* The real axis: n and n/2 + 1. */
    const int32_t last = t->axes[t->opts.naxes - 1];
    const int64_t n = t->f->to_real ? 2 * in->shape[last] - 1 - (in->shape[last] > 1 && below(2))
                                    : in->shape[last];
    t->lengths[t->opts.naxes - 1] = n;
    out->shape[last] = t->f->to_real ? n : t->f->from_real ? n / 2 + 1 : n;
    lay_out(in);
    lay_out(out);
}

static void *random_numbers(const layout *l)
{
    const int64_t n = product(l->ndim, l->whole);
    const int parts = l->dtype == ND_C64 || l->dtype == ND_C128 ? 2 : 1;
    const int single = l->dtype == ND_F32 || l->dtype == ND_C64;
    void *data = malloc((size_t)n * 16);
    for (int64_t i = 0; i < n * parts; i++) {
        const double x = (double)below(1 << 20) / (1 << 19) - 1;
        if (single)
            ((float *)data)[i] = (float)x;
        else
            ((double *)data)[i] = x;
    }
    return data;
}

enum { BASE_IN, IN, BASE_OUT, OUT, NEW, ARRAYS };

static nd_status carry_out(const trial *t, nd_device *device, const void *in, const void *out,
                           int into, nd_array **a)
{
    nd_status status = make(&t->in, device, in, &a[BASE_IN], &a[IN]);
    if (status != ND_OK)
        return status;
    if (!into)
        return t->f->run(a[IN], &t->opts, &a[NEW]);
    status = make(&t->out, device, out, &a[BASE_OUT], &a[OUT]);
    return status == ND_OK ? t->f->into(a[IN], &t->opts, a[OUT]) : status;
}

/* Whether the device and the CPU agree: on the result, on what lies around it, and on the operand. */
static int agree(const trial *t)
{
    nd_array *ours[ARRAYS] = {NULL}, *theirs[ARRAYS] = {NULL};
    void *in = random_numbers(&t->in), *out = random_numbers(&t->out);
    const int into = (int)below(2), single = t->in.dtype == ND_F32 || t->in.dtype == ND_C64;
    const nd_status status = carry_out(t, dev, in, out, into, ours);
    double apart = HUGE_VAL, harmed = HUGE_VAL;
    if (status == ND_OK && carry_out(t, cpu, in, out, into, theirs) == ND_OK) {
        apart = difference(ours[into ? BASE_OUT : NEW], theirs[into ? BASE_OUT : NEW]);
        harmed = difference(ours[BASE_IN], theirs[BASE_IN]);
    }
    for (int i = 0; i < ARRAYS; i++) {
        nd_release(ours[i]);
        nd_release(theirs[i]);
    }
    free(in);
    free(out);
    if (status == ND_OK && apart < (single ? 2e-6 : 1e-13) && harmed == 0)
        return 1;
    printf("%s of %d axes of %d dimensions%s: %g apart, operand %g, %s\n", t->f->name,
           t->opts.naxes, t->in.ndim, into ? " into" : "", apart, harmed,
           status == ND_OK ? "" : nd_last_error()->message);
    return 0;
}

static void transform_all(void)
{
    int good = 0, shown = 0;
    for (int i = 0; i < TRIALS && shown < 5; i++) {
        trial t = {0};
        choose(&t);
        const int same = agree(&t);
        good += same;
        shown += !same;
    }
    printf("transforms: %d\n", good);
}

/* ---- plans ---- */
typedef struct {
    _Atomic int made, destroyed, runs, without, strided;
} counts;

static counts *counted_by_library(void)
{
    void *library = dlopen("libcufft.so.12", RTLD_NOW | RTLD_NOLOAD);
    return library ? dlsym(library, "stub_cufft_counts") : NULL;
}

static void *transform_apart(void *arg)
{
    const int64_t n = 24;
    nd_array *a = NULL, *r = NULL;
    nd_stream *stream = NULL;
    nd_status status = nd_stream_create(dev, NULL, &stream);
    const nd_fft_opts opts = {.size = sizeof opts, .stream = stream};
    if (status == ND_OK)
        status = nd_empty(dev, ND_C64, 1, &n, &a);
    for (int i = 0; i < 8 && status == ND_OK; i++) {
        status = nd_fft(a, &opts, &r);
        nd_release(r);
    }
    nd_release(a);
    nd_stream_release(stream);
    *(int *)arg = status == ND_OK;
    return NULL;
}

/* Two threads, two streams, one plan; then a cache that keeps two of three plans. */
static void use_plans(void)
{
    pthread_t threads[2];
    int good[2] = {0};
    nd_plan_stats s = {.size = sizeof s};
    if (nd_plan_cache_clear(dev) != ND_OK)
        return;
    counts *c = counted_by_library();
    const int before = c ? c->made : -1, runs = c ? c->runs : -1, strided = c ? c->strided : -1;
    for (int i = 0; i < 2; i++)
        if (pthread_create(&threads[i], NULL, transform_apart, &good[i]) != 0)
            return;
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    if (!c || nd_plan_cache_stats(dev, &s) != ND_OK)
        return;
    const int made = c->made - before; /* two, if both began at once */
    printf("threads: %d, runs: %d, plans: %s, kept: %d, strided: %d, without: %d\n",
           good[0] + good[1], c->runs - runs, made == 1 || made == 2 ? "few" : "many", (int)s.count,
           c->strided - strided, c->without);
    const int destroyed = c->destroyed;
    if (nd_plan_cache_set_max(dev, 2) != ND_OK)
        return;
    for (int64_t n = 50; n < 53; n++) {
        nd_array *a = NULL, *r = NULL;
        if (nd_empty(dev, ND_C128, 1, &n, &a) == ND_OK && nd_fft(a, NULL, &r) == ND_OK &&
            nd_synchronize(dev) == ND_OK)
            nd_release(r);
        nd_release(a);
    }
    if (nd_plan_cache_stats(dev, &s) == ND_OK)
        printf("kept of four: %d, destroyed: %d\n", (int)s.count, c->destroyed - destroyed);
}

/* How many of the kernels beside cuFFT's were never run. */
static void report_idle(void)
{
    const char *first = "";
    const int left = idle_kernels("stub_fourier_idle", &first);
    printf("idle: %d %s\n", left, first);
}

static int look(void)
{
    if (nd_device_get("cuda:0", &dev) != ND_OK || nd_device_get("cpu", &cpu) != ND_OK) {
        puts(nd_last_error()->message);
        return 1;
    }
    if (getenv("TEST_ONE")) {
        const int64_t n = 8;
        nd_array *a = NULL, *r = NULL;
        const nd_status status = nd_empty(dev, ND_C64, 1, &n, &a);
        printf("%s: ", nd_status_name(status == ND_OK ? nd_fft(a, NULL, &r) : status));
        puts(nd_last_error()->message);
        nd_release(r);
        nd_release(a);
        return 0;
    }
    transform_all();
    use_plans();
    report_idle();
    return 0;
}

/* ---- the one that judges ---- */
#define ONE "STUB_CUDA_COUNT=1", "STUB_CUDA_WORKS=1", "STUB_CUDA_MEMORY=1"
#define SAYS(word, what)                   \
    do                                     \
        if (!has_text(answer, word, what)) \
            diag("%s", answer);            \
    while (0)

static void layouts_and_plans(void)
{
    char all[40];
    snprintf(all, sizeof all, "transforms: %d\n", TRIALS);
    ask(MACHINE(ONE, "NDOCK_FALLBACK=error"), NO_NVML);
    SAYS(all, "random views are transformed as by the CPU, operands stay as they are");
    SAYS("threads: 2, runs: 16, plans: few, kept: 1, strided: 0, without: 0\n",
         "two threads on two streams with one plan, each run with work area and stream");
    SAYS("kept of four: 2, destroyed: 2\n", "plans that are not kept are destroyed");
    SAYS("idle: 0 \n", "each kernel was run");
}

static void without_library(void)
{
    ask(MACHINE(ONE, "NDOCK_FALLBACK=error", "TEST_ONE=1"), NO_NVML | NO_CUFFT);
    SAYS("libcufft-13-0", "the error says what to install");
    SAYS("libcufft.so.12", "and what was looked for");
    ask(MACHINE(ONE, "TEST_ONE=1"), NO_NVML | NO_CUFFT);
    SAYS("ND_OK: ", "else the CPU computes it");
}

int main(int argc, char **argv)
{
    static const tap_case cases[] = {{"layouts", layouts_and_plans}, {"missing", without_library}};
    if (argc > 1 && strcmp(argv[1], "--look") == 0)
        return look();
    return stubs_main(argc, argv, cases, (int)(sizeof cases / sizeof cases[0]));
}
