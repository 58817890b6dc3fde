/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * softmax, log_softmax, layer_norm and rms_norm of dense rows. */
#include <string.h>
#include "host/opencl.h"

enum { SHORT_ROWS, LONG_ROWS };
enum { SHORT_ITEMS = 64 };

typedef struct { /* struct norm of norm.cl */
    cl_ulong rows, items;
    cl_long in, scale, bias, out;
    cl_long scale_row, scale_item, bias_row, bias_item;
    cl_ulong eps_f64;
    cl_float eps;
    cl_uint has_scale, has_bias, zero;
} parameters;

static int32_t run(const ndp_kernel *base, ndp_stream *s, const ndp_call *call)
{
    const ocl_kernel *k = (const ocl_kernel *)base;
    const ndp_norm *given = call->params;
    const ndp_view *in = &call->in[0], *out = &call->out[0], *scale = out, *bias = out;
    parameters p = {.items = 1, .in = in->offset_bytes, .out = out->offset_bytes};
    uint64_t all = (uint64_t)ndp_view_size(in);
    if (all == 0)
        return NDP_OK;
    for (int d = in->ndim - given->n_reduced; d < in->ndim; d++)
        p.items *= (cl_ulong)in->shape[d];
    p.rows = all / p.items;
    p.eps = (float)given->eps;
    memcpy(&p.eps_f64, &given->eps, sizeof p.eps_f64);
    if (given->has_scale) {
        scale = &call->in[1];
        p.has_scale = 1;
        p.scale = scale->offset_bytes;
        p.scale_row = (cl_long)p.items;
        p.scale_item = 1;
    }
    if (given->has_bias) {
        bias = &call->in[call->n_in - 1];
        p.has_bias = 1;
        p.bias = bias->offset_bytes;
        p.bias_row = (cl_long)p.items;
        p.bias_item = 1;
    }
    const ocl_arg args[] = {
        OCL_BUFFER(in), OCL_BUFFER(scale), OCL_BUFFER(bias), OCL_BUFFER(out), {sizeof p, &p}};
    return p.items <= SHORT_ITEMS ? ocl_launch_flat(k, SHORT_ROWS, s, p.rows, args, 5)
                                  : ocl_launch_flat(k, LONG_ROWS, s, p.rows * OCL_GROUP, args, 5);
}

static void write_text(ocl_text *t, const ndp_call *like)
{
    ocl_text_dtype(t, "T", like->in[0].dtype);
    ocl_text_define(t, "KIND", "%d",
                    like->op == NDP_OP_softmax       ? 0
                    : like->op == NDP_OP_log_softmax ? 1
                    : like->op == NDP_OP_layer_norm  ? 2
                                                     : 3);
    ocl_text_add(t, ocl_text_norm);
}

static uint64_t dtypes(const ndp_dev *dev, int32_t op)
{
    return ocl_domain(dev, op);
}

static int32_t find(ndp_dev *dev, const ndp_call *like, const ndp_kernel **out, char *why, size_t n)
{
    static const ocl_recipe recipe = {.needs = NDP_NEEDS_CONTIGUOUS,
                                      .run = run,
                                      .function = {"short_rows", "long_rows"},
                                      .write_text = write_text};
    int32_t dtype = like->in[0].dtype;
    int same = like->out[0].dtype == dtype;
    for (uint32_t i = 0; i < like->n_in; i++)
        same &= like->in[i].dtype == dtype && like->in[i].mem != NULL;
    return same && (dtypes(dev, like->op) >> dtype & 1)
               ? ocl_kernel_get(dev, like, &recipe, out, why, n)
               : ocl_unsupported(like, why, n);
}

const ocl_class ocl_norm = {.dtypes = dtypes, .find = find};
