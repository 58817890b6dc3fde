/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The exchange with other libraries: DLPack, the CUDA Array Interface, and the buffer protocol. */
#ifndef NDOCK_PY_EXCHANGE_H
#define NDOCK_PY_EXCHANGE_H
#include "python/src/args/args.h"

/* ---- what the interpreter's part of the exchange keeps (exchange.c) ---- */
/* The names of the dictionary's entries and of attributes, which are interned. */
enum {
    PYX_SHAPE,
    PYX_TYPESTR,
    PYX_DATA,
    PYX_STRIDES,
    PYX_STREAM,
    PYX_VERSION,
    PYX_MASK,
    PYX_DESCR,
    PYX_NDOCK_DTYPE,
    PYX_CAI,
    PYX_DLPACK,
    PYX_DLPACK_DEVICE,
    PYX_DLPACK_C_API,
    PYX_MAX_VERSION,
    PYX_COPY,
    PYX_DL_DEVICE,
    PYX_DEVICE,
    PYX_OBJ,
    PYX_DESC,
    PYX_OWNER,
    PYX_SYNC,
    PYX_NAMES
};
/* The type of a producer, which is kept, and its table of C functions; NULL: it has no such
 * table. */
enum { PYX_TYPES = 8 };
typedef struct {
    _Atomic(PyTypeObject *) type;
    const void *table;
} py_dlpack_type;
typedef struct py_exchange {
    py_dlpack_type types[PYX_TYPES]; /* the types that were met first; each is written once */
    atomic_int n_types;              /* no more places than these are free to be taken */
    PyObject *name[PYX_NAMES];
    PyObject *version;   /* (1, 3), what we say to producers */
    PyObject *arguments; /* {"max_version": version}, the arguments of most calls of __dlpack__ */
    PyObject *nothing;   /* () */
    PyObject *getattr;   /* the builtin, whose default saves making and clearing an exception */
} py_exchange;
/* For the module's collector: what this folder keeps in the state. */
int py_exchange_traverse(py_state *st, visitproc visit, void *arg);
void py_exchange_clear(py_state *st);

/* ---- arguments and errors (exchange.c) ---- */
/* Whether o is of a builtin type. Objects of the exchange have exactly that type as a rule, which
 * takes no call to see. */
#define py_is(Type, o) (Py##Type##_CheckExact(o) || Py##Type##_Check(o))
/* Adds methods and attributes to the type Array, whose slots are array/type.c's. */
int py_add_to_array(py_state *st, PyMethodDef *methods, PyGetSetDef *getset);
/* Sorts the arguments of a METH_FASTCALL | METH_KEYWORDS function: n positional ones, and behind
 * them those of the names in given. It lends out[i], the argument called which[i] (PYX_*), or NULL
 * where that was not given. */
int py_keywords(py_state *st, const char *function, PyObject *const *args, Py_ssize_t n,
                PyObject *given, const int *which, int wanted, PyObject **out);
/* Sets the exception that __dlpack__ raises for a status: BufferError for what cannot be
 * exported. */
PyObject *py_fail_buffer(py_state *st, nd_status status);
/* Reads a tuple of two ints of 32 bits; anything else is a TypeError with the tuple's name. */
int py_int_pair(const char *name, PyObject *o, int32_t *a, int32_t *b);

/* ---- DLPack by capsules (dlpack_export.c, dlpack_import.c) ---- */
/* The names of capsules with and without a version, while nobody has taken the tensor. */
extern const char py_dl_versioned[], py_dl_legacy[];
extern PyMethodDef py_array_dlpack_methods[];

/* ---- DLPack's C functions (dlpack_c.c) ---- */
/* Puts the capsule with our functions (DLPack 1.3) on the type Array. */
int py_init_dlpack_c(py_state *st);
/* Takes an object's tensor by the functions of its type: 1 and an array; 0 where the type has none,
 * or they cannot export the object; -1 with an exception. */
int py_from_dlpack_c(py_state *st, PyObject *o, nd_array **out);
/* Ends a tensor by its deleter, also where an exception is set. */
void py_end_managed(nd_dl_managed *m);
/* Writes our name of a device that is given in DLPack's terms; false where no device of ours, of
 * whatever number, has that type. */
bool py_dl_device_name(nd_dl_device d, char *out, size_t n);
/* Finds the handle by which others know the device's current stream; 0: it has none. */
nd_status py_dl_current_stream(nd_device *device, uint64_t *handle);

/* ---- CUDA Array Interface (cai_export.c), buffer protocol and __array__ (buffer.c) ---- */
extern PyGetSetDef py_array_cai_getset[];
extern const PyType_Slot py_buffer_slots[];
PyObject *py_array_numpy(PyObject *self, PyObject *args, PyObject *kwargs);

/* ---- parts of the module ---- */
int py_init_exchange(PyObject *module, py_state *st);
extern PyMethodDef py_exchange_methods[], py_raw_methods[], py_peer_methods[];
extern PyMethodDef py_cai_import_methods[], py_dlpack_methods[];

#endif
