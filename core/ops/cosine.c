/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Transforms by cosines and sines, made of real Fourier transforms of the same length where there
 * is one: type 2 after Makhoul (A fast cosine transform in one and two dimensions, IEEE Trans. ASSP
 * 28, 1980), type 3 backwards, type 4 of an even length by a complex one of half of it, type 1 by
 * the even or odd continuation. Those by sines are those by cosines of other signs or in another
 * order. */
#include <math.h>
#include "core/ops/turns.h"

typedef struct {
    const char *name;
    bool sines, inverse;
} kind;

/* One axis of a call, which is the last one. */
typedef struct {
    nd_steps s;
    int64_t n;
    int type, last;
    bool sines, orthogonal;
    double scale;
} axis;

enum { NEAR = 1 << 17 }; /* bytes of which the steps' arrays stay in a cache */

static const double half_root = 0.70710678118654752440;

static nd_array *part(axis *x, const nd_array *a, int64_t start, int64_t stop, int64_t step)
{
    return nd__step_part(&x->s, a, x->last, start, stop, step);
}

/* Elements first down to last, by -step. */
static nd_array *backwards(axis *x, const nd_array *a, int64_t first, int64_t last, int64_t step)
{
    return part(x, a, first, last - step < 0 ? ND_END_OPEN : last - step, -step);
}

static nd_array *joined(axis *x, int n, const nd_array *const *parts)
{
    nd_array *r;
    ND_STEP(&x->s, r, nd_concat(n, parts, x->last, &r));
    return r;
}

/* Of a's shape but for its last extent. */
static nd_array *empty(axis *x, const nd_array *a, int64_t n, nd_dtype dtype)
{
    int64_t shape[ND_MAX_NDIM];
    nd_array *r = NULL;
    if (x->s.status != ND_OK)
        return NULL;
    memcpy(shape, a->shape, (size_t)a->ndim * sizeof *shape);
    shape[x->last] = n;
    ND_STEP(&x->s, r, nd_empty(a->storage->device, dtype, a->ndim, shape, &r));
    return r;
}

static nd_array *zeros(axis *x, const nd_array *a, int64_t n)
{
    nd_array *r = x->s.status == ND_OK ? empty(x, a, n, a->dtype) : NULL;
    ND_STEP_DO(&x->s, nd_fill(r, nd_int(0)));
    return r;
}

/* Multiplies elements of a dense array of the steps' own. */
static void multiply(axis *x, const nd_array *a, int64_t start, int64_t stop, int64_t step,
                     double by)
{
    nd_array *some = part(x, a, start, stop, step);
    ND_STEP_DO(&x->s, nd_multiply_scalar_into(some, nd_float(by), some));
}

/* An elementwise operation into a part of what becomes the result. */
static void put(axis *x, nd_op op, const nd_array *a, const nd_array *to)
{
    const nd_arg args[1] = {nd_array_arg(a)};
    ND_STEP_DO(&x->s, nd_apply_into(op, args, 1, NULL, to));
}

static void copy(axis *x, const nd_array *a, const nd_array *to)
{
    ND_STEP_DO(&x->s, nd__copy_into(a, to));
}

/* factor * exp(i * turn * (first + k*step) * pi), k < count, of the precision of a. */
static nd_array *turns(axis *x, const nd_array *a, int64_t count, double turn, double first,
                       double step, double factor)
{
    return nd__step_turns(&x->s, a, count, turn * first, turn * step, factor);
}

static nd_array *transform(axis *x,
                           nd_status (*f)(const nd_array *, const nd_fft_opts *, nd_array **),
                           const nd_array *a, int64_t n, int32_t norm)
{
    const int32_t axes[1] = {x->last};
    const nd_fft_opts opts = {
        .size = sizeof opts, .axes = axes, .lengths = &n, .naxes = 1, .norm = norm};
    nd_array *r;
    ND_STEP(&x->s, r, f(a, &opts, &r));
    return r;
}

/* ---- by cosines ---- */

/* A copy, or for sines the same with the other sign. */
static void put_signed(axis *x, const nd_array *a, const nd_array *to)
{
    if (x->sines)
        put(x, ND_OP_negative, a, to);
    else
        copy(x, a, to);
}

