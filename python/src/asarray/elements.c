/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The elements of nested sequences as an array, once shape and dtype are known. */
#include "python/src/asarray/asarray.h"

/* What a sequence is to become in host memory. */
typedef struct {
    int ndim;
    const int64_t *shape;
    nd_dtype dtype; /* no floating one of less than 32 bits */
} sequence;

static int out_of_range(nd_scalar s, nd_dtype dtype)
{
    PyObject *value = py_from_scalar(s);
    if (value)
        PyErr_Format(PyExc_OverflowError, "%R is out of the range of %s", value,
                     nd_dtype_get(dtype)->standard);
    Py_XDECREF(value);
    return -1;
}

static int store_int(nd_scalar s, nd_dtype dtype, char *to)
{
    unsigned nbytes = (unsigned)nd_dtype_size(dtype), bits = 8 * nbytes;
    bool is_signed = nd_dtype_get(dtype)->kind == ND_KIND_INT;
    uint64_t most = is_signed ? ((uint64_t)1 << (bits - 1)) - 1 : UINT64_MAX >> (64 - bits);
    if (s.kind == ND_F64) { /* towards zero */
        double least = is_signed ? -(double)most - 1 : 0, x = s.v.f;
        if (!(x > least - 1 && x < (double)most + 1) && !(x == least))
            return out_of_range(s, dtype);
        s = x < 0 ? nd_int((int64_t)x) : nd_uint((uint64_t)x);
    }
    bool negative = s.kind == ND_I64 && s.v.i < 0;
    if (negative ? !is_signed || s.v.i < -(int64_t)most - 1 : s.v.u > most)
        return out_of_range(s, dtype);
    uint8_t v8 = (uint8_t)s.v.u;
    uint16_t v16 = (uint16_t)s.v.u;
    uint32_t v32 = (uint32_t)s.v.u;
    const void *from = nbytes == 1   ? (const void *)&v8
                       : nbytes == 2 ? (const void *)&v16
                       : nbytes == 4 ? (const void *)&v32
                                     : (const void *)&s.v.u;
    memcpy(to, from, nbytes);
    return 0;
}

/* Stores s as that dtype, which is no floating one of less than 32 bits. */
static int store(nd_scalar s, nd_dtype dtype, char *to)
{
    int kind = nd_dtype_get(dtype)->kind;
    if (kind == ND_KIND_BOOL) {
        *to = py_is_true(s);
        return 0;
    }
    if (s.kind == ND_C128 && kind != ND_KIND_COMPLEX) {
        PyErr_Format(PyExc_TypeError, "a complex number does not go into %s; take its real part",
                     nd_dtype_get(dtype)->standard);
        return -1;
    }
    if (kind & (ND_KIND_INT | ND_KIND_UINT))
        return store_int(s, dtype, to);
    const double parts[2] = {py_real_of(s), s.kind == ND_C128 ? s.v.c[1] : 0};
    const float f[2] = {(float)parts[0], (float)parts[1]};
    const bool single = dtype == ND_F32 || dtype == ND_C64;
    memcpy(to, single ? (const void *)f : parts, nd_dtype_size(dtype));
    return 0;
}

/* Writes the elements of o and below; the sequences may have changed since they were measured. */
static int write_level(const sequence *q, PyObject *o, int depth, char **to)
{
    nd_scalar s = {0};
    if (depth == q->ndim) {
        int known = py_scalar(o, &s);
        if (known > 0) {
            known = store(s, q->dtype, *to) < 0 ? -1 : 1;
            *to += nd_dtype_size(q->dtype);
        } else if (known == 0) {
            PyErr_SetString(PyExc_RuntimeError, "the sequence changed while it was read");
        }
        return known > 0 ? 0 : -1;
    }
    int result = 0;
    for (int64_t i = 0; i < q->shape[depth] && result == 0; i++) {
        PyObject *item = PySequence_GetItem(o, (Py_ssize_t)i);
        result = item ? write_level(q, item, depth + 1, to) : -1;
        Py_XDECREF(item);
    }
    return result;
}

/* Writes all elements, dense in C order, into memory that PyMem_Free ends; NULL with an
 * exception. */
static char *written(const sequence *q, PyObject *o, size_t size)
{
    char *data = PyMem_Malloc(size * nd_dtype_size(q->dtype) + 1), *to = data;
    if (!data)
        return (char *)PyErr_NoMemory();
    if (size == 0 || write_level(q, o, 0, &to) == 0)
        return data;
    PyMem_Free(data);
    return NULL;
}

/* Makes an array of f64 on the CPU, rounds the elements there, so that they are the same for every
 * device, and brings the result to the device (NULL: the current one). */
static nd_status rounded(const nd_layout *layout, const char *data, nd_dtype dtype,
                         nd_device *device, nd_array **out)
{
    nd_array *wide = NULL, *narrow = NULL;
    nd_device *cpu = NULL;
    nd_status status = nd_device_get("cpu", &cpu);
    if (status == ND_OK)
        status = nd_from_host(layout, data, cpu, &wide);
    if (status == ND_OK)
        status = nd_astype(wide, dtype, &narrow);
    if (status == ND_OK && !device)
        status = nd_device_current(&device);
    if (status == ND_OK)
        status = nd_to_device(narrow, device, out);
    nd_release(wide);
    nd_release(narrow);
    return status;
}

nd_array *py_from_scalars(py_state *st, PyObject *o, int ndim, const int64_t *shape, nd_dtype dtype,
                          nd_device *device)
{
    const bool integral = nd_dtype_get(dtype)->kind & (ND_KIND_BOOL | ND_KIND_INT | ND_KIND_UINT);
    const bool narrow = !integral && nd_dtype_size(dtype) < 4; /* the library rounds to these */
    const sequence q = {ndim, shape, narrow ? ND_F64 : dtype};
    const nd_layout layout = {
        .size = sizeof layout, .dtype = q.dtype, .ndim = ndim, .shape = shape};
    nd_array *out = NULL;
    size_t size = 1;
    for (int i = 0; i < ndim; i++)
        size *= (size_t)shape[i]; /* so many objects exist, so the product cannot overflow */
    char *data = written(&q, o, size);
    if (!data)
        return NULL;
    PyThreadState *saved = size > 4096 || device ? PyEval_SaveThread() : NULL;
    nd_status status = narrow ? rounded(&layout, data, dtype, device, &out)
                              : nd_from_host(&layout, data, device, &out);
    py_lock(saved);
    PyMem_Free(data);
    return py_check(st, status) < 0 ? NULL : out;
}
