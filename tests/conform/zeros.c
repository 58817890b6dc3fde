/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Conformance: signs of zeros, as NumPy and the array API have them. +0 is above -0 for max and
 * min; a sum is -0 when all of its terms are, and +0 when there are none; products have the product
 * of the signs; sorting keeps zeros in the order in which they came. The parts of complex sums are
 * sums. (NumPy's sums, real and complex, begin with +0 unless told otherwise, which its own tests
 * list as a failure that is expected; its running sums are as these.) */
#include <math.h>
#include "tests/conform/grid.h"

static const nd_dtype floats[] = {ND_F16, ND_BF16, ND_F32, ND_F64};
static const int64_t lengths[] = {1, 2, 3, 8, 17, 64, 65, 130, 1000, 4097, 140000};
enum { FLOATS = 4, LENGTHS = sizeof lengths / sizeof *lengths };

/* Signs of n zeros: PLUS and MINUS are all of one sign, the others have one odd zero out. */
enum { PLUS, MINUS, PLUS_FIRST, PLUS_MIDDLE, PLUS_LAST, MINUS_FIRST, MINUS_LAST, PATTERNS };

static bool is_minus(int pattern, int64_t i, int64_t n)
{
    switch (pattern) {
    case PLUS:
        return false;
    case MINUS:
        return true;
    case PLUS_FIRST:
        return i != 0;
    case PLUS_MIDDLE:
        return i != n / 2;
    case PLUS_LAST:
        return i != n - 1;
    case MINUS_FIRST:
        return i == 0;
    default:
        return i == n - 1;
    }
}

static int64_t minus_before(int pattern, int64_t end, int64_t n)
{
    int64_t count = 0;
    for (int64_t i = 0; i < end; i++)
        count += is_minus(pattern, i, n);
    return count;
}

/* columns lanes of n zeros, one below the other in memory: axis 0 goes along a lane. */
static dense zeros_of(nd_dtype dtype, int pattern, int64_t n, int64_t columns)
{
    dense d = dense_new(dtype, 2, (const int64_t[]){n, columns});
    for (int64_t i = 0; i < d.size; i++)
        cell_write(dtype, cell_real(is_minus(pattern, i / columns, n) ? -0.0L : 0.0L),
                   dense_at(&d, i));
    return d;
}

/* Every element is a number of that value and sign. */
static void has_sign(const nd_array *r, bool minus, long double value, const char *what)
{
    char *data = r ? fetch(r) : NULL;
    nd_dtype dtype = r ? nd_dtype_of(r) : 0;
    for (int64_t i = 0; data && i < nd_size(r); i++) {
        cell got = cell_read(dtype, data + (size_t)i * nd_dtype_size(dtype));
        if (fabsl(got.re) == value && (signbit(got.re) != 0) == minus)
            continue;
        fail_case("%s of %s is %Lg, not %s%Lg", what, nd_dtype_name(dtype), got.re,
                  minus ? "-" : "+", value);
        break;
    }
    free(data);
}

/* ---- reductions ---- */

typedef nd_status (*reduce_fn)(const nd_array *, const nd_reduce_opts *, nd_array **);

/* The sign of what op gives for n > 0 zeros, minus of which are -0. */
static bool reduced_is_minus(nd_op op, int64_t n, int64_t minus)
{
    switch (op) {
    case ND_OP_max:
    case ND_OP_sum:
    case ND_OP_mean:
        return minus == n;
    case ND_OP_min:
        return minus > 0;
    case ND_OP_prod:
        return minus % 2;
    default: /* var, std: squares */
        return false;
    }
}

static const struct {
    nd_op op;
    reduce_fn run;
} reductions[] = {{ND_OP_max, nd_max},   {ND_OP_min, nd_min},   {ND_OP_sum, nd_sum},
                  {ND_OP_mean, nd_mean}, {ND_OP_prod, nd_prod}, {ND_OP_var, nd_var},
                  {ND_OP_std, nd_std}};
enum { REDUCTIONS = sizeof reductions / sizeof *reductions };

