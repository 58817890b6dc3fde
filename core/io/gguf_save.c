/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Writing GGUF, version 3. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "core/ops/quant.h"
#include "core/base/json.h"
#include "core/io/elements.h"
#include "core/io/gguf.h"

static const char op[] = "gguf_save";
enum { ALIGN_MAX = 65536 };

/* ---- what is given ---- */

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Names, or keys, are UTF-8 and differ. Sorts them. */
static nd_status check_texts(const char **texts, int n, size_t most, int32_t argument)
{
    char quoted[80];
    for (int i = 0; i < n; i++) {
        const size_t length = strlen(texts[i]);
        nd__quote(quoted, sizeof quoted, texts[i], length);
        if (!nd__utf8_valid(texts[i], length))
            return nd__fail(ND_ERR_ARGUMENT, op, argument, "\"%s\" is not UTF-8", quoted);
        if (length > most)
            return nd__fail(ND_ERR_ARGUMENT, op, argument, "\"%s\" has %zu bytes, above %zu",
                            quoted, length, most);
    }
    if (n > 0)
        qsort(texts, (size_t)n, sizeof *texts, by_text);
    for (int i = 1; i < n; i++)
        if (strcmp(texts[i - 1], texts[i]) == 0)
            return nd__fail(ND_ERR_ARGUMENT, op, argument, "\"%s\" comes twice",
                            nd__quote(quoted, sizeof quoted, texts[i], strlen(texts[i])));
    return ND_OK;
}

/* The array whose bytes are written. */
static const nd_array *bytes_of(const nd_gguf_item *item)
{
    return item->array ? item->array : nd_qarray_blocks(item->quant);
}

static int32_t type_of(const nd_gguf_item *item)
{
    return item->array ? nd__gguf_type_of(nd_dtype_of(item->array))
                       : nd_qarray_format(item->quant);
}

static nd_status check_item(const nd_gguf_item *item, int i)
{
    char quoted[80];
    if (!item->name || !item->array == !item->quant)
        return nd__fail(ND_ERR_ARGUMENT, op, 2, "items[%d] %s", i,
                        item->name ? "has an array or a quantised array, not both or neither"
                                   : "has no name");
    nd__quote(quoted, sizeof quoted, item->name, strlen(item->name));
    if (type_of(item) < 0)
        return nd__fail(ND_ERR_DTYPE, op, 2,
                        "array \"%s\" is %s, which GGUF lacks; it has f32, f16, bf16, f64, i8, "
                        "i16, i32 and i64",
                        quoted, nd_dtype_name(nd_dtype_of(item->array)));
    const int ndim = nd_ndim(bytes_of(item));
    if (ndim > ND__GGUF_NDIM)
        return nd__fail(ND_ERR_SHAPE, op, 2, "array \"%s\" has rank %d; the highest in GGUF is %d",
                        quoted, ndim, ND__GGUF_NDIM);
    return ND_OK;
}

/* The value's bytes are those of its type. */
static nd_status check_value(const nd_gguf_pair *pair)
{
    const nd_gguf_value *v = &pair->value;
    char quoted[80];
    nd_gguf_value whole;
    nd__quote(quoted, sizeof quoted, pair->key, strlen(pair->key));
    if (!nd__gguf_type_name(v->type) ||
        (v->type == ND_GGUF_ARRAY && !nd__gguf_type_name(v->item)) || (!v->data && v->nbytes))
        return nd__fail(ND_ERR_ARGUMENT, op, 4,
                        "the value of \"%s\" has type %d, of items %d, and %s", quoted,
                        (int)v->type, (int)v->item, v->data ? "data" : "no data");
    if (v->type == ND_GGUF_STRING)
        return ND_OK;
    nd__gguf_bytes b = {op, quoted, v->data ? v->data : (const void *)"", 0, v->nbytes};
    if (v->type != ND_GGUF_ARRAY) {
        ND_RETURN_IF(nd__gguf_take_value(&b, v->type, &whole));
    } else {
        nd_gguf_value rest = *v;
        while (rest.count > 0)
            ND_RETURN_IF(nd_gguf_next(&rest, &whole));
        b.at = v->nbytes - rest.nbytes;
    }
    return b.at == v->nbytes
               ? (nd_status)ND_OK
               : nd__fail(ND_ERR_ARGUMENT, op, 4,
                          "the value of \"%s\" has %" PRIu64 " bytes, of which %" PRIu64
                          " are its own",
                          quoted, v->nbytes, b.at);
}

