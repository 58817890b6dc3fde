/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The kernel of a program of rows in PTX: program_rows of source_rows.c, in whose order the walks
 * over a row follow one another and reductions are merged. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include "program/ptx.h"
#include "program/walks.h"
#include "reduce/keys.h"

typedef struct {
    cuda_walks w;
    cuda_ptx *x;
    cuda_text *t;
    int merges; /* that are written */
} rows_ptx;

#define AT(member) offsetof(cuda_program_rows, member)

static int is_extreme(const ndp_instruction *k)
{
    return k->op == NDP_OP_max || k->op == NDP_OP_min;
}

/* Divided by one value of the row: prepared once for each walk, as by rows_divisor of rows.cuh. */
static int is_by_row(const rows_ptx *m, int32_t v)
{
    const ndp_instruction *k = cuda_walk_instruction(&m->w, v);
    return k->op == NDP_OP_divide && m->w.of_row[k->arg[1]] && !m->w.of_row[v];
}

static int is_made(const rows_ptx *m, int32_t walk, int32_t v)
{
    return m->w.use[walk][v] == CUDA_MADE;
}

/* Whether the walk's reductions take elements of v's operand. */
static int is_folded(const rows_ptx *m, int32_t walk, int32_t v)
{
    return cuda_walk_is_reduction(&m->w, v) && m->w.walk[v] == walk + 1;
}

/* The registers: v of what is one value for each row, else w and the word's number. */
static void name_word(const rows_ptx *m, int32_t v, int word, char name[CUDA_PTX_NAME])
{
    if (m->w.of_row[v])
        snprintf(name, CUDA_PTX_NAME, "%%v%d", (int)v);
    else
        snprintf(name, CUDA_PTX_NAME, "%%w%d_%d", (int)v, word);
}

static const void *find_step(const rows_ptx *m, const ndp_instruction *k, const char *step)
{
    char name[32];
    snprintf(name, sizeof name, "%s_%s", is_extreme(k) ? ndp_op_name(k->op) : "sum", step);
    return cuda_ptx_find(m->x, name);
}

static void add_vector(const rows_ptx *m, int32_t v)
{
    cuda_text_add(m->t, "{%%w%d_0, %%w%d_1, %%w%d_2, %%w%d_3}", (int)v, (int)v, (int)v, (int)v);
}

/* ---- before the walks ---- */
/* s: the state of a reduction. */
static void add_registers(const rows_ptx *m)
{
    const ndp_program *p = m->w.p;
    cuda_text_add(m->t,
                  ".shared .align 8 .b8 states[128];\n.reg .pred %%inside, %%p;\n"
                  ".reg .b16 %%half, %%other;\n"
                  ".reg .b32 %%lanes, %%lane, %%thread, %%slot, %%row, %%all, %%items, %%i;\n"
                  ".reg .b32 %%lo, %%hi, %%kept, %%e, %%distance;\n.reg .b64 %%byte, %%count;\n"
                  ".reg .f64 %%inverse, %%with;\n");
    cuda_ptx_locating(m->x);
    for (int32_t v = 0; v < m->w.n_values; v++) {
        cuda_text_add(m->t, m->w.of_row[v] ? ".reg .b32 %%v%d;\n" : ".reg .b32 %%w%d_<4>;\n",
                      (int)v);
        if (cuda_walk_is_reduction(&m->w, v))
            cuda_text_add(m->t,
                          is_extreme(cuda_walk_instruction(&m->w, v)) ? ".reg .b32 %%s%d;\n"
                                                                      : ".reg .f64 %%s%d;\n",
                          (int)v);
        else if (v >= m->w.first && is_by_row(m, v))
            cuda_text_add(m->t, ".reg .b32 %%n%d_<4>;\n.reg .f64 %%m%d;\n", (int)v, (int)v);
    }
    for (uint32_t i = 0; i < p->n_in + p->n_out; i++)
        cuda_text_add(m->t, ".reg .b64 %%a%u;\n", i);
    for (int32_t i = 0; i < m->w.facts->n_kept; i++)
        cuda_text_add(m->t, ".reg .b32 %%k%d;\n", (int)i);
}

