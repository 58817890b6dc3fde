/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What a plug-in wrote into numbers, texts and structs of its caller: all that it must, nothing
 * more, and nothing senseless. The plug-in writes into room of the check's own where that shows how
 * far it went. */
#include <math.h>
#include <stdio.h>
#include "core/plugin/hook/check.h"

#define POISON 0x5a
static const uint64_t poison = UINT64_C(0x5a5a5a5a5a5a5a5a);

static size_t result_bytes(hook_kind kind)
{
    switch (kind) {
    case HOOK_KIND_OUT_COUNT:
    case HOOK_KIND_OUT_I32:
    case HOOK_KIND_OUT_FLAG:
        return 4;
    case HOOK_KIND_OUT_U64:
    case HOOK_KIND_OUT_F64:
    case HOOK_KIND_OUT_HOST:
        return 8;
    default:
        return 0;
    }
}

/* Texts and ndp_device_info go to the probe, from where they are copied back. */
static int probed(const hook_call *c)
{
    int i = nd__hook_place(c->slot, HOOK_KIND_WHY);
    if (i >= 0 && c->word[i] && c->word[i + 1] < sizeof c->probe)
        return i;
    i = nd__hook_place(c->slot, HOOK_KIND_OUT_INFO);
    return i;
}

void nd__hook_results_enter(hook_call *c)
{
    for (uint32_t i = 0; i < c->slot->n; i++)
        if (c->word[i])
            memcpy((void *)(uintptr_t)c->word[i], &poison, result_bytes(c->slot->arg[i].kind));
    int i = probed(c);
    if (i < 0 || !c->word[i])
        return;
    c->caller = c->word[i];
    c->word[i] = (uint64_t)(uintptr_t)&c->probe;
    memset(&c->probe, POISON, sizeof c->probe);
    if (c->slot->arg[i].kind == HOOK_KIND_OUT_INFO)
        memcpy(&c->probe, (const void *)(uintptr_t)c->caller,
               ((const ndp_device_info *)(uintptr_t)c->caller)->size);
    else
        c->probe.text[0] = 0;
}

static bool beyond(const hook_call *c, size_t nbytes)
{
    const unsigned char *at = (const unsigned char *)&c->probe;
    for (size_t i = nbytes; i < sizeof c->probe; i++)
        if (at[i] != POISON)
            return true;
    return false;
}

/* ---- texts ---- */
static bool why_broken(hook_call *c, int i)
{
    size_t n = (size_t)c->word[i + 1];
    char *text = (char *)(uintptr_t)c->caller;
    bool ends = memchr(c->probe.text, 0, n) != NULL;
    if (n) {
        memcpy(text, c->probe.text, n);
        text[n - 1] = 0;
    }
    if (beyond(c, n))
        return nd__hook_violated(c, "text_size", "it wrote beyond the %zu bytes of why", n);
    if (!ends)
        return nd__hook_violated(c, "text_end", "why has no 0 at its end");
    bool wanted = c->id == HOOK_SLOT_op_find || c->id == HOOK_SLOT_fused_compile
                      ? (int32_t)c->result == NDP_ERR_UNSUPPORTED
                      : (int32_t)c->result == NDP_OK && *(uint32_t *)(uintptr_t)c->word[0] == 0;
    return wanted && n > 1 && !text[0] &&
           nd__hook_violated(c, "why", "it does not say why, which is required here");
}

/* ---- device facts ---- */
static bool info_broken(hook_call *c)
{
    ndp_device_info *info = (ndp_device_info *)(uintptr_t)c->caller;
    uint32_t size = info->size;
    memcpy(info, &c->probe, size);
    if (beyond(c, size))
        return nd__hook_violated(c, "size", "it wrote beyond the %u bytes that out->size says",
                                 size);
    if ((int32_t)c->result != NDP_OK || size < NDP_END(ndp_device_info, unique_id))
        return false;
    if (info->align_bytes == 0 || (info->align_bytes & (info->align_bytes - 1)))
        return nd__hook_violated(c, "info", "align_bytes %llu is no power of two",
                                 (unsigned long long)info->align_bytes);
    if (!(info->dtypes >> 1) || info->dtypes >> NDP_DTYPE_END)
        return nd__hook_violated(c, "info", "dtypes %#llx are none, or some that do not exist",
                                 (unsigned long long)info->dtypes);
    if (!memchr(info->name, 0, sizeof info->name) || !info->name[0])
        return nd__hook_violated(c, "info", "name is empty or has no 0 at its end");
    if (!memchr(info->unique_id, 0, sizeof info->unique_id))
        return nd__hook_violated(c, "info", "unique_id has no 0 at its end");
    return false;
}

