/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Group F: many threads. Work on one stream is queued by one thread at a time, as the core does;
 * where there are no streams, all of them share the default one behind a lock. Meant to be run
 * under ThreadSanitizer as well. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "abi.h"

enum { THREADS = 4 };
typedef struct {
    int number;
    ndp_stream *stream;
    uint64_t state;
} worker;
static worker workers[THREADS];
static pthread_barrier_t start;
static pthread_mutex_t shared = PTHREAD_MUTEX_INITIALIZER;

/* Around what is queued: only the default stream is shared. */
static void take(const worker *w)
{
    if (!w->stream)
        pthread_mutex_lock(&shared);
}

static void give(const worker *w)
{
    if (!w->stream)
        pthread_mutex_unlock(&shared);
}

static void run(void *(*fn)(void *))
{
    pthread_t threads[THREADS];
    pthread_barrier_init(&start, NULL, THREADS);
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (worker){i, abi.has_stream ? abi_stream() : NULL, abi.seed + (uint64_t)i};
        abi_need(pthread_create(&threads[i], NULL, fn, &workers[i]) == 0, "no thread");
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

/* Blocks of all threads at once: none overlaps another. */
static void *allocate(void *arg)
{
    enum { N = 32, BYTES = 512 };
    worker *w = arg;
    ndp_mem *mem[N];
    unsigned char bytes[BYTES];
    pthread_barrier_wait(&start);
    for (uint64_t round = 0; round < 1 + abi.count / 10; round++) {
        for (int i = 0; i < N; i++)
            mem[i] = abi_alloc(BYTES);
        for (int i = 0; i < N; i++) {
            abi_fill(bytes, BYTES, (uint64_t)w->number * 1000 + (uint64_t)i);
            take(w);
            abi_write(w->stream, mem[i], 0, bytes, BYTES);
            give(w);
        }
        for (int i = 0; i < N; i++) {
            take(w);
            abi_read(w->stream, mem[i], 0, bytes, BYTES);
            give(w);
            abi_filled(bytes, BYTES, (uint64_t)w->number * 1000 + (uint64_t)i, 0,
                       "a block allocated while other threads allocate");
            abi_free(mem[i]);
        }
    }
    return NULL;
}

static void alloc_free(void)
{
    run(allocate);
}

/* Each thread on its own stream: writes, copies and reads of its own blocks. */
static void *transfer(void *arg)
{
    enum { N = 4, BYTES = 30000 };
    worker *w = arg;
    ndp_mem *mem[N];
    unsigned char *bytes = abi_bytes(BYTES);
    for (int i = 0; i < N; i++)
        mem[i] = abi_alloc(BYTES);
    pthread_barrier_wait(&start);
    for (uint64_t round = 0; round < 2 * abi.count; round++) {
        size_t n = 1 + abi_below(&w->state, BYTES), at = abi_below(&w->state, BYTES - n + 1);
        uint64_t tag = round * THREADS + (uint64_t)w->number;
        abi_fill(bytes, n, tag);
        take(w);
        abi_write(w->stream, mem[0], at, bytes, n);
        for (int i = 1; i < N && abi.p.copy; i++)
            abi_copy(w->stream, mem[i], at, mem[i - 1], at, n);
        abi_read(w->stream, mem[abi.p.copy ? N - 1 : 0], at, bytes, n);
        give(w);
        if (!abi_filled(bytes, n, tag, 0, "bytes moved while other threads move theirs"))
            break;
    }
    for (int i = 0; i < N; i++)
        abi_free(mem[i]);
    free(bytes);
    return NULL;
}

static void transfers(void)
{
    run(transfer);
}

/* Streams and events come and go in all threads; each waits for its neighbour's latest event. */
static ndp_event *events[THREADS];
static pthread_mutex_t event_locks[THREADS];

static void *churn(void *arg)
{
    worker *w = arg;
    int next = (w->number + 1) % THREADS;
    ndp_mem *a = abi_alloc(4096), *b = abi_alloc(4096);
    pthread_barrier_wait(&start);
    for (uint64_t round = 0; round < abi.count; round++) {
        ndp_stream *s = abi_stream();
        ndp_event *e = abi_event(0);
        if (events[w->number]) /* only this thread changes it; the copy is to the same block */
            abi_call(abi.stream.wait(abi.dev, s, events[w->number]), "wait");
        if (abi.p.copy)
            abi_copy(s, b, 0, a, 0, 4096);
        abi_call(abi.stream.event_record(abi.dev, e, s), "event_record");
        pthread_mutex_lock(&event_locks[w->number]);
        ndp_event *old = events[w->number];
        events[w->number] = e;
        pthread_mutex_unlock(&event_locks[w->number]);
        pthread_mutex_lock(&event_locks[next]); /* it lives as long as this is held */
        if (events[next])
            abi_call(abi.stream.wait(abi.dev, s, events[next]), "wait");
        pthread_mutex_unlock(&event_locks[next]);
        if (old)
            abi.stream.event_destroy(abi.dev, old);
        if (round % 8 == 0)
            abi_call(abi.stream.sync(abi.dev, s), "sync");
        abi.stream.destroy(abi.dev, s);
    }
    abi_call(abi.p.sync(abi.dev, w->stream), "sync");
    return NULL;
}

static void streams(void)
{
    for (int i = 0; i < THREADS; i++)
        pthread_mutex_init(&event_locks[i], NULL);
    run(churn);
}

/* While one thread queues, others wait for the same stream and read from it. */
static ndp_mem *watched[8];
static pthread_mutex_t watching = PTHREAD_MUTEX_INITIALIZER;
static int queueing = 1;

static int still(void)
{
    pthread_mutex_lock(&watching);
    int now = queueing;
    pthread_mutex_unlock(&watching);
    return now;
}

static void *queue_or_wait(void *arg)
{
    worker *w = arg;
    ndp_stream *s = workers[0].stream;
    unsigned char bytes[256];
    int32_t done;
    pthread_barrier_wait(&start);
    for (uint64_t round = 0; w->number == 0 && round < 5 * abi.count; round++)
        abi_copy(s, watched[1 + round % 7], 0, watched[round % 7], 0, 256);
    if (w->number == 0) {
        pthread_mutex_lock(&watching);
        queueing = 0;
        pthread_mutex_unlock(&watching);
        return NULL;
    }
    while (still()) {
        if (w->number == 1)
            abi_call(abi.stream.sync(abi.dev, s), "sync of a stream that another thread feeds");
        else if (w->number == 2)
            abi_call(abi.stream.query(abi.dev, s, &done), "query of such a stream");
        else
            abi_read(s, watched[0], 0, bytes, sizeof bytes);
    }
    return NULL;
}

static void third(void)
{
    unsigned char bytes[256];
    abi_fill(bytes, sizeof bytes, 6);
    for (size_t i = 0; i < 8; i++) {
        watched[i] = abi_alloc(256);
        abi_write(NULL, watched[i], 0, bytes, sizeof bytes);
    }
    abi_call(abi.p.sync(abi.dev, NULL), "sync");
    run(queue_or_wait);
    abi_read(workers[0].stream, watched[7], 0, bytes, sizeof bytes);
    abi_filled(bytes, sizeof bytes, 6, 0, "what one thread queued while others waited");
}

/* The text of an error is the calling thread's own, so a failing call must give it there. */
static void *fail(void *arg)
{
    char what[64];
    (void)arg;
    pthread_barrier_wait(&start);
    for (uint64_t round = 0; round < abi.count; round++) {
        ndp_mem *m = NULL;
        snprintf(what, sizeof what, "alloc of 2^64 - 1 bytes, while other threads do the same");
        abi_refused(abi.p.alloc(abi.dev, UINT64_MAX, &m), NDP_ERR_MEMORY, what);
    }
    return NULL;
}

static void errors(void)
{
    run(fail);
}

/* All devices at once, a thread each; each round they are open together. */
static ndp_dev *opened[THREADS];

static void differ(int number)
{
    for (int i = 0; i < number; i++)
        abi_expect(opened[i] != opened[number],
                   "devices %d and %d, opened at once, are the same handle", i, number);
}

static void use_own(int number)
{
    unsigned char bytes[1000];
    ndp_dev *dev = opened[number];
    ndp_mem *m = NULL;
    abi_call(abi.p.alloc(dev, sizeof bytes, &m), "alloc");
    abi_fill(bytes, sizeof bytes, (uint64_t)number);
    abi_call(abi.p.write(dev, NULL, m, 0, bytes, sizeof bytes), "write");
    memset(bytes, 0, sizeof bytes);
    abi_call(abi.p.read(dev, NULL, m, 0, bytes, sizeof bytes), "read");
    abi_filled(bytes, sizeof bytes, (uint64_t)number, 0, "a device opened beside others");
    abi.p.free(dev, m);
}

static void *open_own(void *arg)
{
    const int number = ((const worker *)arg)->number;
    const bool there = (uint32_t)number < abi.n_devices;
    for (int round = 0; round < 3; round++) {
        pthread_barrier_wait(&start);
        if (there)
            abi_call(abi.p.open((uint32_t)number, &opened[number]), "open of several at once");
        pthread_barrier_wait(&start);
        if (there) {
            differ(number);
            use_own(number);
        }
        pthread_barrier_wait(&start);
        if (there)
            abi.p.close(opened[number]);
    }
    return NULL;
}

static void devices(void)
{
    abi_close();
    abi.has_stream = false; /* what is left of device 0 here is its default stream */
    run(open_own);
}

/* The device 0 is opened by a thread, used by the next and closed by a third, turn about; and while
 * one thread opens it, the others are refused devices that are not there. */
static ndp_dev *passed;

static void refuse_in_turn(int number)
{
    ndp_dev *none = NULL;
    abi_refused(abi.p.open(abi.n_devices + (uint32_t)number, &none), 0,
                "open of a device that is not there, while another thread opens one");
    abi_expect(!none, "open of a device that is not there gives a handle");
}

static void *open_and_pass(void *arg)
{
    const int number = ((const worker *)arg)->number;
    for (int round = 0; round < 2 * THREADS; round++) {
        const int turn = (number + round) % THREADS;
        pthread_barrier_wait(&start);
        if (turn == 0)
            abi_call(abi.p.open(0, &passed), "open(0) by a thread other than the last one");
        else
            refuse_in_turn(number);
        pthread_barrier_wait(&start);
        if (turn == 1) {
            opened[1] = passed;
            use_own(1);
        }
        pthread_barrier_wait(&start);
        if (turn == 2)
            abi.p.close(passed);
    }
    return NULL;
}

static void opens(void)
{
    abi_close();
    abi.has_stream = false;
    run(open_and_pass);
}

const abi_check abi_thread_checks[] = {
    {"F.alloc_free", "threads allocate and free at once", alloc_free, ABI_DEVICE},
    {"F.transfers", "threads write, copy and read at once", transfers, ABI_DEVICE},
    {"F.streams", "streams and events come and go in several threads", streams, ABI_STREAMS},
    {"F.third", "threads may wait for a stream that another one feeds", third,
     ABI_STREAMS | ABI_COPY},
    {"F.errors", "errors are told to the thread that met them", errors, ABI_DEVICE},
    {"F.open", "a device is opened, used and closed by different threads", opens, ABI_DEVICE},
    {"F.devices", "devices are opened and used by threads of their own", devices, ABI_DEVICE},
    {NULL, NULL, NULL, 0}};
