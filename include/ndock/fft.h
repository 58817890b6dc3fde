/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Discrete Fourier transforms over any axes: X[k] = sum of x[j]*exp(-2*pi*i*j*k/n), and back.
 *
 * dtypes: f16, bf16, f32 and c64 are transformed in single precision, everything else in double;
 * results are c64 or c128, or f32 or f64 where they are real. Integers and bool count as f64.
 *
 * Errors: ND_ERR_SHAPE for arrays without axes, ND_ERR_ARGUMENT for lengths below 1,
 * ND_ERR_INDEX for axes that are out of range or named twice, ND_ERR_DTYPE for a complex operand
 * where a real one is asked for, and for a result's dtype that there is not. */
#ifndef NDOCK_FFT_H
#define NDOCK_FFT_H
#include <ndock/base.h>
#include <ndock/dtype.h>

ND_BEGIN_DECLS

/* What results are multiplied by: 1/n after inverse transforms; after forward ones; 1/sqrt(n) after
 * both. n: the product of the transforms' lengths. */
enum { ND_FFT_BACKWARD = 0, ND_FFT_FORWARD = 1, ND_FFT_ORTHO = 2 };
typedef struct {
    uint32_t size;
    nd_dtype dtype; /* of the result, which may be the precision to compute in; 0: by the rule */
    nd_stream *stream;
    /* naxes of them; NULL: the last axis, or of the n-dimensional functions the last naxes, naxes
     * 0: all */
    const int32_t *axes;
    /* naxes lengths of the transforms, before which operands are cut or continued with zeros; NULL,
     * or -1: as the operand is. Of a real result: its extent, by default 2*(extent - 1) */
    const int64_t *lengths;
    int32_t naxes, norm; /* ND_FFT_* */
} nd_fft_opts;

/* Along one axis. Complex numbers forward and back. */
ND_API ND_MUST_USE nd_status nd_fft(const nd_array *a, const nd_fft_opts *opts, nd_array **out);
ND_API ND_MUST_USE nd_status nd_fft_into(const nd_array *a, const nd_fft_opts *opts,
                                         const nd_array *dst);
ND_API ND_MUST_USE nd_status nd_ifft(const nd_array *a, const nd_fft_opts *opts, nd_array **out);
ND_API ND_MUST_USE nd_status nd_ifft_into(const nd_array *a, const nd_fft_opts *opts,
                                          const nd_array *dst);
/* Real numbers to elements 0 to n/2 of their transform, and back from these. */
ND_API ND_MUST_USE nd_status nd_rfft(const nd_array *a, const nd_fft_opts *opts, nd_array **out);
ND_API ND_MUST_USE nd_status nd_rfft_into(const nd_array *a, const nd_fft_opts *opts,
                                          const nd_array *dst);
ND_API ND_MUST_USE nd_status nd_irfft(const nd_array *a, const nd_fft_opts *opts, nd_array **out);
ND_API ND_MUST_USE nd_status nd_irfft_into(const nd_array *a, const nd_fft_opts *opts,
                                           const nd_array *dst);
/* The forward transform of numbers with x[n-j] = conj(x[j]), of which 0 to n/2 are given: it is
 * real; and back. */
ND_API ND_MUST_USE nd_status nd_hfft(const nd_array *a, const nd_fft_opts *opts, nd_array **out);
ND_API ND_MUST_USE nd_status nd_hfft_into(const nd_array *a, const nd_fft_opts *opts,
                                          const nd_array *dst);
ND_API ND_MUST_USE nd_status nd_ihfft(const nd_array *a, const nd_fft_opts *opts, nd_array **out);
ND_API ND_MUST_USE nd_status nd_ihfft_into(const nd_array *a, const nd_fft_opts *opts,
                                           const nd_array *dst);

/* Along several axes. The real axis of rfftn and irfftn is the last in the list. */
ND_API ND_MUST_USE nd_status nd_fftn(const nd_array *a, const nd_fft_opts *opts, nd_array **out);
ND_API ND_MUST_USE nd_status nd_fftn_into(const nd_array *a, const nd_fft_opts *opts,
                                          const nd_array *dst);
ND_API ND_MUST_USE nd_status nd_ifftn(const nd_array *a, const nd_fft_opts *opts, nd_array **out);
ND_API ND_MUST_USE nd_status nd_ifftn_into(const nd_array *a, const nd_fft_opts *opts,
                                           const nd_array *dst);
ND_API ND_MUST_USE nd_status nd_rfftn(const nd_array *a, const nd_fft_opts *opts, nd_array **out);
ND_API ND_MUST_USE nd_status nd_rfftn_into(const nd_array *a, const nd_fft_opts *opts,
                                           const nd_array *dst);
ND_API ND_MUST_USE nd_status nd_irfftn(const nd_array *a, const nd_fft_opts *opts, nd_array **out);
ND_API ND_MUST_USE nd_status nd_irfftn_into(const nd_array *a, const nd_fft_opts *opts,
                                            const nd_array *dst);

/* The frequencies of a transform's n >= 1 elements, for samples d apart: 0, 1, ... up to the
 * middle, then -n/2 ... -1 (rfftfreq: 0 to n/2), divided by n*d. dtype: floating; 0: f64. device
 * NULL: the current one. */
ND_API ND_MUST_USE nd_status nd_fftfreq(nd_device *device, nd_dtype dtype, int64_t n, double d,
                                        nd_array **out);
ND_API ND_MUST_USE nd_status nd_rfftfreq(nd_device *device, nd_dtype dtype, int64_t n, double d,
                                         nd_array **out);
/* Element 0 to the middle of each of the axes (NULL: all), and back. */
ND_API ND_MUST_USE nd_status nd_fftshift(const nd_array *a, int naxes, const int32_t *axes,
                                         nd_array **out);
ND_API ND_MUST_USE nd_status nd_ifftshift(const nd_array *a, int naxes, const int32_t *axes,
                                          nd_array **out);

ND_END_DECLS
#endif
