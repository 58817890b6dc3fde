/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Conformance of quantised formats: elements of random blocks against a reading of the formats of
 * this file's own, element by element; blocks that are made, by how far their elements are from
 * what was given; products against sums in long double. */
#include <math.h>
#include <stdlib.h>
#include "tests/conform/conform.h"

enum { MOST_BYTES = 4096, MOST_ELEMENTS = 4096, MOST_ROWS = 6 };
static const nd_quant_format formats[] = {ND_Q4_0, ND_Q4_1, ND_Q5_0, ND_Q5_1, ND_Q8_0, ND_Q8_1,
                                          ND_Q2_K, ND_Q3_K, ND_Q4_K, ND_Q5_K, ND_Q6_K, ND_IQ4_NL};
enum { FORMATS = sizeof formats / sizeof *formats };

/* ---- the formats ---- */

static float half_at(const unsigned char *p)
{
    const int bits = p[0] | p[1] << 8, exponent = bits >> 10 & 31, fraction = bits & 1023;
    const double size = exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24);
    return (float)(bits & 0x8000 ? -size : size);
}

/* `bits` bits of element j, counted from bit 0 of the bytes. */
static int field(const unsigned char *bytes, int at, int bits)
{
    return (bytes[at / 8] >> at % 8) & ((1 << bits) - 1);
}

/* Nibble of element j of 32, the upper ones for the second 16. */
static int nibble(const unsigned char *bytes, int j)
{
    return field(bytes, 8 * (j % 16) + 4 * (j / 16), 4);
}

/* Scale or minimum i of eight in 12 bytes. */
static int six_bits(const unsigned char *s, int i, bool minimum)
{
    if (i < 4)
        return s[i + 4 * minimum] & 63;
    return (minimum ? s[i + 4] >> 4 : s[i + 4] & 15) | (s[i - 4 + 4 * minimum] >> 6) << 4;
}

typedef struct {
    float scale, min;
    int code;
} parts;

static parts small_parts(nd_quant_format f, const unsigned char *b, int j)
{
    static const signed char table[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                          1,    13,   25,  38,  53,  69,  89,  113};
    parts p = {half_at(b), 0, 0};
    if (f == ND_Q4_0)
        p.code = nibble(b + 2, j) - 8;
    else if (f == ND_Q4_1)
        p.code = nibble(b + 4, j);
    else if (f == ND_Q5_0)
        p.code = (nibble(b + 6, j) | field(b + 2, j, 1) << 4) - 16;
    else if (f == ND_Q5_1)
        p.code = nibble(b + 8, j) | field(b + 4, j, 1) << 4;
    else if (f == ND_IQ4_NL)
        p.code = table[nibble(b + 2, j)];
    else
        p.code = (signed char)b[(f == ND_Q8_0 ? 2 : 4) + j];
    if (f == ND_Q4_1 || f == ND_Q5_1)
        p.min = half_at(b + 2);
    return p;
}

static parts large_parts(nd_quant_format f, const unsigned char *b, int j)
{
    const int chunk = j / 128, pair = 8 * (32 * chunk + j % 32) + 2 * (j % 128 / 32);
    const int quad = 8 * (32 * (j / 64) + j % 32) + 4 * (j / 32 % 2);
    parts p = {0, 0, 0};
    if (f == ND_Q2_K) {
        p.scale = half_at(b + 80) * (float)(b[j / 16] & 15);
        p.min = -(half_at(b + 82) * (float)(b[j / 16] >> 4));
        p.code = field(b + 16, pair, 2);
    } else if (f == ND_Q3_K) {
        const int i = j / 16;
        const int scale = field(b + 96, 8 * (i % 8) + 4 * (i / 8), 4) |
                          field(b + 104, 8 * (i % 4) + 2 * (i / 4), 2) << 4;
        p.scale = half_at(b + 108) * (float)(scale - 32);
        p.code = field(b + 32, pair, 2) - (field(b, 8 * (j % 32) + j / 32, 1) ? 0 : 4);
    } else if (f == ND_Q6_K) {
        p.scale = half_at(b + 208) * (float)(signed char)b[192 + j / 16];
        p.code = (field(b, 8 * (64 * chunk + j % 64) + 4 * (j % 128 / 64), 4) |
                  field(b + 128, pair, 2) << 4) -
                 32;
    } else {
        p.scale = half_at(b) * (float)six_bits(b + 4, j / 32, false);
        p.min = -(half_at(b + 2) * (float)six_bits(b + 4, j / 32, true));
        p.code = f == ND_Q4_K
                     ? field(b + 16, quad, 4)
                     : field(b + 48, quad, 4) | field(b + 16, 8 * (j % 32) + j / 32, 1) << 4;
    }
    return p;
}

