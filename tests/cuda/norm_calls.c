/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Norms of the CUDA plug-in without a GPU: kernels are compiled for the host (emulate_warp.h), and the
 * driver pretends. Gradients of layer_norm and rms_norm, of rows that a warp, a few warps or a block
 * hold and of those that none does, are compared with the definition in doubles; norms of groups and
 * batches, and gradients for weights, with the CPU's, which the conformance suite judges. */
#include "tests/cuda/neural_lab.h"

typedef struct {
    int64_t rows, n;
    int centred;
    const float *x, *g, *w;
    double eps;
} norm;

/* The gradient of row r for x, and the sizes of its terms. */
static void norm_row(const norm *t, int64_t r, double *want, double *size)
{
    const float *x = t->x + r * t->n, *g = t->g + r * t->n;
    double mean = 0, variance = 0, a = 0, b = 0, sa = 0, sb = 0;
    for (int64_t i = 0; i < t->n; i++)
        mean += t->centred ? x[i] / (double)t->n : 0;
    for (int64_t i = 0; i < t->n; i++)
        variance += (x[i] - mean) * (x[i] - mean) / (double)t->n;
    const double f = 1 / sqrt(variance + t->eps);
    for (int64_t i = 0; i < t->n; i++) {
        const double y = g[i] * (double)(t->w ? t->w[i] : 1) / (double)t->n;
        a += t->centred ? y : 0;
        b += y * (x[i] - mean) * f;
        sa += fabs(y);
        sb += fabs(y * (x[i] - mean) * f);
    }
    for (int64_t i = 0; i < t->n; i++) {
        const double y = g[i] * (double)(t->w ? t->w[i] : 1), d = (x[i] - mean) * f;
        want[i] = (y - a - d * b) * f;
        size[i] = (fabs(y) + sa + fabs(d) * sb) * f;
    }
}

static nd_status norm_array(float **x, nd_array **a, int64_t rows, int64_t n, float shift)
{
    const int64_t shape[2] = {rows, n};
    const nd_layout layout = {.size = sizeof layout,
                              .dtype = ND_F32,
                              .ndim = rows ? 2 : 1,
                              .shape = rows ? shape : shape + 1};
    const int64_t size = (rows ? rows : 1) * n;
    *x = calloc((size_t)size + 1, sizeof **x);
    for (int64_t i = 0; i < size; i++)
        (*x)[i] = (float)(below(4097) - 2048) / 1024 + shift;
    return nd_from_host(&layout, *x, dev, a);
}

static int norm_trial(int number)
{
    static const int64_t lengths[] = {4,    36,   508,  512,   516,   1000,
                                      2048, 8192, 8196, 16384, 16388, 77};
    norm t = {
        .rows = 1 + below(3), .n = lengths[number % 12], .centred = (int)below(2), .eps = 1e-5};
    nd_array *x = NULL, *g = NULL, *w = NULL, *r = NULL;
    float *from[3] = {NULL, NULL, NULL};
    const nd_norm_opts o = {.size = sizeof o, .naxes = 1, .eps = t.eps};
    nd_status status = norm_array(&from[0], &x, t.rows, t.n, below(2) ? 100 : 0);
    status = status == ND_OK ? norm_array(&from[1], &g, t.rows, t.n, 0) : status;
    if (status == ND_OK && below(3))
        status = norm_array(&from[2], &w, 0, t.n, 0);
    t.x = from[0], t.g = from[1], t.w = from[2];
    if (status == ND_OK)
        status = t.centred ? nd_layer_norm_grad(g, x, w, &o, &r, NULL, NULL)
                           : nd_rms_norm_grad(g, x, w, &o, &r, NULL);
    double *want = calloc((size_t)t.n, 2 * sizeof *want), worst = status == ND_OK ? 0 : HUGE_VAL;
    float *got = status == ND_OK ? fetch(r, t.rows * t.n) : NULL;
    for (int64_t row = 0; got && row < t.rows; row++) {
        norm_row(&t, row, want, want + t.n);
        for (int64_t i = 0; i < t.n; i++) {
            const double e = fabs(got[row * t.n + i] - want[i]) / (want[t.n + i] * 0x1p-23);
            worst = e <= worst ? worst : e;
        }
    }
    if (!(worst < 8))
        printf("norm %d of %d x %d, centred %d: %g units %s\n", number, (int)t.rows, (int)t.n,
               t.centred, worst, status == ND_OK ? "" : nd_last_error()->message);
    nd_release(x), nd_release(g), nd_release(w), nd_release(r);
    free(from[0]), free(from[1]), free(from[2]), free(want), free(got);
    return worst < 8;
}

