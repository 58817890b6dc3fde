/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The 8-bit floating dtypes: values and codes as ml_dtypes has them (tests/data/fp8_golden.py), what
 * is beyond their range, operations that compute in f32 and round back, against loops over the
 * golden values, moves, and products with scales against sums in double. */
#include <math.h>
#include <ndock/ndock.h>
#include <stdbool.h>
#include "tests/tap.h"
#include "tests/data/fp8_golden.inc"

typedef struct {
    nd_dtype dtype;
    const char *name;
    const uint32_t *values, *numbers;
    const uint8_t *codes;
    int64_t count;
    double most;
} format;
static const format formats[2] = {
    {ND_F8_E4M3, "f8_e4m3", values_e4m3, numbers_e4m3, codes_e4m3, sizeof codes_e4m3, 448},
    {ND_F8_E5M2, "f8_e5m2", values_e5m2, numbers_e5m2, codes_e5m2, sizeof codes_e5m2, 57344},
};

static nd_array *array_of(nd_dtype dtype, int ndim, const int64_t *shape, const void *data)
{
    nd_array *a = NULL;
    const nd_layout layout = {.size = sizeof layout, .dtype = dtype, .ndim = ndim, .shape = shape};
    if (nd_from_host(&layout, data, NULL, &a) != ND_OK)
        bail(nd_last_error()->message);
    return a;
}

static nd_array *row_of(nd_dtype dtype, int64_t n, const void *data)
{
    return array_of(dtype, 1, &n, data);
}

/* a's elements in another dtype; a is released. */
static bool read_as(nd_array *a, nd_dtype dtype, void *out, size_t nbytes)
{
    nd_array *cast = NULL;
    const bool fine =
        a && nd_astype(a, dtype, &cast) == ND_OK && nd_to_host(cast, out, nbytes) == ND_OK;
    nd_release(cast);
    nd_release(a);
    return fine;
}

static float value_of(const format *f, int code)
{
    float x;
    memcpy(&x, &f->values[code], sizeof x);
    return x;
}

/* The nearest element by looking at all of them; of two the even one; saturating. */
static uint8_t nearest(const format *f, double x)
{
    int best = -1;
    if (isnan(x))
        return 0x7f;
    for (int code = 0; code < 128; code++) {
        const double v = (double)value_of(f, code), far = fabs(fabs(x) - v);
        if (!isfinite(v))
            continue;
        const double least = best < 0 ? INFINITY : fabs(fabs(x) - (double)value_of(f, best));
        if (far < least || (far == least && code % 2 == 0))
            best = code;
    }
    if (fabs(x) > f->most)
        for (best = 127; !isfinite(value_of(f, best)); best--)
            ;
    return (uint8_t)(best | (signbit(x) ? 0x80 : 0));
}

static bool same_value(const format *f, uint8_t a, uint8_t b)
{
    const float x = value_of(f, a), y = value_of(f, b);
    return a == b || (isnan(x) && isnan(y));
}

/* ---- values and codes ---- */

static bool same_bits(float got, uint32_t want)
{
    uint32_t bits;
    float w;
    memcpy(&bits, &got, 4);
    memcpy(&w, &want, 4);
    return bits == want || (isnan(got) && isnan(w));
}

static void test_values(void)
{
    uint8_t codes[256];
    for (int i = 0; i < 256; i++)
        codes[i] = (uint8_t)i;
    for (int k = 0; k < 2; k++) {
        const format *f = &formats[k];
        float got[256];
        double wide[256];
        int right = 0;
        const bool fine = read_as(row_of(f->dtype, 256, codes), ND_F32, got, sizeof got) &&
                          read_as(row_of(f->dtype, 256, codes), ND_F64, wide, sizeof wide);
        for (int i = 0; i < 256 && fine; i++)
            right +=
                same_bits(got[i], f->values[i]) && (wide[i] == (double)got[i] || isnan(got[i]));
        is_int(right, 256, f->name);
    }
}

static void test_codes(void)
{
    for (int k = 0; k < 2; k++) {
        const format *f = &formats[k];
        uint8_t got[1024] = {0};
        const bool fine =
            read_as(row_of(ND_F32, f->count, f->numbers), f->dtype, got, (size_t)f->count);
        ok(fine && memcmp(got, f->codes, (size_t)f->count) == 0,
           "%s: %d numbers are rounded as by ml_dtypes", f->name, (int)f->count);
    }
}

