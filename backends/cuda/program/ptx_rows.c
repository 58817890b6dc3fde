/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The kernel of a program of rows in PTX: program_rows of source_rows.c, in whose order the walks
 * over a row follow one another and reductions are merged. */
#include <stdio.h>
#include <stdlib.h>
#include "program/ptx_rows.h"

#define AT CUDA_PTX_AT

/* ---- what its parts share ---- */
void cuda_ptx_row_name(const cuda_ptx_row_kernel *m, int32_t v, int word, char name[CUDA_PTX_NAME])
{
    if (m->w.of_row[v])
        snprintf(name, CUDA_PTX_NAME, "%%v%d", (int)v);
    else
        snprintf(name, CUDA_PTX_NAME, "%%w%d_%d", (int)v, word);
}

const void *cuda_ptx_row_step(const cuda_ptx_row_kernel *m, const ndp_instruction *k,
                              const char *step)
{
    char name[32];
    snprintf(name, sizeof name, "%s_%s", cuda_ptx_is_extreme(k) ? ndp_op_name(k->op) : "sum", step);
    return cuda_ptx_find(m->x, name);
}

void cuda_ptx_row_instruction(const cuda_ptx_row_kernel *m, int32_t v, int words)
{
    const ndp_instruction *k = cuda_walk_instruction(&m->w, v);
    const int short_root = k->op == NDP_OP_sqrt && m->w.of_row[v];
    const void *body = cuda_ptx_find(m->x, short_root ? "row_sqrt" : ndp_op_name(k->op));
    char to[CUDA_PTX_NAME], from[3][CUDA_PTX_NAME];
    for (int j = 0; j < words; j++) {
        cuda_ptx_row_name(m, v, j, to);
        for (int a = 0; a < 3 && k->arg[a] >= 0; a++)
            cuda_ptx_row_name(m, k->arg[a], j, from[a]);
        cuda_ptx_body(m->x, body, to, (const char *const[]){from[0], from[1], from[2]});
    }
}

/* ---- before the walks ---- */
/* s: the state of a reduction. */
static void add_registers(const cuda_ptx_row_kernel *m)
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
                          cuda_ptx_is_extreme(cuda_walk_instruction(&m->w, v))
                              ? ".reg .b32 %%s%d;\n"
                              : ".reg .f64 %%s%d;\n",
                          (int)v);
        else if (v >= m->w.first && cuda_ptx_is_by_row(m, v))
            cuda_text_add(m->t, ".reg .b32 %%n%d_<4>;\n.reg .f64 %%m%d;\n", (int)v, (int)v);
    }
    for (uint32_t i = 0; i < p->n_in + p->n_out; i++)
        cuda_text_add(m->t, ".reg .b64 %%a%u;\n", i);
    for (int32_t i = 0; i < m->w.facts->n_kept; i++)
        cuda_text_add(m->t, ".reg .b32 %%k%d;\n", (int)i);
}

/* Which row the thread is at work on, as which of its lanes. */
static void add_row(const cuda_ptx_row_kernel *m)
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
static void add_operands(const cuda_ptx_row_kernel *m)
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
static void add_kept(const cuda_ptx_row_kernel *m)
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
static void add_states(const cuda_ptx_row_kernel *m)
{
    static const uint32_t least[][2] = {[NDP_F16] = {0xfc00fc00, 0x7c007c00},
                                        [NDP_BF16] = {0xff80ff80, 0x7f807f80},
                                        [NDP_F32] = {0xff800000, 0x7f800000}};
    for (int32_t v = m->w.first; v < m->w.n_values; v++) {
        if (!cuda_walk_is_reduction(&m->w, v))
            continue;
        const ndp_instruction *k = cuda_walk_instruction(&m->w, v);
        if (cuda_ptx_is_extreme(k))
            cuda_text_add(m->t, "mov.b32 %%s%d, 0x%x;\n", (int)v,
                          (unsigned)least[m->x->dtype][k->op == NDP_OP_min]);
        else
            cuda_text_add(m->t, "mov.f64 %%s%d, 0d8000000000000000;\n", (int)v);
    }
}

/* ---- the kernel ---- */
static void add_row_results(const cuda_ptx_row_kernel *m)
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

static void add_kernel(cuda_ptx_row_kernel *m)
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
        cuda_ptx_row_values(m, w);
        cuda_ptx_row_walk(m, w);
    }
    add_row_results(m);
    cuda_text_add(m->t, "ret;\n}\n");
}

int cuda_ptx_rows(cuda_ptx *x)
{
    cuda_program_rows_facts facts = {0};
    cuda_ptx_row_kernel *m = calloc(1, sizeof *m);
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
