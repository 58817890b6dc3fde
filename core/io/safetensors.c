/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Reading safetensors: 8 bytes of header length, a JSON header, and the elements, which the tensors
 * must cover without holes or overlap. A tensor of a dtype that ndock lacks is refused when it is
 * loaded, so that the others of its file can be. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "core/core.h"
#include "core/io/elements.h"
#include "core/io/file.h"
#include "core/io/json.h"
#include "core/io/safetensors.h"

static const char op_open[] = "safetensors_open";

typedef struct {
    const char *name, *dtype_name;
    nd_dtype dtype; /* 0: not one of ndock's */
    int32_t ndim;
    size_t shape; /* index of the first extent in extents */
    uint64_t begin, end;
} tensor;

typedef struct {
    const char *key, *value;
} pair;

struct nd_safetensors {
    nd__map map;
    char *path, *arena;
    size_t data; /* where the elements start */
    tensor *tensors;
    size_t count, room;
    tensor **by_name;
    int64_t *extents;
    size_t extents_count, extents_room;
    pair *metadata;
    size_t metadata_count, metadata_room;
};

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

/* Room for one more item; 0 without memory. */
static int reserve(void *items, size_t count, size_t *room, size_t item)
{
    void *old, *grown;
    if (count < *room)
        return 1;
    size_t want = *room ? 2 * *room : 16;
    memcpy(&old, items, sizeof old);
    grown = realloc(old, want * item);
    if (!grown)
        return 0;
    memcpy(items, &grown, sizeof grown);
    *room = want;
    return 1;
}

static nd_status no_memory(void)
{
    return nd__fail(ND_ERR_MEMORY, op_open, -1, "no memory for the header's tables");
}

/* The parser's functions return ND_OK also after a JSON error, which waits in the reader: callers
 * stop since every later call on it fails. */
static nd_status read_metadata(nd_safetensors *f, nd__json *j)
{
    int first = 1;
    nd__json_enter(j, '{');
    while (nd__json_next(j, '{', &first)) {
        if (!reserve(&f->metadata, f->metadata_count, &f->metadata_room, sizeof *f->metadata))
            return no_memory();
        pair *p = &f->metadata[f->metadata_count++];
        nd__json_key(j, &p->key);
        nd__json_text(j, &p->value);
    }
    return ND_OK;
}

static nd_status read_shape(nd_safetensors *f, nd__json *j, tensor *t)
{
    int first = 1;
    t->ndim = 0;
    t->shape = f->extents_count;
    nd__json_enter(j, '[');
    while (nd__json_next(j, '[', &first)) {
        int64_t extent = 0;
        if (!reserve(&f->extents, f->extents_count, &f->extents_room, sizeof *f->extents))
            return no_memory();
        if (t->ndim == ND_MAX_NDIM)
            nd__json_fail(j, "a shape has more than 64 axes");
        if (nd__json_int(j, &extent) && extent < 0)
            nd__json_fail(j, "a shape has a negative extent");
        f->extents[f->extents_count++] = extent;
        t->ndim++;
    }
    return ND_OK;
}

static void read_offsets(nd__json *j, tensor *t)
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

static nd_status read_tensor(nd_safetensors *f, nd__json *j, tensor *t)
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
        if (!reserve(&f->tensors, f->count, &f->room, sizeof *f->tensors))
            return no_memory();
        tensor *t = &f->tensors[f->count++];
        memset(t, 0, sizeof *t);
        t->name = name;
        ND_RETURN_IF(read_tensor(f, j, t));
    }
    nd__json_end(j);
    return ND_OK;
}

static int by_offset(const void *a, const void *b)
{
    const tensor *x = a, *y = b;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    if (x->end != y->end)
        return x->end < y->end ? -1 : 1;
    /* Empty ones at one place: in the header's order, in which the texts lie. */
    return x->name < y->name ? -1 : x->name > y->name;
}

static int by_name(const void *a, const void *b)
{
    const tensor *const *x = a, *const *y = b;
    return strcmp((*x)->name, (*y)->name);
}