/* Every second element, and then the others backwards; for sines these with the other sign. */
static nd_array *every_second(axis *x, const nd_array *a)
{
    const int64_t n = x->n, half = (n + 1) / 2;
    nd_array *r = empty(x, a, n, a->dtype);
    copy(x, part(x, a, 0, ND_END_OPEN, 2), part(x, r, 0, half, 1));
    if (n == 1)
        return r;
    put_signed(x, backwards(x, a, n - 1 - n % 2, 1, 2), part(x, r, half, n, 1));
    return r;
}

/* Steps from a to the result r, with the factors t that elements are turned by. */
typedef void steps_of(axis *x, const nd_array *a, nd_array *const *t, const nd_array *r);

/* Of a on the host, some rows are taken through all the steps while they are in a cache. */
static nd_array *by_rows(axis *x, const nd_array *a, nd_array *const *t, steps_of *f)
{
    if (x->s.status != ND_OK)
        return NULL;
    nd_array *r = empty(x, a, x->n, a->dtype);
    if (x->s.status != ND_OK)
        return NULL;
    const int64_t rows = x->last > 0 && a->size > 0 ? a->shape[0] : 1;
    const int64_t nbytes = a->size / rows * nd__itemsize(a->dtype);
    int64_t block = a->storage->device->async || nbytes > NEAR ? rows : NEAR / nbytes;
    if (block >= rows) {
        f(x, a, t, r);
        return r;
    }
    block = (rows + (rows - 1) / block) / ((rows - 1) / block + 1); /* all of about one size */
    for (int64_t from = 0; x->s.status == ND_OK && from < rows; from += block) {
        const int64_t to = from + block < rows ? from + block : rows;
        axis own = *x;
        own.s = (nd_steps){ND_OK};
        f(&own, nd__step_part(&own.s, a, 0, from, to, 1), t,
          nd__step_part(&own.s, r, 0, from, to, 1));
        x->s.status = nd__steps_end(&own.s, "dct", NULL, NULL);
    }
    return r;
}

/* By the inverse transform v of every second element, and then the others backwards: with w = 2 v[k]
 * exp(i pi k/(2n)), element k is the real part of w, and n - k the imaginary one. Sines have them
 * backwards. t: the factors of v; r: the result. */
static void type2_of(axis *x, const nd_array *a, nd_array *const *t, const nd_array *r)
{
    const int64_t n = x->n, others = (n - 1) / 2;
    nd_array *w = transform(x, nd_ihfft, every_second(x, a), n, ND_FFT_FORWARD);
    ND_STEP_DO(&x->s, nd_multiply_into(w, t[0], w));
    const nd_array *to = x->sines ? backwards(x, r, n - 1, 0, 1) : r;
    copy(x, nd__step_parts(&x->s, w, 0), part(x, to, 0, n / 2 + 1, 1));
    if (others > 0)
        copy(x, backwards(x, nd__step_parts(&x->s, w, 1), others, 1, 1),
             part(x, to, n / 2 + 1, n, 1));
    if (x->orthogonal)
        multiply(x, to, 0, 1, 1, half_root);
}

static nd_array *type2(axis *x, const nd_array *a)
{
    nd_array *t = turns(x, a, x->n / 2 + 1, 0.5 / (double)x->n, 0, 1, 2 * x->scale);
    return by_rows(x, a, &t, type2_of);
}

/* The same backwards, with conjugates: element k of the transform is a[k] + i a[n-k] times
 * conj(t[k]), so that nothing changes its sign before it and v runs the other way. Of sines every
 * second element has the other sign. */
static void type3_of(axis *x, const nd_array *a, nd_array *const *t, const nd_array *r)
{
    const int64_t n = x->n, half = n / 2 + 1, even = (n + 1) / 2;
    nd_array *z = empty(x, a, half, a->dtype == ND_F32 ? ND_C64 : ND_C128);
    nd_array *im = nd__step_parts(&x->s, z, 1), *none = part(x, im, 0, 1, 1);
    ND_STEP_DO(&x->s, nd_fill(none, nd_float(0)));
    if (half > 1)
        copy(x, backwards(x, a, n - 1, n - half + 1, 1), part(x, im, 1, half, 1));
    copy(x, part(x, a, 0, half, 1), nd__step_parts(&x->s, z, 0));
    ND_STEP_DO(&x->s, nd_multiply_into(z, t[0], z));
    nd_array *v = transform(x, nd_irfft, z, n, ND_FFT_FORWARD);
    copy(x, part(x, v, 0, 1, 1), part(x, r, 0, 1, 1));
    if (even > 1)
        copy(x, backwards(x, v, n - 1, n - even + 1, 1), part(x, r, 2, ND_END_OPEN, 2));
    if (n > 1)
        put_signed(x, part(x, v, 1, n - even + 1, 1), part(x, r, 1, ND_END_OPEN, 2));
}

