/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Capture: work of a stream, and of those that join it by waiting for its events, is kept in a
 * graph instead of run. The rules and their codes are those of CUDA's stream capture (runtime API,
 * error codes 900 to 908); what breaks one, ends of the wrong stream or thread apart, invalidates
 * the captures concerned, and from then on they answer 901. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "graph.h"
#include "simulator.h"

enum {
    UNSUPPORTED = 900,
    INVALIDATED = 901,
    MERGE = 902,
    UNMATCHED = 903,
    UNJOINED = 904,
    ISOLATION = 905,
    IMPLICIT = 906,
    CAPTURED_EVENT = 907,
    WRONG_THREAD = 908,
    ILLEGAL_STATE = 401,
    MOST_MEMBERS = 32,
    ENDED = -1
};

/* A stream in a capture. seen[i]: how many operations of member i its next one comes after. */
typedef struct {
    sim_queue *queue; /* NULL: destroyed meanwhile */
    uint64_t id;
    uint32_t seen[MOST_MEMBERS];
} member;

struct ndp_graph {
    ndp_dev *dev;
    sim_body **bodies; /* in the order they were queued, which respects all dependencies */
    uint64_t count, room;
};

struct sim_capture {
    sim_capture *next; /* of those underway */
    int32_t refs, status, mode;
    uint64_t id;
    pthread_t thread;
    member members[MOST_MEMBERS]; /* the first is where it began */
    uint32_t n_members;
    ndp_graph *graph;
    char offence[240]; /* what invalidated it */
};

static sim_capture *underway;
static uint64_t last_id;

static void graph_free(ndp_graph *g)
{
    for (uint64_t i = 0; g && i < g->count; i++)
        sim_body_unref(g->bodies[i]);
    if (g)
        free(g->bodies);
    free(g);
}

void sim_capture_unref(sim_capture *c)
{
    if (--c->refs == 0)
        free(c);
}

static void leave(member *m)
{
    if (!m->queue)
        return;
    sim_capture_unref(m->queue->capture);
    m->queue->capture = NULL;
    m->queue = NULL;
}

/* Every stream is itself again. The graph, if it is still here, is dropped. */
static void finish(sim_capture *c)
{
    sim_capture **at = &underway;
    while (*at && *at != c)
        at = &(*at)->next;
    if (*at)
        *at = c->next;
    c->refs++;
    c->status = ENDED;
    for (uint32_t i = 0; i < c->n_members; i++)
        leave(&c->members[i]);
    graph_free(c->graph);
    c->graph = NULL;
    sim_capture_unref(c);
}

static void invalidate(sim_capture *c, const char *what)
{
    if (c->status != NDP_CAPTURE_ACTIVE)
        return;
    c->status = NDP_CAPTURE_INVALIDATED;
    snprintf(c->offence, sizeof c->offence, "%s", what);
}

static int32_t fail_invalidated(const sim_capture *c)
{
    return sim_fail(NDP_ERR_CAPTURE, INVALIDATED,
                    "the capture is invalid since this: %s; end it and begin again", c->offence);
}

static int32_t prohibits(const sim_capture *c)
{
    return c->mode == NDP_CAPTURE_GLOBAL ||
           (c->mode == NDP_CAPTURE_THREAD_LOCAL && pthread_equal(c->thread, pthread_self()));
}

int32_t sim_capture_forbids(const char *what, const sim_queue *q)
{
    char text[160];
    int32_t forbidden = 0;
    if (q && q->capture && q->capture->status == NDP_CAPTURE_INVALIDATED)
        return fail_invalidated(q->capture);
    for (sim_capture *c = underway; c; c = c->next) {
        if (c->status != NDP_CAPTURE_ACTIVE || ((!q || q->capture != c) && !prohibits(c)))
            continue;
        snprintf(text, sizeof text, "%s %s", what,
                 q && q->capture == c ? "on a stream that is being captured"
                                      : "while a stream is being captured");
        invalidate(c, text);
        forbidden = 1;
    }
    return forbidden
               ? sim_fail(NDP_ERR_CAPTURE, UNSUPPORTED,
                          "%s is not allowed; do it before the capture begins or after it ends",
                          text)
               : NDP_OK;
}

