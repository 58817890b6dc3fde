/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What the host files of class RANDOM ask of each other. */
#ifndef NDOCK_CUDA_RANDOM_CLASS_H
#define NDOCK_CUDA_RANDOM_CLASS_H
#include <ndock/plugin.h>

/* The kernel of an op with parameters among its operands, of a legal dtype. */
int32_t cuda_sampler_find(ndp_dev *dev, const ndp_call *like, const ndp_kernel **out);

#endif
