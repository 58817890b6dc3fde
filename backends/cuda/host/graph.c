/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Capture of streams into graphs, and graphs made ready to run. */
#include <stdlib.h>
#include "host/backend.h"

static void graph_unref(ndp_graph *g) /* inside cuda_enter() */
{
    if (!g || atomic_fetch_sub(&g->refs, 1) != 1)
        return;
    cu.cuGraphDestroy(g->graph);
    free(g->node);
    free(g);
}

int cuda_graphs_overlap(void)
{
    static atomic_int known; /* 1: no, 2: yes */
    int now = atomic_load_explicit(&known, memory_order_relaxed);
    if (!now) {
        int32_t on = 1;
        cuda_host->param(
            cuda_host->ctx, "GRAPH_OVERLAP", NDP_PARAM_BOOL,
            "in graphs small kernels and products of quantised matrices with few rows begin "
            "while those before them end",
            &on);
        now = on ? 2 : 1;
        atomic_store_explicit(&known, now, memory_order_relaxed);
    }
    return now == 2;
}

static int32_t begin(ndp_dev *dev, ndp_stream *s, int32_t mode)
{
    static const CUstreamCaptureMode modes[] = {
        [NDP_CAPTURE_GLOBAL] = CU_STREAM_CAPTURE_MODE_GLOBAL,
        [NDP_CAPTURE_THREAD_LOCAL] = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
        [NDP_CAPTURE_RELAXED] = CU_STREAM_CAPTURE_MODE_RELAXED};
    cuda_scope scope;
    if (mode < NDP_CAPTURE_GLOBAL || mode > NDP_CAPTURE_RELAXED)
        return cuda_error(NDP_ERR_ARGUMENT, "%d is no capture mode; they are 0 to 2", (int)mode);
    int32_t status = cuda_enter(dev, &scope);
    if (status != NDP_OK)
        return status;
    CUresult r = cu.cuStreamBeginCapture(cuda_stream_handle(dev, s), modes[mode]);
    cuda_leave(&scope);
    if (r == CUDA_SUCCESS && s)
        atomic_store(&s->captured, 1);
    return cuda_fail(r, "beginning the capture of a stream of cuda:%u", dev->index);
}

static int32_t end(ndp_dev *dev, ndp_stream *s, ndp_graph **out)
{
    cuda_scope scope;
    CUgraph graph = NULL;
    CUstreamCaptureStatus state;
    cuuint64_t id = 0;
    *out = NULL;
    ndp_graph *g = calloc(1, sizeof *g);
    if (!g)
        return cuda_error(NDP_ERR_MEMORY, "no host memory for the record of a graph");
    int32_t status = cuda_enter(dev, &scope);
    if (status != NDP_OK) {
        free(g);
        return status;
    }
    CUstream stream = cuda_stream_handle(dev, s);
    if (cu.cuStreamGetCaptureInfo_v2(stream, &state, &id, NULL, NULL, NULL) != CUDA_SUCCESS)
        id = 0;
    CUresult r = cu.cuStreamEndCapture(stream, &graph);
    if (s)
        atomic_store(&s->captured, 0);
    if (r == CUDA_SUCCESS && !graph)
        r = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    cuda_leave(&scope);
    atomic_init(&g->refs, 1);
    g->graph = graph;
    cuda_capture_ended(id, r == CUDA_SUCCESS ? g : NULL);
    if (r == CUDA_SUCCESS)
        *out = g;
    else
        free(g);
    return cuda_fail(r, "ending the capture of a stream of cuda:%u", dev->index);
}

static int32_t info(ndp_dev *dev, ndp_stream *s, int32_t *status_out, uint64_t *id)
{
    cuda_scope scope;
    CUstreamCaptureStatus state = CU_STREAM_CAPTURE_STATUS_NONE;
    cuuint64_t number = 0;
    *status_out = NDP_CAPTURE_NONE;
    *id = 0;
    int32_t status = cuda_enter(dev, &scope);
    if (status != NDP_OK)
        return status;
    CUresult r =
        cu.cuStreamGetCaptureInfo_v2(cuda_stream_handle(dev, s), &state, &number, NULL, NULL, NULL);
    cuda_leave(&scope);
    if (r == CUDA_SUCCESS && state != CU_STREAM_CAPTURE_STATUS_NONE) {
        *status_out =
            state == CU_STREAM_CAPTURE_STATUS_ACTIVE ? NDP_CAPTURE_ACTIVE : NDP_CAPTURE_INVALIDATED;
        *id = number;
    }
    return cuda_fail(r, "looking at the capture of a stream of cuda:%u", dev->index);
}

