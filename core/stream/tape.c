/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What was queued in a capture: copies of calls with all that they point to. */
#include <stdlib.h>
#include "core/stream/tape.h"

nd_tape *nd__tape_new(nd_device *device, bool native)
{
    nd_tape *t = calloc(1, sizeof *t);
    if (!t)
        return NULL;
    atomic_init(&t->refs, 1);
    pthread_mutex_init(&t->lock, NULL);
    t->device = device;
    t->native = native;
    return t;
}

nd_tape *nd__tape_retain(nd_tape *t)
{
    if (t)
        atomic_fetch_add_explicit(&t->refs, 1, memory_order_relaxed);
    return t;
}

void nd__tape_release(nd_tape *t)
{
    if (!t || atomic_fetch_sub_explicit(&t->refs, 1, memory_order_acq_rel) != 1)
        return;
    for (uint32_t i = 0; i < t->n; i++) {
        free(t->node[i]->before);
        free(t->node[i]);
    }
    for (uint32_t i = 0; i < t->n_members; i++)
        free(t->member[i].tail);
    for (uint32_t i = 0; i < t->n_kept; i++)
        t->drop(t->kept[i]);
    free(t->kept);
    free(t->member);
    free(t->node);
    pthread_mutex_destroy(&t->lock);
    free(t);
}

static nd_status no_memory(const char *op)
{
    return nd__fail(ND_ERR_MEMORY, op, -1, "no host memory to record it in a graph");
}

/* Room for one more of `size` bytes in a list of n. */
static bool grow(void *list, uint32_t n, uint32_t *room, size_t size)
{
    if (n < *room)
        return true;
    uint32_t wanted = *room ? 2 * *room : 16;
    void *grown = realloc(*(void **)list, wanted * size);
    if (!grown)
        return false;
    *(void **)list = grown;
    *room = wanted;
    return true;
}

/* ---- nodes ---- */
/* Takes the node over. It comes after what its stream's latest came after, and is what the next one
 * comes after. */
static nd_status add(nd_tape *t, nd_stream *s, nd_node *node)
{
    pthread_mutex_lock(&t->lock);
    nd_tape_member *m = t->member;
    while (m < t->member + t->n_members && m->stream != s)
        m++;
    uint32_t *tail = malloc(sizeof *tail);
    if (m == t->member + t->n_members || !tail ||
        !grow(&t->node, t->n, &t->room, sizeof *t->node)) {
        pthread_mutex_unlock(&t->lock);
        const char *name = node->name;
        free(tail);
        free(node);
        return no_memory(name);
    }
    node->member = (uint32_t)(m - t->member);
    node->before = m->tail;
    node->n_before = m->n_tail;
    *tail = t->n;
    m->tail = tail;
    m->n_tail = 1;
    t->node[t->n++] = node;
    pthread_mutex_unlock(&t->lock);
    return ND_OK;
}

static nd_node *new_node(int32_t kind, const char *name, size_t extra)
{
    nd_node *node = calloc(1, sizeof *node + extra);
    if (!node)
        return NULL;
    node->kind = kind;
    node->name = name;
    memcpy(node->tag, nd__tag(), strlen(nd__tag()) + 1);
    return node;
}

static size_t round_up(size_t n)
{
    return (n + 15) / 16 * 16;
}

static void *place(char **at, const void *from, size_t n)
{
    void *p = *at;
    if (n)
        memcpy(p, from, n);
    *at += round_up(n);
    return p;
}

/* The struct of every class begins with its size. */
static size_t params_bytes(const ndp_call *call)
{
    return call->params && call->op < NDP_OP_END ? *(const uint32_t *)call->params : 0;
}

static size_t call_bytes(const ndp_call *call)
{
    const uint32_t n = call->n_in + call->n_out;
    size_t bytes = round_up(n * sizeof(ndp_view)) + round_up(params_bytes(call)) +
                   round_up(call->n_scalar * sizeof(ndp_scalar));
    for (uint32_t i = 0; i < n; i++) {
        const ndp_view *v = i < call->n_in ? &call->in[i] : &call->out[i - call->n_in];
        bytes += 2 * round_up((size_t)v->ndim * sizeof(int64_t));
    }
    return bytes + 2 * round_up((size_t)call->scratch.ndim * sizeof(int64_t)) +
           2 * round_up((size_t)call->status.ndim * sizeof(int64_t));
}

