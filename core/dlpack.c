/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * DLPack in and out. Source: DLPack 1.3 specification. */
#include <stdio.h>
#include <stdlib.h>
#include "core/core.h"

typedef struct {
    nd_dl_managed managed;
    nd_array *array;
    int64_t dims[];
} export_record;

static void export_delete(nd_dl_managed *m)
{
    export_record *r = (export_record *)m;
    if (!r)
        return;
    nd_release(r->array);
    free(r);
}

static const struct {
    uint8_t code, bits;
} dl_types[ND_DTYPE_END] = {
#define ND_DTYPE(NAME, id, nbytes, KIND, name, standard, numpy, dlpack, doc) \
    [id] = {dlpack, 8 * nbytes},
#include <ndock/dtype.def>
};

static nd_dl_device dl_device_of(const nd_device *device)
{
    static const struct {
        const char *plugin;
        int32_t type;
    } known[] = {{"cpu", ND_DL_CPU}, {"cuda", ND_DL_CUDA}, {"opencl", ND_DL_OPENCL}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(device->slot->name, known[i].plugin) == 0)
            return (nd_dl_device){known[i].type, (int32_t)device->index};
    return (nd_dl_device){device->host_visible ? ND_DL_CPU : ND_DL_EXT,
                          device->host_visible ? 0 : (int32_t)device->index};
}

nd_status nd_to_dlpack(const nd_array *a, nd_dl_managed **out)
{
    void *data;
    *out = NULL;
    ND_RETURN_IF(nd__check_array("to_dlpack", a, 0));
    ND_RETURN_IF(nd_data(a, &data));
    size_t n = (size_t)a->ndim;
    export_record *r = calloc(1, sizeof *r + 2 * n * sizeof(int64_t));
    if (!r)
        return nd__fail(ND_ERR_MEMORY, "to_dlpack", -1, "no memory for a tensor of rank %d",
                        a->ndim);
    memcpy(r->dims, a->shape, n * sizeof(int64_t));
    memcpy(r->dims + n, a->stride, n * sizeof(int64_t));
    r->array = nd_retain((nd_array *)a);
    nd_dl_managed *m = &r->managed;
    m->version.major = ND_DLPACK_MAJOR;
    m->version.minor = ND_DLPACK_MINOR;
    m->manager_ctx = r;
    m->deleter = export_delete;
    m->flags = a->flags & ND_FLAG_READONLY ? ND_DL_READ_ONLY : 0;
    m->tensor = (nd_dl_tensor){.data = data,
                               .device = dl_device_of(a->storage->device),
                               .ndim = a->ndim,
                               .dtype = {dl_types[a->dtype].code, dl_types[a->dtype].bits, 1},
                               .shape = r->dims,
                               .strides = r->dims + n};
    *out = m;
    return ND_OK;
}

static nd_status dl_dtype_to(nd_dl_dtype t, nd_dtype *out)
{
    for (nd_dtype d = 1; d < ND_DTYPE_END; d++)
        if (t.lanes == 1 && dl_types[d].code == t.code && dl_types[d].bits == t.bits) {
            *out = d;
            return ND_OK;
        }
    return nd__fail(ND_ERR_DTYPE, "from_dlpack", 0,
                    "no dtype for DLPack code %u with %u bits and %u lanes", t.code, t.bits,
                    t.lanes);
}

static nd_status device_for(nd_dl_device d, nd_device **out)
{
    char name[32] = "cpu";
    if (d.device_type == ND_DL_CUDA || d.device_type == ND_DL_CUDA_MANAGED)
        snprintf(name, sizeof name, "cuda:%d", (int)d.device_id);
    else if (d.device_type == ND_DL_OPENCL)
        snprintf(name, sizeof name, "opencl:%d", (int)d.device_id);
    else if (d.device_type != ND_DL_CPU && d.device_type != ND_DL_CUDA_HOST)
        return nd__fail(ND_ERR_DEVICE, "from_dlpack", 0, "no device for DLPack device type %d",
                        (int)d.device_type);
    return nd_device_get(name, out);
}

static nd_status check_tensor(const nd_dl_managed *m)
{
    if (!m)
        return nd__fail(ND_ERR_ARGUMENT, "from_dlpack", 0, "the tensor is NULL");
    if (m->version.major != ND_DLPACK_MAJOR)
        return nd__fail(ND_ERR_UNSUPPORTED, "from_dlpack", 0,
                        "the tensor is of DLPack %u.%u; this library speaks %d.x", m->version.major,
                        m->version.minor, ND_DLPACK_MAJOR);
    const nd_dl_tensor *t = &m->tensor;
    if (t->ndim < 0 || t->ndim > ND_MAX_NDIM)
        return nd__fail(ND_ERR_SHAPE, "from_dlpack", 0, "rank %d is not between 0 and %d",
                        (int)t->ndim, ND_MAX_NDIM);
    if (t->ndim && !t->shape)
        return nd__fail(ND_ERR_SHAPE, "from_dlpack", 0, "the shape of a tensor of rank %d is NULL",
                        (int)t->ndim);
    if (t->byte_offset > UINTPTR_MAX - (uintptr_t)t->data)
        return nd__fail(ND_ERR_OVERFLOW, "from_dlpack", 0,
                        "byte offset %llu from %p lies beyond the last address",
                        (unsigned long long)t->byte_offset, t->data);
    return ND_OK;
}

static void import_release(void *ctx)
{
    nd_dl_managed *m = ctx;
    if (m->deleter)
        m->deleter(m);
}

nd_status nd_from_dlpack(nd_dl_managed *m, nd_array **out)
{
    nd_layout layout = {.size = sizeof layout};
    nd_device *device;
    *out = NULL;
    ND_RETURN_IF(check_tensor(m));
    ND_RETURN_IF(dl_dtype_to(m->tensor.dtype, &layout.dtype));
    ND_RETURN_IF(device_for(m->tensor.device, &device));
    layout.ndim = m->tensor.ndim;
    layout.flags = m->flags & ND_DL_READ_ONLY ? ND_LAYOUT_READONLY : 0;
    layout.shape = m->tensor.shape;
    layout.stride = m->tensor.strides;
    char *data = m->tensor.data ? (char *)m->tensor.data + m->tensor.byte_offset : NULL;
    size_t item = nd_dtype_size(layout.dtype),
           align = nd__kind(layout.dtype) == ND_KIND_COMPLEX ? item / 2 : item;
    if ((uintptr_t)data % align == 0)
        return nd__wrap("from_dlpack", &layout, data, device, import_release, m, out);
    if (!device->host_visible)
        return nd__fail(ND_ERR_UNSUPPORTED, "from_dlpack", 0,
                        "the data on %s are not aligned to %zu bytes", device->name, align);
    ND_RETURN_IF(nd__from_host("from_dlpack", &layout, data, device, out));
    import_release(m);
    return ND_OK;
}
