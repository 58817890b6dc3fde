/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * An ordered set of nodes that are members of other records: a treap, whose nodes know their
 * neighbours in order. Equal keys may occur. */
#ifndef NDOCK_CORE_MEMORY_TREE_H
#define NDOCK_CORE_MEMORY_TREE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    uint64_t a, b, c; /* compared in this order */
} nd_key;
typedef struct nd_tree_node nd_tree_node;
struct nd_tree_node {
    nd_key key;
    nd_tree_node *parent, *child[2];
    nd_tree_node *before, *after; /* neighbours in order */
    uint32_t weight;              /* random; a parent's is at least its children's */
};
typedef struct {
    nd_tree_node *root;
    uint32_t random; /* state of the weights' generator; 0 is replaced by a constant */
} nd_tree;           /* {0} is empty */

static inline bool nd__key_less(const nd_key *x, const nd_key *y)
{
    if (x->a != y->a)
        return x->a < y->a;
    return x->b != y->b ? x->b < y->b : x->c < y->c;
}

/* Put a node, whose key is set, into the tree and take it out. */
void nd__tree_insert(nd_tree *t, nd_tree_node *n);
void nd__tree_remove(nd_tree *t, nd_tree_node *n);
/* Changes n's key, in constant time where its place in the order stays. */
void nd__tree_rekey(nd_tree *t, nd_tree_node *n, nd_key key);
/* The first node not less than key, NULL if all are. */
nd_tree_node *nd__tree_lower_bound(const nd_tree *t, nd_key key);
/* The ends in order; NULL: the tree is empty. */
nd_tree_node *nd__tree_first(const nd_tree *t);
nd_tree_node *nd__tree_last(const nd_tree *t);

#endif
