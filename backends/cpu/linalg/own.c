/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Factorisations by halves and by panels, whose arithmetic is nearly all in products. */
#include <string.h>
#include "linalg/linalg.h"

#define LIN_EXCHANGE_WORK (16 << 10) /* exchanges worth a task */
#define LIN_STRIPE 256               /* columns of a symmetric update that are computed at a time */

/* ---- Cholesky ---- */

/* c (n, n) -= a a^H with a (n, k), in the lower triangle and what stripes reach above it. */
static void subtract_square(const lin_context *x, int64_t n, int64_t k, const char *a, int64_t lda,
                            char *c, int64_t ldc)
{
    for (int64_t j = 0; j < n; j += LIN_STRIPE) {
        const int64_t w = n - j < LIN_STRIPE ? n - j : LIN_STRIPE;
        const lin_matrix rows = lin_columns(lin_at(x, a, lda, j, 0), lda);
        lin_product(x, n - j, w, k, rows, lin_adjoint(rows), lin_at(x, c, ldc, j, j), 1, ldc,
                    LIN_SUBTRACT);
    }
}

int64_t lin_cholesky(const lin_context *x, int64_t n, char *a, int64_t lda)
{
    if (n <= LIN_SMALL)
        return x->leaf->cholesky(n, a, lda);
    const int64_t half = mm_round_up(n / 2, LIN_SMALL), rest = n - half;
    int64_t failed = lin_cholesky(x, half, a, lda);
    if (failed)
        return failed;
    char *below = lin_at(x, a, lda, half, 0), *last = lin_at(x, a, lda, half, half);
    /* below l^H = a21 is conj(l) below^T = a21^T */
    lin_matrix l = lin_columns(a, lda);
    l.conj = 1;
    lin_triangular(x, half, rest, l, 0, 0, below, lda, 1);
    subtract_square(x, rest, half, below, lda, last, lda);
    failed = lin_cholesky(x, rest, last, lda);
    return failed > 0 ? failed + half : failed;
}

/* ---- LU: Toledo, Locality of reference in LU decomposition with partial pivoting, SIAM J. Matrix
 * Anal. Appl. 18 (1997) ---- */

typedef struct {
    const lin_context *x;
    char *a;
    int64_t lda, first, last;
    const int64_t *pivots;
} exchange;

static void exchange_columns(void *ctx, int64_t begin, int64_t end)
{
    const exchange *e = ctx;
    e->x->leaf->exchange(end - begin, lin_at(e->x, e->a, e->lda, 0, begin), e->lda, e->first,
                         e->last, e->pivots);
}

static void exchange_rows(const lin_context *x, int64_t n, char *a, int64_t lda, int64_t first,
                          int64_t last, const int64_t *pivots)
{
    exchange e = {x, a, lda, first, last, pivots};
    if (n > 0 && last > first)
        cpu_parallel(n, 1 + LIN_EXCHANGE_WORK / (last - first), exchange_columns, &e);
}

void lin_lu(const lin_context *x, int64_t m, int64_t n, char *a, int64_t lda, int64_t *pivots)
{
    const int64_t least = m < n ? m : n;
    if (n <= LIN_LU_LEAF) {
        x->leaf->lu(m, n, a, lda, pivots);
        return;
    }
    const int64_t left = n > m ? m : mm_round_up(n / 2, LIN_LU_LEAF), right = n - left;
    const int64_t done = left < least ? left : least;
    lin_lu(x, m, left, a, lda, pivots);
    char *beside = lin_at(x, a, lda, 0, left);
    exchange_rows(x, right, beside, lda, 0, done, pivots);
    lin_triangular(x, done, right, lin_columns(a, lda), 0, 1, beside, 1, lda);
    if (m <= done)
        return;
    char *last = lin_at(x, a, lda, done, left);
    lin_product(x, m - done, right, done, lin_columns(lin_at(x, a, lda, done, 0), lda),
                lin_columns(beside, lda), last, 1, lda, LIN_SUBTRACT);
    lin_lu(x, m - done, right, last, lda, pivots + done);
    for (int64_t i = done; i < least; i++)
        pivots[i] += done;
    exchange_rows(x, left, a, lda, done, least, pivots);
}

