/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The life of a graph: its capture is begun, split, ended or aborted. */
#include <stdlib.h>
#include "core/graph/graph.h"

/* ---- one user at a time ---- */
nd_status nd__graph_take(nd_graph *g, const char *op)
{
    if (atomic_load(&g->held) && pthread_equal(g->holder, pthread_self()))
        return nd__fail(ND_ERR_STATE, op, 0,
                        "the graph is being launched by the function that calls this; use it "
                        "again when that has returned");
    pthread_mutex_lock(&g->lock);
    g->holder = pthread_self();
    atomic_store(&g->held, true);
    return ND_OK;
}

void nd__graph_drop(nd_graph *g)
{
    atomic_store(&g->held, false);
    pthread_mutex_unlock(&g->lock);
}

nd_status nd__graph_take_ready(nd_graph *g, const char *op)
{
    ND_NEED(op, 0, g);
    ND_RETURN_IF(nd__graph_take(g, op));
    if (g->state == ND_GRAPH_READY)
        return ND_OK;
    nd_status status = nd__fail(ND_ERR_STATE, op, 0, "%s",
                                g->state == ND_GRAPH_OPEN
                                    ? "the graph is still being captured; call nd_graph_end first"
                                    : "the graph is empty: its capture failed or was aborted, or "
                                      "its contents went to another by nd_graph_update");
    nd__graph_drop(g);
    return status;
}

bool nd__graph_try(nd_graph *g)
{
    if (pthread_mutex_trylock(&g->lock) != 0)
        return false;
    g->holder = pthread_self();
    atomic_store(&g->held, true);
    if (g->state == ND_GRAPH_READY)
        return true;
    nd__graph_drop(g);
    return false;
}

void nd__graph_changed(nd_graph *g)
{
    static _Atomic(uint64_t) changes;
    g->version = atomic_fetch_add_explicit(&changes, 1, memory_order_relaxed) + 1;
}

static nd_status take_open(nd_graph *g, const char *op)
{
    ND_NEED(op, 0, g);
    ND_RETURN_IF(nd__graph_take(g, op));
    if (g->state == ND_GRAPH_OPEN)
        return ND_OK;
    nd__graph_drop(g);
    return nd__fail(ND_ERR_STATE, op, 0, "the graph's capture has ended already");
}

/* ---- captures ---- */
static nd_status begin_capture(nd_graph *g, nd_pool *pool)
{
    nd_pool *got = NULL;
    ND_RETURN_IF(nd__capture_begin_growing(g->stream, g->mode));
    nd_tape *t = nd__tape_of(g->stream);
    g->capture = t->id;
    t->weak = g->weak;
    t->no_pool = !g->backend;
    if (!g->backend)
        return ND_OK;
    nd_status status = nd__caching_capture_begin(g->backend, g->capture, pool, &got);
    if (status != ND_OK) {
        nd__capture_abandon(g->stream);
        return status;
    }
    if (g->pool)
        nd_pool_release(got);
    else
        g->pool = got;
    return ND_OK;
}

static nd_status end_capture(nd_graph *g, nd_captured **out)
{
    nd_status status = nd__capture_end(g->stream, out);
    if (g->stream->capture == g->capture) /* refused: it goes on */
        return status;
    if (g->backend) {
        nd_status ended = nd__caching_capture_end(g->backend, g->capture);
        if (status == ND_OK && ended != ND_OK) {
            nd__captured_free(*out);
            *out = NULL;
            status = ended;
        }
    }
    g->capture = 0;
    return status;
}

static nd_status add_segment(nd_graph *g, nd_captured *captured)
{
    nd_segment_of_graph *grown = realloc(g->segment, (g->n + 1) * sizeof *grown);
    if (!grown) {
        nd__captured_free(captured);
        return nd__fail(ND_ERR_MEMORY, "graph_end", -1, "no host memory for a graph");
    }
    g->segment = grown;
    g->segment[g->n++] = (nd_segment_of_graph){.captured = captured};
    return ND_OK;
}

