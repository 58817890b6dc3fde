/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Streams as the caching allocator knows them, and the end of those that nobody needs any more. */
#include <stdlib.h>
#include "core/memory/caching/caching.h"
#include "core/memory/pluggable/pluggable.h"

static nd_lane *lane_of(nd_tree_node *n)
{
    return (nd_lane *)((char *)n - offsetof(nd_lane, node));
}

nd_lane *nd__lane_find(nd_caching *c, uint64_t id)
{
    nd_tree_node *n = nd__tree_lower_bound(&c->lanes, (nd_key){id, 0, 0});
    return n && n->key.a == id ? lane_of(n) : NULL;
}

nd_lane *nd__lane_new(nd_caching *c, nd_stream *stream, uint64_t id)
{
    nd_lane *lane = calloc(1, sizeof *lane);
    if (!lane)
        return NULL;
    lane->stream = stream;
    lane->id = id;
    lane->refs = 1;
    lane->tail = &lane->head;
    lane->node.key = (nd_key){id, 0, 0};
    nd__tree_insert(&c->lanes, &lane->node);
    nd__stream_hold(stream);
    return lane;
}

nd_lane *nd__lane_get(nd_caching *c, nd_stream *stream)
{
    uint64_t id = nd__stream_id(stream);
    nd_lane *lane = nd__lane_find(c, id);
    if (!lane)
        return nd__lane_new(c, stream, id);
    lane->refs++;
    return lane;
}

void nd__lane_put(nd_caching *c, nd_lane *lane)
{
    if (--lane->refs > 0)
        return;
    nd__tree_remove(&c->lanes, &lane->node);
    if (lane->last)
        nd__gate_put(c, lane->last);
    lane->next_dead = c->dead;
    c->dead = lane;
}

void nd__caching_bury(nd_caching *c)
{
    nd_lane *dead = c->dead;
    c->dead = NULL;
    nd_arena *arenas = c->dead_arenas;
    c->dead_arenas = NULL;
    nd__lock_drop(&c->lock);
    while (arenas) {
        nd_arena *next = arenas->next;
        if (arenas->own_hooks)
            nd__allocator_hooks_release(&arenas->hooks);
        free(arenas);
        arenas = next;
    }
    while (dead) {
        nd_lane *next = dead->next_dead;
        nd__stream_unhold(dead->stream);
        free(dead);
        dead = next;
    }
}
