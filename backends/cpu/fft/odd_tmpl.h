/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Real transforms of an odd length n = r*m, r a small prime: part b has the elements b, b + r ...,
 * and Y_b is its transform, of m elements. With w = exp(-2 pi i/n),
 *     X[k + m*c] = sum over b of w^(b*k) exp(-2 pi i b*c/r) Y_b[k],
 * of which k up to m/2 gives all, since X[n-k] = X'[k] and Y_b[m-k] = Y_b'[k], ' being the
 * conjugate. Part 0 is transformed alone, parts 2p-1 and 2p as Z_p, real and imaginary. Z_p[j] is
 * cell p*m + j; the results of k and of m - k take the same cells as what they are made of.
 *
 * The table has w^(b*k), its real parts and then its imaginary ones, for b from 1 to r - 1, each for
 * k from 0 to m/2, and then the cosines and sines of sum_odd. */

typedef struct {
    int64_t m;
    int r, half; /* half: r/2 */
    const FFT_REAL *re, *im, *sums;
} odd_plan;

static odd_plan odd_plan_of(const cpu_fft_plan *plan)
{
    const int r = (int)cpu_fft_odd_parts(plan->n);
    const int64_t m = plan->n / r, numbers = (r - 1) * (m / 2 + 1);
    const FFT_REAL *t = (const FFT_REAL *)plan->table + plan->real_table;
    return (odd_plan){m, r, r / 2, t, t + numbers, t + 2 * numbers};
}

INLINE cell turned(const odd_plan *o, int b, int64_t k, cell x)
{
    const int64_t at = (b - 1) * (o->m / 2 + 1) + k;
    return times(x, all(o->re[at]), all(o->im[at]));
}

/* Where the next element of each part goes, of parts' elements in turn from element `first` on. */
typedef struct {
    vec *next[13];
    int b; /* the part whose turn it is */
} part_places;

INLINE part_places places_of(const odd_plan *o, cell *c, int64_t first)
{
    const int64_t at = first / o->r;
    part_places p = {.b = (int)(first % o->r)};
    for (int b = 0; b < o->r; b++) {
        cell *to = c + (b + 1) / 2 * o->m + at + (b < p.b);
        p.next[b] = b && b % 2 == 0 ? &to->i : &to->r;
    }
    return p;
}

INLINE void put_next(const odd_plan *o, part_places *p, vec x)
{
    *p->next[p->b] = x;
    p->next[p->b] += 2;
    p->b = p->b + 1 < o->r ? p->b + 1 : 0;
}

/* A vector of each lane's elements from `first` on, turned. */
INLINE void load_square(const cpu_fft_io *io, int64_t first, vec *x)
{
#pragma GCC unroll 16
    for (int k = 0; k < LANES; k++)
        x[k] = load_vec(io->re + io->lane[k] + first * PART);
    turn_square(x);
}

/* All parts' elements from rows of real numbers, where these are dense and as many as a vector has
 * lanes: vectors of each row are turned, and go to one part after the other; part 0 is alone in its
 * cells. Zero: they are not. */
static int load_odd_cells(const cpu_fft_plan *plan, void *cells, const cpu_fft_io *io)
{
    const odd_plan o = odd_plan_of(plan);
    const int64_t last = plan->n - LANES;
    if (io->im || !io->re || io->step != PART || io->lanes < LANES || plan->n < LANES ||
        lie_of(io).across == PART)
        return 0;
    vec x[LANES];
    part_places to = places_of(&o, cells, 0);
    for (int64_t e = 0; e <= last; e += LANES) {
        load_square(io, e, x);
#pragma GCC unroll 16
        for (int k = 0; k < LANES; k++)
            put_next(&o, &to, x[k]);
    }
    if (plan->n % LANES != 0) { /* the last vector, some of which is there already */
        to = places_of(&o, cells, last);
        load_square(io, last, x);
        for (int k = 0; k < LANES; k++)
            put_next(&o, &to, x[k]);
    }
    for (int64_t j = 0; j < o.m; j++)
        ((cell *)cells)[j].i = all(0);
    return 1;
}

INLINE void sum_parts(cell *y, const int r, const FFT_REAL *sums)
{
    if (r == 3)
        sum_3(y, y + 1, y + 2);
    else if (r == 5)
        sum_5(y, y + 1, y + 2, y + 3, y + 4);
    else
        sum_odd(y, r, sums);
}

