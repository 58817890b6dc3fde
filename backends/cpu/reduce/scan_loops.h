/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The loops of scan.c over blocks of what is computed in: along one row, along some rows at once, and across rows side by side. */
#ifndef NDOCK_CPU_REDUCE_SCAN_LOOPS_H
#define NDOCK_CPU_REDUCE_SCAN_LOOPS_H
#include <string.h>
#include "host/cpu.h"

enum {
    BLOCK = 512,       /* elements in flight */
    ROWS = 4,          /* rows at once */
    PITCH = BLOCK + 8, /* between them, such that they do not compete for one set of the cache */
    TILE = 512         /* rows side by side */
};

/* What rows carry from element to element, of one row or of a tile of them: sums or products (two
 * for complex) and what the sums have lost to rounding. */
typedef struct {
    double v[2 * TILE], error[2 * TILE];
    uint64_t bits[TILE];
} carry;

/* Knuth's two-sum. An infinite sum has a meaningless error, and a zero one must not touch -0.0. */
CPU_INLINE double add(double *sum, double *error, double x)
{
    double s = *sum + x, b = s - *sum;
    *error += (*sum - (s - b)) + (x - b);
    *sum = s;
    return (*error != 0) & (s - s == 0) ? s + *error : s;
}

/* One element more: carry c and element x both become the result. What fits a float with room to
 * spare in double needs no care for rounding. */
CPU_INLINE double sum_single(carry *c, int64_t j, double x)
{
    return c->v[j] += x;
}
CPU_INLINE double sum_double(carry *c, int64_t j, double x)
{
    return add(&c->v[j], &c->error[j], x);
}
CPU_INLINE double prod_real(carry *c, int64_t j, double x)
{
    return c->v[j] *= x;
}

/* n elements of one row, and one element of each of n rows. n counts reals in rows side by side. */
typedef void (*scan_loop)(carry *c, void *v, int64_t n);

static void sum_int_along(carry *c, void *v, int64_t n)
{
    uint64_t *x = v, sum = c->bits[0];
    for (int64_t i = 0; i < n; i++)
        x[i] = sum += x[i];
    c->bits[0] = sum;
}

static void sum_int_across(carry *c, void *v, int64_t n)
{
    uint64_t *x = v;
    for (int64_t j = 0; j < n; j++)
        x[j] = c->bits[j] += x[j];
}

static void prod_int_along(carry *c, void *v, int64_t n)
{
    uint64_t *x = v, product = c->bits[0];
    for (int64_t i = 0; i < n; i++)
        x[i] = product *= x[i];
    c->bits[0] = product;
}

static void prod_int_across(carry *c, void *v, int64_t n)
{
    uint64_t *x = v;
    for (int64_t j = 0; j < n; j++)
        x[j] = c->bits[j] *= x[j];
}

static void sum_single_along(carry *c, void *v, int64_t n)
{
    double *x = v, sum = c->v[0];
    for (int64_t i = 0; i < n; i++)
        x[i] = sum += x[i];
    c->v[0] = sum;
}

static void sum_double_along(carry *c, void *v, int64_t n)
{
    double *x = v, sum = c->v[0], error = c->error[0];
    for (int64_t i = 0; i < n; i++)
        x[i] = add(&sum, &error, x[i]);
    c->v[0] = sum;
    c->error[0] = error;
}

/* ROWS rows, PITCH apart: an element waits for those of its own row alone, so that four rows take less time at once. */
static void sum_single_rows(carry *c, void *v, int64_t n)
{
    double *x = v, sum[ROWS];
    memcpy(sum, c->v, sizeof sum);
    for (int64_t i = 0; i < n; i++)
#pragma GCC unroll 4
        for (int r = 0; r < ROWS; r++)
            x[r * PITCH + i] = sum[r] += x[r * PITCH + i];
    memcpy(c->v, sum, sizeof sum);
}

static void prod_real_rows(carry *c, void *v, int64_t n)
{
    double *x = v, product[ROWS];
    memcpy(product, c->v, sizeof product);
    for (int64_t i = 0; i < n; i++)
#pragma GCC unroll 4
        for (int r = 0; r < ROWS; r++)
            x[r * PITCH + i] = product[r] *= x[r * PITCH + i];
    memcpy(c->v, product, sizeof product);
}

static void prod_real_along(carry *c, void *v, int64_t n)
{
    double *x = v, product = c->v[0];
    for (int64_t i = 0; i < n; i++)
        x[i] = product *= x[i];
    c->v[0] = product;
}

static void sum_complex_along(carry *c, void *v, int64_t n)
{
    double *x = v;
    for (int64_t i = 0; i < 2 * n; i++)
        x[i] = sum_double(c, i % 2, x[i]);
}

static void sum_single_across(carry *c, void *v, int64_t n)
{
    double *x = v;
    for (int64_t j = 0; j < n; j++)
        x[j] = sum_single(c, j, x[j]);
}

static void sum_double_across(carry *c, void *v, int64_t n)
{
    double *x = v;
    for (int64_t j = 0; j < n; j++)
        x[j] = sum_double(c, j, x[j]);
}

static void sum_complex_across(carry *c, void *v, int64_t n)
{
    sum_double_across(c, v, 2 * n);
}

static void prod_real_across(carry *c, void *v, int64_t n)
{
    double *x = v;
    for (int64_t j = 0; j < n; j++)
        x[j] = prod_real(c, j, x[j]);
}

static void prod_complex(double *c, double *x)
{
    double re = c[0] * x[0] - c[1] * x[1], im = c[0] * x[1] + c[1] * x[0];
    x[0] = c[0] = re;
    x[1] = c[1] = im;
}

static void prod_complex_along(carry *c, void *v, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        prod_complex(c->v, (double *)v + 2 * i);
}

static void prod_complex_across(carry *c, void *v, int64_t n)
{
    for (int64_t j = 0; j < n; j++)
        prod_complex(c->v + 2 * j, (double *)v + 2 * j);
}

/* By what is computed in; sum, product. */
enum { INTEGER, SINGLE, DOUBLE, COMPLEX };
static const struct {
    scan_loop along, across, rows; /* rows: NULL where one at a time is as fast */
} loops[4][2] = {
    [INTEGER] = {{sum_int_along, sum_int_across, NULL}, {prod_int_along, prod_int_across, NULL}},
    [SINGLE] = {{sum_single_along, sum_single_across, sum_single_rows},
                {prod_real_along, prod_real_across, prod_real_rows}},
    [DOUBLE] = {{sum_double_along, sum_double_across, NULL},
                {prod_real_along, prod_real_across, NULL}},
    [COMPLEX] = {{sum_complex_along, sum_complex_across, NULL},
                 {prod_complex_along, prod_complex_across, NULL}},
};

static int kind_of(int32_t dtype)
{
    if (dtype >= NDP_C64)
        return COMPLEX;
    return dtype == NDP_F64 ? DOUBLE : dtype >= NDP_F16 ? SINGLE : INTEGER;
}

/* Nothing scanned yet, in the first n rows. */
static void start(carry *c, int prod, int complex, int64_t n)
{
    for (int64_t j = 0; j < n * (complex + 1); j++) {
        c->v[j] = !prod ? -0.0 : complex ? (double)(1 - j % 2) : 1;
        c->error[j] = 0;
    }
    for (int64_t j = 0; j < n; j++)
        c->bits[j] = (uint64_t)prod;
}
#endif
