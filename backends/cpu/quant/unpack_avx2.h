/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Blocks of the common formats taken apart 32 elements at a time: the values of quant_tmpl.h, whose
 * loops compilers make no such instructions of. codes_X are the codes of group g, 32 elements, of the
 * block b, and LESS_X more than they are where that is not 0, so that none is negative; scales_X the scales
 * and minima of each 16. Included by quant_isa.c for the levels with AVX2. */
#include <immintrin.h>

static inline __m256i bytes_of(const void *p)
{
    return _mm256_loadu_si256((const __m256i *)p);
}
/* Bits `shift` and on of each byte, as many as mask has. */
static inline __m256i field(__m256i bytes, int shift, char mask)
{
    return _mm256_and_si256(_mm256_srli_epi16(bytes, shift), _mm256_set1_epi8(mask));
}
/* Nibbles of 16 bytes: the low ones, then the high ones. */
static inline __m256i nibbles(const unsigned char *p)
{
    const __m256i both =
        _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)p));
    const __m256i by = _mm256_setr_epi32(0, 0, 0, 0, 4, 4, 4, 4);
    return _mm256_and_si256(_mm256_srlv_epi32(both, by), _mm256_set1_epi8(15));
}

static inline __m256i codes_q4_0(const unsigned char *b, int g)
{
    (void)g;
    return nibbles(b + 2);
}
static inline __m256i codes_q4_1(const unsigned char *b, int g)
{
    (void)g;
    return nibbles(b + 4);
}
static inline __m256i codes_q8_0(const unsigned char *b, int g)
{
    (void)g;
    return bytes_of(b + 2);
}
static inline __m256i codes_q8_1(const unsigned char *b, int g)
{
    (void)g;
    return bytes_of(b + 4);
}
static inline __m256i codes_iq4_nl(const unsigned char *b, int g)
{
    const __m128i table =
        _mm_setr_epi8(-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113);
    (void)g;
    return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(table), nibbles(b + 2));
}

/* Bits 0 to 31 of the four bytes at p as bytes of 0 and 16. */
static inline __m256i fifth_bits(const unsigned char *p)
{
    int32_t bits;
    memcpy(&bits, p, 4);
    const __m256i spread = _mm256_shuffle_epi8(
        _mm256_set1_epi32(bits), _mm256_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 2,
                                                  2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3));
    const __m256i each = _mm256_set1_epi64x((long long)0x8040201008040201u);
    const __m256i set = _mm256_cmpeq_epi8(_mm256_and_si256(spread, each), each);
    return _mm256_and_si256(set, _mm256_set1_epi8(16));
}
static inline __m256i codes_q5_0(const unsigned char *b, int g)
{
    (void)g;
    return _mm256_or_si256(nibbles(b + 6), fifth_bits(b + 2));
}
static inline __m256i codes_q5_1(const unsigned char *b, int g)
{
    (void)g;
    return _mm256_or_si256(nibbles(b + 8), fifth_bits(b + 4));
}

/* Codes of two blocks, `nbytes` apart, whose nibbles begin at b: of the first halves of both, then of the second. */
static inline void pair_nibbles(const unsigned char *b, int nbytes, __m256i code[2])
{
    const __m128i first = _mm_loadu_si128((const __m128i *)(const void *)b),
                  second = _mm_loadu_si128((const __m128i *)(const void *)(b + nbytes));
    const __m256i both = _mm256_inserti128_si256(_mm256_castsi128_si256(first), second, 1);
    code[0] = field(both, 0, 15);
    code[1] = field(both, 4, 15);
}
/* And their fifth bits, which the four bytes from b on have. */
static inline void pair_fifths(const unsigned char *b, int nbytes, __m256i code[2])
{
    const __m128i first = _mm_loadu_si128((const __m128i *)(const void *)b),
                  second = _mm_loadu_si128((const __m128i *)(const void *)(b + nbytes));
    const __m256i both = _mm256_inserti128_si256(_mm256_castsi128_si256(first), second, 1);
    const __m256i each = _mm256_set1_epi64x((long long)0x8040201008040201u);
    const __m256i byte = _mm256_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0,
                                          0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1);
    for (int h = 0; h < 2; h++) {
        const __m256i spread =
            _mm256_shuffle_epi8(both, _mm256_add_epi8(byte, _mm256_set1_epi8((char)(2 * h))));
        const __m256i set = _mm256_cmpeq_epi8(_mm256_and_si256(spread, each), each);
        code[h] = _mm256_or_si256(code[h], _mm256_and_si256(set, _mm256_set1_epi8(16)));
    }
}
static inline void pair_q4_0(const unsigned char *b, __m256i code[2])
{
    pair_nibbles(b + 2, 18, code);
}
static inline void pair_q4_1(const unsigned char *b, __m256i code[2])
{
    pair_nibbles(b + 4, 20, code);
}
static inline void pair_q5_0(const unsigned char *b, __m256i code[2])
{
    pair_nibbles(b + 6, 22, code);
    pair_fifths(b + 2, 22, code);
}
static inline void pair_q5_1(const unsigned char *b, __m256i code[2])
{
    pair_nibbles(b + 8, 24, code);
    pair_fifths(b + 4, 24, code);
}
static inline void pair_iq4_nl(const unsigned char *b, __m256i code[2])
{
    const __m256i table = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113));
    pair_nibbles(b + 2, 18, code);
    code[0] = _mm256_shuffle_epi8(table, code[0]);
    code[1] = _mm256_shuffle_epi8(table, code[1]);
}

