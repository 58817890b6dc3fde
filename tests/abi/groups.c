/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Groups of a device: their tables, from one thread and from several. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include "load.h"

const abi_group_rule abi_group_rules[] = {
    {"ndp.op/1", offsetof(ndp_op_1, dtypes), NDP_END(ndp_op_1, find)},
    {"ndp.stream/1", offsetof(ndp_stream_1, create), NDP_END(ndp_stream_1, event_elapsed)},
    {"ndp.pool/1", offsetof(ndp_pool_1, alloc), NDP_END(ndp_pool_1, usage)},
    {"ndp.memory/1", offsetof(ndp_memory_1, usage), NDP_END(ndp_memory_1, usage)},
    {"ndp.peer/1", offsetof(ndp_peer_1, copy), NDP_END(ndp_peer_1, copy)},
    {"ndp.graph/1", offsetof(ndp_graph_1, begin), NDP_END(ndp_graph_1, destroy)},
    {"ndp.map/1", offsetof(ndp_map_1, address), NDP_END(ndp_map_1, unmap)},
    {"ndp.pointer/1", offsetof(ndp_pointer_1, info), NDP_END(ndp_pointer_1, info)},
    {"ndp.math/1", offsetof(ndp_math_1, effective), NDP_END(ndp_math_1, effective)},
    {"ndp.code/1", offsetof(ndp_code_1, limits), NDP_END(ndp_code_1, launch)},
    {"ndp.comm/1", offsetof(ndp_comm_1, dtypes), NDP_END(ndp_comm_1, async_error)},
    {"ndp.fused/1", offsetof(ndp_fused_1, compile), NDP_END(ndp_fused_1, discard)},
    {"ndp.info/1", offsetof(ndp_info_1, item), NDP_END(ndp_info_1, item)},
    {NULL, 0, 0}};

/* A failure unless the group is absent or has its size and slots. */
static void check_group(const abi_group_rule *g, const void *table)
{
    uint32_t size = 0;
    if (!table)
        return;
    memcpy(&size, table, sizeof size);
    if (!abi_expect(size >= g->end && size < 65536, "%s: its table says %u bytes, and needs %zu",
                    g->id, size, g->end))
        return;
    for (size_t at = g->first; at < g->end; at += sizeof(void *)) {
        void *slot;
        memcpy(&slot, (const char *)table + at, sizeof slot);
        abi_expect(slot != NULL, "%s: its slot %zu is NULL", g->id,
                   (at - g->first) / sizeof(void *));
    }
}

/* Slots that may be NULL are NULL together. */
static void check_together(void)
{
    const ndp_memory_1 *m = &abi.memory;
    int n = !!m->granularity + !!m->reserve + !!m->commit + !!m->set_access + !!m->decommit;
    abi_expect(n == 0 || n == 5, "ndp.memory/1 has %d of the five slots after usage", n);
    n = !!abi.map.register_host + !!abi.map.is_pinned;
    abi_expect(n != 1, "ndp.map/1 has one of register_host and is_pinned");
}

void abi_check_groups(void)
{
    static const char *const unknown[] = {"",          "ndp.op",     "ndp.op/2",
                                          "ndp.op/10", " ndp.op/1",  "ndp.op/1 ",
                                          "NDP.OP/1",  "ndp.none/1", "org.example.nothing/1"};
    if (!abi.p.group)
        abi_skip("the plug-in has no groups");
    for (const abi_group_rule *g = abi_group_rules; g->id; g++) {
        const void *table = abi_group(abi.dev, g->id);
        check_group(g, table);
        abi_expect(abi_group(abi.dev, g->id) == table, "%s is another table the second time",
                   g->id);
    }
    check_together();
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
        abi_expect(abi_group(abi.dev, unknown[i]) == NULL, "there is a group \"%s\"", unknown[i]);
    if (abi_group(abi.dev, "ndp.stream/1"))
        abi_expect(abi.info.flags & NDP_DEV_ASYNC,
                   "there is ndp.stream/1, and info does not say NDP_DEV_ASYNC: it is not used");
}

enum { RACERS = 4 };
static pthread_barrier_t start;

static void *ask(void *arg)
{
    (void)arg;
    pthread_barrier_wait(&start);
    for (const abi_group_rule *g = abi_group_rules; g->id; g++)
        check_group(g, abi_group(abi.dev, g->id));
    return NULL;
}

/* Before anything else has asked. */
void abi_check_race(void)
{
    pthread_t racers[RACERS];
    char why[512] = "";
    if (!abi.p.group)
        abi_skip("the plug-in has no groups");
    if (abi.p.probe(&abi.n_devices, why, sizeof why) != NDP_OK || abi.n_devices == 0)
        abi_skip("it has no device here: %s", why[0] ? why : abi_error_text());
    abi_call(abi.p.open(0, &abi.dev), "open(0)");
    pthread_barrier_init(&start, NULL, RACERS);
    for (int i = 0; i < RACERS; i++)
        abi_need(pthread_create(&racers[i], NULL, ask, NULL) == 0, "no thread");
    for (int i = 0; i < RACERS; i++)
        pthread_join(racers[i], NULL);
}
