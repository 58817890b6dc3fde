/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Elementwise operations: which kernel, and its parameters. */
#include "elementwise/elementwise.h"
#include <stdio.h>
#include <string.h>
#include "host/backend.h"

enum { EW_VECTORS_KERNEL, EW_ELEMENTS_KERNEL, EW_TILES_KERNEL, EW_KERNELS };
enum { EW_OPERANDS = EW_INPUTS + 1 }; /* the output first */
enum { EW_MAX_ELEMENTS = 1 << 30 };   /* of a launch, but for dense calls */
enum { EW_MIN_TILE = 8 };             /* shorter dimensions are not worth a tile */

static uint64_t dtypes(int32_t op)
{
    uint64_t mask = 0;
    for (int32_t d = 1; d < NDP_DTYPE_END; d++)
        if (cuda_module_of("elementwise", d) >= 0)
            mask |= (uint64_t)1 << d;
    return mask & cuda_domain_dtypes(op);
}

/* The dtype of the module, which is that of the last input: where's first one is bool. */
static uint32_t element_size(const ndp_call *call)
{
    return (uint32_t)ndp_dtype_size(call->in[call->n_in - 1].dtype);
}

static uint32_t set_inputs(ew_input *in, const ndp_call *call)
{
    uint32_t scalars = 0;
    for (uint32_t i = 0; i < call->n_in; i++) {
        if (call->in[i].mem) {
            in[i].at = cuda_ptr(&call->in[i]);
            continue;
        }
        cuda_store_scalar(&call->scalar[call->in[i].offset_bytes], in[i].scalar);
        scalars |= 1u << i;
    }
    return scalars;
}

/* ---- dense ---- */

/* Vectors want 16-byte addresses; the others are rows. */
static int is_dense(const ndp_call *call)
{
    CUdeviceptr bits = cuda_ptr(call->out);
    uint64_t flags = call->out->flags;
    for (uint32_t i = 0; i < call->n_in; i++)
        if (call->in[i].mem) {
            bits |= cuda_ptr(&call->in[i]);
            flags &= call->in[i].flags;
        }
    return (flags & NDP_VIEW_CONTIGUOUS) && bits % EW_VECTOR_BYTES == 0;
}

/* A thread takes so many vectors; a block so many times as many as it has threads. */
static int32_t launch_vectors(const cuda_kernel *k, ndp_stream *s, ew_params *p, uint64_t vectors,
                              uint32_t each)
{
    uint64_t blocks = (vectors + EW_THREADS * each - 1) / (EW_THREADS * each);
    p->many = each > 1;
    return cuda_launch(k, k->function[EW_VECTORS_KERNEL], s, (uint32_t)blocks, EW_THREADS, 0, p);
}

static int32_t run_dense(const cuda_kernel *k, ndp_stream *s, const ndp_call *call)
{
    ew_params p;
    uint32_t per = EW_VECTOR_BYTES / element_size(call);
    uint32_t many = (uint32_t)ew_many(call->op, call->in[call->n_in - 1].dtype, (int)call->n_in);
    p.n = (uint64_t)ndp_view_size(call->out);
    p.out = cuda_ptr(call->out);
    p.ndim = 0;
    p.splats = 0;
    p.scalars = set_inputs(p.in, call);
    p.vectors = ~p.scalars;
    uint64_t vectors = (p.n + per - 1) / per, threads = (uint64_t)k->dev->sm_count * EW_SM_THREADS;
    return p.n == 0 ? NDP_OK
                    : launch_vectors(k, s, &p, vectors, vectors < threads * many ? 1 : many);
}

/* ---- any strides ---- */

/* A call, or a part of it, with dimensions outermost first. An operand's address is that of its
 * element at index zero; scalars have strides of zero. */
typedef struct {
    const cuda_kernel *kernel;
    ndp_stream *stream;
    const ndp_call *call;
    int ndim, tiled;
    int64_t shape[NDP_MAX_NDIM], stride[EW_OPERANDS][NDP_MAX_NDIM];
    uint64_t at[EW_OPERANDS];
    uint32_t nbytes[EW_OPERANDS], n_operands;
} ew_work;

static void add_operand(ew_work *w, const ndp_view *v)
{
    uint32_t i = w->n_operands++;
    w->nbytes[i] = (uint32_t)ndp_dtype_size(v->dtype);
    w->at[i] = v->mem ? cuda_ptr(v) : 0;
    for (int d = 0; d < v->ndim; d++)
        w->stride[i][d] = v->mem && v->shape[d] > 1 ? v->stride[d] : 0;
}

/* Moves the operands' addresses to index x of dimension d. */
static void advance(ew_work *w, int d, int64_t x)
{
    for (uint32_t i = 0; i < w->n_operands; i++)
        w->at[i] += (uint64_t)(x * w->stride[i][d] * (int64_t)w->nbytes[i]);
}

