/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What reading and writing safetensors share. */
#ifndef NDOCK_CORE_IO_SAFETENSORS_H
#define NDOCK_CORE_IO_SAFETENSORS_H
#include <ndock/dtype.h>

/* The format's own limit on its header. */
enum { ND__SAFETENSORS_HEADER_MAX = 100000000 };
#define ND__SAFETENSORS_METADATA "__metadata__"

/* "F32"; NULL for c128, which the format lacks. */
const char *nd__safetensors_dtype_name(nd_dtype dtype);
/* 0 for a name that ndock has no dtype for. */
nd_dtype nd__safetensors_dtype(const char *name);
#endif
