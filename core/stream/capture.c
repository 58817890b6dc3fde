/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Captures of streams as the core sees them: which are underway and what each forbids, so that the
 * driver, which would give the capture up, is not asked; what a graph must keep; and what has to
 * wait for the end. */
#include <stdlib.h>
#include "core/stream/tape.h"

/* Something to be done later: a release, or a free. */
typedef struct task {
    struct task *next;
    void (*run)(void *ctx);
    void *ctx;
} task;

typedef struct capture {
    struct capture *next;
    nd_stream *stream; /* where it began */
    uint64_t id;
    pthread_t thread;
    int32_t mode;
    bool soft;     /* the device captures nothing: the tape is the graph */
    nd_tape *tape; /* counted */
    task *kept;    /* the graph's, or done when there is none */
    task *after;   /* done when it ends */
} capture;

struct nd_captured {
    nd_device *device;
    ndp_graph *graph; /* NULL where the tape is all there is */
    nd_tape *tape;
    task *kept;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static capture *underway;
atomic_int nd__captures; /* of those underway */
/* Of captures of devices that number none themselves: beyond what any plug-in counts to. */
static atomic_uint_fast64_t last_soft = UINT64_C(1) << 62;

void nd__fork_captures(nd_fork now)
{
    nd__fork_mutex(&lock, now);
}

static void run_all(task *t)
{
    for (task *next; t; t = next) {
        next = t->next;
        t->run(t->ctx);
        free(t);
    }
}

static capture *find(uint64_t id, const nd_plugin_slot *slot) /* under the lock */
{
    capture *c = underway;
    while (c && (c->id != id || c->stream->device->slot != slot))
        c = c->next;
    return c;
}

uint64_t nd__capture_id(nd_stream *s)
{
    int32_t status = NDP_CAPTURE_NONE;
    uint64_t id = 0;
    nd_device *d = s ? s->device : NULL;
    if (!d || !nd__captures_now())
        return 0;
    if (!d->has_graph) {
        const nd_tape *t = nd__tape_of(s);
        return t ? t->id : 0;
    }
    if (d->graph.info(d->dev, s->handle, &status, &id) != NDP_OK)
        return 0;
    return status == NDP_CAPTURE_NONE ? 0 : id;
}

/* A capture of the plug-in that takes unsafe calls of this thread amiss, wherever they go. */
static capture *forbidding(const nd_device *d)
{
    capture *c = underway;
    while (c &&
           (c->soft || c->stream->device->slot != d->slot || c->mode == NDP_CAPTURE_RELAXED ||
            (c->mode == NDP_CAPTURE_THREAD_LOCAL && !pthread_equal(c->thread, pthread_self()))))
        c = c->next;
    return c;
}

static uint64_t forbidding_stream(const nd_device *d)
{
    if (!nd__captures_now())
        return 0;
    pthread_mutex_lock(&lock);
    const capture *c = forbidding(d);
    uint64_t id = c ? c->stream->id : 0;
    pthread_mutex_unlock(&lock);
    return id;
}

bool nd__capture_forbids(const nd_device *d)
{
    return forbidding_stream(d) != 0;
}

nd_status nd__refuse_capture(nd_stream *s, const char *op, const char *advice)
{
    if (!nd__capture_id(s))
        return ND_OK;
    nd__fail(ND_ERR_CAPTURE, op, -1, "stream %llu is being captured, which this cannot be; %s",
             (unsigned long long)s->id, advice);
    nd__error_context(NULL, s->device->name, NULL);
    return ND_ERR_CAPTURE;
}

nd_status nd__refuse_unsafe(nd_device *d, const char *op, const char *advice)
{
    uint64_t id = forbidding_stream(d);
    if (!id)
        return ND_OK;
    nd__fail(ND_ERR_CAPTURE, op, -1, "it would break the capture of stream %llu; %s",
             (unsigned long long)id, advice);
    nd__error_context(NULL, d->name, NULL);
    return ND_ERR_CAPTURE;
}

nd_status nd__refuse_join(nd_stream *s, uint64_t recorded_in, const char *op)
{
    if (!nd__captures_now() && !recorded_in)
        return ND_OK;
    uint64_t mine = nd__capture_id(s);
    if (mine == recorded_in)
        return ND_OK;
    pthread_mutex_lock(&lock);
    bool ended = recorded_in && !find(recorded_in, s->device->slot);
    pthread_mutex_unlock(&lock);
    const char *why = NULL;
    if (ended)
        why = "the event was recorded in a capture that has ended; record it again";
    else if (mine && recorded_in)
        why = "the event is of another capture; two captures cannot be joined";
    else if (mine)
        why = "the stream is being captured and the event was recorded outside of that; wait "
              "before the capture begins";
    else if (s == s->device->stream0)
        why = "the default stream cannot join a capture; use a stream of your own";
    return why ? nd__fail(ND_ERR_CAPTURE, op, 0, "%s", why) : (nd_status)ND_OK;
}

static nd_status check_begin(nd_stream *s, int32_t mode, const char *op)
{
    if (mode < NDP_CAPTURE_GLOBAL || mode > NDP_CAPTURE_RELAXED)
        return nd__fail(ND_ERR_ARGUMENT, op, 1,
                        "%d is no capture mode; global is 0, thread-local 1, relaxed 2", (int)mode);
    ND_RETURN_IF(nd__usable(s->device, op));
    if (s == s->device->stream0)
        return nd__fail(ND_ERR_CAPTURE, op, 0,
                        "the default stream cannot be captured; make one with nd_stream_create");
    return nd__refuse_capture(s, op, "end that capture first");
}

/* The plug-in's own capture, where it has them. */
static nd_status begin_native(nd_stream *s, const char *op, int32_t mode, capture *c)
{
    nd_device *d = s->device;
    int32_t state;
    pthread_mutex_lock(&s->lock);
    nd_status status = nd__fault(s, op, d->graph.begin(d->dev, s->handle, mode));
    if (status == ND_OK)
        (void)d->graph.info(d->dev, s->handle, &state, &c->id);
    pthread_mutex_unlock(&s->lock);
    return status;
}

static void capture_free(capture *c)
{
    if (c)
        nd__tape_release(c->tape);
    free(c);
}

static void give_up_native(nd_stream *s)
{
    nd_device *d = s->device;
    ndp_graph *graph = NULL;
    if (d->has_graph && d->graph.end(d->dev, s->handle, &graph) == NDP_OK && graph)
        d->graph.destroy(d->dev, graph);
}

static nd_status begin(nd_stream *s, int32_t mode, bool grows)
{
    static const char op[] = "capture_begin";
    nd_device *d = s->device;
    ND_RETURN_IF(check_begin(s, mode, op));
    capture *c = calloc(1, sizeof *c);
    if (!c || (c->tape = nd__tape_new(d, d->has_graph)) == NULL) {
        capture_free(c);
        return nd__fail(ND_ERR_MEMORY, op, -1, "no host memory for a capture");
    }
    c->stream = s;
    c->thread = pthread_self();
    c->mode = mode;
    c->soft = !d->has_graph;
    c->id = atomic_fetch_add(&last_soft, 1);
    atomic_fetch_add(&nd__captures, 1); /* before the plug-in begins: whoever asks it about streams
                                           of others looks at this first */
    nd_status status = c->soft ? ND_OK : begin_native(s, op, grows ? NDP_CAPTURE_RELAXED : mode, c);
    c->tape->grows = grows;
    c->tape->id = c->id;
    if (status == ND_OK && (status = nd__tape_enlist(c->tape, s, op)) != ND_OK)
        give_up_native(s);
    if (status != ND_OK) {
        atomic_fetch_sub(&nd__captures, 1);
        capture_free(c);
        return status;
    }
    s->capture = c->id;
    pthread_mutex_lock(&lock);
    c->next = underway;
    underway = c;
    atomic_fetch_add(&d->captures, 1);
    pthread_mutex_unlock(&lock);
    return ND_OK;
}

nd_status nd__capture_begin(nd_stream *s, int32_t mode)
{
    return begin(s, mode, false);
}

/* The plug-in is told that everything is allowed, and the mode is ours to keep. */
nd_status nd__capture_begin_growing(nd_stream *s, int32_t mode)
{
    return begin(s, mode, true);
}

/* G1: only where and by whom it was begun. */
static nd_status check_end(nd_stream *s)
{
    static const char op[] = "capture_end";
    uint64_t id = nd__capture_id(s);
    if (!id)
        return nd__fail(ND_ERR_CAPTURE, op, 0, "stream %llu is not being captured",
                        (unsigned long long)s->id);
    pthread_mutex_lock(&lock);
    const capture *c = find(id, s->device->slot);
    uint64_t began = c ? c->stream->id : 0;
    bool stranger =
        c && c->mode != NDP_CAPTURE_RELAXED && !pthread_equal(c->thread, pthread_self());
    pthread_mutex_unlock(&lock);
    if (began != s->id)
        return nd__fail(ND_ERR_CAPTURE, op, 0,
                        "the capture began on stream %llu and is ended there; stream %llu only "
                        "joined it",
                        (unsigned long long)began, (unsigned long long)s->id);
    if (stranger)
        return nd__fail(ND_ERR_CAPTURE, op, 0,
                        "another thread began this capture, and has to end it; relaxed captures "
                        "may be ended by any");
    return ND_OK;
}

static capture *take_out(const nd_stream *s)
{
    pthread_mutex_lock(&lock);
    capture **at = &underway, *c;
    while (*at && (*at)->stream != s)
        at = &(*at)->next;
    if ((c = *at) != NULL) {
        *at = c->next;
        atomic_fetch_sub(&nd__captures, 1);
        atomic_fetch_sub(&s->device->captures, 1);
    }
    pthread_mutex_unlock(&lock);
    return c;
}

static nd_status end_native(nd_stream *s, ndp_graph **graph)
{
    nd_device *d = s->device;
    pthread_mutex_lock(&s->lock);
    nd_status status = nd__fault(s, "capture_end", d->graph.end(d->dev, s->handle, graph));
    pthread_mutex_unlock(&s->lock);
    return status;
}

/* What a plug-in would say of work that was forked and not joined again. */
static nd_status check_joined(nd_stream *s, nd_tape *t)
{
    char text[200];
    if (!nd__tape_unjoined(t, text, sizeof text))
        return ND_OK;
    return nd__fail(ND_ERR_CAPTURE, "capture_end", 0,
                    "work of stream %s was not joined; record an event there and let stream %llu "
                    "wait for it",
                    text, (unsigned long long)s->id);
}

/* In the core's words, with the plug-in's code. */
static void explain_end(nd_stream *s, nd_tape *t)
{
    const int64_t native = nd_last_error()->native;
    if (t->offence)
        (void)nd__fail(ND_ERR_CAPTURE, "capture_end", 0,
                       "the capture is invalid since %s; end it and begin again without that",
                       t->offence);
    else if (check_joined(s, t) == ND_OK)
        return;
    nd__error_native(native);
    nd__error_context(NULL, s->device->name, s->device->slot->name);
}

nd_status nd__capture_end(nd_stream *s, nd_captured **out)
{
    nd_device *d = s->device;
    ndp_graph *graph = NULL;
    *out = NULL;
    ND_RETURN_IF(check_end(s));
    nd_captured *made = calloc(1, sizeof *made);
    nd_tape *tape = nd__tape_of(s);
    nd_status status = d->has_graph ? end_native(s, &graph) : check_joined(s, tape);
    if (d->has_graph && status == ND_ERR_CAPTURE)
        explain_end(s, tape);
    s->capture = 0;
    capture *c = take_out(s);
    nd__tape_end(c->tape);
    if (status == ND_OK && !made)
        status = nd__fail(ND_ERR_MEMORY, "capture_end", -1, "no host memory for a graph");
    if (status == ND_OK) {
        *made = (nd_captured){d, graph, nd__tape_retain(c->tape), c->kept};
        *out = made;
    } else {
        if (graph)
            d->graph.destroy(d->dev, graph);
        run_all(c->kept);
        free(made);
    }
    run_all(c->after);
    capture_free(c);
    return status;
}

void nd__capture_abandon(nd_stream *s)
{
    if (!s->capture)
        return;
    s->capture = 0;
    give_up_native(s);
    capture *c = take_out(s);
    nd__tape_end(c->tape);
    run_all(c->kept);
    run_all(c->after);
    capture_free(c);
}

void nd__captured_replace(nd_captured *c, ndp_graph *graph)
{
    c->device->graph.destroy(c->device->dev, c->graph);
    c->graph = graph;
}

nd_tape *nd__captured_tape(const nd_captured *c)
{
    return c->tape;
}

ndp_graph *nd__captured_graph(const nd_captured *c)
{
    return c->graph;
}

void nd__captured_free(nd_captured *c)
{
    if (!c)
        return;
    if (c->graph)
        c->device->graph.destroy(c->device->dev, c->graph);
    nd__tape_release(c->tape);
    run_all(c->kept);
    free(c);
}

nd_status nd__capture_keep(nd_stream *s, const char *op, void (*release)(void *ctx), void *ctx)
{
    uint64_t id = nd__capture_id(s);
    task *t = malloc(sizeof *t);
    if (!t)
        return nd__fail(ND_ERR_MEMORY, op, -1, "no host memory for what the graph keeps");
    pthread_mutex_lock(&lock);
    capture *c = find(id, s->device->slot);
    if (c) {
        *t = (task){c->kept, release, ctx};
        c->kept = t;
    }
    pthread_mutex_unlock(&lock);
    if (c)
        return ND_OK;
    free(t);
    return nd__fail(ND_ERR_CAPTURE, op, -1, "the capture of stream %llu was not begun by ndock",
                    (unsigned long long)s->id);
}

bool nd__after_capture(const nd_device *d, void (*run)(void *ctx), void *ctx)
{
    if (!nd__captures_now())
        return false;
    task *t = malloc(sizeof *t);
    pthread_mutex_lock(&lock);
    capture *c = t ? underway : NULL;
    while (c && (c->soft || c->stream->device->slot != d->slot))
        c = c->next;
    if (c) {
        *t = (task){c->after, run, ctx};
        c->after = t;
    }
    pthread_mutex_unlock(&lock);
    if (!c)
        free(t);
    return c != NULL;
}
