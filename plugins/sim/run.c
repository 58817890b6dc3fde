/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Group "ndp.op/1": kernels of the CPU plug-in, their calls copied and queued, so that the results
 * are the CPU's bit for bit. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "graph.h"
#include "simulator.h"

typedef struct sim_kernel {
    ndp_kernel base;
    const ndp_kernel *inner;
    ndp_dev *dev;
    struct sim_kernel *next;
} sim_kernel;

const char *sim_op_name(int32_t op)
{
    return ndp_op_known(op)    ? ndp_op_name(op)
           : op == NDP_OP_NONE ? "expression"
                               : "op of a program";
}

int64_t sim_dtype_size(int32_t dtype)
{
    return ndp_dtype_known(dtype) ? ndp_dtype_size(dtype) : 0;
}

void sim_extent(const ndp_view *v, int64_t *low, int64_t *high)
{
    int64_t n = sim_dtype_size(v->dtype);
    *low = v->offset_bytes;
    *high = v->offset_bytes + n;
    for (int d = 0; d < v->ndim; d++) {
        if (v->shape[d] == 0) { /* whatever other dimensions have added */
            *low = *high = v->offset_bytes;
            return;
        }
        int64_t reach = n * (v->shape[d] - 1) * v->stride[d];
        *(reach < 0 ? low : high) += reach;
    }
}

static const ndp_view *call_view(const ndp_call *call, uint32_t i)
{
    return i < call->n_in ? &call->in[i] : &call->out[i - call->n_in];
}

static int32_t check_view(ndp_dev *dev, const ndp_view *v, const char *what)
{
    int64_t low, high;
    sim_extent(v, &low, &high);
    if (low < 0)
        return sim_fail(NDP_ERR_ARGUMENT, 0,
                        "%s on sim:%d: an operand begins %lld bytes before its "
                        "block",
                        what, dev->index, (long long)-low);
    return sim_check_range(dev, v->mem, (uint64_t)low, (uint64_t)(high - low), what);
}

static int32_t check_call(ndp_dev *dev, const ndp_call *call)
{
    const char *what = sim_op_name(call->op);
    if (call->n_in + call->n_out > SIM_MAX_OPERANDS)
        return sim_fail(NDP_ERR_UNSUPPORTED, 0, "%s on sim:%d: %u operands; at most %d are taken",
                        what, dev->index, call->n_in + call->n_out, SIM_MAX_OPERANDS);
    for (uint32_t i = 0; i < call->n_in + call->n_out; i++) {
        const ndp_view *v = call_view(call, i);
        int32_t status = v->mem ? check_view(dev, v, what) : NDP_OK;
        if (status != NDP_OK)
            return status;
    }
    int32_t status = call->scratch.mem ? check_view(dev, &call->scratch, what) : NDP_OK;
    return status == NDP_OK && call->status.mem ? check_view(dev, &call->status, what) : status;
}

/* Where the copies of a call's pointees go. */
typedef struct {
    char *at;
} arena;

static void *take_bytes(arena *a, const void *from, size_t n)
{
    void *p = a->at;
    if (n)
        memcpy(p, from, n);
    a->at += (n + 15) / 16 * 16;
    return p;
}

static size_t view_bytes(const ndp_view *v)
{
    return ((size_t)v->ndim * sizeof(int64_t) + 15) / 16 * 16 * 2;
}

/* Bytes of the call's parameters: the struct of every class begins with its size. */
static size_t params_bytes(const ndp_call *call)
{
    return call->params && ndp_op_known(call->op) ? *(const uint32_t *)call->params : 0;
}

static size_t call_bytes(const ndp_call *call)
{
    size_t n = (SIM_MAX_OPERANDS + 1) * sizeof(ndp_view) + 16 + params_bytes(call) + 16 +
               call->n_scalar * sizeof(ndp_scalar) + 16;
    for (uint32_t i = 0; i < call->n_in + call->n_out; i++)
        n += view_bytes(call_view(call, i));
    return n + (call->scratch.mem ? view_bytes(&call->scratch) : 0);
}

static void copy_view(sim_body *b, int32_t i, arena *a, const ndp_view *v)
{
    ndp_view *to = &b->views[i];
    *to = *v;
    to->shape = take_bytes(a, v->shape, (size_t)v->ndim * sizeof *v->shape);
    to->stride = take_bytes(a, v->stride, (size_t)v->ndim * sizeof *v->stride);
    if (v->mem) {
        sim_body_use(b, i, v->mem);
        to->mem = v->mem->cpu;
    }
}

