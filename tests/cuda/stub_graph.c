/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Graphs of the libcuda.so.1 that only pretends: functions of the host are captured, and run by
 * launches; conditional nodes run their bodies by what the kernel "look" has set. */
#include <cuda.h>
#include <stdlib.h>
#include <string.h>
#include "host/driver.h"

#pragma GCC visibility push(default)

typedef struct node {
    struct node *next;
    int type, condition;
    CUhostFn fn;
    void *arg;
    struct CUgraph_st *child, **body;
    uint64_t *handle, at; /* of a look and its condition; the value's address */
    uint32_t nbytes, is_signed, n;
} node;
struct CUgraph_st {
    node *first, **end;
};

char stub_look; /* the kernel of that name */
/* What tests read: graphs that are there, and conditional nodes that were made. */
int stub_graphs, stub_conditions;
static CUgraph captured;

CUresult CUDAAPI cuGraphCreate(CUgraph *out, unsigned flags)
{
    (void)flags;
    *out = calloc(1, sizeof **out);
    (*out)->end = &(*out)->first;
    stub_graphs++;
    return CUDA_SUCCESS;
}

static node *add(CUgraph g, int type)
{
    node *made = calloc(1, sizeof *made);
    made->type = type;
    *g->end = made;
    g->end = &made->next;
    return made;
}

