/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Random geometries of attention, and what it is by its definition in doubles. */
#ifndef NDOCK_TESTS_CUDA_ATTENTION_LAB_H
#define NDOCK_TESTS_CUDA_ATTENTION_LAB_H
#include "tests/cuda/neural_lab.h"

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

/* The last element is `last`, if that is not 0. */
static nd_status make_ending(operand *a, nd_dtype dtype, int64_t b, int64_t h, int64_t rows,
                             int64_t columns, float last)
{
    *a = (operand){.shape = {b, h, rows, columns}};
    a->x = calloc((size_t)(size_of(a) + 1), sizeof *a->x);
    for (int64_t i = 0; i < size_of(a); i++)
        a->x[i] = (float)(below(257) - 128) / 64;
    if (last != 0)
        a->x[size_of(a) - 1] = last;
    return lay(a, dtype, (int)below(4));
}
static nd_status make(operand *a, nd_dtype dtype, int64_t b, int64_t h, int64_t rows,
                      int64_t columns)
{
    return make_ending(a, dtype, b, h, rows, columns, 0);
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
    float last;    /* of the values; 0: as others */
    int plain;     /* of f32, without masks and dropout */
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
    static const nd_dtype dtypes[] = {ND_F16, ND_F32, ND_BF16};
    *t = (trial){.dtype = dtypes[(number + number / 6) % 3], .o = {.size = sizeof t->o}};
    t->b = 1 + below(2);
    t->hk = 1 + below(2);
    t->h = t->hk * (1 + below(few ? 5 : 2));
    t->m = few ? 1 + below(4) : 1 + below(width == 64 ? 220 : 150);
    t->n = 1 + below(few ? 700 : width == 64 ? 400 : 200);
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

static nd_status make_operands(trial *t)
{
    nd_status status = make(&t->q, t->dtype, t->b, t->h, t->m, t->d);
    status = status == ND_OK ? make(&t->k, t->dtype, t->b, t->hk, t->n, t->d) : status;
    status =
        status == ND_OK ? make_ending(&t->v, t->dtype, t->b, t->hk, t->n, t->e, t->last) : status;
    return status == ND_OK && !t->plain ? make_mask(t) : status;
}

static void describe(const trial *t, int number, double error, nd_status status)
{
    printf(
        "trial %d, %s b %d h %d hk %d m %d n %d d %d e %d causal %d scale %g mask %d dropout %g: "
        "error %g %s\n",
        number,
        t->dtype == ND_F16   ? "f16"
        : t->dtype == ND_F32 ? "f32"
                             : "bf16",
        (int)t->b, (int)t->h, (int)t->hk, (int)t->m, (int)t->n, (int)t->d, (int)t->e,
        (int)t->o.causal, t->o.scale,
        t->seen     ? 2
        : t->mask.x ? 1
                    : 0,
        t->o.dropout, error, status == ND_OK ? "" : nd_last_error()->message);
}

static void release_operands(trial *t)
{
    nd_release(t->out);
    nd_release(t->lse);
    drop(&t->q);
    drop(&t->k);
    drop(&t->v);
    drop(&t->mask);
    free(t->seen);
}
#endif
