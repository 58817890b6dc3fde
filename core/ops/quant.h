/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Quantised arrays, for the files that compute with, load and save them. */
#ifndef NDOCK_CORE_QUANT_H
#define NDOCK_CORE_QUANT_H
#include "core/ops/ops.h"

struct nd_qarray {
    atomic_int refs;
    const nd_quant_info *info;
    nd_array *blocks; /* u8 */
    int64_t shape[ND_MAX_NDIM];
};

/* Not NULL. */
nd_status nd__check_qarray(const char *op, const nd_qarray *q, int32_t i);
/* The format's record; ND_ERR_ARGUMENT if there is none. */
nd_status nd__check_quant(const char *op, nd_quant_format format, int32_t i,
                          const nd_quant_info **info);
/* nd_qarray_wrap on behalf of op. */
nd_status nd__qarray_wrap(const char *op, const nd_array *blocks, nd_quant_format format,
                          nd_qarray **out);
/* Bytes of a row of n elements; n is a multiple of the block. false where they do not fit. */
bool nd__quant_row_bytes(const nd_quant_info *info, int64_t n, int64_t *nbytes);
#endif