static sim_body *copy_call(const sim_kernel *k, const ndp_call *call)
{
    void *extra;
    sim_body *b =
        sim_body_new(SIM_OP_KERNEL, sim_op_name(call->op), k->dev, call_bytes(call), &extra);
    if (!b)
        return NULL;
    arena a = {extra};
    b->kernel = k->inner;
    b->call = *call;
    b->views = (ndp_view *)a.at;
    memset(b->views, 0, (SIM_MAX_OPERANDS + 1) * sizeof(ndp_view));
    a.at += ((SIM_MAX_OPERANDS + 1) * sizeof(ndp_view) + 15) / 16 * 16;
    for (uint32_t i = 0; i < call->n_in + call->n_out; i++)
        copy_view(b, (int32_t)i, &a, call_view(call, i));
    if (call->scratch.mem)
        copy_view(b, SIM_VIEW_SCRATCH, &a, &call->scratch);
    b->call.in = b->views;
    b->call.out = b->views + call->n_in;
    b->call.scratch = b->views[SIM_VIEW_SCRATCH];
    b->call.scalar = take_bytes(&a, call->scalar, call->n_scalar * sizeof *call->scalar);
    b->call.params = call->params ? take_bytes(&a, call->params, params_bytes(call)) : NULL;
    b->call.status = (ndp_view){.mem = NULL};
    if (call->status.mem) {
        static const int64_t words = 5, one = 1;
        sim_body_use(b, SIM_VIEW_STATUS, call->status.mem);
        b->dst = call->status.mem->alias + call->status.offset_bytes;
        b->call.status = call->status; /* for kernels of linear algebra; those of indices return */
        b->call.status.mem = call->status.mem->cpu;
        b->call.status.shape = &words;
        b->call.status.stride = &one;
    }
    return b;
}

static int32_t run(const ndp_kernel *kernel, ndp_stream *s, const ndp_call *call)
{
    const sim_kernel *k = (const sim_kernel *)kernel;
    const ndp_view *first = call->n_out ? &call->out[0] : &call->in[0];
    sim_call c = {.entry = SIM_run,
                  .dev = k->dev,
                  .stream = s,
                  .op = sim_op_name(call->op),
                  .mem = first->mem,
                  .offset = (uint64_t)first->offset_bytes};
    int32_t status = sim_enter(&c);
    sim_queue *q = sim_queue_of(k->dev, s);
    if (status == NDP_OK && (!q || q->dev != k->dev))
        status =
            sim_fail(NDP_ERR_DEVICE, 400, "%s: the stream is not of sim:%d", c.op, k->dev->index);
    if (status == NDP_OK)
        status = check_call(k->dev, call);
    if (status == NDP_OK) {
        sim_body *b = copy_call(k, call);
        status = b ? sim_push(q, b, NULL)
                   : sim_fail(NDP_ERR_MEMORY, 0, "no host memory to queue %s", c.op);
    }
    return sim_leave(&c, status);
}

static uint64_t scratch(const ndp_kernel *kernel, const ndp_call *call)
{
    const sim_kernel *k = (const sim_kernel *)kernel;
    return k->inner->scratch(k->inner, call);
}

const ndp_kernel *sim_inner_kernel(const ndp_kernel *kernel)
{
    return ((const sim_kernel *)kernel)->inner;
}

const ndp_kernel *sim_wrap_kernel(ndp_dev *dev, const ndp_kernel *inner)
{
    sim_kernel *k = dev->kernels;
    while (k && k->inner != inner)
        k = k->next;
    if (k)
        return &k->base;
    if ((k = calloc(1, sizeof *k)) == NULL)
        return NULL;
    k->base.size = sizeof k->base;
    k->base.needs = inner->needs;
    k->base.flags = inner->flags;
    k->base.max_ndim = inner->max_ndim;
    k->base.scratch = inner->scratch ? scratch : NULL;
    k->base.run = run;
    k->inner = inner;
    k->dev = dev;
    k->next = dev->kernels;
    dev->kernels = k;
    return &k->base;
}

static uint64_t dtypes(ndp_dev *dev, int32_t op)
{
    (void)dev;
    return sim_cpu_op->dtypes(sim_cpu_dev, op);
}

static int32_t find(ndp_dev *dev, const ndp_call *like, const ndp_kernel **out, char *why, size_t n)
{
    sim_call c = {.entry = SIM_find, .dev = dev, .op = sim_op_name(like->op)};
    const ndp_kernel *inner = NULL;
    int32_t status = sim_enter(&c);
    *out = NULL;
    if (status == NDP_OK)
        status = sim_cpu_op->find(sim_cpu_dev, like, &inner, why, n);
    if (status == NDP_OK && (*out = sim_wrap_kernel(dev, inner)) == NULL)
        status = sim_fail(NDP_ERR_MEMORY, 0, "no host memory for a kernel");
    return sim_leave(&c, status);
}

const ndp_op_1 sim_op_group = {.size = sizeof(ndp_op_1), .dtypes = dtypes, .find = find};

