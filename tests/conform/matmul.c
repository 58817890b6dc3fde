/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Conformance: matrix products. Expected values are plain loops over the operands' elements, in
 * long double or modulo 2^64. */
#include <math.h>
#include "tests/conform/conform.h"

enum { INTEGERS = ND_KIND_INT | ND_KIND_UINT };

/* What a row and a column make: the sum of products, and of their magnitudes. */
typedef struct {
    long double re, im, sizes;
} product;

typedef struct {
    nd_dtype dtype[2], compute, result;
    mirror a, b, bias;
    nd_matmul_opts opts;
    int64_t batch[CASE_NDIM], m, n, k;
    int n_batch, ndim;        /* of the result */
    int64_t shape[CASE_NDIM]; /* of the result */
    cell *left, *right;       /* a as (batch, m, k), b as (batch, n, k) */
    product *products;        /* of each element of the result; NULL for integers */
    int64_t items;
} trial;

static int kind_of(nd_dtype dtype)
{
    return nd_dtype_get(dtype)->kind;
}

static bool is_half(nd_dtype dtype)
{
    return kind_of(dtype) == ND_KIND_FLOAT && nd_dtype_size(dtype) == 2;
}

/* ---- operands ---- */

/* The shape of an operand: some of the batch, then rows by columns, or a vector of its k. */
static bool make_operand(trial *t, mirror *x, nd_dtype dtype, int64_t rows, int64_t columns,
                         bool vector, bool tame)
{
    int64_t shape[CASE_NDIM];
    int dropped = random_below(3) == 0 ? (int)random_below(t->n_batch + 1) : 0, n = 0;
    view_wish wish = {.tame = tame};
    for (int d = dropped; d < t->n_batch && !vector; d++)
        shape[n++] = random_below(4) ? t->batch[d] : 1;
    if (!vector || x == &t->b)
        shape[n++] = rows;
    if (!vector || x == &t->a)
        shape[n++] = columns;
    return mirror_shaped(x, dtype, n, shape, &wish);
}

static int64_t most(int64_t a, int64_t b)
{
    return a == 0 || b == 0 ? 0 : a > b ? a : b;
}

/* What the operands' leading axes broadcast to, which may be less than was planned. */
static void settle_batch(trial *t, bool row, bool column)
{
    int na = row ? 0 : t->a.ndim - 2, nb = column ? 0 : t->b.ndim - 2;
    t->n_batch = na > nb ? na : nb;
    t->items = 1;
    for (int d = 0; d < t->n_batch; d++) {
        int64_t x = d >= t->n_batch - na ? t->a.shape[d - (t->n_batch - na)] : 1;
        int64_t y = d >= t->n_batch - nb ? t->b.shape[d - (t->n_batch - nb)] : 1;
        t->batch[d] = t->shape[d] = most(x, y);
        t->items *= t->batch[d];
    }
    t->ndim = t->n_batch;
    if (!row)
        t->shape[t->ndim++] = t->m;
    if (!column)
        t->shape[t->ndim++] = t->n;
}

/* Every matrix of an operand, rows of k one after the other, stretched over the batch. */
static cell *spread(const trial *t, const mirror *x, bool is_b)
{
    int64_t shape[CASE_NDIM], outer = is_b ? t->n : t->m, size = t->items * outer * t->k;
    cell *cells = malloc((size_t)(size + 1) * sizeof *cells);
    int n = x->ndim == 1 ? 0 : t->n_batch;
    memcpy(shape, t->batch, sizeof shape);
    if (x->ndim > 1 || is_b)
        shape[n++] = is_b ? t->k : t->m;
    if (x->ndim > 1 || !is_b)
        shape[n++] = is_b ? t->n : t->k;
    for (int64_t i = 0; i < size; i++) {
        int64_t item = i / (outer * t->k), line = i / t->k % outer, j = i % t->k;
        int64_t at = x->ndim == 1 ? j
                     : is_b       ? (item * t->k + j) * t->n + line
                                  : (item * t->m + line) * t->k + j;
        cells[i] = mirror_cell(x, n, shape, at);
    }
    return cells;
}

