/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Attention and its gradients: which kernel, and its parameters. */
#include "neural/attention.h"
#include <stdio.h>
#include "host/backend.h"
#include "neural/flash.h"
#include "neural/tiled.h"

static const char *const names[] = {"attention_dq", "attention_dk", "attention_dv"};

static const char *dtype_name(int32_t dtype)
{
    return dtype == NDP_F16 ? "f16" : dtype == NDP_BF16 ? "bf16" : dtype == NDP_F32 ? "f32" : "f64";
}

static attention_view view_of(const ndp_view *v)
{
    attention_view r = {.at = cuda_ptr(v)};
    for (int d = 0; d < v->ndim; d++)
        r.stride[d] = v->stride[d];
    return r;
}

/* Bytes of shared memory: two pieces of operands, a block of scores, and what rows have. */
static uint32_t shared_bytes(int32_t dtype)
{
    const uint32_t pitch = ATTENTION_BLOCK + 4, element = dtype == NDP_F64 ? 8 : 4;
    return (2 * 16 * pitch + ATTENTION_BLOCK * pitch + 3 * ATTENTION_BLOCK) * element;
}

static int64_t blocks_of(int64_t n, int64_t block)
{
    return (n + block - 1) / block;
}

static attention_params params_of(const ndp_call *call)
{
    const ndp_attention *given = call->params;
    const ndp_view *in = call->in;
    attention_params p = {.q = view_of(&in[0]),
                          .k = view_of(&in[1]),
                          .v = view_of(&in[2]),
                          .batch = in[0].shape[0],
                          .heads = in[0].shape[1],
                          .key_heads = in[1].shape[1],
                          .m = in[0].shape[2],
                          .n = in[1].shape[2],
                          .d = in[0].shape[3],
                          .e = in[2].shape[3],
                          .diagonal = given->diagonal,
                          .counter = {given->counter[0], given->counter[1]},
                          .key = {(uint32_t)given->key, (uint32_t)(given->key >> 32)},
                          .least = (uint32_t)(given->dropout * 0x1p32),
                          .causal = given->causal,
                          .scale = given->scale,
                          .keep = 1 - given->dropout};
    if (call->op == NDP_OP_attention_grad) {
        p.g = view_of(&in[3]);
        p.lse = view_of(&in[4]);
        p.o = view_of(&in[5]);
    }
    for (uint32_t i = 0; i < call->n_out; i++)
        p.out[i] = view_of(&call->out[i]);
    if (given->has_mask) {
        const ndp_view *mask = &in[call->n_in - 1];
        p.mask = view_of(mask);
        p.mask_kind = mask->dtype == NDP_BOOL ? ATTENTION_BOOL : ATTENTION_ADDED;
    }
    p.q_blocks = blocks_of(p.m, ATTENTION_BLOCK);
    p.k_blocks = blocks_of(p.n, ATTENTION_BLOCK);
    p.d_chunks = blocks_of(p.d, ATTENTION_COLUMNS);
    p.e_chunks = blocks_of(p.e, ATTENTION_COLUMNS);
    return p;
}

/* One kernel over so many blocks; none where there is nothing to write. */
static int32_t launch(const cuda_kernel *k, int which, ndp_stream *s, int64_t blocks,
                      attention_params *p, int32_t dtype)
{
    if (blocks == 0)
        return NDP_OK;
    if (blocks > INT32_MAX)
        return cuda_error(NDP_ERR_UNSUPPORTED, "%s of %lld blocks", cuda_op_name(k->op),
                          (long long)blocks);
    return cuda_launch(k, k->function[which], s, (uint32_t)blocks, ATTENTION_THREADS,
                       shared_bytes(dtype), p);
}

/* What gradients leave in the scratch memory at `at`: delta, shifts, turns and sums; returns its end. */
static uint64_t place_sums(attention_params *p, const flash_grad_plan *plan, int32_t dtype,
                           uint64_t at)
{
    const int64_t element = dtype == NDP_F64 ? 8 : 4;
    p->sum_rows = plan->tile_bytes > 0 ? p->tiles * p->tile_rows : p->m;
    const uint64_t nbytes =
        (uint64_t)blocks_of(p->batch * p->heads * p->sum_rows * element, 256) * 256;
    p->delta = (attention_view){at, {p->heads * p->sum_rows, p->sum_rows, 1, 0}};
    p->shift = plan->tile_bytes > 0 ? at + nbytes : 0;
    p->turns = at + (plan->tile_bytes > 0 ? 2 : 1) * nbytes;
    p->sums = p->turns + (uint64_t)blocks_of(p->turn_count * 4, 256) * 256;
    return p->sums + (uint64_t)(p->turn_count * plan->tile_bytes);
}

/* The first kernel of gradients. */
static int32_t make_delta(const cuda_kernel *k, ndp_stream *s, const ndp_call *call,
                          attention_params *p)
{
    const int64_t rows = p->batch * p->heads * p->sum_rows;
    const ndp_view *views[2] = {&call->in[3], &call->in[5]};
    const int64_t chunk = 16 / ndp_dtype_size(call->in[0].dtype),
                  blocks = blocks_of(rows, ATTENTION_THREADS / ATTENTION_DELTA_BESIDE);
    p->whole_sums = p->e % chunk == 0;
    for (int i = 0; i < 2; i++) {
        const ndp_view *v = views[i];
        p->whole_sums = p->whole_sums && cuda_ptr(v) % 16 == 0 && v->stride[3] == 1;
        for (int d = 0; d < 3; d++)
            p->whole_sums = p->whole_sums && (v->shape[d] < 2 || v->stride[d] % chunk == 0);
    }
    if (blocks > INT32_MAX)
        return cuda_error(NDP_ERR_UNSUPPORTED, "attention_grad of %lld queries", (long long)rows);
    if (blocks == 0)
        return NDP_OK;
    return cuda_launch(k, k->function[ATTENTION_DELTA], s, (uint32_t)blocks, ATTENTION_THREADS, 0,
                       p);
}