static bool has_min(nd_quant_format f)
{
    return f == ND_Q4_1 || f == ND_Q5_1 || f == ND_Q2_K || f == ND_Q4_K || f == ND_Q5_K;
}

static float element(nd_quant_format f, const unsigned char *b, int j)
{
    const parts p = nd_quant_get(f)->block == 32 ? small_parts(f, b, j) : large_parts(f, b, j);
    volatile float product = p.scale * (float)p.code; /* rounded before what is added */
    return has_min(f) ? product + p.min : product;
}

/* ---- random matrices ---- */

typedef struct {
    const nd_quant_info *info;
    int rows, n;
    unsigned char bytes[MOST_ROWS * MOST_BYTES];
    float elements[MOST_ROWS * MOST_ELEMENTS];
    nd_qarray *q;
} matrix;

/* Random blocks; no 16 bits of them are an infinity or NaN, wherever a scale may be. A view of every
 * other row now and then. */
static bool matrix_random(matrix *m, nd_quant_format f)
{
    const int step = 1 + (int)random_below(2);
    nd_array *a = NULL, *view = NULL;
    m->info = nd_quant_get(f);
    /* Rows of 8 and 16 blocks are multiples of 16 bytes in every format, which devices may read in pieces. */
    static const int counts[] = {0, 1, 2, 3, 4, 8, 16};
    const int blocks = counts[random_below(7)], row = blocks * m->info->nbytes;
    m->rows = (int)random_below(MOST_ROWS / 2 + 1);
    m->n = blocks * m->info->block;
    const int64_t shape[2] = {(int64_t)m->rows * step, row};
    for (int i = 0; i < m->rows * step * row; i++) {
        m->bytes[i] = (unsigned char)random_below(256);
        if ((m->bytes[i] & 0x7c) == 0x7c)
            m->bytes[i] ^= 0x40;
    }
    nd_layout layout = {.size = sizeof layout, .dtype = ND_U8, .ndim = 2, .shape = shape};
    const nd_index every[1] = {nd_range(ND_END_OPEN, ND_END_OPEN, step)};
    bool made = good(nd_from_host(&layout, m->bytes, run.device, &a), "from_host") &&
                good(nd_slice(a, every, 1, &view), "slice") &&
                good(nd_qarray_wrap(view, f, &m->q), "qarray_wrap");
    for (int r = 0; r < m->rows; r++)
        for (int j = 0; j < m->n; j++)
            m->elements[r * m->n + j] =
                element(f, m->bytes + r * step * row + j / m->info->block * m->info->nbytes,
                        j % m->info->block);
    nd_release(a);
    nd_release(view);
    return made;
}

/* ---- the operations ---- */

static const nd_dtype floats[] = {ND_F32, ND_F16, ND_BF16, ND_F64};

static void dequantize_case(matrix *m, nd_dtype dtype)
{
    char text[2][128];
    nd_array *r = NULL;
    if (good(nd_dequantize(m->q, dtype, &r), "dequantize")) {
        char *data = fetch(r);
        for (int i = 0; data && i < m->rows * m->n && !failing(); i++) {
            const cell got = cell_read(dtype, data + (size_t)i * nd_dtype_size(dtype)),
                       want = cell_real((long double)m->elements[i]);
            if (!cell_close(dtype, got, want, 0.5, false))
                fail_case("dequantize of %s to %s: element %d is %s, not %s", m->info->name,
                          nd_dtype_name(dtype), i, cell_text(got, text[0]),
                          cell_text(want, text[1]));
        }
        free(data);
    }
    nd_release(r);
}

/* What a row of x holds, by the definition: codes times scales of 32. */
static void rounded(const float *x, int n, double *out)
{
    for (int at = 0; at < n; at += 32) {
        float most = 0;
        for (int i = at; i < at + 32; i++)
            most = fabsf(x[i]) > most ? fabsf(x[i]) : most;
        const float d = most / 127, inverse = d > 0 ? 1 / d : 0;
        for (int i = at; i < at + 32; i++)
            out[i] = round((double)(x[i] * inverse)) * d;
    }
}