/* ---- expected values ---- */

static long double apply_epilogue(int epilogue, long double x)
{
    switch (epilogue) {
    case ND_EPILOGUE_RELU:
        return isnan(x) || x > 0 ? x : 0;
    case ND_EPILOGUE_GELU:
        return x / 2 * erfcl(-x * sqrtl(0.5L));
    case ND_EPILOGUE_GELU_TANH:
        return x / 2 * (1 + tanhl(sqrtl(2 / acosl(-1)) * (x + 0.044715L * x * x * x)));
    case ND_EPILOGUE_SIGMOID:
        return 1 / (1 + expl(-x));
    case ND_EPILOGUE_SILU:
        return x / (1 + expl(-x));
    case ND_EPILOGUE_TANH:
        return tanhl(x);
    default:
        return x;
    }
}

/* op.def's bound in units of the sum of magnitudes, times the root of k; the last rounding of
 * halves is in theirs. */
static long double bound(const trial *t, long double sizes, long double want)
{
    nd_dtype wide = is_half(t->compute) ? ND_F32 : t->compute;
    long double chain = t->k > 1 ? sqrtl((long double)t->k) : 1;
    long double sum = op_ulp(ND_OP_matmul, wide) * chain * 1.01L * cell_ulp(wide, sizes);
    long double last = op_ulp(ND_OP_matmul, t->result) * cell_ulp(t->result, want);
    return sum + (is_half(t->result) || t->opts.epilogue ? last * 2 : 0);
}

static cell exact_integer(const trial *t, const cell *a, const cell *b, cell old, cell bias)
{
    uint64_t sum = 0;
    for (int64_t j = 0; j < t->k; j++)
        sum += (uint64_t)a[j].i * (uint64_t)b[j].i;
    if (t->opts.alpha != 0 || t->opts.beta != 0)
        sum = sum * (uint64_t)(int64_t)t->opts.alpha;
    sum += (uint64_t)(int64_t)t->opts.beta * (uint64_t)old.i + (uint64_t)bias.i;
    return cell_wrap(t->result, (int64_t)sum);
}

static product product_of(bool complex, const cell *a, const cell *b, int64_t k)
{
    product p = {0, 0, 0};
    for (int64_t j = 0; j < k && !complex; j++) {
        const long double x = a[j].re * b[j].re, size = fabsl(x);
        p.re += x;
        p.sizes += isfinite(size) ? size : 0;
    }
    for (int64_t j = 0; j < k && complex; j++) {
        const long double size = hypotl(a[j].re, a[j].im) * hypotl(b[j].re, b[j].im);
        p.re += a[j].re * b[j].re - a[j].im * b[j].im;
        p.im += a[j].re * b[j].im + a[j].im * b[j].re;
        p.sizes += isfinite(size) ? size : 0;
    }
    return p;
}

/* Once for all results that are compared with them. */
static void make_products(trial *t)
{
    const int64_t size = t->items * t->m * t->n;
    if (kind_of(t->result) & INTEGERS)
        return;
    t->products = malloc((size_t)(size + 1) * sizeof *t->products);
    for (int64_t i = 0; i < size; i++) {
        const int64_t row = i / t->n, column = i / (t->m * t->n) * t->n + i % t->n;
        t->products[i] = product_of(kind_of(t->result) == ND_KIND_COMPLEX, t->left + row * t->k,
                                    t->right + column * t->k, t->k);
    }
}

