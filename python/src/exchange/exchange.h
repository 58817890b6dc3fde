/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What the files of the exchange with other libraries share. */
#ifndef NDOCK_PY_EXCHANGE_H
#define NDOCK_PY_EXCHANGE_H
#include "python/src/args/args.h"

/* Interned names of the dictionary's entries and of attributes; one set an interpreter. */
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
/* A producer's type, kept, and its table of C functions; NULL: it has none. */
enum { PYX_TYPES = 8 };
typedef struct {
    _Atomic(PyTypeObject *) type;
    const void *table;
} py_dlpack_type;
typedef struct py_exchange {
    py_dlpack_type types[PYX_TYPES]; /* those that were met first, written once */
    atomic_int n_types;              /* at least so many are taken */
    PyObject *name[PYX_NAMES];
    PyObject *version;   /* (1, 3), what we say to producers */
    PyObject *arguments; /* {"max_version": version}: of most calls of __dlpack__ */
    PyObject *nothing;   /* () */
    PyObject *getattr;   /* the builtin one, whose default saves making and clearing an exception */
} py_exchange;

/* What the exchange is made of is of the exact types as a rule, which takes no call to see. */
#define py_is(Type, o) (Py##Type##_CheckExact(o) || Py##Type##_Check(o))

/* Adds methods and attributes to the type Array, whose slots are array/type.c's. */
int py_add_to_array(py_state *st, PyMethodDef *methods, PyGetSetDef *getset);
/* Arguments of a METH_FASTCALL | METH_KEYWORDS function: n positional ones, then those of the names
 * in given. out[i] is the one called which[i] (PYX_*), borrowed, NULL where it was not given. */
int py_keywords(py_state *st, const char *function, PyObject *const *args, Py_ssize_t n,
                PyObject *given, const int *which, int wanted, PyObject **out);
/* Fits the status to what __dlpack__ may raise: BufferError for what cannot be exported so. */
PyObject *py_fail_buffer(py_state *st, nd_status status);

/* ---- DLPack ---- */
/* dlpack_export.c: the names of capsules with and without a version, while nobody has taken them. */
extern const char py_dl_versioned[], py_dl_legacy[];
/* A tuple of two ints of 32 bits; TypeError, which says what it is. */
int py_int_pair(const char *name, PyObject *o, int32_t *a, int32_t *b);
/* dlpack_c.c: the handle of the device's current stream for others; 0: it has none. */
nd_status py_dl_current_stream(nd_device *device, uint64_t *handle);
/* dlpack_c.c: the capsule of the C functions (DLPack 1.3) goes on the type; a producer's is used
 * where its type has one. 1: *out is an array; 0: there is none; -1: an exception. */
int py_init_dlpack_c(py_state *st);
/* The name of a device in DLPack's terms; false: no device of ours, of whatever number, has that
 * type. */
bool py_dl_device_name(nd_dl_device d, char *out, size_t n);
/* Ends a tensor by its deleter, also where an exception is set. */
void py_end_managed(nd_dl_managed *m);
int py_from_dlpack_c(py_state *st, PyObject *o, nd_array **out);
extern PyMethodDef py_array_dlpack_methods[]; /* dlpack_export.c */
extern PyGetSetDef py_array_cai_getset[];     /* cai_export.c */
/* buffer.c: the buffer protocol, and __array__ */
extern const PyType_Slot py_buffer_slots[];
PyObject *py_array_numpy(PyObject *self, PyObject *args, PyObject *kwargs);

int py_init_exchange(PyObject *module, py_state *st);
/* For the module's collector: this folder's part of the state. */
int py_exchange_traverse(py_state *st, visitproc visit, void *arg);
void py_exchange_clear(py_state *st);
extern PyMethodDef py_exchange_methods[], py_raw_methods[];
extern PyMethodDef py_cai_import_methods[], py_dlpack_methods[];

#endif
