/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The life of operations on batches of matrices, and the views that their kernels take. */
#include <stdio.h>
#include "core/ops/linalg.h"

/* ---- checks ---- */

nd_status nd__linalg_options(const char *op, const nd_linalg_opts *opts, nd_linalg_opts *o)
{
    return nd__read_options(op, opts, o, sizeof *o, NDP_END(nd_linalg_opts, unchecked));
}

nd_status nd__check_matrix(const char *op, const nd_array *a, int argument)
{
    if (a->ndim >= 2)
        return ND_OK;
    return nd__fail(ND_ERR_SHAPE, op, argument,
                    "argument %d has %d axes; matrices are the last two of two or more", argument,
                    (int)a->ndim);
}

nd_status nd__check_square(const char *op, const nd_array *a, int argument)
{
    char text[ND_SHAPE_TEXT];
    ND_RETURN_IF(nd__check_matrix(op, a, argument));
    if (nd__rows(a) == nd__columns(a))
        return ND_OK;
    return nd__fail(ND_ERR_SHAPE, op, argument,
                    "the last two extents of argument %d, of shape %s, are not equal; the matrices "
                    "must be square",
                    argument, nd__shape_text(a->ndim, a->shape, text, sizeof text));
}

nd_status nd__linalg_dtypes(const char *op, nd_dtype common, nd_dtype *compute, nd_dtype *given)
{
    const int kind = nd__kind(common);
    if (!(kind & (ND_KIND_FLOAT | ND_KIND_COMPLEX | ND_KIND_INT | ND_KIND_UINT | ND_KIND_BOOL)))
        return nd__fail(ND_ERR_DTYPE, op, -1, "%s is no dtype of numbers", nd_dtype_name(common));
    *given = kind & (ND_KIND_FLOAT | ND_KIND_COMPLEX) ? common : nd_default_float();
    *compute = nd__itemsize(*given) == 2 ? ND_F32 : *given;
    return ND_OK;
}

/* ---- views ---- */

/* What a kernel is given of one operand: its array, or a dense one in its place, and a view. */
typedef struct {
    const nd_array *given;
    nd_array *own; /* a dense copy, or room for a result; NULL: the array itself serves */
    int64_t shape[3], stride[3];
    ndp_view view;
} operand;

/* The one stride of the array's batch stretched to this one; false where there is none. */
static bool merge_batch(const nd_array *a, int axes, int batch_ndim, const int64_t *batch,
                        int64_t *stride)
{
    int64_t shape[ND_MAX_NDIM], s[1][ND_MAX_NDIM];
    memcpy(shape, batch, (size_t)batch_ndim * sizeof *shape);
    nd__broadcast_strides(batch_ndim, shape, a->ndim - axes, a->shape, a->stride, s[0]);
    const int rank = nd__coalesce(batch_ndim, shape, 1, s, true);
    *stride = rank ? s[0][0] : 0;
    return rank <= 1;
}

static void make_view(operand *o, const nd_array *a, int axes, int64_t count, int64_t stride)
{
    o->shape[0] = count;
    o->stride[0] = stride;
    for (int d = 0; d < axes; d++) {
        o->shape[d + 1] = a->shape[a->ndim - axes + d];
        o->stride[d + 1] = a->stride[a->ndim - axes + d];
    }
    o->view = nd__view(a);
    o->view.ndim = axes + 1;
    o->view.shape = o->shape;
    o->view.stride = o->stride;
    o->view.flags = nd__is_c_order(axes + 1, o->shape, o->stride) ? NDP_VIEW_CONTIGUOUS : 0;
}

/* A dense array of the whole batch in the place of the operand; with its elements, for inputs. */
static nd_status make_dense(operand *o, int axes, int batch_ndim, const int64_t *batch, bool input)
{
    const nd_array *a = o->given;
    int64_t shape[ND_MAX_NDIM];
    memcpy(shape, batch, (size_t)batch_ndim * sizeof *shape);
    memcpy(shape + batch_ndim, a->shape + a->ndim - axes, (size_t)axes * sizeof *shape);
    ND_RETURN_IF(
        nd__array_alloc(NULL, a->storage->device, a->dtype, batch_ndim + axes, shape, &o->own));
    return input ? nd__copy_into(a, o->own) : (nd_status)ND_OK;
}

