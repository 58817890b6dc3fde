/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Conformance: gradients of norms, cross entropy, rope and dropout against their definitions. Those
 * of attention are in attention.c. */
#include <math.h>
#include "tests/conform/conform.h"

static const nd_dtype floats[] = {ND_F32, ND_F64, ND_F16, ND_BF16};
static const view_wish tame = {.tame = true};

static long double number(const mirror *m, int64_t i)
{
    return mirror_cell(m, m->ndim, m->shape, i).re;
}

/* Element i of data, of dtype, is want within ulp units of the last place of the size. */
static void compare(nd_op op, nd_dtype dtype, const char *data, int64_t i, long double want,
                    long double size)
{
    char text[2][128];
    const cell got = cell_read(dtype, data + (size_t)i * nd_dtype_size(dtype)), w = cell_real(want);
    const long double bound = op_ulp(op, dtype) * 1.01L * cell_ulp(dtype, fmaxl(size, fabsl(want)));
    if (!isfinite(size) || size > cell_max(dtype) / 4)
        return;
    if (!cell_within(dtype, got, w, bound))
        fail_case("%s of %s: element %lld is %s, not %s (bound %Lg)", nd_op_get(op)->name,
                  nd_dtype_name(dtype), (long long)i, cell_text(got, text[0]),
                  cell_text(w, text[1]), bound);
}

/* ---- gradients of norms ---- */
static void expect_softmax(nd_op op, const long double *g, const long double *y, int64_t n,
                           long double *want, long double *size)
{
    long double sum = 0, all = 0;
    const bool log_of = op == ND_OP_log_softmax_grad;
    for (int64_t i = 0; i < n; i++) {
        sum += log_of ? g[i] : g[i] * y[i];
        all += fabsl(log_of ? g[i] : g[i] * y[i]);
    }
    for (int64_t i = 0; i < n; i++) {
        const long double e = expl(y[i]);
        want[i] = log_of ? g[i] - e * sum : y[i] * (g[i] - sum);
        size[i] =
            log_of ? fabsl(g[i]) + e * all * (1 + fabsl(y[i])) : fabsl(y[i]) * (fabsl(g[i]) + all);
    }
}

/* g is times the scale already. */
static void expect_norm(nd_op op, const long double *g, const long double *x, int64_t n,
                        long double *want, long double *size)
{
    const bool centred = op == ND_OP_layer_norm_grad;
    long double mean = 0, sizes = 0, squares = 0, a = 0, b = 0, all = 0, both = 0;
    for (int64_t i = 0; i < n && centred; i++) {
        mean += x[i] / n;
        sizes += fabsl(x[i]) / n;
    }
    for (int64_t i = 0; i < n; i++)
        squares += (x[i] - mean) * (x[i] - mean) / n;
    const long double r = 1 / sqrtl(squares + 1e-5L);
    for (int64_t i = 0; i < n; i++) {
        a += g[i] / n;
        b += g[i] * (x[i] - mean) * r / n;
        all += fabsl(g[i]) / n;
        both += fabsl(g[i]) * (fabsl(x[i]) + sizes) * r / n;
    }
    for (int64_t i = 0; i < n; i++) {
        const long double d = (x[i] - mean) * r, wide = (fabsl(x[i]) + sizes) * r;
        want[i] = r * (g[i] - (centred ? a : 0) - d * b);
        /* What rounds in the mean is magnified by the factor in every product with it. */
        size[i] =
            r * (fabsl(g[i]) + all + wide * both + (1 + sizes * r) * (all + both + wide * all));
    }
}

