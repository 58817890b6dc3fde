/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Attention, and gradients of norms, of the CUDA plug-in without a GPU: kernels are compiled for the
 * host, whose threads hand each other operands as PTX says (emulate_warp.h), and the driver
 * pretends, so that tiles, masks, parts of keys and their joining are the plug-in's own. Random
 * geometries are compared with the definition in doubles. */
#include <math.h>
#include <ndock/ndock.h>
#include "tests/cuda/stubs.h"

static nd_device *dev, *cpu;
static uint64_t state = 20261125;
static int64_t below(int64_t n)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (int64_t)(state >> 11) % n;
}

/* (b, h, rows, columns) in C order on the host, and the array, which may lie otherwise. */
typedef struct {
    int64_t shape[4];
    float *x;
    nd_array *array, *base;
} operand;

static int64_t size_of(const operand *a)
{
    return a->shape[0] * a->shape[1] * a->shape[2] * a->shape[3];
}
static float at(const operand *a, int64_t b, int64_t h, int64_t i, int64_t c)
{
    return a->x[((b * a->shape[1] + h) * a->shape[2] + i) * a->shape[3] + c];
}

/* How it lies: 0 dense; 1 (b, rows, h, columns); 2 with gaps of one element between rows; 3 turned,
 * columns far apart. */
static nd_status lay(operand *a, nd_dtype dtype, int mode)
{
    static const int32_t axes[4][4] = {{0, 1, 2, 3}, {0, 2, 1, 3}, {0, 1, 2, 3}, {0, 1, 3, 2}};
    const int32_t *axis = axes[mode];
    const int64_t gap = mode == 2;
    int64_t shape[4], stride[4];
    for (int d = 0; d < 4; d++)
        shape[d] = a->shape[axis[d]] + (d == 3 ? gap : 0);
    stride[3] = 1;
    for (int d = 2; d >= 0; d--)
        stride[d] = stride[d + 1] * shape[d + 1];
    float *y = calloc((size_t)(shape[0] * stride[0] + 1), sizeof *y);
    for (int64_t i = 0; i < size_of(a); i++) {
        int64_t left = i, index[4], to = 0;
        for (int d = 3; d >= 0; d--) {
            index[d] = left % a->shape[d];
            left /= a->shape[d];
        }
        for (int d = 0; d < 4; d++)
            to += index[axis[d]] * stride[d];
        y[to] = a->x[i];
    }
    nd_array *wide = NULL, *half = NULL, *moved = NULL;
    const nd_layout layout = {.size = sizeof layout, .dtype = ND_F32, .ndim = 4, .shape = shape};
    const nd_index part[2] = {nd_ellipsis(), nd_range(0, shape[3] - gap, 1)};
    nd_status status = nd_from_host(&layout, y, cpu, &wide);
    status = status == ND_OK ? nd_astype(wide, dtype, &half) : status;
    status = status == ND_OK ? nd_to_device(half, dev, &a->base) : status;
    status = status == ND_OK ? nd_slice(a->base, part, 2, &moved) : status;
    status = status == ND_OK ? nd_permute(moved, 4, axis, &a->array) : status;
    nd_release(wide);
    nd_release(half);
    nd_release(moved);
    free(y);
    return status;
}

static nd_status make(operand *a, nd_dtype dtype, int64_t b, int64_t h, int64_t rows,
                      int64_t columns)
{
    *a = (operand){.shape = {b, h, rows, columns}};
    a->x = calloc((size_t)(size_of(a) + 1), sizeof *a->x);
    for (int64_t i = 0; i < size_of(a); i++)
        a->x[i] = (float)(below(257) - 128) / 64;
    return lay(a, dtype, (int)below(4));
}
static void drop(operand *a)
{
    nd_release(a->array);
    nd_release(a->base);
    free(a->x);
}

typedef struct {
    nd_dtype dtype;
    int64_t b, h, hk, m, n, d, e;
    operand q, k, v, mask;
    nd_attention_opts o;
    uint8_t *seen; /* of a mask of bools */
    nd_array *out, *lse;
} trial;

/* What weight number i is multiplied by. */
static double kept(const trial *t, int64_t i)
{
    const uint64_t low = t->o.key.counter[0] + (uint64_t)(i / 4);
    const uint32_t counter[4] = {(uint32_t)low, (uint32_t)(low >> 32),
                                 (uint32_t)t->o.key.counter[1],
                                 (uint32_t)(t->o.key.counter[1] >> 32)},
                   seed[2] = {(uint32_t)t->o.key.key, (uint32_t)(t->o.key.key >> 32)};
    uint32_t word[4];
    nd_philox4x32(counter, seed, word);
    return word[i % 4] >= (uint32_t)(t->o.dropout * 0x1p32) ? 1 / (1 - t->o.dropout) : 0;
}

