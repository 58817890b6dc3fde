/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Queued work: who may run next, and running it, by a device's worker or by whoever steps it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "checker.h"
#include "comm.h"
#include "graph.h"
#include "simulator.h"

uint64_t sim_now;
static uint64_t sequence; /* of operations, over all queues */

sim_body *sim_body_new(int32_t kind, const char *name, ndp_dev *dev, size_t extra_bytes,
                       void **extra)
{
    size_t head = (sizeof(sim_body) + 63) / 64 * 64;
    if (extra_bytes > SIZE_MAX - head)
        return NULL;
    sim_body *b = malloc(head + extra_bytes);
    if (!b)
        return NULL;
    memset(b, 0, sizeof *b);
    b->refs = 1;
    b->kind = kind;
    b->name = name;
    b->dev = dev;
    if (extra)
        *extra = (char *)b + head;
    return b;
}

void sim_body_use(sim_body *b, int32_t i, ndp_mem *mem)
{
    b->mem[i] = mem;
    mem->uses++;
    if (mem->base)
        mem->base->uses++;
}

void sim_body_unref(sim_body *b)
{
    if (!b || --b->refs)
        return;
    for (int i = 0; i < SIM_MAX_MEMS; i++) {
        ndp_mem *mem = b->mem[i];
        if (!mem)
            continue;
        if (mem->base)
            sim_mem_unuse(mem->base);
        sim_mem_unuse(mem);
    }
    sim_part_free(b->parts);
    sim_branch_free(b->branch);
    free(b);
}

static void free_op(sim_op *op)
{
    sim_body_unref(op->body);
    if (op->record)
        sim_record_unref(op->record);
    free(op);
}

static void *worker_main(void *arg);

/* A forked child has none of the threads and is no user of the devices: there, shutdown() finds
 * nothing to do. */
static void forget_workers(void)
{
    pthread_mutex_init(&sim_mutex, NULL);
    for (int i = 0; i < SIM_MAX_DEVICES; i++)
        sim_devices[i].opened = sim_devices[i].worker_runs = sim_devices[i].host_functions = 0;
}

/* Workers begin with the first work queued after open. */
int32_t sim_worker_start(ndp_dev *dev)
{
    if (dev->worker_runs || dev->mode == NDSIM_STEPPED)
        return NDP_OK;
    static int32_t watching_forks;
    if (!watching_forks)
        watching_forks = pthread_atfork(NULL, NULL, forget_workers) == 0;
    dev->stopping = 0;
    int rc = pthread_create(&dev->worker, NULL, worker_main, dev);
    if (rc != 0)
        return sim_fail(NDP_ERR_MEMORY, rc, "sim:%d: its thread could not be started", dev->index);
    dev->worker_runs = 1;
    return NDP_OK;
}

static int32_t append(sim_queue *q, sim_op *op)
{
    ndp_dev *dev = q->dev;
    op->position = ++q->queued;
    op->sequence = ++sequence;
    op->issued = sim_now;
    if (op->kind != SIM_OP_RECORD && op->kind != SIM_OP_WAIT && op->kind != SIM_OP_HOST) {
        op->cost = dev->cost;
        op->real_us = dev->real_us;
    }
    if (op->body)
        sim_plan_op(q, op);
    if (sim_checking)
        sim_check_op(q, op);
    if (!q->head)
        q->refs++; /* for all that is queued */
    *(q->tail ? &q->tail->next : &q->head) = op;
    q->tail = op;
    pthread_cond_broadcast(&sim_changed);
    return NDP_OK;
}

int32_t sim_push(sim_queue *q, sim_body *body, uint64_t *position)
{
    if (sim_patching(q->dev))
        return sim_patch(body);
    int32_t status = sim_capture_check_push(q);
    sim_op *op = NULL;
    if (status == NDP_OK && q->capture)
        return sim_capture_add(q, body);
    if (status == NDP_OK)
        status = sim_worker_start(q->dev);
    if (status == NDP_OK && (op = calloc(1, sizeof *op)) == NULL)
        status = sim_fail(NDP_ERR_MEMORY, 0, "no host memory to queue an operation");
    if (status != NDP_OK) {
        sim_body_unref(body);
        return status;
    }
    op->kind = body->kind;
    op->body = body;
    status = append(q, op);
    if (position)
        *position = op->position;
    return status;
}

