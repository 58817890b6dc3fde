/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Facts about element types, from dtype.def. */
#include "core/model/model.h"

const nd_dtype_info nd__dtypes[ND_DTYPE_END] = {
    [0] = {0},
#define ND_DTYPE(NAME, id, size, KIND, short_name, standard_name, numpy, dlpack, text) \
    [id] = {.dtype = id,                                                               \
            .nbytes = size,                                                            \
            .kind = ND_KIND_##KIND,                                                    \
            .name = #short_name,                                                       \
            .standard = standard_name,                                                 \
            .doc = text},
#include <ndock/dtype.def>
};

const nd_dtype_info *nd_dtype_get(nd_dtype dtype)
{
    return dtype > 0 && dtype < ND_DTYPE_END ? &nd__dtypes[dtype] : NULL;
}

const char *nd_dtype_name(nd_dtype dtype)
{
    const nd_dtype_info *info = nd_dtype_get(dtype);
    return info ? info->name : "?";
}

size_t nd_dtype_size(nd_dtype dtype)
{
    return (size_t)nd__itemsize(dtype);
}

nd_status nd_dtype_parse(const char *name, nd_dtype *out)
{
    ND_OUT("dtype_parse", 1, out, ND_DTYPE_BY_RULE);
    ND_NEED("dtype_parse", 0, name);
    static const char names[] =
#define ND_DTYPE(NAME, id, nbytes, KIND, name, standard, numpy, dlpack, doc) ", " #name
#include <ndock/dtype.def>
        ;
    for (nd_dtype d = 1; name && d < ND_DTYPE_END; d++)
        if (strcmp(name, nd__dtypes[d].name) == 0 || strcmp(name, nd__dtypes[d].standard) == 0) {
            *out = d;
            return ND_OK;
        }
    return nd__fail(ND_ERR_DTYPE, "dtype_parse", 0, "there is no dtype \"%s\"; there are %s",
                    name ? name : "(null)", names + 2);
}

nd_status nd__check_dtype(const char *op, nd_dtype dtype)
{
    if (nd_dtype_get(dtype))
        return ND_OK;
    return nd__fail(ND_ERR_DTYPE, op, -1, "%d is not a dtype; the rows of dtype.def are 1 to %d",
                    (int)dtype, ND_DTYPE_END - 1);
}

nd_dtype nd__real_of(nd_dtype dtype)
{
    return dtype == ND_C64 ? ND_F32 : dtype == ND_C128 ? ND_F64 : dtype;
}

nd_dtype nd__complex_of(nd_dtype dtype)
{
    return dtype == ND_F64 ? ND_C128 : nd__kind(dtype) == ND_KIND_FLOAT ? ND_C64 : dtype;
}

nd_dtype nd_default_float(void)
{
    return ND_F64;
}