static void test_ends(void)
{
    const double in[] = {1e30, -1e30, INFINITY, -INFINITY, 0.0, -0.0, 464, 465, 61440, 61441};
    enum { N = sizeof in / sizeof *in };
    uint8_t got[N], nan;
    const double not_a_number = NAN;
    for (int k = 0; k < 2; k++) {
        const format *f = &formats[k];
        int right = 0;
        bool fine = read_as(row_of(ND_F64, N, in), f->dtype, got, N);
        for (int i = 0; i < N; i++)
            right += got[i] == nearest(f, in[i]);
        ok(fine && right == N, "%s saturates", f->name);
        fine = read_as(row_of(ND_F64, 1, &not_a_number), f->dtype, &nan, 1);
        ok(fine && isnan(value_of(f, nan)), "%s keeps NaN", f->name);
        const int64_t wide[] = {INT64_MIN, -448, -7, 0, 19, 448, 1 << 20, INT64_MAX};
        fine = read_as(row_of(ND_I64, 8, wide), f->dtype, got, 8);
        right = 0;
        for (int i = 0; i < 8; i++)
            right += got[i] == nearest(f, (double)wide[i]);
        ok(fine && right == 8, "%s of integers", f->name);
    }
}

/* ---- operations ---- */

/* All codes, and the same in another order. */
static void operands(const format *f, nd_array **a, nd_array **b, uint8_t x[256], uint8_t y[256])
{
    for (int i = 0; i < 256; i++) {
        x[i] = (uint8_t)i;
        y[i] = (uint8_t)(i * 37 + 11);
    }
    *a = row_of(f->dtype, 256, x);
    *b = row_of(f->dtype, 256, y);
}

static void test_elementwise(void)
{
    for (int k = 0; k < 2; k++) {
        const format *f = &formats[k];
        uint8_t x[256], y[256], got[3][256], less[256];
        nd_array *a, *b, *r[4] = {NULL};
        operands(f, &a, &b, x, y);
        ok(nd_add(a, b, &r[0]) == ND_OK && nd_multiply(a, b, &r[1]) == ND_OK &&
               nd_sqrt(a, &r[2]) == ND_OK && nd_less(a, b, &r[3]) == ND_OK,
           "%s: add, multiply, sqrt, less", f->name);
        ok(nd_dtype_of(r[0]) == f->dtype && nd_dtype_of(r[2]) == f->dtype &&
               nd_dtype_of(r[3]) == ND_BOOL,
           "%s: results have its dtype", f->name);
        bool fine = nd_to_host(r[3], less, 256) == ND_OK;
        for (int i = 0; i < 3; i++)
            fine = fine && nd_to_host(r[i], got[i], 256) == ND_OK;
        int right = 0;
        for (int i = 0; i < 256 && fine; i++) {
            const float u = value_of(f, x[i]), v = value_of(f, y[i]);
            const volatile float sum = u + v, product = u * v;
            right += same_value(f, got[0][i], nearest(f, (double)sum)) +
                     same_value(f, got[1][i], nearest(f, (double)product)) +
                     same_value(f, got[2][i], nearest(f, (double)sqrtf(u))) + (less[i] == (u < v));
        }
        is_int(right, 4 * 256, "each is f32's, rounded once");
        nd_release_all(6, (nd_array *[]){a, b, r[0], r[1], r[2], r[3]});
    }
}

