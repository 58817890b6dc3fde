/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Convolutions and their gradients: shapes, padding, dtypes. A transposed convolution is the
 * gradient of one for its input, so that there are three operations. */
#include "core/ops/window.h"

typedef struct {
    nd_operation of; /* operands as the kernel's: two of image, weight and gradient; the bias */
    nd_conv_opts o;
    ndp_conv params;
    int rank;       /* spatial axes */
    bool one_image; /* images lack their first axis */
    int64_t padding[ND_WINDOW_AXES], output_padding[ND_WINDOW_AXES];
} convolving;

/* ---- options ---- */

static nd_status read_options(convolving *p, const nd_conv_opts *opts)
{
    const char *op = p->of.name;
    nd_conv_opts *o = &p->o;
    ND_RETURN_IF(nd__read_options(op, opts, o, sizeof *o, NDP_END(nd_conv_opts, dtype)));
    o->groups = o->groups ? o->groups : 1;
    if (o->groups < 1)
        return nd__fail(ND_ERR_ARGUMENT, op, -1, "groups is %lld; it must be at least 1",
                        (long long)o->groups);
    if (o->padding_mode < ND_PADDING_GIVEN || o->padding_mode > ND_PADDING_VALID)
        return nd__fail(ND_ERR_ARGUMENT, op, -1,
                        "padding_mode is %d; ND_PADDING_GIVEN, _SAME and _VALID are 0 to 2",
                        (int)o->padding_mode);
    if (o->epilogue < ND_EPILOGUE_NONE || o->epilogue > ND_EPILOGUE_TANH)
        return nd__fail(ND_ERR_ARGUMENT, op, -1, "epilogue %d is unknown; they are 0 to %d",
                        (int)o->epilogue, ND_EPILOGUE_TANH);
    return ND_OK;
}

static nd_status read_lists(convolving *p)
{
    const char *op = p->of.name;
    const nd_conv_opts *o = &p->o;
    ndp_conv *c = &p->params;
    *c = (ndp_conv){.size = sizeof *c, .epilogue = o->epilogue, .groups = o->groups};
    ND_RETURN_IF(nd__window_list(op, "stride", p->rank, o->stride, 1, 1, c->stride));
    ND_RETURN_IF(nd__window_list(op, "dilation", p->rank, o->dilation, 1, 1, c->dilation));
    ND_RETURN_IF(nd__window_list(op, "padding", p->rank,
                                 o->padding_mode == ND_PADDING_GIVEN ? o->padding : NULL, 0, 0,
                                 p->padding));
    return nd__window_list(op, "output_padding", p->rank, o->output_padding, 0, 0,
                           p->output_padding);
}

/* ---- shapes ---- */

static const int64_t *spatial(const convolving *p, int ndim, const int64_t *shape)
{
    return shape + ndim - p->rank;
}

/* The weight tells how many spatial axes there are; the image may lack the first of its others. */
static nd_status check_ranks(convolving *p, const nd_array *image, int32_t place, int weight_ndim)
{
    char text[ND_SHAPE_TEXT];
    p->rank = weight_ndim < 0 ? 0 : weight_ndim - 2; /* a rank is the caller's, in gradients */
    if (p->rank < 1 || p->rank > ND_WINDOW_AXES)
        return nd__fail(ND_ERR_SHAPE, p->of.name, 1,
                        "the weight has rank %d; it must be (o, c, k...) with one to three "
                        "spatial axes, so 3 to 5",
                        weight_ndim);
    p->one_image = image->ndim == p->rank + 1;
    if (p->one_image || image->ndim == p->rank + 2)
        return ND_OK;
    nd__shape_text(image->ndim, image->shape, text, sizeof text);
    return nd__fail(ND_ERR_SHAPE, p->of.name, place,
                    "images of shape %s with a weight of rank %d; they must have rank %d, or %d "
                    "for one image",
                    text, weight_ndim, p->rank + 2, p->rank + 1);
}

