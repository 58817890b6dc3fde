/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Loops of the reductions, built once per SIMD level, and the table of which loop serves which op
 * and dtype. */
#include <math.h>
#include <string.h>
#ifdef __AVX512VL__
#include <immintrin.h>
#endif
#include "host/ahead.h"
#include "math/exp.h"
#include "reduce/reduce.h"
#include "math/vmath.h"

enum {
    CPU_LANES = 64,           /* of an inner fold */
    CPU_FEW = 16,             /* of one of few elements */
    CPU_JOINED = CPU_FEW / 4, /* that the sums of either are joined to first */
    CPU_TOPS = 256 /* elements of rows whose maxima are found ahead of their exponentials */
};
#if defined(__GNUC__) && !defined(__clang__)
#define CPU_INDEPENDENT _Pragma("GCC ivdep") /* rows never overlap states */
#define CPU_UNROLL_ROWS _Pragma("GCC unroll 16")
#else
#define CPU_INDEPENDENT
#define CPU_UNROLL_ROWS
#endif

#if defined(__AVX512VL__)
/* The last row, which is not whole, onto the lanes. */
CPU_INLINE void sum_row(__m256d *v, const float *x, int64_t n)
{
    CPU_UNROLL_ROWS
    for (int j = 0; j < CPU_LANES / 4; j++) {
        const int64_t left = n - 4 * j;
        const __mmask8 mask = (__mmask8)(left >= 4 ? 15 : left > 0 ? (1 << left) - 1 : 0);
        const __m256d y = _mm256_cvtps_pd(_mm_maskz_loadu_ps(mask, x + 4 * j));
        v[j] = _mm256_mask_add_pd(v[j], mask, v[j], y);
    }
}
/* A run of floats into lanes of double, joined to CPU_JOINED; lanes stay in registers. Vectors of 32 bytes,
 * since those of 64 leave an Intel core one port less, and each takes a shuffle to be widened. */
static void sum_run(double *lanes, const float *x, int64_t n, int is_asked)
{
    __m256d v[CPU_LANES / 4];
    CPU_UNROLL_ROWS
    for (int j = 0; j < CPU_LANES / 4; j++)
        v[j] = _mm256_set1_pd(-0.0);
    for (; n >= CPU_LANES; n -= CPU_LANES, x += CPU_LANES) {
        if (is_asked)
            cpu_ask_ahead(x, CPU_LANES * (int)sizeof *x);
        CPU_UNROLL_ROWS
        for (int j = 0; j < CPU_LANES / 4; j++)
            v[j] = _mm256_add_pd(v[j], _mm256_cvtps_pd(_mm_loadu_ps(x + 4 * j)));
    }
    if (n > 0)
        sum_row(v, x, n);
    CPU_UNROLL_ROWS
    for (int h = CPU_LANES / 8; h > 0; h /= 2) {
        CPU_UNROLL_ROWS
        for (int j = 0; j < h; j++)
            v[j] = _mm256_add_pd(v[j], v[j + h]);
    }
    _mm256_storeu_pd(lanes, v[0]);
}
#define SUM_RUN sum_run
#endif
#define T float
#define TNAME f32
#define WIDE double
#define TOTAL double
#define COMPENSATED 0
#define IS_FLOAT 1
#define BITS uint32_t
#define HAS_ARG 1
#define KEY int32_t
#include "reduce/type_tmpl.h"
#undef SUM_RUN

#define T double
#define TNAME f64
#define WIDE double
#define TOTAL double
#define COMPENSATED 1
#define IS_FLOAT 1
#define BITS uint64_t
#define HAS_ARG 1
#define KEY int64_t
#include "reduce/type_tmpl.h"

#define T int8_t
#define TNAME i8
#define WIDE int32_t
#define TOTAL uint64_t
#define COMPENSATED 0
#define IS_SMALL 1
#include "reduce/type_tmpl.h"

#define T uint8_t
#define TNAME u8
#define WIDE uint32_t
#define TOTAL uint64_t
#define COMPENSATED 0
#define IS_SMALL 1
#include "reduce/type_tmpl.h"

/* Any byte but 0 is true. */
#define T uint8_t
#define TNAME bool
#define READ(x) ((x) != 0)
#define WIDE uint32_t
#define TOTAL uint64_t
#define COMPENSATED 0
#define IS_SMALL 1
#include "reduce/type_tmpl.h"

