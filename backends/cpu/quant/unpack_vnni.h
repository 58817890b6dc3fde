/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Blocks taken apart 64 or 128 elements at a time, for sums of four products by one instruction, which takes codes
 * at least 0: all are, the signed ones by 128 more. wide_X are the codes of groups 2*p and 2*p + 1, 32 elements
 * each, of a span; wide_four_X those of four blocks, first all their first halves. Included by quant_isa.c for the
 * level with AVX-512 VNNI, after unpack_avx2.h. */

/* The compiler would gather single words in vectors. */
#define KEEP_IN_REGISTER(number) __asm__("" : "+r"(number))

/* 32 bytes, and 32 others; or the same again. */
static inline __m512i two_of(const void *first, const void *second)
{
    return _mm512_inserti64x4(_mm512_castsi256_si512(bytes_of(first)), bytes_of(second), 1);
}
static inline __m512i twice(const void *p)
{
    return _mm512_broadcast_i64x4(bytes_of(p));
}
/* A value in the first 32 bytes and another in the second, of 16 bits each, or of 8. */
static inline __m512i halves_of(int first, int second)
{
    const long long a = first * 0x0001000100010001ll, b = second * 0x0001000100010001ll;
    return _mm512_setr_epi64(a, a, a, a, b, b, b, b);
}
/* Bits `first` and on of each of the first 32 bytes, `second` and on of the others, as many as mask has. */
static inline __m512i fields(__m512i bytes, int first, int second, char mask)
{
    return _mm512_and_si512(_mm512_srlv_epi16(bytes, halves_of(first, second)),
                            _mm512_set1_epi8(mask));
}
/* Codes and what bit 2*p of the first 32 bytes and bit 2*p + 1 of the others add. */
static inline __m512i with_bits(__m512i codes, const unsigned char *bytes, int p, char add)
{
    const __m512i each = halves_of(0x0101 << 2 * p, 0x0202 << 2 * p);
    const __mmask64 set = _mm512_test_epi8_mask(twice(bytes), each);
    return _mm512_mask_add_epi8(codes, set, codes, _mm512_set1_epi8(add));
}

static inline __m512i wide_q8_0(const unsigned char *b, int p)
{
    return _mm512_xor_si512(two_of(b + 68 * p + 2, b + 68 * p + 36), _mm512_set1_epi8(-128));
}
static inline __m512i wide_q8_1(const unsigned char *b, int p)
{
    return _mm512_xor_si512(two_of(b + 72 * p + 4, b + 72 * p + 40), _mm512_set1_epi8(-128));
}
static inline __m512i wide_q4_K(const unsigned char *b, int p)
{
    return fields(twice(b + 16 + 32 * p), 0, 4, 15);
}
static inline __m512i wide_q5_K(const unsigned char *b, int p)
{
    return with_bits(fields(twice(b + 48 + 32 * p), 0, 4, 15), b + 16, p, 16);
}

/* ---- halves of four groups ---- */

