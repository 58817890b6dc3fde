/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * IDX, the format of the MNIST files: 0, 0, a type code, the rank, big-endian 32-bit extents and
 * elements; plain or gzip-compressed. */
#include <stdlib.h>
#include <string.h>
#include "core/ops/ops.h"
#include "core/io/elements.h"
#include "core/base/file.h"
#include "core/io/zlib.h"

/* The file's bytes in order, inflated or as they are. */
typedef struct {
    const nd__map *map;
    nd__inflate *inflate; /* NULL: plain */
    size_t at;
} source;

static nd_status read_bytes(source *s, void *dst, size_t want, size_t *got)
{
    if (s->inflate)
        return nd__inflate_read(s->inflate, dst, want, got);
    size_t left = s->map->size - s->at;
    *got = want < left ? want : left;
    memcpy(dst, s->map->data + s->at, *got);
    s->at += *got;
    return ND_OK;
}

static nd_status bad(const source *s, const char *what)
{
    return nd__fail(ND_ERR_FORMAT, s->map->op, 0, "%s: %s", s->map->path, what);
}

static nd_status read_header(source *s, nd__elements *e)
{
    static const nd_dtype dtypes[] = {[0x08] = ND_U8,  [0x09] = ND_I8,  [0x0B] = ND_I16,
                                      [0x0C] = ND_I32, [0x0D] = ND_F32, [0x0E] = ND_F64};
    unsigned char magic[4], extents[4 * ND_MAX_NDIM];
    size_t got;

    ND_RETURN_IF(read_bytes(s, magic, 4, &got));
    if (got < 4 || magic[0] != 0 || magic[1] != 0)
        return bad(s, "not an IDX file: it does not start with 0, 0, type, rank");
    e->dtype = magic[2] < sizeof dtypes / sizeof dtypes[0] ? dtypes[magic[2]] : 0;
    if (!e->dtype)
        return nd__fail(
            ND_ERR_FORMAT, s->map->op, 0,
            "%s: unknown type code 0x%02x at byte 2; there are 08 u8, 09 i8, 0B i16, 0C "
            "i32, 0D f32, 0E f64",
            s->map->path, magic[2]);
    e->ndim = magic[3];
    if (e->ndim > ND_MAX_NDIM)
        return nd__fail(ND_ERR_FORMAT, s->map->op, 0,
                        "%s: rank %d at byte 3; at most %d is possible", s->map->path, (int)e->ndim,
                        ND_MAX_NDIM);
    ND_RETURN_IF(read_bytes(s, extents, 4 * (size_t)e->ndim, &got));
    if (got < 4 * (size_t)e->ndim)
        return bad(s, "cut short within the extents");
    for (int i = 0; i < e->ndim; i++) {
        const unsigned char *p = extents + 4 * i;
        e->shape[i] = (int64_t)p[0] << 24 | p[1] << 16 | p[2] << 8 | p[3];
        if (e->shape[i] > INT32_MAX)
            return nd__fail(ND_ERR_FORMAT, s->map->op, 0, "%s: the extent at byte %d is negative",
                            s->map->path, 4 + 4 * i);
    }
    e->swap = !ND__HOST_IS_BIG;
    return ND_OK;
}

static nd_status wrong_size(const source *s, uint64_t promised, uint64_t there)
{
    if (there < promised)
        return nd__fail(ND_ERR_FORMAT, s->map->op, 0,
                        "%s: cut short: the elements lack %llu of their %llu bytes", s->map->path,
                        (unsigned long long)(promised - there), (unsigned long long)promised);
    return nd__fail(ND_ERR_FORMAT, s->map->op, 0,
                    "%s: more bytes than the %llu of elements that the header promises",
                    s->map->path, (unsigned long long)promised);
}

static nd_status load_plain(const source *s, const nd__elements *e, uint64_t nbytes,
                            nd_device *device, nd_array **out)
{
    if (s->map->size - s->at != nbytes)
        return wrong_size(s, nbytes, s->map->size - s->at);
    ND_RETURN_IF(nd__map_check(s->map));
    return nd__elements_load(s->map->op, e, s->map->data + s->at, device, out);
}

static nd_status load_inflated(source *s, nd__elements *e, uint64_t nbytes, nd_device *device,
                               nd_array **out)
{
    nd_status status;
    unsigned char beyond;
    size_t got, more = 0;

    if (!nd__inflate_holds(s->map->size, nbytes))
        return nd__fail(ND_ERR_FORMAT, s->map->op, 0,
                        "%s: cut short: %zu compressed bytes cannot hold the %llu that the header "
                        "promises",
                        s->map->path, s->map->size, (unsigned long long)nbytes);
    void *data = malloc(nbytes ? (size_t)nbytes : 1);
    if (!data)
        return nd__fail(ND_ERR_MEMORY, s->map->op, -1, "no memory for %llu bytes",
                        (unsigned long long)nbytes);
    ND_GOTO_IF(done, read_bytes(s, data, (size_t)nbytes, &got));
    /* One byte more, which must not be there, also makes zlib compare the checksum. */
    if (got == nbytes)
        ND_GOTO_IF(done, read_bytes(s, &beyond, 1, &more));
    if (got < nbytes || more) {
        status = wrong_size(s, nbytes, got + more);
        goto done;
    }
    if (e->swap)
        nd__elements_swap(data, data, (size_t)nbytes, e->dtype);
    e->swap = 0;
    status = nd__elements_load(s->map->op, e, data, device, out);
done:
    free(data);
    return status;
}

static nd_status load(source *s, nd_device *device, nd_array **out)
{
    nd__elements e;
    uint64_t nbytes;
    const nd__map *map = s->map;

    if (map->size >= 2 && map->data[0] == 0x1F && map->data[1] == 0x8B)
        ND_RETURN_IF(
            nd__inflate_open(map->op, map->path, ND__GZIP, map->data, map->size, &s->inflate));
    ND_RETURN_IF(read_header(s, &e));
    if (!nd__elements_nbytes(e.ndim, e.shape, nd_dtype_size(e.dtype), &nbytes) || nbytes > SIZE_MAX)
        return bad(s, "the extents' product does not fit 63 bits");
    return s->inflate ? load_inflated(s, &e, nbytes, device, out)
                      : load_plain(s, &e, nbytes, device, out);
}

nd_status nd_idx_load(const char *path, nd_device *device, nd_array **out)
{
    const char *op = "idx_load";
    nd__map map;

    if (!out)
        return nd__fail(ND_ERR_ARGUMENT, op, 2, "out is NULL");
    *out = NULL;
    ND_RETURN_IF(nd__map_open(op, path, &map));
    source s = {&map, NULL, 0};
    nd_status status = load(&s, device, out);
    nd__inflate_close(s.inflate);
    nd__map_close(&map);
    return status;
}
