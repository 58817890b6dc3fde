/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Queues: a thread each, which does what was submitted in that order. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "device.h"

struct queue {
    ndp_dev *dev;
    queue *next;
    pthread_t thread;
    job *head, **tail;
    uint64_t queued, done, work; /* work: jobs of JOB_BYTES, for faults */
    uint64_t fault_at;
    int64_t fault, error;
    int refs;
};

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void move_bytes(const job *j)
{
    static char bounce[32768];
    uint64_t n = j->n, more = broken(break_guard) && j->arg ? 1 : 0;
    if (broken(break_bounce_race) && n > 1 && n <= sizeof bounce) {
        memcpy(bounce, j->from, n);
        sched_yield();
        memcpy(j->to, bounce, n);
        return;
    }
    memcpy(j->to, j->from, n);
    if (more)
        j->to[n] = 0;
}

/* Without the lock. */
static void do_job(queue *q, job *j)
{
    bool fails = false;
    if (j->kind == JOB_BYTES) {
        pthread_mutex_lock(&lock);
        fails = q->fault_at && ++q->work == q->fault_at;
        if (fails && !broken(break_error_lost)) {
            queue *told = broken(break_error_other) ? q->dev->queues : q;
            told->error = q->fault;
            for (queue *o = q->dev->queues; broken(break_error_other) && o; o = o->next)
                o->error = o == q ? 0 : q->fault;
        }
        q->fault_at = fails ? 0 : q->fault_at;
        pthread_mutex_unlock(&lock);
    }
    if (j->kind == JOB_BYTES && !fails)
        move_bytes(j);
    else if (j->kind == JOB_HOST)
        j->fn(j->arg);
    else if (j->kind == JOB_FREE)
        mem_free(q->dev, j->mem);
}

/* With the lock, which is let go meanwhile. */
static void finish_job(queue *q, job *j)
{
    if (j->kind == JOB_WAIT)
        while (!j->r->done)
            pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    do_job(q, j);
    pthread_mutex_lock(&lock);
    if (j->kind == JOB_RECORD) {
        j->r->done = true;
        j->r->time = now();
    }
    if (j->r)
        record_release(j->r);
    q->done++;
    pthread_cond_broadcast(&changed);
}

static void *serve(void *arg)
{
    queue *q = arg;
    ndp_dev *dev = q->dev;
    pthread_mutex_lock(&lock);
    while (q->head || q->refs > 0) {
        job *j = q->head;
        if (!j) {
            pthread_cond_wait(&changed, &lock);
            continue;
        }
        q->head = j->next;
        if (!q->head)
            q->tail = &q->head;
        finish_job(q, j);
        give_memory(j);
    }
    queue **at = &dev->queues;
    while (*at != q)
        at = &(*at)->next;
    *at = q->next;
    q->next = dev->ended;
    dev->ended = q;
    dev->n_queues--;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    return NULL;
}

int32_t queue_new(ndp_dev *dev, queue **out)
{
    queue *q = *out = take_memory(sizeof *q);
    if (!q)
        return no_memory(sizeof *q);
    q->dev = dev;
    q->tail = &q->head;
    q->refs = 1;
    pthread_mutex_lock(&lock);
    int rc = pthread_create(&q->thread, NULL, serve, q);
    if (rc == 0) {
        q->next = dev->queues;
        dev->queues = q;
        dev->n_queues++;
    }
    pthread_mutex_unlock(&lock);
    if (rc == 0)
        return NDP_OK;
    give_memory(q);
    *out = NULL;
    return host->error(host->ctx, NDP_ERR_MEMORY, rc, "no thread for a stream: %s", strerror(rc));
}

void queue_hold(queue *q)
{
    pthread_mutex_lock(&lock);
    q->refs++;
    pthread_mutex_unlock(&lock);
}

