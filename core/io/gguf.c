/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Opened GGUF files: what is in them, and tensors as arrays, mapped where the device uses host
 * memory. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "core/ops/quant.h"
#include "core/base/json.h"
#include "core/io/elements.h"
#include "core/io/gguf.h"

/* ---- the mapped file ---- */

static void mapping_release(void *ctx)
{
    nd__gguf_mapping *m = ctx;
    if (!nd__last(&m->refs))
        return;
    nd__map_close(&m->map);
    free(m);
}

static nd_status map_file(nd_gguf *f)
{
    nd__gguf_mapping *m = malloc(sizeof *m);
    if (!m)
        return nd__fail(ND_ERR_MEMORY, "gguf_open", -1, "no memory for the file's record");
    nd_status status = nd__map_open("gguf_open", f->path, &m->map);
    if (status != ND_OK) {
        free(m);
        return status;
    }
    atomic_init(&m->refs, 1);
    f->mapping = m;
    return ND_OK;
}

nd_status nd_gguf_open(const char *path, nd_gguf **out)
{
    const char *op = "gguf_open";
    nd_status status;
    ND_OUT(op, 1, out, NULL);
    ND_NEED(op, 0, path);
    nd_gguf *f = calloc(1, sizeof *f);
    if (f)
        f->path = strdup(path);
    if (!f || !f->path) {
        status = nd__fail(ND_ERR_MEMORY, op, -1, "no memory for the file's record");
        goto failed;
    }
    ND_GOTO_IF(failed, map_file(f));
    ND_GOTO_IF(failed, nd__gguf_parse(f));
    *out = f;
    return ND_OK;
failed:
    nd_gguf_close(f);
    return status;
}

void nd_gguf_close(nd_gguf *file)
{
    if (!file)
        return;
    if (file->mapping) {
        file->mapping->map.path = NULL; /* it was ours; arrays do not name it */
        mapping_release(file->mapping);
    }
    for (nd__gguf_texts *t = file->texts, *next; t; t = next) {
        next = t->next;
        free(t);
    }
    free(file->path);
    free(file->pairs);
    free(file->tensors);
    free(file->by_key);
    free(file->by_name);
    free(file);
}

/* ---- metadata ---- */

int nd_gguf_key_count(const nd_gguf *file)
{
    ND_NEED_OR("gguf_key_count", 0, file, 0);
    return (int)file->n_pairs;
}

const char *nd_gguf_key(const nd_gguf *file, int i)
{
    ND_NEED_OR("gguf_key", 0, file, "");
    return i >= 0 && (size_t)i < file->n_pairs ? file->pairs[i].key : NULL;
}

nd_status nd_gguf_find(const nd_gguf *file, const char *key, nd_gguf_value *value)
{
    const char *op = "gguf_find";
    char quoted[80];
    ND_NEED(op, 0, file);
    ND_NEED(op, 1, key);
    ND_NEED(op, 2, value);
    const nd__gguf_pair want = {.key = key}, *place = &want;
    const nd__gguf_pair *const *found =
        bsearch(&place, file->by_key, file->n_pairs, sizeof place, nd__gguf_by_key);
    if (value->size < sizeof *value)
        return nd__fail(ND_ERR_ARGUMENT, op, 2, "the value's size field is %u; set it to sizeof",
                        value->size);
    if (!found)
        return nd__fail(ND_ERR_INDEX, op, 1, "%s has no key \"%s\"", file->path,
                        nd__quote(quoted, sizeof quoted, key, strlen(key)));
    *value = (*found)->value;
    return ND_OK;
}

/* ---- tensors ---- */

int nd_gguf_count(const nd_gguf *file)
{
    ND_NEED_OR("gguf_count", 0, file, 0);
    return (int)file->n_tensors;
}

nd_status nd_gguf_describe(const nd_gguf *file, int i, nd_gguf_tensor *out)
{
    const char *op = "gguf_describe";
    ND_NEED(op, 0, file);
    ND_NEED(op, 2, out);
    if (out->size < sizeof *out)
        return nd__fail(ND_ERR_ARGUMENT, op, 2, "the tensor's size field is %u; set it to sizeof",
                        out->size);
    if (i < 0 || (size_t)i >= file->n_tensors)
        return nd__fail(ND_ERR_INDEX, op, 1, "%s has no tensor %d; it has %zu", file->path, i,
                        file->n_tensors);
    *out = file->tensors[i];
    return ND_OK;
}

