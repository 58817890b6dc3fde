/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Vectors and cells of one SIMD level. The includer defines FFT_REAL (float or double), FFT_WORD
 * (the signed integer of that size) and FFT_DOUBLE (1 for double). */
#include <string.h>
#if CPU_ISA_LEVEL == 2
#include <immintrin.h>
#endif
#include "fft/fft.h"

#if CPU_ISA_LEVEL == 2
#define FFT_BYTES 64
#elif CPU_ISA_LEVEL == 1
#define FFT_BYTES 32
#else
#define FFT_BYTES 16
#endif
#define LANES (FFT_BYTES / (int)sizeof(FFT_REAL))
#define INLINE static inline __attribute__((always_inline))

typedef FFT_REAL vec __attribute__((vector_size(FFT_BYTES)));
typedef FFT_REAL loose_vec
    __attribute__((vector_size(FFT_BYTES), aligned(sizeof(FFT_REAL)), may_alias));
typedef FFT_WORD words __attribute__((vector_size(FFT_BYTES)));

/* One element of LANES transforms. */
typedef struct {
    vec r, i;
} cell;

/* ---- shuffles: which of the 2*LANES elements of a and b go where ---- */
#if FFT_BYTES == 64 && !FFT_DOUBLE
#define LOW 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define HIGH 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
#define EVEN 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30
#define ODD 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31
#define BACK 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0
#elif FFT_BYTES == 64 || (FFT_BYTES == 32 && !FFT_DOUBLE)
#define LOW 0, 8, 1, 9, 2, 10, 3, 11
#define HIGH 4, 12, 5, 13, 6, 14, 7, 15
#define EVEN 0, 2, 4, 6, 8, 10, 12, 14
#define ODD 1, 3, 5, 7, 9, 11, 13, 15
#define BACK 7, 6, 5, 4, 3, 2, 1, 0
#elif FFT_BYTES == 32 || !FFT_DOUBLE
#define LOW 0, 4, 1, 5
#define HIGH 2, 6, 3, 7
#define EVEN 0, 2, 4, 6
#define ODD 1, 3, 5, 7
#define BACK 3, 2, 1, 0
#else
#define LOW 0, 2
#define HIGH 1, 3
#define EVEN 0, 2
#define ODD 1, 3
#define BACK 1, 0
#endif
#if defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
#define SHUFFLE(a, b, ...) ((vec)__builtin_shufflevector((words)(a), (words)(b), __VA_ARGS__))
#endif
#endif
#ifndef SHUFFLE
#define SHUFFLE(a, b, ...) ((vec)__builtin_shuffle((words)(a), (words)(b), (words){__VA_ARGS__}))
#endif

INLINE vec load_vec(const void *p)
{
    return *(const loose_vec *)p;
}

INLINE void store_vec(void *p, vec v)
{
    *(loose_vec *)p = v;
}

/* The first n elements of a vector, and zeros after them; n may be below 0 or beyond the vector. */
#if FFT_BYTES == 64
typedef uint32_t first_mask;
INLINE first_mask first_of(int64_t n)
{
    return n >= LANES ? (first_mask)(((uint64_t)1 << LANES) - 1)
                      : ((first_mask)1 << (n > 0 ? n : 0)) - 1;
}
INLINE vec load_first(const void *p, int64_t n)
{
#if FFT_DOUBLE
    return (vec)_mm512_maskz_loadu_pd((__mmask8)first_of(n), p);
#else
    return (vec)_mm512_maskz_loadu_ps((__mmask16)first_of(n), p);
#endif
}
INLINE void store_first(void *p, int64_t n, vec v)
{
#if FFT_DOUBLE
    _mm512_mask_storeu_pd(p, (__mmask8)first_of(n), (__m512d)v);
#else
    _mm512_mask_storeu_ps(p, (__mmask16)first_of(n), (__m512)v);
#endif
}
#else
INLINE vec load_first(const void *p, int64_t n)
{
    vec v = {0};
    if (n > 0)
        memcpy(&v, p, (size_t)(n < LANES ? n : LANES) * sizeof(FFT_REAL));
    return v;
}
INLINE void store_first(void *p, int64_t n, vec v)
{
    if (n > 0)
        memcpy(p, &v, (size_t)(n < LANES ? n : LANES) * sizeof(FFT_REAL));
}
#endif

