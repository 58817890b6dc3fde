/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Counts everything in a caching allocator again, from its segments, and compares. */
#ifndef NDOCK_TESTS_MEMORY_AUDIT_H
#define NDOCK_TESTS_MEMORY_AUDIT_H
#include "core/memory/caching/caching.h"
#include "tests/tap.h"

typedef struct {
    nd_memory_stats of; /* the counts of now alone */
    uint64_t in_trees, in_tree_counted;
    const char *wrong;
} audit;

static void audit_piece(audit *a, const nd_segment *s, const nd_piece *p)
{
    int small = s->bin->small;
    bool live = p->state == ND_PIECE_LIVE, active = live || p->state == ND_PIECE_PENDING;
    a->in_tree_counted += p->state == ND_PIECE_FREE || p->state == ND_PIECE_UNMAPPED;
    if (live) {
        nd__stat3_in(&a->of.allocation, small, 1);
        nd__stat3_in(&a->of.allocated_bytes, small, p->b.nbytes);
    }
    if (active) {
        nd__stat3_in(&a->of.active, small, 1);
        nd__stat3_in(&a->of.active_bytes, small, p->b.nbytes);
        nd__stat3_in(&a->of.requested_bytes, small, p->b.requested);
    }
    if (p->state == ND_PIECE_FREE && !s->page && (p->prev || p->next)) {
        nd__stat3_in(&a->of.inactive_split, small, 1);
        nd__stat3_in(&a->of.inactive_split_bytes, small, p->b.nbytes);
    }
}

static void audit_segment(audit *a, const nd_segment *s)
{
    uint64_t at = 0, mapped = 0;
    const nd_piece *before = NULL;
    for (const nd_piece *p = s->first; p; before = p, p = p->next) {
        if (p->prev != before || p->segment != s || p->b.offset != at || p->b.nbytes == 0)
            a->wrong = "blocks do not tile their segment";
        if (p->b.offset % 512 || p->b.nbytes % 512)
            a->wrong = "a block is not aligned to 512 bytes";
        if (before && before->state == p->state &&
            (p->state == ND_PIECE_FREE || p->state == ND_PIECE_UNMAPPED))
            a->wrong = "two free blocks are neighbours";
        at += p->b.nbytes;
        mapped += p->state == ND_PIECE_UNMAPPED ? 0 : p->b.nbytes;
        audit_piece(a, s, p);
    }
    if (at != s->nbytes || (s->page && mapped != s->mapped))
        a->wrong = "blocks do not add up to their segment";
    nd__stat3_in(&a->of.segment, s->bin->small, !s->page);
    nd__stat3_in(&a->of.reserved_bytes, s->bin->small, mapped);
}

/* Order of keys, order of the thread, heap order. */
static void audit_tree(audit *a, const nd_tree *t)
{
    const nd_tree_node *before = NULL;
    for (const nd_tree_node *n = nd__tree_first(t); n; before = n, n = n->after) {
        a->in_trees++;
        if (n->before != before || (before && nd__key_less(&n->key, &before->key)))
            a->wrong = "a tree is out of order";
        if (n->parent ? n->parent->weight < n->weight : t->root != n)
            a->wrong = "a tree is out of balance";
    }
}

static void audit_bins(audit *a, const nd_arena *arena)
{
    for (int i = 0; i < 2; i++) {
        audit_tree(a, &arena->bin[i].free);
        audit_tree(a, &arena->bin[i].unmapped);
    }
}

/* NULL, or what is wrong. */
__attribute__((unused)) static const char *audit_all(nd_backend *k)
{
    static const char *const names[] = {"allocation",   "allocated_bytes", "requested_bytes",
                                        "segment",      "reserved_bytes",  "active",
                                        "active_bytes", "inactive_split",  "inactive_split_bytes"};
    nd_caching *c = (nd_caching *)k;
    audit a = {0};
    for (const nd_segment *s = c->segments; s; s = s->next)
        audit_segment(&a, s);
    audit_bins(&a, &c->common);
    for (const nd_arena *x = c->arenas; x; x = x->next)
        audit_bins(&a, x);
    if (a.in_trees != a.in_tree_counted)
        a.wrong = "free blocks and trees do not agree";
    const nd_memory_stat3 *counted = &a.of.allocation, *kept = &c->stats.allocation;
    for (int i = 0; i < 9; i++)
        if (nd__stat_now(&kept[i].all) != nd__stat_now(&counted[i].all) ||
            nd__stat_now(&kept[i].small_pool) != nd__stat_now(&counted[i].small_pool) ||
            nd__stat_now(&kept[i].large_pool) != nd__stat_now(&counted[i].large_pool))
            a.wrong = names[i];
    if (c->reserved != nd__stat_now(&a.of.reserved_bytes.all))
        a.wrong = "promised bytes";
    return a.wrong;
}

#endif
