/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Shapes, strides and scalars on their way to kernels. */
#include <string.h>
#include "host/opencl.h"

static int joins(const ocl_dims *w, int outer, int inner)
{
    for (int i = 0; i < w->n; i++)
        if (w->stride[i][outer] != w->stride[i][inner] * w->shape[inner])
            return 0;
    return 1;
}

static void move_dim(ocl_dims *w, int to, int from)
{
    w->shape[to] = w->shape[from];
    for (int i = 0; i < w->n; i++)
        w->stride[i][to] = w->stride[i][from];
}

void ocl_dims_merge(ocl_dims *w)
{
    int kept = 0;
    for (int d = 0; d < w->ndim; d++) {
        if (w->shape[d] == 1)
            continue;
        if (kept && joins(w, kept - 1, d)) {
            int64_t outer = w->shape[kept - 1];
            move_dim(w, kept - 1, d);
            w->shape[kept - 1] *= outer;
        } else {
            move_dim(w, kept++, d);
        }
    }
    w->ndim = kept;
}

void ocl_walk_set(ocl_walk *out, const ocl_dims *w)
{
    memset(out, 0, sizeof *out);
    out->ndim = (cl_uint)w->ndim;
    out->n = 1;
    for (int d = 0; d < w->ndim; d++) {
        out->shape[d] = w->shape[d];
        out->n *= (cl_ulong)w->shape[d];
        for (int i = 0; i < w->n; i++)
            out->stride[i][d] = w->stride[i][d];
    }
}

/* Values are already rounded to their dtype, so what is cut off here is zero. */
static uint16_t half_bits(double x)
{
    uint64_t u;
    memcpy(&u, &x, sizeof u);
    uint16_t sign = (uint16_t)(u >> 48 & 0x8000);
    int exponent = (int)(u >> 52 & 0x7ff) - 1023;
    uint64_t fraction = u & 0xfffffffffffff;
    if (exponent == 1024)
        return (uint16_t)(sign | 0x7c00 | (fraction ? 0x200 | fraction >> 42 : 0));
    if (exponent > 15)
        return (uint16_t)(sign | 0x7c00);
    if (exponent >= -14)
        return (uint16_t)(sign | (exponent + 15) << 10 | fraction >> 42);
    if (exponent < -24)
        return sign;
    return (uint16_t)(sign | (fraction | (uint64_t)1 << 52) >> (42 - 14 - exponent));
}

static uint32_t float_bits(double x)
{
    float f = (float)x;
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    return u;
}

void ocl_scalar_bits(const ndp_scalar *s, cl_ulong bits[2])
{
    bits[0] = bits[1] = 0;
    switch (s->dtype) {
    case NDP_F16:
        bits[0] = half_bits(s->v.f);
        break;
    case NDP_BF16:
        bits[0] = float_bits(s->v.f) >> 16;
        break;
    case NDP_F32:
        bits[0] = float_bits(s->v.f);
        break;
    case NDP_C64:
        bits[0] = float_bits(s->v.c[0]) | (cl_ulong)float_bits(s->v.c[1]) << 32;
        break;
    case NDP_C128:
        memcpy(bits, s->v.c, 16);
        break;
    default: /* f64 by its bits; integers and bool by their low ones */
        memcpy(bits, &s->v.u, 8);
        break;
    }
}
