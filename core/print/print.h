/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Numbers as text, the way NumPy writes them: the fewest digits that read back as the same value of
 * the dtype. */
#ifndef NDOCK_PRINT_H
#define NDOCK_PRINT_H
#include "core/ops/ops.h"

/* How the numbers of one array line up. */
typedef struct {
    nd_dtype dtype;
    bool scientific;
    int precision;   /* most digits after the point */
    int left, right; /* widths before and after the point */
    int exponent_width;
} nd_number_format;

enum { ND_NUMBER_TEXT = 96 }; /* the longest text of one real number */

/* Format that fits all of n elements, each nbytes wide, of a real dtype or of one part (0 real, 1
 * imaginary) of a complex one. */
nd_number_format nd__number_format(nd_dtype dtype, int part, const void *elements, int64_t n,
                                   int precision, bool suppress);
/* One element (or part) as text in buf of ND_NUMBER_TEXT. sign: write a '+' before positive
 * numbers. */
void nd__number_text(const nd_number_format *f, int part, const void *element, bool sign,
                     char *buf);
/* A 0-d array's element as Python writes a number, in buf of ND_NUMBER_TEXT. */
void nd__lone_text(nd_dtype dtype, const void *element, char *buf);
#endif
