/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Real transforms of an even length n by a complex one of half of it, h: z[j] = x[2j] + i*x[2j+1].
 * With w = exp(-2 pi i/n), and ' for the conjugate,
 *     X[k] = (Z[k] + Z'[h-k])/2 - i*w^k*(Z[k] - Z'[h-k])/2
 * and, but for a factor of n, back
 *     Z[k] = (X[k] + X'[h-k]) + i*w^-k*(X[k] - X'[h-k])
 * (Cooley, Lewis and Welch, J. Sound Vib. 12, 1970). Elements k and h-k are worked on together. */

/* a = Z[k] and b = Z[h-k] become X[k] and X[h-k]. */
INLINE void part_pair(cell *a, cell *b, vec wr, vec wi)
{
    const FFT_REAL half = (FFT_REAL)0.5;
    cell e = {half * (a->r + b->r), half * (a->i - b->i)};
    cell o = {half * (a->i + b->i), half * (b->r - a->r)};
    o = times(o, wr, wi);
    *a = plus(e, o);
    *b = (cell){e.r - o.r, o.i - e.i};
}

/* a = X[k] and b = X[h-k], with imaginary parts times sign, become Z[k] and Z[h-k], parts
 * exchanged. */
INLINE void join_pair(cell *a, cell *b, vec wr, vec wi, FFT_REAL sign)
{
    cell s = {a->r + b->r, sign * a->i - sign * b->i}, d = {a->r - b->r, sign * a->i + sign * b->i};
    cell t = times(d, wr, -wi);
    *a = (cell){s.i + t.r, s.r - t.i};
    *b = (cell){t.r - s.i, s.r + t.i};
}

static const FFT_REAL *real_table(const cpu_fft_plan *plan)
{
    return (const FFT_REAL *)plan->table + plan->real_table;
}

/* n/2 cells become n/2 + 1. */
static void part_cells(const cpu_fft_plan *plan, void *cells)
{
    const int64_t h = plan->n / 2;
    const FFT_REAL *re = real_table(plan), *im = re + plan->n / 4 + 1;
    cell *c = cells, first = c[0];
    c[0] = (cell){first.r + first.i, all(0)};
    c[h] = (cell){first.r - first.i, all(0)};
    for (int64_t k = 1; k < h - k; k++)
        part_pair(&c[k], &c[h - k], all(re[k]), all(im[k]));
    if (h % 2 == 0)
        c[h / 2].i = -c[h / 2].i;
}

/* n/2 + 1 cells become n/2, parts exchanged. */
static void join_cells(const cpu_fft_plan *plan, void *cells, double sign)
{
    const int64_t h = plan->n / 2;
    const FFT_REAL *re = real_table(plan), *im = re + plan->n / 4 + 1, s = (FFT_REAL)sign;
    cell *c = cells;
    c[0] = (cell){c[0].r - c[h].r, c[0].r + c[h].r};
    for (int64_t k = 1; k < h - k; k++)
        join_pair(&c[k], &c[h - k], all(re[k]), all(im[k]), s);
    if (h % 2 == 0) {
        cell m = c[h / 2];
        c[h / 2] = (cell){(FFT_REAL)-2 * s * m.i, (FFT_REAL)2 * m.r};
    }
}

/* Of an odd number n: n/2 + 1 cells become n, parts exchanged. */
static void mirror_cells(void *cells, int64_t n, double sign)
{
    const FFT_REAL s = (FFT_REAL)sign;
    cell *c = cells;
    c[0] = (cell){all(0), c[0].r};
    for (int64_t k = 1; k <= n / 2; k++) {
        const cell x = {s * c[k].i, c[k].r};
        c[k] = x;
        c[n - k] = (cell){-x.r, x.i};
    }
}

/* ---- the same of a line's two arrays; pairs begin to end, from 1 ---- */
INLINE vec backwards(vec v)
{
    return SHUFFLE(v, v, BACK);
}

/* Up to LANES pairs from k on; the last ones of a short vector are read and written apart. */
typedef struct {
    FFT_REAL *re, *im;
    int64_t k, m; /* elements k.. and m..., of which the latter run backwards */
    size_t nbytes;
} pairs;