static int32_t run_gradient(const cuda_kernel *k, ndp_stream *s, const ndp_call *call)
{
    const int32_t dtype = call->in[0].dtype;
    attention_params p = params_of(call);
    flash_grad_plan plan = {0};
    const int tiled = dtype == NDP_F32 ? tiled_width(k, &p) : -1,
              flash = dtype != NDP_F32 && flash_grad_plans(k, &p, &plan);
    const int64_t queries = p.batch * p.heads * p.q_blocks,
                  keys = p.batch * p.key_heads * p.k_blocks;
    if (tiled >= 0)
        tiled_grad_plan(k, &p, tiled);
    place_sums(&p, &plan, dtype, call->scratch.mem ? cuda_ptr(&call->scratch) : 0);
    int32_t status = make_delta(k, s, call, &p);
    if (status != NDP_OK)
        return status;
    if (flash)
        return flash_grad_run(k, s, &p, &plan);
    if (tiled >= 0)
        return tiled_grad_run(k, s, &p, tiled);
    status = launch(k, ATTENTION_QUERIES, s, queries * p.d_chunks, &p, dtype);
    if (status == NDP_OK)
        status = launch(k, ATTENTION_KEYS, s, keys * p.d_chunks, &p, dtype);
    if (status == NDP_OK)
        status = launch(k, ATTENTION_VALUES, s, keys * p.e_chunks, &p, dtype);
    return status;
}

static int32_t run(const ndp_kernel *base, ndp_stream *s, const ndp_call *call)
{
    const cuda_kernel *k = (const cuda_kernel *)base;
    attention_params p = params_of(call);
    flash_plan plan;
    if (call->op == NDP_OP_attention_grad)
        return run_gradient(k, s, call);
    const int32_t dtype = call->in[0].dtype;
    const int tiled = dtype == NDP_F32 ? tiled_width(k, &p) : -1;
    if (tiled >= 0)
        return tiled_run(k, s, &p, tiled);
    if (dtype != NDP_F32 && flash_plans(k, &p, &plan))
        return flash_run(k, s, call, &p, &plan);
    p.e_chunks = p.e_chunks ? p.e_chunks : 1; /* one at least, for the sums */
    return launch(k, ATTENTION_FORWARD, s, p.batch * p.heads * p.q_blocks * p.e_chunks, &p, dtype);
}

static uint64_t scratch(const ndp_kernel *base, const ndp_call *call)
{
    const cuda_kernel *k = (const cuda_kernel *)base;
    attention_params p = params_of(call);
    flash_plan plan;
    flash_grad_plan grad = {0};
    const int32_t dtype = call->in[0].dtype;
    if (call->op == NDP_OP_attention)
        return dtype != NDP_F32 && flash_plans(k, &p, &plan) ? plan.scratch : 0;
    const int tiled = dtype == NDP_F32 ? tiled_width(k, &p) : -1;
    if (tiled >= 0)
        tiled_grad_plan(k, &p, tiled);
    else if (dtype != NDP_F32)
        flash_grad_plans(k, &p, &grad);
    return place_sums(&p, &grad, dtype, 0);
}

static int32_t make(cuda_kernel *k, const ndp_call *like)
{
    char name[32];
    const int32_t dtype = like->in[0].dtype;
    const int gradient = like->op == NDP_OP_attention_grad;
    int32_t status = dtype == NDP_F16 || dtype == NDP_BF16 ? flash_make(k, like)
                     : dtype == NDP_F32                    ? tiled_make(k, like)
                                                           : NDP_OK;
    k->base.run = run;
    k->base.scratch = scratch;
    for (int i = 0; i < (gradient ? ATTENTION_DELTA : 1) && status == NDP_OK; i++) {
        snprintf(name, sizeof name, "%s_%s", gradient ? names[i] : "attention", dtype_name(dtype));
        status = cuda_function(k->dev, CUDA_MODULE_attention_ANY, name, &k->function[i]);
        if (status == NDP_OK)
            status = cuda_fail(cu.cuFuncSetAttribute(
                                   k->function[i], CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                   (int)shared_bytes(dtype)),
                               "shared memory for %s", name);
    }
    if (status != NDP_OK || !gradient)
        return status;
    snprintf(name, sizeof name, "attention_delta_%s", cuda_dtype_word(dtype));
    return cuda_function(k->dev, cuda_module_of("attention_delta", dtype), name,
                         &k->function[ATTENTION_DELTA]);
}

static int32_t find(ndp_dev *dev, const ndp_call *like, const ndp_kernel **out, char *why, size_t n)
{
    const int32_t dtype = like->in[0].dtype;
    if (!(cuda_domain_dtypes(like->op) >> dtype & 1) || like->in[1].dtype != dtype ||
        like->in[2].dtype != dtype || like->out[0].dtype != dtype)
        return cuda_unsupported(like, why, n);
    return cuda_kernel_get(dev, like, 0, make, out);
}

const cuda_class cuda_attention = {.dtypes = cuda_domain_dtypes, .find = find};
