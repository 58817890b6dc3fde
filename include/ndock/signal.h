/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Transforms by cosines and sines, convolution and correlation: made of Fourier transforms (fft.h)
 * and elementwise operations, so they run where these do.
 *
 * Errors: ND_ERR_SHAPE for arrays without axes, extents that do not fit and ranks that differ,
 * ND_ERR_ARGUMENT for unknown types, norms, modes and methods, ND_ERR_INDEX for axes that are out
 * of range or named twice. */
#ifndef NDOCK_SIGNAL_H
#define NDOCK_SIGNAL_H
#include <ndock/base.h>
#include <ndock/dtype.h>

ND_BEGIN_DECLS

/* ---- cosines and sines, types 1 to 4, along one axis after another, under scipy.fft's
 * conventions: of n numbers, with a sum over all n where no other is named,
 *
 *   dct 1  x[0] + (-1)^k x[n-1] + 2 sum of x[j] cos(pi j k/(n-1)), 0 < j < n-1; n >= 2
 *   dct 2  2 sum of x[j] cos(pi k (2j+1)/(2n))
 *   dct 3  x[0] + 2 sum of x[j] cos(pi j (2k+1)/(2n)), j > 0
 *   dct 4  2 sum of x[j] cos(pi (2k+1)(2j+1)/(4n))
 *   dst 1  2 sum of x[j] sin(pi (k+1)(j+1)/(n+1))
 *   dst 2  2 sum of x[j] sin(pi (k+1)(2j+1)/(2n))
 *   dst 3  (-1)^k x[n-1] + 2 sum of x[j] sin(pi (2k+1)(j+1)/(2n)), j < n-1
 *   dst 4  2 sum of x[j] sin(pi (2k+1)(2j+1)/(4n))
 *
 * The inverse of type 1 and 4 is the same sum, that of 2 is 3 and that of 3 is 2, divided by m:
 * 2(n-1) of dct 1, 2(n+1) of dst 1, else 2n. Results are f32 for f16, bf16 and f32, else f64; real
 * and imaginary parts of complex arrays are transformed each for itself. ---- */
typedef struct {
    uint32_t size;
    int32_t type; /* 1 to 4; 0: 2 */
    nd_stream *stream;
    const int32_t *axes;    /* naxes of them; NULL: the last axis */
    const int64_t *lengths; /* naxes, before which a is cut or continued with zeros; NULL, or -1: as
                               it is */
    int32_t naxes;
    int32_t norm; /* ND_FFT_BACKWARD (0), _FORWARD, _ORTHO: where it is divided by m, as in fft.h */
    /* What makes the transform's matrix orthogonal but for a factor: numbers 0 (and n-1) of types 1
     * to 3 times or over sqrt(2). 0: with ND_FFT_ORTHO alone; 1: always; -1: never. */
    int32_t orthogonalize, zero;
} nd_dct_opts;
ND_API ND_MUST_USE nd_status nd_dct(const nd_array *a, const nd_dct_opts *opts, nd_array **out);
ND_API ND_MUST_USE nd_status nd_idct(const nd_array *a, const nd_dct_opts *opts, nd_array **out);
ND_API ND_MUST_USE nd_status nd_dst(const nd_array *a, const nd_dct_opts *opts, nd_array **out);
ND_API ND_MUST_USE nd_status nd_idst(const nd_array *a, const nd_dct_opts *opts, nd_array **out);

/* ---- convolution: out[k] = sum of a[j]*b[k-j] over all axes; correlation: sum of
 * a[j+k]*conj(b[j]), whose first element is that of k = 1 - (extent of b) ---- */
/* Which k: all with a term; as many as a has, from the middle; those with all terms (one operand is
 * then no shorter than the other along any axis, else ND_ERR_SHAPE). */
enum { ND_CONVOLVE_FULL = 0, ND_CONVOLVE_SAME = 1, ND_CONVOLVE_VALID = 2 };
/* By the fewer operations; by the sums as they stand; by Fourier transforms. Integers and bool are
 * summed as they stand, exactly, unless it is ND_CONVOLVE_FFT: the result is floating then. */
enum { ND_CONVOLVE_AUTO = 0, ND_CONVOLVE_DIRECT = 1, ND_CONVOLVE_FFT = 2 };
typedef struct {
    uint32_t size;
    int32_t mode;
    nd_stream *stream;
    int32_t method, zero;
} nd_convolve_opts;
/* Of two arrays of equal rank, at least 1, and no extent 0; dtypes are promoted. */
ND_API ND_MUST_USE nd_status nd_convolve(const nd_array *a, const nd_array *b,
                                         const nd_convolve_opts *opts, nd_array **out);
ND_API ND_MUST_USE nd_status nd_correlate(const nd_array *a, const nd_array *b,
                                          const nd_convolve_opts *opts, nd_array **out);

ND_END_DECLS
#endif