/* c input channels and o output ones of a convolution with weight (o, c/groups, ...). */
static nd_status check_channels(const convolving *p, int64_t o, int64_t c, const int64_t *weight)
{
    const int64_t groups = p->o.groups;
    if (o == weight[0] && c == weight[1] * groups && o % groups == 0 && c > 0 && o > 0)
        return ND_OK;
    if (o % groups || c % groups || c == 0 || o == 0)
        return nd__fail(ND_ERR_SHAPE, p->of.name, 1,
                        "%lld input and %lld output channels are not cut into %lld groups; both "
                        "must be multiples of it, and there must be some",
                        (long long)c, (long long)o, (long long)groups);
    return nd__fail(ND_ERR_SHAPE, p->of.name, 1,
                    "the weight begins with (%lld, %lld); %lld channels on its first side and "
                    "%lld on the other in %lld groups need (%lld, %lld)",
                    (long long)weight[0], (long long)weight[1], (long long)o, (long long)c,
                    (long long)groups, (long long)o, (long long)(c / groups));
}

/* Padding "same": the windows' grid has the image's extents. */
static nd_status choose_padding(convolving *p, const int64_t *kernel)
{
    const int lead = ND_WINDOW_AXES - p->rank;
    ndp_conv *c = &p->params;
    for (int d = 0; d < ND_WINDOW_AXES; d++) {
        const int64_t k = d < lead ? 1 : kernel[d - lead];
        c->before[d] = p->padding[d];
        if (p->o.padding_mode != ND_PADDING_SAME)
            continue;
        if (c->stride[d] != 1)
            return nd__fail(ND_ERR_ARGUMENT, p->of.name, -1,
                            "padding \"same\" with stride %lld; it needs stride 1, give the "
                            "padding in numbers",
                            (long long)c->stride[d]);
        c->before[d] = k > 0 ? c->dilation[d] * (k - 1) / 2 : 0;
    }
    return ND_OK;
}

/* The windows' grid over an image. */
static nd_status grid_of(const convolving *p, const int64_t *image, const int64_t *kernel,
                         int64_t *out)
{
    const int lead = ND_WINDOW_AXES - p->rank;
    const ndp_conv *c = &p->params;
    for (int i = 0; i < p->rank; i++) {
        const int d = lead + i;
        if (p->o.padding_mode == ND_PADDING_SAME) {
            out[i] = image[i];
            continue;
        }
        ND_RETURN_IF(nd__window_extent(p->of.name, i, image[i], kernel[i], c->stride[d],
                                       p->padding[d], c->dilation[d], &out[i]));
    }
    return ND_OK;
}

/* The image that a transposed convolution gives. */
static nd_status image_of(const convolving *p, const int64_t *grid, const int64_t *kernel,
                          int64_t *out)
{
    const int lead = ND_WINDOW_AXES - p->rank;
    const ndp_conv *c = &p->params;
    for (int i = 0; i < p->rank; i++) {
        const int d = lead + i;
        const int64_t more = p->output_padding[d];
        const double size =
            (double)grid[i] * (double)c->stride[d] + (double)kernel[i] * (double)c->dilation[d];
        if (more >= c->stride[d] && more >= c->dilation[d])
            return nd__fail(ND_ERR_ARGUMENT, p->of.name, -1,
                            "output_padding %lld along spatial axis %d; it must be below the "
                            "stride (%lld) or the dilation (%lld)",
                            (long long)more, i, (long long)c->stride[d], (long long)c->dilation[d]);
        if (p->o.padding_mode == ND_PADDING_SAME)
            out[i] = grid[i];
        else if (size < 0x1p60)
            out[i] = (grid[i] - 1) * c->stride[d] - 2 * p->padding[d] +
                     c->dilation[d] * (kernel[i] - 1) + more + 1;
        if (size >= 0x1p60 || out[i] < 1 || kernel[i] < 1 || grid[i] < 1)
            return nd__fail(ND_ERR_SHAPE, p->of.name, -1,
                            "along spatial axis %d, %lld elements with kernel %lld, stride %lld "
                            "and padding %lld give no image; pad less",
                            i, (long long)grid[i], (long long)kernel[i], (long long)c->stride[d],
                            (long long)p->padding[d]);
    }
    return ND_OK;
}