/* ---- numbers ---- */
static uint64_t number(const hook_call *c, int i)
{
    const size_t n = result_bytes(c->slot->arg[i].kind); /* 0: it gives no number */
    uint64_t v = 0;
    if (n)
        memcpy(&v, (const void *)(uintptr_t)c->word[i], n);
    return v;
}

static bool unwritten(hook_call *c, int i)
{
    size_t n = result_bytes(c->slot->arg[i].kind);
    return n && memcmp((const void *)(uintptr_t)c->word[i], &poison, n) == 0 &&
           nd__hook_violated(c, "out_on_success", "it succeeded and did not set %s",
                             c->slot->arg[i].name);
}

static bool number_broken(hook_call *c, int i)
{
    uint64_t v = number(c, i);
    hook_kind kind = c->slot->arg[i].kind;
    const char *name = c->slot->arg[i].name;
    if (kind == HOOK_KIND_OUT_FLAG && v > 1)
        return nd__hook_violated(c, "flag", "%s is %d, neither 0 nor 1", name, (int)(int32_t)v);
    if (kind == HOOK_KIND_OUT_COUNT && v > 4096)
        return nd__hook_violated(c, "count", "%u devices", (unsigned)v);
    if (kind == HOOK_KIND_OUT_HOST && !v)
        return nd__hook_violated(c, "out_on_success", "it succeeded and %s is NULL", name);
    if (kind == HOOK_KIND_OUT_F64) {
        double f;
        memcpy(&f, &v, sizeof f);
        return !isfinite(f) && nd__hook_violated(c, "elapsed", "%s is %g", name, f);
    }
    return false;
}

/* Pairs that belong together. */
static bool pair_broken(hook_call *c)
{
    uint64_t a, b;
    switch (c->id) {
    case HOOK_SLOT_memory_granularity:
        a = number(c, 1);
        return (a == 0 || (a & (a - 1))) &&
               nd__hook_violated(c, "granularity", "%llu is no power of two",
                                 (unsigned long long)a);
    case HOOK_SLOT_memory_usage:
    case HOOK_SLOT_pool_usage:
        a = number(c, 1);
        b = number(c, 2);
        return a > b && nd__hook_violated(c, "usage", "%s %llu is more than %s %llu",
                                          c->slot->arg[1].name, (unsigned long long)a,
                                          c->slot->arg[2].name, (unsigned long long)b);
    case HOOK_SLOT_stream_priority_range:
        return (int32_t)number(c, 1) < (int32_t)number(c, 2) &&
               nd__hook_violated(c, "priorities",
                                 "the lowest, %d, is a smaller number than the highest, %d",
                                 (int)(int32_t)number(c, 1), (int)(int32_t)number(c, 2));
    case HOOK_SLOT_graph_info:
        a = number(c, 2);
        b = number(c, 3);
        if (a > NDP_CAPTURE_INVALIDATED)
            return nd__hook_violated(c, "capture", "status %d", (int)(int32_t)a);
        return a == NDP_CAPTURE_ACTIVE && b == 0 &&
               nd__hook_violated(c, "capture", "a capture is active and its id is 0");
    default:
        return false;
    }
}

/* New memory that the host sees is aligned as info() says. */
static bool alignment_broken(hook_call *c)
{
    void *host = NULL;
    ndp_mem *mem = c->id == HOOK_SLOT_plugin_alloc ? *(ndp_mem **)(uintptr_t)c->word[2] : NULL;
    const ndp_map_1 *map = c->dev ? &c->dev->group[HOOK_TABLE_map].real.map : NULL;
    if (!mem || !map->map || !(c->dev->info.flags & NDP_DEV_HOST_VISIBLE) ||
        map->map(c->dev->dev, mem, &host) != NDP_OK)
        return false;
    uint64_t align = c->dev->info.align_bytes;
    return align && (uintptr_t)host % align &&
           nd__hook_violated(c, "alignment", "the block lies at %p, no multiple of %llu", host,
                             (unsigned long long)align);
}

bool nd__hook_check_results(hook_call *c)
{
    int i = probed(c);
    if (i >= 0 && c->caller) {
        c->word[i] = c->caller;
        if (c->slot->arg[i].kind == HOOK_KIND_WHY ? why_broken(c, i) : info_broken(c))
            return true;
    }
    if (!c->slot->status || (int32_t)c->result != NDP_OK)
        return false;
    for (i = 0; i < (int)c->slot->n; i++)
        if (!c->word[i] && nd__hook_family(c->slot->arg[i].kind) == HOOK_RESULT)
            return false; /* told already, as `null` */
    for (i = 0; i < (int)c->slot->n; i++)
        if (unwritten(c, i) || number_broken(c, i))
            return true;
    return pair_broken(c) || alignment_broken(c);
}
