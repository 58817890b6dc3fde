/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Of kernels of rows in PTX: a walk over a row, item by item. */
#include <stdio.h>
#include "program/ptx_rows.h"

static int is_made(const cuda_ptx_row_kernel *m, int32_t walk, int32_t v)
{
    return m->w.use[walk][v] == CUDA_MADE;
}

/* Whether the walk's reductions take elements of v's operand. */
static int is_folded(const cuda_ptx_row_kernel *m, int32_t walk, int32_t v)
{
    return cuda_walk_is_reduction(&m->w, v) && m->w.walk[v] == walk + 1;
}

static void add_vector(const cuda_ptx_row_kernel *m, int32_t v)
{
    cuda_text_add(m->t, "{%%w%d_0, %%w%d_1, %%w%d_2, %%w%d_3}", (int)v, (int)v, (int)v, (int)v);
}

/* Of bf16 the few steps serve every element where they serve the divisor. */
static int is_by_divisor(const cuda_ptx_row_kernel *m)
{
    return m->x->dtype == NDP_BF16;
}

/* n: what divides, in four parts, of bf16 in the first three; m: its inverse in double. */
static void add_divisor(const cuda_ptx_row_kernel *m, int32_t v)
{
    static const char *const part[] = {"divisor_b", "divisor_y", "divisor_zero", "divisor_least"};
    const int parts = is_by_divisor(m) ? 3 : 4;
    char to[CUDA_PTX_NAME], from[CUDA_PTX_NAME];
    cuda_ptx_row_name(m, cuda_walk_instruction(&m->w, v)->arg[1], 0, from);
    for (int i = 0; i < parts; i++) {
        snprintf(to, sizeof to, "%%n%d_%d", (int)v, i);
        cuda_ptx_body(m->x, cuda_ptx_find(m->x, part[i]), to, (const char *const[]){from});
    }
    snprintf(to, sizeof to, "%%m%d", (int)v);
    cuda_ptx_body(m->x, cuda_ptx_find(m->x, "divisor_inverse"), to, (const char *const[]){from});
}

static void add_divisors(const cuda_ptx_row_kernel *m, int32_t walk)
{
    for (int32_t v = m->w.first; v < m->w.n_values; v++)
        if (is_made(m, walk, v) && cuda_ptx_is_by_row(m, v))
            add_divisor(m, v);
}

/* u: not 0 where the few steps serve every element of the item. */
static void add_fits(const cuda_ptx_row_kernel *m, int32_t v, char from[][CUDA_PTX_NAME])
{
    char zero[CUDA_PTX_NAME], least[CUDA_PTX_NAME];
    snprintf(zero, sizeof zero, "%%n%d_2", (int)v);
    snprintf(least, sizeof least, "%%n%d_3", (int)v);
    if (is_by_divisor(m)) {
        cuda_text_add(m->t, "setp.eq.s32 %%p, %s, 0;\nselp.b32 %%u, 1, 0, %%p;\n", zero);
        return;
    }
    for (int j = 0; j < CUDA_PTX_WORDS; j++) {
        cuda_ptx_body(m->x, cuda_ptx_find(m->x, "fits"), j ? "%t" : "%u",
                      (const char *const[]){from[j], least, zero});
        cuda_text_add(m->t, j ? "and.b32 %%u, %%u, %%t;\n" : "");
    }
}

/* By few steps; where these do not serve every element of the item, all are divided in double. */
static void add_quotients(const cuda_ptx_row_kernel *m, int32_t walk, int32_t v)
{
    const void *quick = cuda_ptx_find(m->x, "quick"), *exact = cuda_ptx_find(m->x, "exact");
    char to[CUDA_PTX_WORDS][CUDA_PTX_NAME], from[CUDA_PTX_WORDS][CUDA_PTX_NAME];
    char b[CUDA_PTX_NAME], y[CUDA_PTX_NAME], inverse[CUDA_PTX_NAME];
    snprintf(b, sizeof b, "%%n%d_0", (int)v);
    snprintf(y, sizeof y, "%%n%d_1", (int)v);
    snprintf(inverse, sizeof inverse, "%%m%d", (int)v);
    for (int j = 0; j < CUDA_PTX_WORDS; j++) {
        cuda_ptx_row_name(m, v, j, to[j]);
        cuda_ptx_row_name(m, cuda_walk_instruction(&m->w, v)->arg[0], j, from[j]);
        cuda_ptx_body(m->x, quick, to[j], (const char *const[]){from[j], b, y});
    }
    add_fits(m, v, from);
    cuda_text_add(m->t, "setp.ne.s32 %%p, %%u, 0;\n@%%p bra $fine%d_%d;\n", (int)walk, (int)v);
    for (int j = 0; j < CUDA_PTX_WORDS; j++)
        cuda_ptx_body(m->x, exact, to[j], (const char *const[]){from[j], b, inverse});
    cuda_text_add(m->t, "$fine%d_%d:\n", (int)walk, (int)v);
}

