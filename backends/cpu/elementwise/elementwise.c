/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Elementwise operations: the table of kernels; calls of few dense elements run here, others by blocks. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include "elementwise/blocks.h"
#include "walk/tile.h"

#define EW_SMALL 64 /* elements served without a plan even if an operand is a scalar */

const ew_isa *ew_loops;
static ew_kernel kernels[NDP_OP_END][NDP_DTYPE_END];
static pthread_once_t kernels_once = PTHREAD_ONCE_INIT;

/* Few dense elements: the loop at once, scalars repeated beside. */
static void run_small(const ew_kernel *kernel, const ndp_call *call, int64_t n)
{
    _Alignas(64) char repeated[EW_OPERANDS][EW_SMALL * 16];
    char *p[EW_OPERANDS];
    int n_in = (int)call->n_in;
    for (int k = 0; k < n_in; k++) {
        const ndp_view *v = &call->in[k];
        char element[16];
        p[k] = repeated[k];
        if (v->mem) {
            p[k] = cpu_ptr(v);
        } else {
            cpu_store_scalar(&call->scalar[v->offset_bytes], element);
            cpu_tile_pack(repeated[k], element, 1, n, 0, 0, ndp_dtype_size(v->dtype));
        }
    }
    p[n_in] = cpu_ptr(&call->out[0]);
    kernel->loop(p, n);
}

static int32_t run(const ndp_kernel *base, ndp_stream *stream, const ndp_call *call)
{
    const ew_kernel *kernel = (const ew_kernel *)base;
    const ndp_view *out = &call->out[0];
    int views = 1, flat = out->ndim == 0 || (out->flags & NDP_VIEW_CONTIGUOUS) != 0;
    (void)stream;
    for (uint32_t k = 0; k < call->n_in; k++) {
        const ndp_view *v = &call->in[k];
        views &= v->mem != NULL;
        flat &= !v->mem || v->ndim == 0 || (v->flags & NDP_VIEW_CONTIGUOUS) != 0;
    }
    int64_t n = out->ndim == 0 ? 1 : out->ndim == 1 ? out->shape[0] : EW_COSTLY_GRAIN;
    if (flat && n < (views ? EW_COSTLY_GRAIN : EW_SMALL) && !kernel->widen)
        run_small(kernel, call, n);
    else
        ew_run_blocks(kernel, call, flat);
    return NDP_OK;
}

/* ---- the table ---- */
/* Error bounds of single precision: more than half an ulp marks the functions that are costly. */
static const float ulps[NDP_OP_END] = {
#define ULP(half, single, double_, complex_) (float)(single)
#define ND_OP(name, CLASS, DOMAIN, RESULT, ulp, doc) [NDP_OP_##name] = ulp,
#include <ndock/op.def>
};

static void kernels_init(void)
{
    ew_loops = CPU_ISA_PICK(elementwise_isa);
    for (int32_t op = 1; op < NDP_OP_END; op++)
        for (int32_t dtype = 1; dtype < NDP_DTYPE_END; dtype++) {
            ew_kernel *k = &kernels[op][dtype];
            int half = dtype == NDP_F16 || dtype == NDP_BF16;
            k->loop = ew_loops->loops[dtype] ? ew_loops->loops[dtype][op] : NULL;
            k->base =
                (ndp_kernel){.size = sizeof(ndp_kernel), .max_ndim = NDP_MAX_NDIM, .run = run};
            k->op = op;
            k->dtype = dtype;
            k->out_dtype = ndp_result_dtype(op, dtype);
            k->widen = half && op != NDP_OP_where;
            k->costly = ulps[op] > 0.5f && dtype >= NDP_F16;
        }
}

static uint64_t dtypes(int32_t op)
{
    uint64_t mask = 0;
    pthread_once(&kernels_once, kernels_init);
    for (int32_t dtype = 1; dtype < NDP_DTYPE_END; dtype++)
        if (kernels[op][dtype].loop)
            mask |= (uint64_t)1 << dtype;
    return mask;
}

static const ndp_kernel *find(const ndp_call *like, char *why, size_t n)
{
    /* The last input has the dtype computed in; the first of where is bool. */
    int32_t dtype = like->n_in > 0 ? like->in[like->n_in - 1].dtype : 0;
    pthread_once(&kernels_once, kernels_init);
    if (dtype <= 0 || dtype >= NDP_DTYPE_END || !kernels[like->op][dtype].loop) {
        snprintf(why, n, "%s has no kernel for dtype %d", cpu_op_name(like->op), (int)dtype);
        return NULL;
    }
    const ew_kernel *k = &kernels[like->op][dtype];
    if (like->n_out != 1 || like->out[0].dtype != k->out_dtype) {
        snprintf(why, n, "%s of dtype %d has one result, of dtype %d", cpu_op_name(like->op),
                 (int)dtype, (int)k->out_dtype);
        return NULL;
    }
    return &k->base;
}

const cpu_class cpu_elementwise = {dtypes, find};
