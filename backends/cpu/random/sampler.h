/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What sampler.c asks of the loops that sampler_isa.c builds once per SIMD level: distributions whose
 * elements try until something is accepted. */
#ifndef NDOCK_CPU_SAMPLER_H
#define NDOCK_CPU_SAMPLER_H
#include "host/cpu.h"
#include "math/philox.h"

enum { CPU_SAMPLER_PARAMS = 4 };

/* PHILOX_LANES elements at most, the first of which is element `first` of the call. Parameter d of
 * element j is param[d][j], or param[d][0] where they are all the same. */
typedef struct {
    uint64_t key, counter[2], first;
    int n, same;
    double param[CPU_SAMPLER_PARAMS][PHILOX_LANES];
} cpu_sampler_batch;

/* state: what the parameters come to, of CPU_SAMPLER_STATE bytes; prepared for all batches where all
 * their parameters are the same. */
#define CPU_SAMPLER_STATE 512
typedef struct {
    void (*prepare)(const double *param, void *state);
    void (*draw)(const cpu_sampler_batch *batch, const void *state, double *values);
    int n_params;
} cpu_sampler;

typedef struct {
    cpu_sampler op[NDP_OP_END];
} cpu_sampler_loops;

CPU_ISA_DECLARE(extern const cpu_sampler_loops, cpu_sampler_table);

/* As the class's find(), for ops with parameters among their operands. */
const ndp_kernel *cpu_sampler_find(const ndp_call *like, char *why, size_t n);

#endif