static void test_scalars(void)
{
    for (int k = 0; k < 2; k++) {
        const format *f = &formats[k];
        const uint8_t codes[3] = {0x38, 0x3a, 0xb8};
        uint8_t got[3];
        nd_array *a = row_of(f->dtype, 3, codes), *r = NULL, *full = NULL;
        nd_scalar item = {0};
        const int64_t two = 2;
        bool fine = nd_multiply_scalar(a, nd_float(3), &r) == ND_OK && nd_dtype_of(r) == f->dtype &&
                    nd_to_host(r, got, 3) == ND_OK;
        for (int i = 0; i < 3; i++)
            fine = fine && got[i] == nearest(f, 3 * (double)value_of(f, codes[i]));
        ok(fine, "%s times a number keeps its dtype", f->name);
        ok(nd_full(NULL, f->dtype, 1, &two, nd_float(-1.1), &full) == ND_OK &&
               nd_to_host(full, got, 2) == ND_OK && got[0] == nearest(f, -1.1) && got[1] == got[0],
           "%s is filled with a number's nearest element", f->name);
        ok(nd_fill(full, nd_float(f->most * 2)) == ND_ERR_OVERFLOW,
           "%s: a number beyond is refused", f->name);
        ok(nd_fill(full, nd_float(INFINITY)) == ND_OK && nd_to_host(full, got, 2) == ND_OK &&
               (double)value_of(f, got[0]) == f->most,
           "%s: infinity saturates", f->name);
        nd_array *first = NULL;
        const nd_index at[1] = {nd_at(1)};
        ok(nd_slice(a, at, 1, &first) == ND_OK && nd_item(first, &item) == ND_OK &&
               item.kind == ND_F64 && item.v.f == (double)value_of(f, 0x3a),
           "%s: an element as a number", f->name);
        nd_release_all(4, (nd_array *[]){a, r, full, first});
    }
}

static void test_promotion(void)
{
    const uint8_t codes[2] = {0x38, 0x3c};
    const float singles[2] = {1, 2};
    const uint8_t yes[2] = {1, 0};
    nd_array *a = row_of(ND_F8_E4M3, 2, codes), *b = row_of(ND_F8_E5M2, 2, codes),
             *c = row_of(ND_F32, 2, singles), *d = row_of(ND_BOOL, 2, yes), *r = NULL;
    ok(nd_add(a, b, &r) == ND_ERR_DTYPE, "the two formats meet in no dtype");
    has_text(nd_last_error()->message, "nd_astype", "the error says what to do");
    ok(nd_add(a, c, &r) == ND_ERR_DTYPE, "nor does one with f32");
    ok(nd_multiply(a, d, &r) == ND_OK && nd_dtype_of(r) == ND_F8_E4M3, "bool joins");
    nd_release(r);
    r = NULL;
    ok(nd_matmul(a, a, NULL, &r) == ND_ERR_DTYPE, "matmul does not take it");
    ok(nd_add_into(a, a, c) == ND_OK, "a result goes into f32");
    float got[2];
    ok(nd_to_host(c, got, 8) == ND_OK && got[0] == 2 && got[1] == 3, "and is exact there");
    nd_release_all(4, (nd_array *[]){a, b, c, d});
}

static void test_reductions(void)
{
    const uint8_t codes[6] = {0x38, 0x40, 0xc0, 0x30, 0x34, 0xb8};
    const int64_t shape[2] = {2, 3};
    for (int k = 0; k < 2; k++) {
        const format *f = &formats[k];
        nd_array *a = array_of(f->dtype, 2, shape, codes), *r[4] = {NULL};
        const int32_t last = 1;
        const nd_reduce_opts rows = {.size = sizeof rows, .naxes = 1, .axes = &last};
        const nd_reduce_opts wide = {.size = sizeof wide, .dtype = ND_F32};
        ok(nd_sum(a, &rows, &r[0]) == ND_OK && nd_max(a, NULL, &r[1]) == ND_OK &&
               nd_argmin(a, NULL, &r[2]) == ND_OK && nd_sum(a, &wide, &r[3]) == ND_OK,
           "%s: sum, max, argmin", f->name);
        double sums[2] = {0, 0};
        uint8_t got[2], most;
        int64_t at = 0;
        float all = 0;
        for (int i = 0; i < 6; i++)
            sums[i / 3] += (double)value_of(f, codes[i]);
        ok(nd_dtype_of(r[0]) == f->dtype && nd_to_host(r[0], got, 2) == ND_OK &&
               got[0] == nearest(f, sums[0]) && got[1] == nearest(f, sums[1]),
           "sums are rounded to the dtype");
        ok(nd_to_host(r[1], &most, 1) == ND_OK && most == 0x40, "the largest");
        ok(nd_to_host(r[2], &at, 8) == ND_OK && at == 2, "where the smallest is");
        ok(nd_dtype_of(r[3]) == ND_F32 && nd_to_host(r[3], &all, 4) == ND_OK &&
               (double)all == sums[0] + sums[1],
           "a sum in f32");
        nd_release_all(5, (nd_array *[]){a, r[0], r[1], r[2], r[3]});
    }
}