static nd_status find_tensor(const char *op, const nd_gguf *f, const char *name,
                             const nd_gguf_tensor **out)
{
    const nd_gguf_tensor want = {.name = name}, *place = &want;
    char list[320], quoted[80];
    const nd_gguf_tensor *const *found =
        bsearch(&place, f->by_name, f->n_tensors, sizeof place, nd__gguf_by_name);
    size_t used = 0, shown = 0;
    if (found) {
        *out = *found;
        return ND_OK;
    }
    list[0] = 0;
    for (; shown < f->n_tensors && used + sizeof quoted < sizeof list; shown++) {
        const char *s = f->tensors[shown].name;
        used += (size_t)snprintf(list + used, sizeof list - used, "%s\"%s\"", shown ? ", " : "",
                                 nd__quote(quoted, sizeof quoted - 4, s, strlen(s)));
    }
    if (shown < f->n_tensors)
        snprintf(list + used, sizeof list - used, " and %zu more", f->n_tensors - shown);
    return nd__fail(ND_ERR_INDEX, op, 1, "%s has no tensor \"%s\"; there %s %s", f->path,
                    nd__quote(quoted, sizeof quoted, name, strlen(name)),
                    f->n_tensors == 1 ? "is" : "are", f->n_tensors ? list : "none");
}

/* An array over the file's bytes, which it keeps mapped. */
static nd_status over_file(const char *op, const nd_gguf *f, const nd__elements *e, uint64_t offset,
                           nd_device *device, nd_array **out)
{
    nd_layout layout = {.size = sizeof layout,
                        .dtype = e->dtype,
                        .ndim = e->ndim,
                        .flags = ND_LAYOUT_READONLY,
                        .shape = e->shape};
    void *at = (void *)(uintptr_t)(f->mapping->map.data + offset);
    atomic_fetch_add_explicit(&f->mapping->refs, 1, memory_order_relaxed);
    nd_status status = nd__wrap(op, &layout, at, device, mapping_release, f->mapping, out);
    if (status != ND_OK)
        mapping_release(f->mapping);
    return status;
}

static nd_status load(const char *op, const nd_gguf *f, const nd__elements *e,
                      const nd_gguf_tensor *t, nd_device *device, nd_array **out)
{
    nd_status status;
    nd_device_info info;
    const unsigned char *p = f->mapping->map.data + t->offset;
    device = nd__or_current(device, &status);
    ND_RETURN_IF(status);
    nd_device_describe(device, &info);
    ND_RETURN_IF(nd__map_check(&f->mapping->map));
    const bool swapped = e->swap && nd_dtype_size(e->dtype) > 1;
    if (info.host_visible && !swapped && t->nbytes > 0 && nd__aligned(e->dtype, (uintptr_t)p))
        return over_file(op, f, e, t->offset, device, out);
    return nd__elements_load(op, e, p, device, out);
}

/* What a tensor is that a function cannot load. */
static nd_status other_kind(const char *op, const nd_gguf *f, const nd_gguf_tensor *t)
{
    char quoted[80];
    const char *name = nd__quote(quoted, sizeof quoted, t->name, strlen(t->name));
    if (t->format)
        return nd__fail(ND_ERR_DTYPE, op, 1,
                        "%s: tensor \"%s\" is quantised, %s: nd_gguf_load_quant loads it", f->path,
                        name, nd_quant_get(t->format)->name);
    if (t->dtype)
        return nd__fail(ND_ERR_DTYPE, op, 1, "%s: tensor \"%s\" is plain %s: nd_gguf_load loads it",
                        f->path, name, nd_dtype_name(t->dtype));
    return nd__fail(ND_ERR_DTYPE, op, 1, "%s: tensor \"%s\" has type %d, which ndock lacks",
                    f->path, name, (int)t->type);
}

nd_status nd_gguf_load(const nd_gguf *file, const char *name, nd_device *device, nd_array **out)
{
    const char *op = "gguf_load";
    const nd_gguf_tensor *t;
    nd__elements e = {.swap = ND__HOST_IS_BIG};
    ND_OUT(op, 3, out, NULL);
    ND_NEED(op, 0, file);
    ND_NEED(op, 1, name);
    ND_RETURN_IF(find_tensor(op, file, name, &t));
    if (!t->dtype)
        return other_kind(op, file, t);
    e.dtype = t->dtype;
    e.ndim = t->ndim;
    memcpy(e.shape, t->shape, sizeof t->shape);
    return load(op, file, &e, t, device, out);
}

nd_status nd_gguf_load_quant(const nd_gguf *file, const char *name, nd_device *device,
                             nd_qarray **out)
{
    const char *op = "gguf_load_quant";
    const nd_gguf_tensor *t;
    nd__elements e = {.dtype = ND_U8};
    nd_array *blocks = NULL;
    ND_OUT(op, 3, out, NULL);
    ND_NEED(op, 0, file);
    ND_NEED(op, 1, name);
    ND_RETURN_IF(find_tensor(op, file, name, &t));
    const nd_quant_info *info = nd_quant_get(t->format);
    if (!info || t->ndim == 0)
        return other_kind(op, file, t);
    e.ndim = t->ndim;
    memcpy(e.shape, t->shape, sizeof t->shape);
    if (!nd__quant_row_bytes(info, t->shape[t->ndim - 1], &e.shape[t->ndim - 1]))
        return nd__fail(ND_ERR_OVERFLOW, op, 1, "%s: a row's bytes do not fit 63 bits", file->path);
    ND_RETURN_IF(load(op, file, &e, t, device, &blocks));
    nd_status status = nd__qarray_wrap(op, blocks, t->format, out);
    nd_release(blocks);
    return status;
}
