/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Every second element from and to memory by registers of AVX-512; part of move_tmpl.h for elements
 * of MOVE_BITS 32 and 64. The functions return how many elements were moved; loops move the rest. */
#define SECOND_LANES (64 / MOVE_SIZE)
#define SECOND_PASTE_(name, bits) name##bits
#define SECOND_PASTE(name, bits) SECOND_PASTE_(name, bits)
#define SECOND(name) SECOND_PASTE(_mm512_##name##_epi, MOVE_BITS)

/* Lane i is first + step * i, i < SECOND_LANES / of, each `of` times in a row. */
static inline __attribute__((always_inline)) __m512i MOVE_FN(second_lanes)(int first, int step,
                                                                           int of)
{
    MOVE_T lane[SECOND_LANES];
    for (int i = 0; i < SECOND_LANES; i++)
        lane[i] = (MOVE_T)(first + step * (i / of));
    return _mm512_loadu_si512(lane);
}

/* Half a register of elements at a time goes to the even lanes, which are stored under a mask. No
 * lane is read beyond the last element. */
static inline __attribute__((always_inline)) int64_t MOVE_FN(spread_registers)(MOVE_T *d,
                                                                               const MOVE_T *s,
                                                                               const int step,
                                                                               int64_t n)
{
    enum { HALF = SECOND_LANES / 2 };
    const int first = step < 0 ? step * (HALF - 1) : 0; /* the least address */
    const unsigned even = 0x5555u & ((1u << SECOND_LANES) - 1);
    const unsigned read = step == 2 || step == -2 ? even : (1u << HALF) - 1;
    const __m512i from = MOVE_FN(second_lanes)(-first, step, 2);
    int64_t i = 0;
    for (; i + HALF <= n; i += HALF) {
        const __m512i v = SECOND(maskz_loadu)(read, s + step * i + first);
        SECOND(mask_storeu)(d + 2 * i, even, SECOND(permutexvar)(from, v));
    }
    return i;
}

/* A register of every second element (step 2 or -2) from two of neighbours, the last lane of which
 * may be beyond the array and is not read. */
static inline __attribute__((always_inline)) int64_t MOVE_FN(gather_registers)(MOVE_T *d,
                                                                               const MOVE_T *s,
                                                                               const int step,
                                                                               int64_t n)
{
    const int first = step < 0 ? step * (SECOND_LANES - 1) : 0;
    const unsigned read = (1u << (SECOND_LANES - 1)) - 1;
    const __m512i from = MOVE_FN(second_lanes)(-first, step, 1);
    int64_t i = 0;
    for (; i + SECOND_LANES <= n; i += SECOND_LANES) {
        const MOVE_T *at = s + step * i + first;
        const __m512i low = _mm512_loadu_si512(at);
        const __m512i high = SECOND(maskz_loadu)(read, at + SECOND_LANES);
        _mm512_storeu_si512(d + i, SECOND(permutex2var)(low, from, high));
    }
    return i;
}
#undef SECOND_LANES
#undef SECOND_PASTE_
#undef SECOND_PASTE
#undef SECOND
