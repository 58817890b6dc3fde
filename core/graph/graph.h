/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Inside graphs. A graph is a list of segments, each one capture: the tape of its calls, and where
 * the device captures itself, what its plug-in made of them. */
#ifndef NDOCK_CORE_GRAPH_H
#define NDOCK_CORE_GRAPH_H
#include "core/memory/memory.h"
#include "core/ops/ops.h"
#include <ndock/graph.h>

typedef struct {
    nd_captured *captured;
    ndp_exec *exec;             /* NULL: not made yet, or the tape is all there is */
    bool stale;                 /* exec has nodes that could not be changed in place */
    bool behind;                /* what was captured has not the nodes that exec has by now */
    nd_status (*fn)(void *ctx); /* runs behind it */
    void *ctx;
    void (*release)(void *ctx);
} nd_segment_of_graph;

/* Where a node names memory: an operand of a call (i counts inputs, then outputs), or for copies 0
 * the source and 1 the destination. */
typedef struct {
    uint32_t segment, node, i;
    int64_t delta; /* bytes from the argument's first one */
} nd_graph_use;
typedef struct {
    nd_array *array; /* retained */
    nd_graph_use *use;
    uint32_t n;
    bool writes;
} nd_graph_argument;

/* Nodes that draw numbers with a key. base: how many blocks past the key's place. */
typedef struct {
    uint32_t segment, node;
    uint64_t base[2];
} nd_graph_draw;
typedef struct {
    nd_random_key *key;  /* the program's */
    nd_random_key first; /* as it was when the capture began */
    uint64_t amount[2];  /* by which a launch moves it */
    nd_graph_draw *draw;
    uint32_t n;
} nd_graph_key;

/* What stands behind a segment: graphs that run by the value of an array. */
typedef struct {
    int32_t kind, n;
    nd_array *value; /* retained */
    nd_graph *body[];
} nd_graph_condition;

typedef struct nd_sharers nd_sharers;
enum { ND_GRAPH_EMPTY, ND_GRAPH_OPEN, ND_GRAPH_READY };
struct nd_graph {
    atomic_int refs;
    pthread_mutex_t lock; /* of all that follows, while it is used */
    pthread_t holder;     /* who has it */
    atomic_bool held;
    int32_t state, mode;
    bool weak;
    nd_device *device;
    nd_stream *stream;   /* where it was captured; retained */
    nd_backend *backend; /* whose pool it has; NULL: it has none */
    nd_pool *pool;       /* retained */
    uint64_t capture;    /* the id of what is underway */
    nd_segment_of_graph *segment;
    uint32_t n;
    nd_graph_argument *argument;
    uint32_t n_arguments;
    nd_graph_key *key;
    uint32_t n_keys;
    nd_sharers *sharers;
    uint64_t ordinal;
    nd_stream *last;    /* of the latest launch; retained */
    uint64_t version;   /* another number, of all graphs, with each change of what a launch does */
    ndp_exec *composed; /* of all segments and bodies; NULL: the host decides what runs */
    uint64_t composed_of, launched_of; /* the versions together then, and at the latest launch */
};

/* ---- graph.c ---- */
/* The lock; refused within a launch of the same graph by the same thread. */
nd_status nd__graph_take(nd_graph *g, const char *op);
void nd__graph_drop(nd_graph *g);
/* The same, of a graph that has been captured. */
nd_status nd__graph_take_ready(nd_graph *g, const char *op);
/* The same, if nobody has it. */
bool nd__graph_try(nd_graph *g);
/* What a launch does is changed. */
void nd__graph_changed(nd_graph *g);
static inline nd_tape *nd__segment_tape(const nd_segment_of_graph *s)
{
    return nd__captured_tape(s->captured);
}
static inline nd_node *nd__graph_node(const nd_graph *g, uint32_t segment, uint32_t node)
{
    return nd__segment_tape(&g->segment[segment])->node[node];
}

/* ---- contents.c ---- */
/* Forgets segments, arguments, keys and the pool. */
void nd__graph_clear(nd_graph *g);
/* Waits until no launch runs any more; false where a capture forbids that. */
bool nd__graph_settle(nd_graph *g);

/* ---- launch.c ---- */
nd_status nd__graph_run_segment(nd_graph *g, nd_segment_of_graph *segment, nd_stream *s);
nd_status nd__graph_instantiate(nd_graph *g);
/* What is between the segment and the next, with s current. */
nd_status nd__graph_run_between(nd_graph *g, const nd_segment_of_graph *segment, nd_stream *s);
/* The parts of a launch: it follows the one before, its memory is used, indices are reported. */
nd_status nd__graph_follow(nd_graph *g, nd_stream *s);
void nd__graph_use(const nd_graph *g, const nd_segment_of_graph *segment, nd_stream *s);
void nd__graph_expect(const nd_graph *g, const nd_segment_of_graph *segment);

/* ---- cond.c ---- */
/* NULL: none stands behind the segment. */
const nd_graph_condition *nd__graph_condition(const nd_segment_of_graph *segment);
const char *nd__graph_condition_name(const nd_graph_condition *c); /* "if", "while" or "switch" */

/* ---- compose.c ---- */
/* All of it by one launch, with the graph's lock; ND_ERR_UNSUPPORTED: it has no conditions, or the
 * host is to decide. */
nd_status nd__graph_launch_composed(nd_graph *g, nd_stream *s);
void nd__graph_uncompose(nd_graph *g);

/* ---- play.c ---- */
/* Queues the calls of a tape on s (NULL: the device queues nothing, they run). */
nd_status nd__tape_play(const nd_tape *t, nd_stream *s);

/* ---- patch.c ---- */
/* The tape's node was changed: so is what the plug-in has of it, now or with nd__graph_refresh. */
nd_status nd__graph_patch(nd_graph *g, uint32_t segment, uint32_t node);
/* Captures stale segments again from their tapes. */
nd_status nd__graph_refresh(nd_graph *g);

/* ---- keys.c ---- */
/* The capture has ended: which nodes draw with which key. */
nd_status nd__graph_find_draws(nd_graph *g);
/* Sets them to where the keys are, and moves the keys on. */
nd_status nd__graph_draw(nd_graph *g);

/* ---- sharers.c: graphs with one pool ---- */
void nd__fork_sharers(nd_fork now);
nd_status nd__sharers_join(nd_graph *g);
void nd__sharers_leave(nd_graph *g);
/* It may run now on s, which then waits for the one before; force: in any order. */
nd_status nd__sharers_launch(nd_graph *g, nd_stream *s, bool force);
bool nd__sharers_alone(const nd_graph *g); /* no other graph has its pool */

#endif
