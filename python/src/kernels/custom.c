/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Operations whose shape rule and forms are functions of Python's. The library calls them on the
 * thread that applies the operation, without the GIL. */
#include <stdlib.h>
#include "python/src/kernels/kernels.h"

static const char capsule_name[] = "ndock.custom_op";

/* What the callbacks find; operations live as long as the process, and so does this. */
typedef struct {
    py_state *st;
    int n_in, n_out;
    PyObject *rule, *host, *forms, *backward; /* forms: a dict by plug-in; backward may be None */
    const nd_custom_op *op;
} record;

/* The parameters of a call, and the exception that a callback has raised. */
typedef struct {
    uint64_t mark; /* another program's bytes have not got it */
    PyObject *kwargs;
    py_exception raised;
} call;
#define CALL_MARK UINT64_C(0x6e646f636b70794f)

static call *call_of(const void *params)
{
    call *k = (call *)(uintptr_t)params;
    return k->mark == CALL_MARK ? k : NULL;
}

/* Inside a callback: keeps the exception for whoever applies the operation. */
static nd_status callback_failed(call *k)
{
    k->raised = py_put_aside();
    return nd_custom_error(ND_ERR_ARGUMENT, "a function of Python's raised an exception");
}

static nd_status no_call(void)
{
    return nd_custom_error(
        ND_ERR_ARGUMENT, "this operation has its forms in Python, and can be applied there alone");
}

/* ---- the shape rule ---- */
/* A list of (shape, dtype). */
static PyObject *shapes_list(const record *r, const nd_custom_shape *in)
{
    PyObject *list = PyList_New(0);
    for (int i = 0; list && i < r->n_in; i++) {
        PyObject *shape = py_tuple(in[i].shape, in[i].ndim);
        PyObject *dtype = shape ? py_from_dtype(r->st, in[i].dtype) : NULL;
        PyObject *pair = dtype ? Py_BuildValue("(OO)", shape, dtype) : NULL;
        Py_XDECREF(shape);
        Py_XDECREF(dtype);
        if (py_append(list, pair) < 0)
            Py_CLEAR(list);
    }
    return list;
}

static int read_shapes(const record *r, PyObject *made, nd_custom_shape *out)
{
    if (!made || !PyList_Check(made) || PyList_Size(made) != r->n_out) {
        if (!PyErr_Occurred())
            PyErr_Format(PyExc_ValueError, "the shape rule must tell of %d results", r->n_out);
        return -1;
    }
    for (int i = 0; i < r->n_out; i++) {
        PyObject *pair = PyList_GetItem(made, i);
        int ndim;
        if (py_ints(PyTuple_GetItem(pair, 0), "a result's shape", out[i].shape, &ndim) < 0 ||
            py_dtype(r->st, PyTuple_GetItem(pair, 1), &out[i].dtype) < 0)
            return -1;
        out[i].ndim = ndim;
    }
    return 0;
}

static nd_status shape_rule(void *ctx, const nd_custom_shape *in, const void *params,
                            nd_custom_shape *out)
{
    const record *r = ctx;
    call *k = call_of(params);
    PyGILState_STATE gil;
    nd_status status = ND_OK;
    if (!k || !py_enter(&gil))
        return no_call();
    PyObject *list = shapes_list(r, in);
    PyObject *made = list ? PyObject_CallFunctionObjArgs(r->rule, list, k->kwargs, NULL) : NULL;
    if (read_shapes(r, made, out) < 0)
        status = callback_failed(k);
    Py_XDECREF(list);
    Py_XDECREF(made);
    py_leave(gil);
    return status;
}

/* ---- forms ---- */
/* A tuple of the inputs and then the outputs. */
static PyObject *operands_tuple(const record *r, const nd_array *const *in, nd_array *const *out)
{
    nd_array *all[2 * ND_CUSTOM_MAX];
    for (int i = 0; i < r->n_in; i++)
        all[i] = nd_retain((nd_array *)(uintptr_t)in[i]);
    for (int i = 0; i < r->n_out; i++)
        all[r->n_in + i] = nd_retain(out[i]);
    return py_array_tuple(r->st, all, r->n_in + r->n_out);
}

