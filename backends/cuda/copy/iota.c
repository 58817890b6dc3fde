/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Ramps: one kernel per dtype. */
#include "copy/iota.h"
#include <stdio.h>
#include "host/backend.h"

/* By kind of the result: integers are read as they are, the others from f64. */
static void set_ramp(iota_params *p, const ndp_iota *ramp, int32_t dtype)
{
    p->start = ramp->start.v.u;
    p->step = ramp->step.v.u;
    p->start_f = ramp->start.v.c[0]; /* v.f lies where v.c[0] does */
    p->step_f = ramp->step.v.c[0];
    if (dtype == NDP_C64 || dtype == NDP_C128) {
        p->start_im = ramp->start.v.c[1];
        p->step_im = ramp->step.v.c[1];
    }
}

static int32_t run(const ndp_kernel *base, ndp_stream *s, const ndp_call *call)
{
    const cuda_kernel *k = (const cuda_kernel *)base;
    const ndp_view *out = call->out;
    iota_params p = {.dst = cuda_ptr(out), .n = (uint64_t)ndp_view_size(out), .stride = 1};
    if (p.n == 0)
        return NDP_OK;
    if (out->ndim > 0)
        p.stride = out->stride[out->ndim - 1];
    p.dense = p.stride == 1 && p.dst % 16 == 0;
    set_ramp(&p, call->params, out->dtype);
    uint64_t vector = 16 / (uint64_t)ndp_dtype_size(out->dtype);
    uint64_t blocks = p.n / (vector * CUDA_THREADS) + 1, most = (uint64_t)k->dev->sm_count * 32;
    return cuda_launch(k, k->function[0], s, (uint32_t)(blocks < most ? blocks : most),
                       CUDA_THREADS, 0, &p);
}

static int32_t make(cuda_kernel *k, const ndp_call *like)
{
    static const char *const names[NDP_DTYPE_END] = {
#define ND_DTYPE(NAME, id, nbytes, KIND, name, standard, numpy, dlpack, doc) [id] = "iota_" #name,
#include <ndock/dtype.def>
    };
    k->base.run = run;
    k->base.max_ndim = 1;
    return cuda_function(k->dev, CUDA_MODULE_iota_ANY, names[like->out->dtype], &k->function[0]);
}

static int32_t find(ndp_dev *dev, const ndp_call *like, const ndp_kernel **out, char *why, size_t n)
{
    if (!(cuda_domain_dtypes(like->op) >> like->out->dtype & 1))
        return cuda_unsupported(like, why, n);
    return cuda_kernel_get(dev, like, 0, make, out);
}

const cuda_class cuda_iota = {.dtypes = cuda_domain_dtypes, .find = find};