INLINE void load_pairs(const pairs *p, cell *a, cell *b)
{
    if (p->nbytes == FFT_BYTES) {
        *a = (cell){load_vec(p->re + p->k), load_vec(p->im + p->k)};
        *b = (cell){load_vec(p->re + p->m), load_vec(p->im + p->m)};
    } else {
        const size_t skip = LANES - p->nbytes / PART;
        *a = *b = (cell){all(0), all(0)};
        memcpy(&a->r, p->re + p->k, p->nbytes);
        memcpy(&a->i, p->im + p->k, p->nbytes);
        memcpy((FFT_REAL *)&b->r + skip, p->re + p->m + skip, p->nbytes);
        memcpy((FFT_REAL *)&b->i + skip, p->im + p->m + skip, p->nbytes);
    }
    *b = (cell){backwards(b->r), backwards(b->i)};
}

INLINE void store_pairs(const pairs *p, cell a, cell b)
{
    b = (cell){backwards(b.r), backwards(b.i)};
    if (p->nbytes == FFT_BYTES) {
        store_vec(p->re + p->k, a.r);
        store_vec(p->im + p->k, a.i);
        store_vec(p->re + p->m, b.r);
        store_vec(p->im + p->m, b.i);
    } else {
        const size_t skip = LANES - p->nbytes / PART;
        memcpy(p->re + p->k, &a.r, p->nbytes);
        memcpy(p->im + p->k, &a.i, p->nbytes);
        memcpy(p->re + p->m + skip, (FFT_REAL *)&b.r + skip, p->nbytes);
        memcpy(p->im + p->m + skip, (FFT_REAL *)&b.i + skip, p->nbytes);
    }
}

static pairs pairs_at(const cpu_fft_plan *plan, void *re, void *im, int64_t k, int64_t end)
{
    const int64_t n = end - k < LANES ? end - k : LANES;
    return (pairs){re, im, k, plan->n / 2 - k - (LANES - 1), (size_t)n * PART};
}

/* Pairs begin to end - 1 of 0 to (h - 1)/2; elements without a partner belong to pair 0. */
static void part_line(const cpu_fft_plan *plan, void *re, void *im, int64_t begin, int64_t end)
{
    const int64_t h = plan->n / 2, first = begin > 0 ? begin : 1;
    const FFT_REAL *wr = real_table(plan), *wi = wr + plan->n / 4 + 1;
    FFT_REAL *r = re, *i = im;
    for (int64_t k = first; k < end; k += LANES) {
        const pairs p = pairs_at(plan, re, im, k, end);
        cell a, b;
        load_pairs(&p, &a, &b);
        part_pair(&a, &b, load_vec(wr + k), load_vec(wi + k));
        store_pairs(&p, a, b);
    }
    if (begin > 0 || end == 0)
        return;
    r[h] = r[0] - i[0];
    r[0] = r[0] + i[0];
    i[0] = i[h] = 0;
    if (h % 2 == 0)
        i[h / 2] = -i[h / 2];
}

static void join_line(const cpu_fft_plan *plan, void *re, void *im, int64_t begin, int64_t end,
                      double sign)
{
    const int64_t h = plan->n / 2, first = begin > 0 ? begin : 1;
    const FFT_REAL *wr = real_table(plan), *wi = wr + plan->n / 4 + 1, s = (FFT_REAL)sign;
    FFT_REAL *r = re, *i = im;
    for (int64_t k = first; k < end; k += LANES) {
        const pairs p = pairs_at(plan, re, im, k, end);
        cell a, b;
        load_pairs(&p, &a, &b);
        join_pair(&a, &b, load_vec(wr + k), load_vec(wi + k), s);
        store_pairs(&p, a, b);
    }
    if (begin > 0 || end == 0)
        return;
    FFT_REAL x0 = r[0], xh = r[h];
    r[0] = x0 - xh;
    i[0] = x0 + xh;
    if (h % 2 == 0) {
        FFT_REAL x = r[h / 2], y = i[h / 2];
        r[h / 2] = (FFT_REAL)-2 * s * y;
        i[h / 2] = (FFT_REAL)2 * x;
    }
}
