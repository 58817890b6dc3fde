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
#if defined(FAST_UNPACK) && defined(__AVX512VNNI__)
#define WIDE_DOT
#include "quant/unpack_vnni.h"
#endif

/* Elements of paired formats whose first halves come before the second; bytes of a vector. */
#ifdef WIDE_DOT
enum { PAIRED_RUN = 128, VECTOR = 64, AHEAD = 2048 };
#elif defined(FAST_UNPACK)
enum { PAIRED_RUN = 64, VECTOR = 32 };
#else
enum { PAIRED_RUN = 64, VECTOR = 16 };
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

/* The largest |x| of 32 elements; NaN where one is not finite. Sizes are in the order of their bits. */
static float largest(const float *x)
{
    uint32_t bits[32], most = 0;
    memcpy(bits, x, sizeof bits);
    for (int i = 0; i < 32; i++) {
        const uint32_t size = bits[i] & 0x7fffffffu;
        most = size > most ? size : most;
    }
    return cpu_f32_of_bits(most >= 0x7f800000u ? 0x7fc00000u : most);
}

typedef float eight_floats __attribute__((vector_size(32)));
typedef int32_t eight_words __attribute__((vector_size(32)));

/* 32 elements as whole numbers, halves away from zero; 0 for NaN. They are at most 127. Floats at least zero are compared
 * by their bits, whose order is theirs; comparisons give -1 where they hold. */
static void codes_of(const float *x, float inverse, int32_t *code)
{
    for (int i = 0; i < 32; i += 8) {
        eight_floats v;
        memcpy(&v, x + i, sizeof v);
        v *= inverse;
        const eight_words bits = (eight_words)v, size = bits & 0x7fffffff, minus = bits >> 31;
        const eight_floats kept = (eight_floats)(size & (size < 0x43000000 /* 128 */));
        const eight_words down = __builtin_convertvector(kept, eight_words);
        const eight_floats rest = kept - __builtin_convertvector(down, eight_floats);
        const eight_words whole = down - ((eight_words)rest >= 0x3f000000 /* a half */);
        const eight_words with_sign = (whole ^ minus) - minus;
        memcpy(code + i, &with_sign, sizeof with_sign);
    }
}

/* Where codes of elements from `at` on, a multiple of 16, are in a row of a paired format. */
static inline int64_t paired_place(int64_t at)
{
    return at / PAIRED_RUN * PAIRED_RUN + at % 32 / 16 * (PAIRED_RUN / 2) +
           at % PAIRED_RUN / 32 * 16;
}
/* The first of the two lanes of a span that sum products of a group. */
static inline int lane_of(int stepped, int group)
{
    return stepped ? group % 4 * 4 + group / 4 * 2 : 2 * group;
}
/* Where codes of elements from `at` on are in a row of a format of large blocks. Lanes come in quarters, those of two
 * groups each, and a vector has 16 codes of as many quarters as it has room for: the first halves of the quarters' first
 * groups, their second halves, the first halves of the second groups, their second halves. */
static inline int64_t lane_place(int stepped, int64_t at)
{
    const int lane = lane_of(stepped, (int)(at % QUANT_SPAN / 32)), half = (int)(at % 32 / 16);
    const int quarter = lane / 4, number = 2 * (lane / 2 % 2) + half;
    return at / QUANT_SPAN * QUANT_SPAN + quarter / (VECTOR / 16) * 4 * VECTOR + number * VECTOR +
           quarter % (VECTOR / 16) * 16;
}
/* The same where two rows of blocks are computed at once: vectors of 32 codes, a half of two groups each, which are four
 * groups apart where halves have steps, else two; of four such pairs, first halves before second ones. Lanes are those of
 * the first group of the pairs 0 and 1, of the second of both, then those of the pairs 2 and 3. */
static inline void striped(int stepped, int group, int *pair, int *second)
{
    *pair = stepped ? group % 4 : group / 4 * 2 + group % 2;
    *second = stepped ? group / 4 : group % 4 / 2;
}
static inline int striped_lane(int stepped, int group)
{
    int pair, second;
    striped(stepped, group, &pair, &second);
    return pair / 2 * 8 + second * 4 + pair % 2 * 2;
}
static inline int64_t striped_place(int stepped, int64_t at)
{
    int pair, second;
    striped(stepped, (int)(at % QUANT_SPAN / 32), &pair, &second);
    return at / QUANT_SPAN * QUANT_SPAN + pair * 64 + at % 32 / 16 * 32 + second * 16;
}
static inline int lane_in(int order, int group)
{
    return order >= QUANT_STRIPED_LANED ? striped_lane(order == QUANT_STRIPED_STEPPED, group)
                                        : lane_of(order == QUANT_STEPPED, group);
}
static int64_t place_of(const quant_format *of, int64_t at)
{
    return of->order >= QUANT_STRIPED_LANED ? striped_place(of->order == QUANT_STRIPED_STEPPED, at)
           : of->order >= QUANT_LANED       ? lane_place(of->order == QUANT_STEPPED, at)
           : of->order == QUANT_PAIRED      ? paired_place(at)
                                            : at;
}

