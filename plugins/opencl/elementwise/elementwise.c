/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Elementwise operations, fill, copies with conversion, and ramps: one pair of kernels, for dense
 * operands and for any strides. */
#include <string.h>
#include "host/opencl.h"

enum { DENSE, STRIDED };

typedef struct { /* struct elementwise of elementwise.cl */
    ocl_walk walk;
    cl_ulong scalar[3][2];
    cl_long offset[4]; /* bytes; the output's first */
    cl_uint scalars, zero;
} parameters;

static uint64_t dtypes(const ndp_dev *dev, int32_t op)
{
    return ocl_domain(dev, op);
}

static void set_parameters(parameters *p, const ndp_call *call)
{
    memset(p, 0, sizeof *p);
    p->offset[0] = call->out->offset_bytes;
    for (uint32_t i = 0; i < call->n_in; i++) {
        const ndp_view *v = &call->in[i];
        if (v->mem) {
            p->offset[i + 1] = v->offset_bytes;
        } else {
            ocl_scalar_bits(&call->scalar[v->offset_bytes], p->scalar[i]);
            p->scalars |= 1u << i;
        }
    }
}

static int is_dense(const ndp_call *call)
{
    uint64_t flags = call->out->flags;
    for (uint32_t i = 0; i < call->n_in; i++)
        if (call->in[i].mem)
            flags &= call->in[i].flags;
    return (flags & NDP_VIEW_CONTIGUOUS) != 0;
}

static int32_t launch(const ocl_kernel *k, int function, ndp_stream *s, const ndp_call *call,
                      const parameters *p)
{
    ocl_arg args[5] = {OCL_BUFFER(call->out),
                       OCL_BUFFER(call->out),
                       OCL_BUFFER(call->out),
                       OCL_BUFFER(call->out),
                       {sizeof *p, p}};
    for (uint32_t i = 0; i < call->n_in; i++)
        if (call->in[i].mem)
            args[i + 1].value = &call->in[i].mem->buffer;
    return ocl_launch_flat(k, function, s, p->walk.n, args, 5);
}

/* What is left of the shape from dimension `first` on, in as many launches as it takes. */
static int32_t run_part(const ocl_kernel *k, ndp_stream *s, const ndp_call *call, parameters *p,
                        ocl_dims *w, int first)
{
    ocl_dims part = {.n = w->n, .ndim = w->ndim - first};
    int32_t status = NDP_OK;
    if (part.ndim > OCL_MAX_NDIM) {
        for (int64_t x = 0; x < w->shape[first] && status == NDP_OK; x++) {
            parameters at = *p;
            for (int i = 0; i < w->n; i++)
                at.offset[i] += x * w->stride[i][first] *
                                ndp_dtype_size(i ? call->in[i - 1].dtype : call->out->dtype);
            status = run_part(k, s, call, &at, w, first + 1);
        }
        return status;
    }
    memcpy(part.shape, w->shape + first, (size_t)part.ndim * sizeof *w->shape);
    for (int i = 0; i < w->n; i++)
        memcpy(part.stride[i], w->stride[i] + first, (size_t)part.ndim * sizeof *w->shape);
    ocl_walk_set(&p->walk, &part);
    return launch(k, STRIDED, s, call, p);
}

static int32_t run(const ndp_kernel *base, ndp_stream *s, const ndp_call *call)
{
    const ocl_kernel *k = (const ocl_kernel *)base;
    parameters p;
    ocl_dims w = {.n = (int)call->n_in + 1, .ndim = call->out->ndim};
    set_parameters(&p, call);
    if (is_dense(call)) {
        p.walk.n = (cl_ulong)ndp_view_size(call->out);
        return launch(k, DENSE, s, call, &p);
    }
    memcpy(w.shape, call->out->shape, (size_t)w.ndim * sizeof *w.shape);
    memcpy(w.stride[0], call->out->stride, (size_t)w.ndim * sizeof *w.shape);
    for (uint32_t i = 0; i < call->n_in; i++)
        if (call->in[i].mem)
            memcpy(w.stride[i + 1], call->in[i].stride, (size_t)w.ndim * sizeof *w.shape);
    if (ndp_view_size(call->out) == 0)
        return NDP_OK;
    ocl_dims_merge(&w);
    return run_part(k, s, call, &p, &w, 0);
}