static nd_array *type3(axis *x, const nd_array *a)
{
    nd_array *t = turns(x, a, x->n / 2 + 1, -0.5 / (double)x->n, 0, 1, x->scale);
    return by_rows(x, a, &t, type3_of);
}

/* Of an even n: of z[j] = (x[2j] + i x[n-1-2j]) exp(-i pi (4j+1)/(4n)) the transform, times
 * 2 exp(-i pi k/n), has element 2k as its real part and minus n-1-2k as its imaginary one; of sines,
 * it has the latter's own sign. Taken is i conj(z), whose parts are exchanged, and transformed back:
 * that gives i times the conjugate, which the last factors turn into the conjugate for cosines. */
static void type4_of(axis *x, const nd_array *a, nd_array *const *t, const nd_array *r)
{
    const int64_t n = x->n, half = n / 2;
    nd_array *z = empty(x, a, half, a->dtype == ND_F32 ? ND_C64 : ND_C128);
    copy(x, part(x, a, 0, ND_END_OPEN, 2), nd__step_parts(&x->s, z, 1));
    copy(x, backwards(x, a, n - 1, 1, 2), nd__step_parts(&x->s, z, 0));
    ND_STEP_DO(&x->s, nd_multiply_into(z, t[0], z));
    z = transform(x, nd_ifft, z, half, ND_FFT_FORWARD);
    ND_STEP_DO(&x->s, nd_multiply_into(z, t[1], z));
    copy(x, nd__step_parts(&x->s, z, x->sines), part(x, r, 0, ND_END_OPEN, 2));
    copy(x, nd__step_parts(&x->s, z, !x->sines), backwards(x, r, n - 1, 1, 2));
}

static nd_array *type4_even(axis *x, const nd_array *a)
{
    const double n = (double)x->n;
    nd_array *t[2];
    t[0] = turns(x, a, x->n / 2, 0.25 / n, 1, 4, 1);
    t[1] = nd__step_turns(&x->s, a, x->n / 2, x->sines ? 0 : -0.5, 1 / n, 2 * x->scale);
    return by_rows(x, a, t, type4_of);
}

/* Of any n, by a transform of 2n elements: 2 exp(-i pi (2k+1)/(4n)) times that of
 * x[j] exp(-i pi j/(2n)) has the result as its real part. */
static nd_array *type4(axis *x, const nd_array *a)
{
    const int64_t n = x->n;
    if (n % 2 == 0)
        return type4_even(x, a);
    nd_array *z = nd__step2(&x->s, ND_OP_multiply, a, turns(x, a, n, -0.5 / (double)n, 0, 1, 1));
    z = part(x, transform(x, nd_fft, z, 2 * n, ND_FFT_BACKWARD), 0, n, 1);
    z = nd__step2(&x->s, ND_OP_multiply, z, turns(x, a, n, -0.25 / (double)n, 1, 2, 2 * x->scale));
    return nd__step1(&x->s, ND_OP_real, z);
}

/* By the even continuation. */
static nd_array *type1(axis *x, const nd_array *a)
{
    const int64_t n = x->n;
    const nd_array *all[2] = {a, n > 2 ? backwards(x, a, n - 2, 1, 1) : NULL};
    nd_array *v = n > 2 ? joined(x, 2, all) : (nd_array *)(uintptr_t)a;
    v = transform(x, nd_rfft, v, 2 * n - 2, ND_FFT_BACKWARD);
    v = nd__step1(&x->s, ND_OP_real, v);
    return x->scale == 1 ? v : nd__step_scalar(&x->s, ND_OP_multiply, v, nd_float(x->scale));
}

/* By sines, by the odd continuation: minus the imaginary parts of elements 1 to n. */
static nd_array *type1_sines(axis *x, const nd_array *a)
{
    const int64_t n = x->n;
    nd_array *zero = zeros(x, a, 1), *turned = backwards(x, a, n - 1, 0, 1);
    const nd_array *all[4] = {zero, a, zero, nd__step1(&x->s, ND_OP_negative, turned)};
    nd_array *v = transform(x, nd_rfft, joined(x, 4, all), 2 * n + 2, ND_FFT_BACKWARD);
    v = nd__step1(&x->s, ND_OP_imag, part(x, v, 1, n + 1, 1));
    return nd__step_scalar(&x->s, ND_OP_multiply, v, nd_float(-x->scale));
}

