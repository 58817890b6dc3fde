/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Hermitian matrices to tridiagonal form, general ones to bidiagonal form, and the orthogonal
 * matrices that do it. Steps of large matrices are cut into shares, by extents alone, which are
 * added in order. */
#include <math.h>
#include <string.h>
#include "linalg/spectral.h"

#define SHARE_ELEMENTS (64 << 10)

/* Columns are cut into so many shares. */
static int64_t shares_of(int64_t n)
{
    const int64_t wanted = n * n / SHARE_ELEMENTS + 1;
    return wanted < LIN_SHARES ? wanted : LIN_SHARES;
}

int64_t lin_pitch(const lin_context *x, int64_t n)
{
    return ((n * x->size + 63) / 64 | 1) * 64 / x->size;
}

static void add_shares(const lin_context *x, int64_t n, int64_t shares, char *y)
{
    for (int64_t s = 1; s < shares; s++)
        x->leaf->add(n, y + s * n * x->size, y);
}

/* ---- tridiagonal ---- */

typedef struct {
    const lin_context *x;
    int64_t n, lda, shares;
    char *a, *y;
    const char *v, *w, *u;
} hermitian;

/* Where share s of the columns of a triangle begins: shares of about as many elements. */
static int64_t triangle_begin(int64_t n, int64_t shares, int64_t s)
{
    int64_t at = 0;
    const int64_t all = n * (n + 1) / 2;
    for (int64_t elements = 0; at < n && elements < all / shares * s; at++)
        elements += n - at;
    return s == shares ? n : at;
}

static void hermitian_share(void *ctx, int64_t begin, int64_t end)
{
    const hermitian *h = ctx;
    for (int64_t s = begin; s < end; s++)
        h->x->leaf->hermitian(h->n, triangle_begin(h->n, h->shares, s),
                              triangle_begin(h->n, h->shares, s + 1), h->a, h->lda, h->v, h->w,
                              h->u, h->y + s * h->n * h->x->size);
}

void lin_tridiagonalise(const lin_context *x, int64_t n, char *a, int64_t lda, char *d, char *e,
                        char *tau, char *work)
{
    const char *v = NULL, *w = NULL;
    char *next = work;
    for (int64_t j = 0; j < n; j++) {
        char *column = lin_at(x, a, lda, j, j), *u = column + x->size;
        const int64_t rest = n - j - 1;
        x->leaf->hermitian(n - j, 0, 1, column, lda, v, w, NULL, NULL);
        x->leaf->real_part(column, d + j * x->real);
        if (rest == 0)
            break;
        x->leaf->reflect_one(rest, u, e + j * x->real, tau + j * x->size);
        hermitian h = {.x = x, .n = rest, .lda = lda, .shares = shares_of(rest)};
        h.a = lin_at(x, a, lda, j + 1, j + 1);
        h.v = v ? v + x->size : NULL;
        h.w = w ? w + x->size : NULL;
        h.u = u;
        h.y = next;
        memset(next, 0, (size_t)(h.shares * rest * x->size));
        cpu_parallel(h.shares, 1, hermitian_share, &h);
        add_shares(x, rest, h.shares, next);
        x->leaf->hermitian_end(rest, tau + j * x->size, u, next);
        v = u;
        w = next;
        next = next == work ? work + LIN_SHARES * n * x->size : work;
    }
}

/* ---- bidiagonal ---- */

typedef struct {
    const lin_context *x;
    int64_t m, n, lda, shares;
    char *a, *new_z, *new_x;
    const char *u, *z, *old_x, *v, *tau, *new_u, *new_v;
} bidiagonal;

static void left_share(void *ctx, int64_t begin, int64_t end)
{
    const bidiagonal *b = ctx;
    b->x->leaf->bidiagonal_left(b->m, b->n * begin / b->shares, b->n * end / b->shares, b->a,
                                b->lda, b->u, b->z, b->old_x, b->v, b->tau, b->new_u, b->new_z);
}

static void right_share(void *ctx, int64_t begin, int64_t end)
{
    const bidiagonal *b = ctx;
    for (int64_t s = begin; s < end; s++)
        b->x->leaf->bidiagonal_right(b->m, b->n * s / b->shares, b->n * (s + 1) / b->shares, b->a,
                                     b->lda, b->new_v, b->new_x + s * b->m * b->x->size);
}

/* The memory of two steps, one of which the next one still reads. */
typedef struct {
    char *z, *x;
} step_memory;

