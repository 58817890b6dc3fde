/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Fourier transforms: what kernels beside cuFFT's do. Elements are moved, scaled and conjugated by
 * walks by line (walk/lines.h): line_rows.pattern begins with the scale, a double; kind: 1 to
 * conjugate. */
#ifndef NDOCK_CUDA_FFT_H
#define NDOCK_CUDA_FFT_H
#include "walk/lines.h"

enum { FFT_ITEMS = 4, FFT_THREADS = 256 };

/* batch arrays of n1 x n2 x m complex elements in C order, from which real ones will be made: in
 * column 0, and with last in column m - 1, element (i, j) becomes half of its sum with the
 * conjugate of element (-i mod n1, -j mod n2), of which alone real results are made. What copies
 * as well reads the same elements at `from`, fewer than 2^31, times the scale and perhaps
 * conjugated. */
typedef struct {
    uint64_t at, batch, n1, n2, m;
    int32_t last;
    int32_t conjugate;
    uint64_t from;
    double scale;
    cuda_divisor columns; /* m */
} fft_pairs;

#endif