/* ---- moves ---- */

static void test_moves(void)
{
    const uint8_t codes[4] = {0x11, 0x38, 0xff, 0x3c}, other[4] = {1, 2, 3, 4};
    const int64_t places[3] = {3, 0, 3};
    const int32_t condition[4] = {0, 5, -1, 0};
    for (int k = 0; k < 2; k++) {
        const format *f = &formats[k];
        uint8_t got[4] = {0};
        nd_array *a = row_of(f->dtype, 4, codes), *b = row_of(f->dtype, 4, other),
                 *at = row_of(ND_I64, 3, places), *c = row_of(ND_I32, 4, condition), *r[4] = {NULL};
        ok(nd_take(a, at, 0, &r[0]) == ND_OK && nd_to_host(r[0], got, 3) == ND_OK &&
               got[0] == 0x3c && got[1] == 0x11 && got[2] == 0x3c,
           "%s: take", f->name);
        ok(nd_where(c, a, b, &r[1]) == ND_OK && nd_dtype_of(r[1]) == f->dtype &&
               nd_to_host(r[1], got, 4) == ND_OK && got[0] == 1 && got[1] == 0x38 &&
               same_value(f, got[2], 0xff) && got[3] == 4,
           "%s: where, by integers", f->name);
        ok(nd_scatter(b, at, r[0], 0, ND_SCATTER_SET, &r[2]) == ND_OK &&
               nd_to_host(r[2], got, 4) == ND_OK && got[0] == 0x11 && got[1] == 2 && got[3] == 0x3c,
           "%s: scatter", f->name);
        ok(nd_scatter(b, at, r[0], 0, ND_SCATTER_ADD, &r[3]) == ND_OK &&
               nd_to_host(r[3], got, 4) == ND_OK &&
               got[3] == nearest(f, (double)value_of(f, 4) + 2 * (double)value_of(f, 0x3c)),
           "%s: scatter that adds, in f32", f->name);
        nd_release_all(8, (nd_array *[]){a, b, at, c, r[0], r[1], r[2], r[3]});
    }
}

/* ---- products with scales ---- */

enum { M = 5, N = 7, K = 37 };

static void fill_codes(uint8_t *codes, int n, int seed)
{
    for (int i = 0; i < n; i++) /* neither NaN nor infinity, and no large ones */
        codes[i] = (uint8_t)((i * 29 + seed) % 64 | ((i * 7 + seed) % 2 ? 0x80 : 0));
}

static double expected(const uint8_t *a, const uint8_t *b, int i, int j)
{
    double sum = 0;
    for (int k = 0; k < K; k++)
        sum += (double)value_of(&formats[0], a[i * K + k]) *
               (double)value_of(&formats[1], b[k * N + j]);
    return sum;
}

