/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Cumulative sums and products: which kernel, how the work is cut, and the parameters. */
#include "reduce/scan.h"
#include <stdio.h>
#include "host/backend.h"
#include "walk/plan.h"

enum { VEC, ROW, COL, PASS, STRIP, CLEAR };
enum {
    BLOCKS_PER_SM = 4,
    TILE = 4096,       /* elements below which a line is not worth cutting */
    PASS_TILES = 16,   /* tiles below which reading twice is as quick */
    SHORT = 64,        /* below that a thread takes a line by itself, where there are many */
    STRIP_WIDEST = 16, /* vectors of a strip side by side, at most and at least */
    STRIP_NARROWEST = 4,
    STRIP_SHARE = 75, /* percent of the device that strips occupy at least */
    GRID_X = 1 << 20
};

static const char *const suffixes[] = {"vec", "row", "col", "pass", "strip"};

static int32_t module_dtype(int32_t dtype)
{
    return dtype == NDP_U64 ? NDP_I64 : dtype;
}

static uint64_t state_bytes(int32_t op, int32_t dtype)
{
    int complex = dtype >= NDP_C64, wide = dtype == NDP_F64 || dtype == NDP_C128;
    if (dtype < NDP_F16)
        return 8;
    if (op == NDP_OP_cumulative_prod)
        return complex ? 24 : 16;
    return (uint64_t)(wide ? 16 : 8) << complex;
}

/* Whether lines can be read and written in whole vectors. */
static int is_dense(const ndp_call *call, const scan_params *p)
{
    const ndp_view *v[2] = {&call->in[0], &call->out[0]};
    int64_t bytes = ndp_dtype_size(v[0]->dtype), n = bytes <= 4 ? 4 : 16 / bytes;
    if (p->in_step != 1 || p->out_step != 1 || p->n % (uint64_t)n != 0 ||
        call->op == NDP_OP_cumulative_prod)
        return 0;
    if (v[0]->dtype < NDP_F16 && ndp_dtype_size(v[1]->dtype) != 8)
        return 0;
    for (int o = 0; o < 2; o++) {
        if (cuda_ptr(v[o]) % (CUdeviceptr)(n * ndp_dtype_size(v[o]->dtype)) != 0)
            return 0;
        for (int d = 0; d + 1 < v[o]->ndim; d++)
            if (v[o]->stride[d] % n != 0)
                return 0;
    }
    return 1;
}

/* Whether neighbouring lines can be read and written in whole vectors of V. */
static int is_dense_across(const ndp_call *call, const scan_params *p, int64_t V)
{
    const ndp_view *v[2] = {&call->in[0], &call->out[0]};
    if (call->op == NDP_OP_cumulative_prod ||
        (v[0]->dtype < NDP_F16 && ndp_dtype_size(v[1]->dtype) != 8) || p->dim[0].extent % V != 0 ||
        p->in_step % V != 0 || p->out_step % V != 0)
        return 0;
    for (int o = 0; o < 2; o++) {
        const int inner = v[o]->ndim - 2;
        if (v[o]->stride[inner] != 1 ||
            cuda_ptr(v[o]) % (CUdeviceptr)(V * ndp_dtype_size(v[o]->dtype)) != 0)
            return 0;
        for (int d = 0; d < inner; d++)
            if (v[o]->stride[d] % V != 0)
                return 0;
    }
    return 1;
}

static void cut(scan_params *p, uint64_t blocks, uint64_t least, int sm_count)
{
    uint64_t n = (uint64_t)sm_count * BLOCKS_PER_SM / blocks, most = p->n / least;
    n = n > most ? most : n;
    p->chunk = n > 1 ? (p->n + n - 1) / n : p->n;
    p->chunk = (p->chunk + 3) / 4 * 4; /* whole vectors */
    p->chunks = (int32_t)((p->n + p->chunk - 1) / p->chunk);
}

typedef struct {
    scan_params p;
    int how;
    uint32_t blocks;
} scan_plan;