/* What a form returns, where it is not None, is copied to the outputs. */
static int take_answer(const record *r, PyObject *answer, nd_array *const *out)
{
    py_list list;
    if (!answer || answer == Py_None)
        return answer ? 0 : -1;
    PyObject *items =
        py_array_get(r->st, answer) ? Py_BuildValue("(O)", answer) : Py_NewRef(answer);
    const int begun = items ? py_list_begin(r->st, nd_custom_name(r->op), items, &list) : -1;
    int status = begun;
    if (begun == 0 && list.n != r->n_out) {
        PyErr_Format(PyExc_ValueError, "a form returned %d arrays; the operation has %d results",
                     list.n, r->n_out);
        status = -1;
    }
    for (int i = 0; status == 0 && i < r->n_out; i++)
        if (list.a[i] != out[i])
            status = py_check(r->st, nd_assign(list.a[i], out[i]));
    if (begun == 0)
        py_list_end(&list);
    Py_XDECREF(items);
    return status;
}

static nd_status run_form(const record *r, PyObject *function, call *k, const nd_array *const *in,
                          nd_array *const *out)
{
    PyObject *args = operands_tuple(r, in, out);
    PyObject *answer = args ? PyObject_Call(function, args, k->kwargs) : NULL;
    const int status = take_answer(r, answer, out);
    Py_XDECREF(args);
    Py_XDECREF(answer);
    return status < 0 ? callback_failed(k) : (nd_status)ND_OK;
}

/* The form for the device of an operand, by its plug-in's name. */
static PyObject *form_for(const record *r, const nd_array *a)
{
    const char *name = nd_device_name(nd_device_of(a)), *end = strchr(name, ':');
    PyObject *plugin = PyUnicode_FromStringAndSize(name, end ? end - name : (int)strlen(name));
    PyObject *form = plugin ? PyDict_GetItemWithError(r->forms, plugin) : NULL;
    Py_XDECREF(plugin);
    return form;
}

static nd_status device_form(void *ctx, nd_stream *stream, const nd_array *const *in,
                             const void *params, nd_array *const *out)
{
    const record *r = ctx;
    call *k = call_of(params);
    PyGILState_STATE gil;
    (void)stream; /* it is the current one */
    if (!k || !py_enter(&gil))
        return no_call();
    PyObject *form = form_for(r, out[0]);
    const nd_status status = form ? run_form(r, form, k, in, out) : callback_failed(k);
    py_leave(gil);
    return status;
}

/* ---- the host form on staged operands: on copies, which Python may keep ---- */
static nd_status copy_in(nd_device *cpu, const nd_custom_view *v, nd_array **out)
{
    const nd_layout layout = {.size = sizeof layout,
                              .dtype = v->dtype,
                              .ndim = v->ndim,
                              .shape = v->shape,
                              .stride = v->stride};
    return nd_from_host(&layout, v->data, cpu, out);
}

static size_t bytes_of(const nd_array *a)
{
    return (size_t)nd_size(a) * (size_t)nd_dtype_size(nd_dtype_of(a));
}

static nd_status host_form(void *ctx, const nd_custom_view *in, const void *params,
                           const nd_custom_view *out)
{
    const record *r = ctx;
    call *k = call_of(params);
    PyGILState_STATE gil;
    nd_device *cpu;
    nd_array *all[2 * ND_CUSTOM_MAX] = {NULL};
    if (!k)
        return no_call();
    nd_status status = nd_device_get("cpu", &cpu);
    for (int i = 0; status == ND_OK && i < r->n_in; i++)
        status = copy_in(cpu, &in[i], &all[i]);
    for (int i = 0; status == ND_OK && i < r->n_out; i++)
        status = nd_empty(cpu, out[i].dtype, out[i].ndim, out[i].shape, &all[r->n_in + i]);
    if (status == ND_OK && !py_enter(&gil))
        status = no_call();
    else if (status == ND_OK) {
        status = run_form(r, r->host, k, (const nd_array *const *)all, all + r->n_in);
        py_leave(gil);
    }
    for (int i = 0; status == ND_OK && i < r->n_out; i++)
        status = nd_to_host(all[r->n_in + i], out[i].data, bytes_of(all[r->n_in + i]));
    nd_release_all(r->n_in + r->n_out, all);
    return status;
}

