/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Which block of which head a block of threads is. Blocks of `together` heads alternate, the longest of all of them
 * first: so the last to begin are short where attention is causal, and what these heads share stays in the
 * second-level cache. */
#ifndef NDOCK_CUDA_ATTENTION_PLACE_CUH
#define NDOCK_CUDA_ATTENTION_PLACE_CUH
#include "neural/attention.h"

struct attention_place {
    int at, head; /* the longest is 0; of all heads of all batches */
    __device__ __forceinline__ attention_place(const attention_params &p, int block, int heads)
    {
        /* The same with one division, since blocks of short heads take little time. */
        if (p.together == 1) {
            head = block / p.row_blocks;
            at = block - head * p.row_blocks;
            return;
        }
        const int round = block / (p.together * p.row_blocks) * p.together,
                  in = block % (p.together * p.row_blocks),
                  beside = heads - round < p.together ? heads - round : p.together;
        at = in / beside;
        head = round + in % beside;
    }
};

#endif