static void reduce_case(nd_dtype dtype, int pattern, int64_t n, int64_t columns)
{
    const int32_t axis = 0;
    const nd_reduce_opts opts = {.size = sizeof opts, .axes = &axis, .naxes = 1};
    dense d = zeros_of(dtype, pattern, n, columns);
    nd_array *a = dense_array(&d);
    const int64_t minus = minus_before(pattern, n, n);
    for (int k = 0; a && k < REDUCTIONS; k++) {
        const char *name = nd_op_get(reductions[k].op)->name;
        nd_array *r = NULL;
        if (good(reductions[k].run(a, &opts, &r), name))
            has_sign(r, reduced_is_minus(reductions[k].op, n, minus), 0, name);
        nd_release(r);
    }
    for (int k = 0; a && k < 2; k++) { /* zeros are equal: the first is largest and smallest */
        nd_array *positions = NULL;
        if (!good((k ? nd_argmin : nd_argmax)(a, &opts, &positions), "argmax or argmin"))
            break;
        char *data = fetch(positions);
        for (int64_t i = 0; data && i < columns; i++)
            if (((int64_t *)data)[i] != 0)
                fail_case("%s of zeros is position %lld, not 0", k ? "argmin" : "argmax",
                          (long long)((int64_t *)data)[i]);
        free(data);
        nd_release(positions);
    }
    nd_release(a);
    dense_release(&d);
}

/* ---- complex sums ---- */

/* n zeros, whose real parts have the signs of the one pattern and imaginary parts of the other. */
static dense complex_zeros(nd_dtype dtype, int re, int im, int64_t n, int64_t columns)
{
    dense d = dense_new(dtype, 2, (const int64_t[]){n, columns});
    for (int64_t i = 0; i < d.size; i++)
        cell_write(dtype,
                   cell_complex(is_minus(re, i / columns, n) ? -0.0L : 0.0L,
                                is_minus(im, i / columns, n) ? -0.0L : 0.0L),
                   dense_at(&d, i));
    return d;
}

/* The sum of so many of such zeros, of which minus are -0 in each part. */
static cell sum_of_zeros(int64_t terms, const int64_t minus[2])
{
    const bool re = terms && minus[0] == terms, im = terms && minus[1] == terms;
    return cell_complex(re ? -0.0L : 0.0L, im ? -0.0L : 0.0L);
}

static void complex_case(nd_dtype dtype, int re, int im, int64_t n, int64_t columns)
{
    const int32_t axis = 0;
    const nd_reduce_opts along = {.size = sizeof along, .axes = &axis, .naxes = 1};
    const nd_scan_opts scan = {.size = sizeof scan, .axis = 0};
    const int64_t shape[2] = {n, columns};
    dense zeros = complex_zeros(dtype, re, im, n, columns);
    dense sums = dense_new(dtype, 1, &columns), running = dense_new(dtype, 2, shape);
    int64_t minus[2] = {0, 0};
    for (int64_t i = 0; i < n; i++) {
        minus[0] += is_minus(re, i, n);
        minus[1] += is_minus(im, i, n);
        for (int64_t c = 0; c < columns; c++)
            cell_write(dtype, sum_of_zeros(i + 1, minus), dense_at(&running, i * columns + c));
    }
    for (int64_t c = 0; c < columns; c++)
        cell_write(dtype, sum_of_zeros(n, minus), dense_at(&sums, c));
    nd_array *a = dense_array(&zeros), *sum = NULL, *mean = NULL, *cumulative = NULL;
    if (a && good(nd_sum(a, &along, &sum), "sum"))
        (void)dense_is(&sums, sum, "sum of complex zeros");
    if (a && n && good(nd_mean(a, &along, &mean), "mean"))
        (void)dense_is(&sums, mean, "mean of complex zeros");
    if (a && good(nd_cumulative_sum(a, &scan, &cumulative), "cumulative_sum"))
        (void)dense_is(&running, cumulative, "cumulative_sum of complex zeros");
    nd_release(a);
    nd_release(sum);
    nd_release(mean);
    nd_release(cumulative);
    dense_release(&zeros);
    dense_release(&sums);
    dense_release(&running);
}

static void complex_dtype(nd_dtype dtype)
{
    static const int64_t some[] = {0, 1, 2, 3, 17, 64, 130, 1000};
    int64_t id = FIXED_CASE + dtype * 10000;
    for (int k = 0; k < (int)(sizeof some / sizeof *some); k++)
        for (int pair = 0; pair < PATTERNS * PATTERNS; pair++)
            if (begin_share(id++) && !failing())
                complex_case(dtype, pair / PATTERNS, pair % PATTERNS, some[k], pair % 3 ? 1 : 22);
}

