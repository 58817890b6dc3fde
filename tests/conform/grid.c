/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Dense host arrays as expected results. */
#include <ctype.h>
#include <math.h>
#include "tests/conform/grid.h"

int64_t shape_size(int ndim, const int64_t *shape)
{
    int64_t n = 1;
    for (int d = 0; d < ndim; d++)
        n *= shape[d];
    return n;
}

void unravel(int ndim, const int64_t *shape, int64_t position, int64_t *index)
{
    for (int d = ndim - 1; d >= 0; d--) {
        index[d] = position % shape[d];
        position /= shape[d];
    }
}

int64_t ravel(int ndim, const int64_t *shape, const int64_t *index)
{
    int64_t position = 0;
    for (int d = 0; d < ndim; d++)
        position = position * shape[d] + index[d];
    return position;
}

dense dense_new(nd_dtype dtype, int ndim, const int64_t *shape)
{
    dense d = {.dtype = dtype, .ndim = ndim, .size = shape_size(ndim, shape)};
    if (ndim)
        memcpy(d.shape, shape, (size_t)ndim * sizeof *shape);
    d.data = calloc((size_t)d.size + 1, nd_dtype_size(dtype));
    if (!d.data)
        bail("out of memory");
    return d;
}

dense dense_of(const mirror *m)
{
    dense d = dense_new(m->dtype, m->ndim, m->shape);
    for (int64_t i = 0; i < d.size; i++)
        memcpy(dense_at(&d, i), mirror_at(m, m->ndim, m->shape, i), nd_dtype_size(d.dtype));
    return d;
}

dense dense_copy(const dense *d)
{
    dense copy = dense_new(d->dtype, d->ndim, d->shape);
    memcpy(copy.data, d->data, (size_t)d->size * nd_dtype_size(d->dtype));
    return copy;
}

dense dense_random(nd_dtype dtype, int ndim, const int64_t *shape, bool tame)
{
    dense d = dense_new(dtype, ndim, shape);
    for (int64_t i = 0; i < d.size; i++)
        cell_random(dtype, tame, dense_at(&d, i));
    return d;
}

void dense_release(dense *d)
{
    free(d->data);
    memset(d, 0, sizeof *d);
}

char *dense_at(const dense *d, int64_t position)
{
    return d->data + (size_t)position * nd_dtype_size(d->dtype);
}

cell dense_cell(const dense *d, int64_t position)
{
    return cell_read(d->dtype, dense_at(d, position));
}

void dense_put(dense *d, int64_t at, const dense *src, int64_t from)
{
    memcpy(dense_at(d, at), dense_at(src, from), nd_dtype_size(d->dtype));
}

void dense_set(dense *d, int64_t at, int64_t value)
{
    cell_write(d->dtype, cell_int(value), dense_at(d, at));
}

nd_array *dense_array(const dense *d)
{
    nd_layout layout = {.size = sizeof layout, .dtype = d->dtype, .ndim = d->ndim};
    nd_array *a = NULL;
    layout.shape = d->shape;
    (void)good(nd_from_host(&layout, d->data, run.device, &a), "from_host");
    return a;
}

static const char *shape_text(int ndim, const int64_t *shape, char *buf, size_t n)
{
    size_t used = (size_t)snprintf(buf, n, "(");
    for (int d = 0; d < ndim && used < n; d++)
        used += (size_t)snprintf(buf + used, n - used, d ? ", %lld" : "%lld", (long long)shape[d]);
    if (used < n)
        snprintf(buf + used, n - used, ")");
    return buf;
}

static bool same_form(const dense *want, const nd_array *got, const char *what)
{
    char a[256], b[256];
    if (!got) {
        fail_case("%s gave no array", what);
        return false;
    }
    bool same = nd_dtype_of(got) == want->dtype && nd_ndim(got) == want->ndim;
    for (int d = 0; same && d < want->ndim; d++)
        same = nd_shape(got)[d] == want->shape[d];
    if (!same)
        fail_case("%s gave %s %s, not %s %s", what, nd_dtype_name(nd_dtype_of(got)),
                  shape_text(nd_ndim(got), nd_shape(got), a, sizeof a), nd_dtype_name(want->dtype),
                  shape_text(want->ndim, want->shape, b, sizeof b));
    return same;
}

/* ulp below 0: the same bits. */
static bool compare(const dense *want, const nd_array *got, double ulp, bool zeros,
                    const char *what)
{
    char shape[256], a[128], b[128], *data;
    size_t item = nd_dtype_size(want->dtype);
    if (!same_form(want, got, what) || !(data = fetch(got)))
        return false;
    bool same = true;
    for (int64_t i = 0; i < want->size && same; i++) {
        if (ulp < 0 && memcmp(data + (size_t)i * item, dense_at(want, i), item) == 0)
            continue;
        cell w = dense_cell(want, i), g = cell_read(want->dtype, data + (size_t)i * item);
        same = ulp >= 0 && cell_close(want->dtype, g, w, ulp, zeros);
        if (!same)
            fail_case("%s of %s %s: element %lld is %s, not %s", what, nd_dtype_name(want->dtype),
                      shape_text(want->ndim, want->shape, shape, sizeof shape), (long long)i,
                      cell_text(g, a), cell_text(w, b));
    }
    free(data);
    return same;
}

