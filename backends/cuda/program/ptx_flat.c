/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The kernel of a program over dense operands in PTX: program_flat of source.c, an item of 16 bytes
 * a thread. */
#include <stddef.h>
#include <stdio.h>
#include "program/ptx.h"

static void add_registers(cuda_ptx *x)
{
    const ndp_program *p = x->p;
    cuda_text_add(x->t, ".reg .pred %%past, %%whole, %%here;\n.reg .b16 %%half, %%other;\n"
                        ".reg .b32 %%item, %%t, %%left, %%last, %%at;\n"
                        ".reg .b64 %%first, %%n, %%byte, %%to;\n");
    cuda_ptx_words(x);
    for (uint32_t i = 0; i < p->n_in + p->n_out; i++)
        cuda_text_add(x->t, ".reg .b64 %%a%u;\n", i);
}

/* a: where the thread's item of each operand is; first: its first element's number. */
static void add_places(cuda_ptx *x)
{
    const ndp_program *p = x->p;
    const int width = 16 / cuda_ptx_bytes(x);
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
    cuda_ptx_scalars(x, offsetof(cuda_program_flat, scalar));
}

/* whole: every operand lies at a multiple of 16 bytes and has the item's elements; left: how many
 * there are. */
static void add_whole(cuda_ptx *x)
{
    const int width = 16 / cuda_ptx_bytes(x);
    cuda_text_add(x->t,
                  "sub.s64 %%n, %%n, %%first;\nmin.u64 %%n, %%n, %d;\ncvt.u32.u64 %%left, %%n;\n"
                  "add.s32 %%last, %%left, -1;\nld.param.u32 %%t, [p+%zu];\n"
                  "setp.ne.s32 %%whole, %%t, 0;\nsetp.eq.and.s32 %%whole, %%left, %d, %%whole;\n",
                  width, offsetof(cuda_program_flat, aligned), width);
}

/* The last element stands for those that are missing. */
static void add_few(cuda_ptx *x, uint32_t operand)
{
    const int nbytes = cuda_ptx_bytes(x), each = 4 / nbytes;
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

static void store_few(cuda_ptx *x, uint32_t operand, const char *word, int j)
{
    const int nbytes = cuda_ptx_bytes(x), each = 4 / nbytes;
    if (each == 2)
        cuda_text_add(x->t, "mov.b32 {%%half, %%other}, %s;\n", word);
    for (int h = 0; h < each; h++) {
        const int i = j * each + h;
        cuda_text_add(x->t,
                      "setp.gt.u32 %%here, %%left, %d;\n@%%here st.global.b%d [%%a%u+%d], %s;\n", i,
                      8 * nbytes, operand, i * nbytes,
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
                cuda_ptx_name(x, x->p->out[i], j, word[j]);
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
    cuda_ptx_head(x);
    cuda_text_add(
        x->t, ".visible .entry program_flat(.param .align 8 .b8 p[%zu])\n.maxntid %d, 1, 1\n{\n",
        sizeof(cuda_program_flat), (int)CUDA_PROGRAM_THREADS);
    add_registers(x);
    add_places(x);
    if (!whole)
        add_whole(x);
    add_loads(x, whole);
    cuda_ptx_instructions(x, CUDA_PTX_WORDS);
    add_stores(x, whole);
    cuda_text_add(x->t, "$end:\nret;\n}\n");
    return 1;
}
