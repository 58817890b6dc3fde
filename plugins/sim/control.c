/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Group "org.ndock.sim/1": what tests do to the devices, and what they ask them. */
#include <stdio.h>
#include <string.h>
#include "checker.h"
#include "graph.h"
#include "simulator.h"

/* Locks, and finds the queue a test means: *q is NULL for any. */
static int32_t begin(ndp_dev *dev, ndp_stream *s, sim_queue **q)
{
    pthread_mutex_lock(&sim_mutex);
    *q = s == NDSIM_ANY ? NULL : sim_queue_of(dev, s);
    if (s == NDSIM_ANY || (*q && (*q)->dev == dev))
        return NDP_OK;
    return sim_fail(NDP_ERR_ARGUMENT, 0, "the stream is not one of sim:%d", dev->index);
}

static int32_t end(int32_t status)
{
    pthread_mutex_unlock(&sim_mutex);
    return status;
}

static int32_t set_mode(ndp_dev *dev, int32_t mode)
{
    if (mode != NDSIM_AUTO && mode != NDSIM_STEPPED)
        return sim_fail(NDP_ERR_ARGUMENT, 0, "%d is not a mode; auto is 0, stepped 1", (int)mode);
    pthread_mutex_lock(&sim_mutex);
    int32_t status = NDP_OK;
    dev->mode = mode;
    if (mode == NDSIM_AUTO)
        status = sim_worker_start(dev);
    pthread_cond_broadcast(&sim_changed);
    return end(status);
}

static int32_t step(ndp_dev *dev, ndp_stream *s, uint64_t n, uint64_t *ran)
{
    sim_queue *q;
    int32_t status = begin(dev, s, &q);
    *ran = 0;
    if (status == NDP_OK && dev->mode != NDSIM_STEPPED)
        status = sim_fail(NDP_ERR_STATE, 0, "sim:%d runs by itself; set_mode(NDSIM_STEPPED) first",
                          dev->index);
    if (status == NDP_OK)
        *ran = sim_step(dev, q, n);
    return end(status);
}

static int32_t run_until(ndp_dev *dev, ndp_event *e)
{
    (void)dev;
    pthread_mutex_lock(&sim_mutex);
    sim_record *r = e->latest;
    if (!r)
        return end(sim_fail(NDP_ERR_NOT_RECORDED, 400, "the event was never recorded"));
    r->refs++;
    sim_need(r->queue, r->position);
    sim_record_unref(r);
    return end(NDP_OK);
}

static int32_t pending(ndp_dev *dev, ndp_stream *s, uint64_t *count)
{
    sim_queue *only;
    int32_t status = begin(dev, s, &only);
    *count = 0;
    for (sim_queue *q = dev->queues; q && status == NDP_OK; q = q->next)
        if (!only || q == only)
            *count += q->queued - q->done;
    return end(status);
}

static int32_t stream_id(ndp_dev *dev, ndp_stream *s, uint64_t *id)
{
    sim_queue *q;
    int32_t status = begin(dev, s, &q);
    *id = status == NDP_OK && q ? q->id : 0;
    return end(status);
}

static int32_t get_clock(ndp_dev *dev, uint64_t *ticks)
{
    (void)dev;
    pthread_mutex_lock(&sim_mutex);
    *ticks = sim_now;
    return end(NDP_OK);
}

static int32_t advance(ndp_dev *dev, uint64_t ticks)
{
    (void)dev;
    pthread_mutex_lock(&sim_mutex);
    sim_now += ticks;
    return end(NDP_OK);
}

static int32_t set_cost(ndp_dev *dev, uint64_t ticks, uint64_t real_us)
{
    pthread_mutex_lock(&sim_mutex);
    dev->cost = ticks;
    dev->real_us = real_us;
    return end(NDP_OK);
}