int32_t sim_push_mark(sim_queue *q, int32_t kind, sim_record *r)
{
    int32_t status = sim_worker_start(q->dev);
    sim_op *op = status == NDP_OK ? calloc(1, sizeof *op) : NULL;
    if (!op)
        return status != NDP_OK
                   ? status
                   : sim_fail(NDP_ERR_MEMORY, 0, "no host memory to queue an operation");
    op->kind = kind;
    op->record = r;
    r->refs++;
    if (kind == SIM_OP_RECORD)
        r->position = q->queued + 1;
    return append(q, op);
}

static int32_t can_run(sim_queue *q)
{
    if (!q->head || q->running)
        return 0;
    if (q->head->kind == SIM_OP_COMM)
        return sim_comm_ready(q);
    return !(q->head->kind == SIM_OP_WAIT && !q->head->record->done);
}

static void pause_us(uint64_t us)
{
    struct timespec t = {.tv_sec = (time_t)(us / 1000000), .tv_nsec = (long)(us % 1000000) * 1000};
    if (us)
        nanosleep(&t, NULL);
}

static uint64_t next_random(ndp_dev *dev)
{
    /* Marsaglia, Xorshift RNGs, 2003. */
    dev->random ^= dev->random << 13;
    dev->random ^= dev->random >> 7;
    dev->random ^= dev->random << 17;
    return dev->random;
}

static void take_fault(sim_queue *q, const sim_op *op)
{
    ndp_dev *dev = q->dev;
    if (op->sticky) {
        dev->lost = 1;
        dev->lost_native = op->native;
    }
    if (q->error.status != NDP_OK)
        return; /* the first one is reported */
    q->error.status = op->sticky ? NDP_ERR_LOST : NDP_ERR_ASYNC;
    q->error.native = op->native;
    snprintf(q->error.text, sizeof q->error.text,
             "sim:%d stream %llu: operation %llu (%s) faulted with code %lld", dev->index,
             (unsigned long long)q->id, (unsigned long long)op->position, op->body->name,
             (long long)op->native);
}

/* Everything but the marks; without the lock. */
static void perform(sim_queue *q, sim_op *op, uint64_t latency)
{
    sim_error error = {.status = NDP_OK};
    const int32_t is_host = op->kind == SIM_OP_HOST;
    q->dev->host_functions += is_host;
    if (is_host)
        pthread_cond_broadcast(&sim_changed);
    pthread_mutex_unlock(&sim_mutex);
    pause_us(op->real_us + latency);
    sim_execute(op->body, &error);
    pthread_mutex_lock(&sim_mutex);
    q->dev->host_functions -= is_host;
    if (error.status == NDP_OK)
        return;
    if (error.status == NDP_ERR_LOST) {
        q->dev->lost = 1;
        q->dev->lost_native = error.native;
    }
    if (q->error.status == NDP_OK)
        q->error = error;
}

/* Whether the operation is done; else there is more to exchange. */
static int32_t exchange(sim_queue *q, uint64_t latency, uint64_t *begin)
{
    const uint64_t real_us = q->head->real_us + latency;
    q->head->real_us = 0;
    if (real_us) {
        pthread_mutex_unlock(&sim_mutex);
        pause_us(real_us);
        pthread_mutex_lock(&sim_mutex);
    }
    if (sim_comm_run(q, begin))
        return 1;
    q->running = 0;
    pthread_cond_broadcast(&sim_changed);
    return 0;
}

