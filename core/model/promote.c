/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Which dtype operands meet in, which an op computes and answers in, and weak scalars. Source:
 * Python array API standard 2025.12, type promotion; DESIGN for the mixed kinds. */
#include <math.h>
#include <stdio.h>
#include "core/model/model.h"

static nd_dtype signed_of_size(size_t nbytes)
{
    return nbytes == 1 ? ND_I8 : nbytes == 2 ? ND_I16 : nbytes == 4 ? ND_I32 : ND_I64;
}

/* Signed with unsigned: the smallest signed dtype that holds both; none holds u64. */
static nd_status promote_mixed_sign(const char *op, nd_dtype s, nd_dtype u, nd_dtype *out)
{
    size_t ns = nd_dtype_size(s), nu = nd_dtype_size(u);
    if (nu == 8)
        return nd__fail(ND_ERR_DTYPE, op, -1,
                        "no integer dtype holds both %s and u64; convert one with nd_astype",
                        nd_dtype_name(s));
    *out = signed_of_size(ns > nu ? ns : 2 * nu);
    return ND_OK;
}

static nd_dtype promote_complex(nd_dtype c, nd_dtype other)
{
    return c == ND_C128 || other == ND_C128 || other == ND_F64 ? ND_C128 : ND_C64;
}

static nd_dtype promote_floating(nd_dtype a, nd_dtype b)
{
    if (nd_dtype_size(a) == 2 && nd_dtype_size(b) == 2)
        return ND_F32; /* f16 with bf16: neither holds the other */
    return nd_dtype_size(a) > nd_dtype_size(b) ? a : b;
}

nd_status nd__promote(const char *op, nd_dtype a, nd_dtype b, nd_dtype *out)
{
    *out = 0;
    ND_RETURN_IF(nd__check_dtype(op, a));
    ND_RETURN_IF(nd__check_dtype(op, b));
    int ka = nd__kind(a), kb = nd__kind(b);
    if (a == b || kb == ND_KIND_BOOL)
        *out = a;
    else if (ka == ND_KIND_BOOL)
        *out = b;
    else if ((ka | kb) & ND__KINDS_STORED)
        return nd__fail(ND_ERR_DTYPE, op, -1,
                        "%s is only stored, so %s meets no other dtype; convert one with nd_astype",
                        nd_dtype_name(ka & ND__KINDS_STORED ? a : b),
                        nd_dtype_name(ka & ND__KINDS_STORED ? b : a));
    else if (ka == ND_KIND_COMPLEX || kb == ND_KIND_COMPLEX)
        *out = ka == ND_KIND_COMPLEX ? promote_complex(a, b) : promote_complex(b, a);
    else if (ka == ND_KIND_FLOAT || kb == ND_KIND_FLOAT)
        *out = ka != kb ? (ka == ND_KIND_FLOAT ? a : b) : promote_floating(a, b);
    else if (ka == kb)
        *out = nd_dtype_size(a) > nd_dtype_size(b) ? a : b;
    else
        return ka == ND_KIND_INT ? promote_mixed_sign(op, a, b, out)
                                 : promote_mixed_sign(op, b, a, out);
    return ND_OK;
}

nd_status nd_promote(nd_dtype a, nd_dtype b, nd_dtype *out)
{
    ND_OUT("promote", 2, out, ND_DTYPE_BY_RULE);
    return nd__promote("promote", a, b, out);
}

nd_status nd__promote_scalar(const char *op, nd_dtype arrays, nd_scalar s, nd_dtype *out)
{
    int scalar_kind = nd__kind(s.kind), kind = arrays ? nd__kind(arrays) : 0;
    if (s.kind != ND_BOOL && s.kind != ND_I64 && s.kind != ND_U64 && s.kind != ND_F64 &&
        s.kind != ND_C128)
        return nd__fail(ND_ERR_ARGUMENT, op, -1,
                        "a scalar's kind is ND_BOOL, ND_I64, ND_U64, ND_F64 or ND_C128, not %d",
                        (int)s.kind);
    *out = arrays;
    if (!arrays)
        *out = s.kind;
    else if (scalar_kind == ND_KIND_BOOL || kind & (ND_KIND_COMPLEX | ND__KINDS_STORED))
        return ND_OK;
    else if (scalar_kind == ND_KIND_COMPLEX)
        *out = kind == ND_KIND_FLOAT && arrays != ND_F64 ? ND_C64 : ND_C128;
    else if (scalar_kind == ND_KIND_FLOAT && kind != ND_KIND_FLOAT)
        *out = nd_default_float();
    else if (scalar_kind != ND_KIND_FLOAT && kind == ND_KIND_BOOL)
        *out = ND_I64;
    return ND_OK;
}

