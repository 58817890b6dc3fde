/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Index notation: what einsum_parse.c makes of it, and einsum.c computes. */
#ifndef NDOCK_CORE_EINSUM_H
#define NDOCK_CORE_EINSUM_H
#include "core/ops/linalg.h"

/* 26 small and 26 large letters, then the dimensions of ellipses, counted from the last. */
enum { ND_LETTERS = 52, ND_LABELS = ND_LETTERS + ND_MAX_NDIM, ND_EINSUM_MOST = 64 };

typedef struct {
    nd_array *array;            /* one reference */
    int n, labels[ND_MAX_NDIM]; /* of its axes, each once */
    uint64_t mask[2];           /* the same as bits */
} nd_term;

typedef struct {
    int n;
    nd_term term[ND_EINSUM_MOST], result;
    int64_t extent[ND_LABELS]; /* 0: no operand has the label, or it is empty */
    nd_dtype dtype;
} nd_contraction;

void nd__term_labels(nd_term *t, int n, const int *labels);
/* Sums and products of the terms until the result is left. */
nd_status nd__einsum_contract(nd_contraction *e, nd_array **out);

/* The sum of a over all axes but the first `kept`, or with columns over all but the last `kept`, as a
 * matrix product; NULL: a is no such case. */
nd_array *nd__einsum_sum(const nd_contraction *e, nd_steps *s, const nd_array *a, int kept,
                         bool columns);

#endif