/* The output's strides become positive, and one dimension is there at least. */
static void set_up(ew_work *w, const ndp_call *call)
{
    w->call = call;
    w->ndim = call->out->ndim;
    w->n_operands = 0;
    memcpy(w->shape, call->out->shape, (size_t)w->ndim * sizeof *w->shape);
    add_operand(w, call->out);
    for (uint32_t i = 0; i < call->n_in; i++)
        add_operand(w, &call->in[i]);
    for (int d = 0; d < w->ndim; d++)
        if (w->stride[0][d] < 0) {
            advance(w, d, w->shape[d] - 1);
            for (uint32_t i = 0; i < w->n_operands; i++)
                w->stride[i][d] = -w->stride[i][d];
        }
    if (w->ndim == 0) {
        w->shape[0] = w->ndim = 1;
        for (uint32_t i = 0; i < w->n_operands; i++)
            w->stride[i][0] = 0;
    }
}

/* The dimension along which input i lies together, if that is not the output's innermost one, and
 * both are long enough for tiles; else the innermost. */
static int tile_dimension(const ew_work *w, uint32_t i)
{
    int last = w->ndim - 1, best = last;
    uint64_t nearest = ndp_magnitude(w->stride[i][last]);
    for (int d = 0; d < last && nearest > 1; d++) {
        uint64_t m = ndp_magnitude(w->stride[i][d]);
        if (m != 0 && m < nearest && w->shape[d] >= EW_MIN_TILE) {
            nearest = m;
            best = d;
        }
    }
    return best;
}

static void swap_dimensions(ew_work *w, int d, int e)
{
    int64_t n = w->shape[d];
    w->shape[d] = w->shape[e];
    w->shape[e] = n;
    for (uint32_t i = 0; i < w->n_operands; i++) {
        int64_t t = w->stride[i][d];
        w->stride[i][d] = w->stride[i][e];
        w->stride[i][e] = t;
    }
}

/* Brings the dimension of the first input that wants tiles beside the innermost one. */
static void choose_tiles(ew_work *w)
{
    int last = w->ndim - 1;
    w->tiled = 0;
    for (uint32_t i = 1; i < w->n_operands && !w->tiled; i++) {
        int d = w->shape[last] >= EW_MIN_TILE ? tile_dimension(w, i) : last;
        if (d == last)
            continue;
        w->tiled = 1;
        for (; d < last - 1; d++)
            swap_dimensions(w, d, d + 1);
    }
}

/* The dimensions from `first` on, innermost first. */
static void set_strided(ew_params *p, const ew_work *w, int first)
{
    memset(p, 0, sizeof *p);
    p->ndim = w->ndim - first;
    p->scalars = set_inputs(p->in, w->call);
    p->out = w->at[0];
    for (uint32_t i = 1; i < w->n_operands; i++)
        if (!(p->scalars >> (i - 1) & 1))
            p->in[i - 1].at = w->at[i];
    for (int d = 0; d < p->ndim; d++) {
        p->extent[d] = cuda_divisor_of((uint32_t)w->shape[w->ndim - 1 - d]);
        p->out_stride[d] = w->stride[0][w->ndim - 1 - d];
        for (uint32_t i = 1; i < w->n_operands; i++)
            p->in_stride[i - 1][d] = w->stride[i][w->ndim - 1 - d];
    }
}

static uint32_t quotient_up(uint64_t n, uint32_t d)
{
    return (uint32_t)((n + d - 1) / d);
}

static int32_t launch_tiled(const ew_work *w, ew_params *p)
{
    uint32_t side = EW_TILE_SIDE(w->call->n_in, element_size(w->call));
    uint64_t tiles;
    p->columns = cuda_divisor_of(quotient_up(p->extent[0].value, side));
    p->lines = cuda_divisor_of(quotient_up(p->extent[1].value, side));
    tiles = (uint64_t)p->columns.value * p->lines.value;
    for (int d = 2; d < p->ndim; d++)
        tiles *= p->extent[d].value;
    for (uint32_t i = 0; i < w->call->n_in; i++) {
        uint64_t x = ndp_magnitude(p->in_stride[i][0]), y = ndp_magnitude(p->in_stride[i][1]);
        p->transposed |= (uint32_t)(y != 0 && y < x) << i;
    }
    p->n = tiles;
    return cuda_launch(w->kernel, w->kernel->function[EW_TILES_KERNEL], w->stream, (uint32_t)tiles,
                       EW_ELEMENT_THREADS,
                       w->call->n_in * EW_TILE_BYTES(side, element_size(w->call)), p);
}

/* Vectors of a row; 0: they would be mostly empty, or cannot be stored as such. Rows that do not
 * all begin at a vector's address may need one more. */