CUresult CUDAAPI cuGraphDestroy(CUgraph g)
{
    for (node *n = g->first, *next; n; n = next) {
        next = n->next;
        for (uint32_t i = 0; n->body && i < n->n; i++)
            cuGraphDestroy(n->body[i]);
        free(n->body);
        free(n->type == CUDA_NODE_CONDITIONAL ? n->handle : NULL);
        free(n);
    }
    free(g);
    stub_graphs--;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuGraphGetNodes(CUgraph g, CUgraphNode *nodes, size_t *n)
{
    (void)nodes;
    *n = 0;
    for (const node *at = g->first; at; at = at->next)
        ++*n;
    return CUDA_SUCCESS;
}

/* ---- captures ---- */
CUresult CUDAAPI cuStreamBeginCapture(CUstream s, CUstreamCaptureMode mode)
{
    (void)s;
    (void)mode;
    return cuGraphCreate(&captured, 0);
}

CUresult CUDAAPI cuStreamEndCapture(CUstream s, CUgraph *out)
{
    (void)s;
    *out = captured;
    captured = NULL;
    return CUDA_SUCCESS;
}

CUresult stub_capture_info(CUstream s, CUstreamCaptureStatus *state, cuuint64_t *id, CUgraph *g,
                           const CUgraphNode **nodes,
                           size_t *n) __asm__("cuStreamGetCaptureInfo_v2");
CUresult stub_capture_info(CUstream s, CUstreamCaptureStatus *state, cuuint64_t *id, CUgraph *g,
                           const CUgraphNode **nodes, size_t *n)
{
    (void)s;
    (void)g;
    (void)nodes;
    (void)n;
    *state = captured ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
    *id = captured != NULL;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuLaunchHostFunc(CUstream s, CUhostFn fn, void *arg)
{
    (void)s;
    if (!captured) {
        fn(arg);
        return CUDA_SUCCESS;
    }
    node *n = add(captured, CU_GRAPH_NODE_TYPE_HOST);
    n->fn = fn;
    n->arg = arg;
    return CUDA_SUCCESS;
}

/* ---- nodes ---- */
CUresult stub_handle(uint64_t *out, CUgraph g, CUcontext context, unsigned value,
                     unsigned flags) __asm__("cuGraphConditionalHandleCreate");
CUresult stub_handle(uint64_t *out, CUgraph g, CUcontext context, unsigned value, unsigned flags)
{
    (void)flags;
    if (!g || !context)
        return CUDA_ERROR_INVALID_VALUE;
    uint64_t *made = malloc(sizeof *made);
    *made = value;
    *out = (uint64_t)(uintptr_t)made;
    return CUDA_SUCCESS;
}

static CUresult add_condition(CUgraph g, cuda_node *p)
{
    node *n = add(g, p->type);
    n->handle = (uint64_t *)(uintptr_t)p->conditional.handle;
    n->condition = p->conditional.type;
    n->n = p->conditional.size;
    n->body = calloc(n->n, sizeof(CUgraph));
    for (uint32_t i = 0; i < n->n; i++)
        cuGraphCreate(&n->body[i], 0);
    p->conditional.body = n->body;
    stub_conditions++;
    return CUDA_SUCCESS;
}

static CUresult add_kernel(CUgraph g, const cuda_node *p)
{
    void **params = p->kernel.params;
    node *n = add(g, p->type);
    if (p->kernel.function != (CUfunction)&stub_look || p->kernel.grid[0] != 1)
        return CUDA_ERROR_INVALID_VALUE;
    n->handle = (uint64_t *)(uintptr_t) * (uint64_t *)params[0];
    n->at = *(uint64_t *)params[1];
    n->nbytes = *(uint32_t *)params[2];
    n->is_signed = *(uint32_t *)params[3];
    n->n = *(uint32_t *)params[4];
    return CUDA_SUCCESS;
}

/* Nodes are added in a line: each behind the one before. */
CUresult stub_add(CUgraphNode *out, CUgraph g, const CUgraphNode *before, const void *edges,
                  size_t n_before, cuda_node *p) __asm__("cuGraphAddNode_v2");
CUresult stub_add(CUgraphNode *out, CUgraph g, const CUgraphNode *before, const void *edges,
                  size_t n_before, cuda_node *p)
{
    const int is_first = g->first == NULL;
    if (edges || n_before != !is_first ||
        (n_before && &((node *)(void *)*before)->next != g->end) || p->reserved_behind)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult r = CUDA_ERROR_NOT_SUPPORTED;
    if (p->type == CUDA_NODE_CONDITIONAL)
        r = add_condition(g, p);
    else if (p->type == CU_GRAPH_NODE_TYPE_KERNEL)
        r = add_kernel(g, p);
    else if (p->type == CU_GRAPH_NODE_TYPE_GRAPH)
        add(g, p->type)->child = p->child.graph, r = CUDA_SUCCESS;
    *out = (CUgraphNode)((char *)g->end - offsetof(node, next));
    return r;
}

/* ---- launches ---- */
static void run(CUgraph g);

static void look(const node *n)
{
    uint64_t x = 0;
    memcpy(&x, (const void *)(uintptr_t)n->at, n->nbytes);
    if (n->is_signed && n->nbytes < 8 && x >> (8 * n->nbytes - 1))
        x |= ~UINT64_C(0) << (8 * n->nbytes);
    *n->handle = n->n ? (x < n->n ? x : n->n) : x != 0;
}

static void run_condition(const node *n)
{
    const uint64_t x = *n->handle;
    const int is_switch = n->condition == 2;
    if (n->condition == 1)
        while (*n->handle)
            run(n->body[0]);
    else if (is_switch ? x < n->n : x || n->n > 1)
        run(n->body[is_switch ? x : !x]);
}

static void run(CUgraph g)
{
    for (const node *n = g->first; n; n = n->next)
        if (n->type == CU_GRAPH_NODE_TYPE_HOST)
            n->fn(n->arg);
        else if (n->type == CU_GRAPH_NODE_TYPE_GRAPH)
            run(n->child);
        else if (n->type == CU_GRAPH_NODE_TYPE_KERNEL)
            look(n);
        else
            run_condition(n);
}

CUresult CUDAAPI cuGraphInstantiate(CUgraphExec *out, CUgraph g, unsigned long long flags)
{
    (void)flags;
    *out = (CUgraphExec)(void *)g;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuGraphLaunch(CUgraphExec x, CUstream s)
{
    (void)s;
    run((CUgraph)(void *)x);
    return CUDA_SUCCESS;
}
