/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Rotary position embedding. */
#include <ndock/attention.h>
#include "core/ops/neural.h"

typedef struct {
    const char *name;
    nd_rope_opts o;
    nd_dtype dtype;
    int ndim;
    int64_t shape[ND_MAX_NDIM]; /* of a, as (..., h, t, d) */
} rotation;

static nd_status read_options(rotation *p, const nd_rope_opts *opts)
{
    ND_RETURN_IF(
        nd__read_options(p->name, opts, &p->o, sizeof p->o, NDP_END(nd_rope_opts, stream)));
    if (p->o.layout >= ND_ROPE_HALF && p->o.layout <= ND_ROPE_THD)
        return ND_OK;
    return nd__fail(ND_ERR_ARGUMENT, p->name, -1,
                    "%d is no layout; ND_ROPE_HALF, _INTERLEAVED and _THD are 0 to 2",
                    (int)p->o.layout);
}

/* Whether cos or sin is (t, d/2), or has the axes before h and t as well. */
static nd_status check_angles(const rotation *p, const nd_array *x, int argument)
{
    int64_t want[ND_MAX_NDIM];
    const int leading = x->ndim > 2 ? p->ndim - 3 : 0;
    memcpy(want, p->shape, (size_t)leading * sizeof *want);
    want[leading] = p->shape[p->ndim - 2];
    want[leading + 1] = p->shape[p->ndim - 1] / 2;
    return nd__check_shape_is(p->name, x, leading + 2, want, argument);
}

static nd_status start(rotation *p, const nd_array *a, const nd_array *cos, const nd_array *sin,
                       const nd_rope_opts *opts)
{
    const nd_array *const all[3] = {a, cos, sin};
    for (int i = 0; i < 3; i++)
        ND_RETURN_IF(nd__check_array(p->name, all[i], i));
    ND_RETURN_IF(nd__check_floatings(p->name, 0, 3, all, &p->dtype));
    ND_RETURN_IF(read_options(p, opts));
    p->ndim = a->ndim;
    if (a->ndim < 3)
        return nd__fail(ND_ERR_SHAPE, p->name, 0,
                        "argument 0 has %d axes; it is (..., h, t, d), or (..., t, h, d) for "
                        "ND_ROPE_THD",
                        (int)a->ndim);
    memcpy(p->shape, a->shape, (size_t)a->ndim * sizeof *p->shape);
    if (p->o.layout == ND_ROPE_THD) {
        p->shape[a->ndim - 3] = a->shape[a->ndim - 2];
        p->shape[a->ndim - 2] = a->shape[a->ndim - 3];
    }
    if (p->shape[a->ndim - 1] % 2 != 0)
        return nd__fail(ND_ERR_SHAPE, p->name, 0, "the last extent, %lld, is not even",
                        (long long)p->shape[a->ndim - 1]);
    ND_RETURN_IF(check_angles(p, cos, 1));
    return check_angles(p, sin, 2);
}

/* (b, h, t, d), the leading axes as one. */
static nd_array *with_four(nd_steps *s, const rotation *p, nd_array *a)
{
    int64_t shape[4] = {1, 0, 0, 0};
    if (s->status != ND_OK)
        return NULL;
    if (p->o.layout == ND_ROPE_THD)
        a = nd__step_moveaxis(s, a, p->ndim - 3, p->ndim - 2);
    for (int d = 0; d < p->ndim - 3; d++)
        shape[0] *= p->shape[d];
    memcpy(shape + 1, p->shape + p->ndim - 3, 3 * sizeof *shape);
    return nd__step_reshape(s, a, 4, shape);
}

/* cos or sin, the same for all heads. */
static nd_array *angles(nd_steps *s, const rotation *p, const nd_array *x)
{
    const int64_t t = p->shape[p->ndim - 2], half = p->shape[p->ndim - 1] / 2;
    int64_t all[4] = {1, p->shape[p->ndim - 3], t, half}, own[4] = {1, 1, t, half};
    for (int d = 0; d < p->ndim - 3; d++)
        all[0] *= p->shape[d];
    if (x->ndim > 2)
        own[0] = all[0];
    nd_array *cast = nd__step_cast(s, x, p->dtype);
    return nd__step_broadcast(s, nd__step_reshape(s, cast, 4, own), 4, all);
}

static nd_status rope(const char *name, const nd_array *a, const nd_array *cos, const nd_array *sin,
                      const nd_rope_opts *opts, bool inverse, nd_array **out)
{
    rotation p = {.name = name};
    nd_steps s;
    ND_RETURN_IF(start(&p, a, cos, sin, opts));
    ND_RETURN_IF(nd__steps_begin(&s, name, a, opts));
    const ndp_rope params = {.size = sizeof params,
                             .interleaved = p.o.layout == ND_ROPE_INTERLEAVED,
                             .inverse = inverse};
    nd_array *r = nd__step_new(&s, a, p.dtype, a->ndim, a->shape);
    nd_array *to = with_four(&s, &p, r);
    const nd_array *const in[3] = {with_four(&s, &p, nd__step_cast(&s, a, p.dtype)),
                                   angles(&s, &p, cos), angles(&s, &p, sin)};
    nd__step_kernel(&s, ND_OP_rope, 3, in, 1, &to, &params);
    return nd__steps_end(&s, name, r, out);
}

nd_status nd_rope(const nd_array *a, const nd_array *cos, const nd_array *sin,
                  const nd_rope_opts *opts, nd_array **out)
{
    ND_OUT("rope", 4, out, NULL);
    return rope("rope", a, cos, sin, opts, false, out);
}

nd_status nd_rope_grad(const nd_array *g, const nd_array *cos, const nd_array *sin,
                       const nd_rope_opts *opts, nd_array **out)
{
    ND_OUT("rope_grad", 4, out, NULL);
    return rope("rope_grad", g, cos, sin, opts, true, out);
}
