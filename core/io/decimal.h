/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Decimal numbers to binary ones and back, correctly rounded, in no locale. */
#ifndef NDOCK_CORE_IO_DECIMAL_H
#define NDOCK_CORE_IO_DECIMAL_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "core/model/model.h"

/* digits * 10^exponent, or a little more than that: less than digits + 1. */
typedef struct {
    uint64_t digits;
    int32_t exponent;
    bool more, negative;
} nd__decimal;

enum { ND__DIGITS = 19 }; /* as many decimal digits as 64 bits always hold */

/* The nearest number of the format, ties to even; false where that cannot be told from this many
 * digits or this precision, which is rare. */
bool nd__decimal_value(const nd__decimal *d, nd_float_format format, double *out);
/* x, finite and above 0, to n (1 to ND__DIGITS) significant digits: *digits * 10^*exponent, where
 * digits has exactly n digits. False as above. */
bool nd__decimal_digits(double x, int n, uint64_t *digits, int *exponent);
/* The fewest digits that are read back as x, finite and above 0, in that format. */
void nd__decimal_shortest(double x, nd_float_format format, uint64_t *digits, int *exponent);
/* Writes n digits, with zeros before them; returns the end. */
char *nd__put_digits(char *to, uint64_t digits, int n);

/* strtod and snprintf where numbers have a point. */
double nd__strtod(const char *text);
float nd__strtof(const char *text);
int nd__snprintf(char *to, size_t room, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
#endif