/* Over the last axis, or the last few together. */
static void norm_grad_case(nd_op op, nd_dtype dtype)
{
    view_wish wish = any_view;
    mirror g = {0}, x = {0}, w = {0};
    nd_array *y = NULL, *r = NULL;
    const bool soft = op == ND_OP_softmax_grad || op == ND_OP_log_softmax_grad;
    wish.tame = true;
    wish.least_ndim = 1;
    wish.no_empty = random_below(4) != 0;
    bool made = mirror_random(&x, dtype, &wish) && mirror_shaped(&g, dtype, x.ndim, x.shape, &tame);
    const int naxes = made && random_below(2) ? 1 + (int)random_below(x.ndim) : 1;
    const int64_t *last = x.shape + x.ndim - naxes;
    int64_t n = made;
    for (int d = 0; d < naxes && made; d++)
        n *= last[d];
    const nd_norm_opts o = {.size = sizeof o, .eps = 1e-5, .naxes = naxes};
    const bool weighted =
        made && !soft && random_below(2) && mirror_shaped(&w, dtype, naxes, last, &tame);
    if (made && soft)
        made = good(op == ND_OP_softmax_grad ? nd_softmax(x.array, &o, &y)
                                             : nd_log_softmax(x.array, &o, &y),
                    "softmax") &&
               good(op == ND_OP_softmax_grad ? nd_softmax_grad(g.array, y, &o, &r)
                                             : nd_log_softmax_grad(g.array, y, &o, &r),
                    "softmax_grad");
    else if (made)
        made = good(op == ND_OP_layer_norm_grad
                        ? nd_layer_norm_grad(g.array, x.array, w.array, &o, &r, NULL, NULL)
                        : nd_rms_norm_grad(g.array, x.array, w.array, &o, &r, NULL),
                    "norm_grad");
    char *data = made ? fetch(r) : NULL, *given = made && soft ? fetch(y) : NULL;
    long double *row = malloc(((size_t)n + 1) * 4 * sizeof *row);
    for (int64_t at = 0; data && n && at < x.size && !failing(); at += n) {
        for (int64_t i = 0; i < n; i++) {
            row[i] = number(&g, at + i) * (weighted ? number(&w, i) : 1);
            row[n + i] = soft ? cell_read(dtype, given + (size_t)(at + i) * nd_dtype_size(dtype)).re
                              : number(&x, at + i);
        }
        (soft ? expect_softmax : expect_norm)(op, row, row + n, n, row + 2 * n, row + 3 * n);
        for (int64_t i = 0; i < n; i++)
            compare(op, dtype, data, at + i, row[2 * n + i], row[3 * n + i]);
    }
    free(row);
    free(data);
    free(given);
    nd_release(y);
    nd_release(r);
    mirror_release(&g);
    mirror_release(&x);
    mirror_release(&w);
}

/* ---- cross entropy ---- */
typedef struct {
    mirror a, w, g;
    int64_t rows, n, y[8];
    nd_loss_opts o;
} entropy;

static bool make_entropy(entropy *e, nd_dtype dtype)
{
    const int64_t shape[2] = {random_below(7), 1 + random_below(random_below(8) ? 40 : 3000)};
    memset(e, 0, sizeof *e);
    e->rows = shape[0];
    e->n = shape[1];
    e->o = (nd_loss_opts){.size = sizeof e->o,
                          .reduction = ND_LOSS_NONE,
                          .ignore = -7,
                          .has_ignore = 1,
                          .smoothing = random_below(2) ? 0 : (double)random_below(5) / 8};
    for (int64_t i = 0; i < e->rows; i++)
        e->y[i] = random_below(5) ? random_below(e->n) : -7;
    bool made = mirror_shaped(&e->a, dtype, 2, shape, &tame) &&
                mirror_shaped(&e->g, dtype, 1, shape, &tame);
    if (made && random_below(2)) {
        made = mirror_shaped(&e->w, dtype, 1, shape + 1, &tame);
        e->o.weights = e->w.array;
    }
    return made;
}

static long double weight(const entropy *e, int64_t k)
{
    return e->w.array ? number(&e->w, k) : 1;
}

static void check_entropy(const entropy *e, nd_dtype dtype, bool grad, const char *data,
                          int64_t row)
{
    const int64_t y = e->y[row], n = e->n;
    long double max = -INFINITY, sum = 0, all = 0, mixed = 0, wide = 0, sizes = 0;
    for (int64_t k = 0; k < n; k++)
        max = fmaxl(max, number(&e->a, row * n + k));
    for (int64_t k = 0; k < n; k++) {
        const long double x = number(&e->a, row * n + k), w = weight(e, k);
        sum += expl(x - max);
        all += w;
        mixed += w * x;
        wide += fabsl(w);
        sizes = fmaxl(sizes, fabsl(x));
    }
    const long double s = e->o.smoothing, own = y < 0 ? 0 : (1 - s) * weight(e, y), each = s / n;
    const long double log_sum = max + logl(sum), size = (fabsl(own) + each * wide) * (1 + sizes);
    if (!grad) {
        const long double loss =
            y < 0 ? 0
                  : own * (log_sum - number(&e->a, row * n + y)) + each * (all * log_sum - mixed);
        compare(ND_OP_cross_entropy, dtype, data, row, loss, size * (1 + fabsl(logl(sum))));
        return;
    }
    const long double g = number(&e->g, row);
    for (int64_t k = 0; k < n && !failing(); k++) {
        const long double p = expl(number(&e->a, row * n + k) - log_sum);
        const long double want =
            y < 0 ? 0 : g * (p * (own + each * all) - each * weight(e, k) - (k == y ? own : 0));
        compare(ND_OP_cross_entropy_grad, dtype, data, row * n + k, want, fabsl(g) * size);
    }
}

