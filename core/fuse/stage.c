/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Nodes of one shape, computed by one compiled loop over memory. */
#include <stdlib.h>
#include "core/fuse/fuse.h"
#include "core/run/dispatch.h"

enum { OPERANDS = NDP_PROGRAM_MAX_IN + NDP_PROGRAM_MAX_OUT };

/* The operands of a call: results first, since the order of dimensions is theirs. */
typedef struct {
    ndp_view view[OPERANDS];
    int64_t shape[ND_MAX_NDIM], stride[OPERANDS][ND_MAX_NDIM];
    const nd_array *result[NDP_PROGRAM_MAX_OUT];
    bool owned[NDP_PROGRAM_MAX_OUT];
    int n, ndim;
} operands;

/* Whether writing it now does no harm: nothing else of the run reads or writes what it covers. */
static bool may_write(const nd_fusing *run, const nd_array *dst, const nd_fuse_value *v)
{
    bool alone = run->expr->n_levels == 1 && run->expr->n_out == 1;
    if (!run->dst_checked || dst->dtype != v->dtype)
        return false;
    for (int32_t i = 0; i < run->expr->n_in; i++) {
        const nd_array *a = run->args[i].array;
        if (a && nd__may_overlap(a, dst) && !(alone && nd__same_view(a, dst)))
            return false;
    }
    return true;
}

nd_status nd__fuse_result(nd_fusing *run, int32_t node, const nd_array **out, bool *owned)
{
    const nd_fuse_value *v = &run->value[node];
    const nd_fuse_shape *s = &run->shape[v->shape];
    nd_array *made = NULL;
    for (int32_t i = 0; run->dst && i < run->expr->n_out; i++)
        if (run->expr->out[i] == node && may_write(run, run->dst[i], v)) {
            *out = run->dst[i];
            *owned = false;
            return ND_OK;
        }
    ND_RETURN_IF(nd__array_alloc(run->name, run->device, v->dtype, s->ndim, s->dim, &made));
    *out = made;
    *owned = true;
    return ND_OK;
}

static nd_status make_results(nd_fusing *run, const int32_t *roots, int32_t n, operands *o)
{
    for (int32_t i = 0; i < n; i++) {
        nd_status status = nd__fuse_result(run, roots[i], &o->result[i], &o->owned[i]);
        if (status == ND_OK)
            continue;
        while (i-- > 0)
            if (o->owned[i])
                nd_release((nd_array *)o->result[i]);
        return status;
    }
    return ND_OK;
}

static void set_strides(operands *o, int i, const nd_array *a)
{
    o->view[i] = nd__view(a);
    nd__broadcast_strides(o->ndim, o->shape, a->ndim, a->shape, a->stride, o->stride[i]);
}

/* Views of all operands with dimensions merged; whether all are dense, in one dimension. */
static bool set_views(const nd_fusing *run, const nd_fuse_program *p, operands *o)
{
    const nd_array *first = o->result[0];
    bool flat = true;
    o->n = (int)(p->n_out + p->n_in);
    o->ndim = first->ndim;
    memcpy(o->shape, first->shape, (size_t)o->ndim * sizeof *o->shape);
    for (uint32_t i = 0; i < p->n_out; i++)
        set_strides(o, (int)i, o->result[i]);
    for (uint32_t i = 0; i < p->n_in; i++)
        set_strides(o, (int)(p->n_out + i), run->value[p->in[i]].array);
    o->ndim = nd__coalesce(o->ndim, o->shape, o->n, o->stride, false);
    if (o->ndim == 0) {
        o->ndim = 1;
        o->shape[0] = 1;
        for (int i = 0; i < o->n; i++)
            o->stride[i][0] = 1;
    }
    for (int i = 0; i < o->n; i++) {
        bool dense = nd__is_c_order(o->ndim, o->shape, o->stride[i]);
        o->view[i].ndim = o->ndim;
        o->view[i].shape = o->shape;
        o->view[i].stride = o->stride[i];
        o->view[i].flags = dense ? NDP_VIEW_CONTIGUOUS : 0;
        flat = flat && dense;
    }
    return flat && o->ndim == 1;
}

