/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Losses and their gradients.
 *
 * Arrays are floating and on one device; dtypes are promoted, and f16 and bf16 are computed in f32.
 * A loss without a reduction has the shape of its elements, else no axes. Gradients: g is that of
 * the loss, of its shape; the result that for the input. Queued on the options' stream; results
 * belong to the caller and are NULL on failure. Any thread may call. The same bits for every number
 * of threads.
 *
 * Errors: ND_ERR_SHAPE for shapes that do not fit, ND_ERR_DTYPE for dtypes, ND_ERR_ARGUMENT for
 * options that mean nothing, ND_ERR_DEVICE for arrays on several devices, ND_ERR_INDEX for classes
 * out of range (on devices that do not wait, when they are next waited for). */
#ifndef NDOCK_LOSS_H
#define NDOCK_LOSS_H
#include <ndock/base.h>

ND_BEGIN_DECLS

/* What becomes of the elements' losses. */
enum { ND_LOSS_MEAN = 0, ND_LOSS_SUM = 1, ND_LOSS_NONE = 2 };

typedef struct {
    uint32_t size;
    int32_t reduction; /* ND_LOSS_* */
    nd_stream *stream;
    const nd_array *weights; /* NULL: ones. cross_entropy, nll_loss: (classes); the mean is divided
                                by the sum of those of the targets that count. bce: of elements,
                                broadcast with them */
    int64_t ignore;          /* cross_entropy, nll_loss: a target that does not count; none unless
                                has_ignore is set */
    int32_t has_ignore;
    int32_t log_target;       /* kl_div: y holds logarithms */
    double smoothing;         /* cross_entropy: 0 to 1, the share of the target that all classes
                                 divide evenly */
    double delta;             /* huber, smooth_l1: where the parabola ends; 0: 1 */
    const nd_array *positive; /* bce: weights of y = 1, broadcast with the elements; NULL: ones */
    int32_t batch_mean;       /* kl_div: the mean is over the first axis, the sum over the others */
    int32_t zero;
} nd_loss_opts;
/* Cross entropy of scores a (n, classes, ...), or (classes), and integer targets y (n, ...), or no
 * axes: -log of softmax along the classes at the target, in one pass over a. */
ND_API ND_MUST_USE nd_status nd_cross_entropy(const nd_array *a, const nd_array *y,
                                              const nd_loss_opts *opts, nd_array **out);
ND_API ND_MUST_USE nd_status nd_cross_entropy_grad(const nd_array *g, const nd_array *a,
                                                   const nd_array *y, const nd_loss_opts *opts,
                                                   nd_array **out);
/* The same of log-probabilities a: minus that at the target. There is no smoothing. */
ND_API ND_MUST_USE nd_status nd_nll_loss(const nd_array *a, const nd_array *y,
                                         const nd_loss_opts *opts, nd_array **out);
ND_API ND_MUST_USE nd_status nd_nll_loss_grad(const nd_array *g, const nd_array *a,
                                              const nd_array *y, const nd_loss_opts *opts,
                                              nd_array **out);

/* Losses of a against y, of one shape each. NULL options: the mean. In the order of their formulas,
 * d = a - y:
 *   mse        d^2
 *   l1         |d|; its gradient is 0 at 0
 *   huber      d^2/2 up to |d| = delta, then delta*(|d| - delta/2)
 *   smooth_l1  huber/delta
 *   bce_with_logits  weights*((1 - y)*a + (1 + (positive - 1)*y)*log(1 + exp(-a)))
 *   kl_div     y*(log(y) - a), 0 where y is 0; of logarithms exp(y)*(y - a) */
ND_API ND_MUST_USE nd_status nd_mse_loss(const nd_array *a, const nd_array *y,
                                         const nd_loss_opts *opts, nd_array **out);
ND_API ND_MUST_USE nd_status nd_mse_loss_grad(const nd_array *g, const nd_array *a,
                                              const nd_array *y, const nd_loss_opts *opts,
                                              nd_array **out);
ND_API ND_MUST_USE nd_status nd_l1_loss(const nd_array *a, const nd_array *y,
                                        const nd_loss_opts *opts, nd_array **out);
ND_API ND_MUST_USE nd_status nd_l1_loss_grad(const nd_array *g, const nd_array *a,
                                             const nd_array *y, const nd_loss_opts *opts,
                                             nd_array **out);
ND_API ND_MUST_USE nd_status nd_huber_loss(const nd_array *a, const nd_array *y,
                                           const nd_loss_opts *opts, nd_array **out);
ND_API ND_MUST_USE nd_status nd_huber_loss_grad(const nd_array *g, const nd_array *a,
                                                const nd_array *y, const nd_loss_opts *opts,
                                                nd_array **out);
ND_API ND_MUST_USE nd_status nd_smooth_l1_loss(const nd_array *a, const nd_array *y,
                                               const nd_loss_opts *opts, nd_array **out);
ND_API ND_MUST_USE nd_status nd_smooth_l1_loss_grad(const nd_array *g, const nd_array *a,
                                                    const nd_array *y, const nd_loss_opts *opts,
                                                    nd_array **out);
ND_API ND_MUST_USE nd_status nd_bce_with_logits(const nd_array *a, const nd_array *y,
                                                const nd_loss_opts *opts, nd_array **out);
ND_API ND_MUST_USE nd_status nd_bce_with_logits_grad(const nd_array *g, const nd_array *a,
                                                     const nd_array *y, const nd_loss_opts *opts,
                                                     nd_array **out);
ND_API ND_MUST_USE nd_status nd_kl_div(const nd_array *a, const nd_array *y,
                                       const nd_loss_opts *opts, nd_array **out);
ND_API ND_MUST_USE nd_status nd_kl_div_grad(const nd_array *g, const nd_array *a, const nd_array *y,
                                            const nd_loss_opts *opts, nd_array **out);

typedef struct {
    uint32_t size;
    int32_t
        reduction; /* ND_LOSS_*; the mean divides each loss by its target's length, 1 at least */
    nd_stream *stream;
    int64_t blank;         /* the class that stands for none */
    int32_t zero_infinity; /* losses of targets that do not fit, and their gradients, become 0 */
    int32_t zero;
} nd_ctc_loss_opts;
/* Connectionist temporal classification: minus the logarithm of the probability of all paths that
 * give the targets, for log-probabilities a (t, n, classes) and integers y (n, s), of which each
 * line counts up to its length, as does a: lengths of a and of y are integers (n). None may be the
 * blank. Losses are (n). Queues some operations for each of t. Source: Graves et al., Connectionist
 * temporal classification, ICML 2006. */
ND_API ND_MUST_USE nd_status nd_ctc_loss(const nd_array *a, const nd_array *y,
                                         const nd_array *a_lengths, const nd_array *y_lengths,
                                         const nd_ctc_loss_opts *opts, nd_array **out);
/* The gradient for the log-probabilities. */
ND_API ND_MUST_USE nd_status nd_ctc_loss_grad(const nd_array *g, const nd_array *a,
                                              const nd_array *y, const nd_array *a_lengths,
                                              const nd_array *y_lengths,
                                              const nd_ctc_loss_opts *opts, nd_array **out);

ND_END_DECLS
#endif
