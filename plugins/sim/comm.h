/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Communicators and the calls of their ranks. */
#ifndef NDOCK_SIM_COMM_H
#define NDOCK_SIM_COMM_H
#include "simulator.h"

/* ---- comm.c: communicators and the calls of their ranks ---- */
/* Calls of the ranks that belong together are a round. It is there from the first of them on, and
 * runs as a whole when each of them is the first in its queue. */
enum { SIM_COMM_TEXT = 400, SIM_CALL_TEXT = 96 };
typedef struct {
    int32_t entry, reduce, root, dtype; /* SIM_all_reduce ... */
    int64_t count;                      /* elements of one rank's share */
} sim_signature;
struct sim_part {
    sim_part *next; /* of its operation, or of its thread's group */
    sim_round *round;
    ndp_comm *comm;
    int32_t place; /* in the round */
    sim_queue *queue;
    uint64_t position; /* in the queue; 0: not queued yet */
    ndp_mem *in, *out; /* NULL: none; counted in uses */
    uint64_t in_offset, in_nbytes, out_offset, out_nbytes;
    int32_t active;    /* it is the first in its queue */
    uint64_t deadline; /* in nanoseconds of the host, once it is active */
};
struct sim_round {
    sim_round *next;
    sim_team *team;
    sim_signature like;
    uint64_t number; /* of the ranks' calls; of messages from src to dst */
    int32_t src, dst, parts, active, done, need;
    uint64_t begin;
    sim_part *part[SIM_MAX_DEVICES]; /* by rank; the sender and the receiver; NULL: not called */
};
struct sim_team {
    sim_team *next;
    unsigned char id[NDP_COMM_ID_BYTES];
    int32_t n, joined, here, failed, number;
    uint64_t uses; /* parts that name it */
    uint64_t timeout_ms;
    sim_round *rounds;
    ndp_comm *rank[SIM_MAX_DEVICES];
    char why[SIM_COMM_TEXT];
};
struct ndp_comm {
    sim_team *team;
    ndp_dev *dev;
    int32_t rank, left;
    uint64_t calls, sent[SIM_MAX_DEVICES], received[SIM_MAX_DEVICES];
    sim_signature latest;
};
const ndp_comm_1 *sim_comm_group(void); /* with what NDOCK_SIM_COMM leaves of it */
extern sim_team *sim_teams;

/* ---- comm_call.c ---- */
void sim_comm_calls(ndp_comm_1 *table); /* fills in the slots of calls and groups */
int32_t sim_in_group(void);             /* whether this thread has begun one */

/* ---- comm_round.c: what belongs together ---- */
extern int32_t sim_comms_wait; /* parts that are first in their queues and wait for others */
const char *sim_signature_text(const sim_signature *s, char *text, size_t n);
void sim_team_fail(sim_team *t, const char *fmt, ...) NDP_PRINTF(2, 3);
int32_t sim_team_failed(const sim_team *t); /* NDP_OK, or why it has */
void sim_team_free_unused(sim_team *t);
/* The call of c is part of its round from now on. */
int32_t sim_join_round(ndp_comm *c, const sim_signature *like, sim_part *p);
void sim_part_free(sim_part *p); /* and those after it */

/* ---- comm_run.c ---- */
/* Whether run_one has something to do for an operation that is first in its queue. */
int32_t sim_comm_ready(sim_queue *q);
/* Runs what can run of it; whether the operation is done. *begin: in virtual time, moved on. */
int32_t sim_comm_run(sim_queue *q, uint64_t *begin);
/* The operation's device faulted before it ran. */
void sim_comm_lost(const sim_op *op);
/* Somebody waits for it, and no worker serves the queue: the queues of other ranks are run up to
 * their calls. */
void sim_comm_need(sim_queue *q);
/* Waits until something changed, or a while when time limits run. */
void sim_wait_changed(void);

#endif