/* ---- groups, batches, weights ---- */
enum { LAYER, RMS, GROUP, BATCH, KINDS, GIVEN = KINDS, FEW = 6000, MOST = 1 << 17 };
typedef struct {
    int kind, backward, ndim;
    nd_dtype dtype;
    int64_t shape[4], groups;
} grouped;

static void random_group(grouped *t, int number)
{
    static const nd_dtype dtypes[4] = {ND_F32, ND_F64, ND_F16, ND_BF16};
    static const int64_t rests[6] = {1, 7, 16, 48, 520, 2056};
    *t = (grouped){.kind = number % KINDS, .backward = number / KINDS % 2, .ndim = 2 + number % 3};
    t->backward |= t->kind <= RMS;
    t->dtype = t->kind <= RMS ? ND_F32 : dtypes[below(4)];
    do {
        t->shape[0] = 1 + below(3) * below(14);
        t->shape[1] = 4 * (1 + below(below(2) ? 3 : 20));
        t->shape[2] = rests[below(6)];
        t->shape[3] = 1 + below(2);
    } while (t->shape[0] * t->shape[1] * (t->ndim > 2 ? t->shape[2] : 1) * t->shape[3] > FEW);
    t->groups = below(2) ? t->shape[1] : below(2) ? 4 : t->shape[1] / 4;
    t->shape[0] += t->kind == BATCH;
    if (t->kind <= RMS && number % 16 < 8) { /* more rows than there are threads for, at once */
        static const int64_t lengths[4] = {16, 516, 2052, 4100};
        t->ndim = 2;
        t->shape[1] = lengths[number / 16 + (number % 16 >= KINDS)];
        t->shape[0] = t->shape[1] > 16 ? 5 : 130;
    }
    if (t->kind == GROUP && number % 16 < 8) { /* enough rows for a block to hold each */
        t->ndim = 3;
        t->shape[0] = 9 + below(4);
        t->shape[1] = 8 * (1 + below(2));
        t->shape[2] = 16 * (1 + below(2));
        t->groups = 8;
    }
}

/* Batches whose channels lie innermost, as views. */
static nd_status random_operand(const grouped *t, nd_device *on, int last, uint64_t seed,
                                nd_array **out)
{
    const int32_t order[4] = {0, t->ndim - 1, 1, 2};
    int64_t shape[4], size = 1;
    float *x = calloc(4 * MOST, sizeof *x);
    nd_array *host = NULL, *typed = NULL, *there = NULL;
    for (int d = 0; d < t->ndim; d++) {
        shape[d] = t->shape[last && d > 0 ? (d < t->ndim - 1 ? d + 1 : 1) : d];
        size *= shape[d];
    }
    state = seed;
    for (int64_t i = 0; i < size; i++)
        x[i] = (float)(below(257) - 128) / 64 + 3;
    const nd_layout layout = {
        .size = sizeof layout, .dtype = ND_F32, .ndim = t->ndim, .shape = shape};
    nd_status status = nd_from_host(&layout, x, cpu, &host);
    status = status == ND_OK ? nd_astype(host, t->dtype, &typed) : status;
    status = status == ND_OK ? nd_to_device(typed, on, &there) : status;
    if (status == ND_OK && last)
        status = nd_permute(there, t->ndim, order, out);
    else if (status == ND_OK)
        *out = nd_retain(there);
    nd_release(host), nd_release(typed), nd_release(there);
    free(x);
    return status;
}