static int by_key(const void *a, const void *b)
{
    const pair *x = a, *y = b;
    return strcmp(x->key, y->key);
}

static nd_status bad_tensor(const nd_safetensors *f, const tensor *t, const char *why)
{
    char name[80];
    return nd__fail(ND_ERR_FORMAT, op_open, 0,
                    "%s: tensor \"%s\", bytes %" PRIu64 " to %" PRIu64 " of the data: %s", f->path,
                    nd__quote(name, sizeof name, t->name, strlen(t->name)), t->begin, t->end, why);
}

/* The tensors, in order, cover the data exactly. */
static nd_status check_data(const nd_safetensors *f)
{
    uint64_t size = f->map.size - f->data, expected = 0, nbytes;
    for (size_t i = 0; i < f->count; i++) {
        const tensor *t = &f->tensors[i];
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
        if (!nd__elements_nbytes(t->ndim, f->extents + t->shape, nd_dtype_size(t->dtype), &nbytes))
            return bad_tensor(f, t, "the shape's size does not fit 63 bits");
        if (nbytes != t->end - t->begin)
            return bad_tensor(f, t, "their number is not that of the shape and dtype");
    }
    if (expected != size)
        return nd__fail(ND_ERR_FORMAT, op_open, 0,
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
        qsort(f->by_name, f->count, sizeof *f->by_name, by_name);
    }
    for (size_t i = 1; i < f->count; i++)
        if (by_name(&f->by_name[i - 1], &f->by_name[i]) == 0)
            return bad_tensor(f, f->by_name[i], "another tensor has the same name");
    if (f->metadata_count)
        qsort(f->metadata, f->metadata_count, sizeof *f->metadata, by_key);
    for (size_t i = 1; i < f->metadata_count; i++)
        if (by_key(&f->metadata[i - 1], &f->metadata[i]) == 0)
            return nd__fail(
                ND_ERR_FORMAT, op_open, 0, "%s: metadata has the key \"%s\" twice", f->path,
                nd__quote(text, sizeof text, f->metadata[i].key, strlen(f->metadata[i].key)));
    return ND_OK;
}

static nd_status parse(nd_safetensors *f)
{
    const unsigned char *p = f->map.data;
    uint64_t length = 0;
    nd__json j;

    if (f->map.size < 8)
        return nd__fail(ND_ERR_FORMAT, op_open, 0,
                        "%s: not a safetensors file: it lacks the 8 bytes of the header's length",
                        f->path);
    for (int i = 7; i >= 0; i--)
        length = length << 8 | p[i];
    if (length > ND__SAFETENSORS_HEADER_MAX)
        return nd__fail(ND_ERR_FORMAT, op_open, 0,
                        "%s: not a safetensors file: a header of %" PRIu64 " bytes, above %d",
                        f->path, length, ND__SAFETENSORS_HEADER_MAX);
    if (length > f->map.size - 8)
        return nd__fail(ND_ERR_FORMAT, op_open, 0,
                        "%s: cut short: the header lacks %" PRIu64 " of its %" PRIu64 " bytes",
                        f->path, length - (f->map.size - 8), length);
    if (length == 0 || p[8] != '{')
        return nd__fail(ND_ERR_FORMAT, op_open, 0, "%s: expected '{' at byte 8", f->path);
    f->data = 8 + (size_t)length;
    f->arena = malloc((size_t)length);
    if (!f->arena)
        return no_memory();
    nd__json_start(&j, p + 8, (size_t)length, f->arena);
    ND_RETURN_IF(read_header(f, &j));
    if (j.error)
        return nd__fail(ND_ERR_FORMAT, op_open, 0, "%s: the header is malformed at byte %zu: %s",
                        f->path, 8 + j.error_at, j.error);
    for (size_t i = 0; i < f->count; i++)
        f->tensors[i].dtype = nd__safetensors_dtype(f->tensors[i].dtype_name);
    ND_RETURN_IF(index_tables(f));
    return check_data(f);
}

