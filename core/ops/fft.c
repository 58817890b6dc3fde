/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Fourier transforms: axes, lengths, dtypes and scales. A kernel sees the transformed axes last. */
#include <math.h>
#include "core/ops/prepare.h"

/* What the public functions differ in. */
typedef struct {
    const char *name;
    nd_op op;
    bool inverse; /* the exponent's sign */
    bool many;    /* several axes */
} transform;

typedef struct {
    nd_operation of;
    const transform *t;
    int naxes;
    int axes[ND_MAX_NDIM]; /* in the caller's order */
    int64_t n[ND_MAX_NDIM];
    double scale;
} transforming;

/* ---- axes and lengths ---- */

static nd_status choose_axes(transforming *p, const nd_fft_opts *o, int ndim)
{
    uint64_t mask;
    if (ndim == 0)
        return nd__fail(ND_ERR_SHAPE, p->of.name, 0,
                        "an array without axes has none to transform along");
    p->naxes = o->naxes ? o->naxes : p->t->many ? ndim : 1;
    if (o->naxes < 0 || (o->naxes == 0 && (o->axes || o->lengths)))
        return nd__fail(ND_ERR_ARGUMENT, p->of.name, 1,
                        "naxes is %d; set it to how many axes or lengths there are", o->naxes);
    if (!p->t->many && p->naxes != 1)
        return nd__fail(ND_ERR_ARGUMENT, p->of.name, 1,
                        "%d axes; %s is along one (nd_%sn: several)", p->naxes, p->of.name,
                        p->of.name);
    if (p->naxes > ndim)
        return nd__fail(ND_ERR_SHAPE, p->of.name, 0, "rank %d has no %d axes to transform along",
                        ndim, p->naxes);
    if (o->axes)
        ND_RETURN_IF(nd__axes_mask(p->of.name, p->naxes, o->axes, ndim, &mask));
    for (int i = 0; i < p->naxes; i++)
        p->axes[i] =
            !o->axes ? ndim - p->naxes + i : (o->axes[i] < 0 ? o->axes[i] + ndim : o->axes[i]);
    return ND_OK;
}

/* Lengths of the transforms, and the operand's extents before them. */
static nd_status choose_lengths(transforming *p, const nd_fft_opts *o, const nd_array *a,
                                int64_t *extent)
{
    for (int i = 0; i < p->naxes; i++) {
        const bool back = p->t->op == ND_OP_fft_c2r && i == p->naxes - 1;
        const int64_t own = a->shape[p->axes[i]];
        p->n[i] = o->lengths && o->lengths[i] != -1 ? o->lengths[i] : back ? 2 * (own - 1) : own;
        if (p->n[i] < 1)
            return nd__fail(ND_ERR_ARGUMENT, p->of.name, o->lengths ? 1 : 0,
                            "a transform of length %lld along axis %d (extent %lld); it must be at "
                            "least 1",
                            (long long)p->n[i], p->axes[i], (long long)own);
        extent[p->axes[i]] = back ? p->n[i] / 2 + 1 : p->n[i];
    }
    return ND_OK;
}

static void choose_scale(transforming *p, int32_t norm)
{
    double n = 1;
    for (int i = 0; i < p->naxes; i++)
        n *= (double)p->n[i];
    p->scale = 1;
    if (norm == ND_FFT_ORTHO)
        p->scale = 1 / sqrt(n);
    else if (norm == (p->t->inverse ? ND_FFT_BACKWARD : ND_FFT_FORWARD))
        p->scale = 1 / n;
}

/* ---- dtypes ---- */

static bool is_single(nd_dtype dtype)
{
    return dtype == ND_F16 || dtype == ND_BF16 || dtype == ND_F32 || dtype == ND_C64;
}

static nd_status choose_dtypes(transforming *p, nd_dtype given, nd_dtype wanted)
{
    const bool from_real = p->t->op == ND_OP_fft_r2c, to_real = p->t->op == ND_OP_fft_c2r;
    bool single = is_single(given);
    if (from_real && nd__kind(given) == ND_KIND_COMPLEX)
        return nd__fail(ND_ERR_DTYPE, p->of.name, 0,
                        "%s; the transform of real numbers takes no complex ones (nd_fft does)",
                        nd_dtype_name(given));
    if (wanted) {
        ND_RETURN_IF(nd__check_dtype(p->of.name, wanted));
        single = wanted == (to_real ? ND_F32 : ND_C64);
        if (!single && wanted != (to_real ? ND_F64 : ND_C128))
            return nd__fail(ND_ERR_DTYPE, p->of.name, 1, "the result is %s, not %s",
                            to_real ? "f32 or f64" : "c64 or c128", nd_dtype_name(wanted));
    }
    p->of.compute = from_real ? (single ? ND_F32 : ND_F64) : (single ? ND_C64 : ND_C128);
    p->of.result = to_real ? (single ? ND_F32 : ND_F64) : (single ? ND_C64 : ND_C128);
    return ND_OK;
}

