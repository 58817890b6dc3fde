/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The kernel of a program over dense operands in PTX: program_flat of source.c, an item of 16 bytes
 * a thread. */
#include <stddef.h>
#include <stdio.h>
#include "program/ptx.h"

static int32_t element_bytes(const cuda_ptx *x)
{
    return x->dtype == NDP_F32 ? 4 : 2;
}

/* The registers: v of what is one value for all elements, else w and the word's number. */
static void name_word(const cuda_ptx *x, int32_t value, int word, char name[CUDA_PTX_NAME])
{
    const int32_t scalar = (int32_t)x->p->n_in, first = scalar + (int32_t)x->p->n_scalar;
    if (value >= scalar && value < first)
        snprintf(name, CUDA_PTX_NAME, "%%v%d", (int)value);
    else
        snprintf(name, CUDA_PTX_NAME, "%%w%d_%d", (int)value, word);
}

static void add_registers(cuda_ptx *x)
{
    const ndp_program *p = x->p;
    const uint32_t n = p->n_in + p->n_scalar + p->n_instruction;
    cuda_text_add(x->t, ".reg .pred %%past, %%whole, %%here;\n.reg .b16 %%half, %%other;\n"
                        ".reg .b32 %%item, %%t, %%left, %%last, %%at;\n"
                        ".reg .b64 %%first, %%n, %%byte, %%to, %%in;\n");
    for (uint32_t v = 0; v < n; v++)
        cuda_text_add(x->t, v >= p->n_in && v < p->n_in + p->n_scalar ? ".reg .b32 %%v%u;\n"
                                                                      : ".reg .b32 %%w%u_<4>;\n",
                      v);
    for (uint32_t i = 0; i < p->n_in + p->n_out; i++)
        cuda_text_add(x->t, ".reg .b64 %%a%u;\n", i);
}

/* a: where the thread's item of each operand is; first: its first element's number. */
static void add_places(cuda_ptx *x)
{
    const ndp_program *p = x->p;
    const int width = 16 / element_bytes(x);
    cuda_text_add(x->t, "%s", x->capability >= 90 ? "griddepcontrol.wait;\n" : "");
    cuda_text_add(x->t,
                  "mov.u32 %%t, %%ctaid.x;\nmov.u32 %%item, %%tid.x;\n"
                  "mul.wide.u32 %%first, %%t, %d;\ncvt.u64.u32 %%byte, %%item;\n"
                  "add.s64 %%first, %%first, %%byte;\nshl.b64 %%byte, %%first, 4;\n"
                  "mul.lo.s64 %%first, %%first, %d;\nld.param.u64 %%n, [p+%zu];\n"
                  "setp.ge.u64 %%past, %%first, %%n;\n@%%past bra $end;\n",
                  (int)CUDA_PROGRAM_THREADS, width, offsetof(cuda_program_flat, n));
    for (uint32_t i = 0; i < p->n_in + p->n_out; i++)
        cuda_text_add(x->t, "ld.param.u64 %%a%u, [p+%zu];\nadd.s64 %%a%u, %%a%u, %%byte;\n", i,
                      offsetof(cuda_program_flat, operand) + i * sizeof(uint64_t), i, i);
    for (uint32_t i = 0; i < p->n_scalar; i++) {
        char to[CUDA_PTX_NAME], from[CUDA_PTX_NAME];
        snprintf(to, sizeof to, "%%v%u", p->n_in + i);
        snprintf(from, sizeof from, "p+%zu",
                 offsetof(cuda_program_flat, scalar) + i * sizeof(cuda_program_scalar));
        cuda_ptx_load_one(x, "param", to, from);
    }
}

/* whole: every operand lies at a multiple of 16 bytes and has the item's elements; left: how many
 * there are. */
static void add_whole(cuda_ptx *x)
{
    const int width = 16 / element_bytes(x);
    cuda_text_add(x->t,
                  "sub.s64 %%n, %%n, %%first;\nmin.u64 %%n, %%n, %d;\ncvt.u32.u64 %%left, %%n;\n"
                  "add.s32 %%last, %%left, -1;\nld.param.u32 %%t, [p+%zu];\n"
                  "setp.ne.s32 %%whole, %%t, 0;\nsetp.eq.and.s32 %%whole, %%left, %d, %%whole;\n",
                  width, offsetof(cuda_program_flat, aligned), width);
}

