/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What reductions and scans share. */
#ifndef NDOCK_CORE_REDUCE_H
#define NDOCK_CORE_REDUCE_H
#include "core/ops/prepare.h"

/* Compute and result dtype of an operation that adds up, or picks from, elements of dtype `in`;
 * wanted: what the options ask for, or 0. */
nd_status nd__reduce_dtypes(nd_operation *of, nd_dtype in, nd_dtype wanted);

#endif
