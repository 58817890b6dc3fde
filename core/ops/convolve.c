/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Convolution and correlation of arrays of any rank, by the sums as they stand or by Fourier
 * transforms, whichever has less to do. */
#include <math.h>
#include "core/ops/steps.h"

typedef struct {
    nd_steps s;
    const char *name;
    nd_convolve_opts o;
    const nd_array *a, *b; /* as they are given; b turned and conjugated for a correlation */
    nd_dtype common, compute, result;
    int ndim;
    int64_t full[ND_MAX_NDIM];                      /* extents of all terms */
    int64_t first[ND_MAX_NDIM], shape[ND_MAX_NDIM]; /* of which these are wanted */
    bool fourier;
} convolving;

/* ---- what is wanted ---- */

static nd_status check(convolving *c)
{
    const nd_array *a = c->a, *b = c->b;
    bool shorter = false, longer = false;
    if (c->o.mode < ND_CONVOLVE_FULL || c->o.mode > ND_CONVOLVE_VALID)
        return nd__fail(ND_ERR_ARGUMENT, c->name, 2,
                        "mode %d is none of ND_CONVOLVE_FULL, _SAME and _VALID (0 to 2)",
                        c->o.mode);
    if (c->o.method < ND_CONVOLVE_AUTO || c->o.method > ND_CONVOLVE_FFT)
        return nd__fail(ND_ERR_ARGUMENT, c->name, 2,
                        "method %d is none of ND_CONVOLVE_AUTO, _DIRECT and _FFT (0 to 2)",
                        c->o.method);
    if (a->ndim != b->ndim || a->ndim == 0)
        return nd__fail(ND_ERR_SHAPE, c->name, 1,
                        "ranks %d and %d; they must be equal, and at least 1", a->ndim, b->ndim);
    for (int d = 0; d < a->ndim; d++) {
        if (a->shape[d] == 0 || b->shape[d] == 0)
            return nd__fail(ND_ERR_SHAPE, c->name, a->shape[d] == 0 ? 0 : 1,
                            "axis %d has no elements; there must be at least one", d);
        shorter |= a->shape[d] < b->shape[d];
        longer |= a->shape[d] > b->shape[d];
    }
    if (c->o.mode == ND_CONVOLVE_VALID && shorter && longer)
        return nd__fail(ND_ERR_SHAPE, c->name, 1,
                        "without terms that are missing (valid) one operand is no shorter than the "
                        "other along any axis");
    return ND_OK;
}

static void choose_extents(convolving *c)
{
    for (int d = 0; d < c->ndim; d++) {
        const int64_t n = c->a->shape[d], m = c->b->shape[d], least = n < m ? n : m;
        c->full[d] = n + m - 1;
        c->shape[d] = c->o.mode == ND_CONVOLVE_FULL   ? c->full[d]
                      : c->o.mode == ND_CONVOLVE_SAME ? n
                                                      : c->full[d] - 2 * (least - 1);
        c->first[d] = (c->full[d] - c->shape[d]) / 2;
    }
}

static nd_status choose_dtypes(convolving *c)
{
    ND_RETURN_IF(nd__promote(c->name, c->a->dtype, c->b->dtype, &c->common));
    c->compute = c->result = c->common;
    if (c->fourier)
        c->compute = c->result = nd__floating_of(c->common);
    if (nd__itemsize(c->compute) == 2 && nd__kind(c->compute) == ND_KIND_FLOAT)
        c->compute = ND_F32;
    return ND_OK;
}

/* ---- operations are counted: nanoseconds on one thread of an ordinary CPU, of which the ratio
 * matters ---- */

static int64_t product(int n, const int64_t *extent)
{
    int64_t size = 1;
    for (int d = 0; d < n; d++)
        size *= extent[d];
    return size;
}

/* The least number from n on that is made of 2, 3 and 5. */
static int64_t convenient(int64_t n)
{
    for (;; n++) {
        int64_t left = n;
        for (int p = 2; p <= 5; p++)
            while (left % p == 0)
                left /= p;
        if (left == 1)
            return n;
    }
}

static bool prefers_fourier(const convolving *c)
{
    const double call = 10000, term = 1, element = 6;
    const double taps = (double)(c->a->size < c->b->size ? c->a->size : c->b->size);
    double all = 1;
    for (int d = 0; d < c->ndim; d++)
        all *= (double)convenient(c->full[d]);
    const double direct = taps * (2 * call + 2 * term * (double)product(c->ndim, c->shape));
    return direct > 6 * call + element * all * log2(all + 1);
}

static nd_status choose_method(convolving *c)
{
    nd_dtype common;
    ND_RETURN_IF(nd__promote(c->name, c->a->dtype, c->b->dtype, &common));
    const bool exact = !(nd__kind(common) & (ND_KIND_FLOAT | ND_KIND_COMPLEX));
    c->fourier = c->o.method == ND_CONVOLVE_FFT ||
                 (c->o.method == ND_CONVOLVE_AUTO && !exact && prefers_fourier(c));
    return ND_OK;
}

/* ---- sums as they stand: of one operand, continued with zeros, times each number of the other
 * ---- */

/* a with m - 1 zeros on both sides of each axis; of what is wanted alone where nothing is missing. */
static nd_array *surrounded(convolving *c, const nd_array *a, const nd_array *b)
{
    int64_t before[ND_MAX_NDIM];
    nd_array *r;
    for (int d = 0; d < c->ndim; d++)
        before[d] = b->shape[d] - 1;
    ND_STEP(&c->s, r, nd_pad(a, before, before, ND_PAD_CONSTANT, nd_int(0), &r));
    return r;
}