#define T int16_t
#define TNAME i16
#define WIDE int32_t
#define TOTAL uint64_t
#define COMPENSATED 0
#define IS_SMALL 1
#include "reduce/type_tmpl.h"

#define T uint16_t
#define TNAME u16
#define WIDE uint32_t
#define TOTAL uint64_t
#define COMPENSATED 0
#define IS_SMALL 1
#include "reduce/type_tmpl.h"

#define T int32_t
#define TNAME i32
#define WIDE int64_t
#define TOTAL uint64_t
#define COMPENSATED 0
#define IS_SMALL 1
#define HAS_ARG 1
#define KEY int32_t
#include "reduce/type_tmpl.h"

#define T uint32_t
#define TNAME u32
#define WIDE uint64_t
#define TOTAL uint64_t
#define COMPENSATED 0
#define IS_SMALL 1
#include "reduce/type_tmpl.h"

#define T int64_t
#define TNAME i64
#define WIDE uint64_t
#define TOTAL uint64_t
#define COMPENSATED 0
#define HAS_ARG 1
#define KEY int64_t
#include "reduce/type_tmpl.h"

#define T uint64_t
#define TNAME u64
#define WIDE uint64_t
#define TOTAL uint64_t
#define COMPENSATED 0
#define HAS_PROD 1
#include "reduce/type_tmpl.h"

typedef struct {
    float re, im;
} c64;
typedef struct {
    double re, im;
} c128;

/* ---- products of complex elements, as pairs of doubles, with a power of two beside them so that
 * nothing overflows on the way. Planes: the pair, the power (in the place of the real part) ---- */
CPU_INLINE void complex_settle(double *v, double *power)
{
    double a = fabs(v[0]), b = fabs(v[1]), most = a > b ? a : b;
    int k;
    if (!(most > 0x1p300 || most < 0x1p-300) || most == 0 || most - most != 0)
        return;
    (void)frexp(most, &k);
    v[0] = ldexp(v[0], -k);
    v[1] = ldexp(v[1], -k);
    *power += k;
}

CPU_INLINE void complex_multiply(double *a, double *power, const double *b)
{
    double x[2] = {b[0], b[1]};
    complex_settle(x, power);
    /* Written as two sums: gcc 12 fuses a difference beside a sum into vfmaddsub, even without
     * contraction, and bits would depend on the SIMD level. */
    double re = a[0] * x[0] + -a[1] * x[1], im = a[0] * x[1] + a[1] * x[0];
    a[0] = re;
    a[1] = im;
    complex_settle(a, power);
}

static void prod_c128_inner(const cpu_fold *f, const void *src, int64_t n)
{
    double a[8] = {1, 0, 1, 0, 1, 0, 1, 0}, *s = f->state; /* four lanes */
    for (int64_t j = 0; j < n; j += 2)
        complex_multiply(a + j % 8, s + f->cap, (const double *)src + j);
    for (int l = 0; l < 8; l += 2)
        complex_multiply(s, s + f->cap, a + l);
}

static void prod_c128_sweep(const cpu_fold *f, const void *const *rows, int nrows, int64_t n)
{
    double *s = f->state;
    for (int r = 0; r < nrows; r++)
        for (int64_t j = 0; j < n; j += 2)
            complex_multiply(s + j, s + f->cap + j, (const double *)rows[r] + j);
}

static void prod_c128_init(const cpu_fold *f, int64_t n)
{
    double *s = f->state;
    for (int64_t j = 0; j < n; j++) {
        s[j] = j % 2 ? 0 : 1;
        s[f->cap + j] = 0;
    }
}

static void prod_c128_merge(const cpu_fold *f, const cpu_fold *from, int64_t n)
{
    double *s = f->state, *t = from->state;
    for (int64_t j = 0; j < n; j += 2) {
        complex_multiply(s + j, s + f->cap + j, t + j);
        s[f->cap + j] += t[from->cap + j];
    }
}

static const cpu_reducer prod_c128_reducer = {
    .state_bytes = 16,
    .init = prod_c128_init,
    .inner = prod_c128_inner,
    .sweep = prod_c128_sweep,
    .merge = prod_c128_merge,
};

/* ---- the other loads ---- */
static void f16_to_f32(void *dst, const char *src, int64_t stride_bytes, int64_t n)
{
    float *to = dst;
    int64_t i = 0;
#if defined(__F16C__)
    for (; stride_bytes == 2 && i + 8 <= n; i += 8)
        _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(src + 2 * i))));