static nd_status find_alignment(int n, const nd_gguf_pair *pairs, uint64_t *alignment)
{
    *alignment = ND__GGUF_ALIGN;
    for (int i = 0; i < n; i++) {
        const nd_gguf_value *v = &pairs[i].value;
        if (strcmp(pairs[i].key, ND__GGUF_ALIGNMENT) != 0)
            continue;
        const unsigned char *p = v->data;
        *alignment = v->type == ND_GGUF_U32 ? (uint32_t)p[0] | (uint32_t)p[1] << 8 |
                                                  (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24
                                            : 0;
        if (*alignment < 8 || *alignment > ALIGN_MAX || (*alignment & (*alignment - 1)))
            return nd__fail(ND_ERR_ARGUMENT, op, 4,
                            ND__GGUF_ALIGNMENT " is %" PRIu64 " of type %s; it is a u32, a power "
                                               "of 2 from 8 to 65536",
                            *alignment, nd__gguf_type_name(v->type));
    }
    return ND_OK;
}

static nd_status check_all(int n, const nd_gguf_item *items, int n_pairs,
                           const nd_gguf_pair *pairs, uint64_t *alignment, const char **texts)
{
    for (int i = 0; i < n; i++) {
        ND_RETURN_IF(check_item(&items[i], i));
        texts[i] = items[i].name;
    }
    ND_RETURN_IF(check_texts(texts, n, ND__GGUF_NAME_MAX, 2));
    for (int i = 0; i < n_pairs; i++) {
        if (!pairs[i].key)
            return nd__fail(ND_ERR_ARGUMENT, op, 4, "pairs[%d].key is NULL", i);
        ND_RETURN_IF(check_value(&pairs[i]));
        texts[i] = pairs[i].key;
    }
    ND_RETURN_IF(check_texts(texts, n_pairs, ND__GGUF_TEXT_MAX, 4));
    return find_alignment(n_pairs, pairs, alignment);
}

/* ---- the header ---- */

static void put_number(nd_text *h, uint64_t x, int nbytes)
{
    char bytes[8];
    for (int i = 0; i < nbytes; i++)
        bytes[i] = (char)(x >> 8 * i & 255);
    nd__text_bytes(h, bytes, (size_t)nbytes);
}

static void put_text(nd_text *h, const char *text)
{
    put_number(h, strlen(text), 8);
    nd__text_bytes(h, text, strlen(text));
}

static void put_pair(nd_text *h, const nd_gguf_pair *pair)
{
    const nd_gguf_value *v = &pair->value;
    put_text(h, pair->key);
    put_number(h, (uint64_t)v->type, 4);
    if (v->type == ND_GGUF_STRING)
        put_number(h, v->nbytes, 8);
    if (v->type == ND_GGUF_ARRAY) {
        put_number(h, (uint64_t)v->item, 4);
        put_number(h, v->count, 8);
    }
    if (v->nbytes)
        nd__text_bytes(h, v->data, (size_t)v->nbytes);
}

static uint64_t nbytes_of(const nd_array *a)
{
    return (uint64_t)nd_size(a) * nd_dtype_size(nd_dtype_of(a));
}

static void put_item(nd_text *h, const nd_gguf_item *item, uint64_t offset)
{
    const nd_array *a = bytes_of(item);
    const int64_t *shape = item->array ? nd_shape(a) : nd_qarray_shape(item->quant);
    put_text(h, item->name);
    put_number(h, (uint64_t)nd_ndim(a), 4);
    for (int i = nd_ndim(a) - 1; i >= 0; i--)
        put_number(h, (uint64_t)shape[i], 8);
    put_number(h, (uint64_t)type_of(item), 4);
    put_number(h, offset, 8);
}

static uint64_t aligned(uint64_t at, uint64_t alignment)
{
    return (at + alignment - 1) & ~(alignment - 1);
}

static nd_status build_header(nd_text *h, int n, const nd_gguf_item *items, int n_pairs,
                              const nd_gguf_pair *pairs, uint64_t alignment)
{
    uint64_t at = 0;
    nd__text_bytes(h, "GGUF", 4);
    put_number(h, ND__GGUF_VERSION, 4);
    put_number(h, (uint64_t)n, 8);
    put_number(h, (uint64_t)n_pairs, 8);
    for (int i = 0; i < n_pairs; i++)
        put_pair(h, &pairs[i]);
    for (int i = 0; i < n; i++) {
        const uint64_t nbytes = nbytes_of(bytes_of(&items[i]));
        put_item(h, &items[i], at);
        if (nbytes > (uint64_t)INT64_MAX - alignment - at)
            return nd__fail(ND_ERR_OVERFLOW, op, 2, "the tensors exceed 2^63 bytes");
        at = aligned(at + nbytes, alignment);
    }
    while (!h->failed && h->len % alignment)
        nd__text_bytes(h, "", 1);
    return h->failed ? nd__fail(ND_ERR_MEMORY, op, -1, "no memory for the header")
                     : (nd_status)ND_OK;
}

/* ---- the file ---- */

static nd_status put_tensor(nd__writer *file, const nd_array *a, uint64_t alignment)
{
    static const char zeros[256];
    nd__host_copy copy;
    ND_RETURN_IF(nd__host_copy_open(op, a, 0, &copy));
    nd_status status = nd__writer_put(file, copy.data, copy.nbytes);
    uint64_t rest = aligned(copy.nbytes, alignment) - copy.nbytes;
    nd__host_copy_close(&copy);
    while (status == ND_OK && rest > 0) {
        const size_t some = rest < sizeof zeros ? (size_t)rest : sizeof zeros;
        status = nd__writer_put(file, zeros, some);
        rest -= some;
    }
    return status;
}

static nd_status write_file(const char *path, int n, const nd_gguf_item *items,
                            const nd_text *header, uint64_t alignment, const nd_save_opts *opts)
{
    nd__writer file;
    nd_status status;
    ND_RETURN_IF(nd__writer_open(op, path, &file));
    ND_GOTO_IF(done, nd__writer_put(&file, header->data, header->len));
    for (int i = 0; i < n; i++)
        ND_GOTO_IF(done, put_tensor(&file, bytes_of(&items[i]), alignment));
    ND_GOTO_IF(done, nd__writer_commit(&file, opts));
done:
    nd__writer_close(&file);
    return status;
}

nd_status nd_gguf_save(const char *path, int n, const nd_gguf_item *items, int n_pairs,
                       const nd_gguf_pair *pairs, const nd_save_opts *opts)
{
    nd_status status;
    nd_text header = {0};
    uint64_t alignment = ND__GGUF_ALIGN;
    if (n < 0 || n_pairs < 0)
        return nd__fail(ND_ERR_ARGUMENT, op, n < 0 ? 1 : 3, "%s is negative",
                        n < 0 ? "n" : "n_pairs");
    ND_NEED_LIST(op, 2, n, items);
    ND_NEED_LIST(op, 4, n_pairs, pairs);
    ND_RETURN_IF(nd__save_opts_check(op, 5, opts));
    const char **texts = malloc(((size_t)(n > n_pairs ? n : n_pairs) + 1) * sizeof *texts);
    if (!texts)
        return nd__fail(ND_ERR_MEMORY, op, -1, "no memory for %d names", n);
    ND_GOTO_IF(done, check_all(n, items, n_pairs, pairs, &alignment, texts));
    ND_GOTO_IF(done, build_header(&header, n, items, n_pairs, pairs, alignment));
    ND_GOTO_IF(done, write_file(path, n, items, &header, alignment, opts));
done:
    free(texts);
    free(header.data);
    return status;
}
