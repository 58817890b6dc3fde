/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Conformance: Fourier transforms over any axes and lengths, forward and back, complex and real.
 *
 * Expected values are the sums of the definition in long double, one axis after the other. The
 * error's root mean square is within op.def's bound, with half a unit more for the scale, and no
 * element is off by more than eight times that of the mean, or of its own size. */
#include <float.h>
#include <math.h>
#include "tests/conform/conform.h"

typedef nd_status fresh_fn(const nd_array *, const nd_fft_opts *, nd_array **);
typedef nd_status into_fn(const nd_array *, const nd_fft_opts *, const nd_array *);
typedef struct {
    const char *name;
    nd_op op;
    fresh_fn *run;
    into_fn *into;
    bool inverse, many;
} function;
static const function functions[] = {
    {"fft", ND_OP_fft, nd_fft, nd_fft_into, false, false},
    {"ifft", ND_OP_fft, nd_ifft, nd_ifft_into, true, false},
    {"fftn", ND_OP_fft, nd_fftn, nd_fftn_into, false, true},
    {"ifftn", ND_OP_fft, nd_ifftn, nd_ifftn_into, true, true},
    {"rfft", ND_OP_fft_r2c, nd_rfft, nd_rfft_into, false, false},
    {"ihfft", ND_OP_fft_r2c, nd_ihfft, nd_ihfft_into, true, false},
    {"rfftn", ND_OP_fft_r2c, nd_rfftn, nd_rfftn_into, false, true},
    {"irfft", ND_OP_fft_c2r, nd_irfft, nd_irfft_into, true, false},
    {"hfft", ND_OP_fft_c2r, nd_hfft, nd_hfft_into, false, false},
    {"irfftn", ND_OP_fft_c2r, nd_irfftn, nd_irfftn_into, true, true},
};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

typedef struct {
    long double re, im;
} point;

typedef struct {
    const function *f;
    mirror in;
    nd_fft_opts opts;
    int32_t axes[CASE_NDIM];
    int64_t lengths[CASE_NDIM];
    int64_t extent[CASE_NDIM]; /* of the operand after it is cut or continued */
    int64_t shape[CASE_NDIM];  /* of the result */
    nd_dtype result;
    point *want;
    int64_t size; /* of the result */
    double n;     /* elements of a transform */
} trial;

static int64_t product(int ndim, const int64_t *shape)
{
    int64_t size = 1;
    for (int d = 0; d < ndim; d++)
        size *= shape[d];
    return size;
}

/* ---- the oracle ---- */

/* Element k of the sums along n elements, of which root has the n-th roots of unity. */
static point sum_of(const point *x, int64_t step, int64_t n, int64_t k, const point *root)
{
    point sum = {0, 0};
    for (int64_t j = 0, at = 0; j < n; j++, at = at + k < n ? at + k : at + k - n) {
        sum.re += x[j * step].re * root[at].re - x[j * step].im * root[at].im;
        sum.im += x[j * step].re * root[at].im + x[j * step].im * root[at].re;
    }
    return sum;
}

/* Along one axis of an array in C order, to another that has `out` elements there. */
static point *along(point *x, int ndim, const int64_t *shape, int axis, int64_t out, int sign)
{
    const long double turn = 6.283185307179586476925286766559L;
    const int64_t n = shape[axis], inner = product(ndim - axis - 1, shape + axis + 1);
    const int64_t outer = product(axis, shape);
    point *y = malloc((size_t)(outer * out * inner + n) * sizeof *y);
    point *root = y ? y + outer * out * inner : NULL;
    for (int64_t k = 0; y && k < n; k++) {
        const long double angle = turn * (long double)(sign * k) / (long double)n;
        root[k] = (point){cosl(angle), sinl(angle)};
    }
    for (int64_t o = 0; y && o < outer; o++)
        for (int64_t k = 0; k < out; k++)
            for (int64_t i = 0; i < inner; i++)
                y[(o * out + k) * inner + i] = sum_of(x + o * n * inner + i, inner, n, k, root);
    free(x);
    return y;
}

/* The operand with its new extents; what is beyond the old ones is zero. */
static point *operand(const trial *t)
{
    const int64_t size = product(t->in.ndim, t->extent);
    point *x = calloc((size_t)size + 1, sizeof *x);
    for (int64_t i = 0; x && i < size; i++) {
        int64_t rest = i, at = 0, step = 1;
        bool inside = true;
        for (int d = t->in.ndim - 1; d >= 0; d--) {
            inside &= rest % t->extent[d] < t->in.shape[d];
            at += rest % t->extent[d] * step;
            step *= t->in.shape[d];
            rest /= t->extent[d];
        }
        if (!inside)
            continue;
        cell c = mirror_cell(&t->in, t->in.ndim, t->in.shape, at);
        bool number = c.kind == ND_KIND_FLOAT || c.kind == ND_KIND_COMPLEX;
        x[i] = (point){number ? c.re : (long double)c.i, c.kind == ND_KIND_COMPLEX ? c.im : 0};
    }
    return x;
}

