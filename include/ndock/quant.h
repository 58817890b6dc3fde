/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Quantised arrays: rows of elements kept as blocks of bytes in one of the formats of quant.def
 * (q4_0, q4_K ...), as models of language are. Their shape is in elements; the last extent is a
 * multiple of the format's block. An array of quantised elements is an array of u8 blocks with a
 * format: it is moved, sliced along all but the last axis, saved and loaded (gguf.h) as it is, and
 * dequantised or multiplied without being dequantised.
 *
 * Order: as for other operations. Errors: SHAPE where a last extent is no multiple of a block,
 * DTYPE for operands that are not floats, ARGUMENT for a format that there is not.
 * Source of the formats and of the algorithms that quantise: ggml (reference implementation), the
 * GGUF specification, and the PyPI package gguf. */
#ifndef NDOCK_QUANT_H
#define NDOCK_QUANT_H
#include <ndock/base.h>
#include <ndock/dtype.h>
#include <ndock/view.h>

ND_BEGIN_DECLS

typedef int32_t nd_quant_format;
enum {
#define ND_QUANT(NAME, id, block, nbytes, MIN, WRITES, name, doc) ND_##NAME = id,
#include <ndock/quant.def>
    ND_QUANT_END /* above the last id; there are ids that are no format */
};
typedef struct {
    nd_quant_format format;
    int32_t block, nbytes; /* elements and bytes of a block */
    int32_t can_quantize;  /* nd_quantize writes it */
    const char *name, *doc;
} nd_quant_info;
/* NULL for a number that is no format. Lives as long as the process. Any thread. */
ND_API const nd_quant_info *nd_quant_get(nd_quant_format format);
/* By name, "q4_0"; upper case is taken too. 0 if there is none. */
ND_API nd_quant_format nd_quant_find(const char *name);

typedef struct nd_qarray nd_qarray; /* counted, immutable */

/* Blocks (u8, at least one axis, the last of which is whole blocks of bytes) as a quantised array;
 * they are retained and not copied. */
ND_API ND_MUST_USE nd_status nd_qarray_wrap(const nd_array *blocks, nd_quant_format format,
                                            nd_qarray **out);
ND_API nd_qarray *nd_qarray_retain(nd_qarray *q); /* returns q */
ND_API void nd_qarray_release(nd_qarray *q);      /* NULL is fine */
/* Attributes; they never change. The shape is in elements. blocks: borrowed from q. */
ND_API nd_quant_format nd_qarray_format(const nd_qarray *q);
ND_API int nd_qarray_ndim(const nd_qarray *q);
ND_API const int64_t *nd_qarray_shape(const nd_qarray *q);
ND_API const nd_array *nd_qarray_blocks(const nd_qarray *q);

/* A view, by n entries of an index that leave the last axis as it is (ND_ERR_INDEX else). */
ND_API ND_MUST_USE nd_status nd_qarray_slice(const nd_qarray *q, const nd_index *idx, int n,
                                             nd_qarray **view);
/* q itself (retained) if it is on the device already, else a copy there. */
ND_API ND_MUST_USE nd_status nd_qarray_to_device(const nd_qarray *q, nd_device *device,
                                                 nd_qarray **out);

/* The elements. dtype: f32, f16, bf16 or f64 (0: f32); they are computed in f32. */
ND_API ND_MUST_USE nd_status nd_dequantize(const nd_qarray *q, nd_dtype dtype, nd_array **out);
/* A float array (at least one axis) in q4_0, q8_0, q4_K or q6_K, by the algorithms of ggml's
 * reference implementation on a's values as f32; others are ND_ERR_UNSUPPORTED. */
ND_API ND_MUST_USE nd_status nd_quantize(const nd_array *a, nd_quant_format format,
                                         nd_qarray **out);
/* x (..., n), f16, bf16 or f32, times the transpose of w (r, n): (..., r) of x's dtype. Each row of
 * x is rounded to 8 bits in blocks of 32, and products are sums of integers, so that the same bits
 * come from every SIMD level and number of threads of a device. A block of x with an element that
 * is not finite makes its row's results NaN. */
ND_API ND_MUST_USE nd_status nd_matmul_q(const nd_array *x, const nd_qarray *w, nd_array **out);
/* Rows of w (r, n), dequantised: the shape of indices (any integers; negative ones count from the
 * end) and n. ND_ERR_INDEX for others, by the next wait on an asynchronous device. */
ND_API ND_MUST_USE nd_status nd_embedding_q(const nd_qarray *w, const nd_array *indices,
                                            nd_dtype dtype, nd_array **out);

ND_END_DECLS
#endif
