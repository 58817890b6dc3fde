/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The type Array: life, attributes, and the slots that the other files fill. */
#include <stddef.h>
#include <stdatomic.h>
#include "python/src/base/py.h"

/* Elements from which a call gives the GIL away: below, that costs more than the work. */
enum { UNLOCK_FROM = 1 << 14 };

/* The main interpreter's type, so that most look-ups are one comparison. */
static _Atomic(PyTypeObject *) first_type;

static void dealloc(PyObject *self)
{
    py_array *o = (py_array *)self;
    PyTypeObject *type = Py_TYPE(self);
    if (o->weakrefs)
        PyObject_ClearWeakRefs(self);
    py_release(o->a);
    PyObject_Free(self);
    Py_DECREF(type);
    py_drop_now(); /* the owner of foreign memory goes with the last array over it */
}

py_state *py_state_of_array(PyObject *o)
{
    PyTypeObject *type = Py_TYPE(o);
    if (type != atomic_load_explicit(&first_type, memory_order_relaxed) &&
        PyType_GetSlot(type, Py_tp_dealloc) != (void *)dealloc)
        return NULL;
    return PyType_GetModuleState(type);
}

nd_array *py_array_need(const py_state *st, PyObject *o, const char *function)
{
    nd_array *a = py_array_get(st, o);
    if (!a)
        PyErr_Format(PyExc_TypeError,
                     "%s() takes an ndock.Array, not %R; ndock.asarray makes one of it", function,
                     (PyObject *)Py_TYPE(o));
    return a;
}

PyObject *py_array_new(py_state *st, nd_array *a)
{
    py_array *o = PyObject_New(py_array, st->array);
    if (!o) {
        py_discard(a);
        return NULL;
    }
    o->a = a;
    o->weakrefs = NULL;
    return (PyObject *)o;
}

PyObject *py_result(py_state *st, nd_status status, nd_array **a)
{
    return status == ND_OK ? py_array_new(st, *a) : py_fail(st, status);
}

/* Devices live as long as the process, so the latest one that queues nothing needs no asking. */
static _Atomic(nd_device *) known_serial;

/* From the first copy on that a device may still be writing to the host, any use of an array there
 * may wait for it, perhaps behind a function of Python's. */
static atomic_bool host_may_wait;

void py_host_may_wait(void)
{
    atomic_store(&host_may_wait, true);
}

PyThreadState *py_unlock(const nd_array *a, int64_t work)
{
    nd_device *device = nd_device_of(a);
    if (work < UNLOCK_FROM) {
        if (atomic_load_explicit(&host_may_wait, memory_order_relaxed))
            return PyEval_SaveThread();
        if (device == atomic_load_explicit(&known_serial, memory_order_relaxed))
            return NULL;
        if (!py_is_async(device)) {
            atomic_store_explicit(&known_serial, device, memory_order_relaxed);
            return NULL;
        }
    }
    return PyEval_SaveThread();
}

static PyMemberDef members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(py_array, weakrefs), READONLY, NULL},
    {NULL, 0, 0, 0, NULL}};

static const PyType_Slot own_slots[] = {
    {Py_tp_doc,
     "An N-dimensional array on a device; made by ndock.asarray, ndock.zeros and the like.\n\n"
     ">>> x = nd.asarray([[1, 2], [3, 4]])\n>>> x.shape, x.T.tolist()\n((2, 2), [[1, 3], [2, "
     "4]])\n"},
    {Py_tp_dealloc, (void *)dealloc},
    {Py_tp_richcompare, (void *)py_array_compare},
    {Py_tp_hash, (void *)PyObject_HashNotImplemented},
    {Py_tp_getset, py_array_getset},
    {Py_tp_methods, py_array_methods},
    {Py_tp_members, members},
    {0, NULL}};
/* Slots of this file and of those that fill more of the type. */
static const PyType_Slot *const parts[] = {own_slots,       py_number_slots, py_index_slots,
                                           py_scalar_slots, py_buffer_slots, py_format_slots};

/* Read from the class, which is why that is not immutable: NumPy's operators and functions leave
 * Arrays to us. */
static int set_class_attributes(PyObject *type)
{
    PyObject *priority = PyFloat_FromDouble(1000);
    int result = priority ? PyObject_SetAttrString(type, "__array_priority__", priority) : -1;
    Py_XDECREF(priority);
    return result < 0 ? -1 : PyObject_SetAttrString(type, "__array_ufunc__", Py_None);
}

int py_init_array(PyObject *module, py_state *st)
{
    PyType_Slot slots[96];
    int n = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        for (const PyType_Slot *s = parts[i]; s->slot; s++)
            slots[n++] = *s;
    slots[n] = (PyType_Slot){0, NULL};
    PyType_Spec spec = {.name = "ndock.Array",
                        .basicsize = sizeof(py_array),
                        .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                        .slots = slots};
    st->array = (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
    if (!st->array || set_class_attributes((PyObject *)st->array) < 0)
        return -1;
    PyTypeObject *expected = NULL;
    (void)atomic_compare_exchange_strong(&first_type, &expected, st->array);
    return PyModule_AddObjectRef(module, "Array", (PyObject *)st->array);
}
