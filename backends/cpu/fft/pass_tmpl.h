/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The passes of a leaf: Stockham's algorithm, which sorts as it goes (Cochran et al., What is the
 * fast Fourier transform?, Proc. IEEE 55, 1967).
 *
 * A pass of radix r finds l1 blocks of r*inner elements, and leaves r*l1 blocks of `inner`. Element
 * i of part b of block k is in[(i + inner*(b + r*k))*is]; the sum c of the r parts goes, times the
 * twiddle exp(-2 pi i i*c/(r*inner)), to out[(i + inner*(k + l1*c))*os]. Twiddles are stored from
 * i = 1 on, r - 1 pairs each. */

typedef struct {
    const cell *in;
    cell *out;
    ptrdiff_t is, os;
    const FFT_REAL *twiddle, *sums; /* sums: cosines and sines of odd radices */
    ptrdiff_t l1, inner;
} pass;

INLINE void sum_2(cell *a, cell *b)
{
    cell s = plus(*a, *b);
    *b = minus(*a, *b);
    *a = s;
}

INLINE void sum_3(cell *a, cell *b, cell *c)
{
    const FFT_REAL sine = (FFT_REAL)0.86602540378443864676;
    cell s = plus(*b, *c), d = scaled(sine, minus(*b, *c));
    cell m = minus(*a, scaled((FFT_REAL)0.5, s));
    *a = plus(*a, s);
    *b = minus_i(m, d);
    *c = plus_i(m, d);
}

INLINE void sum_4(cell *a, cell *b, cell *c, cell *d)
{
    cell s = plus(*a, *c), t = minus(*a, *c), u = plus(*b, *d), v = minus(*b, *d);
    *a = plus(s, u);
    *b = minus_i(t, v);
    *c = minus(s, u);
    *d = plus_i(t, v);
}

INLINE void sum_5(cell *a, cell *b, cell *c, cell *d, cell *e)
{
    const FFT_REAL c1 = (FFT_REAL)0.30901699437494742410, c2 = (FFT_REAL)-0.80901699437494742410,
                   s1 = (FFT_REAL)0.95105651629515357212, s2 = (FFT_REAL)0.58778525229247312917;
    cell s = plus(*b, *e), t = minus(*b, *e), u = plus(*c, *d), v = minus(*c, *d);
    cell m = plus(*a, plus(scaled(c1, s), scaled(c2, u)));
    cell n = plus(*a, plus(scaled(c2, s), scaled(c1, u)));
    cell p = plus(scaled(s1, t), scaled(s2, v)), q = minus(scaled(s2, t), scaled(s1, v));
    *a = plus(*a, plus(s, u));
    *b = minus_i(m, p);
    *c = minus_i(n, q);
    *d = plus_i(n, q);
    *e = plus_i(m, p);
}

/* x times exp(-i pi/4) and exp(-3i pi/4). */
INLINE cell eighth(cell x)
{
    return scaled((FFT_REAL)0.70710678118654752440, (cell){x.r + x.i, x.i - x.r});
}

INLINE cell three_eighths(cell x)
{
    return scaled((FFT_REAL)0.70710678118654752440, (cell){x.i - x.r, -(x.r + x.i)});
}

INLINE void sum_8(cell *a, cell *b, cell *c, cell *d, cell *e, cell *f, cell *g, cell *h)
{
    sum_4(a, c, e, g);
    sum_4(b, d, f, h);
    cell p = eighth(*d), q = *f, r = three_eighths(*h), e1 = *c, e2 = *e, e3 = *g;
    cell first = *a, odd = *b;
    *a = plus(first, odd);
    *b = plus(e1, p);
    *c = minus_i(e2, q);
    *d = plus(e3, r);
    *e = minus(first, odd);
    *f = minus(e1, p);
    *g = plus_i(e2, q);
    *h = minus(e3, r);
}

/* The sums of an odd number of parts p, in pairs of those that share a cosine and a sine; table has
 * cos(2 pi j/p) and then sin(2 pi j/p) for j from 1 to p/2. */
