/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Loops of the row normalisations for single precision and below (single_isa.c), over dense floats: each
 * reads its operands once and computes in double. Rows of 16 bits are floats while they are worked on.
 *
 * Sums are of distances from a shift, an element of the row, which is within sqrt(n) deviations of the
 * mean: what a variance loses to that is below n*2^-53 of it, so one pass finds mean and variance. */
#ifndef NDOCK_CPU_NORM_SINGLE_H
#define NDOCK_CPU_NORM_SINGLE_H
#include "host/cpu.h"

/* Results that are floats, and results that are yet to be rounded to 16 bits: floats rounded to odd. */
enum { CPU_SINGLE_LAST, CPU_SINGLE_ODD, CPU_SINGLE_ROUNDINGS };
enum { CPU_SINGLE_F16, CPU_SINGLE_BF16, CPU_SINGLE_HALVES };
enum { CPU_SINGLE_LINES = 4 }; /* lines that loops over columns take at once, or one */

/* Sums of distances d of x, of their squares, of g, and of g*d; g times scale where there is one. */
enum { CPU_SUM_D, CPU_SUM_DD, CPU_SUM_G, CPU_SUM_GD, CPU_SUMS };

typedef struct {
    void (*widen[CPU_SINGLE_HALVES])(float *to, const char *from, int64_t n);
    void (*narrow[CPU_SINGLE_HALVES])(char *to, const float *from, int64_t n);
    /* Of a row. */
    void (*moments)(const float *x, int64_t n, double shift, double *sums);
    void (*products)(const float *x, const float *g, const float *scale, int64_t n, double shift,
                     double *sums);
    double (*dot)(const float *x, const float *g, int64_t n);
    double (*sum)(const float *x, int64_t n);
    /* (x - mean)*factor*scale + bias, of numbers and of rows (NULL: none). */
    void (*affine[CPU_SINGLE_ROUNDINGS])(float *to, const float *x, int64_t n, double mean,
                                         double factor, double bias);
    void (*affine_row[CPU_SINGLE_ROUNDINGS])(float *to, const float *x, int64_t n, double mean,
                                             double factor, const float *scale, const float *bias);
    /* (g*scale - a - (x - mean)*b)*factor; of rows, with the parts that the weights' gradients have:
     * (x - mean)*factor*g and g are added to weight[0] and weight[1], which are NULL where not
     * wanted. */
    void (*grad[CPU_SINGLE_ROUNDINGS])(float *to, const float *x, const float *g, int64_t n,
                                       double mean, double a, double b, double factor,
                                       double scale);
    void (*grad_row[CPU_SINGLE_ROUNDINGS])(float *to, const float *x, const float *g, int64_t n,
                                           double mean, double a, double b, double factor,
                                           const float *scale, double *const weight[2]);
    /* x*(g - s), and g - exp(x)*s */
    void (*times_less[CPU_SINGLE_ROUNDINGS])(float *to, const float *x, const float *g, int64_t n,
                                             double s);
    void (*less_exp[CPU_SINGLE_ROUNDINGS])(float *to, const float *x, const float *g, int64_t n,
                                           double s);
    /* The largest that is no NaN; exp(x - shift), shift not below any x; sum of those that are not 1,
     * and how many are; e*factor; (x - first) - second. */
    float (*max)(const float *x, int64_t n);
    void (*exps)(double *e, const float *x, int64_t n, double shift);
    double (*sum_but_ones)(const double *e, int64_t n, double *ones);
    void (*scaled[CPU_SINGLE_ROUNDINGS])(float *to, const double *e, int64_t n, double factor);
    void (*minus[CPU_SINGLE_ROUNDINGS])(float *to, const float *x, int64_t n, double first,
                                        double second);
    /* The same of columns, one line at a time; sums[0] and sums[1]: of what is not 1, and the ones. */
    void (*max_line)(float *max, const float *x, int64_t n);
    void (*exps_line)(double *e, const float *x, int64_t n, const float *shift,
                      double *const *sums);
    void (*scaled_line[CPU_SINGLE_ROUNDINGS])(float *to, const double *e, int64_t n,
                                              const double *factor);
    void (*minus_line[CPU_SINGLE_ROUNDINGS])(float *to, const float *x, int64_t n,
                                             const float *first, const double *second);
    /* Of columns: n rows side by side, of which `lines` elements each, CPU_SINGLE_LINES or 1, are at
     * x[0], x[1]... Sums of row j are at sums[k][j]. */
    void (*moment_lines)(const float *const *x, int lines, int64_t n, const double *shift,
                         double *const *sums);
    void (*product_lines)(const float *const *x, const float *const *g, int lines, int64_t n,
                          const double *shift, double *const *sums);
    /* (x - mean)*factor + bias */
    void (*affine_line[CPU_SINGLE_ROUNDINGS])(float *to, const float *x, int64_t n,
                                              const double *mean, const double *factor,
                                              const double *bias);
    /* (x - mean)*by + bias in single precision, of numbers, and of columns. */
    void (*given)(float *to, const float *x, int64_t n, float mean, float by, float bias);
    void (*given_line)(float *to, const float *x, int64_t n, const float *mean, const float *by,
                       const float *bias);
    /* g*factor - a - (x - mean)*b */
    void (*grad_line[CPU_SINGLE_ROUNDINGS])(float *to, const float *x, const float *g, int64_t n,
                                            const double *mean, const double *a, const double *b,
                                            const double *factor);
} cpu_single_table;
CPU_ISA_DECLARE(extern const cpu_single_table, cpu_single_loops);
#endif
