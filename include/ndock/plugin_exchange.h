/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * A part of plugin.h, which includes it: the optional group of collectives. */
#ifndef NDOCK_PLUGIN_H
#include <ndock/plugin.h>
#elif !defined NDOCK_PLUGIN_EXCHANGE_H
#define NDOCK_PLUGIN_EXCHANGE_H
/* Group "ndp.comm/1": collectives, by which the ranks of a communicator exchange elements. Every rank
 * has a device, in this process or in another one, and makes the same calls in the same order. A
 * plug-in without devices may have the group too (that of MPI): dev is NULL then, and operands lie in
 * blocks of the CPU plug-in.
 *
 * A call is an operation of its stream: queued where the device queues work, complete on return
 * else. It never waits without end. Once the time limit has passed, or another rank is lost, was
 * aborted, has left, or made another call (another function, operation, dtype, count or root), the
 * communicator has failed: the work fails (NDP_ERR_ASYNC from whatever waits for the stream, or
 * NDP_ERR_COMM from the call itself where it does not queue), every later call returns NDP_ERR_COMM,
 * async_error() tells why, and the text names rank and function. Other streams go on.
 *
 * Operands are dense in C order (any strides where NDP_COMM_STRIDED is set) and lie in memory of the
 * rank's device. in and out of a reduction may be one view; else they do not overlap. Every rank has
 * the same bits as the result of a reduction, and the same ranks have the same bits in every run.
 * Slots from all_reduce on may be NULL, but for at least one of all_gather, broadcast, or send with
 * recv: the core makes those that are missing of the others. */
#define NDP_COMM_ID_BYTES 128
typedef struct ndp_comm ndp_comm; /* one rank's part in a communicator; the plug-in's own */
enum {
    NDP_COMM_SUM = 0,
    NDP_COMM_PROD = 1,
    NDP_COMM_MIN = 2, /* and MAX: NaN if any is */
    NDP_COMM_MAX = 3,
    NDP_COMM_AVG = 4, /* the sum over the number of ranks; of floating dtypes alone */
    NDP_COMM_OPS = 5
};
/* One exchange. Pointees live for the call only. n: how many ranks there are. */
typedef struct {
    uint32_t size;
    int32_t reduce; /* NDP_COMM_SUM ..., of reductions */
    int32_t peer;   /* the root of reduce and broadcast; the other rank of send and recv */
    int32_t zero;
    ndp_view in;  /* mem NULL: there is none (recv; broadcast away from the root) */
    ndp_view out; /* mem NULL: there is none (send; reduce away from the root, broadcast at it) */
} ndp_exchange;
#define NDP_COMM_STRIDED 1u /* takes operands of any strides, those of in zero or negative too */
typedef struct {
    uint32_t size, flags; /* NDP_COMM_* */
    /* Bit d set: the operation (NDP_COMM_SUM ...) is done in dtype d by all_reduce, reduce and
     * reduce_scatter. Everything else takes every dtype. Touches no device. */
    uint64_t (*dtypes)(ndp_dev *dev, int32_t reduce);
    /* NDP_COMM_ID_BYTES bytes, which name a new communicator to all its ranks. */
    int32_t (*unique_id)(ndp_dev *dev, void *id);
    /* Joins it as `rank` of n. Waits for the others, at most timeout_ms, but inside a group, where
     * it returns at once and the communicator may be used when the group has ended. timeout_ms is
     * kept for every later call. */
    int32_t (*init)(ndp_dev *dev, int32_t rank, int32_t n, const void *id, uint64_t timeout_ms,
                    ndp_comm **out);
    /* Leaves. What was queued still runs; others that go on calling get an error. NULL is fine. */
    void (*destroy)(ndp_dev *dev, ndp_comm *comm);
    /* Everything of this rank that is queued or waits fails soon, and so do the others'. */
    int32_t (*abort)(ndp_dev *dev, ndp_comm *comm);
    /* NDP_OK, or NDP_ERR_COMM with the text of what made it fail. Never waits. */
    int32_t (*async_error)(ndp_dev *dev, ndp_comm *comm);
    /* Calls of this thread between the two, of one or several communicators of this plug-in, are one
     * operation, whose parts run at once. They nest. May be NULL together, on devices that queue. */
    int32_t (*group_begin)(ndp_dev *dev);
    int32_t (*group_end)(ndp_dev *dev);
    /* ---- end of the required set; of what follows in and out are, for a count of elements c: */
    /* c, c */
    int32_t (*all_reduce)(ndp_dev *dev, ndp_stream *stream, ndp_comm *comm, const ndp_exchange *x);
    /* c; c at the root */
    int32_t (*reduce)(ndp_dev *dev, ndp_stream *stream, ndp_comm *comm, const ndp_exchange *x);
    /* c at the root, which has no out; c elsewhere */
    int32_t (*broadcast)(ndp_dev *dev, ndp_stream *stream, ndp_comm *comm, const ndp_exchange *x);
    /* c; n * c, by rank. The first extent of out is n, the others are in's. */
    int32_t (*all_gather)(ndp_dev *dev, ndp_stream *stream, ndp_comm *comm, const ndp_exchange *x);
    /* n * c, by rank; c. The first extent of in is n. */
    int32_t (*reduce_scatter)(ndp_dev *dev, ndp_stream *stream, ndp_comm *comm,
                              const ndp_exchange *x);
    /* n * c, by the rank that gets it; n * c, by the rank that gave it. The first extents are n. */
    int32_t (*all_to_all)(ndp_dev *dev, ndp_stream *stream, ndp_comm *comm, const ndp_exchange *x);
    /* c to the peer, in the order of the calls; c from it */
    int32_t (*send)(ndp_dev *dev, ndp_stream *stream, ndp_comm *comm, const ndp_exchange *x);
    int32_t (*recv)(ndp_dev *dev, ndp_stream *stream, ndp_comm *comm, const ndp_exchange *x);
    /* Work behind it on the stream runs after all ranks have come to it. */
    int32_t (*barrier)(ndp_dev *dev, ndp_stream *stream, ndp_comm *comm);
    /* NDP_OK, or NDP_ERR_UNSUPPORTED with what is missing, and what to do: then the core exchanges
     * by way of the host. NULL: nothing can be missing. Touches no device. */
    int32_t (*available)(ndp_dev *dev);
} ndp_comm_1;
#endif
