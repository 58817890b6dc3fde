/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Batcher's merge exchange network (Knuth, The Art of Computer Programming 3, algorithm 5.2.2M)
 * over SORT_LANES interleaved rows: what is compared does not depend on data, so all rows advance
 * together in vectors. The includer sets U and TYPE(name). */

static inline void TYPE(exchange)(U *restrict low, U *restrict high, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        U x = low[i], y = high[i];
        low[i] = x < y ? x : y;
        high[i] = x < y ? y : x;
    }
}

/* Row l is key[l], key[SORT_LANES + l], ... */
static void TYPE(network)(void *keys, int64_t n)
{
    U *key = keys;
    int64_t top = 1;
    while (2 * top < n)
        top *= 2;
    for (int64_t p = top; p > 0; p /= 2) {
        int64_t q = top, r = 0, d = p;
        for (;;) {
            /* Elements i with (i & p) == r meet i + d; d >= p, so the two runs are apart. */
            for (int64_t i = r; i < n - d; i += 2 * p) {
                int64_t run = n - d - i < p ? n - d - i : p;
                TYPE(exchange)(key + i * SORT_LANES, key + (i + d) * SORT_LANES, run * SORT_LANES);
            }
            if (q == p)
                break;
            d = q - p;
            q /= 2;
            r = p;
        }
    }
}
#undef U
#undef TYPE