/* Which row the thread is at work on, as which of its lanes. */
static void add_row(const rows_ptx *m)
{
    cuda_text_add(m->t, "%s", m->x->capability >= 90 ? "griddepcontrol.wait;\n" : "");
    cuda_text_add(m->t,
                  "mov.u32 %%thread, %%tid.x;\nld.param.u32 %%lanes, [p+%zu];\n"
                  "add.s32 %%t, %%lanes, -1;\nand.b32 %%lane, %%thread, %%t;\n"
                  "ld.param.u32 %%t, [p+%zu];\nshr.u32 %%slot, %%thread, %%t;\n"
                  "ld.param.u32 %%t, [p+%zu];\nmov.u32 %%u, %%ctaid.x;\n"
                  "mad.lo.s32 %%row, %%t, %%u, %%slot;\nld.param.u32 %%t, [p+%zu];\n"
                  "setp.lt.u32 %%inside, %%row, %%t;\nld.param.u32 %%all, [p+%zu];\n"
                  "selp.b32 %%items, %%all, 0, %%inside;\nselp.b32 %%at, %%row, 0, %%inside;\n",
                  AT(lanes), AT(lanes_log2), AT(slots), AT(rows), AT(items));
}

/* a: the operands' rows; v: of what is one value for each row, and of scalars, the value. */
static void add_operands(const rows_ptx *m)
{
    const ndp_program *p = m->w.p;
    char to[CUDA_PTX_NAME], from[CUDA_PTX_NAME];
    for (uint32_t i = 0; i < p->n_in + p->n_out; i++) {
        cuda_text_add(m->t,
                      "ld.param.u64 %%a%u, [p+%zu];\nshl.b64 %%o%u, %%o%u, %d;\n"
                      "add.s64 %%a%u, %%a%u, %%o%u;\n",
                      i, AT(operand) + i * sizeof(uint64_t), i, i, cuda_ptx_bytes(m->x) / 2, i, i,
                      i);
        if (i >= p->n_in || !m->w.of_row[i])
            continue;
        snprintf(to, sizeof to, "%%v%u", i);
        snprintf(from, sizeof from, "%%a%u", i);
        cuda_ptx_load_one(m->x, "global", to, from);
    }
    for (uint32_t i = 0; i < p->n_scalar; i++) {
        snprintf(to, sizeof to, "%%v%u", p->n_in + i);
        snprintf(from, sizeof from, "p+%zu", AT(scalar) + i * sizeof(cuda_program_scalar));
        cuda_ptx_load_one(m->x, "param", to, from);
    }
}

/* k: the row's place in shared memory of each kept value. */
static void add_kept(const rows_ptx *m)
{
    if (!m->w.facts->n_kept)
        return;
    cuda_text_add(m->t, "mul.lo.s32 %%t, %%slot, %%all;\nshl.b32 %%t, %%t, 4;\n"
                        "mov.u32 %%u, rows_kept;\nadd.s32 %%t, %%t, %%u;\n");
    for (int32_t i = 0; i < m->w.facts->n_kept; i++)
        cuda_text_add(m->t, "ld.param.u32 %%u, [p+%zu];\nadd.s32 %%k%d, %%t, %%u;\n",
                      AT(kept) + (size_t)i * sizeof(uint32_t), (int)i);
}

/* The states' neutral elements: -0 of sums, what is below or above all of extremes. */
static void add_states(const rows_ptx *m)
{
    static const uint32_t least[][2] = {[NDP_F16] = {0xfc00fc00, 0x7c007c00},
                                        [NDP_BF16] = {0xff80ff80, 0x7f807f80},
                                        [NDP_F32] = {0xff800000, 0x7f800000}};
    for (int32_t v = m->w.first; v < m->w.n_values; v++) {
        if (!cuda_walk_is_reduction(&m->w, v))
            continue;
        const ndp_instruction *k = cuda_walk_instruction(&m->w, v);
        if (is_extreme(k))
            cuda_text_add(m->t, "mov.b32 %%s%d, 0x%x;\n", (int)v,
                          (unsigned)least[m->x->dtype][k->op == NDP_OP_min]);
        else
            cuda_text_add(m->t, "mov.f64 %%s%d, 0d8000000000000000;\n", (int)v);
    }
}

/* ---- one value for each row ---- */
/* The state met with those of the lanes whose numbers differ in the bit %distance and, one after
 * another, in those below: a loop, since an assembler takes a while for each step. */
