/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What the files of the simulated device share. Everything below is under one lock per process,
 * taken by sim_enter and dropped while a kernel or a host function runs. */
#ifndef NDOCK_SIM_SIMULATOR_H
#define NDOCK_SIM_SIMULATOR_H
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <ndock/plugin_facts.h>
#include <ndock/sim.h>

enum {
    SIM_MAX_DEVICES = 64,
    SIM_RED_ZONE = 512, /* bytes on either side of a block, and its alignment */
    SIM_LOG_ENTRIES = 8192,
    SIM_RACE_TEXT = 512,
    /* Blocks one operation can name: a program's operands, scratch, status. */
    SIM_MAX_MEMS = NDP_PROGRAM_MAX_IN + NDP_PROGRAM_MAX_OUT + 2,
    SIM_POISON_ALLOC = 0xA5,
    SIM_POISON_FREE = 0x5A,
    SIM_POISON_ZONE = 0xFD,
    SIM_DEFAULT_COST = 1000,
    SIM_LOWEST_PRIORITY = 0
};

/* Names of the calls, as the log and fault injection know them. */
#define SIM_ENTRIES(X) \
    X(open)            \
    X(close)           \
    X(alloc)           \
    X(free)            \
    X(write)           \
    X(read)            \
    X(sync)            \
    X(copy)            \
    X(find)            \
    X(run)             \
    X(stream_create)   \
    X(stream_destroy)  \
    X(stream_query)    \
    X(stream_sync)     \
    X(stream_wait)     \
    X(stream_native)   \
    X(stream_wrap)     \
    X(launch_host)     \
    X(event_create)    \
    X(event_destroy)   \
    X(event_record)    \
    X(event_query)     \
    X(event_sync)      \
    X(event_elapsed)   \
    X(usage)           \
    X(reserve)         \
    X(commit)          \
    X(set_access)      \
    X(decommit)        \
    X(pin)             \
    X(wrap)            \
    X(peer_copy)       \
    X(peer_enable)     \
    X(capture_begin)   \
    X(capture_end)     \
    X(capture_info)    \
    X(graph_destroy)   \
    X(instantiate)     \
    X(graph_launch)    \
    X(graph_update)    \
    X(exec_destroy)    \
    X(graph_nodes)     \
    X(patch_begin)     \
    X(patch_end)       \
    X(graph_compose)   \
    X(pool_alloc)      \
    X(pool_free)       \
    X(pool_trim)       \
    X(pool_usage)      \
    X(register_host)   \
    X(is_pinned)       \
    X(comm_id)         \
    X(comm_init)       \
    X(comm_destroy)    \
    X(comm_abort)      \
    X(all_reduce)      \
    X(reduce)          \
    X(broadcast)       \
    X(all_gather)      \
    X(reduce_scatter)  \
    X(all_to_all)      \
    X(send)            \
    X(recv)            \
    X(barrier)
enum {
#define SIM_ENTRY(name) SIM_##name,
    SIM_ENTRIES(SIM_ENTRY)
#undef SIM_ENTRY
        SIM_ENTRY_COUNT
};

typedef struct sim_queue sim_queue;
typedef struct sim_record sim_record;
typedef struct sim_body sim_body;
typedef struct sim_op sim_op;
typedef struct sim_capture sim_capture;
typedef struct sim_access sim_access;
typedef struct sim_plan sim_plan;
typedef struct sim_team sim_team;
typedef struct sim_round sim_round;
typedef struct sim_part sim_part;

/* A vector clock: component i is what is known of slot i (0: the host, else a stream's). */
typedef struct {
    uint64_t *t;
    uint32_t n;
} sim_clock;

/* ---- blocks of memory ---- */
enum { SIM_BLOCK, SIM_RESERVED, SIM_PINNED, SIM_WRAPPED };
struct ndp_mem {
    ndp_dev *dev;
    ndp_mem *next, *prev;         /* blocks of the device's range by offset; or the free list */
    int32_t kind, dead, dying;    /* dead: freed, but queued work still names it */
    uint64_t start, nbytes, room; /* room: nbytes rounded up to SIM_RED_ZONE */
    char *alias;                  /* the plug-in's own view of its first byte */
    char *address;        /* what the host is told; touching it faults, but for pinned memory */
    ndp_mem *cpu;         /* the CPU plug-in's handle of the alias */
    uint32_t uses;        /* operations that name it */
    int32_t fd;           /* SIM_RESERVED */
    uint8_t *pages;       /* SIM_RESERVED: per granule, SIM_PAGE_* */
    ndp_mem *base;        /* SIM_WRAPPED: the block it lies in */
    sim_access *accesses; /* the checker's history of a block */
    int32_t lent;         /* SIM_PINNED: the program's own memory */
    int32_t pooled;       /* of "ndp.pool/1" */
    sim_queue *freed_on;  /* held: the pool has it, from there on; NULL: it is in use */
    uint64_t freed_at;    /* position of the free */
};
enum { SIM_PAGE_COMMITTED = 1, SIM_PAGE_ACCESS = 2 };