/* ---- one axis ---- */

/* Before cosines: all backwards (types 3, 4); and the elements that orthogonality wants to be
 * more. */
static nd_array *prepared(axis *x, const nd_array *a)
{
    const bool more = x->orthogonal && (x->type == 3 || (x->type == 1 && !x->sines));
    if (x->sines && x->type > 2)
        a = backwards(x, a, x->n - 1, 0, 1);
    if (!more)
        return (nd_array *)(uintptr_t)a;
    nd_array *own = nd__step_copy(&x->s, a);
    multiply(x, own, 0, 1, 1, 1 / half_root);
    if (x->type == 1)
        multiply(x, own, x->n - 1, x->n, 1, 1 / half_root);
    return own;
}

/* After them. */
static nd_array *completed(axis *x, nd_array *r)
{
    if (x->orthogonal && x->type == 1 && !x->sines) {
        multiply(x, r, 0, 1, 1, half_root);
        multiply(x, r, x->n - 1, x->n, 1, half_root);
    }
    if (x->sines && x->type == 4 && x->n > 1 && x->n % 2 == 1) /* the others have their signs */
        multiply(x, r, 1, ND_END_OPEN, 2, -1);
    return r;
}

static nd_array *run_axis(axis *x, const nd_array *a)
{
    nd_array *from = prepared(x, a);
    if (x->type == 1)
        return completed(x, x->sines ? type1_sines(x, from) : type1(x, from));
    return completed(x, x->type == 2   ? type2(x, from)
                        : x->type == 3 ? type3(x, from)
                                       : type4(x, from));
}

/* a with n elements along the last axis. */
static const nd_array *fitted(axis *x, const nd_array *a, int64_t before)
{
    if (x->n < before)
        return part(x, a, 0, x->n, 1);
    if (x->n == before)
        return a;
    const nd_array *both[2] = {a, zeros(x, a, x->n - before)};
    return joined(x, 2, both);
}

static void choose_scale(axis *x, bool inverse, int32_t norm)
{
    const double n = (double)x->n;
    const double m = x->type > 1 ? 2 * n : x->sines ? 2 * n + 2 : 2 * n - 2;
    x->scale = norm == ND_FFT_ORTHO                                   ? sqrt(1 / m)
               : norm == (inverse ? ND_FFT_BACKWARD : ND_FFT_FORWARD) ? 1 / m
                                                                      : 1;
}

static nd_status along(const kind *k, const nd_dct_opts *o, int i, nd_array *a, nd_array **out)
{
    const int d = o->axes ? (o->axes[i] < 0 ? o->axes[i] + a->ndim : o->axes[i]) : a->ndim - 1;
    axis x = {.type = o->type, .last = a->ndim - 1, .sines = k->sines};
    x.n = o->lengths && o->lengths[i] != -1 ? o->lengths[i] : a->shape[d];
    if (x.n < 1 || (x.type == 1 && !k->sines && x.n < 2))
        return nd__fail(x.n == a->shape[d] ? ND_ERR_SHAPE : ND_ERR_ARGUMENT, k->name,
                        x.n == a->shape[d] ? 0 : 1,
                        "%lld elements along axis %d; type %d is of at least %d", (long long)x.n, d,
                        x.type, x.type == 1 && !k->sines ? 2 : 1);
    if (k->inverse && (x.type == 2 || x.type == 3))
        x.type = 5 - x.type;
    x.orthogonal = o->orthogonalize ? o->orthogonalize > 0 : o->norm == ND_FFT_ORTHO;
    choose_scale(&x, k->inverse, o->norm);
    ND_RETURN_IF(nd__steps_begin(&x.s, k->name, a, NULL));
    const nd_array *from = nd__step_moveaxis(&x.s, a, d, x.last);
    from = fitted(&x, from, a->shape[d]);
    nd_array *r = a->size || x.n != a->shape[d] ? run_axis(&x, from) : zeros(&x, from, x.n);
    r = nd__step_moveaxis(&x.s, r, x.last, d);
    return nd__steps_end(&x.s, k->name, r, out);
}

/* ---- calls ---- */

