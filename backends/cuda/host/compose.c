/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Graphs whose conditions the device decides: conditional nodes of the driver, from CUDA 12.4 on. In
 * front of each, and behind a loop's body, a kernel of one thread looks at the value. */
#include <stdlib.h>
#include <string.h>
#include <ndock/plugin_facts.h>
#include "host/backend.h"

enum { CONDITIONS_SINCE = 12040, ELSE_SINCE = 12080 /* two bodies of an if, and switches */ };

/* The device function that sets a condition is the driver's own, which it adds when it compiles PTX;
 * nvcc's machine code would need the device's runtime library linked to it. What is set: of n bodies
 * the number, n for none; where n is 0, whether the value is not 0. sign: how far a signed value is
 * shifted up and down to be that of 64 bits. */
static const char text[] =
    ".version 7.0\n.target sm_60\n.address_size 64\n"
    ".extern .func cudaGraphSetConditional (.param .b64 handle, .param .b32 value);\n"
    ".visible .entry look(.param .u64 handle, .param .u64 at, .param .u32 nbytes,\n"
    "                     .param .u32 is_signed, .param .u32 n)\n{\n"
    ".reg .pred %p, %q, %r, %s, %t;\n.reg .b32 %size, %sign, %n, %value, %above;\n"
    ".reg .b64 %handle, %at, %x, %n64;\n"
    "ld.param.u64 %handle, [handle];\nld.param.u64 %at, [at];\nld.param.u32 %size, [nbytes];\n"
    "ld.param.u32 %sign, [is_signed];\nld.param.u32 %n, [n];\ncvta.to.global.u64 %at, %at;\n"
    "setp.eq.u32 %p, %size, 1;\nsetp.eq.u32 %q, %size, 2;\nsetp.eq.u32 %r, %size, 4;\n"
    "setp.eq.u32 %s, %size, 8;\nmov.u64 %x, 0;\n"
    "@%p ld.global.u8 %x, [%at];\n@%q ld.global.u16 %x, [%at];\n"
    "@%r ld.global.u32 %x, [%at];\n@%s ld.global.u64 %x, [%at];\n"
    "shl.b32 %above, %size, 3;\nsub.u32 %above, 64, %above;\nsetp.ne.u32 %t, %sign, 0;\n"
    "@%t shl.b64 %x, %x, %above;\n@%t shr.s64 %x, %x, %above;\n"
    "cvt.u64.u32 %n64, %n;\nsetp.lt.u64 %p, %x, %n64;\ncvt.u32.u64 %value, %x;\n"
    "selp.b32 %value, %value, %n, %p;\nsetp.ne.u64 %q, %x, 0;\nsetp.eq.u32 %r, %n, 0;\n"
    "selp.b32 %size, 1, 0, %q;\nselp.b32 %value, %size, %value, %r;\n"
    "{\n.param .b64 a;\n.param .b32 b;\nst.param.b64 [a], %handle;\nst.param.b32 [b], %value;\n"
    "call.uni cudaGraphSetConditional, (a, b);\n}\nret;\n}\n";

typedef struct {
    ndp_dev *dev;
    CUfunction look;
} composer;

/* Where the next node goes: behind the latest. */
typedef struct {
    CUgraph graph;
    CUgraphNode last;
} place;

static CUresult add(place *at, cuda_node *node)
{
    CUgraphNode made = NULL;
    const size_t n = at->last ? 1 : 0;
    CUresult r = cu.cuGraphAddNode_v2(&made, at->graph, n ? &at->last : NULL, NULL, n, node);
    if (r == CUDA_SUCCESS)
        at->last = made;
    return r;
}

static CUresult add_look(const composer *c, place *at, const ndp_step *s, uint64_t handle)
{
    CUdeviceptr where = cuda_ptr(s->value);
    uint32_t nbytes = (uint32_t)ndp_dtype_size(s->value->dtype);
    uint32_t is_signed = s->value->dtype >= NDP_I8 && s->value->dtype <= NDP_I64;
    uint32_t n = s->condition == NDP_STEP_SWITCH ? s->n_bodies : 0;
    void *params[] = {&handle, &where, &nbytes, &is_signed, &n};
    cuda_node node = {
        .type = CU_GRAPH_NODE_TYPE_KERNEL,
        .kernel = {.function = c->look, .grid = {1, 1, 1}, .block = {1, 1, 1}, .params = params}};
    return add(at, &node);
}

static CUresult add_steps(const composer *c, place *at, const ndp_steps *steps);