static void test_scaled_mm(void)
{
    uint8_t x[M * K], y[K * N];
    float rows[M], columns[N], bias[N], got[M * N];
    fill_codes(x, M * K, 3);
    fill_codes(y, K * N, 8);
    for (int i = 0; i < M; i++)
        rows[i] = 0.5f + (float)i;
    for (int j = 0; j < N; j++) {
        columns[j] = 2.0f / (float)(j + 1);
        bias[j] = (float)j - 3;
    }
    const float half = 0.5f;
    nd_array *a = array_of(ND_F8_E4M3, 2, (int64_t[]){M, K}, x),
             *b = array_of(ND_F8_E5M2, 2, (int64_t[]){K, N}, y),
             *by_row = array_of(ND_F32, 2, (int64_t[]){M, 1}, rows),
             *by_column = array_of(ND_F32, 2, (int64_t[]){1, N}, columns),
             *one = row_of(ND_F32, 1, &half), *add = row_of(ND_F32, N, bias), *r = NULL;
    ok(nd_scaled_mm(a, b, one, one, NULL, &r) == ND_OK && nd_dtype_of(r) == ND_F32 &&
           nd_to_host(r, got, sizeof got) == ND_OK,
       "scales of one element");
    int right = 0;
    for (int i = 0; i < M * N; i++)
        right += fabs((double)got[i] - expected(x, y, i / N, i % N) / 4) < 1e-4;
    is_int(right, M * N, "elements are sums times both scales");
    nd_release(r);
    const nd_scaled_mm_opts opts = {.size = sizeof opts, .bias = add};
    ok(nd_scaled_mm(a, b, by_row, by_column, &opts, &r) == ND_OK &&
           nd_to_host(r, got, sizeof got) == ND_OK,
       "scales of rows and columns, and a bias");
    right = 0;
    for (int i = 0; i < M * N; i++) {
        const double scale = (double)rows[i / N] * (double)columns[i % N];
        const double want = expected(x, y, i / N, i % N) * scale + (double)bias[i % N];
        right += fabs((double)got[i] - want) < 1e-3 * (1 + fabs(want));
    }
    is_int(right, M * N, "elements are sums times their scales, and the bias");
    nd_release(r);
    nd_array *none_a = array_of(ND_F8_E4M3, 2, (int64_t[]){0, K}, x),
             *none_k = array_of(ND_F8_E4M3, 2, (int64_t[]){M, 0}, x),
             *no_rows = array_of(ND_F8_E5M2, 2, (int64_t[]){0, N}, y);
    ok(nd_scaled_mm(none_a, b, one, one, NULL, &r) == ND_OK && nd_size(r) == 0, "no rows");
    nd_release(r);
    ok(nd_scaled_mm(none_k, no_rows, one, one, &opts, &r) == ND_OK &&
           nd_to_host(r, got, sizeof got) == ND_OK && got[N - 1] == bias[N - 1],
       "sums of nothing are the bias");
    nd_release_all(10,
                   (nd_array *[]){a, b, by_row, by_column, one, add, r, none_a, none_k, no_rows});
}

static void test_scaled_mm_errors(void)
{
    const uint8_t codes[12] = {0};
    const float ones[3] = {1, 1, 1};
    nd_array *a = array_of(ND_F8_E4M3, 2, (int64_t[]){3, 4}, codes),
             *b = array_of(ND_F8_E4M3, 2, (int64_t[]){4, 3}, codes), *one = row_of(ND_F32, 1, ones),
             *row = row_of(ND_F32, 3, ones), *byte = array_of(ND_U8, 2, (int64_t[]){4, 3}, codes),
             *r = NULL;
    const nd_scaled_mm_opts wide = {.size = sizeof wide, .dtype = ND_F64}, bad = {.size = 3};
    int wrong = 0;
    for (nd_dtype d = ND_BOOL; d < ND_DTYPE_END; d++)
        wrong += ((nd_op_get(ND_OP_scaled_mm)->domain & nd_dtype_get(d)->kind) != 0) !=
                 (d == ND_F8_E4M3 || d == ND_F8_E5M2);
    is_int(wrong, 0, "its domain is the two formats");
    ok(nd_scaled_mm(a, a, one, one, NULL, &r) == ND_ERR_SHAPE, "inner extents differ");
    ok(nd_scaled_mm(a, byte, one, one, NULL, &r) == ND_ERR_DTYPE, "an operand of u8");
    has_text(nd_last_error()->message, "f8_e4m3", "the error names what is right");
    ok(nd_scaled_mm(a, b, row, one, NULL, &r) == ND_ERR_SHAPE, "scales of a shape of their own");
    has_text(nd_last_error()->message, "(3, 1)", "the error says which is right");
    ok(nd_scaled_mm(a, b, one, byte, NULL, &r) == ND_ERR_DTYPE, "scales of u8");
    ok(nd_scaled_mm(a, b, one, one, &wide, &r) == ND_ERR_DTYPE, "a result of f64");
    ok(nd_scaled_mm(a, b, one, one, &bad, &r) == ND_ERR_ARGUMENT, "options without a size");
    ok(nd_scaled_mm(a, row, one, one, NULL, &r) == ND_ERR_DTYPE && !r, "nothing is made");
    nd_release_all(5, (nd_array *[]){a, b, one, row, byte});
}

TAP_MAIN({"values", test_values}, {"codes", test_codes}, {"ends", test_ends},
         {"elementwise", test_elementwise}, {"scalars", test_scalars},
         {"promotion", test_promotion}, {"reductions", test_reductions}, {"moves", test_moves},
         {"scaled_mm", test_scaled_mm}, {"scaled_mm_errors", test_scaled_mm_errors})