/* ---- queued work ---- */
enum {
    SIM_OP_KERNEL,
    SIM_OP_COPY,
    SIM_OP_WRITE,
    SIM_OP_READ,
    SIM_OP_RECORD,
    SIM_OP_WAIT,
    SIM_OP_HOST,
    SIM_OP_FREE,
    SIM_OP_COMM,
    SIM_OP_BRANCH
};
typedef struct sim_branch sim_branch;
typedef struct {
    sim_body **body; /* each with a reference */
    uint64_t n;
} sim_list;
/* What an operation does; immutable, shared by a queue and by graphs. */
struct sim_body {
    int32_t refs, kind;
    const char *name;
    const ndp_kernel *kernel;   /* KERNEL: the CPU plug-in's */
    ndp_call call;              /* KERNEL: with the CPU plug-in's blocks */
    ndp_mem *mem[SIM_MAX_MEMS]; /* blocks it names, each counted in uses; operands in order first */
    ndp_view *views;            /* KERNEL: the operands, in then out, scratch */
    char *dst, *src;            /* COPY, WRITE, READ */
    uint64_t dst_offset, src_offset, nbytes;
    void (*fn)(void *arg);
    void *arg;
    ndp_dev *dev;
    sim_part *parts;    /* COMM: what it exchanges, in the order of the calls */
    sim_branch *branch; /* BRANCH: what may run by the value at src */
};
struct sim_op {
    sim_op *next;
    sim_body *body; /* NULL for RECORD and WAIT */
    sim_record *record;
    int32_t kind, faulty, sticky;
    uint64_t position, sequence, issued, cost, real_us;
    int64_t native;
};

/* One recording of an event: what waits are bound to. */
struct sim_record {
    int32_t refs, done;
    sim_queue *queue; /* held */
    uint64_t position, time;
    sim_clock clock;
    sim_capture *capture; /* held; NULL: recorded outside any */
    uint32_t *seen;       /* of the capture's members, what the record comes after */
};

typedef struct {
    int32_t status;
    int64_t native;
    char text[400];
} sim_error;

/* A stream's queue; lives on when its handle is destroyed, until it has run dry. */
struct sim_queue {
    sim_queue *next;
    ndp_dev *dev;
    uint64_t id;
    int32_t refs, running, blocking, priority;
    sim_op *head, *tail;
    uint64_t queued, done; /* positions */
    uint64_t time;         /* virtual end of what ran */
    sim_error error;       /* pending; status 0: none */
    uint32_t slot;         /* of vector clocks; 0: none yet */
    sim_clock clock;
    sim_capture *capture; /* held; NULL: none */
    uint32_t member;
    int32_t needed; /* sim_comm_need runs it */
};
struct ndp_stream {
    ndp_stream *next;  /* free list */
    ndp_stream *every; /* the one made before it */
    sim_queue *queue;
    int32_t wrapper;
    uint64_t foreign; /* of a wrapper: the handle that was wrapped */
};
struct ndp_event {
    ndp_event *next; /* free list */
    ndp_dev *dev;
    uint64_t flags;
    sim_record *latest; /* NULL: never recorded */
};

/* A planted fault or cost, or a call that is to fail. */
struct sim_plan {
    sim_plan *next;
    int32_t what; /* SIM_PLAN_* */
    int32_t entry, status, sticky;
    uint64_t stream; /* id; 0: any */
    uint64_t k, ticks, real_us;
    int64_t native;
};
enum { SIM_PLAN_CALL, SIM_PLAN_FAULT, SIM_PLAN_SLOW };

