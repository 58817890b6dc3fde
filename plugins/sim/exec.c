/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Graphs made ready to run: their operations are queued again with each launch. Launches of one
 * follow each other on whatever streams. */
#include <stdlib.h>
#include "graph.h"
#include "simulator.h"

struct ndp_exec {
    ndp_dev *dev;
    sim_body **bodies;
    uint64_t count;
    sim_record *last; /* behind the latest launch; NULL: none yet */
    uint64_t at, end; /* nodes that a thread is replacing */
    int32_t failed;
};

/* What the thread changes; in static TLS, as in run.c. */
static _Thread_local ndp_exec *patched __attribute__((tls_model("initial-exec")));

static void drop_bodies(sim_body **bodies, uint64_t n)
{
    for (uint64_t i = 0; bodies && i < n; i++)
        sim_body_unref(bodies[i]);
    free(bodies);
}

int32_t sim_instantiate(ndp_dev *dev, ndp_graph *g, ndp_exec **out)
{
    sim_call c = {.entry = SIM_instantiate, .dev = dev};
    int32_t status = sim_enter(&c);
    ndp_exec *x = NULL;
    *out = NULL;
    if (status == NDP_OK && sim_graph_device(g) != dev)
        status = sim_fail(NDP_ERR_DEVICE, 400, "the graph was captured on sim:%d, not on sim:%d",
                          sim_graph_device(g)->index, dev->index);
    if (status == NDP_OK && (x = calloc(1, sizeof *x)) != NULL) {
        *x = (ndp_exec){.dev = dev, .bodies = sim_graph_bodies(g), .count = sim_graph_size(g)};
        if (!x->bodies) {
            free(x);
            x = NULL;
        }
    }
    if (status == NDP_OK && !x)
        status = sim_fail(NDP_ERR_MEMORY, 0, "no host memory to make a graph ready");
    *out = x;
    return sim_leave(&c, status);
}

int32_t sim_compose(ndp_dev *dev, const ndp_steps *steps, ndp_exec **out)
{
    sim_call c = {.entry = SIM_graph_compose, .dev = dev};
    int32_t status = sim_enter(&c);
    sim_list all = {NULL, 0};
    ndp_exec *x = NULL;
    if (status == NDP_OK)
        status = sim_list_make(dev, steps, &all);
    if (status == NDP_OK && (x = calloc(1, sizeof *x)) == NULL)
        status = sim_fail(NDP_ERR_MEMORY, 0, "no host memory to compose a graph");
    if (x)
        *x = (ndp_exec){.dev = dev, .bodies = all.body, .count = all.n};
    else
        sim_list_free(&all);
    *out = x;
    return sim_leave(&c, status);
}

static int32_t check_device(const ndp_dev *dev, const ndp_exec *x)
{
    return x->dev == dev ? NDP_OK
                         : sim_fail(NDP_ERR_DEVICE, 400,
                                    "the graph was captured on sim:%d and cannot run on sim:%d",
                                    x->dev->index, dev->index);
}

/* The queue waits for the launch before. */
static int32_t follow(const ndp_exec *x, sim_queue *q)
{
    return x->last && x->last->queue != q && !x->last->done ? sim_push_mark(q, SIM_OP_WAIT, x->last)
                                                            : NDP_OK;
}

static int32_t push_all(ndp_exec *x, sim_queue *q)
{
    int32_t status = follow(x, q);
    for (uint64_t i = 0; status == NDP_OK && i < x->count; i++) {
        x->bodies[i]->refs++;
        status = sim_push(q, x->bodies[i], NULL);
    }
    sim_record *r = status == NDP_OK ? sim_record_new(q) : NULL;
    if (status != NDP_OK || !r)
        return status != NDP_OK ? status
                                : sim_fail(NDP_ERR_MEMORY, 0, "no host memory to run a graph");
    status = sim_push_mark(q, SIM_OP_RECORD, r);
    if (status != NDP_OK) {
        sim_record_unref(r);
        return status;
    }
    if (x->last)
        sim_record_unref(x->last);
    x->last = r;
    return NDP_OK;
}

