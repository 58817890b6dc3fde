/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Conformance: norms of groups, instances and batches, and gradients of norms with those for their
 * weights, against their definitions: few and many channels, long and short rows, views, none. */
#include <math.h>
#include "tests/conform/conform.h"

enum { LAYER, RMS, GROUPS, INSTANCES, BATCH, GIVEN };
typedef struct {
    int kind;
    nd_op op;
    nd_dtype dtype;
    mirror x, g, scale, bias, given[2];   /* given: mean, and what the variance is the size of */
    int64_t rows, count, weights, groups; /* rows of count elements */
    int64_t *row, *weight;                /* of each element in C order */
    long double *mean, *sizes, *factor;   /* of each row; sizes: the mean of |x| */
} trial;

static long double number(const mirror *m, int64_t i)
{
    return mirror_cell(m, m->ndim, m->shape, i).re;
}

static bool make_shape(trial *t, int64_t *shape, int *ndim)
{
    static const int64_t batches[] = {1, 2, 3, 5, 33, 0}, channels[] = {1, 2, 3, 6, 8, 64, 36},
                         rests[] = {1, 2, 7, 16, 49, 300, 2100};
    do {
        *ndim = 2 + (int)random_below(3);
        shape[0] = batches[random_below(random_below(4) ? 5 : 6)];
        shape[1] = channels[random_below(7)];
        shape[2] = *ndim > 2 ? rests[random_below(7)] : 1;
        shape[3] = *ndim > 3 ? 1 + random_below(4) : 1;
    } while (shape[0] * shape[1] * shape[2] * shape[3] > 14000);
    t->groups = t->kind == GROUPS ? 1 + random_below(shape[1]) : shape[1];
    while (shape[1] % t->groups)
        t->groups--;
    return !(t->kind == BATCH && shape[0] * shape[2] * shape[3] == 1);
}

/* Which row and which weight each element belongs to. */
static void sort_out(trial *t, const int64_t *shape, int naxes)
{
    const int64_t channels = shape[1], rest = t->x.ndim > 2 ? t->x.size / (shape[0] * channels) : 1;
    int64_t last = 1;
    for (int d = t->x.ndim - naxes; d < t->x.ndim; d++)
        last *= shape[d];
    t->weights = t->kind <= RMS ? last : channels;
    t->rows = t->kind <= RMS     ? t->x.size / last
              : t->kind >= BATCH ? channels
                                 : shape[0] * t->groups;
    for (int64_t i = 0; i < t->x.size; i++) {
        const int64_t c = i / rest % channels, n = i / (rest * channels);
        t->weight[i] = t->kind <= RMS ? i % last : c;
        t->row[i] = t->kind <= RMS     ? i / last
                    : t->kind >= BATCH ? c
                                       : n * t->groups + c / (channels / t->groups);
    }
    t->count = t->rows ? t->x.size / t->rows : 0;
}

static void statistics(trial *t)
{
    for (int64_t i = 0; i < t->x.size; i++) {
        t->mean[t->row[i]] += t->kind == RMS ? 0 : number(&t->x, i) / t->count;
        t->sizes[t->row[i]] += t->kind == RMS ? 0 : fabsl(number(&t->x, i)) / t->count;
    }
    for (int64_t i = 0; i < t->x.size; i++) {
        const long double d = number(&t->x, i) - t->mean[t->row[i]];
        t->factor[t->row[i]] += d * d / t->count;
    }
    for (int64_t r = 0; r < t->rows; r++)
        t->factor[r] = 1 / sqrtl(t->factor[r] + 1e-5L);
}

/* Of each channel, that the call is told. */
static bool make_given(trial *t, const int64_t *channels, const view_wish *wish)
{
    const nd_dtype wide = nd_dtype_size(t->dtype) == 2 ? ND_F32 : t->dtype;
    for (int i = 0; i < 2; i++)
        if (!mirror_shaped(&t->given[i], wide, 1, channels, wish))
            return false;
    for (int64_t r = 0; r < t->rows; r++) {
        t->mean[r] = number(&t->given[0], r);
        t->sizes[r] = fabsl(t->mean[r]);
        t->factor[r] = 1 / sqrtl(fabsl(number(&t->given[1], r)) + 1e-5L);
    }
    return true;
}