static nd_status check_opts(const nd_graph_opts *opts, nd_graph_opts *o)
{
    *o = (nd_graph_opts){0};
    if (opts && opts->size < NDP_END(nd_graph_opts, mode))
        return nd__fail(ND_ERR_ARGUMENT, "graph_begin", 1,
                        "the options' size field is %u; set it to sizeof(nd_graph_opts)",
                        (unsigned)opts->size);
    if (opts)
        memcpy(o, opts, opts->size < sizeof *o ? opts->size : sizeof *o);
    if (o->mode < ND_GRAPH_THREAD_LOCAL || o->mode > ND_GRAPH_RELAXED)
        return nd__fail(ND_ERR_ARGUMENT, "graph_begin", 1,
                        "%d is no capture mode; thread-local is 0, global 1, relaxed 2",
                        (int)o->mode);
    return ND_OK;
}

static nd_status choose_backend(nd_graph *g, const nd_pool *pool)
{
    ND_RETURN_IF(nd__device_backend(g->device, &g->backend));
    if (nd__is_caching(g->backend))
        return ND_OK;
    const char *name = g->backend->type->name;
    g->backend = NULL;
    if (!pool)
        return ND_OK;
    return nd__fail(ND_ERR_UNSUPPORTED, "graph_begin", 1,
                    "%s's allocator is \"%s\"; pools are parts of \"caching\"", g->device->name,
                    name);
}

static nd_graph *new_graph(nd_stream *stream, const nd_graph_opts *o)
{
    static const int32_t modes[] = {NDP_CAPTURE_THREAD_LOCAL, NDP_CAPTURE_GLOBAL,
                                    NDP_CAPTURE_RELAXED};
    nd_graph *g = calloc(1, sizeof *g);
    if (!g)
        return NULL;
    atomic_init(&g->refs, 1);
    pthread_mutex_init(&g->lock, NULL);
    g->state = ND_GRAPH_OPEN;
    nd__graph_changed(g);
    g->mode = modes[o->mode];
    if (!stream->device->async) /* the memory of such a capture is its thread's */
        g->mode = NDP_CAPTURE_THREAD_LOCAL;
    g->weak = o->weak != 0;
    g->device = stream->device;
    g->stream = nd_stream_retain(stream);
    return g;
}

nd_status nd_graph_begin(nd_stream *stream, const nd_graph_opts *opts, nd_graph **out)
{
    nd_graph_opts o;
    ND_OUT("graph_begin", 2, out, NULL);
    ND_NEED("graph_begin", 0, stream);
    ND_RETURN_IF(check_opts(opts, &o));
    nd_graph *g = new_graph(stream, &o);
    if (!g)
        return nd__fail(ND_ERR_MEMORY, "graph_begin", -1, "no host memory for a graph");
    nd_status status = choose_backend(g, o.pool);
    if (status == ND_OK)
        status = begin_capture(g, o.pool);
    if (status == ND_OK) {
        *out = g;
    } else {
        g->state = ND_GRAPH_EMPTY;
        nd_graph_release(g);
    }
    return nd__error_as("graph_begin", status);
}

/* ---- its end ---- */
static bool is_empty(const nd_graph *g)
{
    for (uint32_t i = 0; i < g->n; i++)
        if (nd__segment_tape(&g->segment[i])->n || g->segment[i].fn)
            return false;
    return true;
}

static nd_status end(nd_graph *g)
{
    nd_captured *captured = NULL;
    nd_status status = end_capture(g, &captured);
    if (g->capture)
        return status;
    if (status == ND_OK)
        status = add_segment(g, captured);
    if (status == ND_OK)
        status = nd__graph_find_draws(g);
    if (status == ND_OK)
        status = nd__sharers_join(g);
    g->state = status == ND_OK ? ND_GRAPH_READY : ND_GRAPH_EMPTY;
    if (status != ND_OK)
        nd__graph_clear(g);
    else if (is_empty(g))
        nd__log(ND_LOG_WARN,
                "a graph of %s was captured empty: was its stream current, and did the work go to "
                "that device?",
                g->device->name);
    return status;
}