/* Work on the legacy stream would wait for blocking streams that are being captured. */
static int32_t check_legacy(const sim_queue *q)
{
    for (sim_capture *c = underway; c; c = c->next)
        for (uint32_t i = 0; i < c->n_members; i++) {
            const sim_queue *m = c->members[i].queue;
            if (!m || !m->blocking || m->dev != q->dev || c->status != NDP_CAPTURE_ACTIVE)
                continue;
            invalidate(c, "work on the default stream beside a blocking stream");
            return sim_fail(NDP_ERR_CAPTURE, IMPLICIT,
                            "work on the default stream would wait for stream %llu, which is being "
                            "captured; use a stream of your own",
                            (unsigned long long)m->id);
        }
    return NDP_OK;
}

int32_t sim_capture_check_push(sim_queue *q)
{
    if (!underway)
        return NDP_OK;
    if (q->capture && q->capture->status == NDP_CAPTURE_INVALIDATED)
        return fail_invalidated(q->capture);
    return q == q->dev->legacy ? check_legacy(q) : NDP_OK;
}

static int32_t graph_add(ndp_graph *g, sim_body *body)
{
    if (g->count == g->room) {
        uint64_t room = g->room ? 2 * g->room : 16;
        sim_body **grown = realloc(g->bodies, room * sizeof(sim_body *));
        if (!grown)
            return sim_fail(NDP_ERR_MEMORY, 0, "no host memory for a graph's operation");
        g->bodies = grown;
        g->room = room;
    }
    g->bodies[g->count++] = body;
    return NDP_OK;
}

int32_t sim_capture_add(sim_queue *q, sim_body *body)
{
    sim_capture *c = q->capture;
    int32_t status = graph_add(c->graph, body);
    if (status == NDP_OK)
        c->members[q->member].seen[q->member]++;
    else
        sim_body_unref(body);
    return status;
}

int32_t sim_capture_record(sim_queue *q, sim_record *r)
{
    member *m = &q->capture->members[q->member];
    r->seen = malloc(sizeof m->seen);
    if (!r->seen)
        return sim_fail(NDP_ERR_MEMORY, 0, "no host memory to record an event");
    memcpy(r->seen, m->seen, sizeof m->seen);
    r->capture = q->capture;
    r->capture->refs++;
    return NDP_OK;
}

static int32_t join(sim_capture *c, sim_queue *q)
{
    if (c->n_members == MOST_MEMBERS)
        return sim_fail(NDP_ERR_CAPTURE, UNSUPPORTED, "a capture takes at most %d streams",
                        MOST_MEMBERS);
    q->member = c->n_members++;
    c->members[q->member] = (member){.queue = q, .id = q->id};
    q->capture = c;
    c->refs++;
    return NDP_OK;
}

static int32_t cross_boundary(sim_queue *q, const sim_record *r)
{
    if (q->capture)
        invalidate(q->capture, "a wait for an event from outside the capture");
    return sim_fail(NDP_ERR_CAPTURE, ISOLATION,
                    "stream %llu would depend on an event recorded %s; record the event %s",
                    (unsigned long long)q->id,
                    r->capture ? "in a capture that has ended" : "outside its capture",
                    q->capture ? "in a stream of the same capture" : "again, outside any capture");
}

static int32_t wait_captured(sim_queue *q, const sim_record *r)
{
    sim_capture *c = r->capture;
    int32_t status = NDP_OK;
    if (q == q->dev->legacy) {
        invalidate(c, "a wait of the default stream for a captured event");
        return sim_fail(NDP_ERR_CAPTURE, IMPLICIT,
                        "the default stream cannot wait for a captured event; use a stream of your "
                        "own");
    }
    if (q->capture && q->capture != c) {
        invalidate(c, "a wait of another capture's stream for one of its events");
        invalidate(q->capture, "a wait for an event of another capture");
        return sim_fail(NDP_ERR_CAPTURE, MERGE,
                        "waiting for an event of capture %llu would merge it with capture %llu",
                        (unsigned long long)c->id, (unsigned long long)q->capture->id);
    }
    if (!q->capture)
        status = join(c, q);
    for (uint32_t i = 0; status == NDP_OK && i < c->n_members; i++) {
        uint32_t *seen = &c->members[q->member].seen[i];
        *seen = r->seen[i] > *seen ? r->seen[i] : *seen;
    }
    return status;
}

