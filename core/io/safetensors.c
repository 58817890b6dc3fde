/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Reading safetensors. A tensor of a dtype that ndock lacks is refused when it is loaded, so that
 * the others of its file can be. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "core/ops/ops.h"
#include "core/io/elements.h"
#include "core/base/json.h"
#include "core/io/safetensors.h"

static nd_status no_memory(const char *op)
{
    return nd__fail(ND_ERR_MEMORY, op, -1, "no memory for the file's record");
}

nd_status nd_safetensors_open(const char *path, nd_safetensors **out)
{
    const char *op = "safetensors_open";
    nd_status status;
    nd_safetensors *f;

    if (!out || !path)
        return nd__fail(ND_ERR_ARGUMENT, op, out ? 0 : 1, "%s is NULL", out ? "path" : "out");
    *out = NULL;
    f = calloc(1, sizeof *f);
    if (!f)
        return no_memory(op);
    f->map.fd = -1;
    f->path = strdup(path);
    if (!f->path) {
        status = no_memory(op);
        goto failed;
    }
    ND_GOTO_IF(failed, nd__map_open(op, f->path, &f->map));
    ND_GOTO_IF(failed, nd__safetensors_parse(f));
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
    nd__pair want = {key, NULL};
    if (!file || !key || !file->metadata_count)
        return NULL;
    const nd__pair *found =
        bsearch(&want, file->metadata, file->metadata_count, sizeof want, nd__pair_by_key);
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
    nd__tensor want = {.name = name}, *key = &want, **found = NULL;
    if (file->count)
        found = bsearch(&key, file->by_name, file->count, sizeof key, nd__tensor_by_name);
    if (!found)
        return unknown_name(file, op, name);
    const nd__tensor *t = *found;
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