#ifdef WIDE_DOT
/* What sums of four products, or of eight of paired formats, begin at: -`less` times those of their codes. */
static void sum_less(const int8_t *code, int64_t n, const quant_format *of, int16_t *less)
{
    const __m512i one = _mm512_set1_epi8(1), by = _mm512_set1_epi32(-of->less);
    const int both = of->order == QUANT_PAIRED;
    for (int64_t at = 0; at < n; at += both ? 128 : 64, less += 32) {
        __m512i sum =
            _mm512_dpbusd_epi32(_mm512_setzero_si512(), one, _mm512_loadu_si512(code + at));
        if (both)
            sum = _mm512_dpbusd_epi32(sum, one, _mm512_loadu_si512(code + at + 64));
        _mm512_storeu_si512(less, _mm512_mullo_epi32(sum, by));
    }
}
#else
/* `less` times the sums of what is summed as integers: two codes, or four of two blocks' halves. */
static void sum_less(const int8_t *code, int64_t n, const quant_format *of, int16_t *less)
{
    if (of->order == QUANT_PAIRED)
        for (int64_t i = 0; i < n / 4; i++) {
            const int8_t *c = code + i / 16 * 64 + i % 16 * 2;
            less[i] = (int16_t)(of->less * (c[0] + c[1] + c[32] + c[33]));
        }
    else
        for (int64_t i = 0; i < n / 2; i++)
            less[i] = (int16_t)(of->less * (code[2 * i] + code[2 * i + 1]));
}
#endif

static void activate(const float *in, int64_t n, const quant_format *of, quant_made *x)
{
    const int64_t end = (n + QUANT_SPAN - 1) / QUANT_SPAN * QUANT_SPAN;
    const int64_t last = n / PAIRED_RUN * PAIRED_RUN;
    memset(x->code + last, 0, (size_t)(end - last));
    for (int64_t at = 0; at < n; at += 32) {
        const float scale = largest(in + at) / 127, inverse = scale > 0 ? 1 / scale : 0;
        int32_t whole[32];
        codes_of(in + at, inverse, whole);
        x->group_d[at / 32] = scale;
        for (int h = 0; h < 2; h++) {
            const int64_t from = at + 16 * h;
            int8_t *code = x->code + place_of(of, from);
            int total = 0;
            for (int l = 0; l < 16; l++)
                code[l] = (int8_t)whole[16 * h + l];
            for (int l = 0; l < 16; l++)
                total += whole[16 * h + l];
            x->total[from / 16] = (int16_t)total;
            x->sum[from / 16] = scale * (float)total;
            const int group = (int)(at % QUANT_SPAN / 32);
            x->d[(at - at % QUANT_SPAN) / 16 + lane_in(of->order, group) + h] =
                scale / (float)of->times;
        }
    }
    sum_less(x->code, end, of, x->less);
    for (int64_t h = n / 16; h < end / 16; h++)
        x->d[h] = x->sum[h] = x->group_d[h / 2] = x->total[h] = 0;
}

/* ---- products ---- */

#ifdef FAST_UNPACK
static inline void store_steps(int16_t *to, __m256i steps)
{
    _mm256_storeu_si256((__m256i *)(void *)to, steps);
}
#endif
#ifdef WIDE_DOT
static inline __m512i less_of(const int16_t *less, int64_t i)
{
    return _mm512_loadu_si512(less + 2 * i);
}
static inline __m512 add_wide(__m512 sum, __m512i products, __m512 factors)
{
    return _mm512_add_ps(sum, _mm512_mul_ps(factors, _mm512_cvtepi32_ps(products)));
}
/* The lines that a span of blocks will be in some spans later. */
static inline void look_ahead(const unsigned char *from, int nbytes)
{
    for (int i = 0; i < nbytes; i += 64)
        __builtin_prefetch(from + AHEAD + i);
}
#elif defined(FAST_UNPACK)
/* Sums of two products each of 32 codes with those of x, less what is given. Codes at least 0 are unsigned
 * bytes; of others, whose absolute value is at most 128, the sign is given to x, which is within 127. Two products
 * stay within 16 bits. */