static nd_status take_operand(operand *o, const nd_array *a, int axes, int batch_ndim,
                              const int64_t *batch, int64_t count, bool input)
{
    int64_t stride;
    o->given = a;
    if (merge_batch(a, axes, batch_ndim, batch, &stride)) {
        make_view(o, a, axes, count, stride);
        return ND_OK;
    }
    ND_RETURN_IF(make_dense(o, axes, batch_ndim, batch, input));
    (void)merge_batch(o->own, axes, batch_ndim, batch, &stride);
    make_view(o, o->own, axes, count, stride);
    return ND_OK;
}

nd_status nd__run_matrices(nd_op op, const void *params, int batch_ndim, const int64_t *batch,
                           int n_in, const nd_array *const *in, const int *in_axes, int n_out,
                           const nd_array *const *out, const int *out_axes)
{
    operand o[ND_MATRICES_IN + ND_MATRICES_OUT] = {{0}};
    ndp_view v[ND_MATRICES_IN + ND_MATRICES_OUT];
    const int n = n_in + n_out;
    int64_t count = 1;
    nd_status status = ND_OK;
    for (int d = 0; d < batch_ndim; d++)
        count *= batch[d];
    for (int i = 0; i < n; i++) {
        const bool input = i < n_in;
        ND_GOTO_IF(done, take_operand(&o[i], input ? in[i] : out[i - n_in],
                                      input ? in_axes[i] : out_axes[i - n_in], batch_ndim, batch,
                                      count, input));
        v[i] = o[i].view;
    }
    ndp_call call = {.size = sizeof call,
                     .op = op,
                     .n_in = (uint32_t)n_in,
                     .n_out = (uint32_t)n_out,
                     .in = v,
                     .out = v + n_in,
                     .params = params};
    ND_GOTO_IF(done, nd__run(out[0]->storage->device, &call));
    for (int i = n_in; i < n; i++)
        if (o[i].own)
            ND_GOTO_IF(done, nd__copy_into(o[i].own, o[i].given));
done:
    for (int i = 0; i < n; i++)
        nd_release(o[i].own);
    return status;
}

/* What a kernel said of a matrix, which knows no function's name. */
static nd_status name_error(const char *name, nd_status status)
{
    if (status != ND_ERR_LINALG)
        return nd__error_as(name, status);
    const nd_error *e = nd_last_error();
    char device[64], plugin[64];
    snprintf(device, sizeof device, "%s", e->device);
    snprintf(plugin, sizeof plugin, "%s", e->plugin);
    nd__fail(status, name, -1, "%s", e->message);
    nd__error_context(NULL, device, plugin);
    return status;
}

/* ---- the life of operations with several results ---- */

nd_status nd__matrices_begin(nd_matrices *m, nd_op op, const char *name, const nd_array *a,
                             const nd_linalg_opts *opts)
{
    memset(m, 0, sizeof *m);
    m->info = nd_op_get(op);
    m->name = name;
    ND_RETURN_IF(nd__check_array(name, a, 0));
    ND_RETURN_IF(nd__linalg_options(name, opts, &m->o));
    m->device = a->storage->device;
    return nd__scope_of(name, a, opts, &m->scope);
}

nd_status nd__matrices_dtype(nd_matrices *m, nd_dtype common)
{
    return nd__linalg_dtypes(m->name, common, &m->compute, &m->given);
}

nd_status nd__matrices_in(nd_matrices *m, const nd_array *a, int axes, int argument)
{
    const int ndims[2] = {m->batch_ndim, a->ndim - axes};
    const int64_t *const shapes[2] = {m->batch, a->shape};
    int64_t batch[ND_MAX_NDIM];
    int ndim;
    if (a->storage->device != m->device)
        return nd__fail(ND_ERR_DEVICE, m->name, argument,
                        "argument 0 is on %s, argument %d on %s; move one with nd_to_device",
                        m->device->name, argument, a->storage->device->name);
    ND_RETURN_IF(nd__broadcast(m->name, 2, ndims, shapes, &ndim, batch));
    m->batch_ndim = ndim;
    memcpy(m->batch, batch, (size_t)ndim * sizeof *batch);
    ND_RETURN_IF(nd__cast(a, m->compute, &m->in[m->n_in]));
    m->in_axes[m->n_in++] = axes;
    return ND_OK;
}

