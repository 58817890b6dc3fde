/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What the files of the MPI plug-in share. MPI moves bytes alone; reductions are the CPU plug-in's, so
 * that they have its bits, the same on every rank and in every run. */
#ifndef NDOCK_MPI_RANKS_H
#define NDOCK_MPI_RANKS_H
#include <mpi.h>
#include <ndock/plugin_comm.h>

enum { RANKS_CHUNK = 8 << 20, RANKS_PIECE = 64 << 20 }; /* bytes a rank and step; of a message */

extern const ndp_host *ranks_host;
#define ranks_error(status, ...) ranks_host->error(ranks_host->ctx, (status), 0, __VA_ARGS__)

struct ndp_comm {
    MPI_Comm mpi;
    int32_t rank, n, failed;
    uint64_t timeout_ms, calls;
    const char *latest; /* the call's name */
    char why[300];
};

/* ---- plugin.c ---- */
/* The CPU plug-in, whose blocks the operands lie in; NDP_OK. */
int32_t ranks_cpu(ndp_comm_cpu *cpu);
/* Where a view's first element is. */
int32_t ranks_address(const ndp_view *v, char **out);

/* ---- life.c ---- */
extern int32_t ranks_unfinished; /* a request did not end: MPI cannot be finalised */
int32_t ranks_start(void);
int32_t ranks_fail(ndp_comm *c, const char *fmt, ...) NDP_PRINTF(2, 3);
int32_t ranks_failed(ndp_comm *c);
/* Ends when all n requests have, or the time limit has passed: then what they use must never be
 * freed. peer: who is waited for, -1: all. */
int32_t ranks_wait(ndp_comm *c, MPI_Request *requests, int n, int32_t peer);
int32_t ranks_unique_id(ndp_dev *dev, void *id);
int32_t ranks_init(ndp_dev *dev, int32_t rank, int32_t n, const void *id, uint64_t timeout_ms,
                   ndp_comm **out);
void ranks_destroy(ndp_dev *dev, ndp_comm *c);

/* ---- message.c ---- */
int32_t ranks_group_begin(ndp_dev *dev);
int32_t ranks_group_end(ndp_dev *dev);
int32_t ranks_in_group(void);
int32_t ranks_send(ndp_dev *dev, ndp_stream *s, ndp_comm *c, const ndp_exchange *x);
int32_t ranks_recv(ndp_dev *dev, ndp_stream *s, ndp_comm *c, const ndp_exchange *x);

/* ---- collective.c ---- */
extern const ndp_comm_1 ranks_group;
int64_t ranks_elements(const ndp_view *v);

#endif
