/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * One number and its text in a file of rows and columns, in no locale. */
#ifndef NDOCK_CORE_IO_NUMBER_H
#define NDOCK_CORE_IO_NUMBER_H
#include "core/io/decimal.h"

/* Reads the whole text as an element of the dtype, into memory of the dtype that holds it:
 * nd__number_held. NULL, or why it is none, as in "\"x\" is WHY". Integers are exact; floats are
 * rounded once, to their own format; "nan", "inf" and "infinity" in any case; complex numbers as
 * 1+2j, 2j, (1-2j); truth values are true, false or integers. */
const char *nd__number_read(const char *text, const char *end, nd_dtype dtype, void *to);
/* f16, bf16 and the 8-bit formats are held as f32, other dtypes as they are. */
nd_dtype nd__number_held(nd_dtype dtype);

/* One part of an element, as conversions take it. */
typedef struct {
    enum { ND__NUMBER_REAL, ND__NUMBER_INT, ND__NUMBER_UINT, ND__NUMBER_BOOL } kind;
    double real;
    int64_t i;
    uint64_t u;
    nd_float_format format; /* of a real one */
} nd__number;

enum { ND__NUMBER_ROOM = 512, ND__SPEC_ROOM = 32 };

/* A conversion of printf's, as Python's % understands it; 's' and 'r' are the shortest text. */
typedef struct {
    char flags[8], conversion;
    int width, precision; /* -1: none */
    bool signs;           /* '+' is among the flags */
    bool plain;           /* neither flags nor width */
} nd__spec;
/* Writes the number, at most ND__NUMBER_ROOM bytes; their count, or -1 with *why: it cannot be
 * written so. */
int nd__number_write(const nd__spec *spec, const nd__number *x, char *to, const char **why);
#endif