static inline void scales_of_one(const unsigned char *b, float *scale, float *min)
{
    (void)min;
    scale[0] = scale[1] = ND_Q_HALF(b);
}
static inline void scales_of_two(const unsigned char *b, float *scale, float *min)
{
    scale[0] = scale[1] = ND_Q_HALF(b);
    min[0] = min[1] = ND_Q_HALF(b + 2);
}
/* The two halves that each of eight blocks begins with, as floats, each twice. */
static inline void heads_of_eight(const unsigned char *b, int nbytes, __m256 first[2],
                                  __m256 second[2])
{
    for (int i = 0; i < 2; i++, b += 4 * nbytes) {
        int32_t pair[4];
        for (int k = 0; k < 4; k++)
            memcpy(&pair[k], b + k * nbytes, 4);
        const __m256 both = _mm256_cvtph_ps(_mm_setr_epi32(pair[0], pair[1], pair[2], pair[3]));
        first[i] = _mm256_moveldup_ps(both);
        second[i] = _mm256_movehdup_ps(both);
    }
}
#define scales_q4_0 scales_of_one
#define scales_q4_1 scales_of_two
#define scales_q5_0 scales_of_one
#define scales_q5_1 scales_of_two
#define scales_q8_0 scales_of_one
#define scales_q8_1 scales_of_one
#define scales_iq4_nl scales_of_one

/* Eight bytes times d, each twice. */
static inline void put_twice(float *to, uint64_t bytes, __m256 d)
{
    const __m128i eight = _mm_set_epi64x(0, (long long)bytes);
    const __m256 x = _mm256_mul_ps(_mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(eight)), d);
    const __m256 low = _mm256_unpacklo_ps(x, x), high = _mm256_unpackhi_ps(x, x);
    _mm256_store_ps(to, _mm256_permute2f128_ps(low, high, 0x20));
    _mm256_store_ps(to + 8, _mm256_permute2f128_ps(low, high, 0x31));
}
/* Scales and minima of 6 bits, eight of both in 12 bytes. */
static inline void sixes(const unsigned char *b, uint64_t *scales, uint64_t *minima)
{
    uint32_t s[3];
    memcpy(s, b, sizeof s);
    const uint32_t scale_high = (s[2] & 0x0f0f0f0fu) | (s[0] >> 2 & 0x30303030u),
                   min_high = (s[2] >> 4 & 0x0f0f0f0fu) | (s[1] >> 2 & 0x30303030u);
    *scales = (s[0] & 0x3f3f3f3fu) | (uint64_t)scale_high << 32;
    *minima = (s[1] & 0x3f3f3f3fu) | (uint64_t)min_high << 32;
}
/* The same of formats with d and dmin before them. */
static inline void scales_of_sixes(const unsigned char *b, float *scale, float *min)
{
    uint64_t scales, minima;
    sixes(b + 4, &scales, &minima);
    put_twice(scale, scales, _mm256_set1_ps(ND_Q_HALF(b)));
    put_twice(min, minima, _mm256_set1_ps(-ND_Q_HALF(b + 2)));
}
/* Eight of them as words, each twice. */
static inline __m256i words_twice(uint64_t bytes)
{
    const __m128i eight = _mm_set_epi64x(0, (long long)bytes);
    return _mm256_cvtepu8_epi16(_mm_unpacklo_epi8(eight, eight));
}
static inline uint64_t step_bytes_q4_K(const unsigned char *b)
{
    uint64_t scales, minima;
    sixes(b + 4, &scales, &minima);
    return scales;
}
static inline __m256i least_q4_K(const unsigned char *b)
{
    uint64_t scales, minima;
    sixes(b + 4, &scales, &minima);
    return words_twice(minima);
}
#define step_bytes_q5_K step_bytes_q4_K
#define least_q5_K least_q4_K
#define scales_q4_K scales_of_sixes
#define scales_q5_K scales_of_sixes
static inline __m256i codes_q4_K(const unsigned char *b, int g)
{
    return field(bytes_of(b + 16 + 32 * (g / 2)), 4 * (g % 2), 15);
}
/* Bits `from` and on of each byte as bits `to` and on, as many as mask has. */
static inline __m256i moved(__m256i bytes, int from, int to, char mask)
{
    const __m256i at =
        from < to ? _mm256_slli_epi16(bytes, to - from) : _mm256_srli_epi16(bytes, from - to);
    return _mm256_and_si256(at, _mm256_set1_epi8((char)(mask << to)));
}
static inline __m256i codes_q5_K(const unsigned char *b, int g)
{
    const __m256i low = field(bytes_of(b + 48 + 32 * (g / 2)), 4 * (g % 2), 15);
    return _mm256_or_si256(low, moved(bytes_of(b + 16), g, 4, 1));
}