struct ndp_dev {
    int32_t index, opened, mode;
    uint64_t memory_bytes, granularity;
    /* memory */
    int32_t fd;
    uint64_t range; /* bytes of the address range */
    char *address, *alias;
    ndp_mem *blocks;      /* by offset */
    ndp_mem *others;      /* pinned and reserved */
    uint64_t drop_wait;   /* so many waits until one is dropped; 0: none is */
    uint64_t used;        /* bytes allocated and committed */
    uint64_t alloc_limit; /* bytes until allocations fail */
    uint64_t failing_allocs;
    uint32_t dying; /* blocks freed while queued work names them */
    uint64_t damaged;
    char damage[160];
    /* streams */
    sim_queue *queues;
    sim_queue *legacy; /* the default stream, NULL's */
    uint64_t cost, real_us, random;
    pthread_t worker;
    int32_t worker_runs, stopping, enabled_peers[SIM_MAX_DEVICES];
    int32_t host_functions; /* running now */
    /* errors */
    int32_t lost;
    int64_t lost_native;
    sim_plan *plans;
    /* log */
    ndsim_call *log;
    uint64_t logged, log_base; /* calls so far; calls that log_clear forgot */
    uint64_t counts[SIM_ENTRY_COUNT];
    void *kernels;
};

typedef struct {
    int64_t devices, memory, granularity, priorities, seed, latency_us;
    int32_t mode, check;
    const char *capability, *peers, *comm;
    uint64_t usable; /* bytes of a device's memory, by NDOCK_ALLOC_CONF; under sim_mutex */
} sim_settings;

/* settings.c: reads them the first time; 0 and the reason if they do not fit. */
int32_t sim_read_settings(char *why, size_t n);

extern const ndp_host *sim_host;
extern const ndp_plugin *sim_cpu; /* the CPU plug-in, its device, and its groups */
extern ndp_dev *sim_cpu_dev;
extern const ndp_op_1 *sim_cpu_op;
extern const ndp_fused_1 *sim_cpu_fused; /* NULL: it has none */
extern const ndp_map_1 *sim_cpu_map;
extern sim_settings sim_set;
extern ndp_dev sim_devices[SIM_MAX_DEVICES];
extern pthread_mutex_t sim_mutex;
extern pthread_cond_t sim_changed; /* work was queued or done */
extern uint64_t sim_now;           /* the host's virtual time */

/* ---- entry.c ---- */
/* One call of a table: what the log keeps of it. */
typedef struct {
    int32_t entry;
    ndp_dev *dev;
    ndp_stream *stream;
    const ndp_mem *mem;
    uint64_t offset, nbytes;
    const ndp_event *event;
    const char *op;
} sim_call;
/* Takes the lock, refuses calls on a lost device and planted ones; sim_leave must follow whatever
 * it returned: it logs the call, drops the lock and returns status. */
int32_t sim_enter(const sim_call *c);
int32_t sim_leave(const sim_call *c, int32_t status);
void sim_log(const sim_call *c, int32_t status);
const char *sim_entry_name(int32_t entry);
/* Sets the thread's error detail. */
#define sim_fail(status, native, ...) \
    sim_host->error(sim_host->ctx, (status), (native), __VA_ARGS__)
int32_t sim_fail_lost(const ndp_dev *dev);

/* ---- memory.c, map.c ---- */
int32_t sim_range_create(ndp_dev *dev);
void sim_range_destroy(ndp_dev *dev);
int32_t sim_mem_alloc(ndp_dev *dev, uint64_t nbytes, ndp_mem **out);
void sim_mem_free(ndp_mem *mem);  /* now, or when the last operation that names it is gone */
void sim_mem_unuse(ndp_mem *mem); /* one operation less */
ndp_mem *sim_mem_new(ndp_dev *dev, int32_t kind, uint64_t nbytes, char *alias, char *address);
void sim_mem_delete(ndp_mem *mem);
uint64_t sim_free_bytes(const ndp_dev *dev);
/* What planted limits say about an allocation of nbytes. */
int32_t sim_may_allocate(ndp_dev *dev, uint64_t nbytes);
/* [offset, offset + nbytes) lies in the block, which the device can reach; text in the error. */
int32_t sim_check_range(ndp_dev *dev, const ndp_mem *mem, uint64_t offset, uint64_t nbytes,
                        const char *what);
uint64_t sim_check_zones(ndp_dev *dev, char *text, size_t n);
void sim_reserved_free(ndp_mem *mem);
/* A reserved block has memory and access in the whole range. */
int32_t sim_is_backed(const ndp_mem *mem, uint64_t offset, uint64_t nbytes);
extern const ndp_memory_1 sim_memory_group;
extern const ndp_map_1 sim_map_group;
extern const ndp_pointer_1 sim_pointer_group;
extern const ndp_code_1 sim_code_group;
extern const ndp_pool_1 sim_pool_group; /* pool.c */