static int32_t fail_call(ndp_dev *dev, const char *entry, uint64_t k, int32_t status,
                         int64_t native)
{
    int32_t found = -1;
    for (int32_t i = 0; i < SIM_ENTRY_COUNT; i++)
        if (strcmp(entry, sim_entry_name(i)) == 0)
            found = i;
    if (found < 0 || k == 0 || status == NDP_OK)
        return sim_fail(NDP_ERR_ARGUMENT, 0,
                        "no failure of %s, call %llu, status %d can be planted; the log has the "
                        "names, calls count from 1",
                        entry, (unsigned long long)k, (int)status);
    pthread_mutex_lock(&sim_mutex);
    return end(sim_plan_add(
        dev,
        (sim_plan){
            .what = SIM_PLAN_CALL, .entry = found, .k = k, .status = status, .native = native}));
}

static int32_t plan_op(ndp_dev *dev, ndp_stream *s, sim_plan plan)
{
    sim_queue *q;
    int32_t status = begin(dev, s, &q);
    plan.stream = status == NDP_OK && q ? q->id : 0;
    if (status == NDP_OK && plan.k == 0)
        status = sim_fail(NDP_ERR_ARGUMENT, 0, "operations count from 1");
    if (status == NDP_OK)
        status = sim_plan_add(dev, plan);
    return end(status);
}

static int32_t fault(ndp_dev *dev, ndp_stream *s, uint64_t k, int64_t native, int32_t sticky)
{
    return plan_op(dev, s,
                   (sim_plan){.what = SIM_PLAN_FAULT, .k = k, .native = native, .sticky = sticky});
}

static int32_t slow(ndp_dev *dev, ndp_stream *s, uint64_t k, uint64_t ticks, uint64_t real_us)
{
    return plan_op(dev, s,
                   (sim_plan){.what = SIM_PLAN_SLOW, .k = k, .ticks = ticks, .real_us = real_us});
}

static int32_t memory_after(ndp_dev *dev, uint64_t nbytes)
{
    pthread_mutex_lock(&sim_mutex);
    dev->alloc_limit = nbytes;
    return end(NDP_OK);
}

static int32_t fail_allocs(ndp_dev *dev, uint64_t n)
{
    pthread_mutex_lock(&sim_mutex);
    dev->failing_allocs = n;
    return end(NDP_OK);
}

static int32_t clear_faults(ndp_dev *dev)
{
    pthread_mutex_lock(&sim_mutex);
    sim_plans_clear(dev);
    dev->alloc_limit = UINT64_MAX;
    dev->failing_allocs = 0;
    dev->cost = SIM_DEFAULT_COST;
    dev->real_us = 0;
    return end(NDP_OK);
}

static int32_t red_zones(ndp_dev *dev, uint64_t *damaged, char *text, size_t n)
{
    pthread_mutex_lock(&sim_mutex);
    *damaged = sim_check_zones(dev, text, n);
    return end(NDP_OK);
}

static int32_t peek(ndp_dev *dev, ndp_mem *mem, uint64_t offset, uint64_t nbytes, void **host)
{
    pthread_mutex_lock(&sim_mutex);
    *host = NULL;
    int32_t status = sim_check_range(dev, mem, offset, nbytes, "peek");
    if (status == NDP_OK)
        *host = mem->alias + offset;
    return end(status);
}

static int32_t log_count(ndp_dev *dev, const char *entry, uint64_t *count)
{
    int32_t known = entry == NULL;
    pthread_mutex_lock(&sim_mutex);
    *count = entry ? 0 : dev->logged - dev->log_base;
    for (int32_t i = 0; entry && i < SIM_ENTRY_COUNT; i++)
        if (strcmp(entry, sim_entry_name(i)) == 0) {
            *count = dev->counts[i];
            known = 1;
        }
    return end(known ? NDP_OK : sim_fail(NDP_ERR_ARGUMENT, 0, "%s is no entry of the log", entry));
}