/* The gradient has the grid's shape. */
static nd_status check_grid(const convolving *p, const nd_array *grad, int32_t place,
                            const int64_t *image, const int64_t *kernel)
{
    int64_t grid[ND_WINDOW_AXES];
    const int64_t *has = spatial(p, grad->ndim, grad->shape);
    ND_RETURN_IF(grid_of(p, image, kernel, grid));
    for (int i = 0; i < p->rank; i++)
        if (has[i] != grid[i])
            return nd__fail(ND_ERR_SHAPE, p->of.name, place,
                            "the gradient has %lld elements along spatial axis %d, the result of "
                            "this convolution %lld",
                            (long long)has[i], i, (long long)grid[i]);
    return ND_OK;
}

/* An image's shape: (n, c, s...), or (c, s...). */
static void image_shape(convolving *p, const nd_array *like, int64_t channels, const int64_t *s)
{
    int64_t shape[ND_WINDOW_AXES + 2];
    const int lead = p->one_image ? 1 : 2;
    shape[0] = like->shape[0];
    shape[lead - 1] = channels;
    memcpy(shape + lead, s, (size_t)p->rank * sizeof *s);
    nd__result_shape(&p->of, lead + p->rank, shape);
}

/* ---- the call ---- */

static nd_status run(const nd_operation *of, const nd_array *dst)
{
    const convolving *p = (const convolving *)of;
    int64_t shape[4][5], stride[4][5];
    ndp_view v[4];
    const bool of_weight = of->info->op == ND_OP_conv_weight;
    const int images = p->one_image ? 1 : 2;
    if (dst->size == 0)
        return ND_OK;
    if (of->in[0]->size == 0 || of->in[1]->size == 0)
        return nd__window_zero(dst);
    nd__window_view(dst, of_weight ? 2 : images, 2, shape[0], stride[0], &v[0]);
    nd__window_view(of->in[0], images, 2, shape[1], stride[1], &v[1]);
    nd__window_view(of->in[1], of_weight ? images : 2, 2, shape[2], stride[2], &v[2]);
    if (of->in[2]) { /* (channels) over all of the result */
        v[3] = nd__view(of->in[2]);
        memset(stride[3], 0, sizeof stride[3]);
        stride[3][1] = of->in[2]->stride[0];
        v[3].ndim = 5;
        v[3].shape = shape[0];
        v[3].stride = stride[3];
        v[3].flags = 0;
    }
    ndp_conv params = p->params;
    params.has_bias = of->in[2] != NULL;
    ndp_call call = {.size = sizeof call,
                     .op = of->info->op,
                     .n_in = of->in[2] ? 3 : 2,
                     .n_out = 1,
                     .in = v + 1,
                     .out = v,
                     .params = &params};
    const int64_t mnk[3] = {shape[2][0], dst->size / shape[2][0], of->in[1]->size / shape[2][0]};
    ND_RETURN_IF(nd__math_mode(of->device, of->info->op, of->compute, mnk, &call.mode));
    return nd__run(of->device, &call);
}

/* ---- what the functions begin with ---- */

static nd_status take_operands(convolving *p, const nd_array *a, const nd_array *b,
                               const nd_conv_opts *opts)
{
    nd_dtype common;
    ND_RETURN_IF(nd__operand(&p->of, 0, a));
    ND_RETURN_IF(nd__operand(&p->of, 1, b));
    ND_RETURN_IF(read_options(p, opts));
    ND_RETURN_IF(nd__scope_of(p->of.name, a, opts, &p->of.scope));
    ND_RETURN_IF(nd__promote(p->of.name, a->dtype, b->dtype, &common));
    ND_RETURN_IF(nd__choose_dtypes(&p->of, common, p->o.dtype));
    for (int i = 0; i < 2; i++)
        ND_RETURN_IF(nd__operand_cast(&p->of, i, p->of.compute));
    return ND_OK;
}

static nd_status take_bias(convolving *p, const nd_array *bias, int64_t channels)
{
    if (!bias)
        return ND_OK;
    ND_RETURN_IF(nd__operand(&p->of, 2, bias));
    ND_RETURN_IF(nd__check_shape_is(p->of.name, bias, 1, &channels, 2));
    ND_RETURN_IF(nd__check_castable(p->of.name, bias->dtype, p->of.compute));
    return nd__operand_cast(&p->of, 2, p->of.compute);
}

static void begin(convolving *p, const char *name, nd_op op)
{
    nd__operation_begin(&p->of, op, run);
    p->of.name = name;
}