int32_t sim_exec_launch(ndp_dev *dev, ndp_exec *x, ndp_stream *s)
{
    sim_call c = {.entry = SIM_graph_launch, .dev = dev, .stream = s};
    int32_t status = sim_enter(&c);
    sim_queue *q = sim_queue_of(dev, s);
    if (status == NDP_OK)
        status = check_device(dev, x);
    if (status == NDP_OK && (!q || q->dev != dev))
        status = sim_fail(NDP_ERR_DEVICE, 400, "the stream is not of sim:%d", dev->index);
    if (status == NDP_OK && q->capture)
        status = sim_fail(NDP_ERR_CAPTURE, 900, "a graph is not launched into a capture");
    if (status == NDP_OK)
        status = push_all(x, q);
    return sim_leave(&c, status);
}

/* Whether one can take the other's place. */
static int32_t alike(const sim_body *a, const sim_body *b)
{
    return a->kind == b->kind;
}

int32_t sim_exec_update(ndp_dev *dev, ndp_exec *x, ndp_graph *g, int32_t *updated)
{
    sim_call c = {.entry = SIM_graph_update, .dev = dev};
    int32_t status = sim_enter(&c);
    *updated = 0;
    if (status == NDP_OK)
        status = check_device(dev, x);
    sim_body **bodies = status == NDP_OK ? sim_graph_bodies(g) : NULL;
    if (status == NDP_OK && !bodies)
        status = sim_fail(NDP_ERR_MEMORY, 0, "no host memory to update a graph");
    if (status == NDP_OK) {
        int32_t same = x->count == sim_graph_size(g);
        for (uint64_t i = 0; same && i < x->count; i++)
            same = alike(x->bodies[i], bodies[i]);
        drop_bodies(same ? x->bodies : bodies, sim_graph_size(g));
        x->bodies = same ? bodies : x->bodies;
        *updated = same;
    }
    return sim_leave(&c, status);
}

void sim_exec_destroy(ndp_dev *dev, ndp_exec *x)
{
    sim_call c = {.entry = SIM_exec_destroy, .dev = dev};
    int32_t status = sim_enter(&c);
    drop_bodies(x->bodies, x->count);
    if (x->last)
        sim_record_unref(x->last);
    free(x);
    sim_leave(&c, status);
}

/* ---- changing nodes ---- */
int32_t sim_patch_begin(ndp_dev *dev, ndp_exec *x, uint64_t first, uint64_t count)
{
    sim_call c = {.entry = SIM_patch_begin, .dev = dev};
    int32_t status = sim_enter(&c);
    if (status == NDP_OK)
        status = check_device(dev, x);
    if (status == NDP_OK && (first > x->count || count > x->count - first))
        status = sim_fail(NDP_ERR_ARGUMENT, 0, "the graph has %llu nodes, not %llu from %llu on",
                          (unsigned long long)x->count, (unsigned long long)count,
                          (unsigned long long)first);
    if (status == NDP_OK) {
        patched = x;
        x->at = first;
        x->end = first + count;
        x->failed = 0;
    }
    return sim_leave(&c, status);
}

int32_t sim_patching(const ndp_dev *dev)
{
    return patched && patched->dev == dev;
}

int32_t sim_patch(sim_body *body)
{
    sim_body **at = patched->at < patched->end ? &patched->bodies[patched->at] : NULL;
    if (!at || !alike(*at, body)) {
        patched->failed = 1;
        sim_body_unref(body);
        return sim_fail(NDP_ERR_UNSUPPORTED, 0, "this work cannot take the node's place");
    }
    sim_body_unref(*at);
    *at = body;
    patched->at++;
    return NDP_OK;
}

int32_t sim_patch_end(ndp_dev *dev, ndp_exec *x)
{
    sim_call c = {.entry = SIM_patch_end, .dev = dev};
    int32_t status = sim_enter(&c);
    const int32_t whole = patched == x && !x->failed && x->at == x->end;
    patched = NULL;
    if (status == NDP_OK && !whole)
        status = sim_fail(NDP_ERR_UNSUPPORTED, 0, "the nodes were not all replaced");
    return sim_leave(&c, status);
}