/* ---- registering ---- */
static int fill_forms(PyObject *forms, nd_custom_form *out)
{
    PyObject *keys = PyDict_Keys(forms);
    const Py_ssize_t n = keys ? PyList_Size(keys) : -1;
    for (Py_ssize_t i = 0; i < n && i < ND_CUSTOM_MAX; i++) {
        out[i].plugin = py_text(PyList_GetItem(keys, i), "a plug-in's name");
        out[i].run = device_form;
    }
    Py_XDECREF(keys); /* the dict keeps the names */
    if (n > ND_CUSTOM_MAX)
        PyErr_Format(PyExc_ValueError, "forms for %zd plug-ins; %d are the most", n, ND_CUSTOM_MAX);
    return PyErr_Occurred() ? -1 : (int)n;
}

/* _custom_register(name, doc, n_in, n_out, rule, host or None, forms, backward or None) */
static PyObject *custom_register(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    nd_custom_form forms[ND_CUSTOM_MAX];
    nd_custom_def def = {.size = sizeof def, .forms = forms, .params_nbytes = sizeof(call)};
    int n_in, n_out;
    if (n != 8 || py_args(st, "custom_op", "ii", args + 2, 2, &n_in, &n_out) < 0 ||
        !(def.name = py_text(args[0], "name")) || !(def.doc = py_text(args[1], "doc")))
        return NULL;
    def.n_in = n_in;
    def.n_out = n_out;
    def.n_forms = fill_forms(args[6], forms);
    record *r = def.n_forms < 0 ? NULL : calloc(1, sizeof *r);
    if (!r)
        return def.n_forms < 0 ? NULL : PyErr_NoMemory();
    *r = (record){.st = st,
                  .n_in = n_in,
                  .n_out = n_out,
                  .rule = args[4],
                  .host = args[5],
                  .forms = args[6],
                  .backward = args[7]};
    def.ctx = r;
    def.shape = shape_rule;
    def.cpu = args[5] == Py_None ? NULL : host_form;
    if (py_check(st, nd_custom_register(&def, &r->op)) < 0) {
        free(r);
        return NULL;
    }
    for (int i = 4; i < 8; i++)
        Py_INCREF(args[i]);
    return PyCapsule_New(r, capsule_name, NULL);
}

/* ---- applying ---- */
static PyObject *answer(const record *r, call *k, nd_status status, nd_array **out)
{
    if (status == ND_OK)
        return py_array_tuple(r->st, out, r->n_out);
    PyObject *error = py_fail(r->st, status);
    if (k->raised.type) { /* the function's own exception says more */
        PyErr_Clear();
        py_bring_back(k->raised);
    }
    return error;
}

/* _custom_apply(operation, inputs, parameters, stream, outputs or None), a tuple */
static PyObject *custom_apply(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    py_state *st = py_state_of(module);
    const record *r = n == 5 ? PyCapsule_GetPointer(args[0], capsule_name) : NULL;
    nd_apply_opts opts = {.size = sizeof opts};
    nd_array *out[ND_CUSTOM_MAX];
    py_list in, into = {.items = NULL};
    call k = {.mark = CALL_MARK, .kwargs = args[2]};
    if (!r || py_list_begin(st, nd_custom_name(r->op), args[1], &in) < 0)
        return NULL;
    PyObject *made = NULL;
    const bool given = args[4] != Py_None;
    if (in.n != r->n_in) {
        PyErr_Format(PyExc_TypeError, "%s() takes %d arrays, not %d", nd_custom_name(r->op),
                     r->n_in, in.n);
    } else if ((!given || py_list_begin(st, nd_custom_name(r->op), args[4], &into) == 0) &&
               py_stream(st, args[3], NULL, &opts.stream) == 0) {
        const nd_array *const *from = (const nd_array *const *)in.a;
        PyThreadState *saved = PyEval_SaveThread();
        const nd_status status =
            given ? nd_custom_apply_into(r->op, from, &k, &opts, (const nd_array *const *)into.a)
                  : nd_custom_apply(r->op, from, &k, &opts, out);
        PyEval_RestoreThread(saved);
        for (int i = 0; given && i < into.n && status == ND_OK; i++)
            out[i] = nd_retain(into.a[i]);
        made = answer(r, &k, status, out);
        nd_stream_release(opts.stream);
    }
    if (given)
        py_list_end(&into);
    py_list_end(&in);
    return made;
}

PyMethodDef py_custom_methods[] = {PY_METHOD("_custom_register", custom_register),
                                   PY_METHOD("_custom_apply", custom_apply), PY_METHODS_END};