/* Sums, means and products of nothing, over an axis and over all. */
static void nothing_case(nd_dtype dtype)
{
    const int64_t shape[2] = {0, 3};
    const int32_t axis = 0;
    const nd_reduce_opts along = {.size = sizeof along, .axes = &axis, .naxes = 1};
    nd_array *a = NULL;
    if (!good(nd_zeros(run.device, dtype, 2, shape, &a), "zeros"))
        return;
    for (int k = 0; k < 2; k++) {
        const nd_reduce_opts *opts = k ? &along : NULL;
        nd_array *sum = NULL, *prod = NULL;
        if (good(nd_sum(a, opts, &sum), "sum"))
            has_sign(sum, false, 0, "the sum of nothing");
        if (good(nd_prod(a, opts, &prod), "prod"))
            has_sign(prod, false, 1, "the product of nothing");
        nd_release(sum);
        nd_release(prod);
    }
    nd_release(a);
}

/* A product of matrices whose inner extent is 0 is +0, and one of zeros has the sign of its terms'
 * sum. */
static void matmul_case(nd_dtype dtype)
{
    const int64_t left[2] = {3, 0}, right[2] = {0, 4};
    nd_array *a = NULL, *b = NULL, *r = NULL;
    if (good(nd_zeros(run.device, dtype, 2, left, &a), "zeros") &&
        good(nd_zeros(run.device, dtype, 2, right, &b), "zeros") &&
        good(nd_matmul(a, b, NULL, &r), "matmul"))
        has_sign(r, false, 0, "a product of depth 0");
    nd_release(a);
    nd_release(b);
    nd_release(r);
}

/* ---- scans ---- */

static void scan_case(nd_dtype dtype, int pattern, int64_t n, int64_t columns, bool initial)
{
    const nd_scan_opts opts = {.size = sizeof opts, .axis = 0, .include_initial = initial};
    dense d = zeros_of(dtype, pattern, n, columns);
    const int64_t shape[2] = {n + initial, columns};
    dense sums = dense_new(dtype, 2, shape), products = dense_new(dtype, 2, shape);
    nd_array *a = dense_array(&d), *sum = NULL, *product = NULL;
    int64_t minus = 0;
    for (int64_t i = 0; i < n + initial; i++) {
        int64_t terms = i + !initial; /* so many of the zeros are in result i */
        if (terms > 0)
            minus += is_minus(pattern, terms - 1, n);
        for (int64_t c = 0; c < columns; c++) {
            bool all_minus =
                terms > 0 && minus == terms; /* the initial +0 is not added, as in NumPy */
            cell_write(dtype, cell_real(all_minus ? -0.0L : 0.0L),
                       dense_at(&sums, i * columns + c));
            long double p = terms == 0 ? 1.0L : minus % 2 ? -0.0L : 0.0L;
            cell_write(dtype, cell_real(p), dense_at(&products, i * columns + c));
        }
    }
    if (a && good(nd_cumulative_sum(a, &opts, &sum), "cumulative_sum"))
        (void)dense_is(&sums, sum, "cumulative_sum of zeros");
    if (a && good(nd_cumulative_prod(a, &opts, &product), "cumulative_prod"))
        (void)dense_is(&products, product, "cumulative_prod of zeros");
    nd_release(a);
    nd_release(sum);
    nd_release(product);
    dense_release(&d);
    dense_release(&sums);
    dense_release(&products);
}

/* ---- sorting: zeros stay in order among themselves, both ways ---- */

static void sort_case(nd_dtype dtype, int64_t n, bool descending)
{
    const nd_sort_opts opts = {.size = sizeof opts, .axis = -1, .descending = descending};
    dense d = dense_new(dtype, 1, &n), want = dense_new(dtype, 1, &n);
    dense order = dense_new(ND_I64, 1, &n);
    int64_t at = 0;
    for (int64_t i = 0; i < n; i++) {
        static const long double some[] = {0.0L, -0.0L, 1, -0.0L, -1, 0.0L};
        cell_write(dtype, cell_real(some[random_below(6)]), dense_at(&d, i));
    }
    for (int k = -1; k <= 1; k++)
        for (int64_t i = 0; i < n; i++)
            if (dense_cell(&d, i).re == (descending ? -k : k)) {
                dense_put(&want, at, &d, i);
                dense_set(&order, at++, i);
            }
    nd_array *a = dense_array(&d), *values = NULL, *positions = NULL;
    if (a && good(nd_sort(a, &opts, &values), "sort"))
        (void)dense_is(&want, values, "sort of zeros");
    if (a && good(nd_argsort(a, &opts, &positions), "argsort"))
        (void)dense_is(&order, positions, "argsort of zeros");
    nd_release(values);
    values = NULL;
    if (a && good(nd_topk(a, n, -1, !descending, &values, NULL), "topk"))
        (void)dense_is(&want, values, "topk of zeros");
    nd_release(values);
    nd_release(positions);
    nd_release(a);
    dense_release(&d);
    dense_release(&want);
    dense_release(&order);
}