nd_status nd_safetensors_open(const char *path, nd_safetensors **out)
{
    nd_status status;
    nd_safetensors *f;

    if (!out || !path)
        return nd__fail(ND_ERR_ARGUMENT, op_open, out ? 0 : 1, "%s is NULL", out ? "path" : "out");
    *out = NULL;
    f = calloc(1, sizeof *f);
    if (!f)
        return no_memory();
    f->map.fd = -1;
    f->path = strdup(path);
    if (!f->path) {
        status = no_memory();
        goto failed;
    }
    ND_GOTO_IF(failed, nd__map_open(op_open, f->path, &f->map));
    ND_GOTO_IF(failed, parse(f));
    *out = f;
    return ND_OK;
failed:
    nd_safetensors_close(f);
    return status;
}

void nd_safetensors_close(nd_safetensors *file)
{
    if (!file)
        return;
    nd__map_close(&file->map);
    free(file->path);
    free(file->arena);
    free(file->tensors);
    free(file->by_name);
    free(file->extents);
    free(file->metadata);
    free(file);
}

int nd_safetensors_count(const nd_safetensors *file)
{
    return file ? (int)file->count : 0;
}

const char *nd_safetensors_name(const nd_safetensors *file, int i)
{
    return file && i >= 0 && (size_t)i < file->count ? file->tensors[i].name : NULL;
}

const char *nd_safetensors_metadata(const nd_safetensors *file, const char *key)
{
    pair want = {key, NULL};
    if (!file || !key || !file->metadata_count)
        return NULL;
    const pair *found = bsearch(&want, file->metadata, file->metadata_count, sizeof want, by_key);
    return found ? found->value : NULL;
}

static nd_status unknown_name(const nd_safetensors *f, const char *op, const char *name)
{
    char list[320], quoted[80];
    size_t used = 0, shown = 0;
    list[0] = 0;
    while (shown < f->count && used + sizeof quoted < sizeof list) {
        const char *s = f->tensors[shown].name;
        used += (size_t)snprintf(list + used, sizeof list - used, "%s\"%s\"", shown ? ", " : "",
                                 nd__quote(quoted, sizeof quoted - 4, s, strlen(s)));
        shown++;
    }
    if (shown < f->count)
        snprintf(list + used, sizeof list - used, " and %zu more", f->count - shown);
    return nd__fail(ND_ERR_INDEX, op, 1, "%s has no tensor \"%s\"; there %s %s", f->path,
                    nd__quote(quoted, sizeof quoted, name, strlen(name)),
                    f->count == 1 ? "is" : "are", f->count ? list : "none");
}

nd_status nd_safetensors_load(nd_safetensors *file, const char *name, nd_device *device,
                              nd_array **out)
{
    const char *op = "safetensors_load";
    nd__elements e = {.swap = ND__HOST_IS_BIG};
    char text[2][80];

    if (!out)
        return nd__fail(ND_ERR_ARGUMENT, op, 3, "out is NULL");
    *out = NULL;
    if (!file || !name)
        return nd__fail(ND_ERR_ARGUMENT, op, file ? 1 : 0, "%s is NULL", file ? "name" : "file");
    tensor want = {.name = name}, *key = &want, **found = NULL;
    if (file->count)
        found = bsearch(&key, file->by_name, file->count, sizeof key, by_name);
    if (!found)
        return unknown_name(file, op, name);
    const tensor *t = *found;
    if (!t->dtype)
        return nd__fail(ND_ERR_DTYPE, op, 1, "%s: tensor \"%s\" has dtype %s, which ndock lacks",
                        file->path, nd__quote(text[0], sizeof text[0], t->name, strlen(t->name)),
                        nd__quote(text[1], sizeof text[1], t->dtype_name, strlen(t->dtype_name)));
    ND_RETURN_IF(nd__map_check(&file->map));
    e.dtype = t->dtype;
    e.ndim = t->ndim;
    if (t->ndim)
        memcpy(e.shape, file->extents + t->shape, (size_t)t->ndim * sizeof *e.shape);
    return nd__elements_load(op, &e, file->map.data + file->data + t->begin, device, out);
}