nd_status nd__matrices_out(nd_matrices *m, nd_dtype dtype, int axes, int64_t rows, int64_t columns)
{
    int64_t shape[ND_MAX_NDIM];
    const int at = m->batch_ndim;
    if (at + axes > ND_MAX_NDIM)
        return nd__fail(ND_ERR_SHAPE, m->name, -1, "the result would have %d axes; %d is the most",
                        at + axes, ND_MAX_NDIM);
    memcpy(shape, m->batch, (size_t)at * sizeof *shape);
    shape[at] = rows;
    if (axes > 1)
        shape[at + 1] = columns;
    ND_RETURN_IF(nd__array_alloc(m->name, m->device, dtype, at + axes, shape, &m->out[m->n_out]));
    m->out_axes[m->n_out++] = axes;
    return ND_OK;
}

nd_status nd__matrices_run(nd_matrices *m)
{
    for (int i = 0; i < m->n_in; i++)
        if (m->in[i]->size == 0)
            return ND_OK;
    for (int i = 0; i < m->n_out; i++)
        if (m->out[i]->size == 0)
            return ND_OK;
    return nd__error_as(m->name,
                        nd__run_matrices(m->info->op, &m->params, m->batch_ndim, m->batch, m->n_in,
                                         (const nd_array *const *)m->in, m->in_axes, m->n_out,
                                         (const nd_array *const *)m->out, m->out_axes));
}

/* A result of f32 that was computed for halves, as one of those; others as they are. */
static nd_status give(const nd_matrices *m, nd_array *r, nd_array **out)
{
    const bool narrow = m->given != m->compute && r->dtype == m->compute;
    if (narrow)
        return nd__cast(r, m->given, out);
    *out = nd_retain(r);
    return ND_OK;
}

nd_status nd__matrices_end(nd_matrices *m, nd_status status, nd_array **const *results)
{
    nd_array *made[ND_MATRICES_OUT] = {NULL};
    for (int i = 0; i < m->n_out && status == ND_OK; i++)
        if (results[i])
            status = give(m, m->out[i], &made[i]);
    for (int i = 0; i < ND_MATRICES_OUT; i++) {
        if (status == ND_OK && made[i])
            *results[i] = made[i];
        else
            nd_release(made[i]);
        nd_release(m->out[i]);
    }
    for (int i = 0; i < ND_MATRICES_IN; i++)
        nd_release(m->in[i]);
    nd__scope_leave(&m->scope);
    return status;
}

/* ---- the life of operations with one result ---- */

/* A view of a column without its last axis, as the matrix that kernels take; others retained. */
static nd_status as_matrix(const nd_matrix_operation *p, const nd_array *a, nd_array **out)
{
    static const int32_t last = -1;
    if (p->vector)
        return nd_expand_dims(a, 1, &last, out);
    *out = nd_retain((nd_array *)(uintptr_t)a);
    return ND_OK;
}

static nd_status run_kernel(const nd_matrix_operation *p, const nd_array *dst)
{
    const nd_array *in[ND_MATRICES_IN] = {NULL};
    nd_array *out = NULL;
    int n = 0;
    nd_status status;
    for (; n < ND_MATRICES_IN && p->of.in[n]; n++) {
        if (p->of.in[n]->size == 0)
            return ND_OK;
        in[n] = p->of.in[n];
    }
    ND_RETURN_IF(as_matrix(p, dst, &out));
    const nd_array *const outs[1] = {out};
    status = nd__run_matrices(p->of.info->op, &p->params, out->ndim - p->out_axes, out->shape, n,
                              in, p->in_axes, 1, outs, &p->out_axes);
    nd_release(out);
    return name_error(p->of.name, status);
}

