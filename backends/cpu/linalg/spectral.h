/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What eigen.c and svd.c ask of reduce.c. Matrices are column-major. */
#ifndef NDOCK_CPU_SPECTRAL_H
#define NDOCK_CPU_SPECTRAL_H
#include "linalg/linalg.h"

#define LIN_SHARES 8

/* A leading dimension of n or a little more, which does not map columns to few sets of the
 * cache. */
int64_t lin_pitch(const lin_context *x, int64_t n);
/* a (n, n), its lower triangle: q t q^H with t's diagonal d and e beside it, both real. a's column j
 * holds from row j + 1 reflector j of q, its one included, tau (n) their factors. work: 2 *
 * LIN_SHARES * n elements. */
void lin_tridiagonalise(const lin_context *x, int64_t n, char *a, int64_t lda, char *d, char *e,
                        char *tau, char *work);
/* a (n, n): q b p^H with b's diagonal d and e above it, both real. a's column j holds from row j
 * reflector j of q, right's column j from row j + 1 that of p, ones included. work: 2 * (1 +
 * LIN_SHARES) * n elements. */
void lin_bidiagonalise(const lin_context *x, int64_t n, char *a, int64_t lda, char *right,
                       int64_t ldr, char *d, char *e, char *tau_left, char *tau_right, char *work);
/* q (n, n), the product of the reflectors in the columns of v (n, n) from the diagonal on; clears
 * what is above it. */
void lin_form(const lin_context *x, int64_t n, char *v, int64_t ldv, const char *tau, char *q,
              int64_t ldq, char *work);
/* The same with a first row and column of the identity before it: reflector j from row j + 1 on. */
void lin_form_shifted(const lin_context *x, int64_t n, char *v, int64_t ldv, const char *tau,
                      char *q, int64_t ldq, char *work);
int64_t lin_form_work(int64_t n); /* elements of work */
/* The context of the real parts' dtype. */
void lin_context_real(lin_context *x);
void lin_context_complex(lin_context *x);
/* A power of 2 that takes numbers of this size to where squares neither overflow nor vanish; 1 where
 * they are there. */
double lin_scale_for(const lin_context *x, double largest);
int lin_is_negative(const lin_context *x, const char *real);
/* lin_rotations.apply */
void lin_rotate(lin_rotations *r);

#endif
