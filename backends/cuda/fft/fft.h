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
 * conjugate of element (-i mod n1, -j mod n2), of which alone real results are made. */
typedef struct {
    uint64_t at, batch, n1, n2, m;
    int32_t last;
} fft_pairs;

#endif
