/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Blocks taken apart 64 or 128 elements at a time, for sums of four products by one instruction, which takes codes
 * at least 0: all are, the signed ones by 128 more. wide_X are the codes of groups 2*p and 2*p + 1, 32 elements
 * each, of a span; wide_four_X those of four blocks, first all their first halves. Included by quant_isa.c for the
 * level with AVX-512 VNNI, after unpack_avx2.h. */

/* The compiler would gather single words in vectors. */
#define KEEP_IN_REGISTER(number) __asm__("" : "+r"(number))

/* Zeros, made where they are wanted, which takes no time: the compiler would copy a register of zeros. */
static inline __attribute__((always_inline)) __m512i new_zeros(void)
{
    __m512i zeros;
    __asm__ volatile("vpxor %x0, %x0, %x0" : "=x"(zeros));
    return zeros;
}
/* 32 bytes, and 32 others. */
static inline __m512i two_of(const void *first, const void *second)
{
    return _mm512_inserti64x4(_mm512_castsi256_si512(bytes_of(first)), bytes_of(second), 1);
}
static inline __m512i wide_q8_0(const unsigned char *b, int p)
{
    return _mm512_xor_si512(two_of(b + 68 * p + 2, b + 68 * p + 36), _mm512_set1_epi8(-128));
}
static inline __m512i wide_q8_1(const unsigned char *b, int p)
{
    return _mm512_xor_si512(two_of(b + 72 * p + 4, b + 72 * p + 40), _mm512_set1_epi8(-128));
}
/* ---- halves of four groups: code[2*k + h] is half h of the groups of number k of each quarter (quant.h) ---- */

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
/* The same with `add` more where the bit of `each` is set in 16 bytes. */
static inline __m512i with_bits(__m512i codes, const unsigned char *bytes, __m512i each, char add)
{
    const __mmask64 set = _mm512_test_epi8_mask(four_times(bytes), each);
    return _mm512_mask_add_epi8(codes, set, codes, _mm512_set1_epi8(add));
}
static inline void wide_codes_q3_K(const unsigned char *b, __m512i code[4])
{
    const __m512i low = quarters_of(0x01010101, 0x02020202, 0x04040404, 0x08080808);
    for (int i = 0; i < 4; i++)
        code[i] = with_bits(four_fields(b + 32 + 16 * i), b + 16 * (i % 2),
                            _mm512_slli_epi32(low, i / 2 * 4), 4);
}
static inline void wide_codes_q6_K(const unsigned char *b, __m512i code[4])
{
    for (int i = 0; i < 4; i++) {
        const unsigned char *low = b + 64 * (i / 2) + 16 * (i % 2), *high = b + 128 + 16 * i;
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

/* ---- blocks a and b of two rows, each in half of every vector ---- */

/* code[s][h]: of groups s and s + 4, half h, of 64 bytes in which each has two bits of four groups; those of odd s are
 * where they lie, four times as much as they are. */
static inline void striped_pairs(const unsigned char *a, const unsigned char *b, __m512i code[4][2])
{
    const __m512i first = _mm512_loadu_si512(a), second = _mm512_loadu_si512(b);
    const __m512i half[2] = {_mm512_shuffle_i32x4(first, second, 0x88),
                             _mm512_shuffle_i32x4(first, second, 0xdd)};
    for (int h = 0; h < 2; h++)
        for (int s = 0; s < 4; s++)
            code[s][h] = _mm512_and_si512(s < 2 ? half[h] : _mm512_srli_epi16(half[h], 4),
                                          _mm512_set1_epi8(s % 2 ? 12 : 3));
}
static inline void striped_codes_q2_K(const unsigned char *a, const unsigned char *b,
                                      __m512i code[4][2])
{
    striped_pairs(a + 16, b + 16, code);
}
/* code[2*p + n][h] of 128 bytes, of which each 32 have a group's in their low nibbles and the next one's in the high ones: of
 * groups 4*p + n and 4*p + n + 2, half h. */
static inline void striped_nibbles(const unsigned char *a, const unsigned char *b,
                                   __m512i code[4][2])
{
    const __m512i mask = _mm512_set1_epi8(15);
    for (int p = 0; p < 2; p++) {
        const __m512i first = _mm512_loadu_si512(a + 64 * p),
                      second = _mm512_loadu_si512(b + 64 * p);
        const __m512i half[2] = {_mm512_shuffle_i32x4(first, second, 0x88),
                                 _mm512_shuffle_i32x4(first, second, 0xdd)};
        for (int h = 0; h < 2; h++) {
            code[2 * p][h] = _mm512_and_si512(half[h], mask);
            code[2 * p + 1][h] = _mm512_and_si512(_mm512_srli_epi16(half[h], 4), mask);
        }
    }
}
static inline void striped_codes_q4_K(const unsigned char *a, const unsigned char *b,
                                      __m512i code[4][2])
{
    striped_nibbles(a + 16, b + 16, code);
}
/* Fifth bits: bit g of 32 bytes is of group g. */
static inline void striped_codes_q5_K(const unsigned char *a, const unsigned char *b,
                                      __m512i code[4][2])
{
    striped_nibbles(a + 48, b + 48, code);
    const __m512i each = quarters_of(0x01010101, 0x04040404, 0x01010101, 0x04040404);
    for (int h = 0; h < 2; h++) {
        const __m128i second = _mm_loadu_si128((const __m128i *)(const void *)(b + 16 + 16 * h));
        const __m512i bits =
            _mm512_mask_broadcast_i32x4(four_times(a + 16 + 16 * h), 0xff00, second);
        for (int s = 0; s < 4; s++) {
            const __mmask64 set =
                _mm512_test_epi8_mask(bits, _mm512_slli_epi32(each, s / 2 * 4 + s % 2));
            code[s][h] = _mm512_mask_add_epi8(code[s][h], set, code[s][h], _mm512_set1_epi8(16));
        }
    }
}
/* 16 bytes of each. */
static inline __m256i striped_bytes(const unsigned char *a, const unsigned char *b)
{
    const __m128i first = _mm_loadu_si128((const __m128i *)(const void *)a),
                  second = _mm_loadu_si128((const __m128i *)(const void *)b);
    return _mm256_inserti128_si256(_mm256_castsi128_si256(first), second, 1);
}
/* Steps and minima's whole numbers of blocks that begin with d, dmin and 12 bytes of both, 6 bits each: four words of each
 * group's step, first those of groups 0, 1, 2, 3; minima twice, for both halves of groups. */
static inline void striped_sixes(const unsigned char *a, const unsigned char *b, __m512i of[2][2],
                                 __m512i *least)
{
    const __m256i heads = striped_bytes(a, b);
    const __m256i low =
        _mm256_and_si256(_mm256_srlv_epi32(_mm256_shuffle_epi32(heads, 0xed /* 1 3 2 3 */),
                                           _mm256_setr_epi32(0, 0, 0, 4, 0, 0, 0, 4)),
                         _mm256_setr_epi32(0x3f3f3f3f, 0x0f0f0f0f, 0x3f3f3f3f, 0x0f0f0f0f,
                                           0x3f3f3f3f, 0x0f0f0f0f, 0x3f3f3f3f, 0x0f0f0f0f));
    const __m256i high = _mm256_and_si256(
        _mm256_srli_epi16(_mm256_shuffle_epi32(heads, 0x94 /* 0 1 1 2 */), 2),
        _mm256_setr_epi32(0, 0x30303030, 0, 0x30303030, 0, 0x30303030, 0, 0x30303030));
    const __m512i words = _mm512_cvtepu8_epi16(_mm256_or_si256(low, high));
    const long long each = 0x0001000100010001;
    for (int p = 0; p < 2; p++) {
        const long long g = 4 * p;
        of[p][0] = _mm512_permutexvar_epi16(
            _mm512_setr_epi64(each * g, each * (g + 1), each * (g + 2), each * (g + 3),
                              each * (g + 16), each * (g + 17), each * (g + 18), each * (g + 19)),
            words);
    }
    *least = _mm512_permutexvar_epi16(
        _mm512_setr_epi32(0x00080008, 0x00090009, 0x000a000a, 0x000b000b, 0x000c000c, 0x000d000d,
                          0x000e000e, 0x000f000f, 0x00180018, 0x00190019, 0x001a001a, 0x001b001b,
                          0x001c001c, 0x001d001d, 0x001e001e, 0x001f001f),
        words);
}
#define striped_steps_q4_K striped_sixes
#define striped_steps_q5_K striped_sixes
/* The two binary16 at a and b, each in half of the lanes: the first ones and the second ones. */
static inline void striped_heads(const unsigned char *a, const unsigned char *b, __m512 head[2])
{
    int32_t first, second;
    memcpy(&first, a, sizeof first);
    memcpy(&second, b, sizeof second);
    const __m512 both =
        _mm512_cvtph_ps(_mm256_mask_set1_epi32(_mm256_set1_epi32(first), 0xf0, second));
    head[0] = _mm512_moveldup_ps(both);
    head[1] = _mm512_movehdup_ps(both);
}
/* Steps of half h of groups 0 and 1 (p = 0), 2 and 3 (p = 1), then those four groups further, four times each. */
static inline void striped_steps(__m512i steps, __m512i of[2][2])
{
    const long long each = 0x0001000100010001;
    for (int p = 0; p < 2; p++)
        for (int h = 0; h < 2; h++) {
            const long long from = 4 * p + h;
            of[p][h] = _mm512_permutexvar_epi16(
                _mm512_setr_epi64(each * from, each * (from + 2), each * (from + 8),
                                  each * (from + 10), each * (from + 16), each * (from + 18),
                                  each * (from + 24), each * (from + 26)),
                steps);
        }
}

static inline void striped_steps_q2_K(const unsigned char *a, const unsigned char *b,
                                      __m512i of[2][2], __m512i *least)
{
    const __m512i both = _mm512_cvtepu8_epi16(striped_bytes(a, b));
    const __m512i by =
        _mm512_set1_epi64(0x0000000000020002); /* groups of even numbers four times */
    *least = _mm512_srli_epi16(both, 4);
    striped_steps(_mm512_sllv_epi16(_mm512_and_si512(both, _mm512_set1_epi16(15)), by), of);
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
/* The 32 bits that each of eight blocks of 20 or 24 bytes begins with, all of which are read. */
static inline __m256i eight_longs(const unsigned char *b, int nbytes)
{
    const __m512i first = _mm512_loadu_si512(b);
    if (nbytes == 20) {
        const __m512i by = _mm512_setr_epi32(0, 5, 10, 15, 16, 21, 26, 31, 0, 0, 0, 0, 0, 0, 0, 0);
        return _mm512_castsi512_si256(
            _mm512_permutex2var_epi32(first, by, _mm512_loadu_si512(b + 80)));
    }
    const __m512i by = _mm512_setr_epi32(0, 6, 12, 18, 24, 30, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
                  last = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 20, 26, 0, 0, 0, 0, 0, 0, 0, 0);
    const __m512i six = _mm512_permutex2var_epi32(first, by, _mm512_loadu_si512(b + 64));
    return _mm512_castsi512_si256(
        _mm512_permutex2var_epi32(six, last, _mm512_loadu_si512(b + 128)));
}
/* The two binary16 that they begin with, one after the other. */
static inline __m512 eight_pairs(const unsigned char *b, int nbytes)
{
    return _mm512_cvtph_ps(eight_longs(b, nbytes));
}
/* The binary16 at b, in all lanes. */
static inline __m512 one_head(const unsigned char *b)
{
    int16_t head;
    memcpy(&head, b, sizeof head);
    return _mm512_cvtph_ps(_mm256_set1_epi16(head));
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
/* The second of each two numbers, each twice; and the first of each two. */
static inline __m512 seconds_twice(__m512 numbers)
{
    return _mm512_movehdup_ps(numbers);
}
static inline __m256 firsts(__m512 numbers)
{
    const __m512i by = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 0, 2, 4, 6, 8, 10, 12, 14);
    return _mm512_castps512_ps256(_mm512_permutexvar_ps(by, numbers));
}
/* Steps of the first halves and of the second, four times each: of groups q and q + 4 in quarter q. */
static inline void steps_of_halves(__m256i steps, __m512i of[2])
{
    const __m512i first = _mm512_setr_epi64(
        0, 0x0008000800080008, 0x0002000200020002, 0x000a000a000a000a, 0x0004000400040004,
        0x000c000c000c000c, 0x0006000600060006, 0x000e000e000e000e);
    const __m512i all = _mm512_castsi256_si512(steps);
    of[0] = _mm512_permutexvar_epi16(first, all);
    of[1] = _mm512_permutexvar_epi16(_mm512_add_epi16(first, _mm512_set1_epi16(1)), all);
}
