/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * In the place of reduce/reduce.h where programs of rows are compiled: what ops.cuh knows of a
 * reduction, without its walk. */
#ifndef NDOCK_CUDA_REDUCE_H
#define NDOCK_CUDA_REDUCE_H

enum { REDUCE_VALUE = 0, REDUCE_SQRT = 1, REDUCE_ANY = 2, REDUCE_ALL = 3 };

struct reduce_params {
    uint64_t out;
    int64_t count;
    double divisor, inverse; /* inverse: 1/count of a mean, else 1 */
    int64_t flip, nan_above, nan_bits, nonzero;
    int32_t finish, out_nbytes, out_is_bool;
};

#endif
