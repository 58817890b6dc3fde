/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The network over vectors of 512 bits, and how a vector is dealt out, for one type of key. The
 * includer sets K, K_MAX, BITS, its width, QUICK(name), and of vectors SET, a key in every lane,
 * LESS, the lanes where x is below y, MIN, and MAX(from, set, x, y), which is `from` outside of the
 * set. The quicksort of quick_tmpl.h follows. */
#define V __m512i
#define WIDTH(name) CPU_CAT(quick_512_##name, BITS)
#define EPI(name) QUICK_512_EPI(name, BITS)
#if BITS == 32
#define MASK __mmask16
#else
#define MASK __mmask8
#endif
enum {
    QUICK(LANES) = 512 / BITS,
    QUICK(ALL) = (1 << QUICK(LANES)) - 1,
    QUICK(LEAF) = 16 * QUICK(LANES),
    QUICK(FEW) = QUICK(LANES)
};

QUICK_FN void QUICK(exchange)(V *low, V *high)
{
    const V x = *low, y = *high;
    *low = MIN(x, y);
    *high = MAX(x, QUICK(ALL), x, y);
}

/* Sorts column by column: each lane over so many rows of 2, 4, 8 or 16, as the others are not below
 * any and stay where they are. */
QUICK_FN void QUICK(columns)(V *x, int rows)
{
    if (rows == 2)
        QUICK(exchange)(&x[0], &x[1]);
    if (rows == 4) {
#pragma GCC unroll 5
        for (int i = 0; i < 5; i++)
            QUICK(exchange)(&x[quick_pairs_4[i][0]], &x[quick_pairs_4[i][1]]);
    }
    if (rows > 4 && rows <= 8) {
#pragma GCC unroll 19
        for (int i = 0; i < 19; i++)
            if (quick_pairs[i][1] < rows)
                QUICK(exchange)(&x[quick_pairs[i][0]], &x[quick_pairs[i][1]]);
    }
    if (rows > 8) {
#pragma GCC unroll 60
        for (int i = 0; i < 60; i++)
            if (quick_pairs_16[i][1] < rows)
                QUICK(exchange)(&x[quick_pairs_16[i][0]], &x[quick_pairs_16[i][1]]);
    }
}

/* The lesser of x and y in the lanes without the bit of `distance`, the greater in those with it. */
QUICK_FN V QUICK(choose)(V x, V y, int distance)
{
    return MAX(MIN(x, y), (MASK)quick_512_upper(distance), x, y);
}

/* Half a group of lanes and the other half, each sorted row by row, to a sorted group. First a run
 * meets the other backwards, and the halves of rows that hold the lesser and the greater ones are
 * bitonic; so are theirs again, up to single rows, whose halves meet in the same way. Rows that the
 * last power of two lacks are not below any. */
QUICK_FN void QUICK(merge)(V *x, int rows, int group)
{
#pragma GCC unroll 4
    for (int span = 16; span > 1; span /= 2)
#pragma GCC unroll 16
        for (int i = 0; i < rows; i++) {
            const int high = i / span * span + span - 1 - i % span;
            if (i < high && high < rows) {
                x[high] = WIDTH(mirror)(x[high], group);
                QUICK(exchange)(&x[i], &x[high]);
            }
        }
#pragma GCC unroll 16
    for (int i = 0; i < rows; i++) {
        x[i] = QUICK(choose)(x[i], WIDTH(mirror)(x[i], group), group / 2);
#pragma GCC unroll 3
        for (int d = group / 4; d > 0; d /= 2)
            x[i] = QUICK(choose)(x[i], WIDTH(across)(x[i], d), d);
    }
}

/* The first n lanes. */
QUICK_FN MASK QUICK(lanes)(int64_t n)
{
    return (MASK)(n <= 0 ? 0 : n >= QUICK(LANES) ? QUICK(ALL) : (1 << n) - 1);
}

/* Sorts n keys in place, which fill the rows before the last `open` ones. */
QUICK_FN void QUICK(network)(K *keys, int64_t n, int rows, int open)
{
    V x[16];
#pragma GCC unroll 16
    for (int i = 0; i < rows; i++) /* what is missing is like the greatest key */
        x[i] = i < rows - open ? _mm512_loadu_si512(keys + i * QUICK(LANES))
                               : EPI(mask_loadu)(SET(K_MAX), QUICK(lanes)(n - i * QUICK(LANES)),
                                                 keys + i * QUICK(LANES));
    QUICK(columns)(x, rows);
#pragma GCC unroll 4
    for (int group = 2; group <= QUICK(LANES); group *= 2)
        QUICK(merge)(x, rows, group);
#pragma GCC unroll 16
    for (int i = 0; i < rows; i++)
        if (i < rows - open)
            _mm512_storeu_si512(keys + i * QUICK(LANES), x[i]);
        else
            EPI(mask_storeu)(keys + i * QUICK(LANES), QUICK(lanes)(n - i * QUICK(LANES)), x[i]);
}

#define NETWORK(rows, open)                                                          \
    static __attribute__((noinline)) void QUICK(network_##rows)(K * keys, int64_t n) \
    {                                                                                \
        QUICK(network)(keys, n, rows, open);                                         \
    }
NETWORK(2, 2)
NETWORK(4, 2)
NETWORK(6, 2)
NETWORK(8, 2)
NETWORK(12, 4)
NETWORK(16, 4)
#undef NETWORK

static void QUICK(leaf)(K *keys, int64_t n)
{
    if (n > 12 * QUICK(LANES))
        QUICK(network_16)(keys, n);
    else if (n > 8 * QUICK(LANES))
        QUICK(network_12)(keys, n);
    else if (n > 6 * QUICK(LANES))
        QUICK(network_8)(keys, n);
    else if (n > 4 * QUICK(LANES))
        QUICK(network_6)(keys, n);
    else if (n > 2 * QUICK(LANES))
        QUICK(network_4)(keys, n);
    else
        QUICK(network_2)(keys, n);
}

/* Sorts QUICK(FEW) keys. */
static void QUICK(few)(K *keys)
{
    QUICK(network)(keys, QUICK(FEW), 1, 0);
}

QUICK_FN V QUICK(read)(const K *from)
{
    return _mm512_loadu_si512(from);
}

/* Compressed in a register and then stored, but on processors that compress to memory as soon:
 * others do that by microcode, which takes a hundred cycles. */
QUICK_FN void QUICK(deal)(V x, unsigned valid, K pivot, K **left, K **right)
{
    const unsigned low = LESS(x, SET(pivot)) & valid, high = ~low & valid;
    const int count = __builtin_popcount(high);
    K *to = *left;
    *left += valid == QUICK(ALL) ? QUICK(LANES) - count : __builtin_popcount(low);
    *right -= count;
    if (quick_512_stores) {
        EPI(mask_compressstoreu)(to, (MASK)low, x);
        EPI(mask_compressstoreu)(*right, (MASK)high, x);
    } else {
        _mm512_storeu_si512(to, EPI(maskz_compress)((MASK)low, x));
        EPI(mask_storeu)(*right, (MASK)((1u << count) - 1), EPI(maskz_compress)((MASK)high, x));
    }
}
#include "sort/quick_tmpl.h"
#undef WIDTH
#undef MASK
#undef EPI
#undef BITS
#undef SET
#undef LESS
#undef MIN
#undef MAX