static nd_status run(const nd_operation *of, const nd_array *dst)
{
    const nd_matrix_operation *p = (const nd_matrix_operation *)of;
    nd_array *wide = NULL;
    if (dst->size == 0)
        return ND_OK;
    if (p->compute == of->result)
        return run_kernel(p, dst);
    ND_RETURN_IF(nd__array_alloc(of->name, of->device, p->compute, dst->ndim, dst->shape, &wide));
    nd_status status = run_kernel(p, wide);
    if (status == ND_OK)
        status = nd__copy_into(wide, dst);
    nd_release(wide);
    return status;
}

nd_status nd__matrix_begin(nd_matrix_operation *p, nd_op op, const char *name, const nd_array *a,
                           const nd_linalg_opts *opts)
{
    memset(&p->params, 0, sizeof p->params);
    p->vector = false;
    nd__operation_begin(&p->of, op, run);
    p->of.name = name;
    ND_RETURN_IF(nd__operand(&p->of, 0, a));
    ND_RETURN_IF(nd__linalg_options(name, opts, &p->o));
    return nd__scope_of(name, a, opts, &p->of.scope);
}

nd_status nd__matrix_operand(nd_matrix_operation *p, int place, int axes, bool cast)
{
    nd_operation *of = &p->of;
    const nd_array *a = of->in[place];
    const int ndims[2] = {of->ndim, a->ndim - axes};
    const int64_t *const shapes[2] = {of->shape, a->shape};
    int64_t batch[ND_MAX_NDIM];
    int ndim;
    p->in_axes[place] = axes;
    ND_RETURN_IF(nd__broadcast(of->name, 2, ndims, shapes, &ndim, batch));
    nd__result_shape(of, ndim, batch);
    return cast ? nd__operand_cast(of, place, p->compute) : (nd_status)ND_OK;
}

nd_status nd__matrix_result(nd_matrix_operation *p, int axes, int64_t rows, int64_t columns)
{
    nd_operation *of = &p->of;
    of->dense = of->ndim > 1; /* else the batch of any dst is one dimension */
    p->out_axes = axes;
    if (of->ndim + axes > ND_MAX_NDIM)
        return nd__fail(ND_ERR_SHAPE, of->name, -1, "the result would have %d axes; %d is the most",
                        of->ndim + axes, ND_MAX_NDIM);
    of->shape[of->ndim++] = rows;
    if (axes > 1 && !p->vector)
        of->shape[of->ndim++] = columns;
    return ND_OK;
}

/* ---- small steps ---- */

nd_array *nd__step_axis(nd_steps *s, const nd_array *a, int32_t axis)
{
    nd_array *r;
    ND_STEP(s, r, nd_expand_dims(a, 1, &axis, &r));
    return r;
}

nd_array *nd__step_corner(nd_steps *s, const nd_array *a, int64_t rows, int64_t columns)
{
    const nd_index part[3] = {nd_ellipsis(), nd_range(0, rows, 1), nd_range(0, columns, 1)};
    nd_array *r;
    ND_STEP(s, r, nd_slice(a, part, 3, &r));
    return r;
}

nd_array *nd__step_diagonal(nd_steps *s, const nd_array *a)
{
    nd_array *r;
    ND_STEP(s, r, nd_diagonal(a, 0, -2, -1, &r));
    return r;
}

nd_status nd__fill_positions(const nd_array *dst)
{
    nd_array *line = NULL;
    ND_RETURN_IF(nd_arange(dst->storage->device, dst->dtype, nd_int(0),
                           nd_int(dst->shape[dst->ndim - 1]), nd_int(1), &line));
    nd_status status = nd__copy_into(line, dst);
    nd_release(line);
    return status;
}

nd_status nd__fill_identity(const nd_array *dst)
{
    nd_array *diagonal = NULL;
    ND_RETURN_IF(nd_fill(dst, nd_int(0)));
    ND_RETURN_IF(nd_diagonal(dst, 0, -2, -1, &diagonal));
    nd_status status = nd_fill(diagonal, nd_int(1));
    nd_release(diagonal);
    return status;
}
