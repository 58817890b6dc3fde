/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Programs of elementwise operations: compile.c makes steps of instructions, run.c does them, a
 * block of elements at a time, so that what one step leaves is in cache for the next. Steps are the
 * loops of the operations themselves, so the bits are theirs. */
#ifndef NDOCK_CPU_PROGRAM_H
#define NDOCK_CPU_PROGRAM_H
#include "copy/copy.h"
#include "elementwise/elementwise.h"
#include "program/chain.h"

enum {
    CPU_PROGRAM_OPERANDS = NDP_PROGRAM_MAX_IN + NDP_PROGRAM_MAX_OUT,
    CPU_PROGRAM_PLACES = 1024,
    CPU_PROGRAM_BLOCK = 2048,     /* elements of a block at most, */
    CPU_PROGRAM_LEAST = 64,       /* and at least */
    CPU_PROGRAM_CACHE = 16 << 10, /* bytes of a block that should be in cache together */
    CPU_PROGRAM_PAD =
        320, /* between buffers: bytes that differ in 4096 do not wait for each other */
    CPU_PROGRAM_ARENA = 160 << 10 /* bytes of all buffers at most */
};

/* The last two are of programs of rows: a row's elements to one value, and back to as many. */
enum {
    CPU_STEP_LOOP,
    CPU_STEP_CAST,
    CPU_STEP_WIDEN,
    CPU_STEP_NARROW,
    CPU_STEP_CHAIN,
    CPU_STEP_REDUCE,
    CPU_STEP_SPREAD
};

/* Places are pointers to a block's elements of one value: as it is stored, or f16 and bf16 as
 * float. */
typedef struct {
    int32_t kind, n, bf16; /* CPU_STEP_*; operands; widen and narrow: of bf16, else f16 */
    int32_t of_rows;       /* of one element for each row */
    int32_t op, dtype;     /* reduce; a loop that may be in a chain, else 0 */
    int32_t nbytes;        /* spread: of an element */
    int16_t from[CPU_CHAIN_LINKS], to; /* places */
    uint8_t link[CPU_CHAIN_LINKS];     /* chain: what is done with each of from */
    cpu_chain_fn *chain;
    ew_loop loop;
    ew_loop streamed; /* the same, with the result written past the cache; NULL: there is none */
    cpu_cast_fn *cast;
} cpu_step;

typedef struct {
    ndp_kernel base;
    int32_t n_in, n_scalar, n_out, n_steps, n_places;
    int32_t n_buffers;                /* of places that steps write */
    int32_t slot_bytes;               /* of a buffer's element */
    int32_t costly;                   /* far slower than memory */
    int16_t out[NDP_PROGRAM_MAX_OUT]; /* places of the results */
    uint64_t row_in, row_out;         /* operands with one element for each row */
    uint64_t repeated, repeated_wide; /* scalars that steps read as often as there are elements */
    int32_t n_repeated;               /* buffers for these */
    int16_t wide_of_scalar[NDP_PROGRAM_MAX_SCALARS]; /* -1: not wanted */
    int32_t scalar_dtype[NDP_PROGRAM_MAX_SCALARS];
    int16_t *buffer; /* by place: which one it has; -1: an input's or a scalar's own */
    cpu_step step[];
} cpu_program;

static inline void cpu_step_do_chain(const cpu_step *s, char *const *place, int64_t n, int stream)
{
    char *p[CPU_CHAIN_LINKS + 1];
    for (int k = 0; k < s->n; k++)
        p[k] = place[s->from[k]];
    p[s->n] = place[s->to];
    s->chain(s->link, s->n, p, n, stream);
}

/* One step over n elements; not those of rows alone. stream: the result goes past the cache, which
 * steps can that have a streamed loop. */
static inline void cpu_step_do(const cpu_step *s, const ew_isa *isa, char *const *place, int64_t n,
                               int stream)
{
    char *p[4] = {place[s->from[0]]}, *const to = place[s->to];
    switch (s->kind) {
    case CPU_STEP_LOOP:
        for (int k = 1; k < s->n; k++)
            p[k] = place[s->from[k]];
        p[s->n] = to;
        (stream ? s->streamed : s->loop)(p, n);
        break;
    case CPU_STEP_CHAIN:
        cpu_step_do_chain(s, place, n, stream);
        break;
    case CPU_STEP_CAST:
        s->cast(to, p[0], n);
        break;
    case CPU_STEP_WIDEN:
        (s->bf16 ? isa->load_bf16 : isa->load_f16)((float *)(void *)to,
                                                   (const uint16_t *)(void *)p[0], n);
        break;
    default:
        (s->bf16 ? isa->store_bf16 : isa->store_f16)((uint16_t *)(void *)to,
                                                     (const float *)(void *)p[0], n);
    }
}

/* link.c: chains of the program's steps, in place; stored: by value, its place. How many steps there are
 * then. */
int32_t cpu_program_link(const ndp_program *p, const int16_t *stored, cpu_step *step,
                         int32_t n_steps);

/* scalars.c */
/* Scalars as elements, as they are stored and as float. */
typedef struct {
    _Alignas(16) char stored[NDP_PROGRAM_MAX_SCALARS][16];
    float wide[NDP_PROGRAM_MAX_SCALARS];
} cpu_program_scalars;
/* Gives scalars their places, which are elements, or buffers of n of them: at first, pitch bytes apart. */
void cpu_program_place_scalars(const cpu_program *p, const ndp_scalar *scalar, const ew_isa *isa,
                               int64_t n, char *first, int64_t pitch, cpu_program_scalars *kept,
                               char **place);

/* run.c */
int32_t cpu_program_run(const ndp_kernel *kernel, ndp_stream *stream, const ndp_call *call);

/* rows.c */
int32_t cpu_program_rows_run(const ndp_kernel *kernel, ndp_stream *stream, const ndp_call *call);
int32_t cpu_program_rows_takes(ndp_dev *dev, const ndp_kernel *kernel, const ndp_call *call);

#endif