static void entropy_case(nd_op op, nd_dtype dtype)
{
    entropy e;
    nd_array *y = NULL, *r = NULL;
    const bool grad = op == ND_OP_cross_entropy_grad;
    if (make_entropy(&e, dtype)) {
        nd_layout layout = {.size = sizeof layout, .dtype = ND_I64, .ndim = 1, .shape = &e.rows};
        if (good(nd_from_host(&layout, e.y, run.device, &y), "from_host") &&
            good(grad ? nd_cross_entropy_grad(e.g.array, e.a.array, y, &e.o, &r)
                      : nd_cross_entropy(e.a.array, y, &e.o, &r),
                 "cross_entropy")) {
            char *data = fetch(r);
            for (int64_t row = 0; data && row < e.rows && !failing(); row++)
                check_entropy(&e, dtype, grad, data, row);
            free(data);
        }
    }
    nd_release(y);
    nd_release(r);
    mirror_release(&e.a);
    mirror_release(&e.w);
    mirror_release(&e.g);
}

/* ---- rope ---- */
static void rope_case(nd_op op, nd_dtype dtype)
{
    const int32_t layout = (int32_t)random_below(3), thd = layout == ND_ROPE_THD;
    const int64_t half = 1 + random_below(20), h = 1 + random_below(3), t = 1 + random_below(5);
    const int64_t shape[4] = {random_below(4), thd ? t : h, thd ? h : t, 2 * half},
                  at[2] = {t, half};
    const nd_rope_opts o = {.size = sizeof o, .layout = layout};
    const bool back = random_below(2);
    mirror x = {0}, c = {0}, s = {0};
    nd_array *r = NULL;
    if (mirror_shaped(&x, dtype, 4, shape, &tame) && mirror_shaped(&c, dtype, 2, at, &tame) &&
        mirror_shaped(&s, dtype, 2, at, &tame) &&
        good(back ? nd_rope_grad(x.array, c.array, s.array, &o, &r)
                  : nd_rope(x.array, c.array, s.array, &o, &r),
             "rope")) {
        char *data = fetch(r);
        for (int64_t i = 0; data && i < x.size && !failing(); i++) {
            const int64_t column = i % (2 * half), row = i / (2 * half);
            const int64_t time = thd ? row / h % t : row % t;
            const bool inter = layout == ND_ROPE_INTERLEAVED;
            const int64_t pair = inter ? column / 2 : column % half;
            const bool second = inter ? column % 2 : column >= half;
            const int64_t other = i + (inter ? 1 : half) * (second ? -1 : 1);
            const long double cosine = number(&c, time * half + pair),
                              sine = number(&s, time * half + pair) * (back ? -1 : 1);
            const long double a = number(&x, i) * cosine, b = number(&x, other) * sine;
            compare(op, dtype, data, i, second ? a + b : a - b, fabsl(a) + fabsl(b));
        }
        free(data);
    }
    nd_release(r);
    mirror_release(&x);
    mirror_release(&c);
    mirror_release(&s);
}

/* ---- dropout ---- */
static void dropout_case(nd_op op, nd_dtype dtype)
{
    const nd_random_key key = {random_bits(), {random_bits(), random_bits()}};
    const double p = (double)random_below(9) / 10;
    mirror x = {0};
    nd_array *r = NULL;
    view_wish wish = any_view;
    wish.tame = true;
    if (mirror_random(&x, dtype, &wish) && good(nd_dropout(x.array, p, &key, &r), "dropout")) {
        char *data = fetch(r);
        for (int64_t i = 0; data && i < x.size && !failing(); i++) {
            const uint64_t low = key.counter[0] + (uint64_t)(i / 4),
                           high = key.counter[1] + (low < key.counter[0]);
            const uint32_t counter[4] = {(uint32_t)low, (uint32_t)(low >> 32), (uint32_t)high,
                                         (uint32_t)(high >> 32)},
                           seed[2] = {(uint32_t)key.key, (uint32_t)(key.key >> 32)};
            uint32_t word[4];
            nd_philox4x32(counter, seed, word);
            const bool kept = word[i % 4] >= (uint32_t)(p * 0x1p32);
            const long double want = kept ? number(&x, i) / (1 - (long double)p) : 0;
            compare(op, dtype, data, i, want, fabsl(want));
        }
        free(data);
    }
    nd_release(r);
    mirror_release(&x);
}

void conform_neural(void)
{
    static const struct {
        nd_op op;
        void (*one)(nd_op op, nd_dtype dtype);
    } rows[] = {{ND_OP_softmax_grad, norm_grad_case},
                {ND_OP_log_softmax_grad, norm_grad_case},
                {ND_OP_layer_norm_grad, norm_grad_case},
                {ND_OP_rms_norm_grad, norm_grad_case},
                {ND_OP_cross_entropy, entropy_case},
                {ND_OP_cross_entropy_grad, entropy_case},
                {ND_OP_rope, rope_case},
                {ND_OP_dropout, dropout_case}};
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        const char *name = nd_op_get(rows[k].op)->name;
        if (!wanted(name))
            continue;
        begin_op(name);
        for (int i = 0; i < run.count && !failing(); i++)
            if (begin_case(i))
                rows[k].one(rows[k].op, floats[i % 4]);
        end_op();
    }
}
