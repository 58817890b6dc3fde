/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Inside the calls of a LAPACK: its routines as they were found, and what the calls share. */
#ifndef NDOCK_CPU_LAPACK_CALLS_H
#define NDOCK_CPU_LAPACK_CALLS_H
#include <string.h>
#include "linalg/lapack.h"

enum { POTRF, GETRF, GETRS, GEQRF, ORGQR, SYEVD, GEEV, GESDD, ROUTINES };

/* Set when the library is opened (lapack.c), and never changed after that. */
typedef struct {
    void *routine[ROUTINES][LIN_DTYPES];
    int wide; /* its integers have 64 bits */
} lin_lapack_routines;
extern lin_lapack_routines lin_lapack;

#define ROUTINE(fn_type, r) \
    fn_type *routine;       \
    memcpy(&routine, &lin_lapack.routine[r][x->type], sizeof routine)

/* A result that the routine has written as an integer of its own width. */
static inline int64_t lin_lapack_integer(int64_t word)
{
    int32_t low;
    if (lin_lapack.wide)
        return word;
    memcpy(&low, &word, sizeof low);
    return low;
}

static inline int lin_is_complex(const lin_context *x)
{
    return x->size != x->real;
}

/* ---- workspaces ---- */

/* What a query has left in the first element of work, as a number of elements. */
static inline int64_t lin_wanted_work(const lin_context *x, const void *first)
{
    float f;
    double d;
    memcpy(&f, first, sizeof f);
    memcpy(&d, first, sizeof d);
    const double n = x->real == 4 ? f : d;
    return (int64_t)(n + n * 1e-6) + 8; /* f32 rounds large counts */
}

/* Elements of work, real numbers of rwork, integers of iwork; one after the other in work. */
typedef struct {
    int64_t work, rwork, iwork;
} lin_room;

static inline char *lin_rwork_of(const lin_context *x, const lin_room *r, char *work)
{
    return work + mm_round_up(r->work * x->size, 64);
}

static inline char *lin_iwork_of(const lin_context *x, const lin_room *r, char *work)
{
    return lin_rwork_of(x, r, work) + mm_round_up(r->rwork * x->real, 64);
}

static inline int64_t lin_room_bytes(const lin_context *x, const lin_room *r)
{
    return mm_round_up(r->work * x->size, 64) + mm_round_up(r->rwork * x->real, 64) +
           mm_round_up(r->iwork * 8, 64);
}

#endif