/* Lines that would be cut and read twice: in tiles instead, each of a block of its own. */
static void plan_pass(scan_plan *r, int64_t bytes, int sm_count)
{
    scan_params *p = &r->p;
    const uint64_t V = bytes <= 4 ? 4 : 16 / (uint64_t)bytes;
    const uint64_t slot = V * (uint64_t)(bytes > p->out_nbytes ? bytes : p->out_nbytes);
    const uint64_t tile = SCAN_THREADS * (uint64_t)scan_pass_vectors((int)slot) * V;
    uint64_t tiles = (p->n + tile - 1) / tile;
    if (tiles < PASS_TILES || tiles > INT32_MAX / p->lines)
        return;
    r->how = PASS;
    p->tiles = tiles;
    p->groups = (tiles + SCAN_GROUP - 1) / SCAN_GROUP;
    p->ahead = (uint64_t)sm_count / p->lines; /* as many blocks as there are multiprocessors */
    r->blocks = (uint32_t)(tiles * p->lines);
}

/* How many vectors a strip has side by side: as many as leave few multiprocessors without work and, of
 * short vectors, each several strips, so that as many bytes are on their way. 0: there are too few. */
static uint64_t strip_width(uint64_t vectors, uint64_t vector_nbytes, uint64_t sm_count)
{
    uint64_t narrow = 0;
    for (uint64_t beside = STRIP_WIDEST; beside >= STRIP_NARROWEST; beside /= 2) {
        const uint64_t strips = (vectors + beside - 1) / beside;
        const uint64_t turns = (strips + sm_count - 1) / sm_count;
        if (vectors * 100 < turns * sm_count * beside * STRIP_SHARE)
            continue;
        if (turns * vector_nbytes >= 16)
            return beside;
        narrow = beside;
    }
    return narrow;
}

/* Neighbouring lines that a thread each would read twice. */
static void plan_strip(scan_plan *r, const ndp_call *call, int sm_count)
{
    scan_params *p = &r->p;
    const int64_t bytes = ndp_dtype_size(call->in[0].dtype), V = bytes <= 4 ? 4 : 16 / bytes;
    const uint64_t vectors = p->lines / (uint64_t)V;
    const uint64_t beside = strip_width(vectors, (uint64_t)(V * bytes), (uint64_t)sm_count);
    if (p->chunks < 2 || beside == 0 || !is_dense_across(call, p, V))
        return;
    r->how = STRIP;
    r->blocks = (uint32_t)((vectors + beside - 1) / beside);
    p->beside = (int32_t)beside;
    p->chunks = 1;
}

/* A slot has the state and 8 bytes more, and 16 bytes are its unit. */
static uint64_t pass_nbytes(const scan_params *p, const ndp_call *call)
{
    uint64_t slot = (state_bytes(call->op, call->in[0].dtype) + 8 + 15) / 16 * 16;
    return p->lines * (p->tiles + p->groups) * slot;
}

static void make_plan(scan_plan *r, const cuda_kernel *k, const ndp_call *call)
{
    const ndp_view *in = &call->in[0], *out = &call->out[0];
    scan_params *p = &r->p;
    int last = in->ndim - 1;
    p->n = last < 0 ? 1 : (uint64_t)in->shape[last];
    p->in_step = last < 0 ? 1 : in->stride[last];
    p->out_step = last < 0 ? 1 : out->stride[last];
    p->ndim = last < 0 ? 0 : last;
    p->lines = line_dims_of(p->dim, in, out, 0, p->ndim);
    p->out_nbytes = (int32_t)ndp_dtype_size(out->dtype);
    p->out_is_bool = out->dtype == NDP_BOOL;
    int across = p->ndim > 0 && ndp_magnitude(p->dim[0].in) < ndp_magnitude(p->in_step);
    int many = p->lines >= 32;
    r->how = is_dense(call, p) ? VEC : ROW;
    if (many && (across || p->n < SHORT))
        r->how = COL;
    uint64_t blocks = r->how == COL ? (p->lines + SCAN_THREADS - 1) / SCAN_THREADS : p->lines;
    cut(p, blocks, r->how == COL ? 256 : 2 * TILE, k->dev->sm_count * (r->how == COL ? 2 : 1));
    r->blocks = (uint32_t)(blocks < GRID_X ? blocks : GRID_X);
    if (r->how == VEC && p->chunks > 1)
        plan_pass(r, ndp_dtype_size(in->dtype), k->dev->sm_count);
    if (r->how == COL)
        plan_strip(r, call, k->dev->sm_count);
}