static uint32_t vectors_of_row(const ew_work *w, const ew_params *p)
{
    uint32_t per = EW_VECTOR_BYTES / element_size(w->call), n = p->extent[0].value;
    uint64_t bits = p->out / w->nbytes[0];
    for (int d = 1; d < p->ndim; d++)
        bits |= (uint64_t)p->out_stride[d];
    uint32_t vectors = quotient_up(n + (bits % per ? per - 1 : 0), per);
    return (p->out_stride[0] == 1 || n == 1) && (uint64_t)vectors * per <= 2 * (uint64_t)n ? vectors
                                                                                           : 0;
}

/* Which inputs vectors are loaded from, at their own addresses, and which are constant along rows.
 * The rows of the output begin at a vector's address if those of all such inputs are to. */
static void set_rows(ew_params *p, const ew_work *w)
{
    uint64_t per = EW_VECTOR_BYTES / element_size(w->call), bits[EW_OPERANDS];
    for (uint32_t i = 0; i < w->n_operands; i++) {
        bits[i] = w->at[i] / w->nbytes[i];
        for (int d = 1; d < p->ndim; d++)
            bits[i] |= (uint64_t)(i ? p->in_stride[i - 1][d] : p->out_stride[d]);
    }
    for (uint32_t i = 0; i < w->call->n_in; i++) {
        p->vectors |= (uint32_t)(p->in_stride[i][0] == 1 && (bits[0] | bits[i + 1]) % per == 0)
                      << i;
        p->splats |= (uint32_t)(p->in_stride[i][0] == 0) << i;
    }
}

static int32_t launch_rows(const ew_work *w, ew_params *p)
{
    uint32_t vectors = vectors_of_row(w, p);
    p->n = vectors ? vectors : p->extent[0].value;
    for (int d = 1; d < p->ndim; d++)
        p->n *= p->extent[d].value;
    if (vectors) {
        p->columns = cuda_divisor_of(vectors);
        set_rows(p, w);
        return launch_vectors(w->kernel, w->stream, p, p->n, 1);
    }
    return cuda_launch(w->kernel, w->kernel->function[EW_ELEMENTS_KERNEL], w->stream,
                       quotient_up(p->n, EW_ELEMENT_THREADS * EW_ELEMENTS), EW_ELEMENT_THREADS, 0,
                       p);
}

/* What lies below the dimensions before `first`, in as many launches as it takes. */
static int32_t run_part(ew_work *w, int first)
{
    ew_params p;
    int64_t rest = 1, extent = w->shape[first], chunk = 1;
    for (int d = first + 1; d < w->ndim && rest <= EW_MAX_ELEMENTS; d++)
        rest *= w->shape[d];
    if (w->ndim - first <= EW_MAX_NDIM) {
        chunk = rest < EW_MAX_ELEMENTS ? EW_MAX_ELEMENTS / rest : 1;
        if (extent <= chunk && rest <= EW_MAX_ELEMENTS) {
            set_strided(&p, w, first);
            return w->tiled && p.ndim > 1 ? launch_tiled(w, &p) : launch_rows(w, &p);
        }
    }
    uint64_t at[EW_OPERANDS];
    int32_t status = NDP_OK;
    memcpy(at, w->at, sizeof at);
    for (int64_t x = 0; x < extent && status == NDP_OK; x += chunk) {
        w->shape[first] = chunk < extent - x ? chunk : extent - x;
        status = run_part(w, chunk == 1 ? first + 1 : first);
        advance(w, first, chunk);
    }
    memcpy(w->at, at, sizeof at);
    w->shape[first] = extent;
    return status;
}

static int32_t run(const ndp_kernel *base, ndp_stream *s, const ndp_call *call)
{
    const cuda_kernel *k = (const cuda_kernel *)base;
    if (is_dense(call))
        return run_dense(k, s, call);
    if (ndp_view_size(call->out) == 0)
        return NDP_OK;
    ew_work w;
    w.kernel = k;
    w.stream = s;
    set_up(&w, call);
    choose_tiles(&w);
    return run_part(&w, 0);
}

static int32_t make(cuda_kernel *k, const ndp_call *like)
{
    static const char *const kernels[EW_KERNELS] = {"vectors", "elements", "tiles"};
    int module = cuda_module_of("elementwise", like->in[like->n_in - 1].dtype);
    char name[64];
    k->base.run = run;
    for (int i = 0; i < EW_KERNELS; i++) {
        snprintf(name, sizeof name, "%s_%s", cuda_op_name(like->op), kernels[i]);
        int32_t status = cuda_function(k->dev, module, name, &k->function[i]);
        if (status != NDP_OK)
            return status;
    }
    return NDP_OK;
}

static int32_t find(ndp_dev *dev, const ndp_call *like, const ndp_kernel **out, char *why, size_t n)
{
    if (!(dtypes(like->op) >> like->in[like->n_in - 1].dtype & 1))
        return cuda_unsupported(like, why, n);
    return cuda_kernel_get(dev, like, 0, make, out);
}

const cuda_class cuda_elementwise = {.dtypes = dtypes, .find = find};
