/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Reductions, scans and row normalisations. NULL options mean the defaults. Queued on the current
 * stream. The _into forms write an existing view of exactly the result's shape. Sums are pairwise
 * or better, the same bits for every thread count. */
#ifndef NDOCK_REDUCE_H
#define NDOCK_REDUCE_H
#include <ndock/base.h>

ND_BEGIN_DECLS

typedef struct {
    uint32_t size;  /* sizeof(nd_reduce_opts) */
    nd_dtype dtype; /* compute, and result, in this dtype */
    nd_stream *stream;
    /* naxes of them; NULL and naxes 0: all; naxes ND_NO_AXES: none. One without the other is
     * ND_ERR_ARGUMENT; repeated or out of range: ND_ERR_INDEX */
    const int32_t *axes;
    int32_t naxes, keepdims;
    double correction; /* var, std: divisor is count - correction; 0 population, 1 sample */
} nd_reduce_opts;

/* For each row of op.def of class REDUCE or ARGREDUCE: nd_X(a, opts, &out), nd_X_into(a, opts, dst). argmin, argmax take one axis, or all
 * (position in the flattened array). */
#define ND_DECLARE_REDUCTION(name, DOMAIN, RESULT, ulp, doc)                                     \
    ND_API ND_MUST_USE nd_status nd_##name(const nd_array *a, const nd_reduce_opts *opts,        \
                                           nd_array **out);                                      \
    ND_API ND_MUST_USE nd_status nd_##name##_into(const nd_array *a, const nd_reduce_opts *opts, \
                                                  const nd_array *dst);
#define ND_EXPAND_REDUCE ND_EXPAND_BY(ND_DECLARE_REDUCTION)
#define ND_EXPAND_ARGREDUCE ND_EXPAND_BY(ND_DECLARE_REDUCTION)
#include <ndock/op_expand.h>
#undef ND_EXPAND_REDUCE
#undef ND_EXPAND_ARGREDUCE
#undef ND_DECLARE_REDUCTION

typedef struct {
    uint32_t size;
    nd_dtype dtype;
    nd_stream *stream;
    int32_t axis;            /* may be negative */
    int32_t include_initial; /* one longer, beginning with 0 (sum) or 1 (prod) */
} nd_scan_opts;
/* NULL options: the only axis of a 1-d array; ND_ERR_ARGUMENT for others. */
ND_API ND_MUST_USE nd_status nd_cumulative_sum(const nd_array *a, const nd_scan_opts *opts,
                                               nd_array **out);
ND_API ND_MUST_USE nd_status nd_cumulative_sum_into(const nd_array *a, const nd_scan_opts *opts,
                                                    const nd_array *dst);
ND_API ND_MUST_USE nd_status nd_cumulative_prod(const nd_array *a, const nd_scan_opts *opts,
                                                nd_array **out);
ND_API ND_MUST_USE nd_status nd_cumulative_prod_into(const nd_array *a, const nd_scan_opts *opts,
                                                     const nd_array *dst);
/* Running largest and smallest element along opts' axis; NaN propagates. dtype 0 and no initial
 * element, else ND_ERR_ARGUMENT. Takes log2(extent) passes over the data. */
ND_API ND_MUST_USE nd_status nd_cummax(const nd_array *a, const nd_scan_opts *opts, nd_array **out);
ND_API ND_MUST_USE nd_status nd_cummin(const nd_array *a, const nd_scan_opts *opts, nd_array **out);

typedef struct {
    uint32_t size;
    nd_dtype dtype;
    nd_stream *stream;
    /* naxes axes normalised over together; NULL: the last naxes, naxes 0: the last one. Axes without
     * naxes are ND_ERR_ARGUMENT; naxes ND_NO_AXES: none */
    const int32_t *axes;
    int32_t naxes, zero;
    double eps; /* layer_norm, rms_norm; below 0: 1e-5 */
} nd_norm_opts;
ND_API ND_MUST_USE nd_status nd_softmax(const nd_array *a, const nd_norm_opts *opts,
                                        nd_array **out);
ND_API ND_MUST_USE nd_status nd_softmax_into(const nd_array *a, const nd_norm_opts *opts,
                                             const nd_array *dst);
ND_API ND_MUST_USE nd_status nd_log_softmax(const nd_array *a, const nd_norm_opts *opts,
                                            nd_array **out);
ND_API ND_MUST_USE nd_status nd_log_softmax_into(const nd_array *a, const nd_norm_opts *opts,
                                                 const nd_array *dst);
/* scale and bias have the shape of the normalised axes and a's dtype (or promote with it); each may
 * be NULL. NULL options: eps 1e-5. */
ND_API ND_MUST_USE nd_status nd_layer_norm(const nd_array *a, const nd_array *scale,
                                           const nd_array *bias, const nd_norm_opts *opts,
                                           nd_array **out);
ND_API ND_MUST_USE nd_status nd_layer_norm_into(const nd_array *a, const nd_array *scale,
                                                const nd_array *bias, const nd_norm_opts *opts,
                                                const nd_array *dst);
ND_API ND_MUST_USE nd_status nd_rms_norm(const nd_array *a, const nd_array *scale,
                                         const nd_norm_opts *opts, nd_array **out);
ND_API ND_MUST_USE nd_status nd_rms_norm_into(const nd_array *a, const nd_array *scale,
                                              const nd_norm_opts *opts, const nd_array *dst);

ND_END_DECLS
#endif