INLINE vec all(FFT_REAL x)
{
    return x - (vec){0};
}

/* Rows of a square of LANES x LANES elements become its columns. */
#if FFT_BYTES == 32 && FFT_DOUBLE
#define NEAR_LOW 0, 4, 2, 6 /* within halves of a vector, which is the fastest */
#define NEAR_HIGH 1, 5, 3, 7
#define FIRST_HALVES 0, 1, 4, 5
#define LAST_HALVES 2, 3, 6, 7

INLINE void turn_square(vec *x)
{
    const vec a = SHUFFLE(x[0], x[1], NEAR_LOW), b = SHUFFLE(x[0], x[1], NEAR_HIGH);
    const vec c = SHUFFLE(x[2], x[3], NEAR_LOW), d = SHUFFLE(x[2], x[3], NEAR_HIGH);
    x[0] = SHUFFLE(a, c, FIRST_HALVES);
    x[1] = SHUFFLE(b, d, FIRST_HALVES);
    x[2] = SHUFFLE(a, c, LAST_HALVES);
    x[3] = SHUFFLE(b, d, LAST_HALVES);
}

/* Two elements of each lane, real and imaginary parts together, become two cells, and back. */
INLINE void cells_of_pairs(const vec *x, cell *c)
{
    const vec a = SHUFFLE(x[0], x[2], FIRST_HALVES), b = SHUFFLE(x[1], x[3], FIRST_HALVES);
    const vec d = SHUFFLE(x[0], x[2], LAST_HALVES), e = SHUFFLE(x[1], x[3], LAST_HALVES);
    c[0] = (cell){SHUFFLE(a, b, NEAR_LOW), SHUFFLE(a, b, NEAR_HIGH)};
    c[1] = (cell){SHUFFLE(d, e, NEAR_LOW), SHUFFLE(d, e, NEAR_HIGH)};
}
INLINE void pairs_of_cells(const cell *c, vec *x)
{
    const vec a = SHUFFLE(c[0].r, c[0].i, NEAR_LOW), b = SHUFFLE(c[0].r, c[0].i, NEAR_HIGH);
    const vec d = SHUFFLE(c[1].r, c[1].i, NEAR_LOW), e = SHUFFLE(c[1].r, c[1].i, NEAR_HIGH);
    x[0] = SHUFFLE(a, d, FIRST_HALVES);
    x[1] = SHUFFLE(b, e, FIRST_HALVES);
    x[2] = SHUFFLE(a, d, LAST_HALVES);
    x[3] = SHUFFLE(b, e, LAST_HALVES);
}
#elif FFT_BYTES == 32
#define NEAR_LOW 0, 8, 1, 9, 4, 12, 5, 13
#define NEAR_HIGH 2, 10, 3, 11, 6, 14, 7, 15
#define PAIRS_LOW 0, 1, 8, 9, 4, 5, 12, 13
#define PAIRS_HIGH 2, 3, 10, 11, 6, 7, 14, 15
#define NEAR_EVEN 0, 2, 8, 10, 4, 6, 12, 14
#define NEAR_ODD 1, 3, 9, 11, 5, 7, 13, 15
#define FIRST_HALVES 0, 1, 2, 3, 8, 9, 10, 11
#define LAST_HALVES 4, 5, 6, 7, 12, 13, 14, 15

INLINE void turn_square(vec *x)
{
    vec y[8], z[8];
#pragma GCC unroll 16
    for (int i = 0; i < 8; i += 2) {
        y[i] = SHUFFLE(x[i], x[i + 1], NEAR_LOW);
        y[i + 1] = SHUFFLE(x[i], x[i + 1], NEAR_HIGH);
    }
#pragma GCC unroll 16
    for (int i = 0; i < 8; i += 4) {
        z[i] = SHUFFLE(y[i], y[i + 2], PAIRS_LOW);
        z[i + 1] = SHUFFLE(y[i], y[i + 2], PAIRS_HIGH);
        z[i + 2] = SHUFFLE(y[i + 1], y[i + 3], PAIRS_LOW);
        z[i + 3] = SHUFFLE(y[i + 1], y[i + 3], PAIRS_HIGH);
    }
#pragma GCC unroll 16
    for (int i = 0; i < 4; i++) {
        x[i] = SHUFFLE(z[i], z[i + 4], FIRST_HALVES);
        x[i + 4] = SHUFFLE(z[i], z[i + 4], LAST_HALVES);
    }
}

