/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Communicators inside: one exchange among ranks, how it reaches the plug-in that carries it, and
 * what takes the place of what that plug-in lacks. */
#ifndef NDOCK_CORE_COLLECTIVE_H
#define NDOCK_CORE_COLLECTIVE_H
#include <ndock/comm.h>
#include "core/ops/ops.h"

typedef enum {
    ND_EXCHANGE_ALL_REDUCE,
    ND_EXCHANGE_REDUCE,
    ND_EXCHANGE_BROADCAST,
    ND_EXCHANGE_ALL_GATHER,
    ND_EXCHANGE_REDUCE_SCATTER,
    ND_EXCHANGE_ALL_TO_ALL,
    ND_EXCHANGE_SEND,
    ND_EXCHANGE_RECV,
    ND_EXCHANGE_KINDS
} nd_exchange_kind;

struct nd_comm {
    atomic_int refs;
    nd_device *device;  /* of the arrays */
    nd_device *carrier; /* on which they are exchanged: device, or the CPU in its place */
    ndp_comm_1 table;   /* absent slots NULL */
    ndp_dev *dev;       /* what the table is called with; NULL: of a plug-in without devices */
    ndp_comm *handle;
    const char *transport;
    int32_t rank, n;
    bool local;      /* of nd_comm_local: one thread may call for all ranks in turn */
    uint64_t calls;  /* that were compared, under NDOCK_COMM_CHECK */
    char *differs;   /* how they did; NULL: they did not */
    nd_stream *side; /* its own stream, made with the first work */
};

/* One exchange; operands are on the carrier, checked, and share no element unless they are one
 * view of a reduction. */
typedef struct {
    nd_comm *comm;
    const char *op;
    nd_exchange_kind kind;
    int32_t reduce, peer;
    const nd_array *in, *out; /* NULL: none */
} nd_exchange;

/* ---- comm.c ---- */
uint64_t nd__comm_timeout_ms(void);
/* Whether the device's own plug-in carries them; why it does not is the thread's error then. */
bool nd__comm_carries(const nd_device *device);
/* Sets who carries communicators of the device: its own plug-in, else the CPU's in its place. */
nd_status nd__comm_carrier(const char *op, nd_device *device, nd_comm *c);
/* A communicator carried as `like` is. */
nd_status nd__comm_join(const char *op, const nd_comm *like, int32_t rank, int32_t n,
                        const nd_comm_id *id, nd_comm **out);

/* ---- store_client.c: what the ranks find each other by ---- */
/* Frames of one size, on loopback. */
enum { ND_STORE_TOKEN = 64, ND_STORE_KEY = 64 };
typedef struct {
    char magic[8], verb[8]; /* "set" and "get"; of an answer "ok" and "no" */
    char token[ND_STORE_TOKEN], key[ND_STORE_KEY];
    unsigned char value[ND_COMM_ID_BYTES];
} nd_store_frame;
#define ND_STORE_MAGIC "ndstore1"
/* Sets a key, or waits until it is set, at most timeout_ms. */
nd_status nd__store_set(const char *op, int32_t port, const char *token, const char *key,
                        const nd_comm_id *value, uint64_t timeout_ms);
nd_status nd__store_get(const char *op, int32_t port, const char *token, const char *key,
                        nd_comm_id *value, uint64_t timeout_ms);

/* ---- exchange.c ---- */
nd_status nd__exchange(const nd_exchange *x);
/* Whether exchanges are noted for a graph's launches, by the thread's capture on a device that queues
 * nothing. */
bool nd__comm_is_noted(const nd_comm *c);
/* Whether the plug-in has the function, for this reduction and dtype where it reduces. */
bool nd__exchanges(const nd_comm *c, nd_exchange_kind kind, int32_t reduce, nd_dtype dtype);
nd_status nd__comm_fails(nd_comm *c, const char *op, nd_status status); /* adds who it was */

/* ---- derive.c: what a plug-in lacks, made of what it has ---- */
nd_status nd__exchange_derived(const nd_exchange *x);

/* ---- group.c ---- */
bool nd__in_comm_group(void);
/* Until the end of the group: keeps both, then copies from into to. to may be NULL. */
nd_status nd__comm_group_keep(const char *op, nd_stream *s, const nd_array *from,
                              const nd_array *to);

/* ---- work.c ---- */
/* Runs start(arg) on the communicator's own stream, and makes the work. */
nd_status nd__comm_work(const char *op, nd_comm *c, nd_status (*start)(void *arg), void *arg,
                        nd_work **out);

/* ---- check.c ---- */
/* NDOCK_COMM_CHECK: whether the other ranks are about to make the same call. */
nd_status nd__comm_check(const nd_exchange *x);
/* ND_ERR_COMM where an earlier comparison found a difference. */
nd_status nd__comm_differs(const nd_comm *c, const char *op);
#endif
