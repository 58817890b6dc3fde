/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * A GGUF file's tables: magic, version, counts, metadata, tensors, and where their bytes are. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "core/ops/ops.h"
#include "core/base/json.h"
#include "core/io/gguf.h"

static const char op[] = "gguf_open";
/* The fewest bytes that a key with its value, and a tensor's record, take: counts that lie are found
 * before room is made for them. */
enum { PAIR_BYTES = 8 + 4 + 1, TENSOR_BYTES = 8 + 4 + 4 + 8, TEXTS = 1 << 17 };

static nd_status no_memory(void)
{
    return nd__fail(ND_ERR_MEMORY, op, -1, "no memory for the file's tables");
}

/* ---- head ---- */

static nd_status check_version(const nd_gguf *f, uint64_t version)
{
    if (version == 2 || version == ND__GGUF_VERSION)
        return ND_OK;
    if ((version & 0xffff) == 0 && version)
        return nd__fail(ND_ERR_FORMAT, op, 0,
                        "%s: at byte 4: version 0x%08" PRIx64
                        ": the file is big-endian, which is not read",
                        f->path, version);
    return nd__fail(ND_ERR_FORMAT, op, 0,
                    "%s: at byte 4: version %" PRIu64 "; versions 2 and 3 are read", f->path,
                    version);
}

static nd_status read_count(const nd_gguf *f, nd__gguf_bytes *b, const char *what, int least,
                            size_t *count)
{
    uint64_t n;
    ND_RETURN_IF(nd__gguf_take_number(b, 8, what, &n));
    if (n > b->size / (uint64_t)least || n > INT32_MAX)
        return nd__fail(ND_ERR_FORMAT, op, 0,
                        "%s: at byte %" PRIu64 ": %s is %" PRIu64 ", more than a file of %" PRIu64
                        " bytes can have",
                        f->path, b->at - 8, what, n, b->size);
    *count = (size_t)n;
    return ND_OK;
}

static nd_status read_head(nd_gguf *f, nd__gguf_bytes *b)
{
    const unsigned char *magic;
    uint64_t version;
    if (b->size < 4 || memcmp(b->data, "GGUF", 4) != 0)
        return nd__fail(ND_ERR_FORMAT, op, 0, "%s: not a GGUF file: it does not begin with GGUF",
                        f->path);
    ND_RETURN_IF(nd__gguf_take(b, 4, "the magic", &magic));
    ND_RETURN_IF(nd__gguf_take_number(b, 4, "the version", &version));
    ND_RETURN_IF(check_version(f, version));
    ND_RETURN_IF(read_count(f, b, "the number of tensors", TENSOR_BYTES, &f->n_tensors));
    ND_RETURN_IF(read_count(f, b, "the number of keys", PAIR_BYTES, &f->n_pairs));
    f->pairs = calloc(f->n_pairs + 1, sizeof *f->pairs);
    f->tensors = calloc(f->n_tensors + 1, sizeof *f->tensors);
    f->by_key = calloc(f->n_pairs + 1, sizeof *f->by_key);
    f->by_name = calloc(f->n_tensors + 1, sizeof *f->by_name);
    return f->pairs && f->tensors && f->by_key && f->by_name ? (nd_status)ND_OK : no_memory();
}

/* ---- texts, keys ---- */

/* Room for n bytes, fewer than TEXTS; NULL without memory. */
static char *text_room(nd_gguf *f, size_t n)
{
    nd__gguf_texts *t = f->texts;
    if (!t || n > t->room - t->used) {
        t = malloc(sizeof *t + TEXTS);
        if (!t)
            return NULL;
        t->next = f->texts;
        t->used = 0;
        t->room = TEXTS;
        f->texts = t;
    }
    t->used += n;
    return t->data + t->used - n;
}

/* A name or key, ended by a 0. */
static nd_status read_text(nd_gguf *f, nd__gguf_bytes *b, const char *what, const char **text)
{
    const unsigned char *p;
    const uint64_t from = b->at;
    uint64_t n;
    char quoted[80];
    ND_RETURN_IF(nd__gguf_take_number(b, 8, what, &n));
    if (n > ND__GGUF_TEXT_MAX)
        return nd__fail(ND_ERR_FORMAT, op, 0,
                        "%s: at byte %" PRIu64 ": %s has %" PRIu64 " bytes, above %d", f->path,
                        from, what, n, ND__GGUF_TEXT_MAX);
    ND_RETURN_IF(nd__gguf_take(b, n, what, &p));
    const bool whole = !memchr(p, 0, (size_t)n) && nd__utf8_valid((const char *)p, (size_t)n);
    if (!whole)
        return nd__fail(ND_ERR_FORMAT, op, 0,
                        "%s: at byte %" PRIu64 ": %s \"%s\" is not UTF-8, or has a zero byte",
                        f->path, from, what,
                        nd__quote(quoted, sizeof quoted, (const char *)p, (size_t)n));
    char *to = text_room(f, (size_t)n + 1);
    if (!to)
        return no_memory();
    memcpy(to, p, (size_t)n);
    to[n] = 0;
    *text = to;
    return ND_OK;
}

