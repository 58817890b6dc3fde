/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Names of dtypes in the names of kernels and in sources: those of dtype.def, "F32". */
#ifndef NDOCK_CUDA_DTYPE_WORD_H
#define NDOCK_CUDA_DTYPE_WORD_H
#include <ndock/plugin.h>

static inline const char *cuda_dtype_word(int32_t dtype)
{
    static const char *const words[NDP_DTYPE_END] = {
#define ND_DTYPE(NAME, id, nbytes, KIND, name, standard, numpy, dlpack, doc) [id] = #NAME,
#include <ndock/dtype.def>
    };
    return dtype > 0 && dtype < NDP_DTYPE_END ? words[dtype] : "?";
}

#endif