static void write_text(ocl_text *t, const ndp_call *like)
{
    int moves =
        ocl_op_class(like->op) == NDP_CLASS_COPY || ocl_op_class(like->op) == NDP_CLASS_FILL;
    ocl_text_dtype(t, "R", like->out->dtype);
    if (moves) {
        ocl_text_dtype(t, "T", like->in[0].dtype);
        ocl_text_define(t, "SAME", "%d", like->in[0].dtype == like->out->dtype);
        ocl_text_add(t, ocl_text_convert);
    } else {
        ocl_text_formulas(t, like->in[like->n_in - 1].dtype);
        ocl_text_define(t, "OP", "nd_%s", ocl_op_name(like->op));
        ocl_text_define(t, "WHERE", "%d", like->op == NDP_OP_where);
    }
    ocl_text_define(t, "MOVES", "%d", moves);
    ocl_text_define(t, "N_IN", "%u", like->n_in);
    ocl_text_add(t, ocl_text_elementwise);
}

static const ocl_recipe recipe = {
    .run = run, .function = {"dense", "strided"}, .write_text = write_text};

/* The dtype computed in is the last input's: where's first one is bool. */
static int fits(const ndp_dev *dev, const ndp_call *like)
{
    int op_class = ocl_op_class(like->op);
    if (op_class == NDP_CLASS_COPY || op_class == NDP_CLASS_FILL)
        return 1;
    int32_t dtype = like->in[like->n_in - 1].dtype;
    for (uint32_t i = like->op == NDP_OP_where; i < like->n_in; i++)
        if (like->in[i].dtype != dtype)
            return 0;
    return (dtypes(dev, like->op) >> dtype & 1) &&
           like->out->dtype == ndp_result_dtype(like->op, dtype);
}

static int32_t find(ndp_dev *dev, const ndp_call *like, const ndp_kernel **out, char *why, size_t n)
{
    return fits(dev, like) ? ocl_kernel_get(dev, like, &recipe, out, why, n)
                           : ocl_unsupported(like, why, n);
}

const ocl_class ocl_elementwise = {.dtypes = dtypes, .find = find};

/* ---- ramps: as elementwise, of no inputs ---- */

typedef struct { /* struct ramp of elementwise.cl */
    cl_ulong start[2], step[2], n;
    cl_long offset, stride;
} ramp;

static int32_t run_iota(const ndp_kernel *base, ndp_stream *s, const ndp_call *call)
{
    const ndp_iota *given = call->params;
    const ndp_view *out = call->out;
    ramp p = {.n = (cl_ulong)ndp_view_size(out),
              .offset = out->offset_bytes,
              .stride = out->ndim ? out->stride[0] : 1};
    memcpy(p.start, given->start.v.c, sizeof p.start);
    memcpy(p.step, given->step.v.c, sizeof p.step);
    const ocl_arg args[] = {OCL_BUFFER(out), {sizeof p, &p}};
    return ocl_launch_flat((const ocl_kernel *)base, 0, s, p.n, args, 2);
}

static void write_iota(ocl_text *t, const ndp_call *like)
{
    int kind = ndp_dtype_kind(like->out->dtype);
    ocl_text_dtype(t, "R", like->out->dtype);
    ocl_text_dtype(t, "T",
                   kind == NDP_KIND_INT       ? NDP_I64
                   : kind == NDP_KIND_UINT    ? NDP_U64
                   : kind == NDP_KIND_COMPLEX ? NDP_C128
                                              : NDP_F64);
    ocl_text_define(t, "SAME", "0");
    ocl_text_define(t, "IOTA", "1");
    ocl_text_add(t, ocl_text_convert);
    ocl_text_add(t, ocl_text_elementwise);
}

static uint64_t iota_dtypes(const ndp_dev *dev, int32_t op)
{
    uint64_t mask = ocl_domain(dev, op);
    for (int32_t d = 1; d < NDP_DTYPE_END && !dev->facts.f64; d++)
        if (ndp_dtype_kind(d) & (NDP_KIND_FLOAT | NDP_KIND_COMPLEX))
            mask &= ~((uint64_t)1 << d); /* reckoned in f64 */
    return mask;
}

static int32_t find_iota(ndp_dev *dev, const ndp_call *like, const ndp_kernel **out, char *why,
                         size_t n)
{
    static const ocl_recipe iota = {
        .run = run_iota, .function = {"iota"}, .write_text = write_iota};
    return iota_dtypes(dev, like->op) >> like->out->dtype & 1
               ? ocl_kernel_get(dev, like, &iota, out, why, n)
               : ocl_unsupported(like, why, n);
}

const ocl_class ocl_iota = {.dtypes = iota_dtypes, .find = find_iota};
