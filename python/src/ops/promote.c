/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Dtype rules as functions, and what devices can hold. */
#include "python/src/ops/ops.h"

typedef struct {
    nd_dtype dtype;                            /* of the arrays and dtypes so far; 0: none */
    int is_bool, is_int, is_float, is_complex; /* some scalar of that kind */
} meeting;

static int meet(py_state *st, PyObject *o, meeting *m)
{
    nd_scalar s;
    nd_dtype dtype;
    nd_array *a = py_array_get(st, o);
    int scalar = a ? 0 : py_scalar(o, &s);
    if (scalar < 0)
        return -1;
    if (scalar) {
        m->is_bool |= s.kind == ND_BOOL;
        m->is_int |= s.kind == ND_I64 || s.kind == ND_U64;
        m->is_float |= s.kind == ND_F64;
        m->is_complex |= s.kind == ND_C128;
        return 0;
    }
    if (a)
        dtype = nd_dtype_of(a);
    else if (py_dtype(st, o, &dtype) < 0)
        return -1;
    if (!m->dtype)
        m->dtype = dtype;
    return py_check(st, nd_promote(m->dtype, dtype, &m->dtype));
}

/* Python scalars keep the dtype where its kind allows, as operands do. */
static nd_dtype with_scalars(const meeting *m)
{
    int kind = nd_dtype_get(m->dtype)->kind;
    bool real = kind != ND_KIND_COMPLEX, floating = kind == ND_KIND_FLOAT;
    if (m->is_complex && real)
        return floating && m->dtype != ND_F64 ? ND_C64 : ND_C128;
    if (m->is_float && real && !floating)
        return nd_default_float();
    return m->is_int && kind == ND_KIND_BOOL ? ND_I64 : m->dtype;
}

static PyObject *result_type(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    meeting m = {0, 0, 0, 0, 0};
    for (Py_ssize_t i = 0; i < n; i++)
        if (meet(st, args[i], &m) < 0)
            return NULL;
    if (!m.dtype)
        return PyErr_Format(PyExc_ValueError,
                            "result_type needs at least one array or dtype beside scalars");
    return py_from_dtype(st, with_scalars(&m));
}

/* (from: dtype or Array, to) */
static PyObject *can_cast(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_array *a = n ? py_array_get(st, args[0]) : NULL;
    nd_dtype from = a ? nd_dtype_of(a) : 0, to, common;
    if (a ? py_args(st, "can_cast", "at", args, n, &a, &to) < 0
          : py_args(st, "can_cast", "tt", args, n, &from, &to) < 0)
        return NULL;
    if (!from || !to)
        return PyErr_Format(PyExc_TypeError, "can_cast() takes dtypes, not None");
    return PyBool_FromLong(nd_promote(from, to, &common) == ND_OK && common == to);
}

/* (device): the dtypes that can live there */
static PyObject *device_dtypes(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_device *device;
    nd_device_info info;
    if (py_args(st, "dtypes", "v", args, n, &device) < 0 || py_or_current(st, &device) < 0)
        return NULL;
    nd_device_describe(device, &info);
    return py_from_dtypes(st, info.dtypes);
}

PyMethodDef py_promote_methods[] = {
    {"result_type", PY_FUNCTION(result_type), METH_FASTCALL,
     "result_type(*arrays_and_dtypes)\n--\n\n"
     "The dtype in which arrays_and_dtypes (Arrays, dtypes, Python scalars) meet; scalars are weak."
     "\nErrors: TypeError where they meet in none, ValueError for no argument.\n\n>>> "
     "nd.result_type(nd.int8, nd.asarray([1.5]))\nndock.float64\n"},
    PY_METHOD("_can_cast", can_cast),
    PY_METHOD("_device_dtypes", device_dtypes),
    PY_METHODS_END};
