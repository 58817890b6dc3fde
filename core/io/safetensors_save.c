/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Writing safetensors. The data lie in the order given, but larger element sizes first, so that
 * every tensor is aligned for readers that map the file; the header keeps the order given. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "core/ops/ops.h"
#include "core/io/elements.h"
#include "core/base/file.h"
#include "core/base/json.h"
#include "core/io/safetensors.h"

static const char op_save[] = "safetensors_save";
enum { LARGEST_ITEM = 8, HEADER_ALIGN = 8 };

typedef struct {
    const nd_named_array *from;
    uint64_t begin, nbytes;
} entry;

static int by_text(const void *a, const void *b)
{
    const char *const *x = a, *const *y = b;
    return strcmp(*x, *y);
}

/* Names (or keys) are UTF-8 and differ. sorted has room for n. */
static nd_status check_names(const char **sorted, size_t n, int32_t argument)
{
    char text[80];
    for (size_t i = 0; i < n; i++)
        if (!nd__utf8_valid(sorted[i], strlen(sorted[i])))
            return nd__fail(ND_ERR_ARGUMENT, op_save, argument, "\"%s\" is not UTF-8",
                            nd__quote(text, sizeof text, sorted[i], strlen(sorted[i])));
    if (n)
        qsort(sorted, n, sizeof *sorted, by_text);
    for (size_t i = 1; i < n; i++)
        if (strcmp(sorted[i - 1], sorted[i]) == 0)
            return nd__fail(ND_ERR_ARGUMENT, op_save, argument, "\"%s\" comes twice",
                            nd__quote(text, sizeof text, sorted[i], strlen(sorted[i])));
    return ND_OK;
}

static nd_status check_arrays(size_t n, const nd_named_array *arrays, const char **names)
{
    char text[80];
    for (size_t i = 0; i < n; i++) {
        const char *name = arrays[i].name;
        if (!name || !arrays[i].array)
            return nd__fail(ND_ERR_ARGUMENT, op_save, 2, "arrays[%zu].%s is NULL", i,
                            name ? "array" : "name");
        if (strcmp(name, ND__SAFETENSORS_METADATA) == 0)
            return nd__fail(ND_ERR_ARGUMENT, op_save, 2,
                            "an array cannot be named " ND__SAFETENSORS_METADATA
                            ": the format keeps that for the metadata");
        nd_dtype dtype = nd_dtype_of(arrays[i].array);
        if (!nd__safetensors_dtype_name(dtype))
            return nd__fail(
                ND_ERR_DTYPE, op_save, 2,
                "array \"%s\" is %s, which safetensors lacks; its only complex dtype is "
                "C64: convert with nd_astype to c64, or save a .npy file",
                nd__quote(text, sizeof text, name, strlen(name)), nd_dtype_name(dtype));
        names[i] = name;
    }
    return check_names(names, n, 2);
}

/* pairs: number of keys; every key has a value and all are UTF-8. */
static nd_status check_metadata(const char *const *metadata, size_t pairs)
{
    const char **keys = malloc((pairs + 1) * sizeof *keys);
    nd_status status = ND_OK;
    if (!keys)
        return nd__fail(ND_ERR_MEMORY, op_save, -1, "no memory for %zu keys", pairs);
    for (size_t i = 0; i < pairs && status == ND_OK; i++) {
        const char *value = metadata[2 * i + 1];
        keys[i] = metadata[2 * i];
        if (!nd__utf8_valid(value, strlen(value)))
            status = nd__fail(ND_ERR_ARGUMENT, op_save, 3, "a metadata value is not UTF-8");
    }
    if (status == ND_OK)
        status = check_names(keys, pairs, 3);
    free(keys);
    return status;
}

static nd_status count_pairs(const char *const *metadata, size_t *pairs)
{
    size_t n = 0;
    for (; metadata && metadata[2 * n]; n++)
        if (!metadata[2 * n + 1])
            return nd__fail(ND_ERR_ARGUMENT, op_save, 3, "metadata key %zu has no value", n);
    *pairs = n;
    return ND_OK;
}

/* Sets where each array's bytes begin. order: indices in the order of the data. */
static nd_status lay_out(size_t n, const nd_named_array *arrays, entry *entries, size_t *order)
{
    uint64_t at = 0;
    size_t k = 0;
    for (size_t item = LARGEST_ITEM; item > 0; item /= 2) {
        for (size_t i = 0; i < n; i++) {
            const nd_array *a = arrays[i].array;
            if (nd_dtype_size(nd_dtype_of(a)) != item)
                continue;
            entries[i].from = &arrays[i];
            entries[i].begin = at;
            entries[i].nbytes = (uint64_t)nd_size(a) * item;
            order[k++] = i;
            if (entries[i].nbytes > (uint64_t)INT64_MAX - at)
                return nd__fail(ND_ERR_OVERFLOW, op_save, 2, "the arrays exceed 2^63 bytes");
            at += entries[i].nbytes;
        }
    }
    return ND_OK;
}

