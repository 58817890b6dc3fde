/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Roots of unity, correctly rounded for all practical purposes: computed in sums of two doubles
 * (about 104 bits) for angles of at most an eighth of a turn, from which the others follow exactly.
 *
 * An angle is a whole number of steps of (pi/4)/n. Two tables of about sqrt(n) entries, one of few
 * steps and one of multiples, give every root by one product. Sums and products of two doubles:
 * Dekker, Numer. Math. 18 (1971); Knuth, TAOCP 2, 4.2.2. */
#include <math.h>
#include <stdlib.h>
#include "fft/fft.h"

typedef struct {
    double hi, lo;
} pair;
typedef struct {
    pair c, s; /* cosine and sine */
} turn;

struct cpu_fft_roots {
    int64_t n, few; /* entries of the first table */
    turn *small, *large;
};

static pair quick_sum(double a, double b)
{
    double s = a + b;
    return (pair){s, b - (s - a)};
}

static pair two_sum(double a, double b)
{
    double s = a + b, t = s - a;
    return (pair){s, (a - (s - t)) + (b - t)};
}

static pair two_product(double a, double b)
{
    const double split = 134217729.0; /* 2^27 + 1 */
    double p = a * b, x = split * a, y = split * b;
    double ah = x - (x - a), al = a - ah, bh = y - (y - b), bl = b - bh;
    return (pair){p, ((ah * bh - p) + ah * bl + al * bh) + al * bl};
}

static pair add(pair a, pair b)
{
    pair s = two_sum(a.hi, b.hi), t = two_sum(a.lo, b.lo);
    s = quick_sum(s.hi, s.lo + t.hi);
    return quick_sum(s.hi, s.lo + t.lo);
}

static pair negative(pair a)
{
    return (pair){-a.hi, -a.lo};
}

static pair multiply(pair a, pair b)
{
    pair p = two_product(a.hi, b.hi);
    return quick_sum(p.hi, p.lo + (a.hi * b.lo + a.lo * b.hi));
}

static pair divide(pair a, double b)
{
    double q = a.hi / b;
    pair p = two_product(q, b);
    double r = ((a.hi - p.hi) - p.lo) + a.lo;
    return quick_sum(q, r / b);
}

/* Taylor's series of cosine and sine, for 0 <= x <= pi/4: what is left out is below 2^-110. */
static turn series(pair x)
{
    const pair square = multiply(x, x);
    pair even = {1, 0}, odd = x;
    turn t = {even, odd};
    for (int i = 1; i <= 13; i++) {
        even = negative(divide(multiply(even, square), (2 * i - 1) * (2 * i)));
        odd = negative(divide(multiply(odd, square), (2 * i) * (2 * i + 1)));
        t.c = add(t.c, even);
        t.s = add(t.s, odd);
    }
    return t;
}

/* The angle of that many of n steps to an eighth of a turn. */
static turn of_steps(int64_t steps, int64_t n)
{
    static const pair eighth = {0.78539816339744828, 3.0616169978683830e-17}; /* pi/4 */
    const double s = (double)steps;
    pair x = two_product(eighth.hi, s);
    x = quick_sum(x.hi, x.lo + eighth.lo * s);
    return series(divide(x, (double)n));
}

cpu_fft_roots *cpu_fft_roots_new(int64_t n)
{
    const int64_t few = (int64_t)sqrt((double)n) + 1, large = n / few + 1;
    cpu_fft_roots *r = malloc(sizeof *r + (size_t)(few + large) * sizeof(turn));
    if (!r)
        return NULL;
    *r = (cpu_fft_roots){.n = n, .few = few, .small = (turn *)(r + 1)};
    r->large = r->small + few;
    for (int64_t i = 0; i < few; i++)
        r->small[i] = of_steps(i, n);
    for (int64_t i = 0; i < large; i++)
        r->large[i] = of_steps(i * few, n);
    return r;
}

void cpu_fft_roots_free(cpu_fft_roots *r)
{
    free(r);
}

static turn up_to_eighth(const cpu_fft_roots *r, int64_t steps)
{
    const turn *a = &r->small[steps % r->few], *b = &r->large[steps / r->few];
    if (steps < r->few)
        return *a;
    return (turn){add(multiply(a->c, b->c), negative(multiply(a->s, b->s))),
                  add(multiply(a->s, b->c), multiply(a->c, b->s))};
}

void cpu_fft_root(const cpu_fft_roots *r, int64_t k, double part[4])
{
    const int64_t n = r->n;
    int64_t steps = 8 * k;
    int below = steps > 4 * n, left, swap;
    steps = below ? 8 * n - steps : steps;
    left = steps > 2 * n;
    steps = left ? 4 * n - steps : steps;
    swap = steps > n;
    turn t = up_to_eighth(r, swap ? 2 * n - steps : steps);
    pair c = swap ? t.s : t.c, s = swap ? t.c : t.s;
    c = left ? negative(c) : c;
    s = below ? s : negative(s);
    part[0] = c.hi;
    part[1] = c.lo;
    part[2] = s.hi;
    part[3] = s.lo;
}

void cpu_fft_root_store(const cpu_fft_roots *r, int64_t k, int32_t dtype, void *table, int64_t at)
{
    double part[4];
    cpu_fft_root(r, k, part);
    if (dtype == NDP_F32) {
        ((float *)table)[at] = (float)part[0];
        ((float *)table)[at + 1] = (float)part[2];
    } else {
        ((double *)table)[at] = part[0];
        ((double *)table)[at + 1] = part[2];
    }
}
