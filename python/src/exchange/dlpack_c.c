/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * DLPack's C functions for exchange: a table on the type, so that extensions exchange arrays
 * without calling Python. Source: DLPack 1.3 specification, DLPackExchangeAPI. */
#include <stdlib.h>
#include <string.h>
#include "python/src/exchange/exchange.h"

static const char capsule_name[] = "dlpack_exchange_api";

typedef struct api_header {
    uint32_t major, minor;
    struct api_header *previous;
} api_header;
typedef void set_error(void *ctx, const char *kind, const char *message);
/* Each returns 0, or -1 with an exception set; allocate calls set_error instead. */
typedef struct {
    api_header header;
    int (*allocate)(nd_dl_tensor *prototype, nd_dl_managed **out, void *error_ctx,
                    set_error *error);
    int (*from_object)(void *object, nd_dl_managed **out);
    int (*to_object)(nd_dl_managed *managed, void **out);
    int (*view)(void *object, nd_dl_tensor *out);
    int (*current_stream)(int32_t device_type, int32_t device_id, void **out);
} exchange_api;

/* The main interpreter's type, whose Arrays to_object makes. */
static py_state *owner;

bool py_dl_device_name(nd_dl_device d, char *out, size_t n)
{
    static const struct {
        int32_t type;
        const char *plugin;
    } known[] = {{ND_DL_CPU, "cpu"},
                 {ND_DL_CUDA, "cuda"},
                 {ND_DL_CUDA_MANAGED, "cuda"},
                 {ND_DL_OPENCL, "opencl"},
                 {ND_DL_EXT, "sim"}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].type == d.device_type && d.device_id >= 0) {
            PyOS_snprintf(out, n, "%s:%d", known[i].plugin, (int)d.device_id);
            return true;
        }
    return false;
}

void py_end_managed(nd_dl_managed *m)
{
    py_exception e = py_put_aside();
    if (m->deleter)
        m->deleter(m);
    py_bring_back(e);
}

static nd_dtype dtype_of(nd_dl_dtype t)
{
    static const struct {
        uint8_t code, bits;
    } types[ND_DTYPE_END] = {
#define ND_DTYPE(NAME, id, nbytes, KIND, name, standard, numpy, dlpack, doc) \
    [id] = {dlpack, 8 * nbytes},
#include <ndock/dtype.def>
    };
    for (nd_dtype d = 1; d < ND_DTYPE_END; d++)
        if (t.lanes == 1 && types[d].code == t.code && types[d].bits == t.bits)
            return d;
    return 0;
}

/* Others may call this without the GIL, so it needs no interpreter. Pinned memory (ND_DL_CUDA_HOST)
 * is refused: for us it is the CPU's, which is not what was asked for. */
static int allocate(nd_dl_tensor *like, nd_dl_managed **out, void *ctx, set_error *error)
{
    char name[32];
    nd_device *device = NULL;
    nd_array *a = NULL;
    const nd_dl_export_opts opts = {.size = sizeof opts, .stream = ND_DL_STREAM_UNORDERED};
    *out = NULL;
    nd_dtype dtype = dtype_of(like->dtype);
    if (!dtype) {
        error(ctx, "TypeError", "ndock has no such dtype");
        return -1;
    }
    if (!py_dl_device_name(like->device, name, sizeof name)) {
        char why[96];
        PyOS_snprintf(why, sizeof why, "ndock allocates on no device of DLPack type %d, number %d",
                      (int)like->device.device_type, (int)like->device.device_id);
        error(ctx, "ValueError", why);
        return -1;
    }
    nd_status status = nd_device_get(name, &device);
    if (status == ND_OK)
        status = nd_empty(device, dtype, like->ndim, like->shape, &a);
    if (status == ND_OK)
        status = nd_dlpack_export(a, &opts, out);
    nd_release(a);
    if (status != ND_OK)
        error(ctx, status == ND_ERR_MEMORY ? "MemoryError" : "ValueError",
              nd_last_error()->message);
    return status == ND_OK ? 0 : -1;
}

static py_array *array_of(void *object)
{
    if (py_state_of_array(object))
        return object;
    PyErr_Format(PyExc_TypeError, "not an ndock.Array but %R", (PyObject *)Py_TYPE(object));
    return NULL;
}

static int from_object(void *object, nd_dl_managed **out)
{
    const nd_dl_export_opts opts = {.size = sizeof opts, .stream = ND_DL_STREAM_UNORDERED};
    const py_array *o = array_of(object);
    *out = NULL;
    return o ? py_check(py_state_of_array(object), nd_dlpack_export(o->a, &opts, out)) : -1;
}

static int to_object(nd_dl_managed *managed, void **out)
{
    nd_array *a = NULL;
    *out = NULL;
    if (py_check(owner, nd_dlpack_import(managed, NULL, &a)) < 0)
        return -1;
    *out = py_array_new(owner, a);
    return *out ? 0 : -1;
}

static int view(void *object, nd_dl_tensor *out)
{
    const py_array *o = array_of(object);
    return o ? py_check(py_state_of_array(object), nd_dlpack_view(o->a, out)) : -1;
}

