/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Programs compiled by another plug-in, with a defect: the first call's scalars are part of the
 * code, or of several results the last one is the first. */
#include <stdbool.h>
#include <string.h>
#include "tests/kit/fused.h"

static const ndp_host *host;
static const ndp_fused_1 *inner;
static const char *defect;

typedef struct {
    ndp_kernel base;
    const ndp_kernel *inner;
    bool called;
    ndp_scalar first[NDP_PROGRAM_MAX_SCALARS];
} program;

static bool has(const char *kind)
{
    return defect && strcmp(defect, kind) == 0;
}

static int32_t run(const ndp_kernel *base, ndp_stream *s, const ndp_call *call)
{
    program *p = (program *)(uintptr_t)base;
    ndp_call other = *call;
    ndp_view out[NDP_PROGRAM_MAX_OUT];
    if (has("fused_scalar")) {
        if (!p->called)
            memcpy(p->first, call->scalar, call->n_scalar * sizeof *p->first);
        p->called = true;
        other.scalar = p->first;
    }
    if (has("fused_result") && call->n_out > 1 &&
        call->out[0].dtype == call->out[call->n_out - 1].dtype) {
        memcpy(out, call->out, call->n_out * sizeof *out);
        out[0] = call->out[call->n_out - 1];
        out[call->n_out - 1] = call->out[0];
        other.out = out;
    }
    return p->inner->run(p->inner, s, &other);
}

static int32_t compile(ndp_dev *dev, const ndp_program *what, const ndp_kernel **out, char *why,
                       size_t n)
{
    const ndp_kernel *compiled;
    int32_t status = inner->compile(dev, what, &compiled, why, n);
    *out = NULL;
    if (status != NDP_OK)
        return status;
    program *p = host->alloc(host->ctx, sizeof *p, 16);
    if (!p) {
        inner->discard(dev, compiled);
        return host->error(host->ctx, NDP_ERR_MEMORY, 0, "no memory for a program");
    }
    *p = (program){.base = *compiled, .inner = compiled};
    p->base.size = sizeof p->base;
    p->base.run = run;
    *out = &p->base;
    return NDP_OK;
}

static void discard(ndp_dev *dev, const ndp_kernel *kernel)
{
    const program *p = (const program *)kernel;
    inner->discard(dev, p->inner);
    host->free(host->ctx, (void *)(uintptr_t)p);
}

static int32_t takes(ndp_dev *dev, const ndp_kernel *kernel, const ndp_call *call)
{
    return inner->takes(dev, ((const program *)kernel)->inner, call);
}

const ndp_fused_1 *defective_fused(const ndp_host *h, const ndp_fused_1 *other, const char *kind)
{
    static const ndp_fused_1 group = {
        .size = sizeof group, .compile = compile, .discard = discard, .takes = takes};
    host = h;
    inner = other;
    defect = kind;
    return inner ? &group : NULL;
}