/* 16 bytes, four times. */
static inline __m512i four_times(const unsigned char *b)
{
    return _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)(const void *)b));
}
/* A value for each quarter of a vector, in all words of 32 bits there. */
static inline __m512i quarters_of(int a, int b, int c, int d)
{
    return _mm512_setr_epi32(a, a, a, a, b, b, b, b, c, c, c, c, d, d, d, d);
}
/* Fields of two bits of 16 bytes, from the lowest on. */
static inline __m512i four_fields(const unsigned char *b)
{
    return _mm512_and_si512(_mm512_srlv_epi32(four_times(b), quarters_of(0, 2, 4, 6)),
                            _mm512_set1_epi8(3));
}
static inline void wide_halves_q2_K(const unsigned char *b, int h, __m512i code[2])
{
    code[0] = four_fields(b + 16 + 32 * h);
    code[1] = four_fields(b + 32 + 32 * h);
}
static inline void wide_halves_q3_K(const unsigned char *b, int h, __m512i code[2])
{
    const __m512i each =
        _mm512_slli_epi32(quarters_of(0x01010101, 0x02020202, 0x04040404, 0x08080808), 4 * h);
    for (int i = 0; i < 2; i++) {
        const __m512i low = four_fields(b + 32 + 32 * h + 16 * i);
        const __mmask64 set = _mm512_test_epi8_mask(four_times(b + 16 * i), each);
        code[i] = _mm512_mask_add_epi8(low, set, low, _mm512_set1_epi8(4));
    }
}
static inline void wide_halves_q6_K(const unsigned char *b, int h, __m512i code[2])
{
    for (int i = 0; i < 2; i++) {
        const unsigned char *low = b + 64 * h + 16 * i, *high = b + 128 + 32 * h + 16 * i;
        const __m256i both = _mm256_inserti128_si256(
            _mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)low)),
            _mm_loadu_si128((const __m128i *)(const void *)(low + 32)), 1);
        const __m512i four =
            _mm512_srlv_epi32(_mm512_broadcast_i64x4(both), quarters_of(0, 0, 4, 4));
        /* Two bits come to bits 4 and 5 of their bytes. */
        const __m512i two = _mm512_rolv_epi32(four_times(high), quarters_of(4, 2, 0, 30));
        code[i] = _mm512_or_si512(_mm512_and_si512(four, _mm512_set1_epi8(15)),
                                  _mm512_and_si512(two, _mm512_set1_epi8(48)));
    }
}

/* ---- four blocks ---- */

/* 16 bytes of each of four blocks, as their nibbles: the low ones, then the high ones. */
static inline void four_nibbles(const unsigned char *b, int nbytes, __m512i code[2])
{
    __m256i pair[2];
    for (int i = 0; i < 2; i++, b += 2 * nbytes)
        pair[i] = _mm256_inserti128_si256(
            _mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)b)),
            _mm_loadu_si128((const __m128i *)(const void *)(b + nbytes)), 1);
    const __m512i all = _mm512_inserti64x4(_mm512_castsi256_si512(pair[0]), pair[1], 1);
    code[0] = _mm512_and_si512(all, _mm512_set1_epi8(15));
    code[1] = _mm512_and_si512(_mm512_srli_epi16(all, 4), _mm512_set1_epi8(15));
}
/* The 16 bits at b of four blocks, as one number: made in scalar registers, since vectors have enough to do. */
static inline uint64_t four_words(const unsigned char *b, int nbytes)
{
    uint64_t all = 0;
    for (int i = 3; i >= 0; i--) {
        uint16_t word;
        memcpy(&word, b + i * nbytes, sizeof word);
        all = all << 16 | word;
        KEEP_IN_REGISTER(all);
    }
    return all;
}
/* The 32 bits at b of two blocks. */
static inline uint64_t two_longs(const unsigned char *b, int nbytes)
{
    uint32_t one[2];
    memcpy(&one[0], b, sizeof *one);
    memcpy(&one[1], b + nbytes, sizeof *one);
    return (uint64_t)one[0] | (uint64_t)one[1] << 32;
}
/* And their fifth bits, which the four bytes from b on have: 16 of each half. */
static inline void four_fifths(const unsigned char *b, int nbytes, __m512i code[2])
{
    const uint64_t low = two_longs(b, nbytes), high = two_longs(b + 2 * nbytes, nbytes);
    for (int h = 0; h < 2; h++) {
        const uint64_t half = 0x0000ffff0000ffffu << 16 * h;
        const __mmask64 set = _pext_u64(low, half) | _pext_u64(high, half) << 32;
        code[h] = _mm512_mask_add_epi8(code[h], set, code[h], _mm512_set1_epi8(16));
    }
}
static inline void wide_four_q4_0(const unsigned char *b, __m512i code[2])
{
    four_nibbles(b + 2, 18, code);
}
static inline void wide_four_q4_1(const unsigned char *b, __m512i code[2])
{
    four_nibbles(b + 4, 20, code);
}
static inline void wide_four_q5_0(const unsigned char *b, __m512i code[2])
{
    four_nibbles(b + 6, 22, code);
    four_fifths(b + 2, 22, code);
}
static inline void wide_four_q5_1(const unsigned char *b, __m512i code[2])
{
    four_nibbles(b + 8, 24, code);
    four_fifths(b + 4, 24, code);
}
static inline void wide_four_iq4_nl(const unsigned char *b, __m512i code[2])
{
    const __m512i table = _mm512_broadcast_i32x4(
        _mm_setr_epi8(1, 24, 45, 63, 79, 93, 106, 118, -127, -115, -103, -90, -75, -59, -39, -15));
    four_nibbles(b + 2, 18, code);
    code[0] = _mm512_shuffle_epi8(table, code[0]);
    code[1] = _mm512_shuffle_epi8(table, code[1]);
}