/* The elements k of all parts' transforms. */
INLINE void elements_of_parts(const odd_plan *o, const int r, const cell *c, int64_t k, cell *y)
{
    const FFT_REAL half = (FFT_REAL)0.5;
    y[0] = k ? c[k] : (cell){c[0].r, all(0)};
#pragma GCC unroll 16
    for (int p = 1; p <= r / 2; p++) {
        const cell z = c[p * o->m + k], v = c[p * o->m + (k ? o->m - k : 0)];
        y[2 * p - 1] = (cell){half * (z.r + v.r), half * (z.i - v.i)};
        y[2 * p] = (cell){half * (z.i + v.i), half * (v.r - z.r)};
    }
}

INLINE void part_odd(const odd_plan *o, const int r, cell *c)
{
    cell y[13];
    elements_of_parts(o, r, c, 0, y);
    sum_parts(y, r, o->sums);
    for (int b = 0; b <= r / 2; b++)
        c[b * o->m] = y[b];
    c[0].i = all(0);
    for (int64_t k = 1; k <= o->m / 2; k++) {
        elements_of_parts(o, r, c, k, y);
#pragma GCC unroll 16
        for (int b = 1; b < r; b++)
            y[b] = turned(o, b, k, y[b]);
        sum_parts(y, r, o->sums);
#pragma GCC unroll 16
        for (int b = 0; b <= r / 2; b++)
            c[b * o->m + k] = y[b];
#pragma GCC unroll 16
        for (int b = r / 2 + 1; b < r; b++)
            c[(r - b - 1) * o->m + o->m - k] = (cell){y[b].r, -y[b].i};
    }
}

/* With exchanged parts, of which a forward sum is an inverse one. */
/* Elements k of the results' cells, with exchanged parts. */
INLINE void elements_of_results(const odd_plan *o, const int r, const cell *c, int64_t k,
                                FFT_REAL sign, cell *y)
{
#pragma GCC unroll 16
    for (int b = 0; b <= r / 2; b++)
        y[b] = (cell){sign * c[b * o->m + k].i, c[b * o->m + k].r};
#pragma GCC unroll 16
    for (int b = r / 2 + 1; b < r; b++) {
        const cell x = c[k ? (r - b - 1) * o->m + o->m - k : (r - b) * o->m];
        y[b] = (cell){-sign * x.i, x.r};
    }
}

INLINE void join_odd(const odd_plan *o, const int r, cell *c, FFT_REAL sign)
{
    cell y[13];
    elements_of_results(o, r, c, 0, sign, y);
    y[0].r = all(0);
    sum_parts(y, r, o->sums);
    c[0] = y[0];
    for (int p = 1; p <= r / 2; p++)
        c[p * o->m] = (cell){y[2 * p - 1].r + y[2 * p].i, y[2 * p - 1].i - y[2 * p].r};
    for (int64_t k = 1; k <= o->m / 2; k++) {
        elements_of_results(o, r, c, k, sign, y);
        sum_parts(y, r, o->sums);
#pragma GCC unroll 16
        for (int b = 1; b < r; b++)
            y[b] = turned(o, b, k, y[b]);
        c[k] = y[0];
        c[o->m - k] = (cell){-y[0].r, y[0].i};
#pragma GCC unroll 16
        for (int p = 1; p <= r / 2; p++) {
            const cell e = y[2 * p - 1], i = y[2 * p];
            c[p * o->m + k] = (cell){e.r + i.i, e.i - i.r};
            c[p * o->m + o->m - k] = (cell){-e.r + i.i, e.i + i.r};
        }
    }
}

/* ---- the same of a line's two arrays ---- */

/* Elements k on of the part or result at p*m, and the elements m - k down beside them. */
static pairs odd_pairs(const odd_plan *o, FFT_REAL *re, FFT_REAL *im, int p, int64_t k)
{
    const int64_t left = o->m / 2 + 1 - k, n = left < LANES ? left : LANES;
    return (pairs){re + p * o->m, im + p * o->m, k, o->m - k - (LANES - 1), (size_t)n * PART};
}

INLINE cell turned_line(const odd_plan *o, int b, int64_t k, cell x)
{
    const int64_t at = (b - 1) * (o->m / 2 + 1) + k;
    return times(x, load_vec(o->re + at), load_vec(o->im + at));
}

INLINE void part_odd_vector(const odd_plan *o, const int r, FFT_REAL *re, FFT_REAL *im, int64_t k)
{
    const FFT_REAL half = (FFT_REAL)0.5;
    cell y[13], z, v;
    for (int p = 0; p <= r / 2; p++) {
        const pairs at = odd_pairs(o, re, im, p, k);
        load_pairs(&at, &z, &v);
        if (p == 0) {
            y[0] = z;
            continue;
        }
        y[2 * p - 1] = (cell){half * (z.r + v.r), half * (z.i - v.i)};
        y[2 * p] = (cell){half * (z.i + v.i), half * (v.r - z.r)};
    }
    for (int b = 1; b < r; b++)
        y[b] = turned_line(o, b, k, y[b]);
    sum_parts(y, r, o->sums);
    for (int b = 0; b <= r / 2; b++) {
        const pairs at = odd_pairs(o, re, im, b, k);
        store_pairs(&at, y[b], (cell){y[r - b - 1].r, -y[r - b - 1].i});
    }
}

