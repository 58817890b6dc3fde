/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Discrete Fourier transforms in sums of two doubles, about 104 bits, by nothing but the definition
 * and its split by prime factors: what the accuracy of every device is measured against. It shares
 * nothing with what it judges; tests/fft/golden.py, which computes with mpmath, judges it. */
#ifndef NDOCK_TESTS_FFT_EXACT_H
#define NDOCK_TESTS_FFT_EXACT_H
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

typedef struct {
    double hi, lo;
} exact;
typedef struct {
    exact r, i;
} exact_complex;

static inline exact exact_add(exact a, exact b)
{
    double s = a.hi + b.hi, t = s - a.hi, e = (a.hi - (s - t)) + (b.hi - t) + a.lo + b.lo;
    double hi = s + e;
    return (exact){hi, e - (hi - s)};
}

static inline exact exact_product(double a, double b)
{
    double x = 134217729.0 * a, y = 134217729.0 * b, p = a * b;
    double ah = x - (x - a), bh = y - (y - b), al = a - ah, bl = b - bh;
    return (exact){p, ((ah * bh - p) + ah * bl + al * bh) + al * bl};
}

static inline exact exact_times(exact a, exact b)
{
    exact p = exact_product(a.hi, b.hi);
    double e = p.lo + (a.hi * b.lo + a.lo * b.hi), hi = p.hi + e;
    return (exact){hi, e - (hi - p.hi)};
}

static inline exact exact_over(exact a, double b)
{
    double q = a.hi / b;
    exact p = exact_product(q, b);
    double r = (((a.hi - p.hi) - p.lo) + a.lo) / b, hi = q + r;
    return (exact){hi, r - (hi - q)};
}

static inline exact exact_negative(exact a)
{
    return (exact){-a.hi, -a.lo};
}

static inline exact_complex exact_complex_times(exact_complex a, exact_complex b)
{
    return (exact_complex){exact_add(exact_times(a.r, b.r), exact_negative(exact_times(a.i, b.i))),
                           exact_add(exact_times(a.r, b.i), exact_times(a.i, b.r))};
}

/* exp(-2 pi i k/n): the series of the exponential at a 64th of the angle, squared six times. */
static inline exact_complex exact_root(int64_t k, int64_t n)
{
    const exact turn = {6.283185307179586232, 2.4492935982947063545e-16}; /* 2 pi */
    k %= n;
    k = 2 * k > n ? k - n : k;
    const exact x = exact_over(exact_times(turn, (exact){(double)-k, 0}), 64.0 * (double)n);
    exact_complex sum = {{1, 0}, {0, 0}}, term = sum;
    for (int j = 1; j < 24; j++) {
        term = exact_complex_times(term, (exact_complex){{0, 0}, exact_over(x, j)});
        sum.r = exact_add(sum.r, term.r);
        sum.i = exact_add(sum.i, term.i);
    }
    for (int j = 0; j < 6; j++)
        sum = exact_complex_times(sum, sum);
    return sum;
}

/* out[k] = sum of in[j*step]*root[(j*k mod n)*(all/n)]; work: n elements. */
static void exact_split(const exact_complex *in, int64_t step, exact_complex *out,
                        exact_complex *work, int64_t n, const exact_complex *root, int64_t all)
{
    int64_t p = 2;
    while (n > 1 && n % p != 0)
        p++;
    if (n == 1) {
        out[0] = in[0];
        return;
    }
    const int64_t m = n / p;
    for (int64_t r = 0; r < p; r++)
        exact_split(in + r * step, step * p, work + r * m, out, m, root, all);
    for (int64_t k = 0; k < n; k++) {
        exact_complex sum = work[k % m];
        for (int64_t r = 1; r < p; r++) {
            exact_complex x = exact_complex_times(work[r * m + k % m], root[r * k % n * (all / n)]);
            sum.r = exact_add(sum.r, x.r);
            sum.i = exact_add(sum.i, x.i);
        }
        out[k] = sum;
    }
}

/* Elements 0, apart, 2*apart ... below `count` of the forward transform of n elements, each as the
 * sum that defines it; 0 without memory. For long primes, whose every element takes n products. */
static inline int exact_elements(const exact_complex *in, exact_complex *out, int64_t n,
                                 int64_t count, int64_t apart)
{
    exact_complex *root = malloc((size_t)n * sizeof *root);
    if (!root)
        return 0;
    for (int64_t k = 0; k < n; k++)
        root[k] = exact_root(k, n);
    for (int64_t k = 0; k < count; k += apart) {
        exact_complex sum = {{0, 0}, {0, 0}};
        int64_t at = 0;
        for (int64_t j = 0; j < n; j++) {
            exact_complex x = exact_complex_times(in[j], root[at]);
            sum.r = exact_add(sum.r, x.r);
            sum.i = exact_add(sum.i, x.i);
            at += at + k < n ? k : k - n;
        }
        out[k] = sum;
    }
    free(root);
    return 1;
}

/* The forward transform of n elements; 0 without memory. */
static inline int exact_transform(const exact_complex *in, exact_complex *out, int64_t n)
{
    exact_complex *memory = malloc((size_t)n * 2 * sizeof *memory);
    if (!memory)
        return 0;
    for (int64_t k = 0; k < n; k++)
        memory[k] = exact_root(k, n);
    exact_split(in, 1, out, memory + n, n, memory, n);
    free(memory);
    return 1;
}

#endif