/* A batch by statistics that it is told, numbers from 1 to 5. */
static nd_status run_given(const grouped *t, nd_device *on, uint64_t seed, const nd_array *x,
                           const nd_array *scale, const nd_array *bias, nd_array **r)
{
    const nd_batch_norm_opts o = {.size = sizeof o, .eps = 1e-5};
    const nd_dtype wide = nd_dtype_size(t->dtype) == 2 ? ND_F32 : t->dtype;
    const grouped told = {.ndim = 1, .dtype = wide, .shape = {t->shape[1]}};
    nd_array *mean = NULL, *variance = NULL;
    nd_status status = random_operand(&told, on, 0, seed, &mean);
    status = status == ND_OK ? random_operand(&told, on, 0, seed + 1, &variance) : status;
    if (status == ND_OK)
        status = nd_batch_norm(x, below(2) ? scale : NULL, below(2) ? bias : NULL, mean, variance,
                               &o, r);
    nd_release(mean), nd_release(variance);
    return status;
}

/* The pretended device packs nothing: a result that has channels innermost is turned to how it lies. */
static nd_status turn(const grouped *t, nd_array **r)
{
    int32_t order[4] = {0, 2, 3, 1};
    nd_array *made = *r;
    order[t->ndim - 1] = 1;
    const nd_status status = nd_permute(made, t->ndim, order, r);
    nd_release(made);
    return status;
}

static nd_status run_group(const grouped *t, nd_device *on, int last, uint64_t seed, nd_array **r)
{
    const nd_batch_norm_opts b = {.size = sizeof b, .eps = 1e-5, .training = 1};
    const nd_norm_opts o = {.size = sizeof o, .eps = 1e-5, .naxes = 1};
    grouped w = {
        .ndim = 1, .dtype = t->dtype, .shape = {t->shape[t->kind <= RMS ? t->ndim - 1 : 1]}};
    nd_array *x = NULL, *g = NULL, *scale = NULL, *bias = NULL;
    nd_status status = random_operand(t, on, last, seed, &x);
    status = status == ND_OK ? random_operand(t, on, last, seed + 1, &g) : status;
    status = status == ND_OK ? random_operand(&w, on, 0, seed + 2, &scale) : status;
    status = status == ND_OK ? random_operand(&w, on, 0, seed + 3, &bias) : status;
    if (status == ND_OK && t->kind == LAYER)
        status = nd_layer_norm_grad(g, x, scale, &o, &r[0], &r[1], &r[2]);
    else if (status == ND_OK && t->kind == RMS)
        status = nd_rms_norm_grad(g, x, scale, &o, &r[0], &r[1]);
    else if (status == ND_OK && t->kind == GIVEN)
        status = run_given(t, on, seed + 4, x, scale, bias, &r[0]);
    else if (status == ND_OK && t->backward)
        status = t->kind == GROUP
                     ? nd_group_norm_grad(g, x, t->groups, scale, &o, &r[0], &r[1], &r[2])
                     : nd_batch_norm_grad(g, x, scale, NULL, NULL, &b, &r[0], &r[1], &r[2]);
    else if (status == ND_OK)
        status = t->kind == GROUP ? nd_group_norm(x, t->groups, scale, bias, &o, &r[0])
                                  : nd_batch_norm(x, scale, bias, NULL, NULL, &b, &r[0]);
    if (status == ND_OK && last && !t->backward)
        status = turn(t, &r[0]);
    nd_release(x), nd_release(g), nd_release(scale), nd_release(bias);
    return status;
}

