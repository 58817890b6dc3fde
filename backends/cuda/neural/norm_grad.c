/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Gradients of the row normalisations: which kernel, and its parameters. */
#include <stdio.h>
#include <string.h>
#include "neural/group_call.h"
#include "neural/neural.h"

enum {
    WARP_VECTORS,
    WARP,
    BLOCK_VECTORS,
    BLOCK,
    HELD,
    HELD_4,
    HELD_8,
    WEIGHED_WARP,
    WEIGHED_BLOCK,
    KERNELS = CUDA_NORM_GRADS
};
enum { SHORT_ITEMS = 128 }; /* of a row that a warp serves */
static const char *const suffixes[KERNELS] = {"warp_vec", "warp",         "block_vec",
                                              "block",    "held",         "held4",
                                              "held8",    "weighed_warp", "weighed_block"};

/* Dimensions first to last - 1 of the views, innermost first, those that all step through evenly as
 * one; returns how many there are. */
static int32_t take_dims(neural_dim *dim, const ndp_view *const *view, int first, int last)
{
    int32_t n = 0;
    for (int d = last - 1; d >= first; d--) {
        neural_dim next = {.extent = view[0]->shape[d]};
        int joins = n > 0;
        if (next.extent == 1)
            continue;
        for (int o = 0; o < NEURAL_OPERANDS; o++) {
            next.stride[o] = view[o] ? view[o]->stride[d] : 0;
            joins = joins && next.stride[o] == dim[n - 1].stride[o] * dim[n - 1].extent;
        }
        if (joins)
            dim[n - 1].extent *= next.extent;
        else
            dim[n++] = next;
    }
    return n;
}

static int64_t extents_of(const neural_dim *dim, int32_t n)
{
    int64_t size = 1;
    for (int32_t d = 0; d < n; d++)
        size *= dim[d].extent;
    return size;
}

/* Whether the scale is the same along the innermost dimension: its strides count elements always. */
static int is_even(const neural_norm *p, int o)
{
    return o == NEURAL_SCALE && p->dim[p->kept].stride[o] == 0;
}

/* Whether rows can be taken in vectors of V elements. */
static int is_whole(const neural_norm *p, int64_t V, int64_t bytes)
{
    const neural_dim *inner = &p->dim[p->kept];
    if (p->reduced == 0 || inner->extent % V)
        return 0;
    for (int o = 0; o < NEURAL_OPERANDS; o++) {
        if (!p->at[o] || is_even(p, o))
            continue;
        if (inner->stride[o] != 1)
            return 0;
        if (p->at[o] % (uint64_t)(V * bytes))
            return 0;
        for (int d = 0; d < p->kept + p->reduced; d++)
            if (d != p->kept && p->dim[d].stride[o] % V)
                return 0;
    }
    return 1;
}

static void take_vectors(neural_norm *p, int64_t V)
{
    p->dim[p->kept].extent /= V;
    p->items /= V;
    for (int d = p->kept + 1; d < p->kept + p->reduced; d++)
        for (int o = 0; o < NEURAL_OPERANDS; o++)
            p->dim[d].stride[o] /= is_even(p, o) ? 1 : V;
}

/* Rows of dense vectors at one distance, and a scale that is the same for all of them. */
static int is_dense(const neural_norm *p)
{
    return p->kept <= 1 && p->reduced == 1 &&
           (p->at[NEURAL_SCALE] == 0 || (p->dim[p->kept].stride[NEURAL_SCALE] == 1 &&
                                         p->dim[0].stride[NEURAL_SCALE] * p->kept == 0));
}

/* Which kernel holds rows of vectors in registers, and with how many threads; BLOCK: none does. */
static int holder(const CUfunction *function, const neural_norm *p, uint32_t *threads)
{
    if (!function[HELD] || !is_dense(p))
        return BLOCK;
    const int64_t each = p->items <= 4 * NEURAL_HELD_THREADS ? 4 : 8;
    *threads = p->items <= SHORT_ITEMS ? NEURAL_THREADS
                                       : (uint32_t)((p->items + each * 32 - 1) / (each * 32) * 32);
    if (*threads > NEURAL_HELD_THREADS)
        return BLOCK;
    return p->items <= SHORT_ITEMS ? HELD : each == 4 ? HELD_4 : HELD_8;
}

/* Parameters of a call that has elements; whether rows are taken in vectors. */
static int params_of(neural_norm *p, const ndp_call *call)
{
    const ndp_norm *params = call->params;
    const ndp_view *const view[NEURAL_OPERANDS] = {&call->in[1], &call->in[0], &call->out[0],
                                                   params->has_scale ? &call->in[2] : NULL};
    const int ndim = view[NEURAL_X]->ndim, kept = ndim - params->n_reduced;
    const int64_t bytes = ndp_dtype_size(view[NEURAL_X]->dtype), V = 16 / bytes;
    *p = (neural_norm){.eps = params->eps};
    for (int o = 0; o < NEURAL_OPERANDS; o++)
        p->at[o] = view[o] ? cuda_ptr(view[o]) : 0;
    p->kept = take_dims(p->dim, view, 0, kept);
    p->reduced = take_dims(p->dim + p->kept, view, kept, ndim);
    p->rows = extents_of(p->dim, p->kept);
    p->items = extents_of(p->dim + p->kept, p->reduced);
    p->count = (double)p->items;
    p->inverse = 1.0 / p->count;
    const int whole = is_whole(p, V, bytes);
    if (whole)
        take_vectors(p, V);
    return whole;
}

/* ---- with gradients for weights, in one pass ---- */

enum { LEAST_ROWS = 2 /* of a processor */ };

typedef struct {
    neural_norm p;
    int which;
    uint32_t threads, blocks, shared;
} weighing;

