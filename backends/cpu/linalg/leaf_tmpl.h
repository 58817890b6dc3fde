/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Small problems of one dtype, column by column. After scalar_tmpl.h; undefines its macros. */

/* By blocks, so that of both sides whole cache lines are used. */
static void LIN_FN(move)(int64_t m, int64_t n, const void *src_, int64_t sr, int64_t sc, void *dst_,
                         int64_t dr, int64_t dc)
{
    const LIN_T *src = src_;
    LIN_T *dst = dst_;
    for (int64_t i0 = 0; i0 < m; i0 += 16)
        for (int64_t j = 0; j < n; j++) {
            const int64_t end = i0 + 16 < m ? i0 + 16 : m;
            for (int64_t i = i0; i < end; i++)
                dst[i * dr + j * dc] = src[i * sr + j * sc];
        }
}

static void LIN_FN(one)(void *element)
{
    *(LIN_T *)element = LIN_FN(make)(1, 0);
}

static int LIN_FN(is_zero)(const void *element)
{
    return *(const LIN_T *)element == 0;
}

static int64_t LIN_FN(cholesky)(int64_t n, void *a_, int64_t lda)
{
    LIN_T *a = a_;
    for (int64_t j = 0; j < n; j++) {
        LIN_T *column = a + j * lda;
        const LIN_R pivot = LIN_FN(re)(column[j]);
        if (pivot != pivot)
            return -1;
        if (!(pivot > 0))
            return j + 1;
        const LIN_R root = LIN_RFN(sqrt)(pivot);
        column[j] = LIN_FN(make)(root, 0);
        for (int64_t i = j + 1; i < n; i++)
            column[i] = LIN_FN(make)(LIN_FN(re)(column[i]) / root, LIN_FN(im)(column[i]) / root);
        for (int64_t k = j + 1; k < n; k++)
            LIN_FN(subtract)(n - k, LIN_FN(conj)(column[k]), column + k, a + k * lda + k);
    }
    return 0;
}

static void LIN_FN(swap_rows)(int64_t n, LIN_T *a, int64_t lda, int64_t i, int64_t p)
{
    for (int64_t j = 0; j < n; j++) {
        const LIN_T t = a[i + j * lda];
        a[i + j * lda] = a[p + j * lda];
        a[p + j * lda] = t;
    }
}

static void LIN_FN(exchange)(int64_t n, void *a_, int64_t lda, int64_t first, int64_t last,
                             const int64_t *pivots)
{
    LIN_T *a = a_;
    for (int64_t j = 0; j < n; j++, a += lda)
        for (int64_t i = first; i < last; i++) {
            const LIN_T t = a[i];
            a[i] = a[pivots[i]];
            a[pivots[i]] = t;
        }
}

/* The column below a pivot over it. */
static void LIN_FN(divide)(int64_t n, LIN_T pivot, LIN_T *x)
{
#if LIN_COMPLEX
    if (LIN_FN(size)(pivot) > LIN_TINY / LIN_EPS && LIN_FN(size)(pivot) < LIN_EPS / LIN_TINY) {
        LIN_FN(scale)(n, 1 / pivot, x);
        return;
    }
#endif
    for (int64_t i = 0; i < n; i++)
        x[i] /= pivot;
}

/* Left-looking by columns within the panel would read it again and again; right-looking keeps what
 * is updated in the cache, since the panel is narrow. */
static void LIN_FN(lu)(int64_t m, int64_t n, void *a_, int64_t lda, int64_t *pivots)
{
    LIN_T *a = a_;
    for (int64_t j = 0; j < n && j < m; j++) {
        LIN_T *column = a + j * lda;
        LIN_R most = LIN_FN(size)(column[j]);
        int64_t p = j;
        for (int64_t i = j + 1; i < m; i++)
            if (LIN_FN(size)(column[i]) > most) {
                most = LIN_FN(size)(column[i]);
                p = i;
            }
        pivots[j] = p;
        if (p != j)
            LIN_FN(swap_rows)(n, a, lda, j, p);
        if (most != 0)
            LIN_FN(divide)(m - j - 1, column[j], column + j + 1);
        for (int64_t k = j + 1; k < n; k++)
            LIN_FN(subtract)(m - j - 1, a[j + k * lda], column + j + 1, a + k * lda + j + 1);
    }
}

