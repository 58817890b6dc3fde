/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * A part of plugin.h, which includes it: the parameters of calls, a struct for each op class. */
#ifndef NDOCK_PLUGIN_H
#include <ndock/plugin.h>
#elif !defined NDOCK_PLUGIN_PARAMS_H
#define NDOCK_PLUGIN_PARAMS_H
/* REDUCE, ARGREDUCE: the last n_reduced dimensions of in[0] are reduced, in C order for
 * positions. */
typedef struct {
    uint32_t size;
    int32_t n_reduced;
    double correction; /* var, std: divisor is count - correction */
} ndp_reduce;
/* SCAN along the last dimension of in[0]. */
typedef struct {
    uint32_t size, zero;
} ndp_scan;
/* NORM over the last n_reduced dimensions; scale is in[1] (of batch_norm, whose mean and var are in[1]
 * and in[2], in[3]), bias in[n_in - 1], each broadcast to in[0]'s shape by stride 0. */
typedef struct {
    uint32_t size;
    int32_t n_reduced;
    double eps;
    int32_t has_scale, has_bias;
} ndp_norm;
enum {
    NDP_EPILOGUE_NONE = 0,
    NDP_EPILOGUE_RELU = 1,
    NDP_EPILOGUE_GELU = 2,
    NDP_EPILOGUE_GELU_TANH = 3,
    NDP_EPILOGUE_SIGMOID = 4,
    NDP_EPILOGUE_SILU = 5,
    NDP_EPILOGUE_TANH = 6
};
/* MATMUL: out = epilogue(alpha * in[0]@in[1] + beta * out + bias); in[2] is the bias if has_bias.
 * beta 0: out is not read. All are in a compute of f32 for f16/bf16, of the dtype itself else;
 * integer out may be wider (i8 -> i32), exact, wrapping. */
typedef struct {
    uint32_t size;
    int32_t epilogue, has_bias, zero;
    double alpha, beta;
} ndp_matmul;
/* TAKE, GATHER, SCATTER: the axis of in[0] (of out[0] for SCATTER). Negative indices count from the
 * end. An index out of range is NDP_ERR_INDEX with nothing written; an asynchronous plug-in uses
 * call->status. */
typedef struct {
    uint32_t size;
    int32_t axis;
} ndp_index;
/* COMPRESS, NONZERO. counted: the last call on this scratch memory was of the same input and without capacity
 * (out's first extent was 0), so that out[1] has its value and nothing needs to be counted again. */
typedef struct {
    uint32_t size;
    int32_t counted;
} ndp_select;
/* SORT along the last dimension. topk: out[0] values, out[1] i64 positions, k = out's last
 * extent. order_statistics: as many from `first` on as out's last extent. */
typedef struct {
    uint32_t size;
    int32_t descending, stable, zero;
    int64_t first; /* of order_statistics, partition and argpartition: a position in sorted order */
} ndp_sort;
/* SEARCH. */
typedef struct {
    uint32_t size;
    int32_t right; /* 0: first position with sorted[i] >= v, 1: first with sorted[i] > v */
} ndp_search;
/* IOTA: out[i] = start + i*step. */
typedef struct {
    uint32_t size, zero;
    ndp_scalar start, step; /* i64/u64, f64 or c128 by the kind of out */
} ndp_iota;
/* FFT over the last n_axes dimensions: sums of in[j]*exp(-+2*pi*i*j*k/n), times scale. There is at
 * least one dimension before them. fft_r2c, fft_c2r: the last dimension is the real one, of extent n
 * on the real side and n/2 + 1 on the other. The operand is not written to. */
typedef struct {
    uint32_t size;
    int32_t n_axes;
    int32_t inverse, zero; /* the exponent's sign: 0 is -, 1 is + */
    double scale;
} ndp_fft;
/* QUANT. Blocks are dense rows of bytes; floats are f16, bf16, f32 or f64 (quantize: f32), dense rows. quant_tmpl.h says what blocks
 * mean. matmul_q: each 32 elements of a row of a become codes round(x*(1/d)), half away from zero, of d = max|x|/127 (all 0 where d
 * is, NaN where one of them is not finite); the product sums scale*d*(sum of codes' products) over 16 elements each. */
