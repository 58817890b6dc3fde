/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The tensor types of GGUF. */
#include "core/ops/quant.h"
#include "core/io/gguf.h"

static const struct {
    int32_t type;
    nd_dtype dtype;
} plain[] = {
    {0, ND_F32},  {1, ND_F16},  {24, ND_I8},  {25, ND_I16},
    {26, ND_I32}, {27, ND_I64}, {28, ND_F64}, {30, ND_BF16},
};
enum { PLAIN = sizeof plain / sizeof *plain };

void nd__gguf_type(int32_t type, nd_dtype *dtype, nd_quant_format *format)
{
    *dtype = 0;
    *format = nd_quant_get(type) ? type : 0;
    for (int i = 0; i < PLAIN; i++)
        if (plain[i].type == type)
            *dtype = plain[i].dtype;
}

int32_t nd__gguf_type_of(nd_dtype dtype)
{
    for (int i = 0; i < PLAIN; i++)
        if (plain[i].dtype == dtype)
            return plain[i].type;
    return -1;
}

bool nd__gguf_sizes(nd_dtype dtype, nd_quant_format format, int64_t *block, int64_t *nbytes)
{
    const nd_quant_info *info = nd_quant_get(format);
    *block = info ? info->block : 1;
    *nbytes = info ? info->nbytes : nd__itemsize(dtype);
    return info || dtype;
}
