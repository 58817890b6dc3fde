/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What products of all formats are made of at a SIMD level: sums of few products as integers, their lanes, and the totals of
 * these. Included by quant_isa.c, after a level's unpack_X.h. */

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
/* How many bytes after a span of blocks those lie that are wanted some spans later, where so many rows are computed at
 * once: of long rows in the same row, of others in the rows after them, since the bytes right behind one row are another's
 * that is computed already. */
static inline int64_t ahead_of(int64_t row_bytes, int many)
{
    const int64_t rows = many * row_bytes;
    return rows >= AHEAD && rows < AHEAD_ROWS ? rows : AHEAD;
}
/* The lines that a span of blocks will be in some spans later. */
static inline void look_ahead(const unsigned char *from, int64_t ahead, int nbytes)
{
    for (int i = 0; i < nbytes; i += 64)
        __builtin_prefetch(from + ahead + i);
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