/* Left out (false): sums whose order decides whether they overflow. */
static bool expect(const trial *t, int64_t i, cell old, cell bias, cell *want,
                   long double *tolerance)
{
    bool complex = kind_of(t->result) == ND_KIND_COMPLEX,
         plain = t->opts.alpha == 0 && t->opts.beta == 0;
    long double alpha = plain ? 1 : t->opts.alpha, beta = t->opts.beta;
    *tolerance = 0;
    if (kind_of(t->result) & INTEGERS) {
        const int64_t row = i / t->n, column = i / (t->m * t->n) * t->n + i % t->n;
        *want = exact_integer(t, t->left + row * t->k, t->right + column * t->k, old, bias);
        return true;
    }
    long double re = t->products[i].re, im = t->products[i].im, sizes = t->products[i].sizes;
    if (sizes > cell_max(is_half(t->compute) ? ND_F32 : t->compute) / 64)
        return false;
    re = alpha * re + (beta != 0 ? beta * old.re : 0) + bias.re;
    im = alpha * im + (beta != 0 ? beta * old.im : 0) + bias.im;
    sizes = fabsl(alpha) * sizes + hypotl(bias.re, bias.im);
    sizes += beta != 0 ? fabsl(beta) * hypotl(old.re, old.im) : 0;
    *want = complex ? cell_complex(re, im) : cell_real(apply_epilogue(t->opts.epilogue, re));
    *tolerance = bound(t, isfinite(sizes) ? sizes : 0, want->re);
    return !(t->opts.epilogue > ND_EPILOGUE_RELU && isinf(re)); /* formula and limit may differ */
}

/* ---- a case ---- */

static void check_result(const trial *t, const nd_array *r, const mirror *old)
{
    char text[2][128], *data = fetch(r);
    int64_t size = t->items * t->m * t->n;
    nd_dtype dtype = nd_dtype_of(r);
    for (int64_t i = 0; data && i < size && !failing(); i++) {
        const cell zero = {.kind = kind_of(t->result)};
        cell want, got = cell_read(dtype, data + (size_t)i * nd_dtype_size(dtype));
        cell before = old ? mirror_cell(old, t->ndim, t->shape, i) : zero;
        cell bias = t->bias.array ? mirror_cell(&t->bias, t->ndim, t->shape, i) : zero;
        long double tolerance;
        if (!expect(t, i, before, bias, &want, &tolerance) ||
            cell_within(t->result, got, want, tolerance))
            continue;
        fail_case(
            "%s @ %s -> %s, %lldx%lldx%lld, batch %lld, alpha %g beta %g bias %d epilogue %d: "
            "%s, not %s (+- %.3Lg) at %lld",
            nd_dtype_name(t->dtype[0]), nd_dtype_name(t->dtype[1]), nd_dtype_name(t->result),
            (long long)t->m, (long long)t->k, (long long)t->n, (long long)t->items, t->opts.alpha,
            t->opts.beta, t->bias.array != NULL, (int)t->opts.epilogue, cell_text(got, text[0]),
            cell_text(want, text[1]), tolerance, (long long)i);
    }
    free(data);
}

/* Into a view, with beta now and then; beta 0 must not read what lies there, NaN included. */
static void check_into(trial *t)
{
    static const double factors[] = {1, -1, 2, 0.5, 0};
    view_wish wish = {.writable = true, .tame = random_below(2)};
    bool whole = kind_of(t->result) & INTEGERS;
    mirror dst;
    if (random_below(2)) {
        t->opts.beta = factors[random_below(whole ? 3 : 5)];
        t->opts.alpha = factors[random_below(whole ? 3 : 5)];
        wish.tame |= t->opts.beta != 0;
    }
    if (mirror_shaped(&dst, t->result, t->ndim, t->shape, &wish) &&
        good(nd_matmul_into(t->a.array, t->b.array, &t->opts, dst.array), "into")) {
        check_result(t, dst.array, &dst);
        if (!mirror_untouched(&dst))
            fail_case("matmul_into wrote beside its destination");
    }
    mirror_release(&dst);
}

/* Into one of the operands. */
static void check_overlap(const trial *t)
{
    const nd_array *dst = random_below(2) ? t->a.array : t->b.array;
    const mirror *m = dst == t->a.array ? &t->a : &t->b;
    bool fits = m->dtype == t->result && m->ndim == t->ndim && !nd_is_readonly(dst);
    for (int d = 0; fits && d < t->ndim; d++)
        fits = m->shape[d] == t->shape[d];
    if (fits && good(nd_matmul_into(t->a.array, t->b.array, &t->opts, dst), "into an operand"))
        check_result(t, dst, m);
}

