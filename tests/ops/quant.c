/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Quantised arrays: elements and blocks as gguf and ggml have them (tests/data/quant_golden.py),
 * products against sums in double worked out here from the definition, views, and what is refused. */
#include <math.h>
#include <ndock/ndock.h>
#include "tests/tap.h"
#include "tests/data/quant_golden.inc"

static nd_array *array_of(nd_dtype dtype, int ndim, const int64_t *shape, const void *data)
{
    nd_array *a = NULL;
    const nd_layout layout = {.size = sizeof layout, .dtype = dtype, .ndim = ndim, .shape = shape};
    if (nd_from_host(&layout, data, NULL, &a) != ND_OK)
        bail(nd_last_error()->message);
    return a;
}

static nd_qarray *blocks_as(nd_quant_format format, int64_t rows, int64_t nbytes, const void *data)
{
    nd_array *a = array_of(ND_U8, 2, (int64_t[]){rows, nbytes}, data);
    nd_qarray *q = NULL;
    if (nd_qarray_wrap(a, format, &q) != ND_OK)
        bail(nd_last_error()->message);
    nd_release(a);
    return q;
}

/* ---- goldens ---- */

static const struct {
    nd_quant_format format;
    const uint8_t *blocks;
    const uint32_t *elements;
    size_t nbytes, count;
} read_cases[] = {
#define CASE(id, name)                                            \
    {                                                             \
        id, blocks_##name, elements_##name, sizeof blocks_##name, \
            sizeof elements_##name / sizeof(uint32_t)             \
    }
    CASE(ND_Q4_0, q4_0), CASE(ND_Q4_1, q4_1), CASE(ND_Q5_0, q5_0),     CASE(ND_Q5_1, q5_1),
    CASE(ND_Q8_0, q8_0), CASE(ND_Q2_K, q2_K), CASE(ND_Q3_K, q3_K),     CASE(ND_Q4_K, q4_K),
    CASE(ND_Q5_K, q5_K), CASE(ND_Q6_K, q6_K), CASE(ND_IQ4_NL, iq4_nl),
};
enum { READ_CASES = sizeof read_cases / sizeof *read_cases };

static void test_elements(void)
{
    for (int i = 0; i < READ_CASES; i++) {
        nd_qarray *q =
            blocks_as(read_cases[i].format, 1, (int64_t)read_cases[i].nbytes, read_cases[i].blocks);
        const size_t n = read_cases[i].count;
        nd_array *a = NULL;
        uint32_t got[1024] = {0};
        ok(nd_qarray_shape(q)[1] == (int64_t)n && nd_dequantize(q, 0, &a) == ND_OK &&
               nd_to_host(a, got, n * 4) == ND_OK &&
               memcmp(got, read_cases[i].elements, n * 4) == 0,
           "%s: elements have gguf's bits", nd_quant_get(read_cases[i].format)->name);
        nd_release(a);
        nd_qarray_release(q);
    }
}

static void test_blocks(void)
{
    static const struct {
        nd_quant_format format;
        const uint8_t *blocks;
        size_t nbytes;
    } cases[] = {{ND_Q4_0, encoded_q4_0, sizeof encoded_q4_0},
                 {ND_Q8_0, encoded_q8_0, sizeof encoded_q8_0},
                 {ND_Q4_K, encoded_q4_K, sizeof encoded_q4_K},
                 {ND_Q6_K, encoded_q6_K, sizeof encoded_q6_K}};
    nd_array *a = array_of(ND_F32, 2, (int64_t[]){4, 256}, given);
    for (int i = 0; i < 4; i++) {
        nd_qarray *q = NULL;
        uint8_t got[2048] = {0};
        ok(nd_quantize(a, cases[i].format, &q) == ND_OK &&
               nd_to_host(nd_qarray_blocks(q), got, cases[i].nbytes) == ND_OK &&
               memcmp(got, cases[i].blocks, cases[i].nbytes) == 0,
           "%s: blocks have ggml's bytes", nd_quant_get(cases[i].format)->name);
        nd_qarray_release(q);
    }
    nd_release(a);
}

