/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Operations of programs, applied: with the checks, the allocation and the fallback ladder of our
 * own operations. */
#include <stdio.h>
#include <stdlib.h>
#include "core/ops/custom.h"
#include "core/run/fallback.h"

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
    const char *before = nd__callback_enter(a->op->def.name);
    ND_RETURN_IF(nd__callback_leave(before, "the shape rule",
                                    def->shape(def->ctx, in, a->params, a->result)));
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
    const char *before = nd__callback_enter(a->op->def.name);
    return nd__callback_leave(before, "the CPU form", def->cpu(def->ctx, from, a->params, to));
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
    const char *before = nd__callback_enter(a->op->def.name);
    nd_status status = nd__callback_leave(before, "the device form",
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
    nd_custom_device_fn form = nd__custom_form(a->op, a->device);
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
    const char *before = nd__callback_enter(op->def.name);
    nd_status status =
        nd__callback_leave(before, "the backward function",
                           op->def.backward(op->def.ctx, in, out, grad_out, params, grad_in));
    if (status == ND_OK)
        status = check_gradients(op, in, grad_in);
    if (status != ND_OK)
        release_all(grad_in, op->def.n_in);
    return status;
}
