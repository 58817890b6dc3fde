/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Parameters of the kernels of histogram. */
#ifndef NDOCK_CUDA_HISTOGRAM_H
#define NDOCK_CUDA_HISTOGRAM_H
#include "walk/walk.h"

enum {
    HISTOGRAM_THREADS = 512,
    HISTOGRAM_SHARED = 48 << 10, /* bytes of edges and counts that a block keeps */
    HISTOGRAM_COPIES = 8         /* most sets of counts of a block, of different warps */
};

/* histogram_count adds to counts what histogram_clear has set to 0. */
typedef struct {
    cuda_walk walk; /* over the values, of which `dense` have no gaps */
    uint64_t sorted, values, out;
    int64_t n, stride, out_stride; /* of sorted; out has one element more */
    int32_t sorted_dtype, dtype, right, dense;
    int32_t copies, zero; /* sets of counts in shared memory; 0: there is no room for them */
    uint64_t scalar[2];
    int64_t value_stride[CUDA_WALK_NDIM];
} histogram_params;

#ifndef __CUDACC__ /* of class SEARCH */
#include "host/backend.h"
uint64_t cuda_histogram_dtypes(void); /* of edges */
int32_t cuda_histogram_find(ndp_dev *dev, const ndp_call *like, const ndp_kernel **out, char *why,
                            size_t n);
#endif

#endif