/* ---- scales ---- */

/* The binary16 at b of eight blocks. */
static inline __m256 eight_heads(const unsigned char *b, int nbytes)
{
    return _mm256_cvtph_ps(_mm_set_epi64x((long long)four_words(b + 4 * nbytes, nbytes),
                                          (long long)four_words(b, nbytes)));
}
/* The two binary16 at b of eight blocks, one after the other. */
static inline __m512 eight_pairs(const unsigned char *b, int nbytes)
{
    __m128i four[2];
    for (int i = 0; i < 2; i++, b += 4 * nbytes)
        four[i] = _mm_set_epi64x((long long)two_longs(b + 2 * nbytes, nbytes),
                                 (long long)two_longs(b, nbytes));
    return _mm512_cvtph_ps(_mm256_inserti128_si256(_mm256_castsi128_si256(four[0]), four[1], 1));
}
/* The two binary16 at b, four times. */
static inline __m256 two_heads(const unsigned char *b)
{
    int32_t both;
    memcpy(&both, b, sizeof both);
    return _mm256_cvtph_ps(_mm_set1_epi32(both));
}
/* Eight scales, then eight minima, of formats with d and dmin before 12 bytes of them. */
static inline __m512 scales_and_minima(const unsigned char *b)
{
    uint64_t scales, minima;
    sixes(b + 4, &scales, &minima);
    const __m512 d =
        _mm512_permutexvar_ps(_mm512_setr_epi32(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1),
                              _mm512_castps256_ps512(two_heads(b)));
    const __m128i bytes = _mm_set_epi64x((long long)minima, (long long)scales);
    return _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(bytes)), d);
}
/* Numbers of eight groups for the sums of groups 2*p and 2*p + 1, or of the blocks 4*h and on. */
static inline __m512 for_groups(__m256 eight, int p)
{
    const __m512i first = _mm512_set1_epi32(2 * p),
                  second = _mm512_setr_epi32(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1);
    return _mm512_permutexvar_ps(_mm512_add_epi32(first, second), _mm512_castps256_ps512(eight));
}
static inline __m512 for_blocks(__m256 eight, int h)
{
    const __m512i first = _mm512_set1_epi32(4 * h),
                  more = _mm512_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3);
    return _mm512_permutexvar_ps(_mm512_add_epi32(first, more), _mm512_castps256_ps512(eight));
}
/* The last eight numbers, or the second of each two, each twice; and the first of each two. */
static inline __m512 last_twice(__m512 numbers)
{
    const __m512i by =
        _mm512_setr_epi32(8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13, 14, 14, 15, 15);
    return _mm512_permutexvar_ps(by, numbers);
}
static inline __m512 seconds_twice(__m512 numbers)
{
    return _mm512_movehdup_ps(numbers);
}
static inline __m256 firsts(__m512 numbers)
{
    const __m512i by = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 0, 2, 4, 6, 8, 10, 12, 14);
    return _mm512_castps512_ps256(_mm512_permutexvar_ps(by, numbers));
}
/* Steps of the two halves of groups 4*h and on, each two for the sums of four lanes. */
static inline __m512i steps_of_blocks(__m256i steps, int h)
{
    const __m512i first = _mm512_set1_epi32(4 * h),
                  more = _mm512_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3);
    return _mm512_permutexvar_epi32(_mm512_add_epi32(first, more), _mm512_castsi256_si512(steps));
}
