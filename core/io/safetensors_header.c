/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The header of a safetensors file: 8 bytes of length and a JSON object, whose tensors must cover
 * the elements behind it without holes or overlap. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "core/ops/ops.h"
#include "core/io/elements.h"
#include "core/base/json.h"
#include "core/io/safetensors.h"

static const char op[] = "safetensors_open";

static const struct {
    const char *name;
    nd_dtype dtype;
} dtypes[] = {
#define ND_DTYPE(NAME, id, nbytes, KIND, name, standard, numpy, dlpack, doc) {#NAME, id},
#include <ndock/dtype.def>
};

const char *nd__safetensors_dtype_name(nd_dtype dtype)
{
    for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++)
        if (dtypes[i].dtype == dtype && dtype != ND_C128)
            return dtypes[i].name;
    return NULL;
}

nd_dtype nd__safetensors_dtype(const char *name)
{
    for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++)
        if (strcmp(dtypes[i].name, name) == 0 && dtypes[i].dtype != ND_C128)
            return dtypes[i].dtype;
    return 0;
}

/* items, or a larger copy with room for one more; NULL without memory, and items stay. */
static void *grown(void *items, size_t count, size_t *room, size_t item)
{
    if (count < *room)
        return items;
    size_t want = *room ? 2 * *room : 16;
    void *larger = realloc(items, want * item);
    if (larger)
        *room = want;
    return larger;
}

static nd_status no_memory(void)
{
    return nd__fail(ND_ERR_MEMORY, op, -1, "no memory for the header's tables");
}

/* The parser's functions return ND_OK also after a JSON error, which waits in the reader: callers
 * stop since every later call on it fails. */
static nd_status read_metadata(nd_safetensors *f, nd__json *j)
{
    int first = 1;
    nd__json_enter(j, '{');
    while (nd__json_next(j, '{', &first)) {
        nd__pair *p = grown(f->metadata, f->metadata_count, &f->metadata_room, sizeof *p);
        if (!p)
            return no_memory();
        f->metadata = p;
        p += f->metadata_count++;
        nd__json_key(j, &p->key);
        nd__json_text(j, &p->value);
    }
    return ND_OK;
}

static nd_status read_shape(nd_safetensors *f, nd__json *j, nd__tensor *t)
{
    int first = 1;
    t->ndim = 0;
    t->shape = f->extents_count;
    nd__json_enter(j, '[');
    while (nd__json_next(j, '[', &first)) {
        int64_t extent = 0;
        int64_t *extents = grown(f->extents, f->extents_count, &f->extents_room, sizeof extent);
        if (!extents)
            return no_memory();
        f->extents = extents;
        if (t->ndim == ND_MAX_NDIM)
            nd__json_fail(j, "a shape has more than 64 axes");
        if (nd__json_int(j, &extent) && extent < 0)
            nd__json_fail(j, "a shape has a negative extent");
        f->extents[f->extents_count++] = extent;
        t->ndim++;
    }
    return ND_OK;
}

static void read_offsets(nd__json *j, nd__tensor *t)
{
    int64_t offset[2] = {0, 0};
    int first = 1, n = 0;
    nd__json_enter(j, '[');
    while (nd__json_next(j, '[', &first)) {
        if (n == 2)
            nd__json_fail(j, "data_offsets are two integers");
        else if (nd__json_int(j, &offset[n]) && offset[n] < 0)
            nd__json_fail(j, "an offset is negative");
        n += n < 2;
    }
    if (n != 2)
        nd__json_fail(j, "data_offsets are two integers");
    t->begin = (uint64_t)offset[0];
    t->end = (uint64_t)offset[1];
}

static nd_status read_tensor(nd_safetensors *f, nd__json *j, nd__tensor *t)
{
    static const char *const keys[] = {"dtype", "shape", "data_offsets"};
    int first = 1, seen = 0;
    nd__json_enter(j, '{');
    while (nd__json_next(j, '{', &first)) {
        const char *key;
        int which = 0;
        nd__json_key(j, &key);
        while (which < 3 && strcmp(key, keys[which]) != 0)
            which++;
        if (which < 3 && (seen & 1 << which))
            nd__json_fail(j, "a key comes twice");
        seen |= 1 << which;
        if (which == 0)
            nd__json_text(j, &t->dtype_name);
        else if (which == 1)
            ND_RETURN_IF(read_shape(f, j, t));
        else if (which == 2)
            read_offsets(j, t);
        else
            nd__json_skip(j);
    }
    if ((seen & 7) != 7)
        nd__json_fail(j, "a tensor needs dtype, shape and data_offsets");
    return ND_OK;
}

static nd_status read_header(nd_safetensors *f, nd__json *j)
{
    int first = 1, metadata = 0;
    nd__json_enter(j, '{');
    while (nd__json_next(j, '{', &first)) {
        const char *name;
        nd__json_key(j, &name);
        if (strcmp(name, ND__SAFETENSORS_METADATA) == 0) {
            if (metadata++)
                nd__json_fail(j, ND__SAFETENSORS_METADATA " comes twice");
            ND_RETURN_IF(read_metadata(f, j));
            continue;
        }
        if (f->count == INT32_MAX)
            nd__json_fail(j, "too many tensors");
        nd__tensor *t = grown(f->tensors, f->count, &f->room, sizeof *t);
        if (!t)
            return no_memory();
        f->tensors = t;
        t += f->count++;
        memset(t, 0, sizeof *t);
        t->name = name;
        ND_RETURN_IF(read_tensor(f, j, t));
    }
    nd__json_end(j);
    return ND_OK;
}

