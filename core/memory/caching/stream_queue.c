/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Streams as the caching allocator knows them, counted, and the end of those that nobody needs. */
#include <stdlib.h>
#include "core/memory/caching/caching.h"
#include "core/memory/pluggable/pluggable.h"

static nd_stream_queue *queue_of(nd_tree_node *n)
{
    return (nd_stream_queue *)((char *)n - offsetof(nd_stream_queue, node));
}

nd_stream_queue *nd__stream_queue_find(nd_caching *c, uint64_t id)
{
    nd_tree_node *n = nd__tree_lower_bound(&c->queues, (nd_key){id, 0, 0});
    return n && n->key.a == id ? queue_of(n) : NULL;
}

nd_stream_queue *nd__stream_queue_new(nd_caching *c, nd_stream *stream, uint64_t id)
{
    nd_stream_queue *queue = calloc(1, sizeof *queue);
    if (!queue)
        return NULL;
    queue->stream = stream;
    queue->id = id;
    queue->refs = 1;
    queue->tail = &queue->head;
    queue->node.key = (nd_key){id, 0, 0};
    nd__tree_insert(&c->queues, &queue->node);
    nd__stream_hold(stream);
    return queue;
}

nd_stream_queue *nd__stream_queue_get(nd_caching *c, nd_stream *stream)
{
    uint64_t id = nd__stream_id(stream);
    nd_stream_queue *queue = nd__stream_queue_find(c, id);
    if (!queue)
        return nd__stream_queue_new(c, stream, id);
    queue->refs++;
    return queue;
}

void nd__stream_queue_put(nd_caching *c, nd_stream_queue *queue)
{
    if (--queue->refs > 0)
        return;
    nd__tree_remove(&c->queues, &queue->node);
    if (queue->last)
        nd__gate_put(c, queue->last);
    queue->next_dead = c->dead;
    c->dead = queue;
}

void nd__caching_bury(nd_caching *c)
{
    nd_stream_queue *dead = c->dead;
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
        nd_stream_queue *next = dead->next_dead;
        nd__stream_unhold(dead->stream);
        free(dead);
        dead = next;
    }
}
