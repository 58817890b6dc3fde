/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Loops over rows of quantised blocks, built once per SIMD level. Products of codes are summed as
 * integers, four at a time; the sums are multiplied and added as floats in 16 lanes whose order
 * every level keeps, so that all have the same bits. */
#include <string.h>
#include "math/half.h"
#include "quant/quant.h"

#define ND_Q_FN static inline
#define ND_Q_HALF(p) cpu_f16_to_f32((uint16_t)((p)[0] | (p)[1] << 8))
#include <ndock/quant_tmpl.h>

#if CPU_ISA_LEVEL >= 1 && defined(__AVX2__)
#define FAST_UNPACK
#include "quant/unpack_avx2.h"
#endif

/* Rows of activations that one pass over a row of blocks serves. */
enum { QUANT_ROWS = 8 };

typedef struct {
    _Alignas(64) int8_t code[QUANT_SPAN];
    _Alignas(64) float scale[QUANT_HALVES];
    _Alignas(64) float min[QUANT_HALVES];
} span;

/* ---- floats ---- */

static void load(const void *in, int32_t dtype, int64_t n, float *out)
{
    const uint16_t *half = in;
    if (dtype == NDP_F16)
        for (int64_t i = 0; i < n; i++)
            out[i] = cpu_f16_to_f32(half[i]);
    else if (dtype == NDP_BF16)
        for (int64_t i = 0; i < n; i++)
            out[i] = cpu_bf16_to_f32(half[i]);
    else if (dtype == NDP_F64)
        for (int64_t i = 0; i < n; i++)
            out[i] = (float)((const double *)in)[i];
    else
        memcpy(out, in, (size_t)n * sizeof *out);
}

static void store(const float *in, int32_t dtype, int64_t n, void *out)
{
    uint16_t *half = out;
    if (dtype == NDP_F16)
        for (int64_t i = 0; i < n; i++)
            half[i] = cpu_f16_from_f32(in[i]);
    else if (dtype == NDP_BF16)
        for (int64_t i = 0; i < n; i++)
            half[i] = cpu_bf16_from_f32(in[i]);
    else if (dtype == NDP_F64)
        for (int64_t i = 0; i < n; i++)
            ((double *)out)[i] = in[i];
    else
        memcpy(out, in, (size_t)n * sizeof *in);
}

/* ---- activations ---- */

/* |x| of 32 elements at most; NaN where one is not finite. */
static float largest(const float *x)
{
    float most = 0;
    uint32_t bad = 0;
    for (int i = 0; i < 32; i++) {
        const uint32_t bits = cpu_bits_of_f32(x[i]) & 0x7fffffffu;
        const float size = cpu_f32_of_bits(bits);
        bad |= bits >= 0x7f800000u;
        most = size > most ? size : most;
    }
    return bad ? cpu_f32_of_bits(0x7fc00000u) : most;
}

/* Halves away from zero; 0 for NaN. Codes are at most 127. */
static inline int8_t code_of(float v)
{
    const float size = v < 0 ? -v : v, kept = size < 128 ? size : 0;
    int whole = (int)kept;
    whole += kept - (float)whole >= 0.5f;
    return (int8_t)(v < 0 ? -whole : whole);
}

static void activate(const float *in, int64_t n, int less, quant_made *x)
{
    int8_t *code = x->code;
    float *d = x->d, *sum = x->sum;
    const int64_t end = (n + QUANT_SPAN - 1) / QUANT_SPAN * QUANT_SPAN;
    for (int64_t at = 0; at < n; at += 32) {
        const float scale = largest(in + at) / 127, inverse = scale > 0 ? 1 / scale : 0;
        for (int h = 0; h < 2; h++) {
            const int64_t from = at + 16 * h;
            int total = 0;
            for (int l = 0; l < 16; l++) {
                code[from + l] = code_of(in[from + l] * inverse);
                total += code[from + l];
            }
            d[from / 16] = scale;
            sum[from / 16] = scale * (float)total;
        }
    }
    memset(code + n, 0, (size_t)(end - n));
    for (int64_t i = 0; i < end / 4; i++) {
        const int8_t *four = code + 4 * i;
        x->less[i] = less * (four[0] + four[1] + four[2] + four[3]);
    }
    for (int64_t h = n / 16; h < end / 16; h++)
        d[h] = sum[h] = 0;
}

/* ---- products ---- */

#ifdef FAST_UNPACK
/* Sums of four products each of 32 codes with those of x. Codes at least 0 are unsigned bytes; of others,
 * whose absolute value is at most 128, the sign is given to x, which is within 127. Two products stay within
 * 16 bits. */
static inline __m256i four_products(__m256i a, const int8_t *x, int with_signs)
{
    const __m256i b = _mm256_loadu_si256((const __m256i *)(const void *)x);
    const __m256i pairs = with_signs
                              ? _mm256_maddubs_epi16(_mm256_abs_epi8(a), _mm256_sign_epi8(b, a))
                              : _mm256_maddubs_epi16(a, b);
    return _mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
}

