/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The op table as C, and every elementwise operation.
 *
 * For each UNARY row of op.def:    nd_X(a, &out), nd_X_into(a, dst)
 * for each BINARY row:             nd_X(a, b, &out), nd_X_into(a, b, dst),
 *                                  nd_X_scalar(a, scalar, &out), nd_X_scalar_into(a, scalar, dst)
 * for each TERNARY row:            nd_X(a, b, c, &out), nd_X_into(a, b, c, dst)
 * for anything else, as 2 - a:     nd_apply
 *
 *   a, b, c  on one device (a CPU array without dimensions goes with any); shapes broadcast; dtypes
 *            are promoted, then brought into the op's domain; borrowed, may alias
 *   out      a new array owned by the caller, dense; dtype by the op's result rule; NULL on failure
 *   dst      an existing writable view that has exactly the broadcast shape; the result is
 *            converted to its dtype (same kind or wider: bool < integer < floating < complex,
 *            else DTYPE). Identical views run in place; other overlap is as if inputs were copied
 *            first
 *
 * Order:   queued on the device's current stream; returns before it has run.
 * Errors:  SHAPE, DTYPE, DEVICE, READONLY, OVERLAP (dst overlaps itself), OVERFLOW (a scalar),
 *          MEMORY, UNSUPPORTED; ASYNC for earlier work.
 * Threads: any thread; arrays may be read by many.
 * Source:  Python array API standard 2025.12, special cases included. */
#ifndef NDOCK_OP_H
#define NDOCK_OP_H
#include <ndock/base.h>
#include <ndock/dtype.h>

ND_BEGIN_DECLS

enum {
    ND_OP_NONE = 0,
#define ND_OP(name, CLASS, DOMAIN, RESULT, ulp, doc) ND_OP_##name,
#include <ndock/op.def>
    ND_OP_END,
    ND_OP_RUNTIME = 0x10000 /* ids of nd_op_register start here */
};
enum {
    ND_CLASS_NONE = 0,
#define ND_OP_CLASS(NAME, id, doc) ND_CLASS_##NAME = id,
#include <ndock/opclass.def>
    ND_CLASS_END
};
enum {
    ND_RESULT_SAME = 1,
    ND_RESULT_BOOL = 2,
    ND_RESULT_REAL = 3,
    ND_RESULT_INDEX = 4,
    ND_RESULT_SUM = 5,
    ND_RESULT_GIVEN = 6
};

typedef struct {
    nd_op op;
    int32_t op_class; /* ND_CLASS_* */
    int32_t domain;   /* bits of ND_KIND_* */
    int32_t result;   /* ND_RESULT_* */
    float ulp[4];     /* half, f32, f64, complex */
    const char *name, *doc;
} nd_op_info;

/* NULL for an unknown id. Lives as long as the process. Any thread. */
ND_API const nd_op_info *nd_op_get(nd_op op);
/* By name; ND_OP_NONE if there is none. */
ND_API nd_op nd_op_find(const char *name);
/* Legal dtypes of an op as a mask; one that computes integers as the default float counts as legal
 * for floats only. */
ND_API uint64_t nd_op_dtypes(nd_op op);

/* An operand: an array, or (array NULL) a scalar. */
typedef struct {
    const nd_array *array;
    nd_scalar scalar;
} nd_arg;
static inline nd_arg nd_array_arg(const nd_array *a)
{
    nd_arg x;
    x.array = a;
    x.scalar = nd_int(0);
    return x;
}
static inline nd_arg nd_scalar_arg(nd_scalar s)
{
    nd_arg x;
    x.array = NULL;
    x.scalar = s;
    return x;
}

typedef struct {
    uint32_t size;  /* sizeof(nd_apply_opts) */
    nd_dtype dtype; /* compute in this dtype instead of the promoted one */
    nd_stream *stream;
} nd_apply_opts;

/* Any op of class UNARY, BINARY, TERNARY, or registered; at least one operand is an array. */
ND_API ND_MUST_USE nd_status nd_apply(nd_op op, const nd_arg *args, int n,
                                      const nd_apply_opts *opts, nd_array **out);
ND_API ND_MUST_USE nd_status nd_apply_into(nd_op op, const nd_arg *args, int n,
                                           const nd_apply_opts *opts, const nd_array *dst);

/* Register an elementwise op at run time; *out receives its id, from ND_OP_RUNTIME on. info->op is
 * ignored, texts are copied; op_class UNARY, BINARY or TERNARY. cpu, which must stay valid,
 * computes n elements: p[0] is the result, p[1...] the operands, each stride_bytes apart (0: the
 * same element); all operands have the dtype given, the result its dtype by the rule. It is called
 * from several threads at once. A name in use is ND_ERR_ARGUMENT. Other devices run it through the
 * fallback ladder unless their plug-in answers for the id. */
typedef void (*nd_op_cpu_fn)(void *ctx, nd_dtype dtype, int64_t n, char *const *p,
                             const int64_t *stride_bytes);
ND_API ND_MUST_USE nd_status nd_op_register(const nd_op_info *info, nd_op_cpu_fn cpu, void *ctx,
                                            nd_op *out);

#define ND_DECLARE_UNARY(name, DOMAIN, RESULT, ulp, doc)                       \
    ND_API ND_MUST_USE nd_status nd_##name(const nd_array *a, nd_array **out); \
    ND_API ND_MUST_USE nd_status nd_##name##_into(const nd_array *a, const nd_array *dst);
#define ND_DECLARE_BINARY(name, DOMAIN, RESULT, ulp, doc)                                         \
    ND_API ND_MUST_USE nd_status nd_##name(const nd_array *a, const nd_array *b, nd_array **out); \
    ND_API ND_MUST_USE nd_status nd_##name##_into(const nd_array *a, const nd_array *b,           \
                                                  const nd_array *dst);                           \
    ND_API ND_MUST_USE nd_status nd_##name##_scalar(const nd_array *a, nd_scalar b,               \
                                                    nd_array **out);                              \
    ND_API ND_MUST_USE nd_status nd_##name##_scalar_into(const nd_array *a, nd_scalar b,          \
                                                         const nd_array *dst);
#define ND_DECLARE_TERNARY(name, DOMAIN, RESULT, ulp, doc)                              \
    ND_API ND_MUST_USE nd_status nd_##name(const nd_array *a, const nd_array *b,        \
                                           const nd_array *c, nd_array **out);          \
    ND_API ND_MUST_USE nd_status nd_##name##_into(const nd_array *a, const nd_array *b, \
                                                  const nd_array *c, const nd_array *dst);
#define ND_EXPAND_UNARY ND_EXPAND_BY(ND_DECLARE_UNARY)
#define ND_EXPAND_BINARY ND_EXPAND_BY(ND_DECLARE_BINARY)
#define ND_EXPAND_TERNARY ND_EXPAND_BY(ND_DECLARE_TERNARY)
#include <ndock/op_expand.h>
#undef ND_EXPAND_UNARY
#undef ND_EXPAND_BINARY
#undef ND_EXPAND_TERNARY
#undef ND_DECLARE_UNARY
#undef ND_DECLARE_BINARY
#undef ND_DECLARE_TERNARY

ND_END_DECLS
#endif