nd_status nd_graph_end(nd_graph *g)
{
    ND_RETURN_IF(take_open(g, "graph_end"));
    nd_status status = end(g);
    nd__graph_drop(g);
    return nd__error_as("graph_end", status);
}

/* Whatever has become of the capture meanwhile. */
static nd_status abort_capture(nd_graph *g)
{
    nd_captured *captured = NULL;
    nd_status status = g->capture ? end_capture(g, &captured) : ND_OK;
    if (g->capture)
        return status;
    nd__captured_free(captured);
    for (uint32_t i = 0; i < g->n_keys; i++)
        *g->key[i].key = g->key[i].first;
    g->state = ND_GRAPH_EMPTY;
    nd__graph_clear(g);
    return ND_OK;
}

nd_status nd_graph_abort(nd_graph *g)
{
    ND_RETURN_IF(take_open(g, "graph_abort"));
    nd_status status = abort_capture(g);
    nd__graph_drop(g);
    return nd__error_as("graph_abort", status);
}

/* ---- partial capture ---- */
static nd_status run_between(nd_graph *g, nd_segment_of_graph *s)
{
    ND_RETURN_IF(nd__graph_instantiate(g));
    ND_RETURN_IF(nd__graph_run_segment(g, s, g->device->async ? g->stream : NULL));
    return nd__graph_run_between(g, s, g->stream);
}

static nd_status split(nd_graph *g, nd_status (*fn)(void *ctx), void *ctx,
                       void (*release)(void *ctx))
{
    nd_captured *captured = NULL;
    nd_status status = end_capture(g, &captured);
    if (status == ND_OK)
        status = add_segment(g, captured);
    if (status == ND_OK) {
        nd_segment_of_graph *s = &g->segment[g->n - 1];
        s->fn = fn;
        s->ctx = ctx;
        s->release = release;
        status = run_between(g, s);
    } else if (release) {
        release(ctx);
    }
    if (g->capture) /* refused: it goes on */
        return status;
    if (status == ND_OK)
        status = begin_capture(g, g->pool);
    if (status != ND_OK) {
        const nd_status kept = status;
        (void)abort_capture(g);
        return kept;
    }
    return ND_OK;
}

nd_status nd_graph_break(nd_graph *g, nd_status (*fn)(void *ctx), void *ctx,
                         void (*release)(void *ctx))
{
    nd_status status = take_open(g, "graph_break");
    if (status != ND_OK) {
        if (release)
            release(ctx);
        return status;
    }
    status = split(g, fn, ctx, release);
    nd__graph_drop(g);
    return status;
}

/* ---- references ---- */
nd_graph *nd_graph_retain(nd_graph *g)
{
    if (g)
        atomic_fetch_add_explicit(&g->refs, 1, memory_order_relaxed);
    return g;
}

static void destroy(void *graph)
{
    nd_graph *g = graph;
    if (g->state == ND_GRAPH_OPEN && abort_capture(g) != ND_OK) { /* not by this thread */
        nd__capture_abandon(g->stream);
        if (g->backend)
            (void)nd__caching_capture_end(g->backend, g->capture);
    }
    if (!nd__graph_settle(g)) { /* another capture forbids it by now, or its stream is in one */
        if (nd__after_capture(g->device, destroy, g))
            return;
        (void)nd__graph_settle(g); /* that one has just ended */
    }
    nd__graph_clear(g);
    nd_stream_release(g->last);
    nd_stream_release(g->stream);
    pthread_mutex_destroy(&g->lock);
    free(g);
}

void nd_graph_release(nd_graph *g)
{
    if (!g || atomic_fetch_sub_explicit(&g->refs, 1, memory_order_acq_rel) != 1)
        return;
    /* what is running cannot be waited for while another capture forbids that */
    if (g->state == ND_GRAPH_READY && nd__after_capture(g->device, destroy, g))
        return;
    destroy(g);
}