/* All n elements of an axis of which 0 to n/2 are there. */
static point *completed(point *x, int ndim, int64_t *shape, int axis, int64_t n)
{
    const int64_t half = shape[axis], inner = product(ndim - axis - 1, shape + axis + 1);
    const int64_t outer = product(axis, shape);
    point *y = malloc((size_t)(outer * n * inner + 1) * sizeof *y);
    for (int64_t o = 0; y && o < outer; o++)
        for (int64_t k = 0; k < n; k++)
            for (int64_t i = 0; i < inner; i++) {
                const bool mirrored = k > n / 2, alone = k == 0 || 2 * k == n;
                point p = x[(o * half + (mirrored ? n - k : k)) * inner + i];
                p.im = alone ? 0 : mirrored ? -p.im : p.im;
                y[(o * n + k) * inner + i] = p;
            }
    shape[axis] = n;
    free(x);
    return y;
}

static int axis_of(const trial *t, int i)
{
    return t->axes[i] < 0 ? t->axes[i] + t->in.ndim : t->axes[i];
}

static bool expect(trial *t)
{
    const int sign = t->f->inverse ? 1 : -1, n = t->opts.naxes, last = axis_of(t, n - 1);
    int64_t shape[CASE_NDIM];
    point *x = operand(t);
    memcpy(shape, t->extent, sizeof shape);
    for (int i = 0; i < n - 1 && x; i++)
        x = along(x, t->in.ndim, shape, axis_of(t, i), shape[axis_of(t, i)], sign);
    if (t->f->op == ND_OP_fft_c2r && x)
        x = completed(x, t->in.ndim, shape, last, t->shape[last]);
    if (x)
        x = along(x, t->in.ndim, shape, last, t->shape[last], sign);
    const bool by_all = t->opts.norm == (t->f->inverse ? ND_FFT_BACKWARD : ND_FFT_FORWARD);
    const long double scale = t->opts.norm == ND_FFT_ORTHO ? 1 / sqrtl((long double)t->n)
                              : by_all                     ? 1 / (long double)t->n
                                                           : 1;
    for (int64_t i = 0; x && i < t->size; i++)
        x[i] = (point){x[i].re * scale, x[i].im * scale};
    t->want = x;
    return x != NULL;
}

/* ---- checks ---- */

static int64_t largest_prime_factor(int64_t n)
{
    int64_t p = 2;
    while (p * p <= n)
        if (n % p == 0)
            n /= p;
        else
            p++;
    return n;
}

/* Of eps*sqrt(log2 n), as op.def has it: three transforms make a convolution of a long prime. */
static long double allowed(const trial *t)
{
    for (int i = 0; i < t->opts.naxes; i++) {
        const int axis = axis_of(t, i);
        const int64_t *lengths = t->f->op == ND_OP_fft_c2r ? t->shape : t->extent;
        if (largest_prime_factor(lengths[axis]) > 127)
            return 1.0L;
    }
    return 0.6L;
}

static void check_elements(const trial *t, const char *data, nd_dtype dtype)
{
    const bool single = t->result == ND_F32 || t->result == ND_C64;
    const long double eps = single ? FLT_EPSILON : DBL_EPSILON;
    long double error = 0, all = 0;
    char text[2][128];
    for (int64_t i = 0; i < t->size; i++)
        all += t->want[i].re * t->want[i].re + t->want[i].im * t->want[i].im;
    const double stages = sqrt(log2(t->n > 2 ? t->n : 2));
    const long double rms = sqrtl(all / (long double)t->size);
    const long double bound = (allowed(t) * stages + 0.5L) * eps * rms;
    for (int64_t i = 0; i < t->size && !failing(); i++) {
        cell got = cell_read(dtype, data + (size_t)i * nd_dtype_size(dtype));
        const long double re = got.re - t->want[i].re;
        const long double im = got.kind == ND_KIND_COMPLEX ? got.im - t->want[i].im : 0;
        error += re * re + im * im;
        const long double size = hypotl(t->want[i].re, t->want[i].im);
        if (!(hypotl(re, im) <= 8 * fmaxl(bound, bound / rms * size)))
            fail_case("%s of %g elements: element %lld is %s, not %s (norm %d)", t->f->name, t->n,
                      (long long)i, cell_text(got, text[0]),
                      cell_text(got.kind == ND_KIND_COMPLEX
                                    ? cell_complex(t->want[i].re, t->want[i].im)
                                    : cell_real(t->want[i].re),
                                text[1]),
                      t->opts.norm);
    }
    error = sqrtl(error / (long double)t->size);
    if (t->size >= 64 && !(error <= bound))
        fail_case("%s of %g elements: the error's root mean square is %.2Lf of eps*sqrt(log2 n), "
                  "above %.1Lf",
                  t->f->name, t->n, error / rms / eps / stages, allowed(t));
}