static void place_view(char **at, ndp_view *v)
{
    const size_t n = (size_t)v->ndim * sizeof(int64_t);
    v->shape = place(at, v->shape, v->shape ? n : 0);
    v->stride = place(at, v->stride, v->stride ? n : 0);
}

static void copy_call(const ndp_call *call, char *at, ndp_call *out)
{
    const uint32_t n = call->n_in + call->n_out;
    ndp_view *views = (ndp_view *)(void *)at;
    at += round_up(n * sizeof *views);
    *out = *call;
    for (uint32_t i = 0; i < n; i++) {
        views[i] = i < call->n_in ? call->in[i] : call->out[i - call->n_in];
        place_view(&at, &views[i]);
    }
    out->in = views;
    out->out = views + call->n_in;
    place_view(&at, &out->scratch);
    place_view(&at, &out->status);
    out->scalar = place(&at, call->scalar, call->n_scalar * sizeof *call->scalar);
    out->params = call->params ? place(&at, call->params, params_bytes(call)) : NULL;
}

nd_status nd__tape_kernel(nd_tape *t, nd_stream *s, const ndp_kernel *k, const ndp_call *call,
                          nd_node **out)
{
    const nd_op_info *info = nd_op_get(call->op);
    const char *name = info ? info->name : "operation";
    *out = NULL;
    if (call->params && params_bytes(call) == 0)
        return nd__fail(ND_ERR_CAPTURE, name, -1,
                        "its parameters are a program's own, which no graph can keep");
    nd_node *node = new_node(ND_NODE_KERNEL, name, call_bytes(call));
    if (!node)
        return no_memory(name);
    node->kernel = k;
    copy_call(call, (char *)(node + 1), &node->call);
    t->reports |= call->status.mem != NULL;
    ND_RETURN_IF(add(t, s, node));
    *out = node;
    return ND_OK;
}

nd_status nd__tape_copy(nd_tape *t, nd_stream *s, const char *name, uint64_t first, ndp_mem *dst,
                        uint64_t dst_offset, ndp_mem *src, uint64_t src_offset, uint64_t nbytes)
{
    nd_node *node = new_node(ND_NODE_COPY, name, 0);
    if (!node)
        return no_memory(name);
    node->dst = dst;
    node->src = src;
    node->dst_offset = dst_offset;
    node->src_offset = src_offset;
    node->nbytes = nbytes;
    node->first = first;
    node->count = nd__tape_native_nodes(t, s) - first;
    return add(t, s, node);
}

nd_status nd__tape_host(nd_tape *t, nd_stream *s, const char *name, void (*fn)(void *), void *arg)
{
    nd_node *node = new_node(ND_NODE_HOST, name, 0);
    if (!node)
        return no_memory(name);
    node->fn = fn;
    node->arg = arg;
    return add(t, s, node);
}

nd_status nd__tape_step(nd_tape *t, nd_stream *s, const char *name, nd_status (*step)(void *arg),
                        void *arg)
{
    nd_node *node = new_node(ND_NODE_HOST, name, 0);
    if (!node)
        return no_memory(name);
    node->step = step;
    node->arg = arg;
    return add(t, s, node);
}

nd_status nd__tape_other(nd_tape *t, nd_stream *s, const char *name)
{
    nd_node *node = new_node(ND_NODE_OTHER, name, 0);
    return node ? add(t, s, node) : no_memory(name);
}

uint64_t nd__tape_native_nodes(nd_tape *t, nd_stream *s)
{
    uint64_t n = 0;
    nd_device *d = t->device;
    if (!t->native || !d->graph.nodes || d->graph.nodes(d->dev, s->handle, &n) != NDP_OK)
        return 0;
    return n;
}

nd_status nd__tape_keep(nd_tape *t, void *storage, void (*drop)(void *))
{
    pthread_mutex_lock(&t->lock);
    bool room = grow(&t->kept, t->n_kept, &t->kept_room, sizeof *t->kept);
    if (room)
        t->kept[t->n_kept++] = storage;
    t->drop = drop;
    pthread_mutex_unlock(&t->lock);
    return room ? (nd_status)ND_OK : no_memory("graph");
}