void lin_bidiagonalise(const lin_context *x, int64_t n, char *a, int64_t lda, char *right,
                       int64_t ldr, char *d, char *e, char *tau_left, char *tau_right, char *work)
{
    const int64_t line = n * x->size;
    step_memory now = {work, work + line},
                last = {work + (1 + LIN_SHARES) * line, work + (2 + LIN_SHARES) * line};
    bidiagonal b = {.x = x, .lda = lda};
    for (int64_t j = 0; j < n; j++) {
        char *column = lin_at(x, a, lda, j, j);
        const int64_t rest = n - j - 1, size = x->size;
        b.m = n - j;
        b.n = 1;
        b.a = column;
        x->leaf->bidiagonal_left(b.m, 0, 1, b.a, lda, b.u, b.z, b.old_x, b.v, NULL, NULL, NULL);
        x->leaf->reflect_one(b.m, column, d + j * x->real, tau_left + j * size);
        if (rest == 0)
            break;
        b.a = lin_at(x, a, lda, j, j + 1);
        b.n = rest;
        b.shares = shares_of(rest);
        b.z = b.z ? b.z + size : NULL;
        b.v = b.v ? b.v + size : NULL;
        b.tau = tau_left + j * size;
        b.new_u = column;
        b.new_z = now.z;
        cpu_parallel(b.shares, 1, left_share, &b);
        char *v = lin_at(x, right, ldr, j + 1, j);
        x->leaf->row_of(rest, b.a, lda, now.z, v);
        x->leaf->reflect_one(rest, v, e + j * x->real, tau_right + j * size);
        b.m = rest;
        b.a += size;
        b.new_v = v;
        b.new_x = now.x;
        memset(now.x, 0, (size_t)(b.shares * rest * size));
        cpu_parallel(b.shares, 1, right_share, &b);
        add_shares(x, rest, b.shares, now.x);
        x->leaf->bidiagonal_end(rest, rest, tau_right + j * size, column + size, now.z, v, now.x);
        b.u = column + size;
        b.z = now.z;
        b.old_x = now.x;
        b.v = v;
        const step_memory swap = now;
        now = last;
        last = swap;
    }
}

/* ---- the orthogonal matrices ---- */

void lin_form(const lin_context *x, int64_t n, char *v, int64_t ldv, const char *tau, char *q,
              int64_t ldq, char *work)
{
    char *t = work + lin_qr_work(n, n, n) * x->size;
    for (int64_t j = 0; j < n; j += LIN_PANEL) {
        const int64_t w = n - j < LIN_PANEL ? n - j : LIN_PANEL;
        x->leaf->form_t(n - j, w, lin_at(x, v, ldv, j, j), ldv, tau + j * x->size,
                        t + j * LIN_PANEL * x->size);
    }
    lin_qr_form(x, n, n, n, v, ldv, t, work, q, ldq);
}

void lin_form_shifted(const lin_context *x, int64_t n, char *v, int64_t ldv, const char *tau,
                      char *q, int64_t ldq, char *work)
{
    memset(q, 0, (size_t)(n * x->size));
    for (int64_t j = 1; j < n; j++)
        memset(lin_at(x, q, ldq, 0, j), 0, (size_t)x->size);
    x->leaf->one(q);
    if (n > 1)
        lin_form(x, n - 1, lin_at(x, v, ldv, 1, 0), ldv, tau, lin_at(x, q, ldq, 1, 1), ldq, work);
}

int64_t lin_form_work(int64_t n)
{
    return lin_qr_work(n, n, n) + LIN_PANEL * mm_round_up(n, LIN_PANEL);
}

/* ---- real numbers ---- */

void lin_context_real(lin_context *x)
{
    x->type = x->real == 4 ? LIN_F32 : LIN_F64;
    x->size = x->real;
    x->leaf = &(*CPU_ISA_PICK(cpu_linalg_leaves))[x->type];
}

void lin_context_complex(lin_context *x)
{
    x->type = x->real == 4 ? LIN_C64 : LIN_C128;
    x->size = 2 * x->real;
    x->leaf = &(*CPU_ISA_PICK(cpu_linalg_leaves))[x->type];
}

double lin_scale_for(const lin_context *x, double largest)
{
    const double big = x->real == 4 ? 0x1p40 : 0x1p400;
    int exponent;
    if (largest == 0 || (largest < big && largest > 1 / big))
        return 1;
    (void)frexp(largest, &exponent);
    if (exponent < -1000) /* the power itself stays finite */
        exponent = -1000;
    return ldexp(1, -exponent);
}

int lin_is_negative(const lin_context *x, const char *real)
{
    return x->real == 4 ? *(const float *)(const void *)real < 0
                        : *(const double *)(const void *)real < 0;
}

/* ---- rotations ---- */

static void rotate_rows(void *ctx, int64_t begin, int64_t end)
{
    const lin_rotations *r = ctx;
    r->x->leaf->rotate(end - begin, (char *)r->z + begin * r->x->real, r->ldz, r);
}

void lin_rotate(lin_rotations *r)
{
    const int64_t work = r->n_rotations * 6 + 1;
    const int64_t grain = mm_round_up(1 + MM_TASK_WORK / work, 64);
    if (r->n_rotations)
        cpu_parallel(r->rows, grain, rotate_rows, r);
    r->n_rotations = r->n_sweeps = 0;
}