nd_status py_dl_current_stream(nd_device *device, uint64_t *handle)
{
    nd_stream *stream = NULL;
    *handle = 0;
    nd_status status = nd_stream_current(device, &stream);
    if (status == ND_OK)
        status = nd_stream_native(stream, handle);
    nd_stream_release(stream);
    return status;
}

static int current_stream(int32_t type, int32_t id, void **out)
{
    char name[32];
    nd_device *device = NULL;
    uint64_t handle = 0;
    *out = NULL;
    if ((type == ND_DL_CPU || type == ND_DL_CUDA_HOST) && id == 0) /* queues nothing */
        return 0;
    if (!py_dl_device_name((nd_dl_device){type, id}, name, sizeof name)) {
        PyErr_Format(PyExc_ValueError, "ndock has no device of DLPack type %d, number %d",
                     (int)type, (int)id);
        return -1;
    }
    nd_status status = nd_device_get(name, &device);
    if (status == ND_OK)
        status = py_dl_current_stream(device, &handle);
    *out = (void *)(uintptr_t)handle;
    return py_check(owner, status);
}

static const exchange_api ours = {.header = {ND_DLPACK_MAJOR, ND_DLPACK_MINOR, NULL},
                                  .allocate = allocate,
                                  .from_object = from_object,
                                  .to_object = to_object,
                                  .view = view,
                                  .current_stream = current_stream};

int py_init_dlpack_c(py_state *st)
{
    if (!owner && py_is_main_interpreter())
        owner = st;
    if (owner != st)
        return 0; /* a table of C functions cannot say which interpreter is meant */
    PyObject *capsule = PyCapsule_New((void *)&ours, capsule_name, NULL);
    int result = capsule ? PyObject_SetAttr((PyObject *)st->array,
                                            st->exchange->name[PYX_DLPACK_C_API], capsule)
                         : -1;
    Py_XDECREF(capsule);
    return result;
}

/* ---- as a consumer ---- */
/* A table belongs to its type for good, so it is kept once it was found. That there is none is kept
 * as well, for types whose dictionary nobody can change, such as NumPy's. */
static void remember(py_exchange *x, PyTypeObject *type, const exchange_api *table)
{
    if (!table && PyType_GetFlags(type) & Py_TPFLAGS_HEAPTYPE)
        return;
    int i = atomic_load(&x->n_types) < PYX_TYPES ? atomic_fetch_add(&x->n_types, 1) : PYX_TYPES;
    if (i >= PYX_TYPES)
        return;
    x->types[i].table = table;
    Py_INCREF((PyObject *)type);
    atomic_store_explicit(&x->types[i].type, type, memory_order_release);
}

static const exchange_api *ask(py_exchange *x, PyTypeObject *type)
{
    PyObject *capsule = PyObject_CallFunctionObjArgs(x->getattr, (PyObject *)type,
                                                     x->name[PYX_DLPACK_C_API], Py_None, NULL);
    const api_header *h = NULL;
    if (!capsule)
        PyErr_Clear();
    else if (PyCapsule_IsValid(capsule, capsule_name))
        h = PyCapsule_GetPointer(capsule, capsule_name);
    Py_XDECREF(capsule); /* the table lives as long as the process */
    while (h && h->major != ND_DLPACK_MAJOR)
        h = h->previous;
    const exchange_api *api = (const exchange_api *)(const void *)h;
    api = api && api->from_object && api->current_stream ? api : NULL;
    if (api || capsule == Py_None)
        remember(x, type, api);
    return api;
}

/* Finds the type's table of our major version; NULL: it has none. */
static const exchange_api *table_of(py_exchange *x, PyTypeObject *type)
{
    for (int i = 0; i < PYX_TYPES; i++)
        if (atomic_load_explicit(&x->types[i].type, memory_order_acquire) == type)
            return x->types[i].table;
    return ask(x, type);
}

/* Makes an array of a tensor. Its work is in no order with ours, so our current stream waits for
 * the producer's. */
static int take(py_state *st, const exchange_api *api, nd_dl_managed *m, nd_array **out)
{
    void *stream = NULL;
    nd_dl_device d = m->tensor.device;
    nd_dl_import_opts opts = {.size = sizeof opts, .stream = ND_DL_STREAM_UNORDERED};
    if (d.device_type != ND_DL_CPU && d.device_type != ND_DL_CUDA_HOST) {
        if (api->current_stream(d.device_type, d.device_id, &stream) < 0)
            return -1;
        /* NULL is CUDA's name of the legacy default stream */
        opts.stream = stream ? (int64_t)(uintptr_t)stream : 1;
    }
    return py_check(st, nd_dlpack_import(m, &opts, out));
}

int py_from_dlpack_c(py_state *st, PyObject *o, nd_array **out)
{
    nd_dl_managed *m = NULL;
    const exchange_api *api = table_of(st->exchange, Py_TYPE(o));
    *out = NULL;
    if (!api)
        return 0;
    if (api->from_object(o, &m) < 0 || !m) {
        /* the object may still export itself by a capsule, or have a better error */
        PyErr_Clear();
        return 0;
    }
    if (take(st, api, m, out) == 0)
        return 1;
    py_end_managed(m);
    return -1;
}