static nd_status start_conv(const nd_array *x, const nd_array *weight, const nd_array *bias,
                            const nd_conv_opts *opts, convolving *p)
{
    int64_t grid[ND_WINDOW_AXES];
    begin(p, "conv", ND_OP_conv);
    ND_RETURN_IF(take_operands(p, x, weight, opts));
    ND_RETURN_IF(check_ranks(p, x, 0, weight->ndim));
    ND_RETURN_IF(read_lists(p));
    ND_RETURN_IF(
        check_channels(p, weight->shape[0], x->shape[x->ndim - p->rank - 1], weight->shape));
    ND_RETURN_IF(choose_padding(p, weight->shape + 2));
    ND_RETURN_IF(grid_of(p, spatial(p, x->ndim, x->shape), weight->shape + 2, grid));
    image_shape(p, x, weight->shape[0], grid);
    return take_bias(p, bias, weight->shape[0]);
}

static nd_status start_transpose(const nd_array *x, const nd_array *weight, const nd_array *bias,
                                 const nd_conv_opts *opts, convolving *p)
{
    int64_t image[ND_WINDOW_AXES];
    begin(p, "conv_transpose", ND_OP_conv_input);
    ND_RETURN_IF(take_operands(p, x, weight, opts));
    ND_RETURN_IF(check_ranks(p, x, 0, weight->ndim));
    ND_RETURN_IF(read_lists(p));
    const int64_t channels = (double)weight->shape[1] * (double)p->o.groups < 0x1p60
                                 ? weight->shape[1] * p->o.groups
                                 : 0;
    ND_RETURN_IF(check_channels(p, x->shape[x->ndim - p->rank - 1], channels, weight->shape));
    ND_RETURN_IF(choose_padding(p, weight->shape + 2));
    ND_RETURN_IF(image_of(p, spatial(p, x->ndim, x->shape), weight->shape + 2, image));
    image_shape(p, x, channels, image);
    return take_bias(p, bias, channels);
}

static nd_status start_grad_input(const nd_array *grad, const nd_array *weight, int ndim,
                                  const int64_t *shape, const nd_conv_opts *opts, convolving *p)
{
    begin(p, "conv_grad_input", ND_OP_conv_input);
    ND_RETURN_IF(take_operands(p, grad, weight, opts));
    ND_RETURN_IF(check_ranks(p, grad, 0, weight->ndim));
    ND_RETURN_IF(read_lists(p));
    p->params.epilogue = ND_EPILOGUE_NONE;
    ND_RETURN_IF(nd__check_shape(p->of.name, p->of.result, ndim, shape, &(int64_t){0}));
    if (ndim != grad->ndim || (!p->one_image && shape[0] != grad->shape[0]))
        return nd__fail(ND_ERR_SHAPE, p->of.name, 3,
                        "the input's shape has rank %d and %lld images, the gradient rank %d and "
                        "%lld",
                        ndim, (long long)(ndim ? shape[0] : 0), grad->ndim,
                        (long long)grad->shape[0]);
    ND_RETURN_IF(check_channels(p, grad->shape[grad->ndim - p->rank - 1], shape[ndim - p->rank - 1],
                                weight->shape));
    ND_RETURN_IF(choose_padding(p, weight->shape + 2));
    ND_RETURN_IF(check_grid(p, grad, 0, spatial(p, ndim, shape), weight->shape + 2));
    nd__result_shape(&p->of, ndim, shape);
    return ND_OK;
}

