/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Convolutions of f32 and f64 as matrix products of cuBLASLt with the elements of windows side by side. */
#ifndef NDOCK_CUDA_UNFOLDED_H
#define NDOCK_CUDA_UNFOLDED_H
#include "conv/plan.h"
#include "matmul/blaslt.h"

typedef struct {
    blaslt_key key;
    cuda_unfolding windows;      /* without addresses of scratch memory */
    const ndp_view *a, *b, *out; /* NULL: in scratch memory */
    int joint; /* the result has a line for each channel of all images: to be spread out to images */
    int last, kind;               /* last: lines are pixels, else channels */
    int by_elements;              /* lines are channels, but those of the grid are innermost */
    uint64_t sums, columns, work; /* bytes of scratch: to be added up; of windows; the library's */
    int64_t images, items;        /* of the walk over windows or, for CONV_INPUT, elements */
    int function, n_extents;      /* of a cuda_kernel; of a row */
    int64_t image_step, window_step; /* bytes from image to image */
    int64_t extent[6];
} conv_unfolded;

/* Whether the convolution is computed so, and how: never where narrower products were allowed. */
int cuda_conv_unfolded(conv_unfolded *u, ndp_dev *dev, const ndp_call *call, const conv_plan *q);
/* Where there are sums, they are left at the beginning of the scratch memory. */
int32_t cuda_conv_unfolded_run(const cuda_kernel *k, ndp_stream *s, conv_unfolded *u,
                               const cuda_convolving *p, CUdeviceptr scratch);
/* Finds the kernels. Inside cuda_enter(). */
int32_t cuda_conv_unfolded_make(cuda_kernel *k, int32_t dtype);

#endif
