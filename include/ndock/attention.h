/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Attention and rotary position embedding, with gradients.
 *
 * Arrays are floating and on one device; dtypes are promoted. f16 and bf16 are computed in f32.
 * Queued on the options' stream; results belong to the caller and are NULL on failure. Any thread
 * may call. The same bits for every number of threads.
 *
 * Errors: ND_ERR_SHAPE for shapes that do not fit, ND_ERR_DTYPE for dtypes, ND_ERR_ARGUMENT for
 * options that mean nothing, ND_ERR_DEVICE for arrays on several devices. */
#ifndef NDOCK_ATTENTION_H
#define NDOCK_ATTENTION_H
#include <ndock/random.h>

ND_BEGIN_DECLS

/* Which keys a query may see: all; those up to its own position, first query and first key side by
 * side, or last query and last key. */
enum { ND_CAUSAL_NONE = 0, ND_CAUSAL_FIRST = 1, ND_CAUSAL_LAST = 2 };
typedef struct {
    uint32_t size;
    int32_t causal; /* ND_CAUSAL_* */
    nd_stream *stream;
    const nd_array *mask; /* broadcasts to (..., h, m, n). bool: true where a key is seen; floating:
                             added to the scores. NULL: none */
    double scale;         /* of the scores; 0: 1/sqrt(d) */
    double dropout;       /* probability that a weight becomes 0; the others are divided by one less
                             that. In [0, 1) */
    nd_random_key key;    /* of the dropout: weight (.., i, j) is number (..*m + i)*n + j */
} nd_attention_opts;
/* softmax(scale*q kT + mask) v for q (..., h, m, d), k (..., hk, n, d), v (..., hk, n, e): out is
 * (..., h, m, e). h is a multiple of hk: query head i sees key head i*hk/h. Axes before the heads
 * are equal; arrays of two axes have one head. The scores are never stored. A query that sees no key
 * gets 0. logsumexp (..., h, m), in f32 (f64 of f64), is what the gradient needs; NULL: not
 * wanted.
 * Source: Dao et al., FlashAttention (2022). */
ND_API ND_MUST_USE nd_status nd_scaled_dot_product_attention(const nd_array *q, const nd_array *k,
                                                             const nd_array *v,
                                                             const nd_attention_opts *opts,
                                                             nd_array **out, nd_array **logsumexp);
/* The gradients for q, k and v of the same call, where g is that of its result `out`. There is none
 * for the mask. */
ND_API ND_MUST_USE nd_status nd_scaled_dot_product_attention_grad(
    const nd_array *g, const nd_array *q, const nd_array *k, const nd_array *v, const nd_array *out,
    const nd_array *logsumexp, const nd_attention_opts *opts, nd_array **dq, nd_array **dk,
    nd_array **dv);

/* How rope pairs elements, and where positions are. */
enum {
    ND_ROPE_HALF = 0,        /* a (..., h, t, d): element i with i + d/2 */
    ND_ROPE_INTERLEAVED = 1, /* a (..., h, t, d): element 2i with 2i + 1 */
    ND_ROPE_THD = 2          /* a (..., t, h, d): element i with i + d/2 */
};
typedef struct {
    uint32_t size;
    int32_t layout; /* ND_ROPE_* */
    nd_stream *stream;
} nd_rope_opts;
/* Each pair (x, y) of a becomes (x cos - y sin, x sin + y cos). cos, sin: (t, d/2), or with the axes
 * of a before h and t as well; d is even. Source: Su et al., RoFormer (2021). */
ND_API ND_MUST_USE nd_status nd_rope(const nd_array *a, const nd_array *cos, const nd_array *sin,
                                     const nd_rope_opts *opts, nd_array **out);
/* The gradient for a, where g is that of the result: the pairs turned back. */
ND_API ND_MUST_USE nd_status nd_rope_grad(const nd_array *g, const nd_array *cos,
                                          const nd_array *sin, const nd_rope_opts *opts,
                                          nd_array **out);

ND_END_DECLS
#endif
