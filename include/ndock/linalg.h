/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Matrix products. */
#ifndef NDOCK_LINALG_H
#define NDOCK_LINALG_H
#include <ndock/base.h>

ND_BEGIN_DECLS

enum {
    ND_EPILOGUE_NONE = 0,
    ND_EPILOGUE_RELU = 1,
    ND_EPILOGUE_GELU = 2,
    ND_EPILOGUE_GELU_TANH = 3,
    ND_EPILOGUE_SIGMOID = 4,
    ND_EPILOGUE_SILU = 5,
    ND_EPILOGUE_TANH = 6
};
typedef struct {
    uint32_t size;  /* sizeof(nd_matmul_opts) */
    nd_dtype dtype; /* of the result; by rule the promoted dtype; ND_I32 with i8 or u8 operands sums
                       exactly, ND_F32 with f16/bf16 keeps f32 */
    nd_stream *stream;
    double alpha, beta;     /* both 0 stand for alpha 1, beta 0; beta only with _into: dst =
                               epilogue(alpha*a@b + beta*dst + bias) */
    const nd_array *bias;   /* broadcasts to the result; NULL: none */
    int32_t epilogue, zero; /* ND_EPILOGUE_*, floating dtypes only */
} nd_matmul_opts;

/* a (..., m, k) @ b (..., k, n) -> (..., m, n); leading axes broadcast; a 1-d operand is a row (a)
 * or column (b) whose axis is dropped from the result. Numeric dtypes; integers wrap; f16/bf16
 * accumulate in f32. 0-d operands are ND_ERR_SHAPE. Queued on the current stream. */
ND_API ND_MUST_USE nd_status nd_matmul(const nd_array *a, const nd_array *b,
                                       const nd_matmul_opts *opts, nd_array **out);
ND_API ND_MUST_USE nd_status nd_matmul_into(const nd_array *a, const nd_array *b,
                                            const nd_matmul_opts *opts, const nd_array *dst);

ND_END_DECLS
#endif
