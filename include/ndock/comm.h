/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Collectives: arrays exchanged between the ranks of a communicator, each of which has a device, in
 * this process or another.
 *
 *   comm     this rank's part in a communicator. All its ranks make the same calls in the same order
 *   a        an array on the communicator's device, of the same shape and dtype on every rank; any
 *            strides; borrowed
 *   opts     NULL: sum, the current stream, nothing to wait for
 *   out      a new array owned by the caller, dense; NULL on failure
 *   dst      an existing writable view of exactly the result's shape and dtype; may be a
 *
 * Order:   an operation of its stream, as any other: returns before it has run where the device
 *          queues work, and when it is done where it does not. Several communicators of one process
 *          must be used in the same order by all.
 * Results: the same bits on every rank, and in every run of the same ranks.
 * Errors:  ARGUMENT, SHAPE, DTYPE, DEVICE, MEMORY; COMM when another rank made another call, was
 *          lost or has left, or did not come within NDOCK_COMM_TIMEOUT milliseconds: the text names
 *          rank and call. It comes from the call, from nd_comm_status, or as ASYNC from what waits for
 *          the stream. The communicator has failed then, and every later call returns COMM.
 * Threads: one at a time for a communicator; the ranks of one process may be used by one thread, if
 *          it waits for none of them before it has called all, or by one thread each. */
#ifndef NDOCK_COMM_H
#define NDOCK_COMM_H
#include <ndock/base.h>

ND_BEGIN_DECLS

typedef struct nd_comm nd_comm; /* counted */
typedef struct nd_work nd_work; /* counted */

/* bool: sum and max are or, prod and min are and. Integers wrap; their avg is floor(sum / ranks).
 * Complex has no min and max, bool no avg. */
enum { ND_COMM_SUM = 0, ND_COMM_PROD = 1, ND_COMM_MIN = 2, ND_COMM_MAX = 3, ND_COMM_AVG = 4 };
typedef struct {
    uint32_t size;     /* sizeof(nd_comm_opts) */
    int32_t reduce;    /* ND_COMM_SUM ..., of reductions */
    nd_stream *stream; /* NULL: the device's current one */
    /* Not NULL: the exchange runs on a stream of the communicator's own, after what is on `stream`
     * now, and *work receives what to wait for before operands are used again. Owned by the
     * caller. */
    nd_work **work;
} nd_comm_opts;

/* ---- communicators ---- */
#define ND_COMM_ID_BYTES 128
typedef struct {
    unsigned char bytes[ND_COMM_ID_BYTES];
} nd_comm_id;
/* A name for a new communicator of devices like this one (NULL: current), which one rank makes and
 * gives to the others by any means. */
ND_API ND_MUST_USE nd_status nd_comm_unique_id(nd_device *device, nd_comm_id *out);
/* Joins it as rank of n with the device (NULL: current). Waits for the others. */
ND_API ND_MUST_USE nd_status nd_comm_init(nd_device *device, int32_t rank, int32_t n,
                                          const nd_comm_id *id, nd_comm **out);
/* The communicator of n devices of this process: out receives n of them, one for each rank, which
 * the caller owns; all NULL on failure. */
ND_API ND_MUST_USE nd_status nd_comm_local(int32_t n, nd_device *const *devices, nd_comm **out);
/* The communicator of the processes that were started together, with the device (NULL: current) for
 * this one: by `ndock run` or others that set RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT (on this
 * machine, with NDOCK_COMM_TOKEN), by mpirun or by srun (then plug-in mpi has to be there). One
 * process alone is rank 0 of 1. Every process calls it, and waits for the others. */
ND_API ND_MUST_USE nd_status nd_comm_world(nd_device *device, nd_comm **out);
/* Where this process stands among those that were started together, from the same variables; local:
 * among those of this machine, -1: unknown. Nothing is opened. */
ND_API ND_MUST_USE nd_status nd_comm_launched(int32_t *rank, int32_t *size, int32_t *local);
/* The ranks with the same color, in the order of key, then of rank, form a communicator; a color
 * below 0 joins none, and *out is NULL. Every rank calls it, and waits for the others, so that the
 * ranks of one process need a thread each. */
ND_API ND_MUST_USE nd_status nd_comm_split(nd_comm *comm, int32_t color, int32_t key,
                                           nd_comm **out);
ND_API nd_comm *nd_comm_retain(nd_comm *comm);
/* NULL is fine. With the last reference the rank leaves; what was queued still runs. */
ND_API void nd_comm_release(nd_comm *comm);
ND_API int32_t nd_comm_rank(const nd_comm *comm); /* -1 of NULL */
ND_API int32_t nd_comm_size(const nd_comm *comm); /* 0 of NULL */
ND_API nd_device *nd_comm_device(const nd_comm *comm);
/* Who carries it: the name of a plug-in; "" of NULL. Static. */
ND_API const char *nd_comm_transport(const nd_comm *comm);
/* Who would carry a communicator of the device (NULL: current): the name of a plug-in, "": nobody.
 * missing, of n bytes, receives why it is not the device's own and what to do, else "". Opens
 * vendor libraries that are needed, and no device. */