typedef struct {
    uint32_t size;
    int32_t format; /* a row of quant.def */
} ndp_quant;
/* RANDOM. Element i (C order) of out comes from Philox 4x32-10 block counter + i/L, word i mod L,
 * where L is 4 for results up to 32 bits and 2 for 64-bit ones (words 2l, 2l+1 form one u64, low
 * first). key[0], key[1] are the low and high halves of key; the 128-bit counter is counter[0]
 * (low), counter[1]. Source: Salmon et al., Parallel random numbers: as easy as 1, 2, 3, SC11.
 *
 *   uniform   u = (w >> 8) * 2^-24 for f16, bf16 and f32, (w >> 11) * 2^-53 for f64; then
 *             low + u * (high - low) in f32 or f64, rounded once more for f16 and bf16. A result
 *             that rounds up to high becomes the largest value below it.
 *   normal    Box-Muller on the pair (2p, 2p+1): u1 = ((w >> 8) + 1) * 2^-24 or
 *             ((w >> 11) + 1) * 2^-53, u2 as for uniform, r = sqrt(-2 log u1), angle = 2 pi u2;
 *             even elements r cos(angle), odd ones r sin(angle); then mean + std * z, all in f32
 *             or f64.
 *   integers  range = high - low (0: the full width); the result is low + floor(w * range / 2^W)
 *             with W 32 for dtypes up to 32 bits and 64 for 64-bit ones (multiply-shift).
 *
 * The ops from gamma on refuse what they try, so each element has blocks of its own: block t of element
 * i is that of counter + i + t * 2^96 (modulo 2^128), t below 2^17. Their parameters are operands of
 * f64, a being in[0], b in[1] and so on; a, b, low and high of ndp_random are not used. They compute in
 * f64, by the formulas of random_real_tmpl.h, random_count_tmpl.h and random_urn_tmpl.h, which say
 * which words of which block they take, and are made of operations that IEEE 754 rounds alone: every
 * device has the same bits. The f64 is then rounded to out's dtype, or saturates in integers. A
 * parameter outside of its domain gives NaN, 0 in integers. */
typedef struct {
    uint32_t size, zero;
    uint64_t key, counter[2];
    double a, b;       /* uniform: low, high; normal: mean, standard deviation */
    int64_t low, high; /* integers; the bit patterns of u64 for unsigned; high exclusive */
} ndp_random;

/* FACTOR, SOLVE, EIGEN, SVD: matrices in a batch b, the leading dimension of every operand, whose
 * stride may be zero for an input; all extents are at least one. Views have any strides; a kernel
 * copies into its scratch memory what its library wants in another order. Matrices of one batch do
 * not affect each other: NaN in one gives NaN in its results alone, and iterations have a limit.
 *
 * check 1: a matrix that is singular or not positive definite, or an iteration that does not
 * converge, is NDP_ERR_LINALG, with a text such as "matrix 3 of the batch is singular: pivot 5 of 8
 * is zero"; an asynchronous plug-in uses call->status: status, op, matrix, pivot (from 0; below 0:
 * an iteration), n. Outputs may be written in part. check 0: nothing is reported, and the results
 * of such a matrix are what arithmetic gives, infinities or NaN. */
typedef struct {
    uint32_t size;
    int32_t upper; /* cholesky: the triangle that is read, and written; the other becomes zero */
    int32_t check, zero;
} ndp_factor; /* lu: pivots[i] >= i is the row that was exchanged with row i, in this order; row i
                 of l u is row perm[i] of a. A zero pivot leaves its column of l as it is */