static inline __m256i two_products(__m256i a, const int8_t *x, const int16_t *less, int with_signs,
                                   int with_less)
{
    const __m256i b = bytes_of(x);
    const __m256i pairs = with_signs
                              ? _mm256_maddubs_epi16(_mm256_abs_epi8(a), _mm256_sign_epi8(b, a))
                              : _mm256_maddubs_epi16(a, b);
    return with_less ? _mm256_sub_epi16(pairs, bytes_of(less)) : pairs;
}

/* The same of two blocks' halves: sums of four products each, as integers of 32 bits. Four products of codes at
 * least 0, of 5 bits at most, stay within 16 bits. */
static inline __m256i four_products(const __m256i code[2], const int8_t *x, const int16_t *less,
                                    int with_signs, int with_less)
{
    const __m256i one = _mm256_set1_epi16(1);
    const __m256i first = two_products(code[0], x, less, with_signs, 0);
    const __m256i second = two_products(code[1], x + 32, less, with_signs, 0);
    if (with_signs)
        return _mm256_add_epi32(_mm256_madd_epi16(first, one), _mm256_madd_epi16(second, one));
    const __m256i sum = _mm256_add_epi16(first, second);
    return _mm256_madd_epi16(with_less ? _mm256_sub_epi16(sum, bytes_of(less)) : sum, one);
}

/* Scales of 16 elements times d of these. */
static inline void scales_times(const float *scale, const float *d, float *both)
{
    for (int i = 0; i < QUANT_HALVES; i += 8)
        _mm256_store_ps(both + i, _mm256_mul_ps(_mm256_load_ps(scale + i), _mm256_loadu_ps(d + i)));
}

/* Adds the sums of four products, of which each two are multiplied by a step, times a factor. */
static inline __m256 add_scaled(__m256 sum, __m256i pairs, __m256i step, const float *factor)
{
    const __m256 four = _mm256_cvtepi32_ps(_mm256_madd_epi16(pairs, step));
    return _mm256_add_ps(sum, _mm256_mul_ps(_mm256_broadcast_ss(factor), four));
}
/* Adds the sums of eight products, four of a block and four of the next, times their factors. */
static inline __m256 add_scaled_two(__m256 sum, __m256i sums, __m256 factors)
{
    return _mm256_add_ps(sum, _mm256_mul_ps(factors, _mm256_cvtepi32_ps(sums)));
}
/* Factors are broadcast as they are read: in registers they would be moved by instructions of their own. */
#define KEEP_IN_MEMORY(array) __asm__("" : "+m"(array))

/* The first halves of two groups of 32 codes, then the second ones; a step for each half. */
static inline void halves_of_two(__m256i first, __m256i second, __m256i halves[2])
{
    halves[0] = _mm256_permute2x128_si256(first, second, 0x20);
    halves[1] = _mm256_permute2x128_si256(first, second, 0x31);
}
static inline __m256i steps_of_two(int16_t first, int16_t second)
{
    return _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_set1_epi16(first)),
                                   _mm_set1_epi16(second), 1);
}
/* The same of steps that groups have, in eight bytes: byte 128 of a selector is 0. */
static inline __m256i steps_of_groups(const int16_t *bytes, int first, int second)
{
    int64_t all;
    memcpy(&all, bytes, sizeof all);
    return _mm256_shuffle_epi8(_mm256_set1_epi64x(all),
                               steps_of_two((int16_t)(0x8000 | first), (int16_t)(0x8000 | second)));
}
/* What sums of some spans are multiplied by, for each lane. */
enum { QUANT_SPANS = 8 };
typedef struct {
    _Alignas(64) float both[QUANT_ROWS][QUANT_SPANS * QUANT_HALVES];
    int16_t step[QUANT_SPANS * QUANT_HALVES]; /* of halves; bytes, of groups that have one */
} quant_factors;
#else
/* The group whose products lanes 2*pair and 2*pair + 1 sum. */
static inline int group_of(int stepped, int pair)
{
    return stepped ? pair / 2 + pair % 2 * 4 : pair;
}

static inline int eight_products(const int8_t *a, const int8_t *b)
{
    int sum = 0;
    for (int i = 0; i < 8; i++)
        sum += a[i] * b[i];
    return sum;
}

static inline void add_minima(const float *min, const float *x, float *low)
{
    for (int h = 0; h < QUANT_HALVES; h++)
        low[h] += min[h] * x[h];
}