static void let_loop_go(void *loop)
{
    nd__fuse_loop_release(loop);
}

nd_status nd__fuse_call(nd_device *d, nd_fuse_loop *loop, const ndp_kernel *kernel, ndp_call *call)
{
    nd_stream *s = nd__stream(d);
    if (s && nd__capture_id(s)) {
        nd__fuse_loop_retain(loop);
        nd_status status = nd__capture_keep(s, "expr_run", let_loop_go, loop);
        if (status != ND_OK) {
            nd__fuse_loop_release(loop);
            return status;
        }
    }
    nd__fuse_count_run(true);
    return nd__run_kernel(d, kernel, call);
}

static nd_status run_loop(nd_fusing *run, nd_fuse_program *p, operands *o, const char **why)
{
    nd_fuse_loop *loop;
    const ndp_kernel *kernel;
    ndp_call call;
    p->flags = set_views(run, p, o) ? NDP_PROGRAM_FLAT : 0;
    p->flags |= (uint32_t)o->ndim << 8;
    ND_RETURN_IF(nd__fuse_loop_get(run->device, p, &loop, &kernel, why));
    nd_status status = ND_OK;
    if (kernel) {
        nd__set_call(&call, ND_OP_NONE, p->n_in, o->view + p->n_out, p->n_out, o->view);
        call.n_scalar = p->n_scalar;
        call.scalar = p->scalar;
        status = nd__fuse_call(run->device, loop, kernel, &call);
        nd__fuse_record_loop(run, p, loop, &call, o->result);
        *why = NULL;
    } else {
        nd__fuse_reason("%s: %s", run->device->name, *why);
        *why = "refused";
    }
    nd__fuse_loop_release(loop);
    return status;
}

/* Computes by a loop, or leaves the reason not to in *why. */
static nd_status by_loop(nd_fusing *run, const int32_t *roots, int32_t n, nd_fuse_program *p,
                         const char **why)
{
    operands o;
    ND_RETURN_IF(nd__fuse_lower(run, roots, n, p, why));
    if (*why && n > 1) { /* too much for one loop */
        *why = NULL;
        ND_RETURN_IF(nd__fuse_stage(run, roots, n / 2));
        return nd__fuse_stage(run, roots + n / 2, n - n / 2);
    }
    if (*why) {
        nd__fuse_reason("%s", *why);
        return ND_OK;
    }
    ND_RETURN_IF(make_results(run, roots, n, &o));
    nd_status status = ND_OK;
    if (o.result[0]->size)
        status = run_loop(run, p, &o, why);
    else
        nd__fuse_record_drop(run);
    for (int32_t i = 0; i < n; i++) {
        if (status == ND_OK && !*why)
            nd__fuse_take(run, roots[i], o.result[i], o.owned[i]);
        else if (o.owned[i])
            nd_release((nd_array *)o.result[i]);
    }
    return status;
}

nd_status nd__fuse_stage(nd_fusing *run, const int32_t *roots, int32_t n)
{
    const char *why = NULL;
    if (run->eager)
        return nd__fuse_eager(run, roots, n);
    if (!run->device->has_fused) {
        nd__fuse_reason("the plug-in %s of %s has no group ndp.fused/1", run->device->slot->name,
                        run->device->name);
        return nd__fuse_eager(run, roots, n);
    }
    nd_fuse_program *p = malloc(sizeof *p);
    if (!p)
        return nd__fail(ND_ERR_MEMORY, run->name, -1, "no memory for a program");
    nd_status status = by_loop(run, roots, n, p, &why);
    free(p);
    return status == ND_OK && why ? nd__fuse_eager(run, roots, n) : status;
}
