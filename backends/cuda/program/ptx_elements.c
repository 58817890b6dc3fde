/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Values and instructions of kernels in PTX that compute elements by themselves. */
#include <stdio.h>
#include "program/ptx.h"

static int is_scalar(const cuda_ptx *x, int32_t value)
{
    return value >= (int32_t)x->p->n_in && value < (int32_t)(x->p->n_in + x->p->n_scalar);
}

void cuda_ptx_name(const cuda_ptx *x, int32_t value, int word, char name[CUDA_PTX_NAME])
{
    if (is_scalar(x, value))
        snprintf(name, CUDA_PTX_NAME, "%%v%d", (int)value);
    else
        snprintf(name, CUDA_PTX_NAME, "%%w%d_%d", (int)value, word);
}

void cuda_ptx_words(cuda_ptx *x)
{
    const int32_t n = (int32_t)(x->p->n_in + x->p->n_scalar + x->p->n_instruction);
    for (int32_t v = 0; v < n; v++)
        cuda_text_add(x->t, is_scalar(x, v) ? ".reg .b32 %%v%d;\n" : ".reg .b32 %%w%d_<4>;\n",
                      (int)v);
}

void cuda_ptx_scalars(cuda_ptx *x, size_t at)
{
    for (uint32_t i = 0; i < x->p->n_scalar; i++) {
        char to[CUDA_PTX_NAME], from[CUDA_PTX_NAME];
        cuda_ptx_name(x, (int32_t)(x->p->n_in + i), 0, to);
        snprintf(from, sizeof from, "p+%zu", at + i * sizeof(cuda_program_scalar));
        cuda_ptx_load_one(x, "param", to, from);
    }
}

void cuda_ptx_instructions(cuda_ptx *x, int words)
{
    const ndp_program *p = x->p;
    for (uint32_t i = 0; i < p->n_instruction; i++) {
        const ndp_instruction *k = &p->instruction[i];
        const void *body = cuda_ptx_find(x, ndp_op_name(k->op));
        for (int j = 0; j < words; j++) {
            char to[CUDA_PTX_NAME], from[3][CUDA_PTX_NAME];
            const char *const operand[3] = {from[0], from[1], from[2]};
            cuda_ptx_name(x, (int32_t)(p->n_in + p->n_scalar + i), j, to);
            for (int a = 0; a < 3 && k->arg[a] >= 0; a++)
                cuda_ptx_name(x, k->arg[a], j, from[a]);
            cuda_ptx_body(x, body, to, operand);
        }
    }
}
