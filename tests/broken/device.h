/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * A plug-in that does all that <ndock/plugin.h> asks below kernels: two devices over host memory,
 * each stream with a thread of its own. It passes `ndock conform` as it is; -DBREAK_NOW=break_NAME
 * breaks it in one way of breaks.def, which one check is meant to find. All its memory is
 * host->alloc's. */
#ifndef NDOCK_TESTS_BROKEN_DEVICE_H
#define NDOCK_TESTS_BROKEN_DEVICE_H
#include <pthread.h>
#include <stdbool.h>
#include <ndock/plugin.h>

enum { /* the breaks, break_none being 0 */
       break_none,
#define BREAK(name, check, others, what) break_##name,
#include "breaks.def"
#undef BREAK
       break_end
};
/* Which it is: a constant, so that tables can depend on it; or, where the files are compiled once for all breaks but those that tables
 * depend on, break_now of the one file more that a break needs. */
#ifdef BREAK_IN_FILE
extern const int break_now;
#define BREAK_NOW break_now
#define BREAK_OF_TABLES break_none
#elif !defined BREAK_NOW
#define BREAK_NOW break_none
#endif
#ifndef BREAK_OF_TABLES
#define BREAK_OF_TABLES BREAK_NOW
#endif
#define broken(which) ((which) == BREAK_NOW)
#define broken_table(which) ((which) == BREAK_OF_TABLES)

typedef struct queue queue;
typedef struct record record;
typedef struct job job;

struct ndp_dev {
    int32_t index;
    bool opened;
    queue *own;            /* the default stream's */
    queue *queues, *ended; /* those that run, and those whose thread is to be joined */
    int n_queues;
    uint64_t used; /* bytes of the pool */
    int32_t n_streams;
};
struct ndp_mem {
    char *base, *block; /* block: from host->alloc, NULL: foreign */
    uint64_t nbytes;
    bool pinned;
    void *mapped;  /* by break_map */
    ndp_mem *next; /* of pinned */
};
struct ndp_stream {
    queue *q;
    bool wrapper;
    pthread_t maker;
};
struct ndp_event {
    ndp_dev *dev;
    uint64_t flags;
    record *latest;
};

enum { DEVICES = 2, ALIGN = 256 };
#define ROOM (UINT64_C(1) << 31)
extern const ndp_host *host;
extern ndp_dev devices[DEVICES];
extern pthread_mutex_t lock; /* of queues, records and lists */
extern pthread_cond_t changed;
extern bool was_shut_down;
extern pthread_t opener; /* the thread that called the entry, by break_error_thread */

/* Zeroed; NULL after host->error. */
void *take_memory(size_t nbytes);
void give_memory(void *p);
int32_t no_memory(uint64_t nbytes);

/* memory.c */
int32_t mem_alloc(ndp_dev *, uint64_t nbytes, ndp_mem **out);
void mem_free(ndp_dev *, ndp_mem *);
int32_t mem_write(ndp_dev *, ndp_stream *, ndp_mem *, uint64_t offset, const void *src, uint64_t n);
int32_t mem_read(ndp_dev *, ndp_stream *, ndp_mem *, uint64_t offset, void *dst, uint64_t n);
int32_t mem_copy(ndp_dev *, ndp_stream *, ndp_mem *dst, uint64_t d, ndp_mem *src, uint64_t s,
                 uint64_t n);
extern const ndp_map_1 map_group;
extern const ndp_memory_1 memory_group;

/* comm.c */
extern const ndp_comm_1 comm_table;

/* pool.c */
extern const ndp_pool_1 pool_group;

/* queue.c */
enum { JOB_BYTES, JOB_RECORD, JOB_WAIT, JOB_HOST, JOB_FREE };
struct job {
    int kind;
    job *next;
    char *to;
    const char *from;
    uint64_t n;
    record *r;
    void (*fn)(void *arg);
    void *arg;
    ndp_mem *mem;
    uint64_t skip; /* bytes of to that come before it, by break_guard */
};
int32_t queue_new(ndp_dev *, queue **out);
void queue_release(queue *q); /* its thread ends when all is done and nobody holds it */
queue *queue_of(ndp_dev *, const ndp_stream *);
/* Copies the job and queues it; wait: until it is done. */
int32_t submit(ndp_dev *, ndp_stream *, const job *, bool wait);
int32_t queue_sync(queue *q);
bool queue_done(const queue *q);
void wait_for_all(ndp_dev *dev); /* by break_sync_all */
ndp_dev *queue_device(const queue *q);
void queue_hold(queue *q);
void queue_drop_work(queue *q);
void queue_fault(queue *q, uint64_t k, int64_t native);
void close_queues(ndp_dev *dev);
void join_ended(ndp_dev *dev);

/* event.c */
struct record {
    int refs;
    bool done;
    double time;
    queue *q; /* only for break_event_sync_more */
};
void record_release(record *r);
int32_t event_create(ndp_dev *, uint64_t flags, ndp_event **out);
void event_destroy(ndp_dev *, ndp_event *);
int32_t event_record(ndp_dev *, ndp_event *, ndp_stream *);
int32_t event_query(ndp_dev *, ndp_event *, int32_t *done);
int32_t event_sync(ndp_dev *, ndp_event *);
int32_t event_elapsed(ndp_dev *, ndp_event *start, ndp_event *stop, double *ms);
int32_t stream_wait(ndp_dev *, ndp_stream *, ndp_event *);

/* stream.c */
extern const ndp_stream_1 stream_group;
int32_t stream_sync(ndp_dev *, ndp_stream *);
extern const void *const fault_group;

/* process.c: what a plug-in must not do */
void misbehave_in_entry(const ndp_host *h);
void misbehave_in_probe(void);
int32_t misbehave_in_open(void);
void start_idle_thread(void);
#endif
