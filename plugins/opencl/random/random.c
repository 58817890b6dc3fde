/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Random numbers: parameters of the generator's kernel. */
#include <string.h>
#include "host/opencl.h"

typedef struct { /* struct random of random.cl */
    ocl_walk walk;
    cl_long out;
    cl_ulong key, counter[2], low, range, a_f64, b_f64;
    cl_float a, b;
} parameters;

static int32_t run(const ndp_kernel *base, ndp_stream *s, const ndp_call *call)
{
    const ndp_random *given = call->params;
    const ndp_view *out = &call->out[0];
    ocl_dims w = {.n = 1, .ndim = out->ndim};
    parameters p = {.out = out->offset_bytes,
                    .key = given->key,
                    .counter = {given->counter[0], given->counter[1]},
                    .low = (cl_ulong)given->low,
                    .range = (cl_ulong)given->high - (cl_ulong)given->low,
                    .a = (float)given->a,
                    .b = (float)given->b};
    if (ndp_view_size(out) == 0)
        return NDP_OK;
    memcpy(&p.a_f64, &given->a, sizeof p.a_f64);
    memcpy(&p.b_f64, &given->b, sizeof p.b_f64);
    memcpy(w.shape, out->shape, (size_t)w.ndim * sizeof *w.shape);
    memcpy(w.stride[0], out->stride, (size_t)w.ndim * sizeof *w.shape);
    ocl_dims_merge(&w);
    ocl_walk_set(&p.walk, &w);
    uint64_t words = ndp_dtype_size(out->dtype) == 8 ? 2 : 4;
    const ocl_arg args[] = {OCL_BUFFER(out), {sizeof p, &p}};
    return ocl_launch_flat((const ocl_kernel *)base, 0, s, (p.walk.n + words - 1) / words, args, 2);
}

static void write_text(ocl_text *t, const ndp_call *like)
{
    ocl_text_dtype(t, "R", like->out[0].dtype);
    ocl_text_define(t, "KIND", "%d",
                    like->op == NDP_OP_random_uniform  ? 0
                    : like->op == NDP_OP_random_normal ? 1
                                                       : 2);
    ocl_text_add(t, ocl_text_random);
}

static uint64_t dtypes(const ndp_dev *dev, int32_t op)
{
    return ocl_domain(dev, op);
}

static int32_t find(ndp_dev *dev, const ndp_call *like, const ndp_kernel **out, char *why, size_t n)
{
    ocl_recipe recipe = {.run = run, .function = {"fill_random"}, .write_text = write_text};
    recipe.choice = like->out[0].ndim > 6;
    recipe.needs = recipe.choice ? NDP_NEEDS_CONTIGUOUS : 0;
    return dtypes(dev, like->op) >> like->out[0].dtype & 1
               ? ocl_kernel_get(dev, like, &recipe, out, why, n)
               : ocl_unsupported(like, why, n);
}

const ocl_class ocl_random = {.dtypes = dtypes, .find = find};
