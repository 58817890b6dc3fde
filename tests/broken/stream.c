/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Streams, and planting a fault as <ndock/sim.h> has it. */
#include <ndock/sim.h>
#include "device.h"

enum { HIGHEST = -1, LOWEST = 0 };

static int32_t new_handle(queue *q, bool wrapper, ndp_stream **out)
{
    ndp_stream *s = *out = take_memory(broken(break_host_alloc_null) ? 0 : sizeof *s);
    if (!s && !broken(break_host_alloc_null))
        return no_memory(sizeof *s);
    s->q = q;
    s->wrapper = wrapper;
    s->maker = pthread_self();
    return NDP_OK;
}

static int32_t stream_create(ndp_dev *dev, int32_t priority, uint64_t flags, ndp_stream **out)
{
    queue *q = NULL;
    *out = NULL;
    if (flags || priority < HIGHEST + broken(break_priorities) || priority > LOWEST)
        return host->error(host->ctx, NDP_ERR_ARGUMENT, 0, "priority %d, flags %llu", (int)priority,
                           (unsigned long long)flags);
    if (broken(break_stream_slots) && ++dev->n_streams > 64)
        return host->error(host->ctx, NDP_ERR_MEMORY, 0, "there are 64 streams already");
    join_ended(dev);
    int32_t status = queue_new(dev, &q);
    if (status == NDP_OK && (status = new_handle(q, false, out)) != NDP_OK)
        queue_release(q);
    return status;
}

static void stream_destroy(ndp_dev *dev, ndp_stream *s)
{
    (void)dev;
    if (broken(break_destroy_waits))
        (void)queue_sync(s->q);
    if (broken(break_destroy_drops) && !s->wrapper)
        queue_drop_work(s->q);
    queue_release(s->q);
    if (broken(break_wrap_destroys) && s->wrapper)
        queue_release(s->q);
    give_memory(s);
}

static int32_t stream_query(ndp_dev *dev, ndp_stream *s, int32_t *done)
{
    *done = queue_done(queue_of(dev, s)) || broken(break_query);
    return NDP_OK;
}

int32_t stream_sync(ndp_dev *dev, ndp_stream *s)
{
    if (broken(break_thread_bound) && s && !pthread_equal(s->maker, pthread_self()))
        return host->error(host->ctx, NDP_ERR_STATE, 0, "the stream is another thread's");
    if (broken(break_sync_all))
        wait_for_all(dev);
    return queue_sync(queue_of(dev, s));
}

static int32_t priority_range(ndp_dev *dev, int32_t *lowest, int32_t *highest)
{
    (void)dev;
    *lowest = LOWEST;
    *highest = HIGHEST;
    return NDP_OK;
}

static int32_t stream_native(ndp_dev *dev, ndp_stream *s, uint64_t *handle)
{
    *handle = (uint64_t)(uintptr_t)queue_of(dev, s);
    return NDP_OK;
}

static int32_t stream_wrap(ndp_dev *dev, uint64_t handle, ndp_stream **out)
{
    queue *q = (queue *)(uintptr_t)handle;
    *out = NULL;
    if (queue_device(q) != dev && !broken(break_wrap_foreign))
        return host->error(host->ctx, NDP_ERR_DEVICE, 0, "the stream is of device %d, not %d",
                           (int)queue_device(q)->index, (int)dev->index);
    int32_t status = new_handle(q, true, out);
    if (status == NDP_OK)
        queue_hold(q);
    return status;
}

static int32_t launch_host(ndp_dev *dev, ndp_stream *s, void (*fn)(void *arg), void *arg)
{
    return submit(dev, s, &(job){.kind = JOB_HOST, .fn = fn, .arg = arg}, false);
}

const ndp_stream_1 stream_group = {.size = sizeof(ndp_stream_1),
                                   .create = stream_create,
                                   .destroy = stream_destroy,
                                   .query = stream_query,
                                   .sync = stream_sync,
                                   .wait = stream_wait,
                                   .event_create = event_create,
                                   .event_destroy = event_destroy,
                                   .event_record = event_record,
                                   .event_query = event_query,
                                   .event_sync = event_sync,
                                   .event_elapsed = event_elapsed,
                                   .priority_range = priority_range,
                                   .native = stream_native,
                                   .wrap = stream_wrap,
                                   .launch_host = launch_host};

static int32_t plant(ndp_dev *dev, ndp_stream *s, uint64_t k, int64_t native, int32_t sticky)
{
    if (sticky)
        return host->error(host->ctx, NDP_ERR_UNSUPPORTED, 0, "its devices are not lost");
    queue_fault(queue_of(dev, s), k, native);
    return NDP_OK;
}

static const ndsim_control_1 faults = {.size = NDP_END(ndsim_control_1, fault), .fault = plant};
const void *const fault_group = &faults;
