/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Convolutions of images with windows, as neural networks have them (the kernel is not turned
 * around), their gradients, and the elements of windows side by side.
 *
 * Images are (n, c, s...) with one to three axes s, or (c, s...), one image; weights (o, c/groups,
 * k...). Along an axis of extent s the result has (s + 2*padding - dilation*(k - 1) - 1)/stride + 1
 * elements, rounded down. Arrays may lie in memory as they like: channels last needs no copy. New
 * results have channels last where the first operand has, else they are in C order.
 *
 * dtypes: floating; bool and integers count as f64. Halves are summed in f32. Sums are the same,
 * bit for bit, for every number of threads.
 *
 * Errors: ND_ERR_SHAPE for shapes that do not fit together, and for windows larger than the padded
 * image; ND_ERR_ARGUMENT for options that are out of range; ND_ERR_DTYPE for complex operands;
 * ND_ERR_DEVICE for operands on different devices. */
#ifndef NDOCK_CONV_H
#define NDOCK_CONV_H
#include <ndock/base.h>
#include <ndock/dtype.h>

ND_BEGIN_DECLS

/* Padding: as the list says; such that the result has the image's extents at stride 1, with the
 * odd element behind; none. */
enum { ND_PADDING_GIVEN = 0, ND_PADDING_SAME = 1, ND_PADDING_VALID = 2 };
/* Lists have an entry for each spatial axis; NULL stands for stride 1, padding 0, dilation 1 and
 * output_padding 0. */
typedef struct {
    uint32_t size;
    nd_dtype dtype; /* of the result and the computation; 0: by the operands */
    nd_stream *stream;
    const int64_t *stride, *padding, *dilation;
    const int64_t *output_padding; /* conv_transpose: elements more at the end; below the stride or
                                      the dilation */
    int64_t groups;                /* channels are cut into so many parts; 0: 1 */
    int32_t padding_mode;          /* ND_PADDING_* */
    int32_t epilogue; /* ND_EPILOGUE_* of conv and conv_transpose, after the bias; 0: none */
} nd_conv_opts;

/* Each output channel: the sum over its group's channels of the windows' elements times weight
 * (o, c/groups, k...), and bias (o), which may be NULL. Source: Dumoulin and Visin, A guide to
 * convolution arithmetic for deep learning, arXiv 1603.07285. */
ND_API ND_MUST_USE nd_status nd_conv(const nd_array *x, const nd_array *weight,
                                     const nd_array *bias, const nd_conv_opts *opts,
                                     nd_array **out);
ND_API ND_MUST_USE nd_status nd_conv_into(const nd_array *x, const nd_array *weight,
                                          const nd_array *bias, const nd_conv_opts *opts,
                                          const nd_array *dst);
/* The transposed convolution: weight is (c, o/groups, k...), bias (o); along an axis the result has
 * (s - 1)*stride - 2*padding + dilation*(k - 1) + output_padding + 1 elements. Where output_padding
 * is below the stride, its gradient for x is nd_conv of the gradient with the same weight; that for
 * weight is nd_conv_grad_weight of (gradient, x). */
ND_API ND_MUST_USE nd_status nd_conv_transpose(const nd_array *x, const nd_array *weight,
                                               const nd_array *bias, const nd_conv_opts *opts,
                                               nd_array **out);
ND_API ND_MUST_USE nd_status nd_conv_transpose_into(const nd_array *x, const nd_array *weight,
                                                    const nd_array *bias, const nd_conv_opts *opts,
                                                    const nd_array *dst);
/* The gradient of nd_conv for x, whose shape is given; grad is that of the result. */
ND_API ND_MUST_USE nd_status nd_conv_grad_input(const nd_array *grad, const nd_array *weight,
                                                int ndim, const int64_t *shape,
                                                const nd_conv_opts *opts, nd_array **out);
ND_API ND_MUST_USE nd_status nd_conv_grad_input_into(const nd_array *grad, const nd_array *weight,
                                                     const nd_conv_opts *opts, const nd_array *dst);
/* The gradient of nd_conv for weight, whose shape is given. That for bias is the sum of grad over
 * all its axes but the channels. */
ND_API ND_MUST_USE nd_status nd_conv_grad_weight(const nd_array *x, const nd_array *grad, int ndim,
                                                 const int64_t *shape, const nd_conv_opts *opts,
                                                 nd_array **out);
ND_API ND_MUST_USE nd_status nd_conv_grad_weight_into(const nd_array *x, const nd_array *grad,
                                                      const nd_conv_opts *opts,
                                                      const nd_array *dst);

ND_END_DECLS
#endif