/* The weights of one query, 0 if it sees nothing; returns its logsumexp. */
static double weigh(const trial *t, int64_t b, int64_t h, int64_t i, double *w)
{
    const double scale = t->o.scale != 0 ? t->o.scale : 1 / sqrt((double)t->d);
    const int64_t diagonal = t->o.causal == ND_CAUSAL_LAST ? t->n - t->m : 0;
    double top = -HUGE_VAL, sum = 0;
    for (int64_t j = 0; j < t->n; j++) {
        w[j] = 0;
        for (int64_t c = 0; c < t->d; c++)
            w[j] += (double)at(&t->q, b, h, i, c) * at(&t->k, b, h / (t->h / t->hk), j, c);
        w[j] *= scale;
        if (t->mask.x)
            w[j] += at(&t->mask, b, h, i, j);
        if ((t->seen && !t->seen[i * t->n + j]) || (t->o.causal && j > i + diagonal))
            w[j] = -HUGE_VAL;
        top = w[j] > top ? w[j] : top;
    }
    for (int64_t j = 0; j < t->n; j++)
        sum += w[j] = top > -HUGE_VAL ? exp(w[j] - top) : 0;
    for (int64_t j = 0; j < t->n; j++)
        w[j] = sum > 0 ? w[j] / sum : 0;
    return sum > 0 ? top + log(sum) : -HUGE_VAL;
}

static float *fetch(const nd_array *a, int64_t n)
{
    nd_array *near = NULL, *wide = NULL;
    float *x = calloc((size_t)n + 1, sizeof *x);
    if (nd_to_device(a, cpu, &near) != ND_OK || nd_astype(near, ND_F32, &wide) != ND_OK ||
        nd_to_host(wide, x, (size_t)n * sizeof *x) != ND_OK)
        x[0] = NAN;
    nd_release(near);
    nd_release(wide);
    return x;
}

/* The largest error in units of the half type's rounding of the sizes that were summed, and of
 * logsumexp over 1e-5. */
static double error_of(const trial *t)
{
    const double unit = t->dtype == ND_F16 ? 0x1p-10 : 0x1p-7;
    float *out = fetch(t->out, t->b * t->h * t->m * t->e), *lse = fetch(t->lse, t->b * t->h * t->m);
    double *w = calloc((size_t)t->n + 1, sizeof *w), worst = 0;
    for (int64_t row = 0; row < t->b * t->h * t->m; row++) {
        const int64_t i = row % t->m, h = row / t->m % t->h, b = row / t->m / t->h;
        const double want = weigh(t, b, h, i, w);
        const double off = want > -HUGE_VAL ? fabs(lse[row] - want) / 1e-5 : lse[row] != want;
        worst = off <= worst ? worst : off;
        for (int64_t c = 0; c < t->e; c++) {
            double sum = 0, size = 0x1p-14;
            for (int64_t j = 0; j < t->n; j++) {
                const double x = w[j] * (t->o.dropout > 0 ? kept(t, row * t->n + j) : 1) *
                                 at(&t->v, b, h / (t->h / t->hk), j, c);
                sum += x;
                size += fabs(x);
            }
            const double error = fabs(out[row * t->e + c] - sum) / (unit * size);
            worst = error <= worst ? worst : error;
        }
    }
    free(w);
    free(out);
    free(lse);
    return worst;
}

static nd_status make_mask(trial *t)
{
    const int64_t shape[2] = {t->m, t->n};
    const nd_layout layout = {.size = sizeof layout, .dtype = ND_BOOL, .ndim = 2, .shape = shape};
    const int64_t kind = below(3);
    if (kind == 0)
        return ND_OK;
    if (kind == 1) {
        nd_status status = make(&t->mask, t->dtype, t->b, t->h, t->m, t->n);
        t->o.mask = t->mask.array;
        return status;
    }
    t->seen = calloc((size_t)(t->m * t->n + 1), 1);
    for (int64_t i = 0; i < t->m * t->n; i++)
        t->seen[i] = below(3) > 0;
    nd_status status = nd_from_host(&layout, t->seen, dev, &t->mask.array);
    t->o.mask = t->mask.array;
    return status;
}

