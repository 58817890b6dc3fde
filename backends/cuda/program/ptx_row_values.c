/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Of kernels of rows in PTX: reductions merged between the lanes of a row, and what is computed of
 * their values once for each row. */
#include <stdio.h>
#include "program/ptx_rows.h"
#include "reduce/keys.h"

#define AT CUDA_PTX_AT

/* The state met with those of the lanes whose numbers differ in the bit %distance and, one after
 * another, in those below: a loop, since an assembler takes a while for each step. */
static void add_meetings(const cuda_ptx_row_kernel *m, int32_t v, const void *merge, int loop)
{
    const int extreme = cuda_ptx_is_extreme(cuda_walk_instruction(&m->w, v));
    char state[CUDA_PTX_NAME];
    const char *const operand[] = {state, extreme ? "%e" : "%with"};
    snprintf(state, sizeof state, "%%s%d", (int)v);
    cuda_text_add(m->t, "$meet%d:\n.pragma \"nounroll\";\n", loop);
    if (extreme)
        cuda_text_add(m->t, "shfl.sync.bfly.b32 %%e, %s, %%distance, 31, -1;\n", state);
    else
        cuda_text_add(m->t,
                      "mov.b64 {%%lo, %%hi}, %s;\n"
                      "shfl.sync.bfly.b32 %%lo, %%lo, %%distance, 31, -1;\n"
                      "shfl.sync.bfly.b32 %%hi, %%hi, %%distance, 31, -1;\n"
                      "mov.b64 %%with, {%%lo, %%hi};\n",
                      state);
    cuda_ptx_body(m->x, merge, state, operand);
    cuda_text_add(m->t,
                  "shr.u32 %%distance, %%distance, 1;\nsetp.ne.s32 %%p, %%distance, 0;\n"
                  "@%%p bra $meet%d;\n",
                  loop);
}

/* rows_merge of rows.cuh: within warps, then, of rows that more lanes have, by shared memory, where
 * the merges have one half or the other in turn. */
static void add_merge(cuda_ptx_row_kernel *m, int32_t v)
{
    const ndp_instruction *k = cuda_walk_instruction(&m->w, v);
    const void *merge = cuda_ptx_row_step(m, k, "merge");
    const char *type = cuda_ptx_is_extreme(k) ? "b32" : "f64";
    const int nbytes = cuda_ptx_is_extreme(k) ? 4 : 8, n = m->merges++, half = n % 2 * 64;
    cuda_text_add(m->t,
                  "setp.eq.s32 %%p, %%lanes, 1;\n@%%p bra $merged%d;\n"
                  "shr.u32 %%distance, %%lanes, 1;\nmin.u32 %%distance, %%distance, 16;\n",
                  n);
    add_meetings(m, v, merge, 2 * n);
    cuda_text_add(m->t,
                  "setp.le.s32 %%p, %%lanes, 32;\n@%%p bra $merged%d;\nmov.u32 %%u, states;\n"
                  "and.b32 %%t, %%thread, 31;\nsetp.eq.s32 %%p, %%t, 0;\n"
                  "shr.u32 %%t, %%thread, 5;\nmad.lo.s32 %%t, %%t, %d, %%u;\n"
                  "@%%p st.shared.%s [%%t+%d], %%s%d;\nbar.sync 0;\n"
                  "and.b32 %%t, %%thread, %d;\nmad.lo.s32 %%t, %%t, %d, %%u;\n"
                  "ld.shared.%s %%s%d, [%%t+%d];\nmov.b32 %%distance, %d;\n",
                  n, nbytes, type, half, (int)v, CUDA_PROGRAM_THREADS / 32 - 1, nbytes, type,
                  (int)v, half, CUDA_PROGRAM_THREADS / 64);
    add_meetings(m, v, merge, 2 * n + 1);
    cuda_text_add(m->t, "$merged%d:\n", n);
}

static void add_value(const cuda_ptx_row_kernel *m, int32_t v)
{
    const ndp_instruction *k = cuda_walk_instruction(&m->w, v);
    char state[CUDA_PTX_NAME], to[CUDA_PTX_NAME], above[CUDA_PTX_NAME], bits[CUDA_PTX_NAME];
    reduce_params keys = {0};
    snprintf(state, sizeof state, "%%s%d", (int)v);
    snprintf(to, sizeof to, "%%v%d", (int)v);
    if (cuda_ptx_is_extreme(k)) {
        cuda_reduce_keys(&keys, k->op, k->compute);
        snprintf(above, sizeof above, "0x%x", (unsigned)keys.nan_above);
        snprintf(bits, sizeof bits, "0x%x", (unsigned)keys.nan_bits);
        cuda_ptx_body(m->x, cuda_ptx_row_step(m, k, "value"), to,
                      (const char *const[]){state, above, bits});
        return;
    }
    cuda_text_add(m->t, "ld.param.u64 %%count, [p+%zu];\n", AT(count));
    if (k->op == NDP_OP_mean)
        cuda_text_add(m->t, "ld.param.f64 %%inverse, [p+%zu];\n", AT(inverse));
    else
        cuda_text_add(m->t, "mov.f64 %%inverse, 0d3FF0000000000000;\n");
    cuda_ptx_body(m->x, cuda_ptx_row_step(m, k, "value"), to,
                  (const char *const[]){state, "%count", "%inverse"});
}

void cuda_ptx_row_values(cuda_ptx_row_kernel *m, int32_t walk)
{
    for (int32_t v = m->w.first; v < m->w.n_values; v++) {
        if (!m->w.of_row[v] || m->w.walk[v] != walk)
            continue;
        if (cuda_walk_is_reduction(&m->w, v)) {
            add_merge(m, v);
            add_value(m, v);
        } else {
            cuda_ptx_row_instruction(m, v, 1);
        }
    }
}