/* 0: the rows are none that threads hold, or too few. */
static int weigh(weighing *w, const cuda_kernel *k, const CUfunction *function,
                 const ndp_call *call)
{
    const int64_t processors = k->dev->sm_count > 0 ? k->dev->sm_count : 1;
    const int64_t bytes = ndp_dtype_size(call->in[0].dtype);
    const int64_t stages = bytes == 2 ? NEURAL_WEIGHED_STAGES : NEURAL_WEIGHED_STAGES - 1;
    if (!function[WEIGHED_WARP] || !params_of(&w->p, call) || !is_dense(&w->p) ||
        w->p.rows < processors * LEAST_ROWS)
        return 0;
    const int64_t elements = w->p.items * (16 / bytes);
    const int few = elements <= NEURAL_WEIGHED_ITEMS;
    const int64_t lanes = (elements + NEURAL_WEIGHED_EACH - 1) / NEURAL_WEIGHED_EACH;
    const int64_t threads = few ? NEURAL_THREADS : (lanes + 31) / 32 * 32;
    const int64_t shared = threads * (2 * stages + 1) * NEURAL_WEIGHED_EACH * bytes;
    if (threads > NEURAL_HELD_THREADS || shared > k->dev->shared_most - 2048)
        return 0;
    const int64_t beside = few ? NEURAL_THREADS / 32 : 1;
    int64_t blocks = processors * (NEURAL_HELD_THREADS / threads);
    if (blocks > (w->p.rows + beside - 1) / beside)
        blocks = (w->p.rows + beside - 1) / beside;
    w->which = few ? WEIGHED_WARP : WEIGHED_BLOCK;
    w->threads = (uint32_t)threads;
    w->blocks = (uint32_t)blocks;
    w->shared = (uint32_t)shared;
    return 1;
}

int32_t cuda_norm_grad_parts(const cuda_kernel *k, const CUfunction *function, const ndp_call *call)
{
    weighing w;
    return weigh(&w, k, function, call) ? (int32_t)w.blocks : 0;
}

int32_t cuda_norm_grad_weighed(const cuda_kernel *k, const CUfunction *function, ndp_stream *s,
                               const ndp_call *call, uint64_t partial)
{
    weighing w;
    if (!weigh(&w, k, function, call))
        return cuda_error(NDP_ERR_INTERNAL, "%s: rows that are not held", cuda_op_name(call->op));
    w.p.partial = partial;
    return cuda_launch(k, function[w.which], s, w.blocks, w.threads, w.shared, &w.p);
}

/* ---- for x alone ---- */

int32_t cuda_norm_grad_queue(const cuda_kernel *k, const CUfunction *function, ndp_stream *s,
                             const ndp_call *call, uint64_t rows_at)
{
    neural_norm p;
    if (ndp_view_size(&call->in[1]) == 0)
        return NDP_OK;
    const int whole = params_of(&p, call);
    p.rows_at = rows_at;
    const int narrow = p.items <= SHORT_ITEMS;
    uint32_t threads = NEURAL_THREADS;
    const int held = whole ? holder(function, &p, &threads) : BLOCK;
    const int64_t beside = narrow ? NEURAL_THREADS / 32 : 1,
                  blocks = (p.rows + beside - 1) / beside;
    const int which =
        held != BLOCK ? held : (narrow ? WARP_VECTORS : BLOCK_VECTORS) + (whole ? 0 : 1);
    return cuda_launch(k, function[which], s,
                       (uint32_t)(blocks < NEURAL_GRID ? blocks : NEURAL_GRID), threads, 0, &p);
}

static int32_t run(const ndp_kernel *base, ndp_stream *s, const ndp_call *call)
{
    const cuda_kernel *k = (const cuda_kernel *)base;
    return cuda_norm_grad_queue(k, k->function, s, call, 0);
}

int32_t cuda_norm_grad_functions(ndp_dev *dev, int32_t op, int32_t dtype, CUfunction *function)
{
    char name[48];
    const int module = cuda_module_of("norm_grad", dtype);
    const int held = op == NDP_OP_layer_norm_grad || op == NDP_OP_rms_norm_grad;
    const int all = !held || dtype == NDP_F64 ? HELD : KERNELS;
    int32_t status = NDP_OK;
    for (int i = 0; i < all && status == NDP_OK; i++) {
        snprintf(name, sizeof name, "%s_%s", cuda_op_name(op), suffixes[i]);
        status = cuda_function(dev, module, name, &function[i]);
        if (status == NDP_OK && i >= WEIGHED_WARP)
            status = cuda_fail(
                cu.cuFuncSetAttribute(function[i], CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                      dev->shared_most - 2048),
                "shared memory for %s", name);
    }
    return status;
}

static int32_t make(cuda_kernel *k, const ndp_call *like)
{
    k->base.run = run;
    return cuda_norm_grad_functions(k->dev, like->op, like->in[0].dtype, k->function);
}

static int32_t find(ndp_dev *dev, const ndp_call *like, const ndp_kernel **out, char *why, size_t n)
{
    const int32_t dtype = like->in[0].dtype;
    if (like->op == NDP_OP_layer_norm_grads || like->op == NDP_OP_rms_norm_grads)
        return cuda_group_find(dev, like, out, why, n);
    int same = like->out[0].dtype == dtype;
    for (uint32_t i = 1; i < like->n_in; i++)
        same &= like->in[i].dtype == dtype;
    if (!same || !(cuda_domain_dtypes(like->op) >> dtype & 1))
        return cuda_unsupported(like, why, n);
    return cuda_kernel_get(dev, like, 0, make, out);
}

const cuda_class cuda_norm_grad = {.dtypes = cuda_domain_dtypes, .find = find};