static nd_status overflow(const char *op, nd_scalar s, nd_dtype dtype, int32_t argument)
{
    const char *name = nd_dtype_name(dtype);
    if (s.kind == ND_I64)
        return nd__fail(ND_ERR_OVERFLOW, op, argument, "the scalar %lld does not fit into %s",
                        (long long)s.v.i, name);
    if (s.kind == ND_U64)
        return nd__fail(ND_ERR_OVERFLOW, op, argument, "the scalar %llu does not fit into %s",
                        (unsigned long long)s.v.u, name);
    return nd__fail(ND_ERR_OVERFLOW, op, argument, "the scalar %g does not fit into %s",
                    s.kind == ND_C128 ? s.v.c[0] : s.v.f, name);
}

/* f64 rounded to a smaller format; false when a finite value overflows. */
static bool round_to_format(double x, nd_float_format f, double *out)
{
    *out = x;
    if (!isfinite(x) || x == 0)
        return true;
    int e, least = 2 - f.bias; /* of frexp, whose significand is in [0.5, 1) */
    (void)frexp(x, &e);
    int quantum = (e < least ? least : e) - f.digits;
    *out = ldexp(rint(ldexp(x, -quantum)), quantum);
    return fabs(*out) < nd__format_end(f);
}

static bool round_float(nd_dtype dtype, double x, double *out)
{
    switch (dtype) {
    case ND_F32:
    case ND_C64:
        *out = fabs(x) < 0x1.ffffffp127 ? (double)(float)x : x;
        return fabs(*out) <= 0x1.fffffep127 || !isfinite(x);
    case ND_F64:
    case ND_C128:
        *out = x;
        return true;
    default:
        return round_to_format(x, nd__float_format(dtype), out);
    }
}

/* A magnitude above 2^53 rounded to odd: of the two f64 around it the one whose last bit is set, so
 * that rounding once more, to a smaller format, sees on which side of a tie it was. */
static double rounded_to_odd(uint64_t x)
{
    return (double)(x >> 53 ? (x & ~UINT64_C(0x7ff)) | ((x & 0x7ff) ? 0x800 : 0) : x);
}

/* exactly: what is asked for is f64 itself, not a format that is rounded to next. */
static double scalar_as_double(nd_scalar s, bool exactly)
{
    bool negative = s.kind == ND_I64 && s.v.i < 0;
    uint64_t size = negative ? 0 - s.v.u : s.v.u;
    if (s.kind == ND_F64)
        return s.v.f;
    if (s.kind == ND_C128)
        return s.v.c[0];
    double x = exactly ? (double)size : rounded_to_odd(size);
    return negative ? -x : x;
}

static nd_status scalar_to_integer(const char *op, nd_scalar s, nd_dtype dtype, int32_t argument,
                                   ndp_scalar *out)
{
    unsigned bits = 8 * (unsigned)nd_dtype_size(dtype);
    bool is_signed = nd__kind(dtype) == ND_KIND_INT;
    uint64_t max = is_signed ? ((uint64_t)1 << (bits - 1)) - 1 : UINT64_MAX >> (64 - bits);
    if (s.kind == ND_F64 || s.kind == ND_C128) {
        double x = scalar_as_double(s, true), t = trunc(x);
        if (!(t >= (is_signed ? -(double)max - 1 : 0) && t < (double)max + 1) ||
            (s.kind == ND_C128 && s.v.c[1] != 0))
            return overflow(op, s, dtype, argument);
        s = t < 0 ? nd_int((int64_t)t) : nd_uint((uint64_t)t);
    }
    bool negative = s.kind == ND_I64 && s.v.i < 0;
    if (negative ? !is_signed || s.v.i < -(int64_t)max - 1 : s.v.u > max)
        return overflow(op, s, dtype, argument);
    out->v.u = s.v.u;
    return ND_OK;
}