enum { NDP_TRANS_N = 0, NDP_TRANS_T = 1, NDP_TRANS_C = 2 }; /* op(a): a, a^T, a^H */
typedef struct {
    uint32_t size;
    int32_t upper, trans, unit_diagonal; /* upper, unit_diagonal: of solve_triangular, of a itself
                                            before op; the other triangle is not read */
    int32_t right;                       /* solve_triangular: x op(a) = b with b (b, k, n) */
    int32_t check;
} ndp_solve;
typedef struct {
    uint32_t size;
    int32_t upper; /* eigh: the triangle that is read; the diagonal counts as real */
    int32_t check, zero;
} ndp_eigen; /* eigenvectors have length 1, and their component of the largest magnitude (the first
                of those that are equal but for rounding) is real and positive */
typedef struct {
    uint32_t size;
    int32_t check;
} ndp_svd;
/* ENTROPY. A y that is `ignore` gives 0, with gradient 0; another that is not in [0, n) is
 * NDP_ERR_INDEX. */
typedef struct {
    uint32_t size;
    int32_t has_weights;
    double smoothing;
    int64_t ignore;
} ndp_entropy;
/* ATTENTION. A query head h sees key head h*k/h_all. Query i sees key j where the mask, if it is
 * bool, is true, and, if causal, where j <= i + diagonal; a mask of numbers is added to the scores.
 * Weight (b, h, i, j), number ((b*h_all + h)*m + i)*n + j, is dropped as DROPOUT does. What sees no
 * key has logsumexp -inf, result 0 and gradient 0. */
typedef struct {
    uint32_t size;
    int32_t has_mask, causal, zero;
    int64_t diagonal;
    double scale, dropout;
    uint64_t key, counter[2];
} ndp_attention;
/* ROPE: pairs are (2i, 2i+1) if interleaved, else (i, i + d/2); inverse turns back. */
typedef struct {
    uint32_t size;
    int32_t interleaved, inverse;
} ndp_rope;
/* DROPOUT. Element i is dropped where word i mod 4 of Philox block counter + i/4, as of RANDOM, is
 * below floor(p * 2^32); the others are divided by 1 - p, in f32 or f64. 0 <= p < 1. */
typedef struct {
    uint32_t size, zero;
    double p;
    uint64_t key, counter[2];
} ndp_dropout;

/* CONV, POOL, RESAMPLE, UNFOLD: images (n, c, d, h, w); those of fewer axes come with extents of 1 in
 * front, and parameters that fit. Window p of an axis covers the elements p*stride - before +
 * t*dilation, t = 0 ... kernel - 1; what lies outside of the image counts as zero, in max_pool as
 * nothing. Extents of windows are those of operands, where one has them. Every stride may be any;
 * inputs may have strides of zero. windows.h has the arithmetic. */
typedef struct {
    uint32_t size;
    int32_t epilogue; /* NDP_EPILOGUE_*, of conv and conv_input, after the bias */
    int64_t groups;   /* channels are cut into so many parts, each of which meets its own weights */
    int64_t stride[3], dilation[3], before[3];
    int32_t has_bias, zero;
} ndp_conv;
typedef struct {
    uint32_t size;
    int32_t adaptive; /* window p covers floor(p*in/out) ... ceil((p + 1)*in/out) - 1; the next five
                         fields count for nothing */
    int64_t kernel[3], stride[3], dilation[3], before[3];
    int64_t divisor; /* avg_pool: what sums are divided by; 0: the elements of the window that lie
                                in the image with `before` more on both sides */
    int32_t exclude_padding; /* divisor 0: those in the image itself */
    int32_t zero;
} ndp_pool; /* A position is i64, -1 of a window without elements. */
enum {
    NDP_RESAMPLE_NEAREST = 0,
    NDP_RESAMPLE_NEAREST_EXACT = 1,
    NDP_RESAMPLE_LINEAR = 2,
    NDP_RESAMPLE_CUBIC = 3
};
typedef struct {
    uint32_t size;
    int32_t method, align_corners, zero;
    double ratio[3]; /* source elements an element of the result; 0: the quotient of the extents */
} ndp_resample;
typedef struct {
    uint32_t size, zero;
    int64_t stride[3], dilation[3], before[3];
} ndp_unfold;
#endif