/* The part of it that b's element `at` is multiplied with, and that element. */
static nd_status term(const convolving *c, const nd_array *around, const nd_array *b, int64_t at,
                      nd_array **out)
{
    nd_index part[ND_MAX_NDIM], one[ND_MAX_NDIM];
    nd_array *x = NULL, *y = NULL;
    nd_status status;
    for (int d = c->ndim - 1; d >= 0; d--) {
        const int64_t j = at % b->shape[d], first = c->first[d] + b->shape[d] - 1 - j;
        at /= b->shape[d];
        part[d] = nd_range(first, first + c->shape[d], 1);
        one[d] = nd_range(j, j + 1, 1);
    }
    ND_GOTO_IF(done, nd_slice(around, part, c->ndim, &x));
    ND_GOTO_IF(done, nd_slice(b, one, c->ndim, &y));
    ND_GOTO_IF(done, nd_multiply(x, y, out));
done:
    nd_release(x);
    nd_release(y);
    return status;
}

static nd_array *sums(convolving *c)
{
    const nd_array *a = nd__step_cast(&c->s, c->a, c->compute);
    const nd_array *b = nd__step_cast(&c->s, c->b, c->compute);
    if (c->s.status != ND_OK)
        return NULL;
    const nd_array *many = a->size < b->size ? b : a, *few = a->size < b->size ? a : b;
    const nd_array *around = surrounded(c, many, few);
    nd_array *r;
    ND_STEP(&c->s, r, term(c, around, few, 0, &r));
    for (int64_t at = 1; at < few->size && c->s.status == ND_OK; at++) {
        nd_array *next = NULL;
        ND_STEP_DO(&c->s, term(c, around, few, at, &next));
        if (c->common == ND_BOOL)
            ND_STEP_DO(&c->s, nd_logical_or_into(r, next, r));
        else
            ND_STEP_DO(&c->s, nd_add_into(r, next, r));
        nd_release(next);
    }
    return r;
}

/* ---- by Fourier transforms ---- */

static nd_array *transform(convolving *c,
                           nd_status (*f)(const nd_array *, const nd_fft_opts *, nd_array **),
                           const nd_array *a, const int64_t *lengths)
{
    int32_t axes[ND_MAX_NDIM];
    for (int d = 0; d < c->ndim; d++)
        axes[d] = d;
    const nd_fft_opts opts = {
        .size = sizeof opts, .axes = axes, .lengths = lengths, .naxes = c->ndim};
    nd_array *r;
    ND_STEP(&c->s, r, f(a, &opts, &r));
    return r;
}

static nd_array *products(convolving *c)
{
    const bool real = nd__kind(c->compute) == ND_KIND_FLOAT;
    int64_t lengths[ND_MAX_NDIM];
    nd_index part[ND_MAX_NDIM];
    for (int d = 0; d < c->ndim; d++) {
        lengths[d] = convenient(c->full[d]);
        part[d] = nd_range(c->first[d], c->first[d] + c->shape[d], 1);
    }
    nd_array *x = nd__step_cast(&c->s, c->a, c->compute);
    nd_array *y = nd__step_cast(&c->s, c->b, c->compute);
    x = transform(c, real ? nd_rfftn : nd_fftn, x, lengths);
    y = transform(c, real ? nd_rfftn : nd_fftn, y, lengths);
    nd_array *r = nd__step2(&c->s, ND_OP_multiply, x, y), *wanted;
    r = transform(c, real ? nd_irfftn : nd_ifftn, r, lengths);
    ND_STEP(&c->s, wanted, nd_slice(r, part, c->ndim, &wanted));
    return nd__step_copy(&c->s, wanted);
}

/* ---- calls ---- */

/* b backwards along every axis, conjugated. */
static const nd_array *turned(convolving *c, const nd_array *b)
{
    nd_array *r;
    ND_STEP(&c->s, r, nd_flip(b, 0, NULL, &r));
    return nd__kind(b->dtype) == ND_KIND_COMPLEX ? nd__step1(&c->s, ND_OP_conj, r) : r;
}

static nd_status run(const char *name, const nd_array *a, const nd_array *b, bool turn,
                     const nd_convolve_opts *opts, nd_array **out)
{
    convolving c = {.name = name, .a = a, .b = b};
    ND_OUT(name, 3, out, NULL);
    ND_RETURN_IF(nd__check_array(name, a, 0));
    ND_RETURN_IF(nd__check_array(name, b, 1));
    ND_RETURN_IF(nd__read_options(name, opts, &c.o, sizeof c.o, NDP_END(nd_convolve_opts, mode)));
    ND_RETURN_IF(check(&c));
    c.ndim = a->ndim;
    choose_extents(&c);
    ND_RETURN_IF(choose_method(&c));
    ND_RETURN_IF(choose_dtypes(&c));
    ND_RETURN_IF(nd__steps_begin(&c.s, name, a, opts));
    if (turn)
        c.b = turned(&c, b);
    nd_array *r = c.fourier ? products(&c) : sums(&c);
    r = nd__step_cast(&c.s, r, c.result);
    return nd__steps_end(&c.s, name, r, out);
}

nd_status nd_convolve(const nd_array *a, const nd_array *b, const nd_convolve_opts *opts,
                      nd_array **out)
{
    return run("convolve", a, b, false, opts, out);
}

nd_status nd_correlate(const nd_array *a, const nd_array *b, const nd_convolve_opts *opts,
                       nd_array **out)
{
    return run("correlate", a, b, true, opts, out);
}
