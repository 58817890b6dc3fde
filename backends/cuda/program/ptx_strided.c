/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The kernel of a program over strided operands in PTX: program_strided of source.c. A thread has
 * four elements, a block's threads side by side in each; the last element stands for those that are
 * missing. */
#include <stddef.h>
#include "program/ptx.h"

#define AT(member) offsetof(cuda_program_strided, member)

static void add_registers(cuda_ptx *x)
{
    cuda_text_add(x->t,
                  ".reg .pred %%past, %%here<%d>;\n.reg .b16 %%half, %%other;\n"
                  ".reg .b32 %%first, %%n, %%last, %%i;\n",
                  (int)CUDA_PROGRAM_EACH);
    cuda_ptx_locating(x);
    cuda_ptx_words(x);
    for (uint32_t i = 0; i < x->p->n_in + x->p->n_out; i++)
        cuda_text_add(x->t, ".reg .b64 %%b%u, %%a%u_<%d>;\n.reg .b16 %%h%u_<%d>;\n", i, i,
                      (int)CUDA_PROGRAM_EACH, i, (int)CUDA_PROGRAM_EACH);
}

static void add_first(cuda_ptx *x)
{
    cuda_text_add(x->t, "%s", x->capability >= 90 ? "griddepcontrol.wait;\n" : "");
    cuda_text_add(
        x->t,
        "mov.u32 %%t, %%ctaid.x;\nmov.u32 %%u, %%tid.x;\n"
        "mad.lo.s32 %%first, %%t, %d, %%u;\nld.param.u32 %%n, [p+%zu];\n"
        "setp.ge.u32 %%past, %%first, %%n;\n@%%past bra $end;\nadd.s32 %%last, %%n, -1;\n",
        (int)(CUDA_PROGRAM_EACH * CUDA_PROGRAM_THREADS), AT(n));
    for (uint32_t i = 0; i < x->p->n_in + x->p->n_out; i++)
        cuda_text_add(x->t, "ld.param.u64 %%b%u, [p+%zu];\n", i,
                      AT(operand) + i * sizeof(uint64_t));
    cuda_ptx_scalars(x, AT(scalar));
}

/* a: where element j of each operand is. */
static void add_places(cuda_ptx *x, int j)
{
    cuda_text_add(x->t,
                  "add.s32 %%i, %%first, %d;\nsetp.lt.u32 %%here%d, %%i, %%n;\n"
                  "min.u32 %%at, %%i, %%last;\n",
                  (int)(j * CUDA_PROGRAM_THREADS), j);
    cuda_ptx_locate(x, cuda_program_dims(x->p), AT(extent), AT(stride));
    for (uint32_t i = 0; i < x->p->n_in + x->p->n_out; i++)
        cuda_text_add(x->t, "shl.b64 %%o%u, %%o%u, %d;\nadd.s64 %%a%u_%d, %%b%u, %%o%u;\n", i, i,
                      cuda_ptx_bytes(x) / 2, i, j, i, i);
}

static void add_load(cuda_ptx *x, uint32_t operand, int j)
{
    if (cuda_ptx_bytes(x) == 4)
        cuda_text_add(x->t, "ld.global.b32 %%w%u_%d, [%%a%u_%d];\n", operand, j, operand, j);
    else
        cuda_text_add(x->t, "ld.global.b16 %%h%u_%d, [%%a%u_%d];\n", operand, j, operand, j);
}

static void add_stores(cuda_ptx *x, int words)
{
    char word[CUDA_PTX_NAME];
    for (uint32_t i = 0; i < x->p->n_out; i++)
        for (int j = 0; j < words; j++) {
            const uint32_t at = x->p->n_in + i;
            cuda_ptx_name(x, x->p->out[i], j, word);
            if (cuda_ptx_bytes(x) == 4)
                cuda_text_add(x->t, "@%%here%d st.global.b32 [%%a%u_%d], %s;\n", j, at, j, word);
            else
                cuda_text_add(x->t,
                              "mov.b32 {%%half, %%other}, %s;\n"
                              "@%%here%d st.global.b16 [%%a%u_%d], %%half;\n"
                              "@%%here%d st.global.b16 [%%a%u_%d], %%other;\n",
                              word, 2 * j, at, 2 * j, 2 * j + 1, at, 2 * j + 1);
        }
}

int cuda_ptx_strided(cuda_ptx *x)
{
    const int words = CUDA_PROGRAM_EACH * cuda_ptx_bytes(x) / 4;
    cuda_ptx_head(x);
    cuda_text_add(x->t,
                  ".visible .entry program_strided(.param .align 8 .b8 p[%zu])\n"
                  ".maxntid %d, 1, 1\n{\n",
                  sizeof(cuda_program_strided), (int)CUDA_PROGRAM_THREADS);
    add_registers(x);
    add_first(x);
    for (int j = 0; j < CUDA_PROGRAM_EACH; j++) {
        add_places(x, j);
        for (uint32_t i = 0; i < x->p->n_in; i++)
            add_load(x, i, j);
    }
    for (uint32_t i = 0; i < x->p->n_in && cuda_ptx_bytes(x) == 2; i++)
        for (int j = 0; j < words; j++)
            cuda_text_add(x->t, "mov.b32 %%w%u_%d, {%%h%u_%d, %%h%u_%d};\n", i, j, i, 2 * j, i,
                          2 * j + 1);
    cuda_ptx_instructions(x, words);
    add_stores(x, words);
    cuda_text_add(x->t, "$end:\nret;\n}\n");
    return 1;
}