static void check_result(const trial *t, const nd_array *r)
{
    char *data = fetch(r);
    if (data && t->size)
        check_elements(t, data, nd_dtype_of(r));
    free(data);
}

/* A transform, that of complex to real numbers too, leaves its operand as it is. */
static void check_operand(const trial *t)
{
    char *now = fetch(t->in.array);
    const size_t item = nd_dtype_size(t->in.dtype);
    for (int64_t i = 0; now && i < t->in.size; i++)
        if (memcmp(now + (size_t)i * item, mirror_at(&t->in, t->in.ndim, t->in.shape, i), item) !=
            0) {
            fail_case("%s changed element %lld of its operand", t->f->name, (long long)i);
            break;
        }
    free(now);
}

static void check_into(const trial *t)
{
    const view_wish wish = {.writable = true};
    mirror dst;
    nd_dtype wide = t->result == ND_F32 ? ND_F64 : t->result == ND_C64 ? ND_C128 : t->result;
    if (mirror_shaped(&dst, random_below(5) ? t->result : wide, t->in.ndim, t->shape, &wish) &&
        good(t->f->into(t->in.array, &t->opts, dst.array), "into")) {
        check_result(t, dst.array);
        if (!mirror_untouched(&dst))
            fail_case("%s_into wrote beside its destination", t->f->name);
    }
    mirror_release(&dst);
    if (t->in.dtype == t->result && memcmp(t->in.shape, t->shape, (size_t)t->in.ndim * 8) == 0 &&
        !nd_is_readonly(t->in.array) &&
        good(t->f->into(t->in.array, &t->opts, t->in.array), "in place"))
        check_result(t, t->in.array);
}

/* ---- cases ---- */

static void random_axes(trial *t)
{
    int order[CASE_NDIM];
    const int ndim = t->in.ndim;
    for (int d = 0; d < ndim; d++) {
        const int at = (int)random_below(d + 1);
        order[d] = order[at];
        order[at] = d;
    }
    t->opts.naxes = t->f->many ? 1 + (int32_t)random_below(ndim) : 1;
    for (int i = 0; i < t->opts.naxes; i++) {
        t->axes[i] = random_below(2) ? order[i] : order[i] - ndim;
        t->lengths[i] = random_below(3) ? -1 : 1 + random_below(9);
    }
}

/* What follows from axes and lengths; false: a transform would have no element. */
static bool complete_trial(trial *t)
{
    const bool single = t->in.dtype == ND_F16 || t->in.dtype == ND_BF16 || t->in.dtype == ND_F32 ||
                        t->in.dtype == ND_C64;
    const bool to_real = t->f->op == ND_OP_fft_c2r;
    memcpy(t->extent, t->in.shape, sizeof t->extent);
    memcpy(t->shape, t->in.shape, sizeof t->shape);
    t->n = 1;
    for (int i = 0; i < t->opts.naxes; i++) {
        const int d = axis_of(t, i), last = i == t->opts.naxes - 1;
        int64_t n = t->lengths[i];
        n = n != -1 ? n : to_real && last ? 2 * (t->in.shape[d] - 1) : t->in.shape[d];
        if (n < 1)
            return false;
        t->n *= (double)n;
        t->extent[d] = to_real && last ? n / 2 + 1 : n;
        t->shape[d] = t->f->op == ND_OP_fft_r2c && last ? n / 2 + 1 : n;
    }
    t->size = product(t->in.ndim, t->shape);
    t->result = to_real ? (single ? ND_F32 : ND_F64) : single ? ND_C64 : ND_C128;
    return true;
}

static void run_trial(trial *t)
{
    nd_array *r = NULL;
    t->opts.axes = t->axes;
    t->opts.lengths = t->lengths;
    if (!complete_trial(t) || !expect(t))
        return;
    if (good(t->f->run(t->in.array, &t->opts, &r), t->f->name)) {
        if (nd_dtype_of(r) != t->result || nd_ndim(r) != t->in.ndim ||
            memcmp(nd_shape(r), t->shape, (size_t)t->in.ndim * sizeof *t->shape) != 0)
            fail_case("%s of %s gives %s, or another shape", t->f->name, nd_dtype_name(t->in.dtype),
                      nd_dtype_name(nd_dtype_of(r)));
        else
            check_result(t, r);
        check_operand(t);
        if (random_below(2))
            check_into(t);
    }
    nd_release(r);
}

static void trial_end(trial *t)
{
    free(t->want);
    mirror_release(&t->in);
}

