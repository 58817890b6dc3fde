/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * A matrix product, as our kernels and CLBlast are given it. */
#ifndef NDOCK_OPENCL_PRODUCT_H
#define NDOCK_OPENCL_PRODUCT_H
#include "host/opencl.h"

typedef struct {    /* struct product of matmul.cl */
    ocl_walk batch; /* strides: a, b, out, bias; in elements, as those below */
    cl_long m, n, k;
    cl_long a_row, a_col, b_row, b_col, out_row, out_col, bias_row, bias_col;
    cl_long a, b, out, bias; /* offsets in bytes */
    cl_ulong alpha_f64, beta_f64;
    cl_float alpha_f32, beta_f32;
    cl_uint epilogue, has_bias, has_beta, zero;
} ocl_product;

/* Whether CLBlast is installed; it is opened then. */
int ocl_clblast_there(void);
/* NDP_ERR_UNSUPPORTED: it is not there, does not take this, or failed. */
int32_t ocl_clblast_product(ndp_dev *dev, ndp_stream *s, const ndp_call *call,
                            const ocl_product *p);

#endif