/* Runs the first operation of a queue that can run. */
static void run_one(sim_queue *q)
{
    ndp_dev *dev = q->dev;
    sim_op *op = q->head;
    q->running = 1;
    uint64_t begin = q->time > op->issued ? q->time : op->issued;
    uint64_t latency = sim_set.latency_us > 0 && dev->mode == NDSIM_AUTO
                           ? next_random(dev) % (uint64_t)sim_set.latency_us
                           : 0;
    if (op->kind == SIM_OP_WAIT && op->record->time > begin)
        begin = op->record->time;
    if (op->kind == SIM_OP_COMM && (op->faulty || dev->lost))
        sim_comm_lost(op);
    if (op->faulty && !dev->lost)
        take_fault(q, op);
    else if (op->body && !dev->lost && op->kind != SIM_OP_COMM)
        perform(q, op, latency);
    else if (op->body && !dev->lost && !exchange(q, latency, &begin))
        return;
    q->time = begin + op->cost;
    if (op->kind == SIM_OP_RECORD) {
        op->record->time = q->time;
        op->record->done = 1;
    }
    q->head = op->next;
    if (!q->head)
        q->tail = NULL;
    q->done = op->position;
    q->running = 0;
    free_op(op);
    pthread_cond_broadcast(&sim_changed);
    if (!q->head)
        sim_queue_unref(q);
}

static sim_queue *pick_random(ndp_dev *dev)
{
    uint64_t n = 0;
    sim_queue *picked = NULL;
    for (sim_queue *q = dev->queues; q; q = q->next)
        if (can_run(q) && next_random(dev) % ++n == 0)
            picked = q;
    return picked;
}

static void *worker_main(void *arg)
{
    ndp_dev *dev = arg;
    pthread_mutex_lock(&sim_mutex);
    while (!dev->stopping) {
        sim_queue *q = dev->mode == NDSIM_AUTO ? pick_random(dev) : NULL;
        if (q)
            run_one(q);
        else
            sim_wait_changed();
    }
    pthread_mutex_unlock(&sim_mutex);
    return NULL;
}

void sim_worker_stop(ndp_dev *dev)
{
    if (!dev->worker_runs)
        return;
    dev->stopping = 1;
    dev->worker_runs = 0;
    pthread_cond_broadcast(&sim_changed);
    pthread_mutex_unlock(&sim_mutex);
    pthread_join(dev->worker, NULL);
    pthread_mutex_lock(&sim_mutex);
}

/* Whether the worker will get to other queues by itself. A host function, which may take as long as
 * it likes, keeps it from them; then whoever needs a queue runs it, as other devices would. */
static int32_t worker_serves(const ndp_dev *dev)
{
    return dev->mode == NDSIM_AUTO && dev->worker_runs && !dev->host_functions;
}

void sim_need(sim_queue *q, uint64_t position)
{
    q->refs++;
    while (q->done < position) {
        sim_op *op = q->head;
        if (q->running || worker_serves(q->dev))
            sim_wait_changed();
        else if (op->kind == SIM_OP_COMM && !sim_comm_ready(q))
            sim_comm_need(q);
        else if (op->kind == SIM_OP_WAIT && !op->record->done)
            /* Work can only wait for what was queued before it, so this ends. */
            sim_need(op->record->queue, op->record->position);
        else
            run_one(q);
    }
    sim_queue_unref(q);
}

void sim_host_waited(uint64_t until)
{
    if (until > sim_now)
        sim_now = until;
}

void sim_drain(ndp_dev *dev)
{
    int32_t again = 1;
    while (again) {
        again = 0;
        for (sim_queue *q = dev->queues; q && !again; q = q->next)
            if (q->done < q->queued) {
                sim_need(q, q->queued);
                again = 1; /* the list may have changed meanwhile */
            }
    }
}

static sim_queue *pick_first(ndp_dev *dev, sim_queue *only)
{
    sim_queue *first = NULL;
    for (sim_queue *q = dev->queues; q; q = q->next)
        if ((!only || q == only) && can_run(q) &&
            (!first || q->head->sequence < first->head->sequence))
            first = q;
    return first;
}

uint64_t sim_step(ndp_dev *dev, sim_queue *only, uint64_t n)
{
    uint64_t ran = 0;
    sim_queue *q;
    while (ran < n && (q = pick_first(dev, only)) != NULL) {
        run_one(q);
        ran++;
    }
    return ran;
}

int32_t sim_take_error(sim_queue *q)
{
    sim_error e = q->error;
    if (q->dev->lost)
        return e.status == NDP_ERR_LOST ? sim_fail(e.status, e.native, "%s", e.text)
                                        : sim_fail_lost(q->dev);
    q->error.status = NDP_OK;
    return e.status == NDP_OK ? NDP_OK : sim_fail(e.status, e.native, "%s", e.text);
}