int32_t sim_capture_wait(sim_queue *q, sim_record *r, int32_t *queue_it)
{
    *queue_it = 0;
    if (q->capture && q->capture->status == NDP_CAPTURE_INVALIDATED)
        return fail_invalidated(q->capture);
    if (r->capture && r->capture->status == NDP_CAPTURE_INVALIDATED)
        return fail_invalidated(r->capture);
    if (r->capture && r->capture->status == NDP_CAPTURE_ACTIVE)
        return wait_captured(q, r);
    if (q->capture || r->capture)
        return cross_boundary(q, r);
    *queue_it = 1;
    return sim_capture_check_push(q);
}

int32_t sim_capture_event(const ndp_event *e, const char *what)
{
    if (!e->latest || !e->latest->capture)
        return NDP_OK;
    char text[160];
    snprintf(text, sizeof text, "%s of an event that was recorded in a capture", what);
    invalidate(e->latest->capture, text);
    return sim_fail(NDP_ERR_CAPTURE, CAPTURED_EVENT,
                    "%s is not possible: nothing ran; record the event again outside", text);
}

/* The stream is destroyed. Where a capture began, it ends with it. */
void sim_capture_abandon(sim_queue *q)
{
    sim_capture *c = q->capture;
    if (!c)
        return;
    if (q->member == 0)
        finish(c);
    else
        leave(&c->members[q->member]);
}

static int32_t begin_capture(ndp_dev *dev, sim_queue *q, int32_t mode)
{
    if (mode < NDP_CAPTURE_GLOBAL || mode > NDP_CAPTURE_RELAXED)
        return sim_fail(NDP_ERR_ARGUMENT, 1,
                        "%d is no capture mode; global is 0, thread-local 1, relaxed 2", (int)mode);
    if (q == dev->legacy)
        return sim_fail(NDP_ERR_CAPTURE, UNSUPPORTED,
                        "the default stream cannot be captured; use a stream of your own");
    if (q->capture)
        return sim_fail(NDP_ERR_CAPTURE, ILLEGAL_STATE, "stream %llu is being captured already",
                        (unsigned long long)q->id);
    sim_capture *c = calloc(1, sizeof *c);
    if (!c || (c->graph = calloc(1, sizeof *c->graph)) == NULL) {
        free(c);
        return sim_fail(NDP_ERR_MEMORY, 0, "no host memory for a capture");
    }
    c->graph->dev = dev;
    c->status = NDP_CAPTURE_ACTIVE;
    c->mode = mode;
    c->id = ++last_id;
    c->thread = pthread_self();
    c->next = underway;
    underway = c;
    return join(c, q);
}

static int32_t check_queue(ndp_dev *dev, const sim_queue *q)
{
    return q && q->dev == dev
               ? NDP_OK
               : sim_fail(NDP_ERR_DEVICE, 400, "the stream is not of sim:%d", dev->index);
}

static int32_t capture_begin(ndp_dev *dev, ndp_stream *s, int32_t mode)
{
    sim_call c = {.entry = SIM_capture_begin, .dev = dev, .stream = s};
    int32_t status = sim_enter(&c);
    sim_queue *q = sim_queue_of(dev, s);
    if (status == NDP_OK)
        status = check_queue(dev, q);
    if (status == NDP_OK)
        status = begin_capture(dev, q, mode);
    return sim_leave(&c, status);
}

/* The ids of members whose last operation the first one does not come after. */
static int32_t find_unjoined(const sim_capture *c, char *text, size_t n)
{
    size_t length = 0;
    text[0] = 0;
    for (uint32_t i = 1; i < c->n_members && length < n; i++)
        if (c->members[0].seen[i] < c->members[i].seen[i])
            length += (size_t)snprintf(text + length, n - length, "%s%llu", length ? ", " : "",
                                       (unsigned long long)c->members[i].id);
    return length > 0;
}

static int32_t end_capture(sim_queue *q, ndp_graph **out)
{
    sim_capture *c = q->capture;
    char text[200];
    if (!c)
        return sim_fail(NDP_ERR_CAPTURE, ILLEGAL_STATE, "stream %llu is not being captured",
                        (unsigned long long)q->id);
    if (q->member != 0)
        return sim_fail(NDP_ERR_CAPTURE, UNMATCHED,
                        "the capture began on stream %llu and must be ended there, not on stream "
                        "%llu, which joined it",
                        (unsigned long long)c->members[0].id, (unsigned long long)q->id);
    if (c->mode != NDP_CAPTURE_RELAXED && !pthread_equal(c->thread, pthread_self()))
        return sim_fail(NDP_ERR_CAPTURE, WRONG_THREAD,
                        "the capture must be ended by the thread that began it, or begun relaxed");
    int32_t status = NDP_OK;
    if (c->status == NDP_CAPTURE_INVALIDATED) {
        status = fail_invalidated(c);
    } else if (find_unjoined(c, text, sizeof text)) {
        status = sim_fail(NDP_ERR_CAPTURE, UNJOINED,
                          "work of stream %s was not joined; record an event there and let stream "
                          "%llu wait for it",
                          text, (unsigned long long)q->id);
    } else {
        *out = c->graph;
        c->graph = NULL;
    }
    finish(c);
    return status;
}