/* q8_1 has no golden: gguf does not read it. */
static void test_q8_1(void)
{
    uint8_t block[36] = {0, 0x38, 0, 0}; /* 0.5, the sum of codes times it */
    float got[32];
    int good = 0;
    for (int i = 0; i < 32; i++)
        block[4 + i] = (uint8_t)(i - 16);
    nd_qarray *q = blocks_as(ND_Q8_1, 1, 36, block);
    nd_array *a = NULL;
    is_int(nd_dequantize(q, ND_F32, &a), ND_OK, "q8_1 is read");
    is_int(nd_to_host(a, got, sizeof got), ND_OK, "to the host");
    for (int i = 0; i < 32; i++)
        good += got[i] == 0.5f * (float)(i - 16);
    is_int(good, 32, "scale times code");
    nd_release(a);
    nd_qarray_release(q);
}

/* ---- products ---- */

static uint64_t state = 16;
static double uniform(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(state >> 11) * 0x1p-53;
}

/* What the definition says, from dequantised elements, in double; size: the sum of magnitudes. */
static double product(const float *x, const float *w, int n, double *size)
{
    double sum = 0;
    *size = 0;
    for (int at = 0; at < n; at += 32) {
        float most = 0;
        for (int i = 0; i < 32; i++)
            most = fabsf(x[at + i]) > most ? fabsf(x[at + i]) : most;
        const float d = most / 127, inverse = d > 0 ? 1 / d : 0;
        for (int i = 0; i < 32; i++) {
            const double term = (double)d * round((double)(x[at + i] * inverse)) * w[at + i];
            sum += term;
            *size += fabs(term);
        }
    }
    return sum;
}

enum { MOST_M = 11, MOST_R = 9, MOST_N = 1024 };

static int product_is_right(nd_quant_format format, int m, int r, int n)
{
    static float x[MOST_M * MOST_N], w[MOST_R * MOST_N], got[MOST_M * MOST_R];
    static uint8_t bytes[MOST_R * MOST_N * 2];
    const nd_quant_info *info = nd_quant_get(format);
    const int row = n / info->block * info->nbytes;
    int good = 0;
    for (int i = 0; i < r * row; i++)
        bytes[i] = (uint8_t)(uniform() * 256);
    for (int i = 0; i < r * row; i += 2) /* no f16 that is infinite or NaN, wherever it may be */
        bytes[i + 1] = (bytes[i + 1] & 0x7c) == 0x7c ? 0x3b : bytes[i + 1];
    for (int i = 0; i < m * n; i++)
        x[i] = (float)(uniform() * 4 - 2);
    nd_qarray *q = blocks_as(format, r, row, bytes);
    nd_array *a = array_of(ND_F32, 2, (int64_t[]){m, n}, x), *out = NULL, *elements = NULL;
    if (nd_dequantize(q, ND_F32, &elements) == ND_OK &&
        nd_to_host(elements, w, (size_t)(r * n) * 4) == ND_OK && nd_matmul_q(a, q, &out) == ND_OK &&
        nd_to_host(out, got, (size_t)(m * r) * 4) == ND_OK)
        for (int i = 0; i < m * r; i++) {
            double size;
            const double want = product(x + i / r * n, w + i % r * n, n, &size);
            good += !isfinite(size) || fabs(got[i] - want) <= size * 1e-6 + 1e-30;
        }
    nd_release_all(3, (nd_array *[]){a, out, elements});
    nd_qarray_release(q);
    return good == m * r;
}

static void test_products(void)
{
    static const int sizes[][3] = {
        {1, 1, 256}, {1, 9, 512}, {3, 5, 1024}, {11, 2, 256}, {8, 3, 768}};
    for (nd_quant_format f = 1; f < ND_QUANT_END; f++) {
        int good = 0;
        if (!nd_quant_get(f))
            continue;
        for (int i = 0; i < 5; i++)
            good += product_is_right(f, sizes[i][0], sizes[i][1], sizes[i][2]);
        if (nd_quant_get(f)->block == 32)
            good += product_is_right(f, 2, 3, 32) && product_is_right(f, 1, 4, 288) ? 0 : -5;
        is_int(good, 5, nd_quant_get(f)->name);
    }
}

