/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Convolutions of cuDNN, opened when one is first wanted. */
#ifndef NDOCK_CUDA_CUDNN_H
#define NDOCK_CUDA_CUDNN_H
#include "conv/conv.h"
#include "host/backend.h"

/* A convolution as cuDNN knows it, compared byte by byte: image, weight, grid. 0 means unused. */
typedef struct {
    int32_t op, dtype, tf32, ndim; /* ndim: of the operands, 4 or 5 */
    int64_t extent[3][5], stride[3][5];
    int64_t before[3], after[3], step[3], dilation[3];
} cudnn_key;

/* Writes the key of a call. 0: cuDNN has no such convolution, by its documentation. */
int cuda_cudnn_key(cudnn_key *key, const ndp_call *call, const ndp_view *image,
                   const ndp_view *weight, const ndp_view *grid);
/* Whether cuDNN is there and has a deterministic engine, and the bytes of work area it wants.
 * Any thread; asks heuristics with the first call of a key. */
int cuda_cudnn_has(ndp_dev *dev, const cudnn_key *key, uint64_t *nbytes);
int32_t cuda_cudnn_run(ndp_dev *dev, ndp_stream *s, const cudnn_key *key, CUdeviceptr image,
                       CUdeviceptr weight, CUdeviceptr grid, CUdeviceptr work, uint64_t nbytes);
void cuda_cudnn_close(ndp_dev *dev);

#endif