static void add_meetings(const rows_ptx *m, int32_t v, const void *merge, int loop)
{
    const int extreme = is_extreme(cuda_walk_instruction(&m->w, v));
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
static void add_merge(rows_ptx *m, int32_t v)
{
    const ndp_instruction *k = cuda_walk_instruction(&m->w, v);
    const void *merge = find_step(m, k, "merge");
    const char *type = is_extreme(k) ? "b32" : "f64";
    const int nbytes = is_extreme(k) ? 4 : 8, n = m->merges++, half = n % 2 * 64;
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

static void add_value(const rows_ptx *m, int32_t v)
{
    const ndp_instruction *k = cuda_walk_instruction(&m->w, v);
    char state[CUDA_PTX_NAME], to[CUDA_PTX_NAME], above[CUDA_PTX_NAME], bits[CUDA_PTX_NAME];
    reduce_params keys = {0};
    snprintf(state, sizeof state, "%%s%d", (int)v);
    snprintf(to, sizeof to, "%%v%d", (int)v);
    if (is_extreme(k)) {
        cuda_reduce_keys(&keys, k->op, k->compute);
        snprintf(above, sizeof above, "0x%x", (unsigned)keys.nan_above);
        snprintf(bits, sizeof bits, "0x%x", (unsigned)keys.nan_bits);
        cuda_ptx_body(m->x, find_step(m, k, "value"), to,
                      (const char *const[]){state, above, bits});
        return;
    }
    cuda_text_add(m->t, "ld.param.u64 %%count, [p+%zu];\n", AT(count));
    if (k->op == NDP_OP_mean)
        cuda_text_add(m->t, "ld.param.f64 %%inverse, [p+%zu];\n", AT(inverse));
    else
        cuda_text_add(m->t, "mov.f64 %%inverse, 0d3FF0000000000000;\n");
    cuda_ptx_body(m->x, find_step(m, k, "value"), to,
                  (const char *const[]){state, "%count", "%inverse"});
}

static void add_instruction(const rows_ptx *m, int32_t v, int words)
{
    const ndp_instruction *k = cuda_walk_instruction(&m->w, v);
    const void *body = cuda_ptx_find(m->x, ndp_op_name(k->op));
    char to[CUDA_PTX_NAME], from[3][CUDA_PTX_NAME];
    for (int j = 0; j < words; j++) {
        name_word(m, v, j, to);
        for (int a = 0; a < 3 && k->arg[a] >= 0; a++)
            name_word(m, k->arg[a], j, from[a]);
        cuda_ptx_body(m->x, body, to, (const char *const[]){from[0], from[1], from[2]});
    }
}

/* What can be computed once the walks before this one have ended. */
static void add_row_values(rows_ptx *m, int32_t walk)
{
    for (int32_t v = m->w.first; v < m->w.n_values; v++) {
        if (!m->w.of_row[v] || m->w.walk[v] != walk)
            continue;
        if (cuda_walk_is_reduction(&m->w, v)) {
            add_merge(m, v);
            add_value(m, v);
        } else {
            add_instruction(m, v, 1);
        }
    }
}

/* ---- a walk ---- */
/* n: what divides, in four parts; m: its inverse in double. */
static void add_divisor(const rows_ptx *m, int32_t v)
{
    static const char *const part[] = {"divisor_b", "divisor_y", "divisor_least", "divisor_zero"};
    char to[CUDA_PTX_NAME], from[CUDA_PTX_NAME];
    name_word(m, cuda_walk_instruction(&m->w, v)->arg[1], 0, from);
    for (int i = 0; i < 4; i++) {
        snprintf(to, sizeof to, "%%n%d_%d", (int)v, i);
        cuda_ptx_body(m->x, cuda_ptx_find(m->x, part[i]), to, (const char *const[]){from});
    }
    snprintf(to, sizeof to, "%%m%d", (int)v);
    cuda_ptx_body(m->x, cuda_ptx_find(m->x, "divisor_inverse"), to, (const char *const[]){from});
}

static void add_divisors(const rows_ptx *m, int32_t walk)
{
    for (int32_t v = m->w.first; v < m->w.n_values; v++)
        if (is_made(m, walk, v) && is_by_row(m, v))
            add_divisor(m, v);
}

/* By few steps; where these do not serve every element of the item, all are divided in double. */
static void add_quotients(const rows_ptx *m, int32_t walk, int32_t v)
{
    const void *quick = cuda_ptx_find(m->x, "quick"), *fits = cuda_ptx_find(m->x, "fits");
    const void *exact = cuda_ptx_find(m->x, "exact");
    char to[CUDA_PTX_WORDS][CUDA_PTX_NAME], from[CUDA_PTX_WORDS][CUDA_PTX_NAME];
    char part[4][CUDA_PTX_NAME], inverse[CUDA_PTX_NAME];
    snprintf(inverse, sizeof inverse, "%%m%d", (int)v);
    for (int i = 0; i < 4; i++)
        snprintf(part[i], sizeof part[i], "%%n%d_%d", (int)v, i);
    for (int j = 0; j < CUDA_PTX_WORDS; j++) {
        name_word(m, v, j, to[j]);
        name_word(m, cuda_walk_instruction(&m->w, v)->arg[0], j, from[j]);
        cuda_ptx_body(m->x, quick, to[j], (const char *const[]){from[j], part[0], part[1]});
        cuda_ptx_body(m->x, fits, j ? "%t" : "%u",
                      (const char *const[]){from[j], part[2], part[3]});
        cuda_text_add(m->t, j ? "and.b32 %%u, %%u, %%t;\n" : "");
    }
    cuda_text_add(m->t, "setp.ne.s32 %%p, %%u, 0;\n@%%p bra $fine%d_%d;\n", (int)walk, (int)v);
    for (int j = 0; j < CUDA_PTX_WORDS; j++)
        cuda_ptx_body(m->x, exact, to[j], (const char *const[]){from[j], part[0], inverse});
    cuda_text_add(m->t, "$fine%d_%d:\n", (int)walk, (int)v);
}

/* Copies of an input's row to shared memory, which no register waits for. */
static void add_stage(const rows_ptx *m, int32_t walk, int32_t v)
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

static void add_stages(const rows_ptx *m, int32_t walk)
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
static void add_fetches(const rows_ptx *m, int32_t walk)
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

static void add_folds(const rows_ptx *m, int32_t walk)
{
    char state[CUDA_PTX_NAME], word[CUDA_PTX_WORDS][CUDA_PTX_NAME];
    for (int32_t v = m->w.first; v < m->w.n_values; v++) {
        if (!is_folded(m, walk, v))
            continue;
        const ndp_instruction *k = cuda_walk_instruction(&m->w, v);
        snprintf(state, sizeof state, "%%s%d", (int)v);
        for (int j = 0; j < CUDA_PTX_WORDS; j++)
            name_word(m, k->arg[0], j, word[j]);
        cuda_ptx_body(m->x, find_step(m, k, "add"), state,
                      (const char *const[]){state, word[0], word[1], word[2], word[3]});
    }
}

static void add_stores(const rows_ptx *m, int32_t walk)
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

static void add_walk(const rows_ptx *m, int32_t walk)
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
        if (is_by_row(m, v))
            add_quotients(m, walk, v);
        else
            add_instruction(m, v, CUDA_PTX_WORDS);
    }
    add_folds(m, walk);
    add_stores(m, walk);
    cuda_text_add(m->t,
                  "add.s32 %%i, %%i, %%lanes;\nsetp.lt.u32 %%p, %%i, %%items;\n@%%p bra $walk%d;\n"
                  "$walked%d:\n",
                  (int)walk, (int)walk);
}

