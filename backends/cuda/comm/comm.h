/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Communicators of GPUs, which NCCL carries: its library, one rank's part, the calls of ranks that
 * share a process, and the thread that ends what takes too long. */
#ifndef NDOCK_CUDA_COMM_H
#define NDOCK_CUDA_COMM_H
#include "comm/board.h"
#include "host/backend.h"

/* ---- nccl.c: the library, by nccl.h of 2.18 and later ---- */
typedef struct nccl_opaque *nccl_handle; /* ncclComm_t */
typedef struct {
    char bytes[NDP_COMM_ID_BYTES];
} nccl_id; /* ncclUniqueId */
/* ncclConfig_t as 2.18 has it; later ones read as much as size says. */
typedef struct {
    size_t size;
    unsigned magic, version;
    int blocking, cga_cluster_size, min_ctas, max_ctas;
    const char *net_name;
    int split_share;
} nccl_config;
enum { NCCL_SUCCESS = 0, NCCL_UNHANDLED_CUDA_ERROR = 1, NCCL_IN_PROGRESS = 7 }; /* ncclResult_t */

typedef struct {
#define NCCL_FN(name, required, parameters) int(*name) parameters;
#include "comm/nccl.def"
} nccl_functions;
extern nccl_functions cuda_nccl;
/* Opens it once; NDP_ERR_UNSUPPORTED with what to install. */
int32_t cuda_nccl_open(void);
nccl_config cuda_nccl_config(int blocking);
const char *cuda_nccl_result(int r); /* its name */

/* ---- what one rank wants done ---- */
typedef enum {
    CUDA_ALL_REDUCE,
    CUDA_REDUCE,
    CUDA_BROADCAST,
    CUDA_ALL_GATHER,
    CUDA_REDUCE_SCATTER,
    CUDA_ALL_TO_ALL,
    CUDA_SEND,
    CUDA_RECV,
    CUDA_EXCHANGES
} cuda_exchange_kind;
typedef struct cuda_part {
    cuda_exchange_kind kind;
    int32_t peer;
    const void *in;
    void *out;
    size_t count;      /* of elements as NCCL sees them, of one rank's share */
    size_t item;       /* bytes of one of them */
    int dtype, op;     /* ncclDataType_t, ncclRedOp_t */
    CUstream stream;   /* on which the caller expects it */
    uint64_t number;   /* which collective of its rank it is, or which message, from 1 on; 0:
                        * it is a collective that is captured */
    cuuint32_t ticket; /* where it is kept: the same for parts that were called at once */
    int taken;         /* it is in a round */
    struct cuda_part *next;
    char text[CUDA_CALL_TEXT]; /* "all_reduce of 10 f32 by sum" */
} cuda_part;