static CUresult add_condition(const composer *c, place *at, const ndp_step *s)
{
    uint64_t handle = 0;
    CUresult r = cu.cuGraphConditionalHandleCreate(&handle, at->graph, c->dev->context, 0, 0);
    if (r == CUDA_SUCCESS)
        r = add_look(c, at, s, handle);
    cuda_node node = {.type = CUDA_NODE_CONDITIONAL,
                      .conditional = {.handle = handle,
                                      .type = s->condition,
                                      .size = s->n_bodies,
                                      .context = c->dev->context}};
    if (r == CUDA_SUCCESS)
        r = add(at, &node);
    for (uint32_t i = 0; r == CUDA_SUCCESS && i < s->n_bodies; i++) {
        place body = {.graph = node.conditional.body[i]};
        r = add_steps(c, &body, &s->body[i]);
        if (r == CUDA_SUCCESS && s->condition == NDP_STEP_WHILE)
            r = add_look(c, &body, s, handle);
    }
    return r;
}

static CUresult add_graph(place *at, const ndp_graph *g)
{
    size_t n = 0;
    CUresult r = cu.cuGraphGetNodes(g->graph, NULL, &n);
    cuda_node node = {.type = CU_GRAPH_NODE_TYPE_GRAPH, .child = {.graph = g->graph}};
    return r == CUDA_SUCCESS && n ? add(at, &node) : r;
}

static CUresult add_steps(const composer *c, place *at, const ndp_steps *steps)
{
    CUresult r = CUDA_SUCCESS;
    for (uint32_t i = 0; r == CUDA_SUCCESS && i < steps->n; i++)
        r = steps->step[i].graph ? add_graph(at, steps->step[i].graph)
                                 : add_condition(c, at, &steps->step[i]);
    return r;
}

static int has_later_kind(const ndp_steps *steps)
{
    int some = 0;
    for (uint32_t i = 0; i < steps->n; i++) {
        const ndp_step *s = &steps->step[i];
        some |= !s->graph && (s->condition == NDP_STEP_SWITCH || s->n_bodies > 1);
        for (uint32_t b = 0; !s->graph && b < s->n_bodies; b++)
            some |= has_later_kind(&s->body[b]);
    }
    return some;
}

static int32_t check(const ndp_steps *steps)
{
    const int since = has_later_kind(steps) ? ELSE_SINCE : CONDITIONS_SINCE;
    if (cuda_driver_version() >= since && cu.cuGraphAddNode_v2 && cu.cuGraphConditionalHandleCreate)
        return NDP_OK;
    return cuda_error(NDP_ERR_UNSUPPORTED,
                      "such conditions are decided by devices from CUDA %d.%d on", since / 1000,
                      since % 1000 / 10);
}

/* Loaded once; gone with the device's modules. */
static CUresult need_look(ndp_dev *dev, CUfunction *out)
{
    CUresult r = CUDA_SUCCESS;
    pthread_mutex_lock(&dev->lock);
    if (!dev->conditions)
        r = cu.cuModuleLoadData(&dev->conditions, text);
    if (r == CUDA_SUCCESS)
        r = cu.cuModuleGetFunction(out, dev->conditions, "look");
    pthread_mutex_unlock(&dev->lock);
    return r;
}

static CUresult compose(ndp_dev *dev, const ndp_steps *steps, ndp_exec *x)
{
    composer c = {.dev = dev};
    CUresult r = need_look(dev, &c.look);
    if (r == CUDA_SUCCESS)
        r = cu.cuGraphCreate(&x->graph->graph, 0);
    place at = {.graph = x->graph->graph};
    if (r == CUDA_SUCCESS)
        r = add_steps(&c, &at, steps);
    return r == CUDA_SUCCESS ? cu.cuGraphInstantiate(&x->exec, at.graph, 0) : r;
}

int32_t cuda_compose(ndp_dev *dev, const ndp_steps *steps, ndp_exec **out)
{
    cuda_scope scope;
    *out = NULL;
    int32_t status = check(steps);
    status = status == NDP_OK ? cuda_enter(dev, &scope) : status;
    if (status != NDP_OK)
        return status;
    ndp_exec *x = calloc(1, sizeof *x);
    ndp_graph *g = calloc(1, sizeof *g);
    CUresult r = CUDA_ERROR_OUT_OF_MEMORY;
    if (x && g) {
        CUstreamCaptureMode mode = cuda_capture_relax();
        atomic_init(&g->refs, 1);
        *x = (ndp_exec){.dev = dev, .graph = g};
        r = compose(dev, steps, x);
        cuda_capture_restore(mode);
    }
    if (r == CUDA_SUCCESS) {
        *out = x;
    } else {
        if (g && g->graph)
            cu.cuGraphDestroy(g->graph);
        free(g);
        free(x);
    }
    cuda_leave(&scope);
    /* What a body may not have depends on the driver: the host decides then. */
    return r == CUDA_SUCCESS || cuda_sticky(r)
               ? cuda_fail(r, "composing a graph on cuda:%u", dev->index)
               : cuda_error(NDP_ERR_UNSUPPORTED,
                            "the driver does not compose the graph on cuda:%u: %s", dev->index,
                            cuda_error_name(r));
}