/* ---- stream.c, event.c ---- */
extern const ndp_stream_1 sim_stream_group;
sim_queue *sim_queue_of(ndp_dev *dev, const ndp_stream *s);
sim_queue *sim_queue_new(ndp_dev *dev, int32_t priority);
void sim_queue_unref(sim_queue *q);
int32_t sim_stream_sync(ndp_dev *dev, ndp_stream *s);
sim_record *sim_record_new(sim_queue *q); /* NULL: no memory */
void sim_record_unref(sim_record *r);
int32_t sim_event_create(ndp_dev *dev, uint64_t flags, ndp_event **out);
void sim_event_destroy(ndp_dev *dev, ndp_event *e);
int32_t sim_event_record(ndp_dev *dev, ndp_event *e, ndp_stream *s);
int32_t sim_event_query(ndp_dev *dev, ndp_event *e, int32_t *done);
int32_t sim_event_sync(ndp_dev *dev, ndp_event *e);
int32_t sim_event_elapsed(ndp_dev *dev, ndp_event *start, ndp_event *stop, double *ms);
int32_t sim_stream_wait(ndp_dev *dev, ndp_stream *s, ndp_event *e);

/* ---- queue.c ---- */
/* Where views[] and mem[] of a kernel's body keep these; the operands come first. */
enum {
    SIM_MAX_OPERANDS = NDP_PROGRAM_MAX_IN + NDP_PROGRAM_MAX_OUT,
    SIM_VIEW_SCRATCH = SIM_MAX_OPERANDS,
    SIM_VIEW_STATUS
};
sim_body *sim_body_new(int32_t kind, const char *name, ndp_dev *dev, size_t extra_bytes,
                       void **extra);
void sim_body_use(sim_body *b, int32_t i, ndp_mem *mem);
void sim_body_unref(sim_body *b);
/* Queues (or, in a capture, records) the body, whose reference is given away in any case. position,
 * if asked for, is its place in the queue. */
int32_t sim_push(sim_queue *q, sim_body *body, uint64_t *position);
int32_t sim_push_mark(sim_queue *q, int32_t kind, sim_record *r);
/* Waits until the queue has done `position` operations; steps what that needs in stepped mode. */
void sim_need(sim_queue *q, uint64_t position);
/* The host's clock is at least there. */
void sim_host_waited(uint64_t until);
void sim_drain(ndp_dev *dev);
uint64_t sim_step(ndp_dev *dev, sim_queue *only, uint64_t n);
/* The pending error of a queue, once; OK if there is none. */
int32_t sim_take_error(sim_queue *q);
int32_t sim_worker_start(ndp_dev *dev);
void sim_worker_stop(ndp_dev *dev);

/* ---- run.c, copy.c ---- */
extern const ndp_op_1 sim_op_group;
extern const ndp_fused_1 sim_fused_group; /* fused.c */
/* The device's own kernel that queues calls of the CPU's; NULL: no memory. */
const ndp_kernel *sim_wrap_kernel(ndp_dev *dev, const ndp_kernel *inner);
const ndp_kernel *sim_inner_kernel(const ndp_kernel *kernel);
extern const ndp_peer_1 sim_peer_group;
/* Does it, without the lock; an error is written to *error. */
void sim_execute(const sim_body *b, sim_error *error);
int32_t sim_in_host_function(void); /* on this thread */
const char *sim_op_name(int32_t op);
int32_t sim_write(ndp_dev *dev, ndp_stream *s, ndp_mem *mem, uint64_t offset, const void *src,
                  uint64_t n);
int32_t sim_read(ndp_dev *dev, ndp_stream *s, ndp_mem *mem, uint64_t offset, void *dst, uint64_t n);
int32_t sim_copy(ndp_dev *dev, ndp_stream *s, ndp_mem *dst, uint64_t dst_offset, ndp_mem *src,
                 uint64_t src_offset, uint64_t n);
int32_t sim_peer_allowed(int32_t from, int32_t to);
int64_t sim_dtype_size(int32_t dtype);
/* Lowest byte and one past the highest that a view reaches; low == high if none. */
void sim_extent(const ndp_view *v, int64_t *low, int64_t *high);

/* ---- fault.c ---- */
int32_t sim_planned_failure(ndp_dev *dev, int32_t entry);
void sim_plan_op(sim_queue *q, sim_op *op);
int32_t sim_plan_add(ndp_dev *dev, sim_plan plan);
void sim_plans_clear(ndp_dev *dev);

/* ---- control.c ---- */
extern const ndsim_control_1 sim_control_group;

#endif
