/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Rotary position embedding: pairs of elements of each row turned by an angle. */
#include <stdio.h>
#include "norm/norm.h"

enum { PAIRS = 256, GRAIN = 1 << 13 };

typedef struct {
    const cpu_norm_table *loops;
    const ndp_view *in[3], *out;
    int64_t half;        /* pairs of a row */
    int64_t apart, step; /* elements between those of a pair, and from a pair to the next */
    int dtype;
    double sign;
} plan;

/* Where row (b, h, t) begins. */
static char *row_of(const ndp_view *v, const int64_t *index)
{
    int64_t offset = 0;
    for (int d = 0; d < 3; d++)
        offset += index[d] * v->stride[d];
    return cpu_ptr(v) + offset * ndp_dtype_size(v->dtype);
}

static void turn(const plan *p, const int64_t *index)
{
    double x[PAIRS], y[PAIRS], c[PAIRS], s[PAIRS];
    const int64_t bytes = ndp_dtype_size(p->out->dtype);
    const int64_t in = p->in[0]->stride[3] * bytes, to = p->out->stride[3] * bytes,
                  cos_step = p->in[1]->stride[3] * bytes, sin_step = p->in[2]->stride[3] * bytes;
    const char *a = row_of(p->in[0], index), *cosine = row_of(p->in[1], index),
               *sine = row_of(p->in[2], index);
    char *out = row_of(p->out, index);
    for (int64_t i = 0; i < p->half; i += PAIRS) {
        const int64_t m = p->half - i < PAIRS ? p->half - i : PAIRS;
        p->loops->load[p->dtype](x, a + i * p->step * in, p->step * in, m);
        p->loops->load[p->dtype](y, a + (i * p->step + p->apart) * in, p->step * in, m);
        p->loops->load[p->dtype](c, cosine + i * cos_step, cos_step, m);
        p->loops->load[p->dtype](s, sine + i * sin_step, sin_step, m);
        for (int64_t j = 0; j < m; j++) {
            const double turned = x[j] * c[j] - y[j] * (p->sign * s[j]);
            y[j] = x[j] * (p->sign * s[j]) + y[j] * c[j];
            x[j] = turned;
        }
        p->loops->store[p->dtype](out + i * p->step * to, p->step * to, x, m);
        p->loops->store[p->dtype](out + (i * p->step + p->apart) * to, p->step * to, y, m);
    }
}

static void turn_rows(void *ctx, int64_t begin, int64_t end)
{
    const plan *p = ctx;
    const int64_t *shape = p->out->shape;
    for (int64_t u = begin; u < end; u++) {
        const int64_t index[3] = {u / (shape[1] * shape[2]), u / shape[2] % shape[1], u % shape[2]};
        turn(p, index);
    }
}

static int32_t run(const ndp_kernel *kernel, ndp_stream *stream, const ndp_call *call)
{
    const ndp_rope *params = call->params;
    const int64_t *shape = call->out[0].shape, rows = shape[0] * shape[1] * shape[2];
    (void)kernel;
    (void)stream;
    plan p = {.loops = CPU_ISA_PICK(cpu_norm_loops),
              .in = {&call->in[0], &call->in[1], &call->in[2]},
              .out = &call->out[0],
              .half = shape[3] / 2,
              .sign = params->inverse ? -1 : 1};
    p.apart = params->interleaved ? 1 : p.half;
    p.step = params->interleaved ? 2 : 1;
    p.dtype = p.out->dtype == NDP_F16    ? CPU_NORM_F16
              : p.out->dtype == NDP_BF16 ? CPU_NORM_BF16
              : p.out->dtype == NDP_F32  ? CPU_NORM_F32
                                         : CPU_NORM_F64;
    if (rows == 0 || p.half == 0)
        return NDP_OK;
    const int64_t grain = GRAIN / shape[3];
    cpu_parallel(rows, grain > 1 ? grain : 1, turn_rows, &p);
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
    if (cpu_domain_dtypes(like->op) >> dtype & 1 && like->in[1].dtype == dtype &&
        like->in[2].dtype == dtype && like->out[0].dtype == dtype)
        return &the_kernel;
    snprintf(why, n, "the CPU plug-in has no rope of dtype %d", (int)dtype);
    return NULL;
}

const cpu_class cpu_rope = {dtypes, find};