/* The element of an i64 view at a C-order position. */
static int64_t index_at(const ndp_view *v, const char *base, int64_t position)
{
    int64_t offset = v->offset_bytes, value;
    for (int d = v->ndim - 1; d >= 0; d--) {
        offset += (position % v->shape[d]) * v->stride[d] * (int64_t)sizeof value;
        position /= v->shape[d];
    }
    memcpy(&value, base + offset, sizeof value);
    return value;
}

/* The first index out of range in C order; the kernel has said that there is one. */
static void find_bad_index(const sim_body *b, int64_t *position, int64_t *value, int64_t *extent)
{
    int32_t scatter = ndp_op_class(b->call.op) == NDP_CLASS_SCATTER, which = scatter ? 0 : 1;
    const ndp_view *indices = &b->call.in[which],
                   *target = scatter ? &b->call.out[0] : &b->call.in[0];
    int64_t size = 1;
    const int32_t entropy = ndp_op_class(b->call.op) == NDP_CLASS_ENTROPY;
    *extent = target->shape[entropy ? 1 : ((const ndp_index *)b->call.params)->axis];
    for (int d = 0; d < indices->ndim; d++)
        size *= indices->shape[d];
    *value = 0;
    for (*position = 0; *position < size; ++*position) {
        *value = index_at(indices, b->mem[which]->alias, *position);
        if (entropy && *value == ((const ndp_entropy *)b->call.params)->ignore)
            continue;
        if (*value < (entropy ? 0 : -*extent) || *value >= *extent)
            return;
    }
}

static void note_bad_index(const sim_body *b, sim_error *error)
{
    int64_t position, value, extent, word[5];
    find_bad_index(b, &position, &value, &extent);
    if (!b->dst) {
        error->status = NDP_ERR_INDEX;
        snprintf(error->text, sizeof error->text,
                 "%s on sim:%d: index %lld at position %lld is out of range for an axis of extent "
                 "%lld; allowed are %lld to %lld",
                 b->name, b->dev->index, (long long)value, (long long)position, (long long)extent,
                 (long long)-extent, (long long)extent - 1);
        return;
    }
    memcpy(word, b->dst, sizeof word);
    if (word[0] != NDP_OK)
        return; /* the first one is reported */
    word[0] = NDP_ERR_INDEX;
    word[1] = b->call.op;
    word[2] = position;
    word[3] = value;
    word[4] = extent;
    memcpy(b->dst, word, sizeof word);
}

/* Every operand has memory behind it. A device would stop with CUDA's 700, illegal address. */
static int32_t is_reachable(const sim_body *b)
{
    for (int i = 0; i <= SIM_VIEW_SCRATCH; i++) {
        int64_t low, high;
        if (!b->mem[i] || b->mem[i]->kind != SIM_RESERVED)
            continue;
        sim_extent(&b->views[i], &low, &high);
        if (!sim_is_backed(b->mem[i], (uint64_t)low, (uint64_t)(high - low)))
            return 0;
    }
    return 1;
}

static void set_error(sim_error *error, const sim_body *b, int32_t status, int64_t native,
                      const char *why)
{
    error->status = status;
    error->native = native;
    snprintf(error->text, sizeof error->text, "%s on sim:%d: %s (code %lld)", b->name,
             b->dev->index, why, (long long)native);
}

static void execute_kernel(const sim_body *b, sim_error *error)
{
    if (!is_reachable(b)) {
        set_error(error, b, NDP_ERR_LOST, 700, "an operand has no memory behind its addresses");
        return;
    }
    int32_t status = b->kernel->run(b->kernel, NULL, &b->call);
    if (status == NDP_ERR_INDEX)
        note_bad_index(b, error);
    else if (status != NDP_OK)
        set_error(error, b, NDP_ERR_ASYNC, status, "the kernel failed");
}

/* In static TLS: LeakSanitizer takes garbage for the bounds of dynamic TLS. */
static _Thread_local int32_t in_host_function __attribute__((tls_model("initial-exec")));

int32_t sim_in_host_function(void)
{
    return in_host_function;
}

void sim_execute(const sim_body *b, sim_error *error)
{
    switch (b->kind) {
    case SIM_OP_KERNEL:
        execute_kernel(b, error);
        break;
    case SIM_OP_HOST:
        in_host_function = 1;
        b->fn(b->arg);
        in_host_function = 0;
        break;
    case SIM_OP_BRANCH:
        sim_branch_run(b, error);
        break;
    case SIM_OP_FREE:
        memset(b->dst, SIM_POISON_FREE, b->nbytes);
        break;
    default:
        if ((b->mem[0] && !sim_is_backed(b->mem[0], b->dst_offset, b->nbytes)) ||
            (b->mem[1] && !sim_is_backed(b->mem[1], b->src_offset, b->nbytes)))
            set_error(error, b, NDP_ERR_LOST, 700, "a block has no memory behind its addresses");
        else if (b->nbytes)
            memmove(b->dst, b->src, b->nbytes);
    }
}
