/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Times between events, which are milliseconds, against the host's clock. What the host knows: a
 * record is done after it was asked for, and before somebody was told that it is done. */
#include <ndock/sim.h>
#include "core/plugin/hook/check.h"

/* Of the clocks: they run a little apart, and have steps. */
#define SLACK_MS 1.0
#define SLACK_SHARE 0.05

static hook_object *event_of(const hook_call *c, int i)
{
    return nd__hook_object_get(c->of, 'e', (const void *)(uintptr_t)c->word[i]);
}

static void note_record(hook_call *c)
{
    const int i = nd__hook_place(c->slot, HOOK_KIND_EVENT);
    nd__hook_lock();
    hook_object *e = i < 0 ? NULL : event_of(c, i);
    if (e) {
        e->recorded_ns = c->began_ns;
        e->reached_ns = 0;
    }
    nd__hook_unlock();
}

static void note_reached(hook_call *c, uint64_t now)
{
    const int i = nd__hook_place(c->slot, HOOK_KIND_EVENT);
    nd__hook_lock();
    hook_object *e = i < 0 ? NULL : event_of(c, i);
    if (e && e->recorded_ns && !e->reached_ns)
        e->reached_ns = now;
    nd__hook_unlock();
}

/* A device that simulates has a clock of its own. */
static bool has_own_clock(const hook_call *c)
{
    return c->of->real.group && c->dev && c->of->real.group(c->dev->dev, NDSIM_GROUP);
}

static bool elapsed_broken(hook_call *c, uint64_t now)
{
    double ms = 0, least = 0, most = 0;
    memcpy(&ms, (const void *)(uintptr_t)c->word[3], sizeof ms);
    nd__hook_lock();
    const hook_object *start = event_of(c, 1), *stop = event_of(c, 2);
    const bool known = start && stop && start->recorded_ns && stop->recorded_ns &&
                       stop->recorded_ns >= start->recorded_ns;
    if (known) {
        most = (double)(now - start->recorded_ns) * 1e-6;
        if (start->reached_ns && stop->recorded_ns > start->reached_ns)
            least = (double)(stop->recorded_ns - start->reached_ns) * 1e-6;
    }
    nd__hook_unlock();
    if (!known || has_own_clock(c))
        return false;
    return (ms > most * (1 + SLACK_SHARE) + SLACK_MS ||
            ms < least * (1 - SLACK_SHARE) - SLACK_MS) &&
           nd__hook_violated(c, "elapsed",
                             "it says %g between events that lie %g to %g milliseconds apart by "
                             "the host's clock",
                             ms, least, most);
}

bool nd__hook_check_time(hook_call *c)
{
    const uint64_t now = nd__hook_now();
    if ((int32_t)c->result != NDP_OK || c->injected)
        return false;
    switch (c->id) {
    case HOOK_SLOT_stream_event_record:
        note_record(c);
        return false;
    case HOOK_SLOT_stream_event_sync:
        note_reached(c, now);
        return false;
    case HOOK_SLOT_stream_event_elapsed:
        return elapsed_broken(c, now);
    default:
        return false;
    }
}