static nd_status start_grad_weight(const nd_array *x, const nd_array *grad, int ndim,
                                   const int64_t *shape, const nd_conv_opts *opts, convolving *p)
{
    begin(p, "conv_grad_weight", ND_OP_conv_weight);
    ND_RETURN_IF(take_operands(p, x, grad, opts));
    ND_RETURN_IF(check_ranks(p, x, 0, ndim));
    ND_RETURN_IF(read_lists(p));
    p->params.epilogue = ND_EPILOGUE_NONE;
    ND_RETURN_IF(nd__check_shape(p->of.name, p->of.result, ndim, shape, &(int64_t){0}));
    if (x->ndim != grad->ndim || (!p->one_image && x->shape[0] != grad->shape[0]))
        return nd__fail(ND_ERR_SHAPE, p->of.name, 1,
                        "the gradient has rank %d and %lld images, the input rank %d and %lld",
                        grad->ndim, (long long)(grad->ndim ? grad->shape[0] : 0), x->ndim,
                        (long long)x->shape[0]);
    ND_RETURN_IF(check_channels(p, grad->shape[x->ndim - p->rank - 1],
                                x->shape[x->ndim - p->rank - 1], shape));
    ND_RETURN_IF(choose_padding(p, shape + 2));
    ND_RETURN_IF(check_grid(p, grad, 1, spatial(p, x->ndim, x->shape), shape + 2));
    nd__result_shape(&p->of, ndim, shape);
    return ND_OK;
}

/* ---- the functions ---- */

/* A new result has channels last where x, which was checked, has; the weight has them on its axis 1. */
static nd_status into_new(convolving *p, nd_status status, const nd_array *x, bool weight,
                          nd_array **out)
{
    if (status == ND_OK) {
        const int channels = x->ndim - p->rank - 1;
        if (nd__window_has_last(x, channels))
            p->of.inner = weight ? 1 : channels;
    }
    return nd__into_new(&p->of, status, out);
}

nd_status nd_conv(const nd_array *x, const nd_array *weight, const nd_array *bias,
                  const nd_conv_opts *opts, nd_array **out)
{
    convolving p;
    ND_OUT("conv", 4, out, NULL);
    return into_new(&p, start_conv(x, weight, bias, opts, &p), x, false, out);
}

nd_status nd_conv_into(const nd_array *x, const nd_array *weight, const nd_array *bias,
                       const nd_conv_opts *opts, const nd_array *dst)
{
    convolving p;
    return nd__into(&p.of, start_conv(x, weight, bias, opts, &p), dst, 4);
}

nd_status nd_conv_transpose(const nd_array *x, const nd_array *weight, const nd_array *bias,
                            const nd_conv_opts *opts, nd_array **out)
{
    convolving p;
    ND_OUT("conv_transpose", 4, out, NULL);
    return into_new(&p, start_transpose(x, weight, bias, opts, &p), x, false, out);
}

nd_status nd_conv_transpose_into(const nd_array *x, const nd_array *weight, const nd_array *bias,
                                 const nd_conv_opts *opts, const nd_array *dst)
{
    convolving p;
    return nd__into(&p.of, start_transpose(x, weight, bias, opts, &p), dst, 4);
}

nd_status nd_conv_grad_input(const nd_array *grad, const nd_array *weight, int ndim,
                             const int64_t *shape, const nd_conv_opts *opts, nd_array **out)
{
    convolving p;
    ND_OUT("conv_grad_input", 5, out, NULL);
    ND_NEED_LIST("conv_grad_input", 3, ndim, shape);
    return into_new(&p, start_grad_input(grad, weight, ndim, shape, opts, &p), grad, false, out);
}

nd_status nd_conv_grad_input_into(const nd_array *grad, const nd_array *weight,
                                  const nd_conv_opts *opts, const nd_array *dst)
{
    convolving p;
    ND_RETURN_IF(nd__check_array("conv_grad_input", dst, 3));
    return nd__into(&p.of, start_grad_input(grad, weight, dst->ndim, dst->shape, opts, &p), dst, 3);
}

nd_status nd_conv_grad_weight(const nd_array *x, const nd_array *grad, int ndim,
                              const int64_t *shape, const nd_conv_opts *opts, nd_array **out)
{
    convolving p;
    ND_OUT("conv_grad_weight", 5, out, NULL);
    ND_NEED_LIST("conv_grad_weight", 3, ndim, shape);
    return into_new(&p, start_grad_weight(x, grad, ndim, shape, opts, &p), x, true, out);
}

nd_status nd_conv_grad_weight_into(const nd_array *x, const nd_array *grad,
                                   const nd_conv_opts *opts, const nd_array *dst)
{
    convolving p;
    ND_RETURN_IF(nd__check_array("conv_grad_weight", dst, 3));
    return nd__into(&p.of, start_grad_weight(x, grad, dst->ndim, dst->shape, opts, &p), dst, 3);
}
