/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Dropout: elements zeroed by the words of Philox, the others scaled. */
#include <stdio.h>
#include "math/philox.h"
#include "norm/norm.h"
#include "walk/walk.h"

enum { WORDS = 4 * PHILOX_LANES, GRAIN = 1 << 14 };

typedef struct {
    const cpu_norm_table *loops;
    const ndp_dropout *params;
    const char *in;
    char *out;
    cpu_walk walk; /* in, out; bytes; in C order */
    int dtype;
    uint32_t least; /* words below it drop their element */
    double divisor;
} plan;

/* begin is a multiple of WORDS. */
static void drop(void *ctx, int64_t begin, int64_t end)
{
    const plan *p = ctx;
    uint32_t word[WORDS];
    double x[WORDS];
    cpu_place at;
    cpu_place_seek(&at, &p->walk, begin);
    for (int64_t i = begin; i < end;) {
        const int64_t in = i % WORDS, room = cpu_place_room(&at);
        int64_t m = WORDS - in < end - i ? WORDS - in : end - i;
        m = room < m ? room : m;
        if (in == 0)
            philox_blocks(p->params->key, p->params->counter, (uint64_t)(i / 4), word);
        p->loops->load[p->dtype](x, p->in + at.offset[0], cpu_walk_inner(&p->walk, 0), m);
        for (int64_t j = 0; j < m; j++)
            x[j] = word[in + j] < p->least ? 0 : x[j] / p->divisor;
        p->loops->store[p->dtype](p->out + at.offset[1], cpu_walk_inner(&p->walk, 1), x, m);
        cpu_place_step(&at, m);
        i += m;
    }
}

static int32_t run(const ndp_kernel *kernel, ndp_stream *stream, const ndp_call *call)
{
    const ndp_view *in = &call->in[0], *out = &call->out[0];
    const int64_t bytes = ndp_dtype_size(in->dtype);
    (void)kernel;
    (void)stream;
    plan p = {.loops = CPU_ISA_PICK(cpu_norm_loops),
              .params = call->params,
              .in = cpu_ptr(in),
              .out = cpu_ptr(out)};
    p.dtype = in->dtype == NDP_F16    ? CPU_NORM_F16
              : in->dtype == NDP_BF16 ? CPU_NORM_BF16
              : in->dtype == NDP_F32  ? CPU_NORM_F32
                                      : CPU_NORM_F64;
    p.least = (uint32_t)(p.params->p * 0x1p32);
    p.divisor = in->dtype == NDP_F64 ? 1 - p.params->p : (float)(1 - p.params->p);
    cpu_walk_begin(&p.walk, 2);
    for (int d = 0; d < in->ndim; d++) {
        const int64_t step[2] = {in->stride[d] * bytes, out->stride[d] * bytes};
        cpu_walk_add(&p.walk, in->shape[d], step);
    }
    cpu_walk_end(&p.walk);
    if (p.walk.size > 0)
        cpu_parallel(p.walk.size, GRAIN, drop, &p);
    return NDP_OK;
}

static const ndp_kernel the_kernel = {
    .size = sizeof(ndp_kernel), .max_ndim = NDP_MAX_NDIM, .run = run};

static uint64_t dtypes(int32_t op)
{
    return cpu_domain_dtypes(op);
}

static const ndp_kernel *find(const ndp_call *like, char *why, size_t n)
{
    const int32_t dtype = like->in[0].dtype;
    if (cpu_domain_dtypes(like->op) >> dtype & 1 && like->out[0].dtype == dtype)
        return &the_kernel;
    snprintf(why, n, "the CPU plug-in has no dropout of dtype %d", (int)dtype);
    return NULL;
}

const cpu_class cpu_dropout = {dtypes, find};