static bool make(trial *t, int *naxes)
{
    const view_wish tame = {.tame = true};
    int64_t shape[4];
    int ndim;
    if (!make_shape(t, shape, &ndim))
        return false;
    *naxes = 1 + (int)random_below(ndim);
    if (!mirror_shaped(&t->x, t->dtype, ndim, shape, &tame) ||
        !mirror_shaped(&t->g, t->dtype, ndim, shape, &tame))
        return false;
    const size_t n = (size_t)t->x.size + 1;
    t->row = malloc(n * sizeof *t->row);
    t->weight = malloc(n * sizeof *t->weight);
    t->mean = calloc(3 * n, sizeof *t->mean);
    t->sizes = t->mean + n;
    t->factor = t->sizes + n;
    if (t->x.size)
        sort_out(t, shape, *naxes);
    if (t->kind != GIVEN)
        statistics(t);
    else if (!make_given(t, shape + 1, &tame))
        return false;
    const bool trailing = t->kind <= RMS;
    const int64_t *of = trailing ? shape + ndim - *naxes : shape + 1;
    bool made = random_below(4) == 0 ||
                mirror_shaped(&t->scale, t->dtype, trailing ? *naxes : 1, of, &tame);
    if (t->kind != RMS && random_below(4))
        made = made && mirror_shaped(&t->bias, t->dtype, trailing ? *naxes : 1, of, &tame);
    return made;
}

/* Element i of data is want within ulp units of the last place of the size. */
static void compare(const trial *t, const char *what, const char *data, int64_t i, long double want,
                    long double size)
{
    char text[2][128];
    const cell got = cell_read(t->dtype, data + (size_t)i * nd_dtype_size(t->dtype));
    const long double bound =
        op_ulp(t->op, t->dtype) * 1.01L * cell_ulp(t->dtype, fmaxl(size, fabsl(want)));
    if (!isfinite(size) || size > cell_max(t->dtype) / 4)
        return;
    if (!cell_within(t->dtype, got, cell_real(want), bound))
        fail_case("%s of %s, kind %d, rows of %lld, %lld groups: element %lld of %s is %s, not %s "
                  "(bound %Lg)",
                  nd_op_get(t->op)->name, nd_dtype_name(t->dtype), t->kind, (long long)t->count,
                  (long long)t->groups, (long long)i, what, cell_text(got, text[0]),
                  cell_text(cell_real(want), text[1]), bound);
}

static long double scale_of(const trial *t, int64_t i)
{
    return t->scale.array ? number(&t->scale, t->weight[i]) : 1;
}

/* ---- forward ---- */
static void check_result(const trial *t, const char *data)
{
    for (int64_t i = 0; i < t->x.size && !failing(); i++) {
        const long double x = number(&t->x, i), s = scale_of(t, i), f = t->factor[t->row[i]];
        const long double b = t->bias.array ? number(&t->bias, t->weight[i]) : 0;
        compare(t, "the result", data, i, (x - t->mean[t->row[i]]) * f * s + b,
                (fabsl(x) + t->sizes[t->row[i]]) * f * fabsl(s) + fabsl(b));
    }
}

static nd_status by_given(const trial *t, nd_array **r)
{
    const nd_batch_norm_opts b = {.size = sizeof b, .eps = 1e-5};
    nd_array *variance = NULL;
    nd_status status = nd_abs(t->given[1].array, &variance);
    if (status == ND_OK)
        status = nd_batch_norm(t->x.array, t->scale.array, t->bias.array, t->given[0].array,
                               variance, &b, r);
    nd_release(variance);
    return status;
}

static nd_status forward(const trial *t, nd_array **r)
{
    const nd_batch_norm_opts b = {.size = sizeof b, .eps = 1e-5, .momentum = 1, .training = 1};
    const nd_norm_opts o = {.size = sizeof o, .eps = 1e-5};
    const nd_array *x = t->x.array, *scale = t->scale.array, *bias = t->bias.array;
    return t->kind == GIVEN       ? by_given(t, r)
           : t->kind == GROUPS    ? nd_group_norm(x, t->groups, scale, bias, &o, r)
           : t->kind == INSTANCES ? nd_instance_norm(x, scale, bias, &o, r)
                                  : nd_batch_norm(x, scale, bias, NULL, NULL, &b, r);
}

/* ---- gradients ---- */
static nd_status backward(const trial *t, int naxes, nd_array **r)
{
    const nd_batch_norm_opts b = {.size = sizeof b, .eps = 1e-5, .training = 1};
    const nd_norm_opts o = {.size = sizeof o, .eps = 1e-5, .naxes = naxes};
    const nd_norm_opts plain = {.size = sizeof o, .eps = 1e-5};
    const nd_array *x = t->x.array, *g = t->g.array, *scale = t->scale.array;
    switch (t->kind) {
    case LAYER:
        return nd_layer_norm_grad(g, x, scale, &o, &r[0], &r[1], &r[2]);
    case RMS:
        return nd_rms_norm_grad(g, x, scale, &o, &r[0], &r[1]);
    case GROUPS:
        return nd_group_norm_grad(g, x, t->groups, scale, &plain, &r[0], &r[1], &r[2]);
    case INSTANCES:
        return nd_instance_norm_grad(g, x, scale, &plain, &r[0], &r[1], &r[2]);
    default:
        return nd_batch_norm_grad(g, x, scale, NULL, NULL, &b, &r[0], &r[1], &r[2]);
    }
}

