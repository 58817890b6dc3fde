/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Conformance: products of 8-bit floating matrices with scales. Expected values are plain loops over
 * the operands' elements, in long double. */
#include <math.h>
#include "tests/conform/conform.h"

typedef struct {
    int64_t m, n, k;
    nd_dtype result;
    mirror a, b, scale_a, scale_b, bias;
    bool has_bias;
} trial;

static int64_t extent(void)
{
    return random_below(8) == 0 ? 1 + random_below(130) : random_below(40);
}

/* Tame elements: sums stay far below what f16 holds. A scale is one number or a line of them. */
static bool make(trial *t, int64_t i)
{
    static const nd_dtype narrow[] = {ND_F8_E4M3, ND_F8_E5M2};
    static const nd_dtype results[] = {ND_F32, ND_F16, ND_BF16};
    const view_wish tame = {.tame = true}, scales = {.tame = true, .writable = true};
    t->m = extent();
    t->n = extent();
    t->k = extent();
    if (i % 10 == 0) { /* what devices leave to their libraries, whole and not whole lines */
        t->m = 96 + random_below(2) * 5;
        t->n = 160 + random_below(2) * 3;
        t->k = 192 + random_below(2) * 7;
    }
    t->result = results[i % 3];
    t->has_bias = random_below(2);
    const bool one_a = random_below(2), one_b = random_below(2);
    return mirror_shaped(&t->a, narrow[i / 3 % 2], 2, (int64_t[]){t->m, t->k}, &tame) &&
           mirror_shaped(&t->b, narrow[i / 6 % 2], 2, (int64_t[]){t->k, t->n}, &tame) &&
           mirror_shaped(&t->scale_a, ND_F32, 2, (int64_t[]){one_a ? 1 : t->m, 1}, &scales) &&
           mirror_shaped(&t->scale_b, ND_F32, 2, (int64_t[]){1, one_b ? 1 : t->n}, &scales) &&
           mirror_shaped(&t->bias, t->result, 1, (int64_t[]){t->n}, &tame);
}

static long double at(const mirror *x, int64_t row, int64_t column)
{
    const int64_t r = x->shape[0] == 1 ? 0 : row, c = x->shape[1] == 1 ? 0 : column;
    return mirror_cell(x, 2, x->shape, r * x->shape[1] + c).re;
}

/* Lines of k elements one after the other: the rows of a, or the columns of b. */
static long double *lines_of(const trial *t, bool columns)
{
    const mirror *x = columns ? &t->b : &t->a;
    const int64_t lines = columns ? t->n : t->m;
    long double *all = malloc((size_t)(lines * t->k + 1) * sizeof *all);
    for (int64_t line = 0; line < lines; line++)
        for (int64_t k = 0; k < t->k; k++)
            all[line * t->k + k] =
                mirror_cell(x, 2, x->shape, columns ? k * t->n + line : line * t->k + k).re;
    return all;
}

/* As op.def has it: what tensor cores cut off when they add products is a share of the sum of sizes and does not get
 * smaller with fewer products: 32 terms, each cut below 2^-13 of the next power of two beyond the largest, are 2^-7 of a
 * sum in which one term is most. On an H100 an element of k = 128, of sizes spread over many powers of two, was 4.6e-3
 * of that sum off, by cuBLASLt from ndock and from PyTorch alike. */
static long double allowed(const trial *t, long double size)
{
    return op_ulp(ND_OP_scaled_mm, ND_F32) * fmaxl(sqrtl((long double)t->k + 1), 128) *
           cell_ulp(ND_F32, size);
}

static void check(const trial *t, const nd_array *r)
{
    char *data = fetch(r);
    long double *left = lines_of(t, false), *right = lines_of(t, true);
    for (int64_t e = 0; data && e < t->m * t->n && !failing(); e++) {
        const int64_t i = e / t->n, j = e % t->n;
        const long double scale = at(&t->scale_a, i, 0) * at(&t->scale_b, 0, j);
        long double sum = 0, size = 0, bias = 0;
        for (int64_t k = 0; k < t->k; k++) {
            const long double x = left[i * t->k + k] * right[j * t->k + k] * scale;
            sum += x;
            size += fabsl(x);
        }
        if (t->has_bias)
            bias = mirror_cell(&t->bias, 1, t->bias.shape, j).re;
        const cell got = cell_read(t->result, data + (size_t)e * nd_dtype_size(t->result));
        if (!cell_within(t->result, got, cell_real(sum + bias),
                         cell_ulp(t->result, sum + bias) + allowed(t, size + fabsl(bias))))
            fail_case("scaled_mm to %s of (%lld, %lld, %lld): (%lld, %lld) is %.9Lg, not %.9Lg",
                      nd_dtype_name(t->result), (long long)t->m, (long long)t->k, (long long)t->n,
                      (long long)i, (long long)j, got.re, sum + bias);
    }
    free(left);
    free(right);
    free(data);
}

static void product_case(int64_t i)
{
    trial t = {0};
    nd_array *r = NULL;
    if (make(&t, i)) {
        const nd_scaled_mm_opts opts = {
            .size = sizeof opts, .dtype = t.result, .bias = t.has_bias ? t.bias.array : NULL};
        if (good(nd_scaled_mm(t.a.array, t.b.array, t.scale_a.array, t.scale_b.array, &opts, &r),
                 "scaled_mm"))
            check(&t, r);
    }
    nd_release(r);
    mirror *const all[] = {&t.a, &t.b, &t.scale_a, &t.scale_b, &t.bias};
    for (int k = 0; k < 5; k++)
        mirror_release(all[k]);
}

void conform_scaled_mm(void)
{
    if (!wanted("scaled_mm"))
        return;
    begin_op("scaled_mm");
    for (int i = 0; i < run.count && !failing(); i++)
        if (begin_case(i))
            product_case(i);
    end_op();
}