static void one_case(const function *f, nd_dtype dtype)
{
    trial t = {.f = f, .opts = {.size = sizeof t.opts, .norm = (int32_t)random_below(3)}};
    view_wish wish = any_view;
    wish.tame = true;
    wish.least_ndim = 1;
    t.in.dtype = dtype;
    if (mirror_random(&t.in, dtype, &wish)) {
        random_axes(&t);
        run_trial(&t);
    }
    trial_end(&t);
}

/* A length with a few transforms of it, side by side or one after the other. */
static void long_case(const function *f, nd_dtype dtype, int64_t n)
{
    trial t = {.f = f, .opts = {.size = sizeof t.opts, .naxes = 1}};
    view_wish wish = {.tame = true};
    const int64_t many = 1 + random_below(20), across = random_below(2);
    const int64_t rows = n > 512 ? 1 + many % 2 : many;
    const int64_t length = f->op == ND_OP_fft_c2r ? n / 2 + 1 : n;
    const int64_t shape[2] = {across ? length : rows, across ? rows : length};
    t.in.dtype = dtype;
    t.axes[0] = across ? 0 : 1;
    t.lengths[0] = n;
    if (mirror_shaped(&t.in, dtype, 2, shape, &wish))
        run_trial(&t);
    trial_end(&t);
}

/* NaN goes to its own transform, and to no other. */
static void not_a_number(const function *f, int64_t n)
{
    const int64_t shape[2] = {3, n};
    nd_layout layout = {.size = sizeof layout, .dtype = ND_F32, .ndim = 2, .shape = shape};
    const int32_t axis = 1;
    const nd_fft_opts opts = {.size = sizeof opts, .axes = &axis, .naxes = 1};
    float *x = calloc((size_t)(3 * n), sizeof *x);
    nd_array *a = NULL, *r = NULL;
    int64_t found[3] = {0};
    x[n + n / 2] = NAN;
    if (good(nd_from_host(&layout, x, run.device, &a), "from_host") &&
        good(f->run(a, &opts, &r), f->name)) {
        char *data = fetch(r);
        const int64_t row = nd_size(r) / 3;
        for (int64_t i = 0; data && i < 3 * row; i++) {
            cell c = cell_read(nd_dtype_of(r), data + (size_t)i * nd_dtype_size(nd_dtype_of(r)));
            found[i / row] += isnan(c.re) || (c.kind == ND_KIND_COMPLEX && isnan(c.im));
        }
        free(data);
        if (found[0] || !found[1] || found[2])
            fail_case("%s of %lld elements: NaN in row 1 makes %lld, %lld and %lld of rows 0 to 2",
                      f->name, (long long)n, (long long)found[0], (long long)found[1],
                      (long long)found[2]);
    }
    nd_release(a);
    nd_release(r);
    free(x);
}

static void all_of(nd_op op, const nd_dtype *legal, int count)
{
    static const int64_t lengths[] = {1,   2,   3,   4,   5,   6,   7,   8,    9,    10,   11,
                                      12,  13,  16,  17,  25,  30,  32,  36,   49,   61,   64,
                                      67,  77,  100, 121, 128, 134, 169, 210,  243,  256,  341,
                                      500, 509, 512, 625, 720, 729, 997, 1000, 1024, 2048, 2310};
    enum { LENGTHS = sizeof lengths / sizeof *lengths };
    const nd_op_info *info = nd_op_get(op);
    int first = 0, n = 0;
    while (functions[first].op != op)
        first++;
    while (first + n < FUNCTIONS && functions[first + n].op == op)
        n++;
    if (!wanted(info->name))
        return;
    begin_op(info->name);
    for (int i = 0; i < run.count && !failing(); i++)
        if (begin_case(i))
            one_case(&functions[first + i % n], legal[i / n % count]);
    for (int i = 0; i < LENGTHS && !failing(); i++)
        if (begin_share(FIXED_CASE + i))
            long_case(&functions[first + i % 2], legal[i % 2], lengths[i]);
    for (int i = 0; i < 4 && !failing(); i++)
        if (begin_case(FIXED_CASE + LENGTHS + i))
            not_a_number(&functions[first + i % 2], (const int64_t[]){5, 64, 67, 1000}[i]);
    end_op();
}

void conform_fft(void)
{
    static const nd_dtype any[] = {ND_C64,  ND_C128, ND_F32, ND_F64, ND_F16,
                                   ND_BF16, ND_I32,  ND_U8,  ND_BOOL};
    static const nd_dtype real[] = {ND_F32, ND_F64, ND_F16, ND_BF16, ND_I32, ND_U8, ND_BOOL};
    all_of(ND_OP_fft, any, 9);
    all_of(ND_OP_fft_r2c, real, 7);
    all_of(ND_OP_fft_c2r, any, 9);
}
