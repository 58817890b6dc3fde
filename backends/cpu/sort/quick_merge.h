/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Two sorted runs of k vectors each into one, in registers. Text included by quick_32.h and quick_64.h, which
 * have QUICK(exchange), QUICK(vector), which sorts a bitonic one, and QUICK(backwards). */
QUICK_FN void QUICK(merge)(__m256i *x, int k)
{
    __m256i high[8];
#pragma GCC unroll 8
    for (int i = 0; i < k; i++)
        high[i] = QUICK(backwards)(x[2 * k - 1 - i]);
#pragma GCC unroll 8
    for (int i = 0; i < k; i++) {
        x[k + i] = high[i];
        QUICK(exchange)(&x[i], &x[k + i]);
    }
#pragma GCC unroll 3
    for (int d = k / 2; d > 0; d /= 2)
#pragma GCC unroll 16
        for (int i = 0; i < 2 * k; i++)
            if ((i & d) == 0)
                QUICK(exchange)(&x[i], &x[i + d]);
#pragma GCC unroll 16
    for (int i = 0; i < 2 * k; i++)
        x[i] = QUICK(vector)(x[i]);
}
