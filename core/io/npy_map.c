/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Arrays whose memory is a mapped .npy file. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "core/ops/ops.h"
#include "core/base/file.h"
#include "core/io/npy.h"

static const char op[] = "npy_map";

/* The last array over the file is gone. */
static void unmap(void *ctx)
{
    nd__map_close(ctx);
    free(ctx);
}

/* The strides of elements in Fortran order. */
static void fortran_strides(const nd__elements *e, int64_t *stride)
{
    int64_t n = 1;
    for (int i = 0; i < e->ndim; i++) {
        stride[i] = n;
        n *= e->shape[i];
    }
}

static bool is_bool(const unsigned char *p, uint64_t n)
{
    unsigned char seen = 0;
    for (uint64_t i = 0; i < n; i++)
        seen |= p[i];
    return seen <= 1;
}

/* What a reader would convert, a mapped file cannot have. */
static nd_status check_elements(const nd__map *map, const nd__npy_header *h, uint64_t nbytes)
{
    const nd__elements *e = &h->elements;
    const size_t align = (size_t)nd__alignment(e->dtype);
    if (e->swap && nd_dtype_size(e->dtype) > 1)
        return nd__fail(ND_ERR_FORMAT, op, 0,
                        "%s: its numbers have the other byte order, so that they cannot be mapped; "
                        "nd_npy_load reads them",
                        map->path);
    if (nbytes && h->data % align)
        return nd__fail(ND_ERR_FORMAT, op, 0,
                        "%s: its elements begin at byte %zu, no multiple of %zu, so that they "
                        "cannot be mapped; nd_npy_load reads them",
                        map->path, h->data, align);
    if (e->dtype == ND_BOOL && !is_bool(map->data + h->data, nbytes))
        return nd__fail(ND_ERR_FORMAT, op, 0,
                        "%s: a truth value has a byte other than 0 and 1, so that they cannot be "
                        "mapped; nd_npy_load reads them",
                        map->path);
    return ND_OK;
}

static nd_status wrap(const nd__map *map, const nd__npy_header *h, uint64_t nbytes, int32_t mode,
                      nd_device *device, nd_array **out)
{
    const nd__elements *e = &h->elements;
    int64_t stride[ND_MAX_NDIM];
    nd_layout layout = {.size = sizeof layout,
                        .dtype = e->dtype,
                        .ndim = e->ndim,
                        .flags = mode == ND_MAP_READ ? ND_LAYOUT_READONLY : 0,
                        .shape = e->shape};
    if (h->fortran && nbytes) {
        fortran_strides(e, stride);
        layout.stride = stride;
    }
    nd__map *kept = malloc(sizeof *kept);
    if (!kept)
        return nd__fail(ND_ERR_MEMORY, op, -1, "no memory for the file's record");
    *kept = *map;
    kept->path = NULL; /* the caller's */
    nd_status status =
        nd__wrap(op, &layout, (void *)(uintptr_t)(map->data + h->data), device, unmap, kept, out);
    if (status != ND_OK)
        free(kept);
    return status;
}

static nd_status check_device(nd_device *device)
{
    nd_device_info info;
    nd_device_describe(device, &info);
    if (!info.host_visible)
        return nd__fail(ND_ERR_DEVICE, op, 3,
                        "a file is mapped into host memory, which %s does not use; nd_npy_load "
                        "copies it there",
                        nd_device_name(device));
    return ND_OK;
}

nd_status nd_npy_map(const char *path, int32_t mode, nd_dtype opaque, nd_device *device,
                     nd_array **out)
{
    nd__map map;
    nd__npy_header header;
    nd_status status;
    uint64_t nbytes;

    ND_OUT(op, 4, out, NULL);
    if (mode != ND_MAP_READ && mode != ND_MAP_WRITE && mode != ND_MAP_PRIVATE)
        return nd__fail(ND_ERR_ARGUMENT, op, 1,
                        "mode is %d; there are ND_MAP_READ, ND_MAP_WRITE and ND_MAP_PRIVATE",
                        (int)mode);
    if (opaque && !nd_dtype_get(opaque))
        return nd__fail(ND_ERR_DTYPE, op, 2, "there is no dtype %d", (int)opaque);
    if (!device)
        ND_RETURN_IF(nd_device_get("cpu", &device));
    ND_RETURN_IF(check_device(device));
    ND_RETURN_IF(nd__map_open_as(op, path, mode, &map));
    ND_GOTO_IF(failed, nd__npy_header_read(op, path, map.data, map.size, &header));
    ND_GOTO_IF(failed, nd__npy_opaque(op, path, opaque, &header));
    ND_GOTO_IF(failed, nd__npy_nbytes(op, path, &header, map.size - header.data, &nbytes));
    ND_GOTO_IF(failed, check_elements(&map, &header, nbytes));
    close(map.fd); /* the mapping lives without it */
    map.fd = -1;
    ND_GOTO_IF(failed, wrap(&map, &header, nbytes, mode, device, out));
    return ND_OK;
failed:
    nd__map_close(&map);
    return status;
}