static int32_t log_get(ndp_dev *dev, uint64_t i, ndsim_call *out)
{
    pthread_mutex_lock(&sim_mutex);
    uint64_t kept = dev->logged - dev->log_base;
    if (kept > SIM_LOG_ENTRIES)
        kept = SIM_LOG_ENTRIES;
    if (i >= kept || !dev->log)
        return end(NDP_ERR_INDEX);
    *out = dev->log[(dev->logged - kept + i) % SIM_LOG_ENTRIES];
    return end(NDP_OK);
}

static int32_t log_clear(ndp_dev *dev)
{
    pthread_mutex_lock(&sim_mutex);
    dev->log_base = dev->logged;
    memset(dev->counts, 0, sizeof dev->counts);
    return end(NDP_OK);
}

static int32_t set_checker(ndp_dev *dev, int32_t on)
{
    (void)dev;
    pthread_mutex_lock(&sim_mutex);
    sim_checker_reset(on);
    return end(NDP_OK);
}

static int32_t race_count(ndp_dev *dev, uint64_t *count)
{
    (void)dev;
    pthread_mutex_lock(&sim_mutex);
    *count = sim_race_count();
    return end(NDP_OK);
}

static int32_t race_text(ndp_dev *dev, uint64_t i, char *text, size_t n)
{
    (void)dev;
    pthread_mutex_lock(&sim_mutex);
    const char *found = sim_race_text(i);
    if (n)
        snprintf(text, n, "%s", found ? found : "");
    return end(found ? NDP_OK : NDP_ERR_INDEX);
}

static int32_t race_clear(ndp_dev *dev)
{
    (void)dev;
    pthread_mutex_lock(&sim_mutex);
    sim_race_clear();
    return end(NDP_OK);
}

static int32_t set_blocking(ndp_dev *dev, ndp_stream *s, int32_t blocking)
{
    sim_queue *q;
    int32_t status = begin(dev, s, &q);
    if (status == NDP_OK && q)
        q->blocking = blocking;
    return end(status);
}

static int32_t graph_size(ndp_dev *dev, ndp_graph *g, uint64_t *count)
{
    (void)dev;
    pthread_mutex_lock(&sim_mutex);
    *count = sim_graph_size(g);
    return end(NDP_OK);
}

static int32_t graph_launch(ndp_dev *dev, ndp_graph *g, ndp_stream *s)
{
    pthread_mutex_lock(&sim_mutex);
    return end(dev->lost ? sim_fail_lost(dev) : sim_graph_launch(dev, g, s));
}

static int32_t drop_wait(ndp_dev *dev, uint64_t k)
{
    pthread_mutex_lock(&sim_mutex);
    dev->drop_wait = k;
    return end(NDP_OK);
}

static int32_t drop_sight(ndp_dev *dev, uint64_t k)
{
    (void)dev;
    pthread_mutex_lock(&sim_mutex);
    sim_drop_sight = k;
    return end(NDP_OK);
}

static int32_t drops_left(ndp_dev *dev, uint64_t *count)
{
    pthread_mutex_lock(&sim_mutex);
    *count = (dev->drop_wait != 0) + (sim_drop_sight != 0);
    return end(NDP_OK);
}

const ndsim_control_1 sim_control_group = {
    .size = sizeof(ndsim_control_1),
    .set_mode = set_mode,
    .step = step,
    .run_until = run_until,
    .pending = pending,
    .stream_id = stream_id,
    .clock = get_clock,
    .advance = advance,
    .set_cost = set_cost,
    .fail_call = fail_call,
    .fault = fault,
    .slow = slow,
    .memory_after = memory_after,
    .fail_allocs = fail_allocs,
    .clear_faults = clear_faults,
    .red_zones = red_zones,
    .peek = peek,
    .log_count = log_count,
    .log_get = log_get,
    .log_clear = log_clear,
    .set_checker = set_checker,
    .race_count = race_count,
    .race_text = race_text,
    .race_clear = race_clear,
    .set_blocking = set_blocking,
    .graph_size = graph_size,
    .graph_launch = graph_launch,
    .drop_wait = drop_wait,
    .drop_sight = drop_sight,
    .drops_left = drops_left,
};
