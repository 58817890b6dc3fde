/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Injected faults: calls that fail as if the plug-in had said so. A function that waits is called
 * first, since a real one that reports a fault has waited too; no other is called. A device that
 * was told to be lost stays it. */
#include <stdio.h>
#include "core/plugin/hook/hook.h"

static uint64_t mix(uint64_t x)
{
    x += UINT64_C(0x9e3779b97f4a7c15); /* splitmix64 */
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

static bool concerns(const hook_rule *r, const hook_call *c)
{
    if (!(r->slots[c->id / 64] >> c->id % 64 & 1) ||
        (r->plugin && strcmp(r->plugin, c->of->plugin) != 0) ||
        (r->index >= 0 && (!c->dev || c->dev->index != (uint32_t)r->index)))
        return false;
    int call = nd__hook_place(c->slot, HOOK_KIND_CALL);
    return !r->op || (call >= 0 && ((const ndp_call *)(uintptr_t)c->word[call])->op == r->op);
}

/* nth: which call of the rule's this is, from 1. */
static bool due(const hook_rule *r, uint64_t nth, uint64_t salt)
{
    switch (r->when) {
    case HOOK_WHEN_NTH:
        return nth == r->n;
    case HOOK_WHEN_FROM:
        return nth >= r->n;
    case HOOK_WHEN_EVERY:
        return nth % r->n == 0;
    default:
        return (double)(mix(salt ^ nth) >> 11) * 0x1p-53 < r->chance;
    }
}

static void fail(hook_call *c, const hook_rule *r, uint64_t nth)
{
    char device[96] = "";
    if (c->dev)
        snprintf(device, sizeof device, " of %s:%u", c->of->plugin, c->dev->index);
    c->injected = true;
    c->result =
        (uint64_t)nd__fail(r->status, NULL, -1, "NDOCK_HOOK_FAULT made call %llu of %s.%s%s fail",
                           (unsigned long long)nth, c->slot->table, c->slot->name, device);
    nd__error_native(r->native);
    nd__error_context(NULL, NULL, c->of->plugin);
    if (r->status == NDP_ERR_LOST && c->dev)
        atomic_store(&c->dev->lost, 1);
    int why = nd__hook_place(c->slot, HOOK_KIND_WHY);
    if (why >= 0)
        snprintf((char *)(uintptr_t)c->word[why], (size_t)c->word[why + 1], "%s",
                 nd_last_error()->message);
    if (c->id == HOOK_SLOT_plugin_probe)
        *(uint32_t *)(uintptr_t)c->word[0] = 0;
}

static bool waits(hook_slot_id id)
{
    return id == HOOK_SLOT_plugin_sync || id == HOOK_SLOT_plugin_read ||
           id == HOOK_SLOT_stream_sync || id == HOOK_SLOT_stream_event_sync;
}

/* Every rule counts its calls, also those that an earlier one lets fail. */
static void apply(hook_call *c)
{
    const hook_conf *conf = &nd__hook_settings;
    for (int i = 0; i < conf->n_rules; i++) {
        hook_rule *r = &conf->rules[i];
        if (!concerns(r, c))
            continue;
        uint64_t nth = atomic_fetch_add(&r->calls, 1) + 1;
        if (!c->injected && due(r, nth, mix(conf->seed + (uint64_t)i)))
            fail(c, r, nth);
    }
}

bool nd__hook_fault_enter(hook_call *c)
{
    if (!c->slot->status)
        return false;
    if (c->dev && atomic_load(&c->dev->lost) && c->id != HOOK_SLOT_plugin_open) {
        c->injected = true;
        c->result = (uint64_t)nd__fail(ND_ERR_LOST, NULL, -1, "NDOCK_HOOK_FAULT took %s:%u away",
                                       c->of->plugin, c->dev->index);
        nd__error_context(NULL, NULL, c->of->plugin);
        return true;
    }
    if (!waits(c->id))
        apply(c);
    return c->injected;
}

void nd__hook_fault_leave(hook_call *c)
{
    if (waits(c->id) && (int32_t)c->result == NDP_OK)
        apply(c);
}
