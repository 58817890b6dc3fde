/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The CUDA driver, opened at run time: a table of its functions, and its errors as ours. */
#ifndef NDOCK_CUDA_DRIVER_H
#define NDOCK_CUDA_DRIVER_H
#include <cuda.h>
#include <stddef.h>
#include <stdint.h>

/* cu.cuMemAlloc(...): the macros of <cuda.h> choose the version of a function here as well. */
typedef struct {
#define CU_FN(name) __typeof__(name) *name;
#include "driver.def"
} cuda_driver;
extern cuda_driver cu;

/* Opens the driver once. NDP_ERR_UNSUPPORTED: there is none; NDP_ERR_PLUGIN: it is too old. The
 * reason is in why. Creates no context. */
int32_t cuda_driver_open(char *why, size_t n);
int cuda_driver_version(void); /* 13000: CUDA 13.0; 0 before it was opened */

/* The status for a driver's result, with what was tried in the thread's error detail: 0 is 0. */
int32_t cuda_fail(CUresult r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int cuda_sticky(CUresult r); /* the context is lost with everything in it */
const char *cuda_error_name(CUresult r);

#endif
