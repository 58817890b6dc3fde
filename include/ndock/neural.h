/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Dropout, embedding and mixtures of experts, with gradients.
 *
 * Queued on the current stream; results belong to the caller and are NULL on failure. Any thread may
 * call. The same bits for every number of threads.
 *
 * Errors: ND_ERR_SHAPE for shapes that do not fit, ND_ERR_DTYPE for dtypes, ND_ERR_ARGUMENT for
 * numbers that mean nothing, ND_ERR_DEVICE for arrays on several devices, ND_ERR_INDEX for indices
 * out of range (on devices that do not wait, when they are next waited for). */
#ifndef NDOCK_NEURAL_H
#define NDOCK_NEURAL_H
#include <ndock/random.h>

ND_BEGIN_DECLS

/* Elements of a become 0 with probability p, 0 <= p < 1, and a/(1 - p) else, by words of Philox from
 * key on: which ones depends on the key and the shape alone, on every device. The gradient is the
 * same function of the result's gradient. Source of the method: Srivastava et al., Dropout (2014). */
ND_API ND_MUST_USE nd_status nd_dropout(const nd_array *a, double p, const nd_random_key *key,
                                        nd_array **out);

/* Rows of weights (rows, ...) by integer indices of any shape: indices' shape, then that of a row. */
ND_API ND_MUST_USE nd_status nd_embedding(const nd_array *indices, const nd_array *weights,
                                          nd_array **out);
/* The gradient for weights: rows of g, which is that of the result, added where their indices are,
 * in C order; (rows, ...). Indices equal to padding add nothing; -1: none such. f16 and bf16 are
 * added in f32. */
ND_API ND_MUST_USE nd_status nd_embedding_grad(const nd_array *g, const nd_array *indices,
                                               int64_t rows, int64_t padding, nd_array **out);

/* A mixture of experts' product: row t of x (tokens, k) goes through the matrices of its experts,
 * out[t] = sum over i of scales[t, i] * weights[experts[t, i]] x[t], with weights (experts, n, k),
 * experts (tokens, top) of integers and scales of the same shape, or NULL for ones: out is
 * (tokens, n). Tokens are gathered by expert, multiplied, and scattered back; the host reads how
 * many each expert has, so this waits, and cannot be captured. */
ND_API ND_MUST_USE nd_status nd_moe(const nd_array *x, const nd_array *weights,
                                    const nd_array *experts, const nd_array *scales,
                                    nd_array **out);

/* Which activation: those of op.def that are bent. */
enum {
    ND_ACT_RELU = 0,
    ND_ACT_GELU = 1,
    ND_ACT_GELU_TANH = 2,
    ND_ACT_SIGMOID = 3,
    ND_ACT_SILU = 4,
    ND_ACT_TANH = 5,
    ND_ACT_SOFTPLUS = 6,
    ND_ACT_MISH = 7,
    ND_ACT_HARDSIGMOID = 8,
    ND_ACT_HARDSWISH = 9,
    ND_ACT_SELU = 10,
    ND_ACT_LEAKY_RELU = 11, /* alpha: the slope below 0 */
    ND_ACT_ELU = 12,        /* alpha: as in op.def, as is that of */
    ND_ACT_CELU = 13
};
/* g times the derivative of the activation at a, of a's shape, for the gradient g of its result; in
 * corners that of the left side. f16 and bf16 are computed in f32. alpha counts where it is named. */
ND_API ND_MUST_USE nd_status nd_activation_grad(int32_t activation, const nd_array *g,
                                                const nd_array *a, double alpha, nd_array **out);

ND_END_DECLS
#endif
