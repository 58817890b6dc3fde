/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What brings a matrix of one dtype to tridiagonal or bidiagonal form, some columns at a time so
 * that threads can share the work. After scalar_tmpl.h. */

/* A Hermitian matrix by reflectors (Golub and Van Loan, Matrix Computations, 8.3.1), one pass over
 * its lower triangle a step: columns begin to end - 1 of the trailing matrix a (n, n) lose what the
 * last step left, v w^H + w v^H, and give their share y (n) of a u. v NULL: nothing is left. */
static void LIN_FN(hermitian)(int64_t n, int64_t begin, int64_t end, void *a_, int64_t lda,
                              const void *v_, const void *w_, const void *u_, void *y_)
{
    const LIN_T *v = v_, *w = w_, *u = u_;
    LIN_T *y = y_;
    for (int64_t c = begin; c < end; c++) {
        LIN_T *column = (LIN_T *)a_ + c * lda;
        const int64_t below = n - c - 1;
        if (v) {
            LIN_FN(subtract)(n - c, LIN_FN(conj)(w[c]), v + c, column + c);
            LIN_FN(subtract)(n - c, LIN_FN(conj)(v[c]), w + c, column + c);
        }
        if (!u)
            continue;
        const LIN_R diagonal = LIN_FN(re)(column[c]);
        y[c] += LIN_FN(scaled)(u[c], diagonal) + LIN_FN(inner)(below, column + c + 1, u + c + 1);
        LIN_FN(subtract)(below, -u[c], column + c + 1, y + c + 1);
    }
}

/* y, the sum of the shares, becomes w of that step: tau a u less its part along u. */
static void LIN_FN(hermitian_end)(int64_t n, const void *tau_, const void *u_, void *y_)
{
    const LIN_T tau = *(const LIN_T *)tau_, *u = u_;
    LIN_T *y = y_;
    LIN_FN(scale)(n, tau, y);
    LIN_FN(subtract)
    (n, LIN_FN(scaled)(LIN_FN(times)(tau, LIN_FN(inner)(n, y, u)), (LIN_R)0.5), u, y);
}

/* x becomes a reflector whose first element, one, is written; beta, real, and tau. */
static void LIN_FN(reflect_one)(int64_t n, void *x_, void *beta, void *tau)
{
    LIN_T *x = x_;
    *(LIN_T *)tau = LIN_FN(reflector)(n, x);
    *(LIN_R *)beta = LIN_FN(re)(x[0]);
    x[0] = LIN_FN(make)(1, 0);
}

/* t (n, n) of the reflectors in the columns of v (m, n), whose ones and zeros are there. */
static void LIN_FN(form_t)(int64_t m, int64_t n, const void *v_, int64_t ldv, const void *tau_,
                           void *t_)
{
    const LIN_T *v = v_, *tau = tau_;
    LIN_T *t = t_;
    memset(t, 0, (size_t)(n * LIN_PANEL) * sizeof *t);
    for (int64_t j = 0; j < n; j++) {
        for (int64_t i = 0; i < j; i++)
            t[i + j * LIN_PANEL] =
                LIN_FN(times)(tau[j], LIN_FN(inner)(m - j, v + i * ldv + j, v + j * ldv + j));
        for (int64_t i = 0; i < j; i++) { /* times -t, in place from above */
            LIN_T sum = LIN_FN(make)(0, 0);
            for (int64_t k = i; k < j; k++)
                sum -= LIN_FN(times)(t[i + k * LIN_PANEL], t[k + j * LIN_PANEL]);
            t[i + j * LIN_PANEL] = sum;
        }
        t[j + j * LIN_PANEL] = tau[j];
    }
}

/* A general matrix by reflectors from both sides (8.3.2 there: Golub and Kahan), two passes a step.
 * Columns begin to end - 1 of a (m, n) lose u z + x v^H of the last step, and give z = back u^H a
 * for the new u. u NULL: nothing is left. */
static void LIN_FN(bidiagonal_left)(int64_t m, int64_t begin, int64_t end, void *a_, int64_t lda,
                                    const void *u_, const void *z_, const void *x_, const void *v_,
                                    const void *tau, const void *new_u, void *new_z)
{
    const LIN_T *u = u_, *z = z_, *x = x_, *v = v_;
    for (int64_t c = begin; c < end; c++) {
        LIN_T *column = (LIN_T *)a_ + c * lda;
        if (u) {
            LIN_FN(subtract)(m, z[c], u, column);
            LIN_FN(subtract)(m, LIN_FN(conj)(v[c]), x, column);
        }
        if (new_u)
            ((LIN_T *)new_z)[c] =
                LIN_FN(times)(LIN_FN(conj)(*(const LIN_T *)tau), LIN_FN(inner)(m, new_u, column));
    }
}

