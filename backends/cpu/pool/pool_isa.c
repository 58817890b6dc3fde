/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Loops of pools, resampling, unfold and fold, built once per SIMD level. */
#include "pool/pool.h"

enum { PL_PICKED = 16 };

#if CPU_ISA_LEVEL == 2 && defined(__AVX512F__)
#include <immintrin.h>
/* out[i] = x[at[i]], of m elements that do not descend: where they are near each other, as resampling to more elements
 * makes them, all are of one vector. Else 0. */
static inline int pick_near(float *out, const float *x, int64_t m, const int64_t *at)
{
    const int64_t begin = at[0] < m - 16 ? at[0] : m - 16;
    if (begin < 0 || at[15] - begin > 15)
        return 0;
    const __m512i first = _mm512_set1_epi64(begin);
    const __m256i low = _mm512_cvtepi64_epi32(_mm512_sub_epi64(_mm512_loadu_si512(at), first)),
                  high = _mm512_cvtepi64_epi32(_mm512_sub_epi64(_mm512_loadu_si512(at + 8), first));
    const __m512i by = _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
    _mm512_storeu_ps(out, _mm512_permutexvar_ps(by, _mm512_loadu_ps(x + begin)));
    return 1;
}
#define PL_PICK_NEAR pick_near
#endif

#define PL_NAME f32
#define PL_T float
#include "pool/row_tmpl.h"
#define PL_NAME f64
#define PL_T double
#include "pool/row_tmpl.h"

#define PL_LOOPS(name)                                                                    \
    {                                                                                     \
        .add = pl_add_##name, .add_run = pl_add_run_##name, .larger = pl_larger_##name,   \
        .larger_run = pl_larger_run_##name, .larger_at = pl_larger_at_##name,             \
        .divide = pl_divide_##name, .fill = pl_fill_##name, .scaled = pl_scaled_##name,   \
        .pick = pl_pick_##name, .gather = pl_gather_##name, .scatter = pl_scatter_##name, \
        .route = pl_route_##name, .spread = pl_spread_##name,                             \
        .spread_twice = pl_spread_twice_##name, .add_pairs = pl_add_pairs_##name          \
    }
const pl_isa CPU_ISA_FN(cpu_pool_isa) = {.loops = {PL_LOOPS(f32), PL_LOOPS(f64)}};
