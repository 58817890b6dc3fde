/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * sort, argsort and topk of dense rows, all by way of sorted positions. */
#include "host/opencl.h"

enum { RUNS, MERGE, EMIT };
enum { RUN = 16 }; /* of sort.cl */

typedef struct { /* struct sorting of sort.cl */
    cl_ulong rows, n, k, width;
    cl_long in, from, to, values, positions;
    cl_uint descending, zero;
} parameters;

static uint64_t scratch(const ndp_kernel *base, const ndp_call *call)
{
    (void)base;
    return 2 * sizeof(cl_ulong) * (uint64_t)ndp_view_size(&call->in[0]);
}

static int32_t emit(const ocl_kernel *k, ndp_stream *s, const ndp_call *call, parameters *p)
{
    const ndp_view *first = &call->out[0], *second = &call->out[call->n_out - 1];
    p->values = first->offset_bytes;
    p->positions = second->offset_bytes;
    const ocl_arg args[] = {OCL_BUFFER(&call->in[0]),
                            OCL_BUFFER(&call->scratch),
                            OCL_BUFFER(first),
                            OCL_BUFFER(second),
                            {sizeof *p, p}};
    return ocl_launch_flat(k, EMIT, s, p->rows * p->k, args, 5);
}

static int32_t run(const ndp_kernel *base, ndp_stream *s, const ndp_call *call)
{
    const ocl_kernel *k = (const ocl_kernel *)base;
    const ndp_view *in = &call->in[0], *out = &call->out[0];
    uint64_t all = (uint64_t)ndp_view_size(in);
    const ndp_sort *given = call->params;
    parameters p = {.in = in->offset_bytes, .descending = given->descending != 0};
    if (all == 0 || ndp_view_size(out) == 0)
        return NDP_OK;
    p.n = in->ndim ? (cl_ulong)in->shape[in->ndim - 1] : 1;
    p.k = out->ndim ? (cl_ulong)out->shape[out->ndim - 1] : 1;
    p.rows = all / p.n;
    const ocl_arg args[] = {
        OCL_BUFFER(in), OCL_BUFFER(&call->scratch), OCL_BUFFER(&call->scratch), {sizeof p, &p}};
    cl_long half[2] = {call->scratch.offset_bytes,
                       call->scratch.offset_bytes + (cl_long)(all * sizeof(cl_ulong))};
    int at = 0;
    p.to = half[0];
    int32_t status = ocl_launch_flat(k, RUNS, s, p.rows * ((p.n + RUN - 1) / RUN), args, 4);
    for (p.width = RUN; p.width < p.n && status == NDP_OK; p.width *= 2, at = !at) {
        p.from = half[at];
        p.to = half[!at];
        status = ocl_launch_flat(k, MERGE, s, all, args, 4);
    }
    p.from = half[at];
    return status == NDP_OK ? emit(k, s, call, &p) : status;
}

static void write_text(ocl_text *t, const ndp_call *like)
{
    ocl_text_dtype(t, "T", like->in[0].dtype);
    ocl_text_define(t, "VALUES", "%d", like->op != NDP_OP_argsort);
    ocl_text_define(t, "POSITIONS", "%d", like->op != NDP_OP_sort);
    ocl_text_add(t, ocl_text_sort);
}

static uint64_t dtypes(const ndp_dev *dev, int32_t op)
{
    return ocl_domain(dev, op);
}

static int32_t find(ndp_dev *dev, const ndp_call *like, const ndp_kernel **out, char *why, size_t n)
{
    static const ocl_recipe recipe = {.needs = NDP_NEEDS_CONTIGUOUS,
                                      .scratch = scratch,
                                      .run = run,
                                      .function = {"runs", "merge", "emit"},
                                      .write_text = write_text};
    if (!like->in[0].mem || !(dtypes(dev, like->op) >> like->in[0].dtype & 1))
        return ocl_unsupported(like, why, n);
    return ocl_kernel_get(dev, like, &recipe, out, why, n);
}

const ocl_class ocl_sort = {.dtypes = dtypes, .find = find};