static void test_product_forms(void)
{
    float x[64], row[4];
    nd_qarray *q = NULL, *empty = NULL;
    nd_array *out = NULL, *half = NULL;
    for (int i = 0; i < 64; i++)
        x[i] = i < 32 ? 1 : -1;
    nd_array *a = array_of(ND_F32, 2, (int64_t[]){2, 32}, x);
    is_int(nd_quantize(a, ND_Q8_0, &q), ND_OK, "a matrix of ones");
    is_int(nd_astype(a, ND_BF16, &half), ND_OK, "in bf16");
    is_int(nd_matmul_q(half, q, &out), ND_OK, "times itself");
    is_int(nd_dtype_of(out), ND_BF16, "has x's dtype");
    nd_release(out);
    nd_release(half);
    x[3] = NAN;
    x[40] = INFINITY;
    nd_array *bad = array_of(ND_F32, 3, (int64_t[]){2, 1, 32}, x);
    is_int(nd_matmul_q(bad, q, &out), ND_OK, "with elements that are not finite");
    ok(nd_ndim(out) == 3 && nd_shape(out)[1] == 1 && nd_shape(out)[2] == 2, "keeps x's axes");
    is_int(nd_to_host(out, row, sizeof row), ND_OK, "to the host");
    ok(isnan(row[0]) && isnan(row[1]) && isnan(row[2]) && isnan(row[3]), "is NaN");
    nd_release(out);
    nd_release(bad);
    nd_array *nothing = array_of(ND_U8, 2, (int64_t[]){3, 0}, x);
    nd_array *without = array_of(ND_F32, 2, (int64_t[]){1, 0}, x);
    is_int(nd_qarray_wrap(nothing, ND_Q4_K, &empty), ND_OK, "rows of no blocks");
    is_int(nd_matmul_q(without, empty, &out), ND_OK, "products of nothing");
    is_int(nd_to_host(out, row, 12), ND_OK, "to the host");
    ok(row[0] == 0 && row[1] == 0 && row[2] == 0, "are zero");
    nd_release_all(4, (nd_array *[]){out, nothing, without, a});
    nd_qarray_release(q);
    nd_qarray_release(empty);
}

/* ---- views, rows ---- */

static void test_views(void)
{
    float x[4 * 64], got[64];
    nd_qarray *q = NULL, *part = NULL, *moved = NULL;
    nd_array *rows = NULL, *elements = NULL;
    for (int i = 0; i < 4 * 64; i++)
        x[i] = (float)(i / 64) * 127;
    nd_array *a = array_of(ND_F32, 3, (int64_t[]){2, 2, 64}, x);
    is_int(nd_quantize(a, ND_Q8_0, &q), ND_OK, "three axes");
    ok(nd_qarray_ndim(q) == 3 && nd_qarray_shape(q)[2] == 64, "have a shape in elements");
    const nd_index second[2] = {nd_at(1), nd_range(ND_END_OPEN, ND_END_OPEN, -1)};
    is_int(nd_qarray_slice(q, second, 2, &part), ND_OK, "are sliced along the outer ones");
    is_int(nd_dequantize(part, ND_F32, &elements), ND_OK, "and read");
    ok(nd_qarray_ndim(part) == 2 && nd_to_host(elements, x, 128 * 4) == ND_OK && x[0] == 381 &&
           x[64] == 254,
       "in their order");
    nd_release(elements);
    nd_qarray_release(part);
    const nd_index all[3] = {nd_at(0), nd_at(0), nd_range(0, 32, 1)};
    is_int(nd_qarray_slice(q, all, 3, &part), ND_ERR_INDEX, "not along the last");
    is_int(nd_qarray_to_device(q, nd_device_of(a), &moved), ND_OK, "on their device");
    ok(nd_shares_storage(nd_qarray_blocks(moved), nd_qarray_blocks(q)), "they stay");
    nd_qarray_release(moved);
    const nd_index first[1] = {nd_at(1)};
    is_int(nd_qarray_slice(q, first, 1, &part), ND_OK, "a matrix");
    nd_array *index = array_of(ND_I64, 2, (int64_t[]){1, 3}, (int64_t[]){1, 0, -1});
    is_int(nd_embedding_q(part, index, ND_F32, &rows), ND_OK, "and its rows by index");
    const nd_index last[2] = {nd_at(0), nd_at(2)};
    is_int(nd_slice(rows, last, 2, &elements), ND_OK, "have the shape of indices and a row");
    ok(nd_to_host(elements, got, sizeof got) == ND_OK && got[0] == 381 && got[63] == 381, "values");
    nd_release_all(4, (nd_array *[]){rows, elements, index, a});
    nd_qarray_release(part);
    nd_qarray_release(q);
}

