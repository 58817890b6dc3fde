/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Loops of pools, resampling, unfold and fold, built once per SIMD level. */
#include "pool/pool.h"

#define PL_NAME f32
#define PL_T float
#include "pool/row_tmpl.h"
#define PL_NAME f64
#define PL_T double
#include "pool/row_tmpl.h"

#define PL_LOOPS(name)                                                                      \
    {                                                                                       \
        .add = pl_add_##name, .add_run = pl_add_run_##name, .larger = pl_larger_##name,     \
        .larger_run = pl_larger_run_##name, .larger_at = pl_larger_at_##name,               \
        .divide = pl_divide_##name, .fill = pl_fill_##name, .scaled = pl_scaled_##name,     \
        .gather = pl_gather_##name, .scatter = pl_scatter_##name, .route = pl_route_##name, \
        .spread = pl_spread_##name, .spread_twice = pl_spread_twice_##name,                 \
        .add_pairs = pl_add_pairs_##name                                                    \
    }
const pl_isa CPU_ISA_FN(cpu_pool_isa) = {.loops = {PL_LOOPS(f32), PL_LOOPS(f64)}};