static nd_status read_pair(nd_gguf *f, nd__gguf_bytes *b, nd__gguf_pair *pair)
{
    char quoted[80];
    uint64_t type;
    ND_RETURN_IF(read_text(f, b, "a key", &pair->key));
    ND_RETURN_IF(nd__gguf_take_number(b, 4, "a value's type", &type));
    if (!nd__gguf_type_name(type > INT32_MAX ? -1 : (int32_t)type))
        return nd__fail(ND_ERR_FORMAT, op, 0,
                        "%s: at byte %" PRIu64 ": the value of \"%s\" has type %" PRIu64
                        "; there are 0 to 12",
                        f->path, b->at - 4,
                        nd__quote(quoted, sizeof quoted, pair->key, strlen(pair->key)), type);
    return nd__gguf_take_value(b, (int32_t)type, &pair->value);
}

static nd_status read_alignment(nd_gguf *f)
{
    const nd__gguf_pair want = {.key = ND__GGUF_ALIGNMENT}, *key = &want;
    const nd__gguf_pair *const *found =
        bsearch(&key, f->by_key, f->n_pairs, sizeof *f->by_key, nd__gguf_by_key);
    f->alignment = ND__GGUF_ALIGN;
    if (!found)
        return ND_OK;
    const nd_gguf_value *v = &(*found)->value;
    f->alignment = v->type == ND_GGUF_U32 ? v->v.u : 0;
    if (f->alignment >= 8 && (f->alignment & (f->alignment - 1)) == 0)
        return ND_OK;
    return nd__fail(ND_ERR_FORMAT, op, 0,
                    "%s: " ND__GGUF_ALIGNMENT " is %" PRIu64 " of type %s; it is a u32, a power of "
                    "2 from 8 on",
                    f->path, v->v.u, nd__gguf_type_name(v->type));
}

/* ---- tensors ---- */

static nd_status bad_tensor(const nd_gguf *f, const nd_gguf_tensor *t, const char *why)
{
    char name[80];
    return nd__fail(ND_ERR_FORMAT, op, 0,
                    "%s: tensor \"%s\" of type %d, bytes %" PRIu64 " to %" PRIu64 ": %s", f->path,
                    nd__quote(name, sizeof name, t->name, strlen(t->name)), (int)t->type, t->offset,
                    t->offset + t->nbytes, why);
}

/* Extents come with that of adjacent elements first. */
static nd_status read_shape(nd_gguf *f, nd__gguf_bytes *b, nd_gguf_tensor *t)
{
    uint64_t ndim, extent;
    ND_RETURN_IF(nd__gguf_take_number(b, 4, "a tensor's rank", &ndim));
    if (ndim > ND__GGUF_NDIM)
        return nd__fail(ND_ERR_FORMAT, op, 0,
                        "%s: at byte %" PRIu64 ": a tensor has rank %" PRIu64 "; the highest is %d",
                        f->path, b->at - 4, ndim, ND__GGUF_NDIM);
    t->ndim = (int32_t)ndim;
    for (int i = t->ndim - 1; i >= 0; i--) {
        ND_RETURN_IF(nd__gguf_take_number(b, 8, "a tensor's extent", &extent));
        if (extent > INT64_MAX)
            return nd__fail(ND_ERR_FORMAT, op, 0,
                            "%s: at byte %" PRIu64 ": a tensor has the extent %" PRIu64
                            ", above 2^63",
                            f->path, b->at - 8, extent);
        t->shape[i] = (int64_t)extent;
    }
    return ND_OK;
}

/* How many bytes a tensor of a known type has. */
static nd_status set_nbytes(const nd_gguf *f, nd_gguf_tensor *t)
{
    int64_t block, item, nbytes, elements = 1, zero = 0;
    const int64_t row = t->ndim ? t->shape[t->ndim - 1] : 1;
    if (!nd__gguf_sizes(t->dtype, t->format, &block, &item))
        return ND_OK;
    if (row % block != 0)
        return bad_tensor(f, t, "a row is no whole number of blocks");
    nbytes = item;
    for (int i = 0; i < t->ndim; i++) {
        const int64_t extent = t->shape[i];
        zero |= extent == 0;
        /* The product without zero extents must fit too, as for every array. */
        if (extent && (!nd__mul_size(nbytes, i == t->ndim - 1 ? row / block : extent, &nbytes) ||
                       !nd__mul_size(elements, extent, &elements)))
            return bad_tensor(f, t, "the shape's size does not fit 63 bits");
    }
    t->nbytes = zero ? 0 : (uint64_t)nbytes;
    return ND_OK;
}