void queue_release(queue *q)
{
    pthread_mutex_lock(&lock);
    q->refs--;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

queue *queue_of(ndp_dev *dev, const ndp_stream *s)
{
    return s ? s->q : dev->own;
}

ndp_dev *queue_device(const queue *q)
{
    return q->dev;
}

static bool overtakes(const queue *q, const job *j)
{
    static int copies;
    bool copy = j->kind == JOB_BYTES && q->head && j->n > 1000;
    return broken(break_in_order) && copy && ++copies % 3 == 0;
}

static void *run_by_itself(void *arg)
{
    job *j = arg;
    usleep((useconds_t)(j->n * 500));
    j->fn(j->arg);
    return NULL;
}

/* A host function that does not go into the queue. */
static bool runs_apart(const queue *q, const job *j)
{
    pthread_t t;
    uint64_t waiting = q->queued - q->done;
    if (j->kind != JOB_HOST)
        return false;
    if (broken(break_launch_thread) && waiting == 41) {
        j->fn(j->arg);
        return true;
    }
    if (!broken(break_launch_host) || waiting < 20)
        return false;
    job *own = calloc(1, sizeof *own);
    *own = *j;
    own->n = 100 - waiting % 5;
    return pthread_create(&t, NULL, run_by_itself, own) == 0;
}

int32_t submit(ndp_dev *dev, ndp_stream *s, const job *like, bool wait)
{
    queue *q = queue_of(dev, s);
    job *j;
    if (broken(break_thread_bound) && s && !pthread_equal(s->maker, pthread_self()))
        return host->error(host->ctx, NDP_ERR_STATE, 0, "the stream is another thread's");
    if (runs_apart(q, like))
        return NDP_OK;
    if ((j = take_memory(sizeof *j)) == NULL)
        return no_memory(sizeof *j);
    *j = *like;
    j->next = NULL;
    pthread_mutex_lock(&lock);
    while (broken(break_no_block) && q->queued - q->done >= 60)
        pthread_cond_wait(&changed, &lock);
    if (j->r)
        j->r->refs++;
    if (overtakes(q, j)) {
        j->next = q->head;
        q->head = j;
    } else {
        *q->tail = j;
        q->tail = &j->next;
    }
    uint64_t position = ++q->queued;
    pthread_cond_broadcast(&changed);
    while (wait && q->done < position)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    return NDP_OK;
}

static int32_t take_error(queue *q)
{
    int64_t native = q->error;
    if (!broken(break_error_stays))
        q->error = 0;
    return native ? host->error(host->ctx, NDP_ERR_ASYNC, native, "queued work failed with %lld",
                                (long long)native)
                  : NDP_OK;
}

/* Sleeps in short pieces; a signal ends it. */
static int32_t nervous_sync(const queue *q, uint64_t position)
{
    struct timespec t = {0, 50000};
    for (;;) {
        pthread_mutex_lock(&lock);
        bool done = q->done >= position;
        pthread_mutex_unlock(&lock);
        if (done)
            return NDP_OK;
        if (nanosleep(&t, NULL) != 0)
            return host->error(host->ctx, NDP_ERR_ASYNC, errno, "sync: %s", strerror(errno));
    }
}

int32_t queue_sync(queue *q)
{
    double end = now() + 0.010;
    struct timespec t = {0, 1000000};
    pthread_mutex_lock(&lock);
    uint64_t position = q->queued;
    if (broken(break_signal)) {
        pthread_mutex_unlock(&lock);
        int32_t status = nervous_sync(q, position);
        if (status != NDP_OK)
            return status;
        pthread_mutex_lock(&lock);
    }
    while (q->done < position && !broken(break_sync_waits)) {
        if (broken(break_sync_gated)) {
            pthread_mutex_unlock(&lock);
            if (now() > end)
                return NDP_OK;
            nanosleep(&t, NULL);
            pthread_mutex_lock(&lock);
        } else {
            pthread_cond_wait(&changed, &lock);
        }
    }
    int32_t status = take_error(q);
    pthread_mutex_unlock(&lock);
    return status;
}

void wait_for_all(ndp_dev *dev)
{
    pthread_mutex_lock(&lock);
    for (queue *q = dev->queues; q;)
        if (q->done < q->queued) {
            pthread_cond_wait(&changed, &lock);
            q = dev->queues; /* some may have ended meanwhile */
        } else {
            q = q->next;
        }
    pthread_mutex_unlock(&lock);
}

bool queue_done(const queue *q)
{
    pthread_mutex_lock(&lock);
    bool done = q->done == q->queued;
    pthread_mutex_unlock(&lock);
    return done;
}

void queue_fault(queue *q, uint64_t k, int64_t native)
{
    pthread_mutex_lock(&lock);
    q->work = 0;
    q->fault_at = k;
    q->fault = native;
    pthread_mutex_unlock(&lock);
}

/* What was queued and has not begun is as good as done. */
void queue_drop_work(queue *q)
{
    pthread_mutex_lock(&lock);
    for (job *j = q->head; j; j = j->next)
        if (j->kind == JOB_BYTES)
            j->n = 0;
    pthread_mutex_unlock(&lock);
}

void join_ended(ndp_dev *dev)
{
    pthread_mutex_lock(&lock);
    queue *list = dev->ended;
    dev->ended = NULL;
    pthread_mutex_unlock(&lock);
    while (list) {
        queue *next = list->next;
        pthread_join(list->thread, NULL);
        give_memory(list);
        list = next;
    }
}

void close_queues(ndp_dev *dev)
{
    pthread_mutex_lock(&lock);
    for (queue *q = dev->queues; q; q = q->next)
        q->refs = 0;
    pthread_cond_broadcast(&changed);
    while (dev->n_queues > 0)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    join_ended(dev);
    dev->own = NULL;
}