static void check_input(const trial *t, const char *data)
{
    const size_t n = (size_t)t->rows + 1;
    long double *a = calloc(4 * n, sizeof *a), *b = a + n, *all = b + n, *both = all + n;
    for (int64_t i = 0; i < t->x.size; i++) {
        const int64_t r = t->row[i];
        const long double g = number(&t->g, i) * scale_of(t, i) / t->count, x = number(&t->x, i);
        a[r] += t->kind == RMS ? 0 : g;
        b[r] += g * (x - t->mean[r]) * t->factor[r];
        all[r] += fabsl(g);
        both[r] += fabsl(g) * (fabsl(x) + t->sizes[r]) * t->factor[r];
    }
    for (int64_t i = 0; i < t->x.size && !failing(); i++) {
        const int64_t r = t->row[i];
        const long double g = number(&t->g, i) * scale_of(t, i), x = number(&t->x, i),
                          f = t->factor[r];
        const long double d = (x - t->mean[r]) * f, wide = (fabsl(x) + t->sizes[r]) * f;
        /* What rounds in the mean is magnified by the factor in every product with it. */
        compare(t, "the gradient for x", data, i, f * (g - a[r] - d * b[r]),
                f * (fabsl(g) + all[r] + wide * both[r] +
                     (1 + t->sizes[r] * f) * (all[r] + both[r] + wide * all[r])));
    }
    free(a);
}

static void check_weights(const trial *t, const char *const data[3])
{
    const size_t n = (size_t)t->weights + 1;
    long double *s = calloc(4 * n, sizeof *s), *size = s + n, *b = size + n, *bs = b + n;
    for (int64_t i = 0; i < t->x.size; i++) {
        const int64_t r = t->row[i], w = t->weight[i];
        const long double g = number(&t->g, i), x = number(&t->x, i);
        s[w] += g * (x - t->mean[r]) * t->factor[r];
        size[w] +=
            fabsl(g) * (fabsl(x) + t->sizes[r]) * t->factor[r] * (1 + t->sizes[r] * t->factor[r]);
        b[w] += g;
        bs[w] += fabsl(g);
    }
    for (int64_t w = 0; w < t->weights && !failing(); w++) {
        compare(t, "the gradient for scale", data[1], w, s[w], size[w]);
        if (data[2])
            compare(t, "the gradient for bias", data[2], w, b[w], bs[w]);
    }
    free(s);
}

static void one_case(nd_op op, nd_dtype dtype)
{
    trial t = {.op = op, .dtype = dtype};
    nd_array *r[3] = {NULL};
    char *data[3] = {NULL};
    int naxes = 1;
    t.kind = op == ND_OP_rms_norm_grads ? RMS
             : op == ND_OP_batch_norm   ? GIVEN
             : op == ND_OP_group_norm   ? GROUPS + (int)random_below(3)
             : random_below(3) == 0     ? LAYER
                                        : GROUPS + (int)random_below(3);
    const bool whole = op == ND_OP_group_norm || op == ND_OP_batch_norm;
    if (make(&t, &naxes) && good(whole ? forward(&t, r) : backward(&t, naxes, r), "norm")) {
        for (int k = 0; k < 3; k++)
            data[k] = r[k] ? fetch(r[k]) : NULL;
        if (whole && data[0]) {
            check_result(&t, data[0]);
        } else if (data[0] && data[1]) {
            check_input(&t, data[0]);
            check_weights(&t, (const char *const *)data);
        }
    }
    for (int k = 0; k < 3; k++) {
        free(data[k]);
        nd_release(r[k]);
    }
    free(t.row);
    free(t.weight);
    free(t.mean);
    mirror_release(&t.x);
    mirror_release(&t.g);
    mirror_release(&t.scale);
    mirror_release(&t.bias);
    mirror_release(&t.given[0]);
    mirror_release(&t.given[1]);
}

void conform_groups(void)
{
    static const nd_op ops[] = {ND_OP_group_norm, ND_OP_batch_norm, ND_OP_layer_norm_grads,
                                ND_OP_rms_norm_grads};
    static const nd_dtype floats[] = {ND_F32, ND_F64, ND_F16, ND_BF16};
    for (size_t k = 0; k < sizeof ops / sizeof *ops; k++) {
        if (!wanted(nd_op_get(ops[k])->name))
            continue;
        begin_op(nd_op_get(ops[k])->name);
        for (int i = 0; i < run.count && !failing(); i++)
            if (begin_case(i))
                one_case(ops[k], floats[i % 4]);
        end_op();
    }
}
