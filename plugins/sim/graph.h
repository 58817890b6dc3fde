/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Captures, the graphs that they make, and execs, which run them. */
#ifndef NDOCK_SIM_GRAPH_H
#define NDOCK_SIM_GRAPH_H
#include "simulator.h"

/* ---- capture.c ---- */
extern const ndp_graph_1 sim_graph_group;
/* A call that a capture underway may forbid: sync, query, alloc. queue: the one it is about, or
 * NULL. */
int32_t sim_capture_forbids(const char *what, const sim_queue *q);
/* Work is being queued: refused in an invalidated capture, and on the legacy stream beside a
 * blocking stream's. */
int32_t sim_capture_check_push(sim_queue *q);
int32_t sim_capture_add(sim_queue *q, sim_body *body);
int32_t sim_capture_record(sim_queue *q, sim_record *r);
/* q is to wait for r. *queue_it: an ordinary wait must be queued. */
int32_t sim_capture_wait(sim_queue *q, sim_record *r, int32_t *queue_it);
/* The event is asked about: refused if it was last recorded in a capture. */
int32_t sim_capture_event(const ndp_event *e, const char *what);
void sim_capture_unref(sim_capture *c);
void sim_capture_abandon(sim_queue *q);
uint64_t sim_graph_size(const ndp_graph *g);
int32_t sim_graph_launch(ndp_dev *dev, ndp_graph *g, ndp_stream *s);
/* A graph's operations, each with a reference for the caller: an array for free(); NULL: no memory. */
sim_body **sim_graph_bodies(const ndp_graph *g);
ndp_dev *sim_graph_device(const ndp_graph *g);
int32_t sim_capture_nodes(ndp_dev *dev, ndp_stream *s, uint64_t *count);

/* ---- exec.c: graphs made ready to run ---- */
int32_t sim_instantiate(ndp_dev *dev, ndp_graph *g, ndp_exec **out);
int32_t sim_exec_launch(ndp_dev *dev, ndp_exec *x, ndp_stream *s);
int32_t sim_exec_update(ndp_dev *dev, ndp_exec *x, ndp_graph *g, int32_t *updated);
void sim_exec_destroy(ndp_dev *dev, ndp_exec *x);
int32_t sim_compose(ndp_dev *dev, const ndp_steps *steps, ndp_exec **out);
int32_t sim_patch_begin(ndp_dev *dev, ndp_exec *x, uint64_t first, uint64_t count);
int32_t sim_patch_end(ndp_dev *dev, ndp_exec *x);
/* The calling thread changes an exec of the device: the body, whose reference is taken, goes there
 * and not into the queue. */
int32_t sim_patching(const ndp_dev *dev);
int32_t sim_patch(sim_body *body);

/* ---- branch.c: conditions of composed graphs ---- */
/* Steps as operations, behind those that are there; on failure out has what was made. */
int32_t sim_list_make(ndp_dev *dev, const ndp_steps *steps, sim_list *out);
void sim_list_free(sim_list *l);
void sim_branch_free(sim_branch *b);
void sim_branch_run(const sim_body *b, sim_error *error);
void sim_branch_each(const sim_branch *b, void (*fn)(const sim_body *body, void *ctx), void *ctx);

#endif