/* ---- what is refused ---- */

static void refused(nd_status got, nd_status want, const char *word, const char *what)
{
    is_int(got, want, what);
    has_text(nd_last_error()->message, word, what);
}

static void test_errors(void)
{
    float x[64] = {0};
    nd_qarray *q = NULL, *none = NULL;
    nd_array *a = array_of(ND_F32, 2, (int64_t[]){2, 32}, x), *out = NULL, *ints = NULL,
             *odd = array_of(ND_F32, 1, (int64_t[]){33}, x),
             *bytes = array_of(ND_U8, 1, (int64_t[]){35}, x);
    is_int(nd_quantize(a, ND_Q8_0, &q), ND_OK, "a matrix");
    is_int(nd_astype(a, ND_I32, &ints), ND_OK, "of integers");
    refused(nd_quantize(a, 5, &none), ND_ERR_ARGUMENT, "format 5", "no such format");
    refused(nd_quantize(a, ND_Q5_0, &none), ND_ERR_UNSUPPORTED, "q5_0",
            "a format that is only read");
    refused(nd_quantize(a, ND_Q4_K, &none), ND_ERR_SHAPE, "256", "rows that are no whole blocks");
    refused(nd_quantize(odd, ND_Q8_0, &none), ND_ERR_SHAPE, "33", "33 elements");
    refused(nd_quantize(ints, ND_Q8_0, &none), ND_ERR_DTYPE, "i32", "integers");
    refused(nd_qarray_wrap(bytes, ND_Q8_0, &none), ND_ERR_SHAPE, "34", "35 bytes");
    refused(nd_qarray_wrap(a, ND_Q8_0, &none), ND_ERR_DTYPE, "f32", "blocks of floats");
    refused(nd_dequantize(q, ND_I32, &out), ND_ERR_DTYPE, "i32", "elements as integers");
    refused(nd_matmul_q(odd, q, &out), ND_ERR_SHAPE, "33", "rows of other lengths");
    refused(nd_matmul_q(ints, q, &out), ND_ERR_DTYPE, "i32", "products with integers");
    nd_array *index = array_of(ND_I64, 1, (int64_t[]){1}, (int64_t[]){2});
    nd_status found = nd_embedding_q(q, index, 0, &out);
    if (found == ND_OK) /* a device that works on its own says so by the next wait */
        found = nd_synchronize(NULL);
    refused(found, ND_ERR_INDEX, "2", "a row that there is not");
    nd_release(out);
    ok(!none, "there are no results");
    is_int(nd_quant_find("Q4_k"), ND_Q4_K, "names in any case");
    is_int(nd_quant_find("q9"), 0, "others are none");
    nd_release_all(5, (nd_array *[]){a, ints, odd, bytes, index});
    nd_qarray_release(q);
}

TAP_MAIN({"elements", test_elements}, {"blocks", test_blocks}, {"q8_1", test_q8_1},
         {"products", test_products}, {"product_forms", test_product_forms}, {"views", test_views},
         {"errors", test_errors})