static void product_case(matrix *m, nd_dtype dtype)
{
    static float x[MOST_ROWS * MOST_ELEMENTS];
    static double codes[MOST_ELEMENTS];
    const int rows = (int)random_below(MOST_ROWS + 1);
    const int64_t shape[2] = {rows, m->n};
    nd_layout layout = {.size = sizeof layout, .dtype = ND_F32, .ndim = 2, .shape = shape};
    nd_array *wide = NULL, *a = NULL, *back = NULL, *r = NULL;
    char *data = NULL;
    for (int i = 0; i < rows * m->n; i++)
        x[i] = (float)(random_below(2001) - 1000) / 256;
    if (good(nd_from_host(&layout, x, run.device, &wide), "from_host") &&
        good(nd_astype(wide, dtype, &a), "astype") && good(nd_astype(a, ND_F32, &back), "astype") &&
        good(nd_to_host(back, x, (size_t)(rows * m->n) * 4), "to_host") &&
        good(nd_matmul_q(a, m->q, &r), "matmul_q"))
        data = fetch(r);
    for (int i = 0; data && i < rows && !failing(); i++) {
        rounded(x + i * m->n, m->n, codes);
        for (int k = 0; k < m->rows && !failing(); k++) {
            long double sum = 0, size = 0;
            for (int j = 0; j < m->n; j++) {
                const parts p = {m->elements[k * m->n + j], 0, 0};
                sum += (long double)codes[j] * p.scale;
                size += fabsl((long double)codes[j] * p.scale);
            }
            const cell got =
                cell_read(dtype, data + (size_t)(i * m->rows + k) * nd_dtype_size(dtype));
            /* Where a format has minima, scale*code and min may be far larger than elements. */
            const long double bound = has_min(m->info->format) ? 64 * size + 1e-3L : size;
            if (!cell_within(dtype, got, cell_real(sum),
                             cell_ulp(dtype, sum) + 8 * cell_ulp(ND_F32, bound)))
                fail_case("matmul_q of %s with %s: (%d, %d) is %.9Lg, not %.9Lg",
                          nd_dtype_name(dtype), m->info->name, i, k, got.re, sum);
        }
    }
    free(data);
    nd_release_all(4, (nd_array *[]){wide, a, back, r});
}

static void quantize_case(nd_quant_format f, nd_dtype dtype)
{
    const nd_quant_info *info = nd_quant_get(f);
    const double step = f == ND_Q8_0 ? 1.0 / 250 : f == ND_Q6_K ? 1.0 / 30 : 1.0 / 7;
    const int64_t shape[2] = {random_below(4), info->block * random_below(4)};
    view_wish wish = any_view;
    mirror in;
    nd_qarray *q = NULL;
    nd_array *r = NULL;
    wish.tame = true;
    if (mirror_shaped(&in, dtype, 2, shape, &wish) &&
        good(nd_quantize(in.array, f, &q), "quantize") &&
        good(nd_dequantize(q, ND_F64, &r), "dequantize")) {
        char *data = fetch(r);
        double most = 0;
        for (int64_t i = 0; i < in.size; i++) {
            const double x = (double)mirror_cell(&in, 2, shape, i).re;
            most = fabs(x) > most ? fabs(x) : most;
        }
        for (int64_t i = 0; data && i < in.size && !failing(); i++) {
            const double x = (double)mirror_cell(&in, 2, shape, i).re,
                         y = ((const double *)(void *)data)[i];
            if (!(fabs(x - y) <= most * step))
                fail_case("quantize to %s: element %lld was %.9g and is %.9g", info->name,
                          (long long)i, x, y);
        }
        free(data);
    }
    nd_release(r);
    nd_qarray_release(q);
    mirror_release(&in);
}

static void conform_op(nd_op op)
{
    static const nd_quant_format written[] = {ND_Q4_0, ND_Q8_0, ND_Q4_K, ND_Q6_K};
    static matrix m;
    if (!wanted(nd_op_get(op)->name))
        return;
    begin_op(nd_op_get(op)->name);
    for (int i = 0; i < run.count && !failing(); i++) {
        if (!begin_case(i))
            continue;
        m.q = NULL;
        if (op == ND_OP_quantize)
            quantize_case(written[i % 4], floats[i / 4 % 4]);
        else if (!matrix_random(&m, formats[i % FORMATS]))
            fail_case("no random blocks");
        else if (op == ND_OP_dequantize)
            dequantize_case(&m, floats[i / FORMATS % 4]);
        else
            product_case(&m, floats[i / FORMATS % 3]);
        nd_qarray_release(m.q);
    }
    end_op();
}

void conform_quant(void)
{
    conform_op(ND_OP_dequantize);
    conform_op(ND_OP_quantize);
    conform_op(ND_OP_matmul_q);
}