/* Of paired formats: sums of eight products of a block, four of each half. */
static inline void add_paired(const span *s, const int8_t *x, const float *d, float *sum)
{
    for (int g = 0; g < QUANT_SPAN / 32; g++)
        for (int k = 0; k < 4; k++) {
            int dot = 0;
            for (int h = 0; h < 2; h++)
                for (int j = 4 * k; j < 4 * k + 4; j++)
                    dot += s->code[32 * g + 16 * h + j] * x[paired_place(32 * g + 16 * h) + j];
            sum[g / 2 % 2 * 8 + g % 2 * 4 + k] += s->scale[2 * g] * d[2 * g] * (float)dot;
        }
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
/* As total, of 16 lanes in two vectors. */
static inline float total_of(__m256 first, __m256 second)
{
    const __m256 eight = _mm256_add_ps(first, second);
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}
#endif
#ifdef WIDE_DOT
static inline float total_wide(__m512 sum)
{
    return total_of(_mm512_castps512_ps256(sum), _mm512_extractf32x8_ps(sum, 1));
}
/* Of the lanes of two rows of blocks, in the order of striped_lane, each in half of both vectors: in the order that total
 * adds those of lane_of. */
static inline void total_striped(const __m512 sum[2], int stepped, float out[2])
{
    __m512 all = _mm512_add_ps(sum[0], sum[1]);
    if (stepped)
        all = _mm512_add_ps(all, _mm512_permute_ps(all, 0x4e));
    all = _mm512_add_ps(all, _mm512_shuffle_f32x4(all, all, 0xb1));
    if (!stepped)
        all = _mm512_add_ps(all, _mm512_permute_ps(all, 0x4e));
    all = _mm512_add_ps(all, _mm512_movehdup_ps(all));
    out[0] = _mm512_cvtss_f32(all);
    out[1] = _mm_cvtss_f32(_mm512_extractf32x4_ps(all, 2));
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
#define PAIRED 1
#include "quant/format_tmpl.h"
#define FORMAT q4_1
#define BLOCK 32
#define NBYTES 20
#define MIN 1
#define ALIKE 1
#define LESS 0
#define SIGNED 0
#define PAIRED 1
#include "quant/format_tmpl.h"
#define FORMAT q5_0
#define BLOCK 32
#define NBYTES 22
#define MIN 0
#define ALIKE 1
#define LESS 16
#define SIGNED 0
#define PAIRED 1
#include "quant/format_tmpl.h"
#define FORMAT q5_1
#define BLOCK 32
#define NBYTES 24
#define MIN 1
#define ALIKE 1
#define LESS 0
#define SIGNED 0
#define PAIRED 1
#include "quant/format_tmpl.h"
#define FORMAT q8_0
#define BLOCK 32
#define NBYTES 34
#define MIN 0
#define ALIKE 1
#define LESS 0
#define SIGNED 1
#define PAIRED 0
#include "quant/format_tmpl.h"
#define FORMAT q8_1
#define BLOCK 32
#define NBYTES 36
#define MIN 0
#define ALIKE 1
#define LESS 0
#define SIGNED 1
#define PAIRED 0
#include "quant/format_tmpl.h"
#define FORMAT q2_K
#define BLOCK 256
#define NBYTES 84
#define MIN 1
#define ALIKE 0
#define LESS 0
#define SIGNED 0
#define PAIRED 0
#include "quant/format_tmpl.h"
#define FORMAT q3_K
#define BLOCK 256
#define NBYTES 110
#define MIN 0
#define ALIKE 0
#define LESS 4
#define SIGNED 0
#define PAIRED 0
#include "quant/format_tmpl.h"
#define FORMAT q4_K
#define BLOCK 256
#define NBYTES 144
#define MIN 1
#define ALIKE 1
#define LESS 0
#define SIGNED 0
#define PAIRED 0
#include "quant/format_tmpl.h"
#define FORMAT q5_K
#define BLOCK 256
#define NBYTES 176
#define MIN 1
#define ALIKE 1
#define LESS 0
#define SIGNED 0
#define PAIRED 0
#include "quant/format_tmpl.h"
#define FORMAT q6_K
#define BLOCK 256
#define NBYTES 210
#define MIN 0
#define ALIKE 0
#define LESS 32
#define SIGNED 0
#define PAIRED 0
#include "quant/format_tmpl.h"
#define FORMAT iq4_nl
#define BLOCK 32
#define NBYTES 18
#define MIN 0
#define ALIKE 1
#define LESS 0
#define SIGNED 1
#define PAIRED 1
#include "quant/format_tmpl.h"

const quant_table CPU_ISA_FN(quant_table_of) = {
    .format =
        {
#define ND_QUANT(NAME, id, block, nbytes, min, writes, name, doc) \
    [id] = {dequantize_##name, dot_##name, less_##name, order_##name, times_##name},
#include <ndock/quant.def>
        },
    .load = load,
    .store = store,
    .activate = activate,
};