static void random_options(trial *t)
{
    static const double alphas[] = {2, -1, 0.5, 3};
    bool whole = kind_of(t->result) & INTEGERS;
    view_wish wish = {.tame = true};
    if (random_below(3) == 0)
        t->opts.alpha = alphas[random_below(whole ? 2 : 4)];
    if (kind_of(t->result) == ND_KIND_FLOAT && random_below(3) == 0)
        t->opts.epilogue = 1 + (int32_t)random_below(6);
    if (random_below(3) == 0) {
        mirror like = {.ndim = t->ndim};
        memcpy(like.shape, t->shape, sizeof like.shape);
        if (mirror_like(&t->bias, &like, t->result, &wish, true))
            t->opts.bias = t->bias.array;
    }
}

/* Operand dtypes, and the result's. */
static void random_dtypes(trial *t, nd_dtype dtype)
{
    t->dtype[0] = t->dtype[1] = t->compute = t->result = dtype;
    if (random_below(3))
        return;
    if ((dtype == ND_I8 || dtype == ND_U8) && random_below(2))
        t->result = t->opts.dtype = ND_I32;
    else if (is_half(dtype) && random_below(2))
        t->result = t->opts.dtype = ND_F32;
    else if (dtype == ND_F64 && random_below(2))
        t->dtype[random_below(2)] = ND_F32;
    else if (dtype == ND_I64)
        t->dtype[random_below(2)] = ND_I16;
}

static void run_case(trial *t, nd_dtype dtype, bool row, bool column, bool tame)
{
    nd_array *r = NULL;
    random_dtypes(t, dtype);
    t->opts.size = sizeof t->opts;
    if (!make_operand(t, &t->a, t->dtype[0], t->m, t->k, row, tame) ||
        !make_operand(t, &t->b, t->dtype[1], t->k, t->n, column, tame))
        return;
    settle_batch(t, row, column);
    t->left = spread(t, &t->a, false);
    t->right = spread(t, &t->b, true);
    make_products(t);
    random_options(t);
    if (good(nd_matmul(t->a.array, t->b.array,
                       random_below(2) || t->opts.dtype || t->opts.bias || t->opts.epilogue ||
                               t->opts.alpha != 0
                           ? &t->opts
                           : NULL,
                       &r),
             "matmul")) {
        if (nd_dtype_of(r) != t->result || nd_ndim(r) != t->ndim)
            fail_case("%s @ %s gives rank %d of %s", nd_dtype_name(t->dtype[0]),
                      nd_dtype_name(t->dtype[1]), nd_ndim(r), nd_dtype_name(nd_dtype_of(r)));
        else
            check_result(t, r, NULL);
        check_into(t);
        check_overlap(t);
    }
    nd_release(r);
}

static void finish_case(trial *t)
{
    free(t->left);
    free(t->right);
    free(t->products);
    mirror_release(&t->a);
    mirror_release(&t->b);
    mirror_release(&t->bias);
}

static int64_t random_extent(void)
{
    return random_below(15) == 0 ? 0 : random_below(4) ? 1 + random_below(7) : 1 + random_below(40);
}

static void one_case(nd_dtype dtype)
{
    trial t = {.m = random_extent(), .n = random_extent(), .k = random_extent()};
    bool row = random_below(6) == 0, column = random_below(6) == 0;
    t.n_batch = random_below(2) ? (int)random_below(4) : 0;
    for (int d = 0; d < t.n_batch; d++)
        t.batch[d] = random_below(12) ? 1 + random_below(3) : 0;
    t.m = row ? 1 : t.m;
    t.n = column ? 1 : t.n;
    bool wild = kind_of(dtype) != ND_KIND_COMPLEX && random_below(3) == 0;
    run_case(&t, dtype, row, column, !wild);
    finish_case(&t);
}

/* Sizes that reach the blocked and threaded paths. */
static void large_case(nd_dtype dtype, const int64_t *size)
{
    trial t = {.m = size[0], .k = size[1], .n = size[2]};
    run_case(&t, dtype, false, false, true);
    finish_case(&t);
}

