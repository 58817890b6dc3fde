/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The one place that knows why the host waits: the closed list of reasons, and each thread's sync
 * watch over them. */
#include "core/plugin/device.h"

static const char *const names[ND_WAIT_REASONS] = {
    "item",          "copy",        "pageable copy",
    "synchronize",   "event",       "data-dependent shape",
    "memory",        "staging",     "first use",
    "device memory", "module load", "launch blocking",
    "address",       "other ranks",
};

const char *nd_wait_name(int32_t reason)
{
    return reason >= 0 && reason < ND_WAIT_REASONS ? names[reason] : "?";
}

static nd_status check_mode(const char *op, int32_t mode)
{
    if (mode < ND_SYNC_OFF || mode > ND_SYNC_ERROR)
        return nd__fail(ND_ERR_ARGUMENT, op, 0,
                        "%d is not a mode; ND_SYNC_OFF, _COUNT, _WARN and _ERROR are 0 to 3",
                        (int)mode);
    return nd__thread() ? ND_OK : ND_ERR_MEMORY;
}

nd_status nd_sync_watch_set(int32_t mode)
{
    ND_RETURN_IF(check_mode("sync_watch_set", mode));
    nd__self->watch = mode;
    return ND_OK;
}

int32_t nd_sync_watch(void)
{
    return nd__self ? nd__self->watch : ND_SYNC_OFF;
}

nd_status nd_sync_watch_push(int32_t mode)
{
    ND_RETURN_IF(check_mode("sync_watch_push", mode));
    nd_thread *t = nd__self;
    int room = (int)(sizeof t->watch_before / sizeof *t->watch_before);
    if (t->n_watch == room)
        return nd__fail(ND_ERR_STATE, "sync_watch_push", 0, "nested more than %d deep", room);
    t->watch_before[t->n_watch++] = t->watch;
    t->watch = mode;
    return ND_OK;
}

nd_status nd_sync_watch_pop(void)
{
    nd_thread *t = nd__self;
    if (!t || !t->n_watch)
        return nd__fail(ND_ERR_STATE, "sync_watch_pop", -1, "no mode was pushed on this thread");
    t->watch = t->watch_before[--t->n_watch];
    return ND_OK;
}

void nd_sync_watch_counts(uint64_t counts[ND_WAIT_REASONS])
{
    if (!counts)
        (void)nd__refuse_null("sync_watch_counts", 0, "counts");
    for (int i = 0; counts && i < ND_WAIT_REASONS; i++)
        counts[i] = nd__self ? nd__self->waits[i] : 0;
}

void nd_sync_watch_reset(void)
{
    if (nd__self)
        memset(nd__self->waits, 0, sizeof nd__self->waits);
}

void nd__note_wait(int32_t reason, nd_device *device, const char *op)
{
    nd_thread *t = nd__self;
    if (!t || t->watch == ND_SYNC_OFF)
        return;
    t->waits[reason]++;
    if (t->watch >= ND_SYNC_WARN)
        nd__log(ND_LOG_WARN, "%s waits for %s: %s", op ? op : "a call", device->name,
                nd_wait_name(reason));
}

nd_status nd__may_wait(int32_t reason, nd_device *device, const char *op)
{
    if (!nd__self || nd__self->watch != ND_SYNC_ERROR) {
        nd__note_wait(reason, device, op);
        return ND_OK;
    }
    nd__self->waits[reason]++;
    nd__fail(ND_ERR_STATE, op, -1,
             "it would wait for %s (%s), and this thread's sync watch forbids waiting",
             device->name, nd_wait_name(reason));
    nd__error_context(NULL, device->name, NULL);
    return ND_ERR_STATE;
}