INLINE void sum_odd(cell *x, const int p, const FFT_REAL *table)
{
    const int half = p / 2;
    cell s[CPU_FFT_DIRECT / 2 + 1], d[CPU_FFT_DIRECT / 2 + 1], first = x[0];
    for (int b = 1; b <= half; b++) {
        s[b] = plus(x[b], x[p - b]);
        d[b] = minus(x[b], x[p - b]);
        x[0] = plus(x[0], s[b]);
    }
    for (int c = 1; c <= half; c++) {
        cell m = {all(0), all(0)}, n = m;
        for (int b = 1, j = c; b <= half; b++) {
            const FFT_REAL cosine = table[(j <= half ? j : p - j) - 1];
            const FFT_REAL sine = j <= half ? table[half + j - 1] : -table[half + p - j - 1];
            m = plus(m, scaled(cosine, s[b]));
            n = plus(n, scaled(sine, d[b]));
            j = j + c < p ? j + c : j + c - p;
        }
        m = plus(first, m);
        x[c] = minus_i(m, n);
        x[p - c] = plus_i(m, n);
    }
}

/* ---- one block of a pass each; w NULL: twiddles are 1 ---- */
INLINE void put(cell *to, cell x, const FFT_REAL *w)
{
    *to = w ? times_at(x, w) : x;
}

INLINE void block_2(const pass *p, ptrdiff_t i, ptrdiff_t k, const FFT_REAL *w)
{
    const ptrdiff_t s = p->inner * p->is, t = p->inner * p->l1 * p->os;
    const cell *x = p->in + (i + p->inner * 2 * k) * p->is;
    cell *y = p->out + (i + p->inner * k) * p->os;
    cell a = x[0], b = x[s];
    sum_2(&a, &b);
    y[0] = a;
    put(y + t, b, w);
}

INLINE void block_3(const pass *p, ptrdiff_t i, ptrdiff_t k, const FFT_REAL *w)
{
    const ptrdiff_t s = p->inner * p->is, t = p->inner * p->l1 * p->os;
    const cell *x = p->in + (i + p->inner * 3 * k) * p->is;
    cell *y = p->out + (i + p->inner * k) * p->os;
    cell a = x[0], b = x[s], c = x[2 * s];
    sum_3(&a, &b, &c);
    y[0] = a;
    put(y + t, b, w);
    put(y + 2 * t, c, w ? w + 2 : w);
}

INLINE void block_4(const pass *p, ptrdiff_t i, ptrdiff_t k, const FFT_REAL *w)
{
    const ptrdiff_t s = p->inner * p->is, t = p->inner * p->l1 * p->os;
    const cell *x = p->in + (i + p->inner * 4 * k) * p->is;
    cell *y = p->out + (i + p->inner * k) * p->os;
    cell a = x[0], b = x[s], c = x[2 * s], d = x[3 * s];
    sum_4(&a, &b, &c, &d);
    y[0] = a;
    put(y + t, b, w);
    put(y + 2 * t, c, w ? w + 2 : w);
    put(y + 3 * t, d, w ? w + 4 : w);
}

INLINE void block_5(const pass *p, ptrdiff_t i, ptrdiff_t k, const FFT_REAL *w)
{
    const ptrdiff_t s = p->inner * p->is, t = p->inner * p->l1 * p->os;
    const cell *x = p->in + (i + p->inner * 5 * k) * p->is;
    cell *y = p->out + (i + p->inner * k) * p->os;
    cell a = x[0], b = x[s], c = x[2 * s], d = x[3 * s], e = x[4 * s];
    sum_5(&a, &b, &c, &d, &e);
    y[0] = a;
    put(y + t, b, w);
    put(y + 2 * t, c, w ? w + 2 : w);
    put(y + 3 * t, d, w ? w + 4 : w);
    put(y + 4 * t, e, w ? w + 6 : w);
}