ND_API ND_MUST_USE nd_status nd_comm_carrier(nd_device *device, const char **transport,
                                             char *missing, size_t n);
/* ND_OK, or why it has failed. Never waits. */
ND_API ND_MUST_USE nd_status nd_comm_status(nd_comm *comm);
/* The communicator fails: whatever waits for it, on this rank and on the others, gets an error. */
ND_API ND_MUST_USE nd_status nd_comm_abort(nd_comm *comm);

/* ---- collectives ---- */
ND_API ND_MUST_USE nd_status nd_comm_all_reduce(nd_comm *comm, const nd_array *a,
                                                const nd_comm_opts *opts, nd_array **out);
ND_API ND_MUST_USE nd_status nd_comm_all_reduce_into(nd_comm *comm, const nd_array *a,
                                                     const nd_comm_opts *opts, const nd_array *dst);
/* The result goes to the root alone: elsewhere *out is NULL, and dst is not used. */
ND_API ND_MUST_USE nd_status nd_comm_reduce(nd_comm *comm, const nd_array *a, int32_t root,
                                            const nd_comm_opts *opts, nd_array **out);
ND_API ND_MUST_USE nd_status nd_comm_reduce_into(nd_comm *comm, const nd_array *a, int32_t root,
                                                 const nd_comm_opts *opts, const nd_array *dst);
/* dst of the root is written to dst of the others. */
ND_API ND_MUST_USE nd_status nd_comm_broadcast(nd_comm *comm, const nd_array *dst, int32_t root,
                                               const nd_comm_opts *opts);
/* Along a new first axis, by rank. */
ND_API ND_MUST_USE nd_status nd_comm_all_gather(nd_comm *comm, const nd_array *a,
                                                const nd_comm_opts *opts, nd_array **out);
ND_API ND_MUST_USE nd_status nd_comm_all_gather_into(nd_comm *comm, const nd_array *a,
                                                     const nd_comm_opts *opts, const nd_array *dst);
/* The first extent of a is the number of ranks: rank r receives the reduction of the a[r]. */
ND_API ND_MUST_USE nd_status nd_comm_reduce_scatter(nd_comm *comm, const nd_array *a,
                                                    const nd_comm_opts *opts, nd_array **out);
ND_API ND_MUST_USE nd_status nd_comm_reduce_scatter_into(nd_comm *comm, const nd_array *a,
                                                         const nd_comm_opts *opts,
                                                         const nd_array *dst);
/* The first extent of a is the number of ranks: a[r] goes to rank r, and comes as its out[rank]. */
ND_API ND_MUST_USE nd_status nd_comm_all_to_all(nd_comm *comm, const nd_array *a,
                                                const nd_comm_opts *opts, nd_array **out);
ND_API ND_MUST_USE nd_status nd_comm_all_to_all_into(nd_comm *comm, const nd_array *a,
                                                     const nd_comm_opts *opts, const nd_array *dst);
/* To and from one other rank, messages between two in their order. A rank that does both at once, or
 * several, does so in a group. */
ND_API ND_MUST_USE nd_status nd_comm_send(nd_comm *comm, const nd_array *a, int32_t peer,
                                          const nd_comm_opts *opts);
ND_API ND_MUST_USE nd_status nd_comm_recv(nd_comm *comm, const nd_array *dst, int32_t peer,
                                          const nd_comm_opts *opts);
/* Returns when every rank has called it and what was queued on its current stream before is done. */
ND_API ND_MUST_USE nd_status nd_comm_barrier(nd_comm *comm);
/* Calls of this thread between the two, of communicators like this one, are one operation, whose
 * parts run at once; groups do not nest. Results may be used after the end. ND_ERR_STATE inside one:
 * what comm's plug-in does in several steps (nd_comm_status names none), and waiting. */
ND_API ND_MUST_USE nd_status nd_comm_group_begin(nd_comm *comm);
ND_API ND_MUST_USE nd_status nd_comm_group_end(nd_comm *comm);

/* ---- for launchers ---- */
typedef struct nd_store nd_store;
/* Serves names of communicators to processes that show the token (16 to 63 letters and digits), on
 * loopback at port (0: any that is free), on a thread of its own until it is stopped. */
ND_API ND_MUST_USE nd_status nd_comm_store_serve(int32_t port, const char *token, nd_store **out);
ND_API int32_t nd_comm_store_port(const nd_store *store); /* 0 of NULL */
ND_API void nd_comm_store_stop(nd_store *store);          /* NULL is fine */

/* ---- work ---- */
/* Later work on the current stream of its device waits for the exchange; the host does not. */
ND_API ND_MUST_USE nd_status nd_work_wait(nd_work *work);
/* The host waits for it; returns its fault. */
ND_API ND_MUST_USE nd_status nd_work_synchronize(nd_work *work);
/* Never waits. */
ND_API ND_MUST_USE nd_status nd_work_query(nd_work *work, int32_t *done);
ND_API nd_work *nd_work_retain(nd_work *work);
ND_API void nd_work_release(nd_work *work); /* NULL is fine */

ND_END_DECLS
#endif