static void add_tensor(nd_text *h, const entry *e)
{
    const nd_array *a = e->from->array;
    nd__text_json(h, e->from->name);
    nd__text_add(h, ":{\"dtype\":\"%s\",\"shape\":[", nd__safetensors_dtype_name(nd_dtype_of(a)));
    for (int i = 0; i < nd_ndim(a); i++)
        nd__text_add(h, "%s%" PRId64, i ? "," : "", nd_shape(a)[i]);
    nd__text_add(h, "],\"data_offsets\":[%" PRIu64 ",%" PRIu64 "]}", e->begin,
                 e->begin + e->nbytes);
}

/* Length and JSON, padded so that the data are aligned. */
static nd_status build_header(nd_text *h, size_t n, const entry *entries,
                              const char *const *metadata, size_t pairs)
{
    nd__text_bytes(h, "\0\0\0\0\0\0\0\0{", 9);
    if (metadata) {
        nd__text_puts(h, "\"" ND__SAFETENSORS_METADATA "\":{");
        for (size_t i = 0; i < 2 * pairs; i++) {
            nd__text_puts(h, i == 0 ? "" : i % 2 ? ":" : ",");
            nd__text_json(h, metadata[i]);
        }
        nd__text_puts(h, n ? "}," : "}");
    }
    for (size_t i = 0; i < n; i++) {
        nd__text_puts(h, i ? "," : "");
        add_tensor(h, &entries[i]);
    }
    nd__text_puts(h, "}");
    while (!h->failed && h->len % HEADER_ALIGN)
        nd__text_puts(h, " ");
    if (h->failed)
        return nd__fail(ND_ERR_MEMORY, op_save, -1, "no memory for the header");
    if (h->len - 8 > ND__SAFETENSORS_HEADER_MAX)
        return nd__fail(ND_ERR_OVERFLOW, op_save, -1,
                        "the header takes %zu bytes; safetensors allows %d", h->len - 8,
                        ND__SAFETENSORS_HEADER_MAX);
    for (int i = 0; i < 8; i++)
        h->data[i] = (char)((uint64_t)(h->len - 8) >> 8 * i & 0xFF);
    return ND_OK;
}

static nd_status put_array(nd__writer *file, const nd_array *a)
{
    nd__host_copy copy;
    ND_RETURN_IF(nd__host_copy_open(op_save, a, 0, &copy));
    nd_status status = nd__writer_put(file, copy.data, copy.nbytes);
    nd__host_copy_close(&copy);
    return status;
}

static nd_status write_file(const char *path, size_t n, const entry *entries, const size_t *order,
                            const nd_text *header, const nd_save_opts *opts)
{
    nd__writer file;
    nd_status status;
    ND_RETURN_IF(nd__writer_open(op_save, path, &file));
    ND_GOTO_IF(done, nd__writer_put(&file, header->data, header->len));
    for (size_t i = 0; i < n; i++)
        ND_GOTO_IF(done, put_array(&file, entries[order[i]].from->array));
    ND_GOTO_IF(done, nd__writer_commit(&file, opts));
done:
    nd__writer_close(&file);
    return status;
}

nd_status nd_safetensors_save(const char *path, int n, const nd_named_array *arrays,
                              const char *const *metadata, const nd_save_opts *opts)
{
    nd_status status;
    size_t count = (size_t)n, pairs = 0;
    nd_text header = {0};
    entry *entries = NULL;
    const char **names = NULL;
    size_t *order = NULL;

    if (n < 0 || (n > 0 && !arrays))
        return nd__fail(ND_ERR_ARGUMENT, op_save, n < 0 ? 1 : 2, "%s",
                        n < 0 ? "n is negative" : "arrays is NULL");
    ND_RETURN_IF(nd__save_opts_check(op_save, 4, opts));
    ND_RETURN_IF(count_pairs(metadata, &pairs));
    ND_RETURN_IF(check_metadata(metadata, pairs));
    entries = malloc((count + 1) * sizeof *entries);
    names = malloc((count + 1) * sizeof *names);
    order = malloc((count + 1) * sizeof *order);
    if (!entries || !names || !order) {
        status = nd__fail(ND_ERR_MEMORY, op_save, -1, "no memory for %d names", n);
        goto done;
    }
    ND_GOTO_IF(done, check_arrays(count, arrays, names));
    ND_GOTO_IF(done, lay_out(count, arrays, entries, order));
    ND_GOTO_IF(done, build_header(&header, count, entries, metadata, pairs));
    ND_GOTO_IF(done, write_file(path, count, entries, order, &header, opts));
done:
    free(header.data);
    free(entries);
    free(names);
    free(order);
    return status;
}