/* Rows of b side by side: whole rows are subtracted. Columns: each is solved in turn. */
static void LIN_FN(triangular)(int64_t n, int64_t k, const lin_matrix *from, int upper, int unit,
                               void *b_, int64_t br, int64_t bc)
{
    LIN_T a[LIN_SMALL * LIN_SMALL], *b = b_;
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = upper ? 0 : j; i < (upper ? j + 1 : n); i++) {
            const LIN_T e =
                ((const LIN_T *)(const void *)from->data)[i * from->row + j * from->column];
            a[i + j * n] = from->conj ? LIN_FN(conj)(e) : e;
        }
    const int64_t blocks = bc == 1 && br != 1 ? 1 : k, width = blocks == 1 ? k : 1;
    for (int64_t block = 0; block < blocks; block++, b += bc)
        for (int64_t step = 0; step < n; step++) {
            const int64_t p = upper ? n - 1 - step : step;
            const int64_t begin = upper ? 0 : p + 1, end = upper ? p : n;
            for (int64_t c = 0; c < width && !unit; c++)
                b[p * br + c * bc] /= a[p + p * n];
            if (blocks == 1 && k > 1)
                for (int64_t i = begin; i < end; i++)
                    LIN_FN(subtract)(k, a[i + p * n], b + p * br, b + i * br);
            else if (br == 1)
                LIN_FN(subtract)(end - begin, b[p], a + begin + p * n, b + begin);
            else
                for (int64_t i = begin; i < end; i++)
                    b[i * br] -= LIN_FN(times)(a[i + p * n], b[p * br]);
        }
}

/* A reflector 1 - tau v v^H, v[0] = 1, that takes x (n) to beta times the first unit vector, beta
 * real: x[0] becomes beta, the others v's. Returns tau; 0: x is that already. After LAPACK's xLARFG
 * (Golub and Van Loan, Matrix Computations, 5.1), whose signs these are. */
static LIN_T LIN_FN(reflector)(int64_t n, LIN_T *x)
{
    const LIN_R rest = LIN_FN(norm)(n - 1, x + 1), re = LIN_FN(re)(x[0]), im = LIN_FN(im)(x[0]);
    if (rest == 0 && im == 0)
        return LIN_FN(make)(0, 0);
    const LIN_R size = LIN_RFN(hypot)(LIN_COMPLEX ? LIN_RFN(hypot)(re, im) : re, rest);
    const LIN_R beta = re >= 0 ? -size : size;
    const LIN_T head = LIN_FN(make)(re - beta, im);
    const LIN_T tau = LIN_FN(make)((beta - re) / beta, -im / beta);
    LIN_FN(divide)(n - 1, head, x + 1);
    x[0] = LIN_FN(make)(beta, 0);
    return tau;
}

/* One column's reflector is applied to the columns after it. The t of the product of all, by
 * Schreiber and Van Loan (SIAM J. Sci. Stat. Comput. 10, 1989): t's column j is
 * -tau_j t (v^H v_j), above tau_j. */
static void LIN_FN(reflect)(int64_t m, int64_t n, void *a_, int64_t lda, void *t_)
{
    LIN_T *a = a_, *t = t_;
    for (int64_t j = 0; j < n; j++) {
        LIN_T *v = a + j * lda + j;
        const LIN_T tau = LIN_FN(reflector)(m - j, v), beta = v[0];
        const LIN_T back = LIN_FN(conj)(tau);
        v[0] = LIN_FN(make)(1, 0);
        for (int64_t k = j + 1; k < n; k++) {
            LIN_T *c = a + k * lda + j;
            LIN_FN(subtract)(m - j, LIN_FN(times)(back, LIN_FN(inner)(m - j, v, c)), v, c);
        }
        for (int64_t i = 0; i < j; i++) {
            const LIN_T *u = a + i * lda + j;
            t[i + j * LIN_PANEL] = LIN_FN(times)(tau, LIN_FN(inner)(m - j, u, v));
        }
        for (int64_t i = 0; i < j; i++) { /* times -t, in place from above */
            LIN_T sum = LIN_FN(make)(0, 0);
            for (int64_t k = i; k < j; k++)
                sum -= LIN_FN(times)(t[i + k * LIN_PANEL], t[k + j * LIN_PANEL]);
            t[i + j * LIN_PANEL] = sum;
        }
        t[j + j * LIN_PANEL] = tau;
        for (int64_t i = j + 1; i < n; i++)
            t[i + j * LIN_PANEL] = LIN_FN(make)(0, 0);
        v[0] = beta;
    }
}

/* Real parts of w lanes come before their imaginary ones, step after step. */
static void LIN_FN(negate)(int64_t n, int64_t w, void *panel, int all, int imaginary)
{
    LIN_R *p = panel;
#if LIN_COMPLEX
    const LIN_R re = all ? -1 : 1, im = all != imaginary ? -1 : 1;
    for (int64_t i = 0; i < n; i += w, p += 2 * w)
        for (int64_t j = 0; j < w; j++) {
            p[j] *= re;
            p[j + w] *= im;
        }
#else
    (void)w;
    (void)imaginary;
    for (int64_t i = 0; all && i < n; i++)
        p[i] = -p[i];
#endif
}