/* The last element stands for those that are missing. */
static void add_few(cuda_ptx *x, uint32_t operand)
{
    const int nbytes = element_bytes(x), each = 4 / nbytes;
    for (int i = 0; i < CUDA_PTX_WORDS * each; i++) {
        cuda_text_add(x->t,
                      "min.u32 %%at, %%last, %d;\nmul.wide.u32 %%to, %%at, %d;\n"
                      "add.s64 %%to, %%to, %%a%u;\n",
                      i, nbytes, operand);
        if (each == 1)
            cuda_text_add(x->t, "ld.global.b32 %%w%u_%d, [%%to];\n", operand, i);
        else if (i % 2 == 0)
            cuda_text_add(x->t, "ld.global.b16 %%half, [%%to];\n");
        else
            cuda_text_add(x->t,
                          "ld.global.b16 %%other, [%%to];\nmov.b32 %%w%u_%d, {%%half, %%other};\n",
                          operand, i / 2);
    }
}

static void add_loads(cuda_ptx *x, int whole)
{
    if (!whole)
        cuda_text_add(x->t, "@!%%whole bra $few;\n");
    for (uint32_t i = 0; i < x->p->n_in; i++)
        cuda_text_add(x->t, "ld.global.v4.b32 {%%w%u_0, %%w%u_1, %%w%u_2, %%w%u_3}, [%%a%u];\n", i,
                      i, i, i, i);
    if (whole)
        return;
    cuda_text_add(x->t, "bra.uni $loaded;\n$few:\n");
    for (uint32_t i = 0; i < x->p->n_in; i++)
        add_few(x, i);
    cuda_text_add(x->t, "$loaded:\n");
}

static void add_instructions(cuda_ptx *x)
{
    const ndp_program *p = x->p;
    for (uint32_t i = 0; i < p->n_instruction; i++) {
        const ndp_instruction *k = &p->instruction[i];
        const char *body = cuda_ptx_find(x, ndp_op_name(k->op));
        for (int j = 0; j < CUDA_PTX_WORDS; j++) {
            char to[CUDA_PTX_NAME], from[3][CUDA_PTX_NAME];
            const char *const operand[3] = {from[0], from[1], from[2]};
            name_word(x, (int32_t)(p->n_in + p->n_scalar + i), j, to);
            for (int a = 0; a < 3 && k->arg[a] >= 0; a++)
                name_word(x, k->arg[a], j, from[a]);
            cuda_ptx_body(x, body, to, operand);
        }
    }
}

static void store_few(cuda_ptx *x, uint32_t operand, const char *word, int j)
{
    const int nbytes = element_bytes(x), each = 4 / nbytes;
    if (each == 2)
        cuda_text_add(x->t, "mov.b32 {%%half, %%other}, %s;\n", word);
    for (int h = 0; h < each; h++) {
        const int i = j * each + h;
        cuda_text_add(x->t, "setp.gt.u32 %%here, %%left, %d;\n@%%here st.global.b%d [%%a%u+%d], %s;\n",
                      i, 8 * nbytes, operand, i * nbytes,
                      each == 1 ? word
                      : h       ? "%other"
                                : "%half");
    }
}

static void add_stores(cuda_ptx *x, int whole)
{
    char word[CUDA_PTX_WORDS][CUDA_PTX_NAME];
    for (int few = 0; few <= !whole; few++) {
        if (!whole)
            cuda_text_add(x->t, few ? "$store_few:\n" : "@!%%whole bra $store_few;\n");
        for (uint32_t i = 0; i < x->p->n_out; i++) {
            const uint32_t operand = x->p->n_in + i;
            for (int j = 0; j < CUDA_PTX_WORDS; j++) {
                name_word(x, x->p->out[i], j, word[j]);
                if (few)
                    store_few(x, operand, word[j], j);
            }
            if (!few)
                cuda_text_add(x->t, "st.global.v4.b32 [%%a%u], {%s, %s, %s, %s};\n", operand,
                              word[0], word[1], word[2], word[3]);
        }
        cuda_text_add(x->t, few ? "" : "ret;\n");
    }
}

int cuda_ptx_flat(cuda_ptx *x, int whole)
{
    cuda_ptx_head(x, 0);
    cuda_text_add(x->t,
                  ".visible .entry program_flat(.param .align 8 .b8 p[%zu])\n.maxntid %d, 1, 1\n{\n",
                  sizeof(cuda_program_flat), (int)CUDA_PROGRAM_THREADS);
    add_registers(x);
    add_places(x);
    if (!whole)
        add_whole(x);
    add_loads(x, whole);
    add_instructions(x);
    add_stores(x, whole);
    cuda_text_add(x->t, "$end:\nret;\n}\n");
    return 1;
}