static int by_offset(const void *a, const void *b)
{
    const nd__tensor *x = a, *y = b;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    if (x->end != y->end)
        return x->end < y->end ? -1 : 1;
    /* Empty ones at one place: in the header's order, in which the texts lie. */
    return x->name < y->name ? -1 : x->name > y->name;
}

int nd__tensor_by_name(const void *a, const void *b)
{
    const nd__tensor *const *x = a, *const *y = b;
    return strcmp((*x)->name, (*y)->name);
}

int nd__pair_by_key(const void *a, const void *b)
{
    const nd__pair *x = a, *y = b;
    return strcmp(x->key, y->key);
}

static nd_status bad_tensor(const nd_safetensors *f, const nd__tensor *t, const char *why)
{
    char name[80];
    return nd__fail(ND_ERR_FORMAT, op, 0,
                    "%s: tensor \"%s\", bytes %" PRIu64 " to %" PRIu64 " of the data: %s", f->path,
                    nd__quote(name, sizeof name, t->name, strlen(t->name)), t->begin, t->end, why);
}

/* The tensors, in order, cover the data exactly. */
static nd_status check_data(const nd_safetensors *f)
{
    uint64_t size = f->map.size - f->data, expected = 0, nbytes;
    for (size_t i = 0; i < f->count; i++) {
        const nd__tensor *t = &f->tensors[i];
        if (t->begin > t->end)
            return bad_tensor(f, t, "they end before they begin");
        if (t->end > size)
            return bad_tensor(f, t, "the file is cut short");
        if (t->begin != expected)
            return bad_tensor(f, t,
                              t->begin < expected ? "they overlap those of another tensor"
                                                  : "there is a hole before them");
        expected = t->end;
        if (!t->dtype)
            continue;
        const int64_t *shape = t->ndim ? f->extents + t->shape : NULL;
        if (!nd__elements_nbytes(t->ndim, shape, nd_dtype_size(t->dtype), &nbytes))
            return bad_tensor(f, t, "the shape's size does not fit 63 bits");
        if (nbytes != t->end - t->begin)
            return bad_tensor(f, t, "their number is not that of the shape and dtype");
    }
    if (expected != size)
        return nd__fail(ND_ERR_FORMAT, op, 0,
                        "%s: %" PRIu64 " bytes after the last tensor belong to none", f->path,
                        size - expected);
    return ND_OK;
}

static nd_status index_tables(nd_safetensors *f)
{
    char text[80];
    if (f->count) {
        qsort(f->tensors, f->count, sizeof *f->tensors, by_offset);
        f->by_name = malloc(f->count * sizeof *f->by_name);
        if (!f->by_name)
            return no_memory();
        for (size_t i = 0; i < f->count; i++)
            f->by_name[i] = &f->tensors[i];
        qsort(f->by_name, f->count, sizeof *f->by_name, nd__tensor_by_name);
    }
    for (size_t i = 1; i < f->count; i++)
        if (nd__tensor_by_name(&f->by_name[i - 1], &f->by_name[i]) == 0)
            return bad_tensor(f, f->by_name[i], "another tensor has the same name");
    if (f->metadata_count)
        qsort(f->metadata, f->metadata_count, sizeof *f->metadata, nd__pair_by_key);
    for (size_t i = 1; i < f->metadata_count; i++)
        if (nd__pair_by_key(&f->metadata[i - 1], &f->metadata[i]) == 0)
            return nd__fail(
                ND_ERR_FORMAT, op, 0, "%s: metadata has the key \"%s\" twice", f->path,
                nd__quote(text, sizeof text, f->metadata[i].key, strlen(f->metadata[i].key)));
    return ND_OK;
}

nd_status nd__safetensors_parse(nd_safetensors *f)
{
    const unsigned char *p = f->map.data;
    uint64_t length = 0;
    nd__json j;

    if (f->map.size < 8)
        return nd__fail(ND_ERR_FORMAT, op, 0,
                        "%s: not a safetensors file: it lacks the 8 bytes of the header's length",
                        f->path);
    for (int i = 7; i >= 0; i--)
        length = length << 8 | p[i];
    if (length > ND__SAFETENSORS_HEADER_MAX)
        return nd__fail(ND_ERR_FORMAT, op, 0,
                        "%s: not a safetensors file: a header of %" PRIu64 " bytes, above %d",
                        f->path, length, ND__SAFETENSORS_HEADER_MAX);
    if (length > f->map.size - 8)
        return nd__fail(ND_ERR_FORMAT, op, 0,
                        "%s: cut short: the header lacks %" PRIu64 " of its %" PRIu64 " bytes",
                        f->path, length - (f->map.size - 8), length);
    if (length == 0 || p[8] != '{')
        return nd__fail(ND_ERR_FORMAT, op, 0, "%s: expected '{' at byte 8", f->path);
    f->data = 8 + (size_t)length;
    f->arena = malloc((size_t)length);
    if (!f->arena)
        return no_memory();
    nd__json_start(&j, p + 8, (size_t)length, f->arena);
    ND_RETURN_IF(read_header(f, &j));
    if (j.error)
        return nd__fail(ND_ERR_FORMAT, op, 0, "%s: the header is malformed at byte %zu: %s",
                        f->path, 8 + j.error_at, j.error);
    for (size_t i = 0; i < f->count; i++)
        f->tensors[i].dtype = nd__safetensors_dtype(f->tensors[i].dtype_name);
    ND_RETURN_IF(index_tables(f));
    return check_data(f);
}
