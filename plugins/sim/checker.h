/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Which accesses are ordered: vector clocks, and what bytes of a block views touch. */
#ifndef NDOCK_SIM_CHECKER_H
#define NDOCK_SIM_CHECKER_H
#include "simulator.h"

/* ---- checker.c ---- */
extern int32_t sim_checking;
void sim_clock_join(sim_clock *into, const sim_clock *from);
void sim_clock_free(sim_clock *c);
void sim_slot_release(sim_queue *q);
void sim_host_saw(const sim_clock *c);
extern uint64_t sim_drop_sight; /* so many times until the host learns nothing; 0: none */
/* The operation's accesses, ordered after everything its queue and the host know of. */
void sim_check_op(sim_queue *q, const sim_op *op);
/* The host takes bytes of the block away: free and decommit. */
void sim_check_host(ndp_mem *mem, uint64_t offset, uint64_t nbytes, const char *what);
void sim_checker_reset(int32_t on);
void sim_accesses_free(ndp_mem *mem);
uint64_t sim_race_count(void);
const char *sim_race_text(uint64_t i);
/* The next race that was not logged yet; NULL if there is none. */
const char *sim_race_unlogged(void);
void sim_race_clear(void);

/* ---- overlap.c ---- */
/* Bytes [low, high) of a block, of which runs are touched: repeated along dim, outermost first. */
enum { SIM_SPAN_NDIM = 4 };
typedef struct {
    int64_t count, stride;
} sim_span_dim;
typedef struct {
    int64_t low, high, run;
    int32_t ndim;
    sim_span_dim dim[SIM_SPAN_NDIM];
} sim_span;
sim_span sim_span_of(const ndp_view *v);
sim_span sim_span_bytes(uint64_t offset, uint64_t nbytes);
int32_t sim_spans_meet(const sim_span *a, const sim_span *b);
/* Every byte of b is one of a's; may say no where that would be hard to tell. */
int32_t sim_span_covers(const sim_span *a, const sim_span *b);

#endif