static int32_t capture_end(ndp_dev *dev, ndp_stream *s, ndp_graph **out)
{
    sim_call c = {.entry = SIM_capture_end, .dev = dev, .stream = s};
    int32_t status = sim_enter(&c);
    sim_queue *q = sim_queue_of(dev, s);
    *out = NULL;
    if (status == NDP_OK)
        status = check_queue(dev, q);
    if (status == NDP_OK)
        status = end_capture(q, out);
    return sim_leave(&c, status);
}

static int32_t capture_info(ndp_dev *dev, ndp_stream *s, int32_t *status_out, uint64_t *id)
{
    sim_call c = {.entry = SIM_capture_info, .dev = dev, .stream = s};
    int32_t status = sim_enter(&c);
    sim_queue *q = sim_queue_of(dev, s);
    if (status == NDP_OK)
        status = check_queue(dev, q);
    const sim_capture *capture = status == NDP_OK ? q->capture : NULL;
    *status_out = capture ? capture->status : NDP_CAPTURE_NONE;
    *id = capture ? capture->id : 0;
    return sim_leave(&c, status);
}

static void graph_destroy(ndp_dev *dev, ndp_graph *g)
{
    sim_call c = {.entry = SIM_graph_destroy, .dev = dev};
    int32_t status = sim_enter(&c);
    graph_free(g);
    sim_leave(&c, status);
}

const ndp_graph_1 sim_graph_group = {
    .size = sizeof(ndp_graph_1),
    .begin = capture_begin,
    .end = capture_end,
    .info = capture_info,
    .destroy = graph_destroy,
    .instantiate = sim_instantiate,
    .launch = sim_exec_launch,
    .update = sim_exec_update,
    .exec_destroy = sim_exec_destroy,
    .nodes = sim_capture_nodes,
    .patch_begin = sim_patch_begin,
    .patch_end = sim_patch_end,
    .compose = sim_compose,
};

sim_body **sim_graph_bodies(const ndp_graph *g)
{
    sim_body **all = malloc(g->count * sizeof(sim_body *) + 1);
    for (uint64_t i = 0; all && i < g->count; i++) {
        all[i] = g->bodies[i];
        all[i]->refs++;
    }
    return all;
}

ndp_dev *sim_graph_device(const ndp_graph *g)
{
    return g->dev;
}

int32_t sim_capture_nodes(ndp_dev *dev, ndp_stream *s, uint64_t *count)
{
    sim_call c = {.entry = SIM_graph_nodes, .dev = dev, .stream = s};
    int32_t status = sim_enter(&c);
    sim_queue *q = sim_queue_of(dev, s);
    *count = 0;
    if (status == NDP_OK)
        status = check_queue(dev, q);
    if (status == NDP_OK && (!q->capture || !q->capture->graph))
        status = sim_fail(NDP_ERR_CAPTURE, ILLEGAL_STATE, "stream %llu is not being captured",
                          (unsigned long long)q->id);
    if (status == NDP_OK)
        *count = q->capture->graph->count;
    return sim_leave(&c, status);
}

uint64_t sim_graph_size(const ndp_graph *g)
{
    return g->count;
}

int32_t sim_graph_launch(ndp_dev *dev, ndp_graph *g, ndp_stream *s)
{
    sim_queue *q = sim_queue_of(dev, s);
    int32_t status = check_queue(dev, q);
    if (status == NDP_OK && g->dev != dev)
        status = sim_fail(NDP_ERR_DEVICE, 400, "the graph was captured on sim:%d, not on sim:%d",
                          g->dev->index, dev->index);
    for (uint64_t i = 0; status == NDP_OK && i < g->count; i++) {
        g->bodies[i]->refs++;
        status = sim_push(q, g->bodies[i], NULL);
    }
    return status;
}