int64_t lin_zero_pivot(const lin_context *x, int64_t n, const char *a, int64_t lda)
{
    for (int64_t i = 0; i < n; i++)
        if (x->leaf->is_zero(lin_at(x, a, lda, i, i)))
            return i + 1;
    return 0;
}

/* ---- QR by panels of reflectors in compact form ---- */

int64_t lin_qr_work(int64_t m, int64_t n, int64_t k)
{
    return LIN_PANEL * (m + 2 * (n > k ? n : k));
}

/* The reflectors of a panel (m, w) as a matrix of their own, with the ones and zeros that a does not
 * hold. */
static void spread(const lin_context *x, int64_t m, int64_t w, const char *a, int64_t lda, char *v)
{
    memset(v, 0, (size_t)(m * w * x->size));
    x->leaf->move(m, w, a, 1, lda, v, 1, m);
    for (int64_t j = 0; j < w; j++) {
        memset(lin_at(x, v, m, 0, j), 0, (size_t)((j < m ? j : m) * x->size));
        if (j < m)
            x->leaf->one(lin_at(x, v, m, j, j));
    }
}

/* c (m, n) becomes (1 - v t v^H) c, or with the adjoint of t. w: 2 * LIN_PANEL * n elements. */
static void apply_block(const lin_context *x, int64_t m, int64_t n, int64_t width, const char *v,
                        const char *t, int adjoint, char *c, int64_t ldc, char *w)
{
    char *tw = w + LIN_PANEL * n * x->size;
    const lin_matrix vs = lin_columns(v, m), ts = lin_columns(t, LIN_PANEL);
    lin_product(x, width, n, m, lin_adjoint(vs), lin_columns(c, ldc), w, 1, LIN_PANEL, LIN_SET);
    lin_product(x, width, n, width, adjoint ? lin_adjoint(ts) : ts, lin_columns(w, LIN_PANEL), tw,
                1, LIN_PANEL, LIN_SET);
    lin_product(x, m, n, width, vs, lin_columns(tw, LIN_PANEL), c, 1, ldc, LIN_SUBTRACT);
}

void lin_qr(const lin_context *x, int64_t m, int64_t n, char *a, int64_t lda, char *t, char *v)
{
    const int64_t least = m < n ? m : n;
    for (int64_t j = 0; j < least; j += LIN_PANEL) {
        const int64_t w = least - j < LIN_PANEL ? least - j : LIN_PANEL, rest = n - j - w;
        char *panel = lin_at(x, a, lda, j, j), *own_t = t + j * LIN_PANEL * x->size;
        x->leaf->reflect(m - j, w, panel, lda, own_t);
        if (rest == 0)
            break;
        spread(x, m - j, w, panel, lda, v);
        apply_block(x, m - j, rest, w, v, own_t, 1, lin_at(x, a, lda, j, j + w), lda,
                    v + LIN_PANEL * m * x->size);
    }
}

void lin_qr_form(const lin_context *x, int64_t m, int64_t n, int64_t k, const char *a, int64_t lda,
                 const char *t, char *v, char *q, int64_t ldq)
{
    const int64_t least = m < n ? m : n;
    for (int64_t j = 0; j < k; j++) {
        memset(lin_at(x, q, ldq, 0, j), 0, (size_t)(m * x->size));
        x->leaf->one(lin_at(x, q, ldq, j, j));
    }
    for (int64_t j = (least - 1) / LIN_PANEL * LIN_PANEL; j >= 0; j -= LIN_PANEL) {
        const int64_t w = least - j < LIN_PANEL ? least - j : LIN_PANEL;
        spread(x, m - j, w, lin_at(x, a, lda, j, j), lda, v);
        /* columns before j of q are still those of the identity */
        apply_block(x, m - j, k - j, w, v, t + j * LIN_PANEL * x->size, 0, lin_at(x, q, ldq, j, j),
                    ldq, v + LIN_PANEL * m * x->size);
    }
}