static void destroy(ndp_dev *dev, ndp_graph *g)
{
    cuda_scope scope;
    if (!g || cuda_enter(dev, &scope) != NDP_OK)
        return;
    graph_unref(g);
    cuda_leave(&scope);
}

static int32_t instantiate(ndp_dev *dev, ndp_graph *g, ndp_exec **out)
{
    cuda_scope scope;
    *out = NULL;
    ndp_exec *x = calloc(1, sizeof *x);
    if (!x)
        return cuda_error(NDP_ERR_MEMORY, "no host memory for the record of a graph");
    x->dev = dev;
    int32_t status = cuda_enter(dev, &scope);
    if (status == NDP_OK) {
        CUstreamCaptureMode mode = cuda_capture_relax();
        CUresult r = cu.cuGraphInstantiate(&x->exec, g->graph,
                                           CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH |
                                               CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY);
        cuda_capture_restore(mode);
        cuda_leave(&scope);
        status = cuda_fail(r, "making a graph of cuda:%u ready to run", dev->index);
    }
    if (status == NDP_OK) {
        x->graph = g;
        atomic_fetch_add(&g->refs, 1);
        *out = x;
    } else {
        free(x);
    }
    return status;
}

static int32_t check_device(const ndp_dev *dev, const ndp_exec *x)
{
    return x->dev == dev ? NDP_OK
                         : cuda_error(NDP_ERR_DEVICE,
                                      "the graph was captured on cuda:%u and cannot run on cuda:%u",
                                      x->dev->index, dev->index);
}

static int32_t launch(ndp_dev *dev, ndp_exec *x, ndp_stream *s)
{
    cuda_scope scope;
    int32_t status = check_device(dev, x);
    if (status == NDP_OK)
        status = cuda_enter(dev, &scope);
    if (status != NDP_OK)
        return status;
    CUresult r = cu.cuGraphLaunch(x->exec, cuda_stream(dev, s));
    cuda_leave(&scope);
    return cuda_fail(r, "running a graph on cuda:%u", dev->index);
}

/* A graph of another shape is an answer, no failure. */
static int32_t update(ndp_dev *dev, ndp_exec *x, ndp_graph *g, int32_t *updated)
{
    cuda_scope scope;
    CUgraphExecUpdateResultInfo result = {0};
    *updated = 0;
    int32_t status = check_device(dev, x);
    if (status == NDP_OK)
        status = cuda_enter(dev, &scope);
    if (status != NDP_OK)
        return status;
    CUresult r = cu.cuGraphExecUpdate(x->exec, g->graph, &result);
    cuda_leave(&scope);
    *updated = r == CUDA_SUCCESS;
    return r == CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE
               ? NDP_OK
               : cuda_fail(r, "updating a graph of cuda:%u", dev->index);
}

static void exec_destroy(ndp_dev *dev, ndp_exec *x)
{
    cuda_scope scope;
    if (x && cuda_enter(dev, &scope) == NDP_OK) {
        CUstreamCaptureMode mode = cuda_capture_relax();
        cu.cuGraphExecDestroy(x->exec);
        graph_unref(x->graph);
        cu.cuDeviceGraphMemTrim(
            dev->ordinal); /* what it had allocated stays with the device else */
        cuda_capture_restore(mode);
        cuda_leave(&scope);
    }
    free(x);
}

const ndp_graph_1 cuda_graph_group = {.size = sizeof(ndp_graph_1),
                                      .begin = begin,
                                      .end = end,
                                      .info = info,
                                      .destroy = destroy,
                                      .instantiate = instantiate,
                                      .launch = launch,
                                      .update = update,
                                      .exec_destroy = exec_destroy,
                                      .nodes = cuda_capture_nodes,
                                      .patch_begin = cuda_patch_begin,
                                      .patch_end = cuda_patch_end,
                                      .compose = cuda_compose};