bool dense_is(const dense *want, const nd_array *got, const char *what)
{
    return compare(want, got, -1, true, what);
}

bool dense_near(const dense *want, const nd_array *got, double ulp, bool zeros, const char *what)
{
    return compare(want, got, ulp, zeros, what);
}

bool mirror_set(mirror *m, const dense *values)
{
    nd_array *a = dense_array(values);
    bool fine = a && good(nd_assign(a, m->array), "assign");
    for (int64_t i = 0; i < m->size && fine; i++) {
        int64_t at = (const char *)mirror_at(m, m->ndim, m->shape, i) - m->base;
        memcpy(m->base + at, dense_at(values, i), nd_dtype_size(m->dtype));
    }
    nd_release(a);
    return fine;
}

bool mirror_of(mirror *m, const dense *values)
{
    view_wish wish = {.writable = true};
    return mirror_shaped(m, values->dtype, values->ndim, values->shape, &wish) &&
           mirror_set(m, values);
}

/* A real number in a format of 8 or 16 bits. */
static uint16_t encode(long double x, cell_format f)
{
    int end = (int)cell_code_end(f), e;
    int sign = signbit(x) ? 1 << (f.bits - 1) : 0;
    if (isnan(x))
        return (uint16_t)(sign | end | (f.finite ? 0 : 1 << (f.fraction - 1)));
    x = fabsl(x);
    if (isinf(x))
        return (uint16_t)(sign | (end - f.finite));
    e = x == 0 ? 1 - f.bias : ilogbl(x);
    e = e < 1 - f.bias ? 1 - f.bias : e;
    /* The significand as an integer; its carry into the next exponent is the encoding's own. */
    long double significand = rintl(ldexpl(x, f.fraction - e));
    int64_t bits = (int64_t)significand + ((int64_t)(e + f.bias - 1) << f.fraction);
    return (uint16_t)(sign | (bits >= end ? end - f.saturates : bits));
}

static void write_real(nd_dtype dtype, long double x, void *element)
{
    float f = (float)x;
    double d = (double)x;
    cell_format format = cell_format_of(dtype);
    if (format.bits == 64) {
        memcpy(element, &d, sizeof d);
    } else if (format.bits == 32) {
        memcpy(element, &f, sizeof f);
    } else {
        uint16_t h = encode(x, format);
        uint8_t byte = (uint8_t)h;
        memcpy(element, format.bits == 8 ? (void *)&byte : &h, (size_t)format.bits / 8);
    }
}

void cell_write(nd_dtype dtype, cell c, void *element)
{
    size_t n = nd_dtype_size(dtype);
    uint64_t bits = (uint64_t)c.i;
    switch (cell_kind(dtype)) {
    case ND_KIND_FLOAT:
        write_real(dtype, c.re, element);
        break;
    case ND_KIND_COMPLEX:
        write_real(dtype, c.re, element);
        write_real(dtype, c.im, (char *)element + n / 2);
        break;
    default: /* the low bytes */
        memcpy(element, &bits, n);
    }
}

cell cell_widened(nd_dtype dtype, cell c)
{
    switch (cell_kind(dtype)) {
    case ND_KIND_BOOL:
        return cell_bool(c.i != 0);
    case ND_KIND_FLOAT:
        return cell_real((long double)c.i);
    case ND_KIND_COMPLEX:
        return cell_complex((long double)c.i, 0);
    default:
        return cell_wrap(dtype, c.i);
    }
}

nd_dtype legal_dtype(nd_op op, int i)
{
    uint64_t mask = nd_op_dtypes(op);
    int legal = __builtin_popcountll(mask), skip = i % legal;
    for (nd_dtype d = 1; d < ND_DTYPE_END; d++)
        if (mask >> d & 1 && skip-- == 0)
            return d;
    return ND_F64;
}

void run_cases(const char *name, void (*one)(int i))
{
    if (!wanted(name))
        return;
    begin_op(name);
    for (int i = 0; i < run.count && !failing(); i++) {
        if (begin_case(i))
            one(i);
    }
    end_op();
}

bool fails(nd_status got, nd_status want, const char *what)
{
    if (got == ND_OK)
        got = nd_synchronize(run.device);
    if (run.probing && got == ND_ERR_UNSUPPORTED)
        claims_refused(nd_last_error());
    if (got != want)
        fail_case("%s gave %s (%s), not %s", what, nd_status_name(got),
                  got == ND_OK ? "" : nd_last_error()->message, nd_status_name(want));
    return got == want;
}

bool error_names(int64_t number)
{
    char digits[32];
    const char *text = nd_last_error()->message;
    size_t n = (size_t)snprintf(digits, sizeof digits, "%lld", (long long)number);
    for (const char *p = text; (p = strstr(p, digits)) != NULL; p++)
        if (!isdigit((unsigned char)p[n]) &&
            (p == text || (!isdigit((unsigned char)p[-1]) && p[-1] != '-')))
            return true;
    fail_case("\"%s\" does not name %s", text, digits);
    return false;
}

int either_sign(int axis, int ndim)
{
    return random_below(2) ? axis : axis - ndim;
}