/* The largest difference of two results, as a share of the largest element. */
static double apart(const nd_array *a, const nd_array *b)
{
    const int64_t n = nd_size(a);
    float *x = fetch(a, n), *y = fetch(b, n);
    double most = 1, worst = 0;
    for (int64_t i = 0; i < n; i++) {
        const double e = fabs((double)x[i] - y[i]);
        most = fabs(y[i]) > most ? fabs(y[i]) : most;
        worst = e <= worst ? worst : e;
    }
    free(x), free(y);
    return worst / most;
}

/* given: a batch whose statistics the call is told. */
static int group_trial(int number, int given)
{
    grouped t;
    random_group(&t, given ? KINDS * number + BATCH : number);
    t.kind = given ? GIVEN : t.kind;
    t.backward = given ? 0 : t.backward;
    const uint64_t seed = 1 + (uint64_t)below(1 << 30);
    const int last = t.kind >= BATCH && t.ndim > 2 && below(2);
    const double bound = t.dtype == ND_BF16 ? 0x1p-6 : t.dtype == ND_F16 ? 0x1p-9 : 0x1p-18;
    nd_array *r[3] = {NULL}, *want[3] = {NULL};
    nd_status status = run_group(&t, dev, last, seed, r);
    status = status == ND_OK ? run_group(&t, cpu, last, seed, want) : status;
    double worst = status == ND_OK ? 0 : HUGE_VAL;
    for (int k = 0; k < 3 && status == ND_OK; k++)
        if (want[k] && !(apart(r[k], want[k]) <= worst))
            worst = apart(r[k], want[k]);
    if (!(worst <= bound))
        printf("group %d: kind %d of %s, backward %d, %d axes, %d x %d x %d x %d, %d groups, last "
               "%d: %g %s\n",
               number, t.kind, nd_dtype_name(t.dtype), t.backward, t.ndim, (int)t.shape[0],
               (int)t.shape[1], (int)t.shape[2], (int)t.shape[3], (int)t.groups, last, worst,
               status == ND_OK ? "" : nd_last_error()->message);
    for (int k = 0; k < 3; k++)
        nd_release(r[k]), nd_release(want[k]);
    state = seed * 2 + 1;
    return worst <= bound;
}

static int trials = 48;

static int look(void)
{
    int norms = 0, groups = 0;
    if (nd_device_get("cuda:0", &dev) != ND_OK || nd_device_get("cpu", &cpu) != ND_OK) {
        puts(nd_last_error()->message);
        return 1;
    }
    for (int i = 0; i < trials / 2; i++)
        norms += norm_trial(i);
    for (int i = 0; i < trials; i++)
        groups += group_trial(i, 0) + group_trial(i, 1);
    printf("norms: %d\ngroups: %d\n", norms, groups);
    return 0;
}

#define ONE "STUB_CUDA_COUNT=1", "STUB_CUDA_WORKS=1", "STUB_CUDA_MEMORY=1", "NDOCK_FALLBACK=error"
static void expect(void)
{
    char all[2][24];
    snprintf(all[0], sizeof all[0], "norms: %d\n", trials / 2);
    snprintf(all[1], sizeof all[1], "groups: %d\n", 2 * trials);
    if (!has_text(answer, all[0], "gradients of norms are what their definitions say") ||
        !has_text(answer, all[1], "norms with weights are what they are on the CPU"))
        diag("%s", answer);
}

static void results(void)
{
    ask(MACHINE(ONE), NO_NVML);
    expect();
    ask(MACHINE(ONE, "STUB_CUDA_PROCESSORS=2"), NO_NVML); /* a thread has several rows */
    expect();
}

int main(int argc, char **argv)
{
    static const tap_case cases[] = {{"results", results}};
    if (getenv("NDOCK_TEST_SLICE"))
        trials = 24;
    if (argc > 1 && strcmp(argv[1], "--look") == 0)
        return look();
    return stubs_main(argc, argv, cases, (int)(sizeof cases / sizeof cases[0]));
}