/* Four elements of each lane, real and imaginary parts together, become four cells, and back. */
INLINE void cells_of_pairs(const vec *x, cell *c)
{
    vec h[8];
#pragma GCC unroll 16
    for (int i = 0; i < 4; i++) {
        h[i] = SHUFFLE(x[i], x[i + 4], FIRST_HALVES);
        h[i + 4] = SHUFFLE(x[i], x[i + 4], LAST_HALVES);
    }
#pragma GCC unroll 16
    for (int i = 0; i < 4; i += 2) {
        const vec *g = h + 2 * i;
        const vec a = SHUFFLE(g[0], g[1], PAIRS_LOW), b = SHUFFLE(g[2], g[3], PAIRS_LOW);
        const vec d = SHUFFLE(g[0], g[1], PAIRS_HIGH), e = SHUFFLE(g[2], g[3], PAIRS_HIGH);
        c[i] = (cell){SHUFFLE(a, b, NEAR_EVEN), SHUFFLE(a, b, NEAR_ODD)};
        c[i + 1] = (cell){SHUFFLE(d, e, NEAR_EVEN), SHUFFLE(d, e, NEAR_ODD)};
    }
}
INLINE void pairs_of_cells(const cell *c, vec *x)
{
    vec h[8];
#pragma GCC unroll 16
    for (int i = 0; i < 4; i += 2) {
        const cell *f = c + i, *g = f + 1;
        const vec a = SHUFFLE(f->r, f->i, NEAR_LOW), b = SHUFFLE(f->r, f->i, NEAR_HIGH);
        const vec d = SHUFFLE(g->r, g->i, NEAR_LOW), e = SHUFFLE(g->r, g->i, NEAR_HIGH);
        h[2 * i] = SHUFFLE(a, d, PAIRS_LOW);
        h[2 * i + 1] = SHUFFLE(a, d, PAIRS_HIGH);
        h[2 * i + 2] = SHUFFLE(b, e, PAIRS_LOW);
        h[2 * i + 3] = SHUFFLE(b, e, PAIRS_HIGH);
    }
#pragma GCC unroll 16
    for (int i = 0; i < 4; i++) {
        x[i] = SHUFFLE(h[i], h[i + 4], FIRST_HALVES);
        x[i + 4] = SHUFFLE(h[i], h[i + 4], LAST_HALVES);
    }
}
#else
/* Each step lays the halves of the rows between each other. */
INLINE void turn_square(vec *x)
{
    vec y[LANES];
    for (int step = 1; step < LANES; step *= 2) {
#pragma GCC unroll 16
        for (int i = 0; i < LANES / 2; i++) {
            y[2 * i] = SHUFFLE(x[i], x[i + LANES / 2], LOW);
            y[2 * i + 1] = SHUFFLE(x[i], x[i + LANES / 2], HIGH);
        }
#pragma GCC unroll 16
        for (int i = 0; i < LANES; i++)
            x[i] = y[i];
    }
}
#endif

/* ---- complex arithmetic ---- */
INLINE cell plus(cell a, cell b)
{
    return (cell){a.r + b.r, a.i + b.i};
}

INLINE cell minus(cell a, cell b)
{
    return (cell){a.r - b.r, a.i - b.i};
}

/* a - i*b and a + i*b */
INLINE cell minus_i(cell a, cell b)
{
    return (cell){a.r + b.i, a.i - b.r};
}

INLINE cell plus_i(cell a, cell b)
{
    return (cell){a.r - b.i, a.i + b.r};
}

INLINE cell scaled(FFT_REAL s, cell a)
{
    return (cell){s * a.r, s * a.i};
}

INLINE cell times(cell a, vec wr, vec wi)
{
    return (cell){a.r * wr - a.i * wi, a.r * wi + a.i * wr};
}

/* By the factor at w, which is the same for all lanes. */
INLINE cell times_at(cell a, const FFT_REAL *w)
{
    return times(a, all(w[0]), all(w[1]));
}
