/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * A treap is a search tree by key and a heap by random weight, so that its depth is logarithmic for
 * any order of insertion. Source: Seidel and Aragon, Randomized search trees, Algorithmica 16,
 * 1996. */
#include "core/memory/tree.h"

static uint32_t next_weight(nd_tree *t)
{
    uint32_t x = t->random ? t->random : 2463534242u; /* xorshift32: Marsaglia, 2003 */
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    return t->random = x;
}

static void put_child(nd_tree *t, nd_tree_node *parent, nd_tree_node *old, nd_tree_node *n)
{
    if (!parent)
        t->root = n;
    else
        parent->child[parent->child[1] == old] = n;
    if (n)
        n->parent = parent;
}

/* n takes its parent's place, and the parent becomes its child. */
static void rotate_up(nd_tree *t, nd_tree_node *n)
{
    nd_tree_node *p = n->parent;
    int side = p->child[1] == n;
    nd_tree_node *middle = n->child[!side];
    put_child(t, p->parent, p, n);
    p->child[side] = middle;
    if (middle)
        middle->parent = p;
    n->child[!side] = p;
    p->parent = n;
}

static void thread_between(nd_tree_node *before, nd_tree_node *n, nd_tree_node *after)
{
    n->before = before;
    n->after = after;
    if (before)
        before->after = n;
    if (after)
        after->before = n;
}

void nd__tree_insert(nd_tree *t, nd_tree_node *n)
{
    nd_tree_node *p = NULL;
    int side = 0;
    for (nd_tree_node *at = t->root; at; at = at->child[side]) {
        p = at;
        side = !nd__key_less(&n->key, &at->key);
    }
    n->child[0] = n->child[1] = NULL;
    n->parent = p;
    n->weight = next_weight(t);
    if (!p) {
        t->root = n;
        n->before = n->after = NULL;
        return;
    }
    p->child[side] = n;
    if (side)
        thread_between(p, n, p->after);
    else
        thread_between(p->before, n, p);
    while (n->parent && n->parent->weight < n->weight)
        rotate_up(t, n);
}

void nd__tree_remove(nd_tree *t, nd_tree_node *n)
{
    while (n->child[0] && n->child[1])
        rotate_up(t, n->child[n->child[1]->weight > n->child[0]->weight]);
    put_child(t, n->parent, n, n->child[n->child[0] == NULL]);
    if (n->before)
        n->before->after = n->after;
    if (n->after)
        n->after->before = n->before;
}

void nd__tree_rekey(nd_tree *t, nd_tree_node *n, nd_key key)
{
    if ((n->before && nd__key_less(&key, &n->before->key)) ||
        (n->after && nd__key_less(&n->after->key, &key))) {
        nd__tree_remove(t, n);
        n->key = key;
        nd__tree_insert(t, n);
    } else {
        n->key = key;
    }
}

nd_tree_node *nd__tree_lower_bound(const nd_tree *t, nd_key key)
{
    nd_tree_node *found = NULL;
    for (nd_tree_node *n = t->root; n;) {
        bool less = nd__key_less(&n->key, &key);
        found = less ? found : n;
        n = n->child[less];
    }
    return found;
}

static nd_tree_node *end_of(const nd_tree *t, int side)
{
    nd_tree_node *n = t->root;
    while (n && n->child[side])
        n = n->child[side];
    return n;
}

nd_tree_node *nd__tree_first(const nd_tree *t)
{
    return end_of(t, 0);
}

nd_tree_node *nd__tree_last(const nd_tree *t)
{
    return end_of(t, 1);
}