/* ---- the operand ---- */

/* A new array of that shape with as much of a as there is of it, the rest zero. */
static nd_status continued(const nd_array *a, nd_dtype dtype, const int64_t *shape, nd_array **out)
{
    nd_array *r = NULL, *whole = NULL, *part = NULL;
    int64_t common[ND_MAX_NDIM];
    nd_status status;
    for (int d = 0; d < a->ndim; d++)
        common[d] = a->shape[d] < shape[d] ? a->shape[d] : shape[d];
    ND_GOTO_IF(done, nd_zeros(a->storage->device, dtype, a->ndim, shape, &r));
    ND_GOTO_IF(done, nd__array_new(r->storage, dtype, a->ndim, common, r->stride, r->offset, false,
                                   &whole));
    ND_GOTO_IF(done, nd__array_new(a->storage, a->dtype, a->ndim, common, a->stride, a->offset,
                                   false, &part));
    ND_GOTO_IF(done, nd__copy_into(part, whole));
    *out = nd_retain(r);
done:
    nd_release(part);
    nd_release(whole);
    nd_release(r);
    return status;
}

/* The operand with the extents that the transforms need, in the dtype to compute in. */
static nd_status fit_operand(transforming *p, const int64_t *extent)
{
    const nd_array *a = p->of.in[0];
    nd_array *fit = NULL;
    bool shorter = false, longer = false;
    for (int d = 0; d < a->ndim; d++) {
        shorter |= extent[d] < a->shape[d];
        longer |= extent[d] > a->shape[d];
    }
    if (longer) {
        ND_RETURN_IF(continued(a, p->of.compute, extent, &fit));
        nd__operand_take(&p->of, 0, fit);
        return ND_OK;
    }
    if (shorter) {
        ND_RETURN_IF(nd__array_new(a->storage, a->dtype, a->ndim, extent, a->stride, a->offset,
                                   false, &fit));
        nd__operand_take(&p->of, 0, fit);
    }
    return nd__operand_cast(&p->of, 0, p->of.compute);
}

/* ---- the call ---- */

/* The axes that kernels are to transform: all but those of extent 1, which stay as they are. The last
 * is always one, since it tells where real numbers are. No array has elements and 64 axes of other
 * extents, so that there is room for one of a batch. */
static int kept_axes(const transforming *p, const nd_array *const arrays[2], int *axes)
{
    int n = 0;
    for (int i = 0; i < p->naxes; i++)
        if (i == p->naxes - 1 || arrays[0]->shape[p->axes[i]] != 1 ||
            arrays[1]->shape[p->axes[i]] != 1)
            axes[n++] = p->axes[i];
    return n;
}

/* Views of both with the transformed axes last, in their order; the others are merged, and there is
 * at least one. Returns how many are transformed. */
static int make_views(const transforming *p, const nd_array *const arrays[2],
                      int64_t shape[2][ND_MAX_NDIM], int64_t stride[2][ND_MAX_NDIM], ndp_view *v)
{
    int64_t others[ND_MAX_NDIM];
    int axes[ND_MAX_NDIM], rank = 0;
    const int naxes = kept_axes(p, arrays, axes);
    uint64_t mask = 0;
    for (int i = 0; i < naxes; i++)
        mask |= (uint64_t)1 << axes[i];
    for (int d = 0; d < arrays[0]->ndim; d++) {
        if (mask >> d & 1)
            continue;
        others[rank] = arrays[0]->shape[d];
        for (int i = 0; i < 2; i++)
            stride[i][rank] = arrays[i]->stride[d];
        rank++;
    }
    rank = nd__coalesce(rank, others, 2, stride, false);
    if (rank == 0) {
        others[rank] = 1;
        stride[0][rank] = stride[1][rank] = 0;
        rank = 1;
    }
    for (int i = 0; i < 2; i++) {
        memcpy(shape[i], others, (size_t)rank * sizeof *others);
        for (int k = 0; k < naxes; k++) {
            shape[i][rank + k] = arrays[i]->shape[axes[k]];
            stride[i][rank + k] = arrays[i]->stride[axes[k]];
        }
        v[i] = nd__view(arrays[i]);
        v[i].ndim = rank + naxes;
        v[i].shape = shape[i];
        v[i].stride = stride[i];
        v[i].flags = nd__is_c_order(v[i].ndim, shape[i], stride[i]) ? NDP_VIEW_CONTIGUOUS : 0;
    }
    return naxes;
}

