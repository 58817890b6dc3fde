/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What attention of f16 and bf16 by tensor cores and its gradients share on the host: kernels are made for some widths of
 * heads. */
#ifndef NDOCK_CUDA_FLASH_WIDTHS_H
#define NDOCK_CUDA_FLASH_WIDTHS_H
#include "neural/flash.h"

enum { WIDTH_32, WIDTH_64, WIDTH_80, WIDTH_96, WIDTH_128, WIDTH_256, WIDTHS };
extern const int flash_widths[WIDTHS];

static inline int64_t flash_steps_of(int64_t n, int64_t each)
{
    return (n + each - 1) / each;
}

/* The number of the width for the columns of both operands; WIDTHS: they are too many, or the call is none for these
 * kernels. */
int flash_width_of(const attention_params *p);
/* Whether there is neither a mask nor dropout, and scores are powers of 2 as soon as they are scaled (flash_rows.cuh). */
int flash_is_plain(const attention_params *p);
/* Kernels for compute capability 9.0 alone, from function `first` on: for calls that flash_is_plain() says, and for any.
 * `shared` has bytes of each width, 0: none. */
int32_t flash_make_wide(cuda_kernel *k, const char *file, int32_t dtype, int first,
                        const uint32_t *shared);
/* Heads whose blocks begin together, of so many bytes that its blocks share. */
void flash_set_together(attention_params *p, int64_t bytes);
/* Of causal attention, whose blocks differ in length, as many as stay in the second-level cache. */
void flash_set_place(attention_params *p);
/* The kernels of the gradients. */
int32_t flash_grad_make(cuda_kernel *k, int32_t dtype);

#endif
