/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Normalisation of layers, groups, instances and batches, and the gradients of all of them and of
 * softmax. The forward functions over one set of axes, nd_softmax, nd_layer_norm and nd_rms_norm,
 * are in reduce.h.
 *
 * Arrays are floating and on one device; dtypes are promoted. f16 and bf16 are computed in f32 and
 * statistics in f64; results have the promoted dtype. Everything is queued on the options' stream
 * and may be captured in a graph. Results belong to the caller; on failure they are NULL. Any
 * thread may call. The same bits for every number of threads.
 *
 * Sources: Ioffe and Szegedy, Batch normalization (2015); Ba, Kiros and Hinton, Layer normalization
 * (2016); Wu and He, Group normalization (2018); Zhang and Sennrich, Root mean square layer
 * normalization (2019).
 *
 * Errors: ND_ERR_SHAPE for shapes that do not fit, ND_ERR_DTYPE for arrays that are not floating,
 * ND_ERR_INDEX for axes out of range, ND_ERR_ARGUMENT for options that mean nothing, ND_ERR_DEVICE
 * for arrays on several devices. */
#ifndef NDOCK_NORMALIZATION_H
#define NDOCK_NORMALIZATION_H
#include <ndock/reduce.h>

ND_BEGIN_DECLS

/* The gradient for what softmax, or log_softmax, was given: g is that of its result y, both of one
 * shape. opts: those of the forward call. */
ND_API ND_MUST_USE nd_status nd_softmax_grad(const nd_array *g, const nd_array *y,
                                             const nd_norm_opts *opts, nd_array **out);
ND_API ND_MUST_USE nd_status nd_log_softmax_grad(const nd_array *g, const nd_array *y,
                                                 const nd_norm_opts *opts, nd_array **out);

/* The gradients of nd_layer_norm for a, scale and bias: g is that of its result, of a's shape; opts
 * those of the forward call. scale: NULL where there was none. da, dscale, dbias: each may be NULL,
 * not wanted; dscale and dbias have the shape of the normalised axes. */
ND_API ND_MUST_USE nd_status nd_layer_norm_grad(const nd_array *g, const nd_array *a,
                                                const nd_array *scale, const nd_norm_opts *opts,
                                                nd_array **da, nd_array **dscale, nd_array **dbias);
/* The same of nd_rms_norm. */
ND_API ND_MUST_USE nd_status nd_rms_norm_grad(const nd_array *g, const nd_array *a,
                                              const nd_array *scale, const nd_norm_opts *opts,
                                              nd_array **da, nd_array **dscale);

/* a is (n, channels, ...): the channels of each of so many groups, which must divide their number,
 * are normalised together with all that lies behind them. scale, bias (channels): each may be NULL.
 * Of the options eps and dtype count; as many groups as channels normalise each instance. */
ND_API ND_MUST_USE nd_status nd_group_norm(const nd_array *a, int64_t groups, const nd_array *scale,
                                           const nd_array *bias, const nd_norm_opts *opts,
                                           nd_array **out);
/* Its gradients, as nd_layer_norm_grad; dscale and dbias are (channels). */
ND_API ND_MUST_USE nd_status nd_group_norm_grad(const nd_array *g, const nd_array *a,
                                                int64_t groups, const nd_array *scale,
                                                const nd_norm_opts *opts, nd_array **da,
                                                nd_array **dscale, nd_array **dbias);

/* One group for each channel. */
ND_API ND_MUST_USE nd_status nd_instance_norm(const nd_array *a, const nd_array *scale,
                                              const nd_array *bias, const nd_norm_opts *opts,
                                              nd_array **out);
ND_API ND_MUST_USE nd_status nd_instance_norm_grad(const nd_array *g, const nd_array *a,
                                                   const nd_array *scale, const nd_norm_opts *opts,
                                                   nd_array **da, nd_array **dscale,
                                                   nd_array **dbias);

typedef struct {
    uint32_t size;
    nd_dtype dtype;
    nd_stream *stream;
    double eps;       /* below 0: 1e-5 */
    double momentum;  /* weight of the new statistics; below 0: 0.1 */
    int32_t training; /* normalise by the batch's own statistics, and move the running ones */
    int32_t zero;
} nd_batch_norm_opts;
/* a is (n, channels, ...): each channel is normalised over everything else. scale, bias (channels):
 * each may be NULL. mean, variance (channels) are the running statistics. In training both may be
 * NULL; else they are written: (1 - momentum)*old + momentum*new, the new variance being that of a
 * sample (its divisor is the count less one), and more than one value per channel is needed. Outside
 * of training a is normalised by them. NULL options: eps 1e-5, momentum 0.1, no training. */
ND_API ND_MUST_USE nd_status nd_batch_norm(const nd_array *a, const nd_array *scale,
                                           const nd_array *bias, const nd_array *mean,
                                           const nd_array *variance, const nd_batch_norm_opts *opts,
                                           nd_array **out);
/* Its gradients, as nd_layer_norm_grad; mean and variance matter outside of training alone, and are
 * only read. */
ND_API ND_MUST_USE nd_status nd_batch_norm_grad(const nd_array *g, const nd_array *a,
                                                const nd_array *scale, const nd_array *mean,
                                                const nd_array *variance,
                                                const nd_batch_norm_opts *opts, nd_array **da,
                                                nd_array **dscale, nd_array **dbias);

ND_END_DECLS
#endif