/* The sum over k of nothing is 0; beta 0 does not read dst; NaN and infinities go where they must.
 */
static void special_cases(void)
{
    const float x[4] = {1, INFINITY, NAN, 0}, y[4] = {1, 2, 0, 3};
    const int64_t shape[2] = {2, 2}, empty[2] = {2, 0};
    nd_layout layout = {.size = sizeof layout, .dtype = ND_F32, .ndim = 2, .shape = shape};
    nd_array *a = NULL, *b = NULL, *r = NULL, *none = NULL, *turned = NULL;
    const nd_matmul_opts beta = {.size = sizeof beta, .alpha = 2, .beta = 3};
    float got[4];
    if (good(nd_from_host(&layout, x, run.device, &a), "from_host") &&
        good(nd_from_host(&layout, y, run.device, &b), "from_host") &&
        good(nd_matmul(a, b, NULL, &r), "matmul") &&
        good(nd_to_host(r, got, sizeof got), "to_host") &&
        (!isnan(got[0]) || got[1] != INFINITY || !isnan(got[2]) || !isnan(got[3])))
        fail_case("[[1, inf], [nan, 0]] @ [[1, 2], [0, 3]] is %g %g %g %g", got[0], got[1], got[2],
                  got[3]);
    if (good(nd_zeros(run.device, ND_F32, 2, empty, &none), "zeros") &&
        good(nd_matrix_transpose(none, &turned), "transpose") &&
        good(nd_matmul_into(none, turned, NULL, r), "k = 0") &&
        good(nd_to_host(r, got, sizeof got), "to_host") && (got[0] != 0 || got[3] != 0))
        fail_case("a sum over no elements left %g %g in NaN", got[0], got[3]);
    if (r && turned && good(nd_fill(r, nd_int(2)), "fill") &&
        good(nd_matmul_into(none, turned, &beta, r), "k = 0 with beta") &&
        good(nd_to_host(r, got, sizeof got), "to_host") && (got[0] != 6 || got[3] != 6))
        fail_case("beta 3 over no elements makes %g %g of 2", got[0], got[3]);
    nd_array *wide = NULL, *refused = NULL;
    if (a && none && good(nd_matmul(a, none, NULL, &wide), "n = 0") && nd_shape(wide)[1] != 0)
        fail_case("(2, 2) @ (2, 0) has the wrong shape");
    if (a && none && nd_matmul(none, a, NULL, &refused) != ND_ERR_SHAPE)
        fail_case("(2, 0) @ (2, 2) was not refused");
    nd_release(wide);
    nd_release(refused);
    nd_release(a);
    nd_release(b);
    nd_release(r);
    nd_release(none);
    nd_release(turned);
}

void conform_matmul(void)
{
    static const int64_t sizes[][3] = {{130, 257, 65}, {1, 300, 300}, {300, 1, 300}, {300, 300, 1},
                                       {8, 512, 512},  {3, 700, 90},  {90, 700, 3}};
    static const nd_dtype shared[] = {ND_F32, ND_F64, ND_I32};
    static const int64_t blocks[3] = {170, 160, 160};
    nd_dtype legal[ND_DTYPE_END];
    int n = 0;
    for (nd_dtype d = 1; d < ND_DTYPE_END; d++)
        if (nd_op_dtypes(ND_OP_matmul) >> d & 1)
            legal[n++] = d;
    if (!wanted("matmul"))
        return;
    begin_op("matmul");
    if (begin_case(FIXED_CASE))
        special_cases();
    for (int i = 0; i < run.count && !failing(); i++)
        if (begin_case(i))
            one_case(legal[i % n]);
    for (int i = 0; i < n && !failing(); i++)
        if (begin_share(FIXED_CASE + 1 + i))
            large_case(legal[i % n], sizes[(i / n + i + (int)run.seed) % 7]);
    for (int i = 0; i < 3 && !failing(); i++)
        if (begin_share(FIXED_CASE + 100 + i))
            large_case(shared[i], blocks);
    end_op();
}