#endif
    for (; i < n; i++)
        to[i] = cpu_f16_to_f32(*(const uint16_t *)(src + i * stride_bytes));
}

#define LOAD_NAME bf16_to_f32
#define LOAD_FROM uint16_t
#define LOAD_TO float
#define LOAD_EXPR cpu_bf16_to_f32(x)
#include "walk/load_tmpl.h"

#define LOAD_NAME flag_f16
#define LOAD_FROM uint16_t
#define LOAD_TO uint8_t
#define LOAD_EXPR (x & 0x7fffu) != 0
#include "walk/load_tmpl.h"

#define LOAD_NAME copy_c64
#define LOAD_FROM c64
#define LOAD_TO c64
#define LOAD_EXPR x
#include "walk/load_tmpl.h"

#define LOAD_NAME copy_c128
#define LOAD_FROM c128
#define LOAD_TO c128
#define LOAD_EXPR x
#include "walk/load_tmpl.h"

#define LOAD_NAME c64_to_c128
#define LOAD_FROM c64
#define LOAD_TO c128
#define LOAD_EXPR ((c128){(double)x.re, (double)x.im})
#include "walk/load_tmpl.h"

#define LOAD_NAME flag_c64
#define LOAD_FROM c64
#define LOAD_TO uint8_t
#define LOAD_EXPR (x.re != 0) | (x.im != 0)
#include "walk/load_tmpl.h"

#define LOAD_NAME flag_c128
#define LOAD_FROM c128
#define LOAD_TO uint8_t
#define LOAD_EXPR (x.re != 0) | (x.im != 0)
#include "walk/load_tmpl.h"

#define LOAD_NAME key_u64
#define LOAD_FROM uint64_t
#define LOAD_TO int64_t
#define LOAD_EXPR (int64_t)(x ^ ((uint64_t)1 << 63))
#include "walk/load_tmpl.h"

/* ---- the table ---- */
#define CELL(r, l, d, c, b, f, s)                                                              \
    {                                                                                          \
        .reducer = &r##_reducer, .load = l, .fold = CPU_FOLD_BYTES / ((b) * (c)), .direct = d, \
        .comps = c, .bytes = b, .finish = f, .stop = s                                         \
    }
#define DIRECT(r, l, b, f) CELL(r, l, 1, 1, b, f, 0)
#define LOADED(r, l, b, f) CELL(r, l, 0, 1, b, f, 0)