static nd_status run(const nd_operation *of, const nd_array *dst)
{
    const transforming *p = (const transforming *)of;
    const nd_array *const arrays[2] = {of->in[0], dst};
    int64_t shape[2][ND_MAX_NDIM], stride[2][ND_MAX_NDIM];
    ndp_view v[2];
    if (dst->size == 0)
        return ND_OK;
    const int naxes = make_views(p, arrays, shape, stride, v);
    const ndp_fft params = {
        .size = sizeof params, .n_axes = naxes, .inverse = p->t->inverse, .scale = p->scale};
    ndp_call call = {.size = sizeof call,
                     .op = p->t->op,
                     .n_in = 1,
                     .n_out = 1,
                     .in = &v[0],
                     .out = &v[1],
                     .params = &params};
    return nd__run(of->device, &call);
}

static nd_status start(const transform *t, const nd_array *a, const nd_fft_opts *opts,
                       transforming *p)
{
    nd_fft_opts o;
    int64_t extent[ND_MAX_NDIM];
    nd__operation_begin(&p->of, t->op, run);
    p->of.name = t->name;
    p->t = t;
    ND_RETURN_IF(nd__operand(&p->of, 0, a));
    ND_RETURN_IF(nd__read_options(t->name, opts, &o, sizeof o, NDP_END(nd_fft_opts, dtype)));
    ND_RETURN_IF(nd__scope_of(t->name, a, opts, &p->of.scope));
    if (o.norm < ND_FFT_BACKWARD || o.norm > ND_FFT_ORTHO)
        return nd__fail(ND_ERR_ARGUMENT, t->name, 1,
                        "norm %d is none of ND_FFT_BACKWARD, _FORWARD and _ORTHO (0 to 2)", o.norm);
    ND_RETURN_IF(choose_axes(p, &o, a->ndim));
    memcpy(extent, a->shape, (size_t)a->ndim * sizeof *extent);
    ND_RETURN_IF(choose_lengths(p, &o, a, extent));
    ND_RETURN_IF(choose_dtypes(p, a->dtype, o.dtype));
    choose_scale(p, o.norm);
    nd__result_shape(&p->of, a->ndim, extent);
    if (t->op == ND_OP_fft_r2c)
        p->of.shape[p->axes[p->naxes - 1]] = p->n[p->naxes - 1] / 2 + 1;
    if (t->op == ND_OP_fft_c2r)
        p->of.shape[p->axes[p->naxes - 1]] = p->n[p->naxes - 1];
    ND_RETURN_IF(nd__check_shape(t->name, p->of.result, p->of.ndim, p->of.shape, &(int64_t){0}));
    return fit_operand(p, extent);
}

static nd_status into_new(const transform *t, const nd_array *a, const nd_fft_opts *opts,
                          nd_array **out)
{
    transforming p;
    ND_OUT(t->name, 2, out, NULL);
    return nd__into_new(&p.of, start(t, a, opts, &p), out);
}

static nd_status into(const transform *t, const nd_array *a, const nd_fft_opts *opts,
                      const nd_array *dst)
{
    transforming p;
    return nd__into(&p.of, start(t, a, opts, &p), dst, 2);
}

#define TRANSFORM(public, op, inverse, many)                                                      \
    static const transform t_##public = {#public, ND_OP_##op, inverse, many};                     \
    nd_status nd_##public(const nd_array *a, const nd_fft_opts *opts, nd_array **out)             \
    {                                                                                             \
        return into_new(&t_##public, a, opts, out);                                               \
    }                                                                                             \
    nd_status nd_##public##_into(const nd_array *a, const nd_fft_opts *opts, const nd_array *dst) \
    {                                                                                             \
        return into(&t_##public, a, opts, dst);                                                   \
    }
TRANSFORM(fft, fft, false, false)
TRANSFORM(ifft, fft, true, false)
TRANSFORM(rfft, fft_r2c, false, false)
TRANSFORM(irfft, fft_c2r, true, false)
TRANSFORM(hfft, fft_c2r, false, false)
TRANSFORM(ihfft, fft_r2c, true, false)
TRANSFORM(fftn, fft, false, true)
TRANSFORM(ifftn, fft, true, true)
TRANSFORM(rfftn, fft_r2c, false, true)
TRANSFORM(irfftn, fft_c2r, true, true)
