/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * A call of every class of operation on the same few arrays, for checks of how kernels behave when
 * they run often, in several threads or on several streams. What they compute is checked elsewhere:
 * here a result is compared with what the same call gave alone. */
#ifndef NDOCK_CONFORM_WORKS_H
#define NDOCK_CONFORM_WORKS_H
#include "tests/conform/conform.h"

/* The elements are small integers, so that every order of a sum gives the same bits. */
typedef struct {
    nd_array *a, *b;   /* f32, (rows, columns) */
    nd_array *square;  /* f32, (columns, columns) */
    nd_array *rows;    /* i64, (rows): positions along axis 0 */
    nd_array *truth;   /* bool, (rows, columns) */
    nd_array *integer; /* i32, (rows, columns) */
} works_in;
bool works_make(works_in *in, int64_t rows, int64_t columns); /* of random elements */
void works_release(works_in *in);

typedef struct {
    const char *name;
    nd_status (*call)(const works_in *in, nd_array **out);
} work;
extern const work works[]; /* ends with name NULL */
#endif