#define FLOATS(op, f)                                 \
    [NDP_F16] = LOADED(op##_f32, f16_to_f32, 4, f),   \
    [NDP_BF16] = LOADED(op##_f32, bf16_to_f32, 4, f), \
    [NDP_F32] = DIRECT(op##_f32, copy_f32, 4, f), [NDP_F64] = DIRECT(op##_f64, copy_f64, 8, f)
#define COMPLEXES(op, f)                                                                           \
    [NDP_C64] = CELL(op##_f32, copy_c64, 1, 2, 4, f, 0), [NDP_C128] = CELL(op##_f64, copy_c128, 1, \
                                                                           2, 8, f, 0)
#define INTEGERS(op, f)                                                                         \
    [NDP_BOOL] = DIRECT(op##_bool, copy_bool, 1, f), [NDP_I8] = DIRECT(op##_i8, copy_i8, 1, f), \
    [NDP_I16] = DIRECT(op##_i16, copy_i16, 2, f), [NDP_I32] = DIRECT(op##_i32, copy_i32, 4, f), \
    [NDP_I64] = DIRECT(op##_i64, copy_i64, 8, f), [NDP_U8] = DIRECT(op##_u8, copy_u8, 1, f),    \
    [NDP_U16] = DIRECT(op##_u16, copy_u16, 2, f), [NDP_U32] = DIRECT(op##_u32, copy_u32, 4, f), \
    [NDP_U64] = DIRECT(op##_u64, copy_u64, 8, f)
#define FLAG(r, l, id, f, s) CELL(r##_bool, l, (id) == NDP_BOOL, 1, 1, f, s)
#define flag_bf16 flag_f16
#define PRODUCTS(f)                                                                             \
    [NDP_BOOL] = LOADED(prod_u64, wide_bool, 8, f), [NDP_I8] = LOADED(prod_u64, wide_i8, 8, f), \
    [NDP_I16] = LOADED(prod_u64, wide_i16, 8, f), [NDP_I32] = LOADED(prod_u64, wide_i32, 8, f), \
    [NDP_I64] = DIRECT(prod_u64, copy_u64, 8, f), [NDP_U8] = LOADED(prod_u64, wide_u8, 8, f),   \
    [NDP_U16] = LOADED(prod_u64, wide_u16, 8, f), [NDP_U32] = LOADED(prod_u64, wide_u32, 8, f), \
    [NDP_U64] = DIRECT(prod_u64, copy_u64, 8, f)
#define POSITIONS(op, f)                                                                       \
    [NDP_BOOL] = LOADED(op##_i32, key_bool, 4, f), [NDP_I8] = LOADED(op##_i32, key_i8, 4, f),  \
    [NDP_I16] = LOADED(op##_i32, key_i16, 4, f), [NDP_I32] = DIRECT(op##_i32, copy_i32, 4, f), \
    [NDP_I64] = DIRECT(op##_i64, copy_i64, 8, f), [NDP_U8] = LOADED(op##_i32, key_u8, 4, f),   \
    [NDP_U16] = LOADED(op##_i32, key_u16, 4, f), [NDP_U32] = LOADED(op##_i32, key_u32, 4, f),  \
    [NDP_U64] = LOADED(op##_i64, key_u64, 8, f), FLOATS(op, f)

#define ANY_CELL(id, name) [id] = FLAG(max, flag_##name, id, CPU_FINISH_VALUE, 2),
#define ALL_CELL(id, name) [id] = FLAG(min, flag_##name, id, CPU_FINISH_VALUE, 1),
#define COUNT_CELL(id, name) [id] = FLAG(sum, flag_##name, id, CPU_FINISH_INT, 0),

/* Column of an op in the table. */
#define OF(op) [CPU_COLUMN_##op]
const cpu_reduce_table CPU_ISA_FN(cpu_reduce_loops) =
    {
        .cell = {
            OF(sum) = {INTEGERS(sum, CPU_FINISH_INT), FLOATS(sum, CPU_FINISH_FLOAT),
                       COMPLEXES(sum, CPU_FINISH_FLOAT)},
            OF(prod) = {PRODUCTS(CPU_FINISH_INT), FLOATS(prod, CPU_FINISH_PRODUCT),
                        [NDP_C64] = CELL(prod_c128, c64_to_c128, 0, 2, 8, CPU_FINISH_PRODUCT, 0),
                        [NDP_C128] = CELL(prod_c128, copy_c128, 1, 2, 8, CPU_FINISH_PRODUCT, 0)},
            OF(min) = {INTEGERS(min, CPU_FINISH_VALUE), FLOATS(min, CPU_FINISH_VALUE)},
            OF(max) = {INTEGERS(max, CPU_FINISH_VALUE), FLOATS(max, CPU_FINISH_VALUE)},
            OF(mean) = {FLOATS(sum, CPU_FINISH_MEAN), COMPLEXES(sum, CPU_FINISH_MEAN)},
            OF(var) = {FLOATS(var, CPU_FINISH_VAR), COMPLEXES(var, CPU_FINISH_VAR)},
            OF(std) = {FLOATS(var, CPU_FINISH_STD), COMPLEXES(var, CPU_FINISH_STD)},
            OF(any) =
                {
#define ND_DTYPE(NAME, id, size, KIND, name, standard, numpy, dlpack, doc) \
    CPU_OF_KIND(KIND, ANY_CELL)(id, name)
#include <ndock/dtype.def>
                },
            OF(all) =
                {
#define ND_DTYPE(NAME, id, size, KIND, name, standard, numpy, dlpack, doc) \
    CPU_OF_KIND(KIND, ALL_CELL)(id, name)
#include <ndock/dtype.def>
                },
            OF(count_nonzero) =
                {
#define ND_DTYPE(NAME, id, size, KIND, name, standard, numpy, dlpack, doc) \
    CPU_OF_KIND(KIND, COUNT_CELL)(id, name)
#include <ndock/dtype.def>
                },
            OF(logsumexp) = {FLOATS(lse, CPU_FINISH_LOGSUMEXP)},
            OF(argmin) = {POSITIONS(argmin, CPU_FINISH_POSITION)},
            OF(argmax) = {POSITIONS(argmax, CPU_FINISH_POSITION)},
        }};