static nd_status read_tensor(nd_gguf *f, nd__gguf_bytes *b, nd_gguf_tensor *t)
{
    uint64_t type;
    t->size = sizeof *t;
    ND_RETURN_IF(read_text(f, b, "a tensor's name", &t->name));
    ND_RETURN_IF(read_shape(f, b, t));
    ND_RETURN_IF(nd__gguf_take_number(b, 4, "a tensor's type", &type));
    t->type = type > INT32_MAX ? -1 : (int32_t)type;
    nd__gguf_type(t->type, &t->dtype, &t->format);
    ND_RETURN_IF(nd__gguf_take_number(b, 8, "a tensor's offset", &t->offset));
    return set_nbytes(f, t);
}

static int by_offset(const void *a, const void *b)
{
    const nd_gguf_tensor *x = *(const nd_gguf_tensor *const *)a,
                         *y = *(const nd_gguf_tensor *const *)b;
    if (x->offset != y->offset)
        return x->offset < y->offset ? -1 : 1;
    return x->nbytes != y->nbytes ? (x->nbytes < y->nbytes ? -1 : 1) : (x > y) - (x < y);
}

static uint64_t aligned(const nd_gguf *f, uint64_t at)
{
    return (at + f->alignment - 1) & ~(f->alignment - 1);
}

/* by_name is in the order of offsets. Each tensor begins where the one before it ends, aligned; behind
 * one of an unknown type there may be any number of bytes. Offsets are the file's from then on. */
static nd_status check_places(nd_gguf *f)
{
    const uint64_t size = f->mapping->map.size, room = size - (f->data < size ? f->data : size);
    uint64_t expected = 0;
    bool known = true;
    for (size_t i = 0; i < f->n_tensors; i++) {
        nd_gguf_tensor *t = (nd_gguf_tensor *)(uintptr_t)f->by_name[i];
        if (t->offset > room || t->nbytes > room - t->offset)
            return bad_tensor(f, t, "the file is cut short (offsets count from the data's start)");
        if (t->offset % f->alignment != 0)
            return bad_tensor(f, t, "the offset is no multiple of the alignment");
        if (known ? t->offset != expected : t->offset < expected)
            return bad_tensor(f, t,
                              t->offset < expected ? "it overlaps another tensor"
                                                   : "there is a hole before it");
        expected = aligned(f, t->offset + t->nbytes);
        known = t->dtype || t->format;
        t->offset += f->data;
    }
    if (known && room > expected)
        return nd__fail(ND_ERR_FORMAT, op, 0,
                        "%s: at byte %" PRIu64 ": %" PRIu64 " bytes belong to no tensor", f->path,
                        f->data + expected, room - expected);
    return ND_OK;
}

/* ---- the whole ---- */

int nd__gguf_by_key(const void *a, const void *b)
{
    const nd__gguf_pair *const *x = a, *const *y = b;
    return strcmp((*x)->key, (*y)->key);
}

int nd__gguf_by_name(const void *a, const void *b)
{
    const nd_gguf_tensor *const *x = a, *const *y = b;
    return strcmp((*x)->name, (*y)->name);
}

static nd_status read_pairs(nd_gguf *f, nd__gguf_bytes *b)
{
    char quoted[80];
    for (size_t i = 0; i < f->n_pairs; i++) {
        ND_RETURN_IF(read_pair(f, b, &f->pairs[i]));
        f->by_key[i] = &f->pairs[i];
    }
    qsort(f->by_key, f->n_pairs, sizeof *f->by_key, nd__gguf_by_key);
    for (size_t i = 1; i < f->n_pairs; i++)
        if (nd__gguf_by_key(&f->by_key[i - 1], &f->by_key[i]) == 0)
            return nd__fail(
                ND_ERR_FORMAT, op, 0, "%s: the key \"%s\" comes twice", f->path,
                nd__quote(quoted, sizeof quoted, f->by_key[i]->key, strlen(f->by_key[i]->key)));
    return read_alignment(f);
}

static nd_status read_tensors(nd_gguf *f, nd__gguf_bytes *b)
{
    for (size_t i = 0; i < f->n_tensors; i++) {
        ND_RETURN_IF(read_tensor(f, b, &f->tensors[i]));
        f->by_name[i] = &f->tensors[i];
    }
    f->data = aligned(f, b->at);
    qsort(f->by_name, f->n_tensors, sizeof *f->by_name, by_offset);
    ND_RETURN_IF(check_places(f));
    qsort(f->by_name, f->n_tensors, sizeof *f->by_name, nd__gguf_by_name);
    for (size_t i = 1; i < f->n_tensors; i++)
        if (nd__gguf_by_name(&f->by_name[i - 1], &f->by_name[i]) == 0)
            return bad_tensor(f, f->by_name[i], "another tensor has the same name");
    return ND_OK;
}

nd_status nd__gguf_parse(nd_gguf *f)
{
    nd__gguf_bytes b = {op, f->path, f->mapping->map.data, 0, f->mapping->map.size};
    ND_RETURN_IF(read_head(f, &b));
    ND_RETURN_IF(read_pairs(f, &b));
    return read_tensors(f, &b);
}
