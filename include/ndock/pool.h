/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Pools of images, images of other extents, the elements of windows side by side, and the gradients
 * of all these.
 *
 * Images are (n, c, s...) with one to three spatial axes s; pools and unfold take (c, s...) too, one
 * image, and are told how many axes s are. Arrays may lie in memory as they like. New results are in
 * C order, but pools' without indices have channels last where x has. Lists: an entry for each axis s.
 *
 * dtypes: floating; bool and integers count as f64. Halves are computed in f32. Sums are the same,
 * bit for bit, for every number of threads.
 *
 * Errors: ND_ERR_SHAPE for shapes that do not fit together, and for windows larger than the padded
 * image; ND_ERR_ARGUMENT for options that are out of range; ND_ERR_DTYPE for complex operands;
 * ND_ERR_DEVICE for operands on different devices. */
#ifndef NDOCK_POOL_H
#define NDOCK_POOL_H
#include <ndock/base.h>
#include <ndock/dtype.h>

ND_BEGIN_DECLS

typedef struct {
    uint32_t size;
    nd_dtype dtype; /* of the result and the computation; 0: the operand's */
    nd_stream *stream;
    const int64_t *kernel;                      /* extents of windows */
    const int64_t *stride, *padding, *dilation; /* NULL: kernel, 0, 1; padding: at most half of what
                                                   the window covers; no dilation in avg_pool */
    const int64_t *output;   /* adaptive: extents of the result, of which element p is made of the
                              image's floor(p*s/output) to ceil((p + 1)*s/output) - 1; the lists
                              above and ceil_mode are not read. NULL: not adaptive */
    int32_t rank;            /* spatial axes: 1 to 3 */
    int32_t ceil_mode;       /* windows may reach beyond the padding, if they begin before it */
    int32_t exclude_padding; /* avg_pool: only elements of the image count */
    int32_t zero;
    int64_t divisor; /* avg_pool: what sums are divided by; 0: by as many elements as count */
} nd_pooling_opts;

/* The largest element of each window; NaN where there is one. indices, which may be NULL, gets i64
 * positions in C order of the image's spatial axes: of the first of equals, or the first NaN, and -1
 * for windows without elements, whose result is -inf. */
ND_API ND_MUST_USE nd_status nd_max_pool(const nd_array *x, const nd_pooling_opts *opts,
                                         nd_array **out, nd_array **indices);
/* indices may be NULL, else it is i64 and of dst's shape. */
ND_API ND_MUST_USE nd_status nd_max_pool_into(const nd_array *x, const nd_pooling_opts *opts,
                                              const nd_array *dst, const nd_array *indices);
/* The gradient of nd_max_pool for x, whose shape is given, of that of the result. */
ND_API ND_MUST_USE nd_status nd_max_pool_grad(const nd_array *grad, const nd_array *indices,
                                              int ndim, const int64_t *shape,
                                              const nd_pooling_opts *opts, nd_array **out);
ND_API ND_MUST_USE nd_status nd_max_pool_grad_into(const nd_array *grad, const nd_array *indices,
                                                   const nd_pooling_opts *opts,
                                                   const nd_array *dst);
/* The mean of each window. */
ND_API ND_MUST_USE nd_status nd_avg_pool(const nd_array *x, const nd_pooling_opts *opts,
                                         nd_array **out);
ND_API ND_MUST_USE nd_status nd_avg_pool_into(const nd_array *x, const nd_pooling_opts *opts,
                                              const nd_array *dst);
ND_API ND_MUST_USE nd_status nd_avg_pool_grad(const nd_array *grad, int ndim, const int64_t *shape,
                                              const nd_pooling_opts *opts, nd_array **out);
ND_API ND_MUST_USE nd_status nd_avg_pool_grad_into(const nd_array *grad,
                                                   const nd_pooling_opts *opts,
                                                   const nd_array *dst);
/* (sum of |x|^p over each window)^(1/p), of windows without padding; p is not 0. */
ND_API ND_MUST_USE nd_status nd_lp_pool(const nd_array *x, double p, const nd_pooling_opts *opts,
                                        nd_array **out);
/* Its gradient for x; y is its result. Zero where y is. */
ND_API ND_MUST_USE nd_status nd_lp_pool_grad(const nd_array *grad, const nd_array *x,
                                             const nd_array *y, double p,
                                             const nd_pooling_opts *opts, nd_array **out);

/* NEAREST: element floor(i*ratio); NEAREST_EXACT: floor((i + 1/2)*ratio). LINEAR: of two elements
 * an axis; CUBIC: of four, by Keys' polynomial with a = -3/4 (IEEE Trans. ASSP 29(6), 1981). */
enum {
    ND_UPSAMPLE_NEAREST = 0,
    ND_UPSAMPLE_NEAREST_EXACT = 1,
    ND_UPSAMPLE_LINEAR = 2,
    ND_UPSAMPLE_CUBIC = 3
};
typedef struct {
    uint32_t size;
    nd_dtype dtype; /* of the result and the computation; 0: the operand's */
    nd_stream *stream;
    const int64_t *extents; /* of the result's spatial axes; NULL: floor(extent*scale) */
    const double *scale;   /* ratio is 1/scale; NULL: ratio is the image's extent by the result's */
    int32_t method;        /* ND_UPSAMPLE_* */
    int32_t align_corners; /* LINEAR, CUBIC: the outermost elements' middles fall on each other, in
                               place of the images' edges */
} nd_upsample_opts;
/* x, of one to three spatial axes after (n, c), with other extents, larger or smaller. */
ND_API ND_MUST_USE nd_status nd_upsample(const nd_array *x, const nd_upsample_opts *opts,
                                         nd_array **out);
ND_API ND_MUST_USE nd_status nd_upsample_into(const nd_array *x, const nd_upsample_opts *opts,
                                              const nd_array *dst);
/* The gradient of nd_upsample for x, whose shape is given, of that of the result. */
ND_API ND_MUST_USE nd_status nd_upsample_grad(const nd_array *grad, int ndim, const int64_t *shape,
                                              const nd_upsample_opts *opts, nd_array **out);
ND_API ND_MUST_USE nd_status nd_upsample_grad_into(const nd_array *grad,
                                                   const nd_upsample_opts *opts,
                                                   const nd_array *dst);

typedef struct {
    uint32_t size;
    nd_dtype dtype; /* of the result; 0: the operand's */
    nd_stream *stream;
    const int64_t *kernel, *stride, *padding, *dilation; /* NULL but for kernel: 1, 0, 1 */
    int32_t rank, zero;                                  /* spatial axes: 1 to 3 */
} nd_unfold_opts;
/* (n, c*k, l): for each image, channel and tap of a window of k elements, the elements that the l
 * windows have there, in C order; zero in the padding. Its gradient is nd_fold. */
ND_API ND_MUST_USE nd_status nd_unfold(const nd_array *x, const nd_unfold_opts *opts,
                                       nd_array **out);
ND_API ND_MUST_USE nd_status nd_unfold_into(const nd_array *x, const nd_unfold_opts *opts,
                                            const nd_array *dst);
/* The other way: (n, c*k, l) into images of these spatial extents, where windows meet their
 * sums. */
ND_API ND_MUST_USE nd_status nd_fold(const nd_array *a, const int64_t *extents,
                                     const nd_unfold_opts *opts, nd_array **out);
ND_API ND_MUST_USE nd_status nd_fold_into(const nd_array *a, const nd_unfold_opts *opts,
                                          const nd_array *dst);

ND_END_DECLS
#endif