static nd_status real_transform(const kind *k, const nd_dct_opts *o, const nd_array *a,
                                nd_array **out)
{
    const nd_dtype dtype =
        a->dtype == ND_F16 || a->dtype == ND_BF16 || a->dtype == ND_F32 ? ND_F32 : ND_F64;
    const int naxes = o->naxes ? o->naxes : 1;
    nd_array *r = NULL, *next;
    nd_status status = nd__cast(a, dtype, &r);
    for (int i = 0; i < naxes && status == ND_OK; i++) {
        status = along(k, o, i, r, &next);
        if (status == ND_OK) {
            nd_release(r);
            r = next;
        }
    }
    if (status == ND_OK && nd__is_c_order(r->ndim, r->shape, r->stride) && r->storage != a->storage)
        *out = nd_retain(r);
    else if (status == ND_OK)
        status = nd_copy(r, NULL, out);
    nd_release(r);
    return status;
}

/* Parts of complex numbers, each for itself. */
static nd_status complex_transform(const kind *k, const nd_dct_opts *o, const nd_array *a,
                                   nd_array **out)
{
    nd_array *part[2] = {NULL, NULL}, *moved[2] = {NULL, NULL}, *turned = NULL;
    nd_status status;
    ND_GOTO_IF(done, nd_real(a, &part[0]));
    ND_GOTO_IF(done, nd_imag(a, &part[1]));
    for (int i = 0; i < 2; i++)
        ND_GOTO_IF(done, real_transform(k, o, part[i], &moved[i]));
    ND_GOTO_IF(done, nd__cast(moved[1], a->dtype, &turned));
    ND_GOTO_IF(done, nd_multiply_scalar_into(turned, nd_complex(0, 1), turned));
    ND_GOTO_IF(done, nd_add(turned, moved[0], out));
done:
    for (int i = 0; i < 2; i++) {
        nd_release(part[i]);
        nd_release(moved[i]);
    }
    nd_release(turned);
    return status;
}

static nd_status check(const kind *k, const nd_array *a, nd_dct_opts *o)
{
    uint64_t mask;
    o->type = o->type ? o->type : 2;
    if (o->type < 1 || o->type > 4)
        return nd__fail(ND_ERR_ARGUMENT, k->name, 1, "type %d; they are 1 to 4", o->type);
    if (o->norm < ND_FFT_BACKWARD || o->norm > ND_FFT_ORTHO)
        return nd__fail(ND_ERR_ARGUMENT, k->name, 1,
                        "norm %d is none of ND_FFT_BACKWARD, _FORWARD and _ORTHO (0 to 2)",
                        o->norm);
    if (a->ndim == 0)
        return nd__fail(ND_ERR_SHAPE, k->name, 0,
                        "an array without axes has none to transform along");
    if (o->naxes < 0 || (o->naxes == 0) != (!o->axes && !o->lengths) || (o->naxes > 1 && !o->axes))
        return nd__fail(ND_ERR_ARGUMENT, k->name, 1,
                        "naxes is %d; it is how many axes there are, and lengths", o->naxes);
    return o->axes ? nd__axes_mask(k->name, o->naxes, o->axes, a->ndim, &mask) : ND_OK;
}

static nd_status run(const kind *k, const nd_array *a, const nd_dct_opts *opts, nd_array **out)
{
    nd_dct_opts o;
    nd_steps s;
    ND_OUT(k->name, 2, out, NULL);
    ND_RETURN_IF(nd__check_array(k->name, a, 0));
    ND_RETURN_IF(nd__read_options(k->name, opts, &o, sizeof o, NDP_END(nd_dct_opts, type)));
    ND_RETURN_IF(check(k, a, &o));
    ND_RETURN_IF(nd__steps_begin(&s, k->name, a, opts));
    nd_array *r = NULL;
    ND_STEP(&s, r,
            nd__kind(a->dtype) == ND_KIND_COMPLEX ? complex_transform(k, &o, a, &r)
                                                  : real_transform(k, &o, a, &r));
    return nd__steps_end(&s, k->name, r, out);
}

#define TRANSFORM(public, sines, inverse)                                             \
    nd_status nd_##public(const nd_array *a, const nd_dct_opts *opts, nd_array **out) \
    {                                                                                 \
        static const kind k = {#public, sines, inverse};                              \
        return run(&k, a, opts, out);                                                 \
    }
TRANSFORM(dct, false, false)
TRANSFORM(idct, false, true)
TRANSFORM(dst, true, false)
TRANSFORM(idst, true, true)
