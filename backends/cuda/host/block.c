/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The record of a block of memory, whoever made it. */
#include <stdlib.h>
#include "host/backend.h"

int32_t cuda_mem_new(CUdeviceptr base, uint64_t nbytes, cuda_mem_kind kind, ndp_mem **out)
{
    ndp_mem *m = malloc(sizeof *m);
    *out = m;
    if (!m)
        return cuda_error(NDP_ERR_MEMORY, "no host memory for the record of a block");
    *m = (ndp_mem){.base = base, .nbytes = nbytes, .kind = kind};
    return NDP_OK;
}
