/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Communicators of processes (or threads) of one machine, by shared memory. The ranks have one
 * segment: what each rank is about, two buffers of each, used in turn, and a ring of bytes for
 * messages from each to each. */
#ifndef NDOCK_CPU_COMM_H
#define NDOCK_CPU_COMM_H
#include <stdatomic.h>
#include "host/cpu.h"

enum {
    CPU_RANKS = 64,
    CPU_CHUNK = 256 << 10, /* bytes of a rank's buffer */
    CPU_MAIL = 16 << 10,   /* bytes of a ring */
    CPU_COMM_TEXT = 400,
    CPU_CALL_TEXT = 96
};
typedef enum {
    CPU_CALL_NONE,
    CPU_CALL_all_reduce,
    CPU_CALL_reduce,
    CPU_CALL_broadcast,
    CPU_CALL_all_gather,
    CPU_CALL_reduce_scatter,
    CPU_CALL_all_to_all,
    CPU_CALL_barrier,
    CPU_CALL_send,
    CPU_CALL_recv
} cpu_call_kind;
typedef struct {
    int32_t kind, reduce, dtype, root;
    int64_t count; /* elements of one rank's share */
} cpu_signature;

/* What a rank tells the others. */
typedef struct {
    _Atomic uint64_t phase; /* how many steps it has come to */
    _Atomic uint64_t calls; /* which call it is in, or was */
    _Atomic int32_t kind;   /* of that call */
    _Atomic int32_t joined, left;
    cpu_signature signature[2]; /* of its calls, in turn; written before the phase of their start */
} cpu_rank;
typedef struct {
    _Atomic uint64_t written, taken;
    char bytes[CPU_MAIL];
} cpu_mail;
typedef struct {
    _Atomic int32_t n, failed; /* failed: 1 somebody writes why, 2 it is written */
    char why[CPU_COMM_TEXT];
    cpu_rank rank[CPU_RANKS];
} cpu_segment;

struct ndp_comm {
    cpu_segment *shared;
    char *buffers;  /* [2][n][CPU_CHUNK] */
    cpu_mail *mail; /* [from][to] */
    uint64_t nbytes, timeout_ms;
    int32_t rank, n, fd;
    uint64_t phase, calls;
    char name[NDP_COMM_ID_BYTES]; /* of the segment; "": it has none any more */
};

/* ---- segment.c ---- */
int32_t cpu_comm_unique_id(ndp_dev *dev, void *id);
int32_t cpu_comm_join(int32_t rank, int32_t n, const void *id, uint64_t timeout_ms, int32_t wait,
                      ndp_comm **out);
void cpu_comm_leave(ndp_comm *c);
/* The communicator fails for this reason, unless it has failed already; returns NDP_ERR_COMM with
 * the first reason. */
int32_t cpu_comm_fail(ndp_comm *c, const char *fmt, ...) NDP_PRINTF(2, 3);
int32_t cpu_comm_failed(ndp_comm *c); /* NDP_OK, or as above */
/* A wait, and why it is to end. */
typedef enum { CPU_WAITS, CPU_FAILED, CPU_GONE, CPU_LATE } cpu_wait_end;
typedef struct {
    uint64_t looks, deadline_ns;
    const char *because; /* why rank `gone` will not come any more */
    int32_t gone;
    cpu_wait_end end;
} cpu_patience;
/* Lets some time go by. Fails when that was too much, the rank is gone, or the communicator has failed, and the
 * caller, which has looked once more for what it waits for, has not found it: all may have come while this rank
 * slept, gone on and failed later. */
int32_t cpu_comm_pause(ndp_comm *c, cpu_patience *p, int32_t rank);
/* Every rank has come as far as this one. */
int32_t cpu_comm_meet(ndp_comm *c);
const char *cpu_call_text(const cpu_signature *s, char *text, size_t n);

/* ---- message.c ---- */
int32_t cpu_comm_group_begin(ndp_dev *dev);
int32_t cpu_comm_group_end(ndp_dev *dev);
int32_t cpu_comm_in_group(void);
int32_t cpu_comm_send(ndp_dev *dev, ndp_stream *s, ndp_comm *c, const ndp_exchange *x);
int32_t cpu_comm_recv(ndp_dev *dev, ndp_stream *s, ndp_comm *c, const ndp_exchange *x);
/* Inside a group: the call is made at its end. */
typedef struct cpu_later cpu_later;
struct cpu_later {
    cpu_later *next;
    ndp_comm *comm;
    cpu_signature call;
    const char *in;
    char *out;
    uint64_t done; /* bytes of a message, its head first */
    int64_t head[2];
};
int32_t cpu_comm_later(const cpu_later *call);

/* ---- collective.c ---- */
int32_t cpu_comm_run(const cpu_later *call);

#endif