/* Scales of 16 elements times d of these. */
static inline void scales_times(const float *scale, const float *d, float *both)
{
    for (int i = 0; i < QUANT_HALVES; i += 8)
        _mm256_store_ps(both + i, _mm256_mul_ps(_mm256_load_ps(scale + i), _mm256_loadu_ps(d + i)));
}

/* The scales of 32 codes, for their sums of four. */
static inline __m256 scales_of_group(const float *scale, int alike)
{
    const __m256i pair =
        _mm256_broadcastq_epi64(_mm_loadl_epi64((const __m128i *)(const void *)scale));
    return alike ? _mm256_broadcast_ss(scale)
                 : _mm256_permutevar_ps(_mm256_castsi256_ps(pair),
                                        _mm256_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1));
}
#else
static inline void add_minima(const float *min, const float *x, float *low)
{
    for (int h = 0; h < QUANT_HALVES; h++)
        low[h] += min[h] * x[h];
}

static inline void add_products(const span *s, const int8_t *x, const float *d, float *sum)
{
    for (int g = 0; g < QUANT_SPAN / 32; g++)
        for (int k = 0; k < 8; k++) {
            const int8_t *a = s->code + 32 * g + 4 * k, *b = x + 32 * g + 4 * k;
            const int dot = a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3];
            sum[8 * (g & 1) + k] += s->scale[2 * g + k / 4] * d[2 * g] * (float)dot;
        }
}
#endif

static inline float total(float *lanes)
{
    for (int half = QUANT_LANES / 2; half > 0; half /= 2)
        for (int i = 0; i < half; i++)
            lanes[i] += lanes[i + half];
    return lanes[0];
}

#ifdef FAST_UNPACK
static inline float total_of(const __m256 two[2])
{
    float lanes[QUANT_LANES];
    _mm256_storeu_ps(lanes, two[0]);
    _mm256_storeu_ps(lanes + 8, two[1]);
    return total(lanes);
}
#endif

/* ---- the formats ---- */

#define FORMAT q4_0
#define BLOCK 32
#define NBYTES 18
#define MIN 0
#define ALIKE 1
#define LESS 8
#define SIGNED 0
#include "quant/format_tmpl.h"
#define FORMAT q4_1
#define BLOCK 32
#define NBYTES 20
#define MIN 1
#define ALIKE 1
#define LESS 0
#define SIGNED 0
#include "quant/format_tmpl.h"
#define FORMAT q5_0
#define BLOCK 32
#define NBYTES 22
#define MIN 0
#define ALIKE 1
#define LESS 16
#define SIGNED 0
#include "quant/format_tmpl.h"
#define FORMAT q5_1
#define BLOCK 32
#define NBYTES 24
#define MIN 1
#define ALIKE 1
#define LESS 0
#define SIGNED 0
#include "quant/format_tmpl.h"
#define FORMAT q8_0
#define BLOCK 32
#define NBYTES 34
#define MIN 0
#define ALIKE 1
#define LESS 0
#define SIGNED 1
#include "quant/format_tmpl.h"
#define FORMAT q8_1
#define BLOCK 32
#define NBYTES 36
#define MIN 0
#define ALIKE 1
#define LESS 0
#define SIGNED 1
#include "quant/format_tmpl.h"
#define FORMAT q2_K
#define BLOCK 256
#define NBYTES 84
#define MIN 1
#define ALIKE 0
#define LESS 0
#define SIGNED 0
#include "quant/format_tmpl.h"
#define FORMAT q3_K
#define BLOCK 256
#define NBYTES 110
#define MIN 0
#define ALIKE 0
#define LESS 4
#define SIGNED 0
#include "quant/format_tmpl.h"
#define FORMAT q4_K
#define BLOCK 256
#define NBYTES 144
#define MIN 1
#define ALIKE 1
#define LESS 0
#define SIGNED 0
#include "quant/format_tmpl.h"
#define FORMAT q5_K
#define BLOCK 256
#define NBYTES 176
#define MIN 1
#define ALIKE 1
#define LESS 0
#define SIGNED 0
#include "quant/format_tmpl.h"
#define FORMAT q6_K
#define BLOCK 256
#define NBYTES 210
#define MIN 0
#define ALIKE 0
#define LESS 32
#define SIGNED 0
#include "quant/format_tmpl.h"
#define FORMAT iq4_nl
#define BLOCK 32
#define NBYTES 18
#define MIN 0
#define ALIKE 1
#define LESS 0
#define SIGNED 1
#include "quant/format_tmpl.h"

const quant_table CPU_ISA_FN(quant_table_of) = {
    .format =
        {
#define ND_QUANT(NAME, id, block, nbytes, min, writes, name, doc) \
    [id] = {dequantize_##name, dot_##name, less_##name},
#include <ndock/quant.def>
        },
    .load = load,
    .store = store,
    .activate = activate,
};