/* Their share x (m) of a v. */
static void LIN_FN(bidiagonal_right)(int64_t m, int64_t begin, int64_t end, const void *a,
                                     int64_t lda, const void *v, void *x)
{
    for (int64_t c = begin; c < end; c++)
        LIN_FN(subtract)(m, -((const LIN_T *)v)[c], (const LIN_T *)a + c * lda, x);
}

/* x becomes tau (x - (z v) u): what the reflector from the right takes away behind that from the
 * left. */
static void LIN_FN(bidiagonal_end)(int64_t m, int64_t n, const void *tau_, const void *u,
                                   const void *z_, const void *v_, void *x_)
{
    const LIN_T *z = z_, *v = v_;
    LIN_T sum = LIN_FN(make)(0, 0), *x = x_;
    for (int64_t c = 0; c < n; c++)
        sum += LIN_FN(times)(z[c], v[c]);
    LIN_FN(subtract)(m, sum, u, x);
    LIN_FN(scale)(m, *(const LIN_T *)tau_, x);
}

/* y += x; the conjugate of a row less z, as a column. */
static void LIN_FN(add)(int64_t n, const void *x, void *y)
{
    for (int64_t i = 0; i < n; i++)
        ((LIN_T *)y)[i] += ((const LIN_T *)x)[i];
}

static void LIN_FN(row_of)(int64_t n, const void *a, int64_t lda, const void *z, void *row)
{
    for (int64_t c = 0; c < n; c++)
        ((LIN_T *)row)[c] =
            LIN_FN(conj)(((const LIN_T *)a)[c * lda] - (z ? ((const LIN_T *)z)[c] : 0));
}

static void LIN_FN(conjugate)(int64_t n, void *x)
{
    for (int64_t i = 0; LIN_COMPLEX && i < n; i++)
        ((LIN_T *)x)[i] = LIN_FN(conj)(((LIN_T *)x)[i]);
}

static void LIN_FN(real_part)(const void *x, void *re)
{
    *(LIN_R *)re = LIN_FN(re)(*(const LIN_T *)x);
}

/* The largest magnitude of a part in (m, n), or of the lower triangle; NaN if there is one. */
static double LIN_FN(largest)(int64_t m, int64_t n, const void *a_, int64_t lda, int lower)
{
    const int64_t parts = LIN_COMPLEX ? 2 : 1;
    LIN_BITS most = 0; /* magnitudes are in the order of their bits, and NaN's are above all */
    LIN_R largest;
    for (int64_t j = 0; j < n; j++) {
        const LIN_R *column = (const LIN_R *)((const LIN_T *)a_ + j * lda);
        for (int64_t i = lower ? j * parts : 0; i < m * parts; i++) {
            LIN_BITS bits;
            memcpy(&bits, column + i, sizeof bits);
            bits &= LIN_MAGNITUDE;
            most = bits > most ? bits : most;
        }
    }
    memcpy(&largest, &most, sizeof largest);
    return largest;
}

static void LIN_FN(scale_all)(int64_t m, int64_t n, void *a_, int64_t lda, double s)
{
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < m; i++) {
            LIN_T *e = (LIN_T *)a_ + i + j * lda;
            *e = LIN_FN(scaled)(*e, (LIN_R)s);
        }
}

/* Length one, and the component of the largest magnitude real and positive: the first of those that
 * are as large but for rounding. */
static void LIN_FN(normalize)(int64_t n, void *x_)
{
    LIN_T *x = x_;
    LIN_R most = 0;
    int64_t at = 0;
    LIN_R some[8] = {0}; /* of every eighth element, which vectors compare */
    for (int64_t i = 0; i < n; i += 8)
        for (int64_t k = 0; k < (n - i < 8 ? n - i : 8); k++) {
            const LIN_R re = LIN_FN(re)(x[i + k]), im = LIN_FN(im)(x[i + k]);
            const LIN_R square = re * re + im * im;
            some[k] = square > some[k] ? square : some[k];
        }
    for (int k = 0; k < 8; k++)
        most = some[k] > most ? some[k] : most;
    for (; at < n - 1; at++) {
        const LIN_R re = LIN_FN(re)(x[at]), im = LIN_FN(im)(x[at]);
        if (re * re + im * im >= most * (1 - LIN_RFN(sqrt)(LIN_EPS)))
            break;
    }
    const LIN_R re = LIN_FN(re)(x[at]), im = LIN_FN(im)(x[at]);
    const LIN_R size = LIN_COMPLEX ? LIN_RFN(hypot)(re, im) : LIN_RFN(fabs)(re);
    if (size > 0 && (re < 0 || im != 0)) {
        LIN_FN(scale)(n, LIN_FN(make)(re / size, -im / size), x);
        x[at] = LIN_FN(make)(size, 0);
    }
}