nd_status nd__scalar_to(const char *op, nd_scalar s, nd_dtype dtype, int32_t argument,
                        ndp_scalar *out)
{
    memset(out, 0, sizeof *out);
    out->dtype = dtype;
    double re = scalar_as_double(s, dtype == ND_F64 || dtype == ND_C128),
           im = s.kind == ND_C128 ? s.v.c[1] : 0;
    switch (nd__kind(dtype)) {
    case ND_KIND_BOOL:
        out->v.u = s.kind == ND_C128 ? re != 0 || im != 0 : s.kind == ND_F64 ? re != 0 : s.v.u != 0;
        return ND_OK;
    case ND_KIND_INT:
    case ND_KIND_UINT:
        return scalar_to_integer(op, s, dtype, argument, out);
    case ND_KIND_COMPLEX:
        if (!round_float(dtype, re, &out->v.c[0]) || !round_float(dtype, im, &out->v.c[1]))
            return overflow(op, s, dtype, argument);
        return ND_OK;
    default:
        if (im != 0)
            return nd__fail(ND_ERR_DTYPE, op, argument, "a complex scalar does not fit into %s",
                            nd_dtype_name(dtype));
        if (nd__float_format(dtype).saturates && isinf(re)) { /* conversions to it saturate */
            out->v.f = copysign(nd__format_largest(nd__float_format(dtype)), re);
            return ND_OK;
        }
        return round_float(dtype, re, &out->v.f) ? ND_OK : overflow(op, s, dtype, argument);
    }
}

/* The kinds of dtypes that an op takes, as " bool signed". */
static const char *domain_text(const nd_op_info *op, char *buf, size_t n)
{
    static const struct {
        int32_t bit;
        const char *word;
    } kinds[] = {
#define ND_DTYPE_KIND(NAME, bit, rank, word) {bit, word},
#include <ndock/opdomain.def>
    };
    buf[0] = 0;
    for (size_t i = 0, at = 0; i < sizeof kinds / sizeof *kinds && at < n; i++)
        if (op->domain & kinds[i].bit)
            at += (size_t)snprintf(buf + at, n - at, " %s", kinds[i].word);
    return buf;
}

nd_status nd__op_domain(const nd_op_info *op, nd_dtype in, nd_dtype *compute)
{
    int kind = nd__kind(in);
    *compute = in;
    if (kind & op->domain)
        return ND_OK;
    if ((op->domain & ND_KIND_FLOAT) && (kind & (ND_KIND_BOOL | ND_KIND_INT | ND_KIND_UINT)) &&
        !(op->domain & (ND_KIND_INT | ND_KIND_UINT))) {
        *compute = nd_default_float();
        return ND_OK;
    }
    char kinds[128];
    return nd__fail(ND_ERR_DTYPE, op->name, -1,
                    "not defined for %s; it takes%s dtypes (convert with nd_astype)",
                    nd_dtype_name(in), domain_text(op, kinds, sizeof kinds));
}

bool nd__op_rounds(const nd_op_info *op, nd_dtype common)
{
    return nd__kind(common) & ND__KINDS_STORED && op->domain & ND_KIND_FLOAT &&
           !(op->domain & ND__KINDS_STORED);
}

nd_dtype nd__op_result(const nd_op_info *op, nd_dtype compute)
{
    switch (op->result) {
    case ND_RESULT_BOOL:
        return ND_BOOL;
    case ND_RESULT_REAL:
        return nd__real_of(compute);
    case ND_RESULT_INDEX:
        return ND_I64;
    case ND_RESULT_SUM:
        return nd__kind(compute) & (ND_KIND_BOOL | ND_KIND_INT) ? ND_I64
               : nd__kind(compute) == ND_KIND_UINT              ? ND_U64
                                                                : compute;
    default:
        return compute;
    }
}

nd_status nd__check_castable(const char *op, nd_dtype from, nd_dtype to)
{
    static const uint8_t ranks[] = {
#define ND_DTYPE_KIND(NAME, bit, rank, word) [bit] = rank,
#include <ndock/opdomain.def>
    };
    if (ranks[nd__kind(from)] <= ranks[nd__kind(to)])
        return ND_OK;
    return nd__fail(
        ND_ERR_DTYPE, op, -1,
        "a result of %s does not go into a destination of %s; convert explicitly with nd_astype",
        nd_dtype_name(from), nd_dtype_name(to));
}
