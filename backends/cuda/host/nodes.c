/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The nodes of captures underway, in the order in which they were queued. The driver tells a stream's
 * latest ones, and what each comes after: from there the way leads back to those that are known. */
#include <stdlib.h>
#include <string.h>
#include "host/backend.h"

typedef struct capture {
    struct capture *next;
    cuuint64_t id;
    CUgraphNode *node;
    uint64_t n, room;
} capture;

static capture *underway;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static capture *find(cuuint64_t id) /* NULL: no memory */
{
    capture *c = underway;
    while (c && c->id != id)
        c = c->next;
    if (!c && (c = calloc(1, sizeof *c)) != NULL) {
        c->id = id;
        c->next = underway;
        underway = c;
    }
    return c;
}

static int is_known(const capture *c, CUgraphNode node)
{
    for (uint64_t i = c->n; i-- > 0;) /* mostly the latest */
        if (c->node[i] == node)
            return 1;
    return 0;
}

static CUresult append(capture *c, CUgraphNode node)
{
    if (c->n == c->room) {
        uint64_t room = c->room ? 2 * c->room : 64;
        CUgraphNode *grown = realloc(c->node, room * sizeof *grown);
        if (!grown)
            return CUDA_ERROR_OUT_OF_MEMORY;
        c->node = grown;
        c->room = room;
    }
    c->node[c->n++] = node;
    return CUDA_SUCCESS;
}

/* Without out, how many nodes this one comes after; with it *n is 1. */
static CUresult dependencies(CUgraphNode node, CUgraphNode *out, size_t *n)
{
    uint64_t edge;
    return cu.cuGraphNodeGetDependencies_v2
               ? cu.cuGraphNodeGetDependencies_v2(node, out, out ? &edge : NULL, n)
               : cu.cuGraphNodeGetDependencies(node, out, n);
}

/* The one node that this one comes after; NULL: there is none, or more than one, which are known, as
 * each of them was its stream's latest once. */
static CUresult before(CUgraphNode node, CUgraphNode *out)
{
    size_t n = 0;
    *out = NULL;
    CUresult r = dependencies(node, NULL, &n);
    return r == CUDA_SUCCESS && n == 1 ? dependencies(node, out, &n) : r;
}

enum { MOST_NEW = 256 }; /* of one operation */
static CUresult learn(capture *c, CUgraphNode latest)
{
    CUgraphNode found[MOST_NEW];
    uint64_t n = 0;
    CUresult r = CUDA_SUCCESS;
    for (CUgraphNode at = latest; r == CUDA_SUCCESS && at && !is_known(c, at);) {
        if (n == MOST_NEW)
            return CUDA_ERROR_NOT_SUPPORTED;
        found[n++] = at;
        r = before(at, &at);
    }
    while (r == CUDA_SUCCESS && n > 0)
        r = append(c, found[--n]);
    return r;
}

/* The stream's latest nodes. */
static CUresult latest_of(CUstream stream, cuuint64_t *id, CUstreamCaptureStatus *state,
                          const CUgraphNode **latest, size_t *n)
{
    const uint64_t *edge = NULL;
    return cu.cuStreamGetCaptureInfo_v3
               ? cu.cuStreamGetCaptureInfo_v3(stream, state, id, NULL, latest, &edge, n)
               : cu.cuStreamGetCaptureInfo_v2(stream, state, id, NULL, latest, n);
}

static CUresult look(CUstream stream, uint64_t *count)
{
    CUstreamCaptureStatus state = CU_STREAM_CAPTURE_STATUS_NONE;
    cuuint64_t id = 0;
    const CUgraphNode *latest = NULL;
    size_t n = 0;
    CUresult r = latest_of(stream, &id, &state, &latest, &n);
    if (r != CUDA_SUCCESS || state != CU_STREAM_CAPTURE_STATUS_ACTIVE)
        return r == CUDA_SUCCESS ? CUDA_ERROR_ILLEGAL_STATE : r;
    pthread_mutex_lock(&lock);
    capture *c = find(id);
    r = c ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    for (size_t i = 0; r == CUDA_SUCCESS && i < n; i++)
        r = learn(c, latest[i]);
    if (r == CUDA_SUCCESS)
        *count = c->n;
    pthread_mutex_unlock(&lock);
    return r;
}

int32_t cuda_capture_nodes(ndp_dev *dev, ndp_stream *s, uint64_t *count)
{
    cuda_scope scope;
    *count = 0;
    if (!cu.cuGraphNodeGetDependencies)
        return cuda_error(NDP_ERR_UNSUPPORTED, "the driver does not tell the order of nodes");
    int32_t status = cuda_enter(dev, &scope);
    if (status != NDP_OK)
        return status;
    CUresult r = look(cuda_stream_handle(dev, s), count);
    cuda_leave(&scope);
    return cuda_fail(r, "looking at the nodes of a capture on cuda:%u", dev->index);
}

void cuda_capture_ended(cuuint64_t id, ndp_graph *graph)
{
    pthread_mutex_lock(&lock);
    capture **at = &underway;
    while (*at && (*at)->id != id)
        at = &(*at)->next;
    capture *c = *at;
    if (c)
        *at = c->next;
    pthread_mutex_unlock(&lock);
    if (!c)
        return;
    if (graph) {
        graph->node = c->node;
        graph->n = c->n;
    } else {
        free(c->node);
    }
    free(c);
}
