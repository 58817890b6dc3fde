/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * batch_norm: which kernel, and its parameters. */
#include "neural/batch_norm.h"
#include <stdio.h>
#include "neural/group_call.h"
#include "walk/plan.h"

enum { WHOLE, PARTS, COLUMNS, ANY, WAYS };
enum { MOST_BLOCKS = 1 << 20 };
static const char *const names[WAYS] = {"whole", "parts", "columns", "any"};

/* A dimension of the call: strides of x, out, and what channels have. */
enum { X, OUT, OF, OPERANDS = OF + BATCH_NORM_OF };
typedef struct {
    int64_t extent, stride[OPERANDS];
    int kept;
} extent;
typedef struct {
    extent dim[BATCH_NORM_NDIM];
    int n;
} extents;

/* Whether b goes on where a ends, in every operand. */
static int joins(const extent *a, const extent *b)
{
    int fits = a->kept == b->kept;
    for (int o = 0; o < OPERANDS; o++)
        fits &= b->stride[o] == a->stride[o] * a->extent;
    return fits;
}

/* Dimensions by rising distance in x, those that step alike made one. */
static void take_extents(extents *e, const ndp_call *call)
{
    const ndp_norm *params = call->params;
    const ndp_view *x = &call->in[0];
    const ndp_view *const view[OPERANDS] = {x,
                                            &call->out[0],
                                            &call->in[1],
                                            &call->in[2],
                                            params->has_scale ? &call->in[3] : NULL,
                                            params->has_bias ? &call->in[call->n_in - 1] : NULL};
    int n = 0;
    for (int d = 0; d < x->ndim; d++) {
        extent next = {.extent = x->shape[d], .kept = d < x->ndim - params->n_reduced};
        int at = n;
        if (next.extent == 1)
            continue;
        for (int o = 0; o < OPERANDS; o++)
            next.stride[o] = view[o] ? view[o]->stride[d] : 0;
        for (; at > 0 && ndp_magnitude(e->dim[at - 1].stride[X]) > ndp_magnitude(next.stride[X]);
             at--)
            e->dim[at] = e->dim[at - 1];
        e->dim[at] = next;
        n++;
    }
    e->n = 0;
    for (int d = 0; d < n; d++)
        if (e->n && joins(&e->dim[e->n - 1], &e->dim[d]))
            e->dim[e->n - 1].extent *= e->dim[d].extent;
        else
            e->dim[e->n++] = e->dim[d];
}

/* Whether x and out lie dense in one order, and channels are one dimension; which, or -1: there is but one. */
static int is_flat(const extents *e, int *channels)
{
    int64_t step = 1;
    *channels = -1;
    for (int d = 0; d < e->n; d++) {
        if (e->dim[d].stride[X] != step || e->dim[d].stride[OUT] != step ||
            (e->dim[d].kept && *channels >= 0))
            return 0;
        if (e->dim[d].kept)
            *channels = d;
        step *= e->dim[d].extent;
    }
    return 1;
}

static void set_flat(batch_norm_params *p, const extents *e, int channels, int64_t V, int *way)
{
    const int64_t size = (int64_t)p->size, n = channels < 0 ? 1 : e->dim[channels].extent;
    int64_t inner = channels < 0 ? size : 1;
    for (int d = 0; d < channels; d++)
        inner *= e->dim[d].extent;
    for (int k = 0; k < BATCH_NORM_OF; k++)
        p->step[k] = channels < 0 ? 0 : e->dim[channels].stride[OF + k];
    *way = inner == 1 && n % V == 0 ? COLUMNS : inner % V == 0 ? WHOLE : PARTS;
    p->channels = line_dim_of(n, 0, 0);
    p->inner = line_dim_of(*way == COLUMNS ? n / V : *way == WHOLE ? inner / V : inner, 0, 0);
    const uint64_t line = (uint64_t)p->inner.extent, vectors = p->size / (uint64_t)V;
    const uint64_t wanted = vectors / (BATCH_NORM_UNROLL * BATCH_NORM_TURNS);
    p->threads = (wanted / line + 1) * line;
}

