/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Arrays from and to NumPy's .npy files. */
#include <stdlib.h>
#include "core/ops/ops.h"
#include "core/base/file.h"
#include "core/io/npy_header.h"

/* What opaque bytes are read as. */
static nd_status set_opaque(const nd__map *map, nd__npy_header *h, nd_dtype dtype)
{
    if (!h->opaque)
        return ND_OK;
    if (!dtype)
        return nd__fail(ND_ERR_DTYPE, map->op, 0,
                        "%s: opaque elements of %d bytes (dtype V%d); nd_npy_load_as reads them as "
                        "a dtype of that size, V2 as bf16",
                        map->path, h->opaque, h->opaque);
    if (nd_dtype_size(dtype) != (size_t)h->opaque)
        return nd__fail(ND_ERR_DTYPE, map->op, 1,
                        "%s: opaque elements of %d bytes (dtype V%d) cannot be read as %s",
                        map->path, h->opaque, h->opaque, nd_dtype_name(dtype));
    h->elements.dtype = dtype;
    return ND_OK;
}

static nd_status load_elements(const nd__map *map, nd__npy_header *h, nd_device *device,
                               nd_array **out)
{
    nd__elements *e = &h->elements;
    uint64_t nbytes, there = map->size - h->data;
    nd_array *reversed;

    if (!nd__elements_nbytes(e->ndim, e->shape, nd_dtype_size(e->dtype), &nbytes))
        return nd__fail(ND_ERR_FORMAT, map->op, 0, "%s: the shape's size does not fit 63 bits",
                        map->path);
    if (nbytes > there)
        return nd__fail(ND_ERR_FORMAT, map->op, 0,
                        "%s: cut short: the elements lack %llu of their %llu bytes", map->path,
                        (unsigned long long)(nbytes - there), (unsigned long long)nbytes);
    ND_RETURN_IF(nd__map_check(map));
    if (!h->fortran || e->ndim < 2)
        return nd__elements_load(map->op, e, map->data + h->data, device, out);
    /* Elements in Fortran order are those of the transpose in C order. */
    for (int i = 0, k = e->ndim - 1; i < k; i++, k--) {
        int64_t extent = e->shape[i];
        e->shape[i] = e->shape[k];
        e->shape[k] = extent;
    }
    ND_RETURN_IF(nd__elements_load(map->op, e, map->data + h->data, device, &reversed));
    nd_status status = nd_transpose(reversed, out);
    nd_release(reversed);
    return status;
}

static nd_status load(const char *op, const char *path, nd_dtype opaque, nd_device *device,
                      nd_array **out)
{
    nd__map map;
    nd__npy_header header;
    nd_status status;

    *out = NULL;
    ND_RETURN_IF(nd__map_open(op, path, &map));
    ND_GOTO_IF(done, nd__npy_header_read(op, path, map.data, map.size, &header));
    ND_GOTO_IF(done, set_opaque(&map, &header, opaque));
    ND_GOTO_IF(done, load_elements(&map, &header, device, out));
done:
    nd__map_close(&map);
    return status;
}

nd_status nd_npy_load(const char *path, nd_device *device, nd_array **out)
{
    if (!out)
        return nd__fail(ND_ERR_ARGUMENT, "npy_load", 2, "out is NULL");
    return load("npy_load", path, ND_DTYPE_BY_RULE, device, out);
}

nd_status nd_npy_load_as(const char *path, nd_dtype opaque, nd_device *device, nd_array **out)
{
    if (!out)
        return nd__fail(ND_ERR_ARGUMENT, "npy_load_as", 3, "out is NULL");
    *out = NULL;
    if (opaque && !nd_dtype_get(opaque))
        return nd__fail(ND_ERR_DTYPE, "npy_load_as", 1, "there is no dtype %d", (int)opaque);
    return load("npy_load_as", path, opaque, device, out);
}

/* The view whose elements in C order go into the file: a itself, or its transpose where only that
 * is dense, which keeps the order of axes and spares a copy. */
static nd_status written_view(const nd_array *a, nd_array **view, int *fortran)
{
    nd_array *reversed;
    ND_RETURN_IF(nd_transpose(a, &reversed));
    *fortran = !nd_is_contiguous(a) && nd_is_contiguous(reversed);
    *view = *fortran ? reversed : NULL;
    if (!*fortran)
        nd_release(reversed);
    return ND_OK;
}

nd_status nd_npy_save(const char *path, const nd_array *a, const nd_save_opts *opts)
{
    const char *op = "npy_save";
    nd_status status;
    nd_array *reversed = NULL;
    nd__host_copy copy = {0};
    nd_text header = {0};
    nd__writer file = {.fd = -1};
    int fortran;

    if (!a)
        return nd__fail(ND_ERR_ARGUMENT, op, 1, "the array is NULL");
    ND_RETURN_IF(nd__save_opts_check(op, 2, opts));
    ND_GOTO_IF(done, written_view(a, &reversed, &fortran));
    ND_GOTO_IF(done, nd__host_copy_open(op, fortran ? reversed : a, ND__HOST_IS_BIG, &copy));
    nd__npy_header_write(&header, nd_dtype_of(a), fortran, nd_ndim(a), nd_shape(a));
    if (header.failed) {
        status = nd__fail(ND_ERR_MEMORY, op, -1, "no memory for the header");
        goto done;
    }
    ND_GOTO_IF(done, nd__writer_open(op, path, &file));
    ND_GOTO_IF(done, nd__writer_put(&file, header.data, header.len));
    ND_GOTO_IF(done, nd__writer_put(&file, copy.data, copy.nbytes));
    ND_GOTO_IF(done, nd__writer_commit(&file, opts));
done:
    nd__writer_close(&file);
    free(header.data);
    nd__host_copy_close(&copy);
    nd_release(reversed);
    return status;
}
