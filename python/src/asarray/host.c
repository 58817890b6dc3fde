/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Arrays of host memory of other libraries, which is viewed where possible. */
#include "python/src/asarray/asarray.h"

bool py_reach_of(const py_host_memory *m, py_reach *out)
{
    py_reach r = {0, (int64_t)nd_dtype_size(m->dtype)};
    for (int i = 0; i < m->ndim; i++) {
        int64_t far;
        if (m->shape[i] == 0) {
            *out = (py_reach){0, 0};
            return true;
        }
        if (__builtin_mul_overflow(m->shape[i] - 1, m->stride[i], &far) ||
            (far < 0 ? __builtin_add_overflow(r.least, far, &r.least)
                     : __builtin_add_overflow(r.most, far, &r.most)))
            return false;
    }
    *out = r;
    return true;
}

/* Addresses of others are trusted, unless the elements would go round the end of the address
 * space. */
static bool is_possible(const py_host_memory *m)
{
    py_reach r;
    uintptr_t address = (uintptr_t)m->data;
    return py_nbytes(m->dtype, m->ndim, m->shape) >= 0 && py_reach_of(m, &r) &&
           address >= -(uintptr_t)r.least && address <= UINTPTR_MAX - (uintptr_t)r.most;
}

/* Writes the elements in C order; where they are swapped, the bytes of each number are reversed. */
static void gather(const py_host_memory *m, int axis, const char *from, char **to)
{
    size_t n = nd_dtype_size(m->dtype);
    size_t part = nd_dtype_get(m->dtype)->kind == ND_KIND_COMPLEX ? n / 2 : n;
    if (axis < m->ndim) {
        for (int64_t i = 0; i < m->shape[axis]; i++)
            gather(m, axis + 1, from + i * m->stride[axis], to);
        return;
    }
    if (!m->swapped)
        memcpy(*to, from, n);
    for (size_t k = 0; m->swapped && k < n; k++)
        (*to)[k] = from[k / part * part + part - 1 - k % part];
    *to += n;
}

/* Makes the array by way of `room`; the GIL is not needed. */
static nd_status gathered(const py_host_memory *m, char *room, nd_device *device, nd_array **out)
{
    nd_layout layout = {
        .size = sizeof layout, .dtype = m->dtype, .ndim = m->ndim, .shape = m->shape};
    char *to = room;
    gather(m, 0, m->data, &to);
    return nd_from_host(&layout, room, device, out);
}

/* An array over the memory, which keeps the owner. */
static int view_of(py_state *st, const py_host_memory *m, const nd_layout *layout,
                   nd_device *device, nd_array **out)
{
    void *kept = py_keep(m->owner);
    if (!kept)
        return -1;
    if (py_check(st, nd_wrap(layout, m->data, device, py_drop, kept, out)) == 0)
        return 0;
    py_unkeep(kept);
    return -1;
}

/* Makes a copy. layout is NULL where no layout can say where the elements are; they are gathered
 * first. */
static int copy_of(py_state *st, const py_host_memory *m, const nd_layout *layout,
                   nd_device *device, nd_array **out)
{
    const int64_t nbytes = py_nbytes(m->dtype, m->ndim, m->shape);
    char *room = layout ? NULL : PyMem_Malloc((size_t)nbytes);
    if (!layout && !room) {
        PyErr_NoMemory();
        return -1;
    }
    PyThreadState *saved = nbytes > 4096 || py_is_async(device) ? PyEval_SaveThread() : NULL;
    nd_status status =
        layout ? nd_from_host(layout, m->data, device, out) : gathered(m, room, device, out);
    py_lock(saved);
    PyMem_Free(room);
    return py_check(st, status);
}

/* Writes the strides in elements; false where a stride is no whole number of elements. */
static bool whole_strides(const py_host_memory *m, int64_t *strides)
{
    const int64_t item = (int64_t)nd_dtype_size(m->dtype);
    bool whole = true;
    for (int i = 0; i < m->ndim; i++) {
        whole &= m->shape[i] <= 1 || m->stride[i] % item == 0;
        strides[i] = m->stride[i] / item;
    }
    return whole;
}

static bool is_aligned(const py_host_memory *m)
{
    const uintptr_t item = nd_dtype_size(m->dtype);
    const bool complex = nd_dtype_get(m->dtype)->kind == ND_KIND_COMPLEX;
    return (uintptr_t)m->data % (complex ? item / 2 : item) == 0;
}

/* Refuses an address at which the elements, of which there are some, cannot be. */
static int check_address(const py_host_memory *m)
{
    if (!m->data)
        PyErr_SetString(PyExc_ValueError, "__array_interface__: data is no null pointer where "
                                          "there are elements, not None");
    else if (!is_possible(m))
        PyErr_SetString(PyExc_ValueError, "the object's shape and strides reach beyond the address "
                                          "space from where its data are");
    else
        return 0;
    return -1;
}

/* Makes the array; *copied says whether it is no view. */
static int to_array(py_state *st, const py_host_memory *m, nd_device *device, bool want_copy,
                    nd_array **out, bool *copied)
{
    int64_t strides[ND_MAX_NDIM];
    nd_layout layout = {.size = sizeof layout,
                        .dtype = m->dtype,
                        .ndim = m->ndim,
                        .flags = m->readonly && !m->private_copy ? ND_LAYOUT_READONLY : 0,
                        .shape = m->shape,
                        .stride = strides};
    *copied = want_copy;
    if (py_nbytes(m->dtype, m->ndim, m->shape) == 0)
        return py_check(st, nd_empty(device, m->dtype, m->ndim, m->shape, out));
    if (check_address(m) < 0)
        return -1;
    const bool whole = whole_strides(m, strides) && !m->swapped;
    if (whole && !want_copy && py_is_host(device) && is_aligned(m)) {
        *copied = m->private_copy;
        return view_of(st, m, &layout, device, out);
    }
    *copied = true;
    return copy_of(st, m, whole ? &layout : NULL, device, out);
}

int py_import_host(py_state *st, PyObject *o, nd_device *device, bool want_copy, nd_array **out,
                   bool *copied)
{
    py_host_memory m = {.owner = NULL};
    *out = NULL;
    int found = PyObject_CheckBuffer(o) ? py_read_buffer(o, &m) : 0;
    if (found == 0)
        found = py_read_interface(o, &m);
    if (found > 0 && to_array(st, &m, device, want_copy, out, copied) < 0)
        found = -1;
    Py_XDECREF(m.owner);
    return found;
}
