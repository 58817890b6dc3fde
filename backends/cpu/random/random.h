/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What random.c asks of the loops that random_isa.c builds once per SIMD level. */
#ifndef NDOCK_CPU_RANDOM_H
#define NDOCK_CPU_RANDOM_H
#include "host/cpu.h"
#include "math/philox.h"

#define CPU_RANDOM_WORDS (4 * PHILOX_LANES) /* a batch */

/* Values from a batch of words: one from each word, or from two where values have 64 bits. */
typedef void cpu_random_fn(const ndp_random *p, const uint32_t *words, void *values);

typedef struct {
    /* The batch of blocks at counter + first. */
    void (*words)(uint64_t key, const uint64_t counter[2], uint64_t first,
                  uint32_t out[CPU_RANDOM_WORDS]);
    cpu_random_fn *uniform_f32, *uniform_f64, *normal_f32, *normal_f64, *integers_u32,
        *integers_u64;
} cpu_random_loops;

CPU_ISA_DECLARE(extern const cpu_random_loops, cpu_random_table);

#endif
