/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Convolutions of one tap as matrix products of cuBLASLt. */
#ifndef NDOCK_CUDA_POINTWISE_H
#define NDOCK_CUDA_POINTWISE_H
#include "conv/conv.h"
#include "matmul/blaslt.h"

typedef struct {
    blaslt_key key;
    const ndp_view *a, *b, *out;
    uint64_t sums,
        work; /* bytes of scratch: of one product an image, to be added up; of the library */
} conv_pointwise;

/* Whether the library computes the convolution of this kind (CONV_*), and how. */
int cuda_conv_pointwise(conv_pointwise *p, ndp_dev *dev, const ndp_call *call, int kind,
                        const ndp_view *image, const ndp_view *weight, const ndp_view *grid);
/* Where there are sums, they are left at the beginning of the scratch memory. */
int32_t cuda_conv_pointwise_run(ndp_dev *dev, ndp_stream *s, const conv_pointwise *p,
                                CUdeviceptr scratch);

#endif
