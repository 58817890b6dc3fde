/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Element types, promotion, and scalars. */
#ifndef NDOCK_DTYPE_H
#define NDOCK_DTYPE_H
#include <ndock/base.h>

ND_BEGIN_DECLS

enum {
    ND_DTYPE_BY_RULE = 0,
#define ND_DTYPE(NAME, id, nbytes, KIND, name, standard, numpy, dlpack, doc) ND_##NAME = id,
#include <ndock/dtype.def>
    ND_DTYPE_END
};
enum {
#define ND_DTYPE_KIND(NAME, bit, rank, word) ND_KIND_##NAME = bit,
#include <ndock/opdomain.def>
};

typedef struct {
    nd_dtype dtype;
    int32_t nbytes, kind; /* bytes of an element; ND_KIND_* */
    const char *name;     /* "f32" */
    const char *standard; /* "float32" */
    const char *doc;
} nd_dtype_info;

/* NULL for an unknown dtype. Static. */
ND_API const nd_dtype_info *nd_dtype_get(nd_dtype dtype);
/* Name of either form ("f32", "float32"); "?" if unknown. */
ND_API const char *nd_dtype_name(nd_dtype dtype);
/* Parse either name form. ND_ERR_DTYPE lists what there is. */
ND_API ND_MUST_USE nd_status nd_dtype_parse(const char *name, nd_dtype *out);
/* Bytes of an element, 0 if unknown. */
ND_API size_t nd_dtype_size(nd_dtype dtype);

/* The dtype in which a and b meet. The array API's table, and: bool with anything gives the other;
 * an integer with a floating or complex dtype gives that dtype; f16 with bf16 gives f32; f64 or
 * with c64 gives c128; u64 with a signed integer is ND_ERR_DTYPE. */
ND_API ND_MUST_USE nd_status nd_promote(nd_dtype a, nd_dtype b, nd_dtype *out);
/* f64. What divide, mean, var ... of integers are computed in. */
ND_API nd_dtype nd_default_float(void);

/* A scalar operand. It is weak: it takes the arrays' dtype where its kind allows (an int with an
 * f32 array is f32, a float with an i32 array makes f64), and is rounded to the operation's dtype
 * first; an integer out of its range is ND_ERR_OVERFLOW. */
typedef struct {
    nd_dtype kind; /* ND_BOOL (v.u), ND_I64 (v.i), ND_U64 (v.u), ND_F64 (v.f), ND_C128 (v.c) */
    int32_t zero;
    union {
        int64_t i;
        uint64_t u;
        double f, c[2];
    } v;
} nd_scalar;

static inline nd_scalar nd_bool(int value)
{
    nd_scalar s;
    s.kind = ND_BOOL;
    s.zero = 0;
    s.v.c[1] = 0;
    s.v.u = value != 0;
    return s;
}
static inline nd_scalar nd_int(int64_t value)
{
    nd_scalar s;
    s.kind = ND_I64;
    s.zero = 0;
    s.v.c[1] = 0;
    s.v.i = value;
    return s;
}
static inline nd_scalar nd_uint(uint64_t value)
{
    nd_scalar s;
    s.kind = ND_U64;
    s.zero = 0;
    s.v.c[1] = 0;
    s.v.u = value;
    return s;
}
static inline nd_scalar nd_float(double value)
{
    nd_scalar s;
    s.kind = ND_F64;
    s.zero = 0;
    s.v.c[1] = 0;
    s.v.f = value;
    return s;
}
static inline nd_scalar nd_complex(double re, double im)
{
    nd_scalar s;
    s.kind = ND_C128;
    s.zero = 0;
    s.v.c[0] = re;
    s.v.c[1] = im;
    return s;
}

ND_END_DECLS
#endif
