/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Keys of minima and maxima; apart from the driver, so that sources can be made without one. */
#include "reduce/keys.h"
#include <ndock/plugin_facts.h>

void cuda_reduce_keys(reduce_params *p, int32_t op, int32_t dtype)
{
    static const int64_t above[NDP_DTYPE_END] = {[NDP_F16] = 0x7c00,
                                                 [NDP_BF16] = 0x7f80,
                                                 [NDP_F32] = 0x7f800000,
                                                 [NDP_F64] = 0x7ff0000000000000};
    static const int64_t nan[NDP_DTYPE_END] = {[NDP_F16] = 0x7e00,
                                               [NDP_BF16] = 0x7fc0,
                                               [NDP_F32] = 0x7fc00000,
                                               [NDP_F64] = 0x7ff8000000000000};
    int is_unsigned = dtype == NDP_BOOL || (dtype >= NDP_U8 && dtype <= NDP_U64);
    int bits = (int)(8 * ndp_dtype_size(dtype));
    uint64_t flip = is_unsigned ? UINT64_MAX << (bits - 1) : 0;
    if (op == NDP_OP_min || op == NDP_OP_argmin)
        flip = ~flip;
    p->flip = (int64_t)flip;
    p->nan_above = above[dtype];
    p->nan_bits = nan[dtype];
}
