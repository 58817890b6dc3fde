/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Matrix products of any strides, batches walked by the kernel. */
#include <string.h>
#include "matmul/product.h"

enum { TILES, BLOCKS };
enum { TILE = 32, STRIP = 16, PER = 4 }; /* of matmul.cl */

static void set_shape(ocl_product *p, const ndp_call *call)
{
    const ndp_view *a = &call->in[0], *b = &call->in[1], *out = &call->out[0];
    const ndp_view *bias = ((const ndp_matmul *)call->params)->has_bias ? &call->in[2] : NULL;
    const ndp_view *const all[] = {a, b, out, bias};
    int n = out->ndim, row = n - 2, col = n - 1;
    ocl_dims batch = {.n = 4, .ndim = row};
    for (int d = 0; d < row; d++) {
        batch.shape[d] = out->shape[d];
        for (int i = 0; i < 4; i++)
            batch.stride[i][d] = all[i] ? all[i]->stride[d] : 0;
    }
    ocl_dims_merge(&batch);
    ocl_walk_set(&p->batch, &batch);
    p->m = out->shape[row];
    p->n = out->shape[col];
    p->k = a->shape[col];
    p->a_row = a->stride[row];
    p->a_col = a->stride[col];
    p->b_row = b->stride[row];
    p->b_col = b->stride[col];
    p->out_row = out->stride[row];
    p->out_col = out->stride[col];
    p->a = a->offset_bytes;
    p->b = b->offset_bytes;
    p->out = out->offset_bytes;
    if (bias) {
        p->bias_row = bias->stride[row];
        p->bias_col = bias->stride[col];
        p->bias = bias->offset_bytes;
        p->has_bias = 1;
    }
}

static int32_t run(const ndp_kernel *base, ndp_stream *s, const ndp_call *call)
{
    const ocl_kernel *k = (const ocl_kernel *)base;
    const ndp_matmul *given = call->params;
    const ndp_view *out = &call->out[0], *bias = given->has_bias ? &call->in[2] : out;
    ocl_product p;
    if (ndp_view_size(out) == 0)
        return NDP_OK;
    memset(&p, 0, sizeof p);
    set_shape(&p, call);
    p.alpha_f32 = (float)given->alpha;
    p.beta_f32 = (float)given->beta;
    memcpy(&p.alpha_f64, &given->alpha, sizeof p.alpha_f64);
    memcpy(&p.beta_f64, &given->beta, sizeof p.beta_f64);
    p.epilogue = (cl_uint)given->epilogue;
    p.has_beta = given->beta != 0;
    if (k->dev->facts.clblast && ocl_clblast_product(k->dev, s, call, &p) == NDP_OK)
        return NDP_OK;
    const ocl_arg args[] = {OCL_BUFFER(&call->in[0]),
                            OCL_BUFFER(&call->in[1]),
                            OCL_BUFFER(bias),
                            OCL_BUFFER(out),
                            {sizeof p, &p}};
    if (!k->dev->facts.local_is_fast) {
        uint64_t strips = (uint64_t)(p.n + STRIP - 1) / STRIP,
                 bands = (uint64_t)(p.m + PER - 1) / PER;
        return ocl_launch_flat(k, BLOCKS, s, p.batch.n * strips * bands, args, 5);
    }
    const size_t group[] = {8, 8, 1};
    const size_t groups[] = {(size_t)(p.n + TILE - 1) / TILE, (size_t)(p.m + TILE - 1) / TILE,
                             (size_t)p.batch.n};
    return ocl_launch(k, TILES, s, 3, groups, group, args, 5);
}

static void write_text(ocl_text *t, const ndp_call *like)
{
    int32_t in = like->in[0].dtype, out = like->out[0].dtype;
    int half = in == NDP_F16 || in == NDP_BF16;
    int32_t compute = half ? NDP_F32 : out;
    ocl_text_dtype(t, "R", out);
    ocl_text_dtype(t, "C", compute);
    if (ndp_dtype_kind(compute) == NDP_KIND_FLOAT) {
        ocl_text_formulas(t, compute);
        ocl_text_define(t, "IN", "%s", ndp_dtype_name(in));
    } else {
        ocl_text_dtype(t, "T", in);
        ocl_text_define(t, "IN", "%s", ndp_dtype_name(in));
    }
    ocl_text_add(t, ocl_text_matmul);
}

static uint64_t dtypes(const ndp_dev *dev, int32_t op)
{
    return ocl_domain(dev, op);
}

static int fits(const ndp_dev *dev, const ndp_call *like)
{
    const int32_t in = like->in[0].dtype, out = like->out[0].dtype;
    const int whole = NDP_KIND_INT | NDP_KIND_UINT;
    int integers = (ndp_dtype_kind(in) & whole) && (ndp_dtype_kind(out) & whole) &&
                   ndp_dtype_size(out) >= ndp_dtype_size(in);
    int halves = (in == NDP_F16 || in == NDP_BF16) && out == NDP_F32;
    for (uint32_t i = 0; i < like->n_in; i++)
        if (!like->in[i].mem)
            return 0;
    return (dtypes(dev, like->op) >> in & 1) && like->in[1].dtype == in &&
           (in == out || integers || halves) && (like->n_in < 3 || like->in[2].dtype == out);
}

static int32_t find(ndp_dev *dev, const ndp_call *like, const ndp_kernel **out, char *why, size_t n)
{
    ocl_recipe recipe = {.run = run, .function = {"tiles", "blocks"}, .write_text = write_text};
    recipe.choice = like->out[0].ndim > 6;
    recipe.needs = recipe.choice ? NDP_NEEDS_CONTIGUOUS : 0;
    return fits(dev, like) ? ocl_kernel_get(dev, like, &recipe, out, why, n)
                           : ocl_unsupported(like, why, n);
}

const ocl_class ocl_matmul = {.dtypes = dtypes, .find = find};
