/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Quantised arrays as objects: formats, an array of blocks with a format, views and moves of it. */
#include <stdlib.h>
#include <strings.h>
#include "core/ops/quant.h"

static const nd_quant_info formats[ND_QUANT_END] = {
#define ND_QUANT(NAME, id, block, nbytes, MIN, WRITES, name, doc) \
    [id] = {id, block, nbytes, WRITES, #name, doc},
#include <ndock/quant.def>
};

const nd_quant_info *nd_quant_get(nd_quant_format format)
{
    return format > 0 && format < ND_QUANT_END && formats[format].name ? &formats[format] : NULL;
}

nd_quant_format nd_quant_find(const char *name)
{
    ND_NEED_OR("quant_find", 0, name, 0);
    for (nd_quant_format f = 1; f < ND_QUANT_END; f++)
        if (formats[f].name && strcasecmp(formats[f].name, name) == 0)
            return f;
    return 0;
}

nd_status nd__check_quant(const char *op, nd_quant_format format, int32_t i,
                          const nd_quant_info **info)
{
    *info = nd_quant_get(format);
    return *info ? (nd_status)ND_OK
                 : nd__fail(ND_ERR_ARGUMENT, op, i, "there is no quantised format %d",
                            (int)format);
}

bool nd__quant_row_bytes(const nd_quant_info *info, int64_t n, int64_t *nbytes)
{
    return nd__mul_size(n / info->block, info->nbytes, nbytes);
}

nd_status nd__check_qarray(const char *op, const nd_qarray *q, int32_t i)
{
    if (!q)
        return nd__fail(ND_ERR_ARGUMENT, op, i, "the quantised array is NULL");
    return nd__check_array(op, q->blocks, i);
}

nd_status nd__qarray_wrap(const char *op, const nd_array *blocks, nd_quant_format format,
                          nd_qarray **out)
{
    const nd_quant_info *info;
    const int last = blocks->ndim - 1;
    ND_RETURN_IF(nd__check_quant(op, format, 1, &info));
    if (blocks->dtype != ND_U8)
        return nd__fail(ND_ERR_DTYPE, op, 0, "blocks are bytes, u8, not %s",
                        nd_dtype_name(blocks->dtype));
    if (last < 0 || blocks->shape[last] % info->nbytes != 0)
        return nd__fail(ND_ERR_SHAPE, op, 0,
                        "a row of %lld bytes is no whole number of blocks of %s, %d bytes each",
                        last < 0 ? 0LL : (long long)blocks->shape[last], info->name,
                        (int)info->nbytes);
    nd_qarray *q = malloc(sizeof *q);
    if (!q)
        return nd__fail(ND_ERR_MEMORY, op, -1, "no memory for a quantised array");
    atomic_init(&q->refs, 1);
    q->info = info;
    q->blocks = nd_retain((nd_array *)(uintptr_t)blocks);
    memcpy(q->shape, blocks->shape, (size_t)blocks->ndim * sizeof *q->shape);
    *out = q;
    if (nd__mul_size(blocks->shape[last] / info->nbytes, info->block, &q->shape[last]))
        return ND_OK;
    nd_qarray_release(q);
    *out = NULL;
    return nd__fail(ND_ERR_OVERFLOW, op, 0, "a row's elements do not fit 63 bits");
}

nd_status nd_qarray_wrap(const nd_array *blocks, nd_quant_format format, nd_qarray **out)
{
    ND_OUT("qarray_wrap", 2, out, NULL);
    ND_RETURN_IF(nd__check_array("qarray_wrap", blocks, 0));
    return nd__qarray_wrap("qarray_wrap", blocks, format, out);
}

nd_qarray *nd_qarray_retain(nd_qarray *q)
{
    if (q)
        atomic_fetch_add_explicit(&q->refs, 1, memory_order_relaxed);
    return q;
}

void nd_qarray_release(nd_qarray *q)
{
    if (!q || !nd__last(&q->refs))
        return;
    nd_release(q->blocks);
    free(q);
}

nd_quant_format nd_qarray_format(const nd_qarray *q)
{
    ND_NEED_OR("qarray_format", 0, q, 0);
    return q->info->format;
}

int nd_qarray_ndim(const nd_qarray *q)
{
    ND_NEED_OR("qarray_ndim", 0, q, 0);
    return q->blocks->ndim;
}

const int64_t *nd_qarray_shape(const nd_qarray *q)
{
    ND_NEED_OR("qarray_shape", 0, q, NULL);
    return q->shape;
}

const nd_array *nd_qarray_blocks(const nd_qarray *q)
{
    ND_NEED_OR("qarray_blocks", 0, q, NULL);
    return q->blocks;
}

/* Whether the entries leave the last axis whole, and last. */
static bool keeps_rows(const nd_index *idx, int n, int ndim)
{
    int used = 0;
    for (int i = 0; i < n; i++) {
        if (idx[i].kind == ND_INDEX_ELLIPSIS)
            return i == n - 1;
        used += idx[i].kind == ND_INDEX_INT || idx[i].kind == ND_INDEX_RANGE;
    }
    return used < ndim;
}

nd_status nd_qarray_slice(const nd_qarray *q, const nd_index *idx, int n, nd_qarray **view)
{
    const char *op = "qarray_slice";
    nd_array *part = NULL;
    ND_OUT(op, 3, view, NULL);
    ND_RETURN_IF(nd__check_qarray(op, q, 0));
    if (n < 0)
        return nd__fail(ND_ERR_ARGUMENT, op, 2, "n is %d", n);
    ND_NEED_LIST(op, 1, n, idx);
    if (!keeps_rows(idx, n, q->blocks->ndim))
        return nd__fail(ND_ERR_INDEX, op, 1,
                        "quantised arrays are sliced along all but their last axis, whose elements "
                        "are in blocks; dequantise it first");
    ND_RETURN_IF(nd_slice(q->blocks, idx, n, &part));
    nd_status status = nd__qarray_wrap(op, part, q->info->format, view);
    nd_release(part);
    return status;
}

nd_status nd_qarray_to_device(const nd_qarray *q, nd_device *device, nd_qarray **out)
{
    const char *op = "qarray_to_device";
    nd_array *moved = NULL;
    ND_OUT(op, 2, out, NULL);
    ND_RETURN_IF(nd__check_qarray(op, q, 0));
    ND_RETURN_IF(nd_to_device(q->blocks, device, &moved));
    nd_status status = nd__qarray_wrap(op, moved, q->info->format, out);
    nd_release(moved);
    return status;
}