/* ---- elementwise: what each op makes of -0, and of two zeros ---- */

static const struct {
    nd_op op;
    bool minus; /* of -0; of +0 it is +0 */
} unary[] = {
    {ND_OP_positive, true}, {ND_OP_abs, false},  {ND_OP_sign, false}, {ND_OP_square, false},
    {ND_OP_sqrt, true},     {ND_OP_expm1, true}, {ND_OP_log1p, true}, {ND_OP_sin, true},
    {ND_OP_tan, true},      {ND_OP_asin, true},  {ND_OP_atan, true},  {ND_OP_sinh, true},
    {ND_OP_tanh, true},     {ND_OP_asinh, true}, {ND_OP_atanh, true}, {ND_OP_floor, true},
    {ND_OP_ceil, true},     {ND_OP_trunc, true}, {ND_OP_round, true}, {ND_OP_real, true},
    {ND_OP_conj, true},     {ND_OP_erf, true},   {ND_OP_relu, false}, {ND_OP_imag, false}};

/* Bit 2*a + b: whether the result of zeros of signs a and b (1: -0) is -0. */
static const struct {
    nd_op op;
    int minus;
} binary[] = {{ND_OP_add, 8},     {ND_OP_subtract, 4}, {ND_OP_multiply, 6},
              {ND_OP_maximum, 8}, {ND_OP_minimum, 14}, {ND_OP_copysign, 10}};

static void elementwise_case(nd_dtype dtype, int64_t n)
{
    dense plus = zeros_of(dtype, PLUS, n, 1), minus = zeros_of(dtype, MINUS, n, 1);
    nd_array *zero[2] = {dense_array(&plus), dense_array(&minus)}, *r = NULL;
    bool made = zero[0] && zero[1];
    for (size_t k = 0; made && k < sizeof unary / sizeof *unary; k++)
        for (int sign = 0; sign < 2; sign++) {
            const nd_arg arg = nd_array_arg(zero[sign]);
            const char *name = nd_op_get(unary[k].op)->name;
            if (good(nd_apply(unary[k].op, &arg, 1, NULL, &r), name))
                has_sign(r, sign && unary[k].minus, 0, name);
            nd_release(r);
            r = NULL;
        }
    for (size_t k = 0; made && k < sizeof binary / sizeof *binary; k++)
        for (int signs = 0; signs < 4; signs++) {
            const nd_arg args[2] = {nd_array_arg(zero[signs >> 1]), nd_array_arg(zero[signs & 1])};
            const char *name = nd_op_get(binary[k].op)->name;
            if (good(nd_apply(binary[k].op, args, 2, NULL, &r), name))
                has_sign(r, binary[k].minus >> signs & 1, 0, name);
            nd_release(r);
            r = NULL;
        }
    nd_release(zero[0]);
    nd_release(zero[1]);
    dense_release(&plus);
    dense_release(&minus);
}

static void one_dtype(nd_dtype dtype)
{
    int64_t id = FIXED_CASE + dtype * 10000;
    for (int k = 0; k < LENGTHS; k++)
        for (int pattern = 0; pattern < PATTERNS; pattern++)
            for (int columns = 1; columns <= 64 && !failing(); columns += 21) {
                /* Long lanes once alone, once side by side, and with few patterns. */
                bool large = lengths[k] > 2000;
                if (large && (columns > 22 || (pattern != MINUS && pattern != PLUS_LAST)))
                    continue;
                if (!begin_share(id + (k * PATTERNS + pattern) * 4 + columns / 21))
                    continue;
                int64_t wide = large && columns > 1 ? 2 : columns;
                reduce_case(dtype, pattern, lengths[k], wide);
                scan_case(dtype, pattern, lengths[k], wide, columns == 22);
            }
    id += 1000;
    for (int k = 0; k < LENGTHS && !failing(); k++)
        for (int descending = 0; descending < 2; descending++)
            if (begin_share(id++))
                sort_case(dtype, lengths[k], descending);
    for (int k = 0; k < 4; k++)
        if (begin_share(id++))
            elementwise_case(dtype, lengths[2 * k]);
    if (begin_share(id++))
        nothing_case(dtype);
    if (begin_share(id++))
        matmul_case(dtype);
}

void conform_zeros(void)
{
    if (!wanted("signed_zeros"))
        return;
    begin_op("signed_zeros");
    for (int i = 0; i < FLOATS; i++)
        one_dtype(floats[i]);
    complex_dtype(ND_C64);
    complex_dtype(ND_C128);
    end_op();
}