/* ---- the kernel ---- */
static void add_row_results(const rows_ptx *m)
{
    const ndp_program *p = m->w.p;
    cuda_text_add(m->t, "setp.eq.and.u32 %%p, %%lane, 0, %%inside;\n");
    for (uint32_t i = 0; i < p->n_out; i++) {
        const int32_t v = p->out[i];
        if (!m->w.of_row[v])
            continue;
        if (m->x->dtype == NDP_F32)
            cuda_text_add(m->t, "@%%p st.global.b32 [%%a%u], %%v%d;\n", p->n_in + i, (int)v);
        else
            cuda_text_add(
                m->t, "mov.b32 {%%half, %%other}, %%v%d;\n@%%p st.global.b16 [%%a%u], %%half;\n",
                (int)v, p->n_in + i);
    }
}

static void add_kernel(rows_ptx *m)
{
    cuda_ptx_head(m->x);
    cuda_text_add(m->t,
                  ".extern .shared .align 16 .b8 rows_kept[];\n"
                  ".visible .entry program_rows(.param .align 8 .b8 p[%zu])\n"
                  ".maxntid %d, 1, 1\n{\n",
                  sizeof(cuda_program_rows), (int)CUDA_PROGRAM_THREADS);
    add_registers(m);
    add_row(m);
    cuda_ptx_locate(m->x, (int)NDP_PROGRAM_RANK(m->w.p->flags) - 1, AT(extent), AT(stride));
    add_operands(m);
    add_kept(m);
    add_states(m);
    for (int32_t w = 0; w < m->w.n_walks; w++) {
        add_row_values(m, w);
        add_walk(m, w);
    }
    add_row_results(m);
    cuda_text_add(m->t, "ret;\n}\n");
}

int cuda_ptx_rows(cuda_ptx *x)
{
    cuda_program_rows_facts facts = {0};
    rows_ptx *m = calloc(1, sizeof *m);
    if (!m)
        return 0;
    m->x = x;
    m->t = x->t;
    const int fits = cuda_walks_find(&m->w, x->p, &facts);
    if (fits)
        add_kernel(m);
    free(m);
    return fits;
}
