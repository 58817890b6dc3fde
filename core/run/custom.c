/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Operations of programs: registered with a shape rule, a form for the CPU and forms for plug-ins;
 * applied with the checks, the allocation and the fallback ladder of our own operations. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include "core/core.h"
#include "core/run/fallback.h"
#include "core/lib/fork.h"

struct nd_custom_op {
    const nd_custom_op *next;
    nd_custom_def def; /* texts and forms are ours */
    nd_custom_form *forms;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of registering */
static _Atomic(const nd_custom_op *) all;                /* the latest; never removed */
ND_TLS const char *running; /* the operation whose callback this thread is in */

void nd__fork_custom(nd_fork now)
{
    nd__fork_mutex(&lock, now);
}

/* ---- callbacks ---- */
nd_status nd_custom_error(nd_status status, const char *fmt, ...)
{
    char text[768];
    va_list ap;
    ND_NEED("custom_error", 1, fmt);
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return nd__fail(status, running, -1, "%s", text);
}

nd_status nd__callback_status(const char *op, const char *what, nd_status status)
{
    if (status == ND_OK)
        return ND_OK;
    if (status < 0 || status >= ND_STATUS_END)
        return nd__fail(ND_ERR_ARGUMENT, op, -1, "%s returned %d, which is no status", what,
                        (int)status);
    if (nd_last_error()->status != status)
        return nd__fail(status, op, -1, "%s returned %s without a text (nd_custom_error)", what,
                        nd_status_name(status));
    nd__error_context(op, NULL, NULL);
    return status;
}

/* Around a callback: running = enter(op); status = leave(...). */
static const char *enter(const nd_custom_op *op)
{
    const char *before = running;
    running = op->def.name;
    return before;
}

static nd_status leave(const nd_custom_op *op, const char *before, const char *what,
                       nd_status status)
{
    running = before;
    return nd__callback_status(op->def.name, what, status);
}

/* ---- registering ---- */
const nd_custom_op *nd_custom_find(const char *name)
{
    const nd_custom_op *op = atomic_load_explicit(&all, memory_order_acquire);
    while (name && op && strcmp(op->def.name, name) != 0)
        op = op->next;
    return name ? op : NULL;
}

const char *nd_custom_name(const nd_custom_op *op)
{
    ND_NEED_OR("custom_name", 0, op, "");
    return op->def.name;
}

static bool is_name(const char *name)
{
    size_t n = name ? strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") : 0;
    return n && name[n] == 0 && name[0] >= 'a';
}

static nd_status check_def(const nd_custom_def *def)
{
    static const char op[] = "custom_register";
    if (!def || def->size < NDP_END(nd_custom_def, backward))
        return nd__fail(ND_ERR_ARGUMENT, op, 0,
                        "the definition's size field is not sizeof(nd_custom_def)");
    if (!is_name(def->name))
        return nd__fail(ND_ERR_ARGUMENT, op, 0,
                        "\"%s\" is no name of an operation: a-z first, then a-z, 0-9 and _",
                        def->name ? def->name : "");
    if (def->n_in < 0 || def->n_in > ND_CUSTOM_MAX || def->n_out < 1 || def->n_out > ND_CUSTOM_MAX)
        return nd__fail(ND_ERR_ARGUMENT, op, 0,
                        "\"%s\" has %d inputs and %d outputs; 0 to %d and 1 to %d can be",
                        def->name, (int)def->n_in, (int)def->n_out, ND_CUSTOM_MAX, ND_CUSTOM_MAX);
    if (!def->shape || def->n_forms < 0 || (def->n_forms && !def->forms) ||
        (!def->cpu && !def->n_forms))
        return nd__fail(ND_ERR_ARGUMENT, op, 0,
                        "\"%s\" needs a shape rule, and a form for the CPU or for a plug-in",
                        def->name);
    for (int32_t i = 0; i < def->n_forms; i++)
        if (!is_name(def->forms[i].plugin) || !def->forms[i].run)
            return nd__fail(ND_ERR_ARGUMENT, op, 0,
                            "form %d of \"%s\" has no name of a plug-in, or no function", (int)i,
                            def->name);
    return ND_OK;
}

static void op_free(nd_custom_op *op)
{
    if (!op)
        return;
    free((char *)op->def.name);
    free((char *)op->def.doc);
    for (int32_t i = 0; op->forms && i < op->def.n_forms; i++)
        free((char *)op->forms[i].plugin);
    free(op->forms);
    free(op);
}

static nd_custom_op *op_new(const nd_custom_def *def)
{
    nd_custom_op *op = calloc(1, sizeof *op);
    if (!op)
        return NULL;
    op->def = *def;
    op->def.name = strdup(def->name);
    op->def.doc = strdup(def->doc ? def->doc : "");
    op->forms = calloc((size_t)def->n_forms + 1, sizeof *op->forms);
    op->def.forms = op->forms;
    bool whole = op->def.name && op->def.doc && op->forms;
    for (int32_t i = 0; whole && i < def->n_forms; i++) {
        op->forms[i].run = def->forms[i].run;
        op->forms[i].plugin = strdup(def->forms[i].plugin);
        whole = op->forms[i].plugin != NULL;
    }
    if (whole)
        return op;
    op_free(op);
    return NULL;
}

nd_status nd_custom_register(const nd_custom_def *def, const nd_custom_op **out)
{
    if (!out)
        return nd__fail(ND_ERR_ARGUMENT, "custom_register", 1, "out is NULL");
    *out = NULL;
    ND_RETURN_IF(check_def(def));
    nd_custom_op *op = op_new(def);
    if (!op)
        return nd__fail(ND_ERR_MEMORY, "custom_register", -1, "no memory for \"%s\"", def->name);
    pthread_mutex_lock(&lock);
    bool taken = nd_custom_find(def->name) || nd_op_find(def->name) != ND_OP_NONE;
    if (!taken) {
        op->next = atomic_load(&all);
        atomic_store_explicit(&all, op, memory_order_release);
    }
    pthread_mutex_unlock(&lock);
    if (taken) {
        op_free(op);
        return nd__fail(ND_ERR_ARGUMENT, "custom_register", 0,
                        "there is an op named \"%s\" already", def->name);
    }
    *out = op;
    return ND_OK;
}

static nd_custom_device_fn form_for(const nd_custom_op *op, const nd_device *d)
{
    for (int32_t i = 0; i < op->def.n_forms; i++)
        if (strcmp(op->forms[i].plugin, d->slot->name) == 0)
            return op->forms[i].run;
    return NULL;
}

int32_t nd_custom_has_form(const nd_custom_op *op, nd_device *device)
{
    nd_status status = ND_OK;
    device = op ? nd__or_current(device, &status) : NULL;
    return device && status == ND_OK && (form_for(op, device) || (device->is_cpu && op->def.cpu));
}

/* ---- one application ---- */
typedef struct {
    const nd_custom_op *op;
    const nd_array *const *in;
    const void *params;
    nd_device *device;
    nd_custom_shape result[ND_CUSTOM_MAX];
} application;

/* `place` is the position of params among the arguments of the function. */
static nd_status check_call(const char *function, const nd_custom_op *op, const nd_array *const *in,
                            int32_t place, const void *params)
{
    ND_NEED(function, 0, op);
    ND_NEED_LIST(op->def.name, 1, op->def.n_in, in);
    ND_NEED_LIST(op->def.name, place, op->def.params_nbytes, params);
    for (int32_t i = 0; i < op->def.n_in; i++) {
        ND_RETURN_IF(nd__check_array(op->def.name, in[i], i));
        ND_RETURN_IF(nd__check_same_device(op->def.name, in[0], in[i], 0, i));
    }
    return ND_OK;
}

static nd_status find_device(application *a, const nd_apply_opts *opts)
{
    nd_status status = ND_OK;
    if (opts && opts->size < NDP_END(nd_apply_opts, stream))
        return nd__fail(ND_ERR_ARGUMENT, a->op->def.name, -1,
                        "the options' size field is %u; set it to sizeof", opts->size);
    if (a->op->def.n_in)
        a->device = a->in[0]->storage->device;
    else
        a->device = nd__or_current(opts && opts->stream ? opts->stream->device : NULL, &status);
    return status;
}

static nd_status find_shapes(application *a)
{
    nd_custom_shape in[ND_CUSTOM_MAX];
    const nd_custom_def *def = &a->op->def;
    int64_t size;
    for (int32_t i = 0; i < def->n_in; i++) {
        in[i].dtype = a->in[i]->dtype;
        in[i].ndim = a->in[i]->ndim;
        memcpy(in[i].shape, a->in[i]->shape, (size_t)in[i].ndim * sizeof(int64_t));
    }
    for (int32_t i = 0; i < def->n_out; i++)
        a->result[i].dtype = a->result[i].ndim = 0;
    const char *before = enter(a->op);
    ND_RETURN_IF(
        leave(a->op, before, "the shape rule", def->shape(def->ctx, in, a->params, a->result)));
    for (int32_t i = 0; i < def->n_out; i++) {
        ND_RETURN_IF(nd__check_dtype(def->name, a->result[i].dtype));
        ND_RETURN_IF(nd__check_shape(def->name, a->result[i].dtype, a->result[i].ndim,
                                     a->result[i].shape, &size));
    }
    return ND_OK;
}

static nd_status prepare(application *a, const nd_apply_opts *opts, nd_scope *scope)
{
    ND_RETURN_IF(check_call("custom_apply", a->op, a->in, 2, a->params));
    ND_RETURN_IF(find_device(a, opts));
    ND_RETURN_IF(nd__usable(a->device, a->op->def.name));
    ND_RETURN_IF(nd__scope_enter(a->op->def.name, a->device, opts ? opts->stream : NULL, scope));
    return find_shapes(a);
}

/* ---- the CPU form ---- */
static nd_custom_view view_of(const nd_array *a)
{
    return (nd_custom_view){
        .data = a->storage->host + a->offset * nd__itemsize(a->dtype),
        .dtype = a->dtype,
        .ndim = a->ndim,
        .shape = a->shape,
        .stride = a->stride,
    };
}

static nd_status run_cpu(const application *a, const nd_array *const *in, nd_array *const *out)
{
    nd_custom_view from[ND_CUSTOM_MAX], to[ND_CUSTOM_MAX];
    const nd_custom_def *def = &a->op->def;
    for (int32_t i = 0; i < def->n_in; i++)
        from[i] = view_of(in[i]);
    for (int32_t i = 0; i < def->n_out; i++)
        to[i] = view_of(out[i]);
    const char *before = enter(a->op);
    return leave(a->op, before, "the CPU form", def->cpu(def->ctx, from, a->params, to));
}

/* A dense copy of a on the CPU. */
static nd_status fetch(const application *a, nd_device *cpu, const nd_array *from, nd_array **out)
{
    nd_array *dense = NULL;
    nd_status status;
    uint64_t n = (uint64_t)(from->size * nd__itemsize(from->dtype));
    ND_GOTO_IF(done,
               nd__array_alloc(a->op->def.name, cpu, from->dtype, from->ndim, from->shape, out));
    if (n == 0)
        goto done;
    ND_GOTO_IF(done, nd_compact(from, &dense));
    nd__count_staged_bytes(n);
    status = nd__read(a->device, a->op->def.name, ND_WAIT_STAGING, dense->storage->mem,
                      (uint64_t)nd__byte_offset(dense), (*out)->storage->host, n);
done:
    nd_release(dense);
    return status;
}

static nd_status send(const application *a, const nd_array *from, const nd_array *to)
{
    uint64_t n = (uint64_t)(from->size * nd__itemsize(from->dtype));
    if (n == 0)
        return ND_OK;
    nd__count_staged_bytes(n);
    nd__used(to->storage);
    return nd__write(a->device, a->op->def.name, ND_WAIT_STAGING, to->storage->mem,
                     (uint64_t)nd__byte_offset(to), from->storage->host, n);
}

static void release_all(nd_array **arrays, int32_t n)
{
    for (int32_t i = 0; i < n; i++) {
        nd_release(arrays[i]);
        arrays[i] = NULL;
    }
}

static nd_status run_staged(const application *a, nd_array *const *out)
{
    nd_array *in[ND_CUSTOM_MAX] = {NULL}, *result[ND_CUSTOM_MAX] = {NULL};
    const nd_custom_def *def = &a->op->def;
    nd_device *cpu;
    nd_status status;
    ND_RETURN_IF(nd__cpu_device(&cpu));
    for (int32_t i = 0; i < def->n_in; i++)
        ND_GOTO_IF(done, fetch(a, cpu, a->in[i], &in[i]));
    for (int32_t i = 0; i < def->n_out; i++)
        ND_GOTO_IF(done, nd__array_alloc(def->name, cpu, out[i]->dtype, out[i]->ndim, out[i]->shape,
                                         &result[i]));
    ND_GOTO_IF(done, run_cpu(a, (const nd_array *const *)in, result));
    for (int32_t i = 0; i < def->n_out; i++)
        ND_GOTO_IF(done, send(a, result[i], out[i]));
done:
    release_all(in, def->n_in);
    release_all(result, def->n_out);
    if (status != ND_OK)
        nd__error_context(def->name, a->device->name, a->device->slot->name);
    return status;
}

static nd_status run_form(const application *a, nd_custom_device_fn form, nd_array *const *out)
{
    nd_stream *stream = NULL;
    ND_RETURN_IF(nd_stream_current(a->device, &stream));
    const char *before = enter(a->op);
    nd_status status = leave(a->op, before, "the device form",
                             form(a->op->def.ctx, stream, a->in, a->params, out));
    if (status != ND_OK)
        nd__error_context(NULL, a->device->name, a->device->slot->name);
    nd_stream_release(stream);
    return status;
}

/* out: dense arrays that overlap no input. */
static nd_status run(const application *a, nd_array *const *out)
{
    char why[96];
    const nd_custom_def *def = &a->op->def;
    nd_custom_device_fn form = form_for(a->op, a->device);
    if (form)
        return run_form(a, form, out);
    if (a->device->is_cpu && def->cpu)
        return run_cpu(a, a->in, out);
    if (!def->cpu) {
        nd__fail(ND_ERR_UNSUPPORTED, def->name, -1,
                 "it has no form for the plug-in %s, and none for the CPU", a->device->slot->name);
        nd__error_context(NULL, a->device->name, a->device->slot->name);
        return ND_ERR_UNSUPPORTED;
    }
    snprintf(why, sizeof why, "the operation has no form for the plug-in %s",
             a->device->slot->name);
    ND_RETURN_IF(nd__may_stage(a->device, def->name, NULL, why));
    const nd_fallback_clock clock = nd__fallback_begin();
    nd_status status = run_staged(a, out);
    nd__fallback_end(&clock, ND_FALLBACK_STAGED, a->device, def->name, NULL, why);
    return status;
}

nd_status nd_custom_apply(const nd_custom_op *op, const nd_array *const *in, const void *params,
                          const nd_apply_opts *opts, nd_array **out)
{
    nd_scope scope = {NULL, NULL};
    application a = {.op = op, .in = in, .params = params};
    nd_status status;
    int32_t n = op ? op->def.n_out : 0;
    ND_NEED(op ? op->def.name : "custom_apply", 4, out);
    memset(out, 0, (size_t)n * sizeof *out);
    ND_GOTO_IF(done, prepare(&a, opts, &scope));
    for (int32_t i = 0; i < n; i++)
        ND_GOTO_IF(done, nd__array_alloc(op->def.name, a.device, a.result[i].dtype,
                                         a.result[i].ndim, a.result[i].shape, &out[i]));
    status = run(&a, out);
done:
    nd__scope_leave(&scope);
    if (status != ND_OK)
        release_all(out, n);
    return status;
}

/* ---- into existing views ---- */
static nd_status check_destination(const application *a, const nd_array *dst, int32_t i)
{
    const nd_custom_def *def = &a->op->def;
    int32_t argument = def->n_in + i;
    ND_RETURN_IF(nd__check_writable(def->name, dst, argument));
    if (dst->storage->device != a->device)
        return nd__fail(ND_ERR_DEVICE, def->name, argument,
                        "the operands are on %s, destination %d on %s", a->device->name, (int)i,
                        dst->storage->device->name);
    if (dst->dtype != a->result[i].dtype)
        return nd__fail(ND_ERR_DTYPE, def->name, argument, "destination %d is %s, the result %s",
                        (int)i, nd_dtype_name(dst->dtype), nd_dtype_name(a->result[i].dtype));
    return nd__check_dst_shape(def->name, dst, a->result[i].ndim, a->result[i].shape, argument);
}

/* The form may write straight to it. */
static bool serves_as_output(const application *a, const nd_array *const *dst, int32_t i)
{
    if (!(dst[i]->flags & ND_FLAG_CONTIGUOUS))
        return false;
    for (int32_t j = 0; j < a->op->def.n_in; j++)
        if (nd__may_overlap(dst[i], a->in[j]))
            return false;
    for (int32_t j = 0; j < i; j++)
        if (nd__may_overlap(dst[i], dst[j]))
            return false;
    return true;
}

nd_status nd_custom_apply_into(const nd_custom_op *op, const nd_array *const *in,
                               const void *params, const nd_apply_opts *opts,
                               const nd_array *const *dst)
{
    nd_scope scope = {NULL, NULL};
    application a = {.op = op, .in = in, .params = params};
    nd_array *made[ND_CUSTOM_MAX] = {NULL}, *out[ND_CUSTOM_MAX];
    int32_t n = op ? op->def.n_out : 0;
    nd_status status;
    ND_NEED(op ? op->def.name : "custom_apply_into", 4, dst);
    ND_GOTO_IF(done, prepare(&a, opts, &scope));
    for (int32_t i = 0; i < n; i++)
        ND_GOTO_IF(done, check_destination(&a, dst[i], i));
    for (int32_t i = 0; i < n; i++) {
        if (!serves_as_output(&a, dst, i))
            ND_GOTO_IF(done, nd__array_alloc(op->def.name, a.device, a.result[i].dtype,
                                             a.result[i].ndim, a.result[i].shape, &made[i]));
        out[i] = made[i] ? made[i] : (nd_array *)dst[i];
    }
    ND_GOTO_IF(done, run(&a, out));
    for (int32_t i = 0; i < n; i++)
        if (made[i])
            ND_GOTO_IF(done, nd__copy_into(made[i], dst[i]));
done:
    release_all(made, n);
    nd__scope_leave(&scope);
    return status;
}

/* ---- backward ---- */
static nd_status check_gradients(const nd_custom_op *op, const nd_array *const *in,
                                 nd_array *const *grad_in)
{
    char have[ND_SHAPE_TEXT], want[ND_SHAPE_TEXT];
    for (int32_t i = 0; i < op->def.n_in; i++) {
        const nd_array *g = grad_in[i];
        if (g && !nd__same_shape(g->ndim, g->shape, in[i]->ndim, in[i]->shape))
            return nd__fail(ND_ERR_SHAPE, op->def.name, i,
                            "the backward function made a gradient of shape %s for input %d of %s",
                            nd__shape_text(g->ndim, g->shape, have, sizeof have), (int)i,
                            nd__shape_text(in[i]->ndim, in[i]->shape, want, sizeof want));
    }
    return ND_OK;
}

nd_status nd_custom_backward(const nd_custom_op *op, const nd_array *const *in,
                             const nd_array *const *out, const nd_array *const *grad_out,
                             const void *params, nd_array **grad_in)
{
    ND_RETURN_IF(check_call("custom_backward", op, in, 4, params));
    ND_NEED_LIST(op->def.name, 5, op->def.n_in, grad_in);
    memset(grad_in, 0, (size_t)op->def.n_in * sizeof *grad_in);
    if (!op->def.backward)
        return nd__fail(ND_ERR_UNSUPPORTED, op->def.name, -1, "it has no backward function");
    ND_NEED(op->def.name, 2, out);
    ND_NEED(op->def.name, 3, grad_out);
    for (int32_t i = 0; i < op->def.n_out; i++)
        ND_RETURN_IF(nd__check_array(op->def.name, out[i], op->def.n_in + i));
    const char *before = enter(op);
    nd_status status = leave(op, before, "the backward function",
                             op->def.backward(op->def.ctx, in, out, grad_out, params, grad_in));
    if (status == ND_OK)
        status = check_gradients(op, in, grad_in);
    if (status != ND_OK)
        release_all(grad_in, op->def.n_in);
    return status;
}