/* Kinds: many queries; few, of heads that share keys; few, over many keys. */
static void choose(trial *t, int number)
{
    static const int64_t widths[] = {32, 64, 80, 96, 128, 256};
    const int64_t width = widths[number % 6];
    const int few = number / 6 % 2;
    *t = (trial){.dtype = number % 4 < 2 ? ND_F16 : ND_BF16, .o = {.size = sizeof t->o}};
    t->b = 1 + below(2);
    t->hk = 1 + below(2);
    t->h = t->hk * (1 + below(few ? 5 : 2));
    t->m = few ? 1 + below(4) : 1 + below(150);
    t->n = 1 + below(few ? 700 : 200);
    t->d = below(2) ? width : width - below(15);
    t->e = below(2) ? width : width - below(15);
    t->o.causal = (int32_t)below(3);
    t->o.scale = below(4) ? 0 : below(2) ? 0.5 : -0.25;
    if (below(5) == 0) {
        t->o.dropout = 0.25;
        t->o.key = (nd_random_key){(uint64_t)below(1 << 30), {(uint64_t)below(1 << 30), 3}};
    }
    if (width == 256 && !few) /* the host is slow */
        t->n = 1 + below(70);
}

static int compute(int number)
{
    trial t;
    choose(&t, number);
    nd_status status = make(&t.q, t.dtype, t.b, t.h, t.m, t.d);
    status = status == ND_OK ? make(&t.k, t.dtype, t.b, t.hk, t.n, t.d) : status;
    status = status == ND_OK ? make(&t.v, t.dtype, t.b, t.hk, t.n, t.e) : status;
    status = status == ND_OK ? make_mask(&t) : status;
    status = status == ND_OK ? nd_scaled_dot_product_attention(t.q.array, t.k.array, t.v.array, &t.o,
                                                               &t.out, &t.lse)
                             : status;
    const double error = status == ND_OK ? error_of(&t) : HUGE_VAL;
    if (!(error < 2))
        printf("trial %d, %s b %d h %d hk %d m %d n %d d %d e %d causal %d scale %g mask %d dropout "
               "%g: error %g %s\n",
               number, t.dtype == ND_F16 ? "f16" : "bf16", (int)t.b, (int)t.h, (int)t.hk, (int)t.m,
               (int)t.n, (int)t.d, (int)t.e, (int)t.o.causal, t.o.scale,
               t.seen ? 2 : t.mask.x ? 1 : 0, t.o.dropout, error,
               status == ND_OK ? "" : nd_last_error()->message);
    nd_release(t.out);
    nd_release(t.lse);
    drop(&t.q);
    drop(&t.k);
    drop(&t.v);
    drop(&t.mask);
    free(t.seen);
    return error < 2;
}

static int trials(void)
{
    const char *text = getenv("ATTENTION_TRIALS");
    return text ? atoi(text) : getenv("NDOCK_TEST_SLICE") ? 12 : 24;
}

/* ---- gradients of norms ---- */
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
    static const int64_t lengths[] = {4, 36, 508, 512, 516, 1000, 2048, 8192, 8196, 16384, 16388, 77};
    norm t = {.rows = 1 + below(3), .n = lengths[number % 12], .centred = (int)below(2), .eps = 1e-5};
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

static int look(void)
{
    int close = 0, norms = 0;
    if (nd_device_get("cuda:0", &dev) != ND_OK || nd_device_get("cpu", &cpu) != ND_OK) {
        puts(nd_last_error()->message);
        return 1;
    }
    for (int i = 0; i < trials(); i++)
        close += compute(i);
    for (int i = 0; i < 24; i++)
        norms += norm_trial(i);
    printf("close: %d\nnorms: %d\n", close, norms);
    return 0;
}

static void results(void)
{
    char all[40];
    snprintf(all, sizeof all, "close: %d\n", trials());
    ask(MACHINE("STUB_CUDA_COUNT=1", "STUB_CUDA_WORKS=1", "STUB_CUDA_MEMORY=1",
                "NDOCK_FALLBACK=error"),
        NO_NVML);
    if (!has_text(answer, all, "attention is what its definition says"))
        diag("%s", answer);
    has_text(answer, "norms: 24\n", "so are gradients of norms");
}

int main(int argc, char **argv)
{
    static const tap_case cases[] = {{"results", results}};
    if (argc > 1 && strcmp(argv[1], "--look") == 0)
        return look();
    return stubs_main(argc, argv, cases, (int)(sizeof cases / sizeof cases[0]));
}
