/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Batcher's merge exchange network (Knuth, The Art of Computer Programming 3, algorithm 5.2.2M) over SORT_LANES interleaved rows: what is compared does not
 * depend on data, so all rows advance together in vectors. The includer sets U and TYPE(name). */

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
            for (int64_t i = 0; i < n - d; i++) {
                U *low = key + i * SORT_LANES, *high = low + d * SORT_LANES;
                if ((i & p) != r)
                    continue;
                for (int l = 0; l < SORT_LANES; l++) {
                    U x = low[l], y = high[l];
                    low[l] = x < y ? x : y;
                    high[l] = x < y ? y : x;
                }
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