/* Copies of an input's row to shared memory, which no register waits for. */
static void add_stage(const cuda_ptx_row_kernel *m, int32_t walk, int32_t v)
{
    cuda_text_add(m->t,
                  "mov.b32 %%i, %%lane;\nsetp.ge.u32 %%p, %%i, %%items;\n@%%p bra $staged%d_%d;\n"
                  "$stage%d_%d:\nmul.wide.u32 %%byte, %%i, 16;\nadd.s64 %%to, %%a%d, %%byte;\n"
                  "shl.b32 %%t, %%i, 4;\nadd.s32 %%t, %%t, %%k%d;\n"
                  "cp.async.cg.shared.global [%%t], [%%to], 16;\nadd.s32 %%i, %%i, %%lanes;\n"
                  "setp.lt.u32 %%p, %%i, %%items;\n@%%p bra $stage%d_%d;\n$staged%d_%d:\n",
                  (int)walk, (int)v, (int)walk, (int)v, (int)v, (int)m->w.kept[v], (int)walk,
                  (int)v, (int)walk, (int)v);
}

static void add_stages(const cuda_ptx_row_kernel *m, int32_t walk)
{
    int some = 0;
    for (int32_t v = 0; cuda_walk_is_input(&m->w, v); v++)
        if (is_made(m, walk, v) && m->w.kept[v] >= 0) {
            add_stage(m, walk, v);
            some = 1;
        }
    cuda_text_add(m->t, some ? "cp.async.wait_all;\n" : "");
}

/* byte: from a row's first item to the loop's. */
static void add_fetches(const cuda_ptx_row_kernel *m, int32_t walk)
{
    for (int32_t v = 0; v < m->w.n_values; v++) {
        const int input = cuda_walk_is_input(&m->w, v);
        if (!m->w.use[walk][v] || (!input && m->w.use[walk][v] != CUDA_FETCHED))
            continue;
        if (m->w.kept[v] >= 0)
            cuda_text_add(m->t, "add.s32 %%t, %%k%d, %%kept;\nld.shared.v4.b32 ",
                          (int)m->w.kept[v]);
        else
            cuda_text_add(m->t, "add.s64 %%to, %%a%d, %%byte;\nld.global.v4.b32 ", (int)v);
        add_vector(m, v);
        cuda_text_add(m->t, ", [%s];\n", m->w.kept[v] >= 0 ? "%t" : "%to");
    }
}

static void add_folds(const cuda_ptx_row_kernel *m, int32_t walk)
{
    char state[CUDA_PTX_NAME], word[CUDA_PTX_WORDS][CUDA_PTX_NAME];
    for (int32_t v = m->w.first; v < m->w.n_values; v++) {
        if (!is_folded(m, walk, v))
            continue;
        const ndp_instruction *k = cuda_walk_instruction(&m->w, v);
        snprintf(state, sizeof state, "%%s%d", (int)v);
        for (int j = 0; j < CUDA_PTX_WORDS; j++)
            cuda_ptx_row_name(m, k->arg[0], j, word[j]);
        cuda_ptx_body(m->x, cuda_ptx_row_step(m, k, "add"), state,
                      (const char *const[]){state, word[0], word[1], word[2], word[3]});
    }
}

static void add_stores(const cuda_ptx_row_kernel *m, int32_t walk)
{
    for (int32_t v = m->w.first; v < m->w.n_values; v++) {
        if (m->w.kept[v] < 0 || !is_made(m, walk, v) || cuda_walk_was_made(&m->w, walk, v))
            continue;
        cuda_text_add(m->t, "add.s32 %%t, %%k%d, %%kept;\nst.shared.v4.b32 [%%t], ",
                      (int)m->w.kept[v]);
        add_vector(m, v);
        cuda_text_add(m->t, ";\n");
    }
    for (uint32_t i = 0; i < m->w.p->n_out; i++) {
        const int32_t v = m->w.p->out[i];
        if (m->w.of_row[v] || m->w.walk[v] != walk)
            continue;
        cuda_text_add(m->t, "add.s64 %%to, %%a%u, %%byte;\nst.global.v4.b32 [%%to], ",
                      m->w.p->n_in + i);
        add_vector(m, v);
        cuda_text_add(m->t, ";\n");
    }
}

void cuda_ptx_row_walk(const cuda_ptx_row_kernel *m, int32_t walk)
{
    if (!cuda_walk_has_work(&m->w, walk))
        return;
    add_stages(m, walk);
    add_divisors(m, walk);
    cuda_text_add(m->t,
                  "mov.b32 %%i, %%lane;\nsetp.ge.u32 %%p, %%i, %%items;\n@%%p bra $walked%d;\n"
                  "$walk%d:\n.pragma \"nounroll\";\nmul.wide.u32 %%byte, %%i, 16;\n"
                  "shl.b32 %%kept, %%i, 4;\n",
                  (int)walk, (int)walk);
    add_fetches(m, walk);
    for (int32_t v = m->w.first; v < m->w.n_values; v++) {
        if (!is_made(m, walk, v))
            continue;
        if (cuda_ptx_is_by_row(m, v))
            add_quotients(m, walk, v);
        else
            cuda_ptx_row_instruction(m, v, CUDA_PTX_WORDS);
    }
    add_folds(m, walk);
    add_stores(m, walk);
    cuda_text_add(m->t,
                  "add.s32 %%i, %%i, %%lanes;\nsetp.lt.u32 %%p, %%i, %%items;\n@%%p bra $walk%d;\n"
                  "$walked%d:\n",
                  (int)walk, (int)walk);
}