static uint64_t scratch(const ndp_kernel *base, const ndp_call *call)
{
    scan_plan r = {.how = ROW};
    if (ndp_view_size(&call->in[0]) == 0)
        return 0;
    make_plan(&r, (const cuda_kernel *)base, call);
    if (r.how == PASS)
        return pass_nbytes(&r.p, call);
    if (r.p.chunks < 2)
        return 0;
    return (uint64_t)r.p.chunks * r.p.lines * state_bytes(call->op, call->in[0].dtype);
}

static int32_t run_pass(const cuda_kernel *k, ndp_stream *s, const ndp_call *call, scan_plan *r)
{
    r->p.scratch = cuda_ptr(&call->scratch);
    r->p.scratch_words = pass_nbytes(&r->p, call) / 16;
    uint64_t blocks = r->p.scratch_words / SCAN_THREADS + 1;
    int32_t status = cuda_launch(k, k->function[CLEAR], s,
                                 (uint32_t)(blocks < 1024 ? blocks : 1024), SCAN_THREADS, 0, &r->p);
    return status != NDP_OK
               ? status
               : cuda_launch(k, k->function[PASS], s, r->blocks, SCAN_THREADS, 0, &r->p);
}

static int32_t run(const ndp_kernel *base, ndp_stream *s, const ndp_call *call)
{
    const cuda_kernel *k = (const cuda_kernel *)base;
    scan_plan r = {.how = ROW};
    int32_t status = NDP_OK;
    if (ndp_view_size(&call->in[0]) == 0)
        return NDP_OK;
    make_plan(&r, k, call);
    r.p.in = cuda_ptr(&call->in[0]);
    r.p.out = cuda_ptr(&call->out[0]);
    if (r.how == PASS)
        return run_pass(k, s, call, &r);
    if (r.p.chunks > 1) {
        r.p.scratch = cuda_ptr(&call->scratch);
        r.p.totals_only = 1;
        status = cuda_launch_2d(k, k->function[r.how], s, r.blocks, (uint32_t)r.p.chunks,
                                SCAN_THREADS, 0, &r.p);
        r.p.totals_only = 0;
    }
    if (status != NDP_OK)
        return status;
    return cuda_launch_2d(k, k->function[r.how], s, r.blocks, (uint32_t)r.p.chunks,
                          r.how == STRIP ? SCAN_STRIP_THREADS : SCAN_THREADS, 0, &r.p);
}

static int32_t make(cuda_kernel *k, const ndp_call *like)
{
    static const char *const dtype_names[NDP_DTYPE_END] = {
#define ND_DTYPE(NAME, id, nbytes, KIND, name, standard, numpy, dlpack, doc) [id] = #NAME,
#include <ndock/dtype.def>
    };
    char name[32];
    int product = like->op == NDP_OP_cumulative_prod;
    int32_t status = NDP_OK;
    k->base.run = run;
    k->base.scratch = scratch;
    for (int how = product ? ROW : VEC; how <= (product ? COL : STRIP) && status == NDP_OK; how++) {
        snprintf(name, sizeof name, "%s_%s_%s", product ? "prod" : "sum",
                 dtype_names[module_dtype(like->in[0].dtype)], suffixes[how]);
        status = cuda_function(k->dev, CUDA_MODULE_scan_ANY, name, &k->function[how]);
    }
    if (status == NDP_OK)
        status = cuda_function(k->dev, CUDA_MODULE_scan_ANY, "scan_clear", &k->function[CLEAR]);
    return status;
}

static uint64_t dtypes(int32_t op)
{
    return cuda_domain_dtypes(op);
}

static int32_t find(ndp_dev *dev, const ndp_call *like, const ndp_kernel **out, char *why, size_t n)
{
    if (!(dtypes(like->op) >> like->in[0].dtype & 1))
        return cuda_unsupported(like, why, n);
    return cuda_kernel_get(dev, like, 0, make, out);
}

const cuda_class cuda_scan = {.dtypes = dtypes, .find = find};