INLINE void block_8(const pass *p, ptrdiff_t i, ptrdiff_t k, const FFT_REAL *w)
{
    const ptrdiff_t s = p->inner * p->is, t = p->inner * p->l1 * p->os;
    const cell *x = p->in + (i + p->inner * 8 * k) * p->is;
    cell *y = p->out + (i + p->inner * k) * p->os;
    cell a = x[0], b = x[s], c = x[2 * s], d = x[3 * s];
    cell e = x[4 * s], f = x[5 * s], g = x[6 * s], h = x[7 * s];
    sum_8(&a, &b, &c, &d, &e, &f, &g, &h);
    y[0] = a;
    put(y + t, b, w);
    put(y + 2 * t, c, w ? w + 2 : w);
    put(y + 3 * t, d, w ? w + 4 : w);
    put(y + 4 * t, e, w ? w + 6 : w);
    put(y + 5 * t, f, w ? w + 8 : w);
    put(y + 6 * t, g, w ? w + 10 : w);
    put(y + 7 * t, h, w ? w + 12 : w);
}

INLINE void block_odd(const pass *p, const int r, ptrdiff_t i, ptrdiff_t k, const FFT_REAL *w)
{
    const ptrdiff_t s = p->inner * p->is, t = p->inner * p->l1 * p->os;
    const cell *in = p->in + (i + p->inner * r * k) * p->is;
    cell x[CPU_FFT_DIRECT], *y = p->out + (i + p->inner * k) * p->os;
    for (int b = 0; b < r; b++)
        x[b] = in[b * s];
    sum_odd(x, r, p->sums);
    y[0] = x[0];
    for (int c = 1; c < r; c++)
        put(y + c * t, x[c], w ? w + 2 * (c - 1) : w);
}

/* ---- passes ---- */
typedef void block_fn(const pass *p, ptrdiff_t i, ptrdiff_t k, const FFT_REAL *w);

INLINE void each_block(const pass *p, int radix, block_fn *one)
{
    const FFT_REAL *w = p->twiddle;
    for (ptrdiff_t k = 0; k < p->l1; k++)
        one(p, 0, k, NULL);
    for (ptrdiff_t i = 1; i < p->inner; i++, w += 2 * (radix - 1))
        for (ptrdiff_t k = 0; k < p->l1; k++)
            one(p, i, k, w);
}

INLINE void each_odd_block(const pass *p, const int radix)
{
    const FFT_REAL *w = p->twiddle;
    for (ptrdiff_t k = 0; k < p->l1; k++)
        block_odd(p, radix, 0, k, NULL);
    for (ptrdiff_t i = 1; i < p->inner; i++, w += 2 * (radix - 1))
        for (ptrdiff_t k = 0; k < p->l1; k++)
            block_odd(p, radix, i, k, w);
}

static void pass_2(const pass *p)
{
    each_block(p, 2, block_2);
}

static void pass_3(const pass *p)
{
    each_block(p, 3, block_3);
}

static void pass_4(const pass *p)
{
    each_block(p, 4, block_4);
}

static void pass_5(const pass *p)
{
    each_block(p, 5, block_5);
}

static void pass_7(const pass *p)
{
    each_odd_block(p, 7);
}

static void pass_8(const pass *p)
{
    each_block(p, 8, block_8);
}

static void pass_11(const pass *p)
{
    each_odd_block(p, 11);
}

static void pass_13(const pass *p)
{
    each_odd_block(p, 13);
}

static void pass_any(const pass *p, int radix)
{
    each_odd_block(p, radix);
}

static void run_pass(const pass *p, int radix)
{
    static void (*const passes[14])(const pass *) = {
        [2] = pass_2, [3] = pass_3, [4] = pass_4,   [5] = pass_5,
        [7] = pass_7, [8] = pass_8, [11] = pass_11, [13] = pass_13};
    if (radix < 14)
        passes[radix](p);
    else
        pass_any(p, radix);
}