static void set_any(batch_norm_params *p, const extents *e)
{
    p->ndim = e->n;
    for (int d = 0; d < e->n; d++) {
        const int64_t *stride = e->dim[d].stride;
        p->dim[d].at = line_dim_of(e->dim[d].extent, stride[X], stride[OUT]);
        for (int k = 0; k < BATCH_NORM_OF; k++)
            p->dim[d].of[k] = stride[OF + k];
    }
}

static void set_addresses(batch_norm_params *p, const ndp_call *call)
{
    const ndp_norm *params = call->params;
    p->x = cuda_ptr(&call->in[0]);
    p->out = cuda_ptr(&call->out[0]);
    p->of[BATCH_NORM_MEAN] = cuda_ptr(&call->in[1]);
    p->of[BATCH_NORM_VARIANCE] = cuda_ptr(&call->in[2]);
    p->of[BATCH_NORM_SCALE] = params->has_scale ? cuda_ptr(&call->in[3]) : 0;
    p->of[BATCH_NORM_BIAS] = params->has_bias ? cuda_ptr(&call->in[call->n_in - 1]) : 0;
    p->eps = params->eps;
}

/* Blocks for so many threads' worth of work, each `each` of it. */
static uint64_t blocks_for(uint64_t work, uint64_t each)
{
    const uint64_t blocks = (work + BATCH_NORM_THREADS * each - 1) / (BATCH_NORM_THREADS * each);
    return blocks ? blocks : 1;
}

static int32_t run(const ndp_kernel *base, ndp_stream *s, const ndp_call *call)
{
    const cuda_kernel *k = (const cuda_kernel *)base;
    const int64_t V = 16 / ndp_dtype_size(call->in[0].dtype);
    batch_norm_params p = {.size = (uint64_t)ndp_view_size(&call->in[0])};
    extents e;
    int channels, way = ANY;
    if (p.size == 0)
        return NDP_OK;
    set_addresses(&p, call);
    take_extents(&e, call);
    if (is_flat(&e, &channels) && p.x % 16 == 0 && p.out % 16 == 0)
        set_flat(&p, &e, channels, V, &way);
    uint64_t blocks = blocks_for(p.size / (uint64_t)V, BATCH_NORM_UNROLL);
    if (way == COLUMNS)
        blocks = blocks_for(p.threads, 1);
    if (way == ANY || blocks > INT32_MAX) {
        way = ANY;
        set_any(&p, &e);
        blocks = blocks_for(p.size, 1);
        blocks = blocks < MOST_BLOCKS ? blocks : MOST_BLOCKS;
    }
    return cuda_launch(k, k->function[way], s, (uint32_t)blocks, BATCH_NORM_THREADS, 0, &p);
}

static int32_t make(cuda_kernel *k, const ndp_call *like)
{
    const int32_t dtype = like->in[0].dtype;
    const char *const type = cuda_dtype_word(dtype);
    int32_t status = NDP_OK;
    k->base.run = run;
    for (int way = 0; way < WAYS && status == NDP_OK; way++) {
        char name[32];
        snprintf(name, sizeof name, "batch_norm_%s_%s", names[way], type);
        status =
            cuda_function(k->dev, cuda_module_of("batch_norm", dtype), name, &k->function[way]);
    }
    return status;
}

int32_t cuda_batch_norm_find(ndp_dev *dev, const ndp_call *like, const ndp_kernel **out, char *why,
                             size_t n)
{
    const int32_t dtype = like->in[0].dtype, wide = dtype == NDP_F64 ? NDP_F64 : NDP_F32;
    int same =
        like->out[0].dtype == dtype && like->n_in >= 3 && like->in[0].ndim <= BATCH_NORM_NDIM;
    for (uint32_t i = 1; i < like->n_in; i++)
        same &= like->in[i].dtype == (i < 3 ? wide : dtype);
    if (!same || !(cuda_domain_dtypes(like->op) >> dtype & 1))
        return cuda_unsupported(like, why, n);
    return cuda_kernel_get(dev, like, 0, make, out);
}