/* ---- comm.c: one rank's part ---- */
/* Work that was queued and not yet seen to end. */
typedef struct cuda_comm_work {
    CUevent done;
    CUstream stream;
    int64_t since_ms;
    uint64_t number;
    int32_t peer; /* of a message; -1: it is a collective */
    char text[CUDA_CALL_TEXT];
    struct cuda_comm_work *next;
} cuda_comm_work;
typedef struct cuda_team cuda_team;
struct ndp_comm {
    ndp_dev *dev;
    unsigned epoch;           /* of the device: a closed one's communicators are gone */
    nccl_handle root, handle; /* what joined, without blocking; what calls are made with */
    nccl_handle child;        /* becomes handle when it has been split off */
    int32_t rank, n;
    uint64_t timeout_ms;
    cuda_team *team;
    cuda_board *board; /* NULL: there is none */
    /* ---- under cuda_comm_lock ---- */
    int joined, failed, left, aborting;
    char why[CUDA_BOARD_TEXT + 48]; /* "communicator of 2 ranks: " before it */
    cuda_comm_work *work, **work_end, *spare;
    int64_t in_call_ms; /* since when a call is inside NCCL; 0: none is */
    uint64_t in_call;   /* its number; 0: it is a message */
    int64_t waits_ms;   /* since when a call waits for a rank of this process; 0: none does */
    char waiting[CUDA_CALL_TEXT], latest[CUDA_CALL_TEXT];
    CUstream waiting_stream;
    ndp_comm *next;           /* of all */
    uint64_t calls, messages; /* one thread at a time uses a communicator */
    /* ---- under the team's lock ---- */
    cuda_part *parts, **parts_end; /* called, and not yet with all the others */
    CUstream lane;                 /* where they run */
    CUevent ready;
    cuuint32_t tickets;
    CUdeviceptr flag; /* a word: the latest ticket whose parts are done */
};
extern pthread_mutex_t cuda_comm_lock;
extern const ndp_comm_1 cuda_comm_group;
int64_t cuda_comm_now_ms(void);
/* NDP_OK, or NDP_ERR_COMM with why it has failed. */
int32_t cuda_comm_error(ndp_comm *c);
/* The communicator has failed, for the first reason that is given, on all ranks of this process. */
void cuda_comm_fail(ndp_comm *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The same under cuda_comm_lock. */
void cuda_comm_fail_locked(ndp_comm *c, const char *why);
/* The same where another process has said so on the board. */
void cuda_comm_read_board_locked(ndp_comm *c);
/* What NCCL answered to a call of this rank; makes the communicator fail. */
int32_t cuda_comm_said(ndp_comm *c, int result, const char *what);
/* NCCL's handles are gone; the rest of the record. */
void cuda_comm_free(ndp_comm *c);
/* What is captured runs when its graph does, which nobody here sees. */
int cuda_comm_is_captured(CUstream stream);
/* Inside cuda_enter(): queued work of the part is watched from now on. */
int32_t cuda_comm_watch(ndp_comm *c, const cuda_part *part, CUstream stream);

/* ---- call.c: calls of one rank ---- */
int32_t cuda_comm_call(ndp_dev *dev, ndp_stream *s, ndp_comm *c, cuda_exchange_kind kind,
                       const ndp_exchange *x);
uint64_t cuda_comm_dtypes(ndp_dev *dev, int32_t reduce);
int cuda_comm_is_message(const cuda_part *p); /* send or recv */
/* Gives the part to NCCL, on the stream. Inside cuda_enter(). */
int cuda_comm_issue(ndp_comm *c, const cuda_part *p, CUstream s);
/* The result once NCCL has queued what it began; the keeper makes the communicator fail when that
 * takes too long. */
int cuda_comm_until_queued(ndp_comm *c, int result);
/* Around what gives a part to NCCL: between the two no handle is freed but after the time limit. */
int32_t cuda_comm_enter(ndp_comm *c, const cuda_part *p);
void cuda_comm_leave(ndp_comm *c);

/* ---- group.c: group_begin, group_end, and what waits for the end ---- */
int cuda_comm_grouped(void); /* whether this thread is in a group */
int32_t cuda_comm_group_begin(ndp_dev *dev);
int32_t cuda_comm_group_end(ndp_dev *dev);
/* In a group: what has to be done at its end. given: the part is with NCCL already. */
int32_t cuda_comm_group_init(ndp_comm *c);
int32_t cuda_comm_group_part(ndp_comm *c, const cuda_part *part, int given);
/* Waits until those that were begun have joined; the first that fails makes all fail. */
int32_t cuda_comm_finish(ndp_comm *const *, int n);

/* ---- team.c: ranks of one communicator in this process ---- */
struct cuda_team {
    char id[NDP_COMM_ID_BYTES];
    pthread_mutex_t lock;
    ndp_comm **member; /* by rank, NULL: not here; under cuda_comm_lock too */
    int n, local;      /* under cuda_comm_lock */
    cuda_team *next;
};
/* Enters the rank; the team is made with the first. */
int32_t cuda_team_join(ndp_comm *c, const void *id);
void cuda_team_leave(ndp_comm *c);
int cuda_team_local(const ndp_comm *c); /* how many of its ranks are here */
/* The ranks of its process, under cuda_comm_lock. */
ndp_comm *cuda_team_next(const ndp_comm *of, const ndp_comm *after);

/* ---- round.c: their calls ---- */
/* The part runs when the others have come: cuda_team_keep, _run and _wait. Inside cuda_enter(). */
int32_t cuda_team_call(ndp_comm *c, cuda_part *part);
/* Keeps the part, called at once with the one before if `together`, and sets its ticket. */
int32_t cuda_team_keep(ndp_comm *c, cuda_part *part, int together);
int32_t cuda_team_run(ndp_comm *c); /* what can run now, of all its ranks here */
int32_t cuda_team_wait(ndp_comm *c, const cuda_part *part); /* its stream waits for it */
/* Streams that wait for calls that will never be made go on. Inside cuda_enter(). */
void cuda_team_release(ndp_comm *c);

/* ---- keeper.c: the thread that watches ---- */
int32_t cuda_keeper_start(void);
void cuda_keeper_wake(void); /* under cuda_comm_lock */
void cuda_keeper_await(const ndp_comm *c,
                       int64_t at_most_ms); /* until it is freed; under the lock */
extern ndp_comm *cuda_comms;                /* all, under the lock */

#endif
