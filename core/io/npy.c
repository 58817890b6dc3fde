/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Arrays from and to NumPy's .npy files. */
#include <stdlib.h>
#include <string.h>
#include "core/ops/ops.h"
#include "core/base/file.h"
#include "core/io/npy.h"

nd_status nd__npy_opaque(const char *op, const char *path, nd_dtype dtype, nd__npy_header *h)
{
    if (!h->opaque)
        return ND_OK;
    if (!dtype)
        return nd__fail(ND_ERR_DTYPE, op, 0,
                        "%s: opaque elements of %d bytes (dtype V%d); nd_npy_load_as reads them as "
                        "a dtype of that size, V2 as bf16, V1 as an 8-bit float",
                        path, h->opaque, h->opaque);
    if (nd_dtype_size(dtype) != (size_t)h->opaque)
        return nd__fail(ND_ERR_DTYPE, op, 1,
                        "%s: opaque elements of %d bytes (dtype V%d) cannot be read as %s", path,
                        h->opaque, h->opaque, nd_dtype_name(dtype));
    h->elements.dtype = dtype;
    return ND_OK;
}

nd_status nd__npy_nbytes(const char *op, const char *path, const nd__npy_header *h, uint64_t there,
                         uint64_t *nbytes)
{
    const nd__elements *e = &h->elements;
    if (!nd__elements_nbytes(e->ndim, e->shape, nd_dtype_size(e->dtype), nbytes))
        return nd__fail(ND_ERR_FORMAT, op, 0, "%s: the shape's size does not fit 63 bits", path);
    if (*nbytes > there)
        return nd__fail(ND_ERR_FORMAT, op, 0,
                        "%s: cut short: the elements lack %llu of their %llu bytes", path,
                        (unsigned long long)(*nbytes - there), (unsigned long long)*nbytes);
    return ND_OK;
}

nd_status nd__npy_elements(const char *op, nd__npy_header *h, const void *data, nd_device *device,
                           nd_array **out)
{
    nd__elements *e = &h->elements;
    nd_array *reversed;
    if (!h->fortran || e->ndim < 2)
        return nd__elements_load(op, e, data, device, out);
    /* Elements in Fortran order are those of the transpose in C order. */
    for (int i = 0, k = e->ndim - 1; i < k; i++, k--) {
        int64_t extent = e->shape[i];
        e->shape[i] = e->shape[k];
        e->shape[k] = extent;
    }
    ND_RETURN_IF(nd__elements_load(op, e, data, device, &reversed));
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
    uint64_t nbytes;

    *out = NULL;
    ND_RETURN_IF(nd__map_open(op, path, &map));
    ND_GOTO_IF(done, nd__npy_header_read(op, path, map.data, map.size, &header));
    ND_GOTO_IF(done, nd__npy_opaque(op, path, opaque, &header));
    ND_GOTO_IF(done, nd__npy_nbytes(op, path, &header, map.size - header.data, &nbytes));
    ND_GOTO_IF(done, nd__map_check(&map));
    ND_GOTO_IF(done, nd__npy_elements(op, &header, map.data + header.data, device, out));
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

nd_status nd__npy_content_open(const char *op, const nd_array *a, nd__npy_content *out)
{
    nd_status status;
    int fortran;
    memset(out, 0, sizeof *out);
    ND_GOTO_IF(failed, written_view(a, &out->reversed, &fortran));
    ND_GOTO_IF(failed,
               nd__host_copy_open(op, fortran ? out->reversed : a, ND__HOST_IS_BIG, &out->copy));
    nd__npy_header_write(&out->header, nd_dtype_of(a), fortran, nd_ndim(a), nd_shape(a));
    if (!out->header.failed)
        return ND_OK;
    status = nd__fail(ND_ERR_MEMORY, op, -1, "no memory for the header");
failed:
    nd__npy_content_close(out);
    return status;
}

void nd__npy_content_close(nd__npy_content *content)
{
    free(content->header.data);
    nd__host_copy_close(&content->copy);
    nd_release(content->reversed);
    memset(content, 0, sizeof *content);
}

nd_status nd_npy_save(const char *path, const nd_array *a, const nd_save_opts *opts)
{
    const char *op = "npy_save";
    nd_status status;
    nd__npy_content content;
    nd__writer file = {.fd = -1};

    if (!a)
        return nd__fail(ND_ERR_ARGUMENT, op, 1, "the array is NULL");
    ND_RETURN_IF(nd__save_opts_check(op, 2, opts));
    ND_RETURN_IF(nd__npy_content_open(op, a, &content));
    ND_GOTO_IF(done, nd__writer_open(op, path, &file));
    ND_GOTO_IF(done, nd__writer_put(&file, content.header.data, content.header.len));
    ND_GOTO_IF(done, nd__writer_put(&file, content.copy.data, content.copy.nbytes));
    ND_GOTO_IF(done, nd__writer_commit(&file, opts));
done:
    nd__writer_close(&file);
    nd__npy_content_close(&content);
    return status;
}