INLINE void join_odd_vector(const odd_plan *o, const int r, FFT_REAL *re, FFT_REAL *im, int64_t k,
                            FFT_REAL sign)
{
    cell y[13], x, v;
    for (int b = 0; b <= r / 2; b++) {
        const pairs at = odd_pairs(o, re, im, b, k);
        load_pairs(&at, &x, &v);
        if (b < r / 2)
            y[r - b - 1] = (cell){-sign * v.i, v.r};
        y[b] = (cell){sign * x.i, x.r};
    }
    sum_parts(y, r, o->sums);
    for (int b = 1; b < r; b++)
        y[b] = turned_line(o, b, k, y[b]);
    for (int p = 0; p <= r / 2; p++) {
        const pairs at = odd_pairs(o, re, im, p, k);
        const cell e = y[p ? 2 * p - 1 : 0], i = y[2 * p];
        if (p == 0)
            store_pairs(&at, e, (cell){-e.r, e.i});
        else
            store_pairs(&at, (cell){e.r + i.i, e.i - i.r}, (cell){-e.r + i.i, e.i + i.r});
    }
}

/* The cells of one vector with elements `at` apart, of a line. */
static void gather_first(const FFT_REAL *re, const FFT_REAL *im, int64_t at, int n, cell *c)
{
    for (int b = 0; b < n; b++)
        c[b] = (cell){all(re[b * at]), all(im[b * at])};
}
static void scatter_first(const cell *c, int64_t at, int n, FFT_REAL *re, FFT_REAL *im)
{
    for (int b = 0; b < n; b++) {
        re[b * at] = c[b].r[0];
        im[b * at] = c[b].i[0];
    }
}

/* Elements 0, which are a plan of their own with m = 1. */
INLINE void part_odd_line_of(const odd_plan *o, const int r, FFT_REAL *re, FFT_REAL *im)
{
    cell c[7];
    const odd_plan first = {1, r, r / 2, o->re, o->im, o->sums};
    gather_first(re, im, o->m, r / 2 + 1, c);
    part_odd(&first, r, c);
    scatter_first(c, o->m, r / 2 + 1, re, im);
    for (int64_t k = 1; k <= o->m / 2; k += LANES)
        part_odd_vector(o, r, re, im, k);
}
INLINE void join_odd_line_of(const odd_plan *o, const int r, FFT_REAL *re, FFT_REAL *im,
                             FFT_REAL sign)
{
    cell c[7];
    const odd_plan first = {1, r, r / 2, o->re, o->im, o->sums};
    gather_first(re, im, o->m, r / 2 + 1, c);
    join_odd(&first, r, c, sign);
    scatter_first(c, o->m, r / 2 + 1, re, im);
    for (int64_t k = 1; k <= o->m / 2; k += LANES)
        join_odd_vector(o, r, re, im, k, sign);
}

/* ---- by radix, so that sums are unrolled ---- */
#define ODD_RADICES(call) \
    switch (o.r) {        \
    case 3:               \
        call(3);          \
        break;            \
    case 5:               \
        call(5);          \
        break;            \
    case 7:               \
        call(7);          \
        break;            \
    case 11:              \
        call(11);         \
        break;            \
    default:              \
        call(13);         \
    }

static void part_odd_cells(const cpu_fft_plan *plan, void *cells)
{
    const odd_plan o = odd_plan_of(plan);
#define CALL(r) part_odd(&o, r, cells)
    ODD_RADICES(CALL)
#undef CALL
}

static void join_odd_cells(const cpu_fft_plan *plan, void *cells, double sign)
{
    const odd_plan o = odd_plan_of(plan);
#define CALL(r) join_odd(&o, r, cells, (FFT_REAL)sign)
    ODD_RADICES(CALL)
#undef CALL
}

static void part_odd_line(const cpu_fft_plan *plan, void *re, void *im)
{
    const odd_plan o = odd_plan_of(plan);
#define CALL(r) part_odd_line_of(&o, r, re, im)
    ODD_RADICES(CALL)
#undef CALL
}

static void join_odd_line(const cpu_fft_plan *plan, void *re, void *im, double sign)
{
    const odd_plan o = odd_plan_of(plan);
#define CALL(r) join_odd_line_of(&o, r, re, im, (FFT_REAL)sign)
    ODD_RADICES(CALL)
#undef CALL
}
#undef ODD_RADICES
