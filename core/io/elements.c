/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Elements as they lie in files: byte order, sizes, and the way into and out of arrays. */
#include <stdlib.h>
#include <string.h>
#include "core/ops/ops.h"
#include "core/io/elements.h"

int nd__elements_nbytes(int32_t ndim, const int64_t *shape, size_t item, uint64_t *nbytes)
{
    uint64_t n = item;
    int empty = 0;
    for (int32_t i = 0; i < ndim; i++)
        empty |= shape[i] == 0;
    for (int32_t i = 0; i < ndim && !empty; i++) {
        if ((uint64_t)shape[i] > (uint64_t)INT64_MAX / n)
            return 0;
        n *= (uint64_t)shape[i];
    }
    *nbytes = empty ? 0 : n;
    return 1;
}

/* Bytes of one number of the dtype. */
static size_t number_size(nd_dtype dtype)
{
    const nd_dtype_info *info = nd_dtype_get(dtype);
    return (size_t)info->nbytes / (info->kind == ND_KIND_COMPLEX ? 2 : 1);
}

static void swap2(unsigned char *dst, const unsigned char *src, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint16_t x;
        memcpy(&x, src + 2 * i, 2);
        x = __builtin_bswap16(x);
        memcpy(dst + 2 * i, &x, 2);
    }
}

static void swap4(unsigned char *dst, const unsigned char *src, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t x;
        memcpy(&x, src + 4 * i, 4);
        x = __builtin_bswap32(x);
        memcpy(dst + 4 * i, &x, 4);
    }
}

static void swap8(unsigned char *dst, const unsigned char *src, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t x;
        memcpy(&x, src + 8 * i, 8);
        x = __builtin_bswap64(x);
        memcpy(dst + 8 * i, &x, 8);
    }
}

void nd__elements_swap(void *dst, const void *src, size_t nbytes, nd_dtype dtype)
{
    size_t width = number_size(dtype);
    if (width == 2)
        swap2(dst, src, nbytes / 2);
    else if (width == 4)
        swap4(dst, src, nbytes / 4);
    else if (width == 8)
        swap8(dst, src, nbytes / 8);
    else if (dst != src)
        memcpy(dst, src, nbytes);
}

static int all_bools(const unsigned char *p, size_t n)
{
    unsigned char seen = 0;
    for (size_t i = 0; i < n; i++)
        seen |= p[i];
    return seen <= 1;
}

/* Any byte but 0 is true; in files it is 1. */
static void make_bools(unsigned char *to, const unsigned char *from, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = from[i] != 0;
}

nd_status nd__elements_load(const char *op, const nd__elements *e, const void *src,
                            nd_device *device, nd_array **out)
{
    nd_layout layout = {
        .size = sizeof layout, .dtype = e->dtype, .ndim = e->ndim, .shape = e->shape};
    unsigned char *fixed = NULL;
    const void *data = src;
    uint64_t nbytes;

    if (!nd__elements_nbytes(e->ndim, e->shape, nd_dtype_size(e->dtype), &nbytes) ||
        nbytes > SIZE_MAX)
        return nd__fail(ND_ERR_OVERFLOW, op, -1, "the array does not fit the address space");
    int swap = e->swap && number_size(e->dtype) > 1;
    int booleans = e->dtype == ND_BOOL && !all_bools(src, (size_t)nbytes);
    if (nbytes && (swap || booleans)) {
        fixed = malloc((size_t)nbytes);
        if (!fixed)
            return nd__fail(ND_ERR_MEMORY, op, -1, "no memory for %llu bytes",
                            (unsigned long long)nbytes);
        if (swap)
            nd__elements_swap(fixed, src, (size_t)nbytes, e->dtype);
        if (booleans)
            make_bools(fixed, src, (size_t)nbytes);
        data = fixed;
    }
    nd_status status = nd_from_host(&layout, data, device, out);
    free(fixed);
    return status;
}

nd_status nd__host_copy_open(const char *op, const nd_array *a, int big, nd__host_copy *out)
{
    nd_dtype dtype = nd_dtype_of(a);
    int swap = big != ND__HOST_IS_BIG && number_size(dtype) > 1;
    nd_device_info device;

    memset(out, 0, sizeof *out);
    out->data = "";
    out->nbytes = (size_t)nd_size(a) * nd_dtype_size(dtype);
    if (out->nbytes == 0)
        return ND_OK;
    nd_device_describe(nd_device_of(a), &device);
    if (device.host_visible && nd_is_contiguous(a) && !swap) {
        void *own;
        ND_RETURN_IF(nd_data(a, &own));
        out->data = own;
        if (dtype != ND_BOOL || all_bools(own, out->nbytes))
            return ND_OK;
    }
    out->owned = malloc(out->nbytes);
    if (!out->owned)
        return nd__fail(ND_ERR_MEMORY, op, -1, "no memory for a copy of %zu bytes", out->nbytes);
    nd_status status = nd_to_host(a, out->owned, out->nbytes);
    if (status != ND_OK) {
        nd__host_copy_close(out);
        return status;
    }
    if (swap)
        nd__elements_swap(out->owned, out->owned, out->nbytes, dtype);
    if (dtype == ND_BOOL)
        make_bools(out->owned, out->owned, out->nbytes);
    out->data = out->owned;
    return ND_OK;
}

void nd__host_copy_close(nd__host_copy *copy)
{
    free(copy->owned);
    copy->owned = NULL;
}
