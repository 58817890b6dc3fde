/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Counts everything in a caching allocator again, from its segments, and compares. */
#ifndef NDOCK_TESTS_MEMORY_AUDIT_H
#define NDOCK_TESTS_MEMORY_AUDIT_H
#include "core/memory/caching/caching.h"
#include "tests/tap.h"

typedef struct {
    int64_t of[ND_STAT_KINDS][3];
    uint64_t in_trees, in_tree_counted;
    const char *wrong;
} audit;

static void audit_add(audit *a, int stat, int small, uint64_t n)
{
    a->of[stat][small] += (int64_t)n;
    a->of[stat][2] += (int64_t)n;
}

static void audit_piece(audit *a, const nd_segment *s, const nd_piece *p)
{
    int small = s->bin->small;
    bool live = p->state == ND_PIECE_LIVE, active = live || p->state == ND_PIECE_PENDING;
    a->in_tree_counted += p->state == ND_PIECE_FREE || p->state == ND_PIECE_UNMAPPED;
    if (live) {
        audit_add(a, ND_STAT_ALLOCATION, small, 1);
        audit_add(a, ND_STAT_ALLOCATED_BYTES, small, p->b.nbytes);
    }
    if (active) {
        audit_add(a, ND_STAT_ACTIVE, small, 1);
        audit_add(a, ND_STAT_ACTIVE_BYTES, small, p->b.nbytes);
        audit_add(a, ND_STAT_REQUESTED_BYTES, small, p->b.requested);
    }
    if (p->state == ND_PIECE_FREE && !s->page && (p->prev || p->next)) {
        audit_add(a, ND_STAT_INACTIVE_SPLIT, small, 1);
        audit_add(a, ND_STAT_INACTIVE_SPLIT_BYTES, small, p->b.nbytes);
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
    audit_add(a, ND_STAT_SEGMENT, s->bin->small, !s->page);
    audit_add(a, ND_STAT_RESERVED_BYTES, s->bin->small, mapped);
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
    audit_bins(&a, &c->everybody);
    for (const nd_arena *x = c->arenas; x; x = x->next)
        audit_bins(&a, x);
    if (a.in_trees != a.in_tree_counted)
        a.wrong = "free blocks and trees do not agree";
    for (int i = 0; i < ND_STAT_KINDS; i++)
        for (int j = 0; j < 3; j++)
            if (c->tally[i][j].in - c->tally[i][j].out != a.of[i][j])
                a.wrong = names[i];
    if (c->reserved != a.of[ND_STAT_RESERVED_BYTES][2])
        a.wrong = "promised bytes";
    return a.wrong;
}

#endif
