/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * For each set of lanes of a 256-bit vector the permutation that brings the others, or these,
 * first: what hardware without compression deals out by. */
#ifndef NDOCK_CPU_SORT_QUICK_ORDER_H
#define NDOCK_CPU_SORT_QUICK_ORDER_H
#include <pthread.h>
#include <stdint.h>

#if defined(__AVX512F__)
/* Whether this processor compresses a vector to memory as soon as to a register. */
static int quick_512_stores;
#endif
/* For each set of high lanes of eight: the low lanes in order, then the high ones, a byte each. */
static uint64_t quick_32_order[256];
/* For each set of low lanes of four: halves of these in order, then of the others. */
static uint32_t quick_64_order[16][8] __attribute__((aligned(32)));

static void quick_32_order_make(void)
{
    for (int high = 0; high < 256; high++) {
        uint64_t order = 0;
        int at = 0;
        for (int part = 0; part < 2; part++)
            for (int lane = 0; lane < 8; lane++)
                if ((high >> lane & 1) == part)
                    order |= (uint64_t)lane << (8 * at++);
        quick_32_order[high] = order;
    }
}

static void quick_64_order_make(void)
{
    for (unsigned low = 0; low < 16; low++) {
        int at = 0;
        for (unsigned part = 2; part-- > 0;)
            for (uint32_t lane = 0; lane < 4; lane++)
                if ((low >> lane & 1) == part) {
                    quick_64_order[low][at++] = 2 * lane;
                    quick_64_order[low][at++] = 2 * lane + 1;
                }
    }
}

static void quick_order_make(void)
{
    quick_32_order_make();
    quick_64_order_make();
#if defined(__AVX512F__)
    quick_512_stores = __builtin_cpu_is("intel");
#endif
}

static void quick_order_prepare(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, quick_order_make);
}
#endif