static inline __m256i codes_q6_K(const unsigned char *b, int g)
{
    const int part = g % 4;
    const __m256i low = field(bytes_of(b + 64 * (g / 4) + 32 * (part % 2)), 4 * (part / 2), 15);
    return _mm256_or_si256(low, moved(bytes_of(b + 128 + 32 * (g / 4)), 2 * part, 4, 3));
}
static inline __m256i steps_q6_K(const unsigned char *b)
{
    return _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(const void *)(b + 192)));
}

/* Codes of 2 bits, and the scales of each 16, in the formats of fewest bits. */
static inline __m256i pair_codes(const unsigned char *bytes, int group)
{
    return field(bytes_of(bytes + 32 * (group / 4)), 2 * (group % 4), 3);
}
static inline __m256i codes_q2_K(const unsigned char *b, int g)
{
    return pair_codes(b + 16, g);
}
/* The same where they lie in their nibbles: four times as much in groups of odd numbers, whose steps are not. */
static inline __m256i raised_q2_K(const unsigned char *b, int g)
{
    return field(bytes_of(b + 16 + 32 * (g / 4)), g % 4 / 2 * 4, g % 2 ? 12 : 3);
}
static inline __m256i steps_q2_K(const unsigned char *b)
{
    const __m128i both = _mm_loadu_si128((const __m128i *)(const void *)b);
    return _mm256_cvtepu8_epi16(_mm_and_si128(both, _mm_set1_epi8(15)));
}
static inline __m256i raised_steps_q2_K(const unsigned char *b)
{
    return _mm256_mullo_epi16(steps_q2_K(b), _mm256_set1_epi64x(0x0001000100040004));
}
static inline __m256i least_q2_K(const unsigned char *b)
{
    const __m128i both = _mm_loadu_si128((const __m128i *)(const void *)b);
    return _mm256_srli_epi16(_mm256_cvtepu8_epi16(both), 4);
}
static inline __m256i codes_q3_K(const unsigned char *b, int g)
{
    return _mm256_or_si256(pair_codes(b + 32, g), moved(bytes_of(b), g, 2, 1));
}
static inline __m256i steps_q3_K(const unsigned char *b)
{
    uint64_t low;
    uint32_t high;
    memcpy(&low, b + 96, sizeof low);
    memcpy(&high, b + 104, sizeof high);
    const uint64_t near[2] = {low & 0x0f0f0f0f0f0f0f0fu, low >> 4 & 0x0f0f0f0f0f0f0f0fu};
    uint64_t far[2];
    for (int i = 0; i < 2; i++)
        far[i] = (high >> 4 * i & 0x03030303u) | (uint64_t)(high >> (4 * i + 2) & 0x03030303u)
                                                     << 32;
    const __m128i six =
        _mm_set_epi64x((long long)(near[1] | far[1] << 4), (long long)(near[0] | far[0] << 4));
    return _mm256_cvtepi8_epi16(_mm_sub_epi8(six, _mm_set1_epi8(32)));
}
/* Codes and steps of the others are what they are. */
#define raised_q3_K codes_q3_K
#define raised_q4_K codes_q4_K
#define raised_q5_K codes_q5_K
#define raised_q6_K codes_q6_K
#define raised_steps_q3_K steps_q3_K
#define raised_steps_q6_K steps_q6_K
