/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Elementwise operations: from arguments of any dtypes and shapes to a call in one compute
 * dtype. */
#include "core/ops/prepare.h"

#define MAX_ARGS 3

typedef struct {
    nd_operation of;
    int n;
    nd_scalar scalar[MAX_ARGS]; /* at places without an array */
} elementwise;

static int arity(const nd_op_info *info)
{
    switch (info->op_class) {
    case ND_CLASS_UNARY:
        return 1;
    case ND_CLASS_BINARY:
        return 2;
    case ND_CLASS_TERNARY:
        return 3;
    default:
        return 0;
    }
}

static bool is_condition(const elementwise *e, int i)
{
    return e->of.info->op == ND_OP_where && i == 0;
}

/* One number in the host's memory goes with arrays of any device. */
static bool is_host_number(const nd_array *a)
{
    return a->ndim == 0 && a->storage->device->host_visible;
}

static nd_status choose_device(elementwise *e)
{
    int first = -1, number = -1;
    for (int i = 0; i < e->n; i++) {
        const nd_array *a = e->of.in[i];
        if (a && is_host_number(a))
            number = number < 0 ? i : number;
        else if (a && first < 0)
            first = i;
        else if (a)
            ND_RETURN_IF(nd__check_same_device(e->of.name, e->of.in[first], a, first, i));
    }
    first = first < 0 ? number : first;
    if (first < 0)
        return nd__fail(ND_ERR_ARGUMENT, e->of.name, 0,
                        "every operand is NULL or a scalar; at least one must be an array");
    e->of.device = e->of.in[first]->storage->device;
    return ND_OK;
}

static nd_status run(const nd_operation *of, const nd_array *dst)
{
    const elementwise *e = (const elementwise *)of;
    nd_arg args[MAX_ARGS];
    for (int i = 0; i < e->n; i++)
        args[i] = (nd_arg){.array = of->in[i], .scalar = e->scalar[i]};
    return nd__run_elementwise(of->info->op, of->compute, args, e->n, dst);
}

static nd_status check_args(nd_op op, const nd_arg *args, int n, elementwise *e)
{
    nd__operation_begin(&e->of, op, run);
    e->of.elementwise = true;
    if (!e->of.info || arity(e->of.info) == 0)
        return nd__fail(ND_ERR_ARGUMENT, "apply", 0, "op %d is not an elementwise operation",
                        (int)op);
    ND_NEED(e->of.name, 1, args);
    if (n != arity(e->of.info))
        return nd__fail(ND_ERR_ARGUMENT, e->of.name, -1, "%d operands given, %d needed", n,
                        arity(e->of.info));
    e->n = n;
    for (int i = 0; i < n; i++) {
        e->of.in[i] = args[i].array;
        e->scalar[i] = args[i].scalar;
        if (args[i].array)
            ND_RETURN_IF(nd__check_array(e->of.name, args[i].array, i));
    }
    return choose_device(e);
}

/* The dtype in which all operands meet: arrays first, then weak scalars. */
static nd_status common_dtype(const elementwise *e, nd_dtype *common)
{
    *common = 0;
    for (int i = 0; i < e->n; i++) {
        const nd_array *a = e->of.in[i];
        if (!a || is_condition(e, i))
            continue;
        if (*common)
            ND_RETURN_IF(nd__promote(e->of.name, *common, a->dtype, common));
        else
            *common = a->dtype;
    }
    for (int i = 0; i < e->n; i++)
        if (!e->of.in[i] && !is_condition(e, i))
            ND_RETURN_IF(nd__promote_scalar(e->of.name, *common, e->scalar[i], common));
    return ND_OK;
}

static nd_status broadcast_args(elementwise *e)
{
    int ndims[MAX_ARGS], n = 0;
    const int64_t *shapes[MAX_ARGS];
    for (int i = 0; i < e->n; i++)
        if (e->of.in[i]) {
            ndims[n] = e->of.in[i]->ndim;
            shapes[n++] = e->of.in[i]->shape;
        }
    return nd__broadcast(e->of.name, n, ndims, shapes, &e->of.ndim, e->of.shape);
}

static nd_status cast_args(elementwise *e)
{
    for (int i = 0; i < e->n; i++) {
        const nd_array *a = e->of.in[i];
        if (!a)
            continue;
        if (is_condition(e, i) && a->dtype != ND_BOOL) {
            if (!(nd__kind(a->dtype) & (ND_KIND_INT | ND_KIND_UINT)))
                return nd__fail(ND_ERR_DTYPE, e->of.name, i,
                                "the condition is %s, not bool or an integer; compare it, or "
                                "convert with nd_astype",
                                nd_dtype_name(a->dtype));
            ND_RETURN_IF(nd__operand_cast(&e->of, i, ND_BOOL)); /* what is not 0 is true */
            a = e->of.in[i];
        }
        if (a->storage->device != e->of.device) {
            e->of.in[i] = NULL;
            ND_RETURN_IF(nd__item(e->of.name, a, ND_WAIT_ITEM, &e->scalar[i]));
        } else if (!is_condition(e, i)) {
            ND_RETURN_IF(nd__operand_cast(&e->of, i, e->of.compute));
        }
    }
    return ND_OK;
}

static nd_status start(nd_op op, const nd_arg *args, int n, const nd_apply_opts *opts,
                       elementwise *e)
{
    nd_dtype common;
    ND_RETURN_IF(check_args(op, args, n, e));
    if (opts && opts->size < NDP_END(nd_apply_opts, stream))
        return nd__fail(ND_ERR_ARGUMENT, e->of.name, -1,
                        "the options' size field is %u; set it to sizeof", opts->size);
    ND_RETURN_IF(
        nd__scope_enter(e->of.name, e->of.device, opts ? opts->stream : NULL, &e->of.scope));
    ND_RETURN_IF(common_dtype(e, &common));
    ND_RETURN_IF(nd__choose_dtypes(&e->of, common, opts ? opts->dtype : 0));
    ND_RETURN_IF(broadcast_args(e));
    return cast_args(e);
}

static nd_status slow_path(nd_op op, const nd_arg *args, int n, const nd_apply_opts *opts,
                           nd_array **out)
{
    elementwise e;
    *out = NULL;
    return nd__into_new(&e.of, start(op, args, n, opts, &e), out);
}

static nd_status slow_path_into(nd_op op, const nd_arg *args, int n, const nd_apply_opts *opts,
                                const nd_array *dst)
{
    elementwise e;
    return nd__into(&e.of, start(op, args, n, opts, &e), dst, n);
}

/* A device still writes to it: the slow path waits. */
static bool is_pending(const nd_array *a)
{
    return atomic_load_explicit(&a->storage->pending, memory_order_acquire) != NULL;
}

/* The fast path for small arrays: same dtype in the op's domain, same shape, dense, one device.
 * False: take the slow path. A call of it would be noticed. */
static inline __attribute__((always_inline)) bool fast_path(nd_op op, const nd_array *a,
                                                            const nd_array *b, nd_array **out,
                                                            nd_status *status)
{
    const nd_op_info *info = &nd__ops[op];
    const nd_array *const in[2] = {a, b};
    if (!a || !b || a->dtype != b->dtype || a->storage->device != b->storage->device ||
        is_pending(a) || is_pending(b) || !(a->flags & b->flags & ND_FLAG_CONTIGUOUS) ||
        !(nd__kind(a->dtype) & info->domain) ||
        !nd__same_shape(a->ndim, a->shape, b->ndim, b->shape))
        return false;
    nd_array *r = NULL;
    *status = nd__array_like(a, nd__op_result(info, a->dtype), &r);
    if (*status == ND_OK)
        *status = nd__run_dense(op, in, 2, r);
    *status = nd__hand_over(*status, r, out);
    return true;
}

/* The same for an array and a scalar that leaves its dtype as it is. */
static bool fast_path_scalar(nd_op op, const nd_array *a, nd_scalar b, nd_array **out,
                             nd_status *status)
{
    const nd_op_info *info = &nd__ops[op];
    nd_dtype common;
    if (!a || is_pending(a) || !(a->flags & ND_FLAG_CONTIGUOUS) ||
        !(nd__kind(a->dtype) & info->domain) ||
        nd__promote_scalar(info->name, a->dtype, b, &common) != ND_OK || common != a->dtype)
        return false;
    nd_array *r = NULL;
    *status = nd__array_like(a, nd__op_result(info, a->dtype), &r);
    if (*status == ND_OK)
        *status = nd__run_dense_scalar(op, a, b, 1, r);
    *status = nd__hand_over(*status, r, out);
    return true;
}

/* The same for a destination that is one of the operands or lies in other memory. */
static bool fast_path_into(nd_op op, const nd_array *a, const nd_array *b, const nd_array *dst,
                           nd_status *status)
{
    const nd_op_info *info = &nd__ops[op];
    const nd_array *const in[2] = {a, b};
    if (!a || !b || !dst || a->dtype != b->dtype || is_pending(a) || is_pending(b) ||
        is_pending(dst) || (dst->flags & ND_FLAG_READONLY) ||
        !(a->flags & b->flags & dst->flags & ND_FLAG_CONTIGUOUS) ||
        !(nd__kind(a->dtype) & info->domain) || dst->dtype != nd__op_result(info, a->dtype) ||
        (a != dst && a->storage == dst->storage) || (b != dst && b->storage == dst->storage) ||
        a->storage->device != b->storage->device || a->storage->device != dst->storage->device ||
        !a->storage->block || !b->storage->block ||
        !dst->storage->block || /* others' may overlap */
        !nd__same_shape(a->ndim, a->shape, b->ndim, b->shape) ||
        !nd__same_shape(a->ndim, a->shape, dst->ndim, dst->shape))
        return false;
    *status = nd__run_dense(op, in, 2, dst);
    return true;
}

/* Whether it is a binary operation without options, which may take a fast path; those registered at
 * run time may have forms of their own. */
static bool is_plain_pair(nd_op op, const nd_arg *args, int n, const nd_apply_opts *opts)
{
    const nd_op_info *info = n == 2 && args && !opts && op < ND_OP_RUNTIME ? nd_op_get(op) : NULL;
    return info && info->op_class == ND_CLASS_BINARY;
}

nd_status nd_apply(nd_op op, const nd_arg *args, int n, const nd_apply_opts *opts, nd_array **out)
{
    nd_status status;
    ND_OUT("apply", 4, out, NULL);
    if (is_plain_pair(op, args, n, opts) &&
        (args[1].array ? fast_path(op, args[0].array, args[1].array, out, &status)
                       : fast_path_scalar(op, args[0].array, args[1].scalar, out, &status)))
        return status;
    return slow_path(op, args, n, opts, out);
}

nd_status nd_apply_into(nd_op op, const nd_arg *args, int n, const nd_apply_opts *opts,
                        const nd_array *dst)
{
    nd_status status;
    if (is_plain_pair(op, args, n, opts) &&
        fast_path_into(op, args[0].array, args[1].array, dst, &status))
        return status;
    ND_NEED("apply_into", 4, dst);
    return slow_path_into(op, args, n, opts, dst);
}

/* An operation whose operands are arrays alone, into *out or, where that is NULL, into dst. */
static nd_status of_arrays(nd_op op, int n, const nd_array *const *arrays, nd_array **out,
                           const nd_array *dst)
{
    nd_arg args[MAX_ARGS];
    for (int i = 0; i < n; i++) {
        ND_RETURN_IF(nd__check_array(nd__ops[op].name, arrays[i], i));
        args[i] = (nd_arg){.array = arrays[i]};
    }
    return out ? slow_path(op, args, n, NULL, out) : slow_path_into(op, args, n, NULL, dst);
}

static nd_status binary(nd_op op, const nd_array *a, const nd_array *b, nd_array **out)
{
    nd_status status;
    ND_OUT(nd__ops[op].name, 2, out, NULL);
    if (fast_path(op, a, b, out, &status))
        return status;
    return of_arrays(op, 2, (const nd_array *const[]){a, b}, out, NULL);
}

static nd_status binary_into(nd_op op, const nd_array *a, const nd_array *b, const nd_array *dst)
{
    nd_status status;
    if (fast_path_into(op, a, b, dst, &status))
        return status;
    return of_arrays(op, 2, (const nd_array *const[]){a, b}, NULL, dst);
}

static nd_status binary_scalar(nd_op op, const nd_array *a, nd_scalar b, nd_array **out)
{
    nd_status status;
    ND_OUT(nd__ops[op].name, 2, out, NULL);
    if (fast_path_scalar(op, a, b, out, &status))
        return status;
    return slow_path(op, (const nd_arg[]){{.array = a}, {.scalar = b}}, 2, NULL, out);
}

static nd_status binary_scalar_into(nd_op op, const nd_array *a, nd_scalar b, const nd_array *dst)
{
    ND_RETURN_IF(nd__check_array(nd__ops[op].name, a, 0));
    return slow_path_into(op, (const nd_arg[]){{.array = a}, {.scalar = b}}, 2, NULL, dst);
}

/* The public functions, from the op table. */
#define WRAP_UNARY(name, DOMAIN, RESULT, ulp, doc)                     \
    nd_status nd_##name(const nd_array *a, nd_array **out)             \
    {                                                                  \
        ND_OUT(#name, 1, out, NULL);                                   \
        return of_arrays(ND_OP_##name, 1, &a, out, NULL);              \
    }                                                                  \
    nd_status nd_##name##_into(const nd_array *a, const nd_array *dst) \
    {                                                                  \
        return of_arrays(ND_OP_##name, 1, &a, NULL, dst);              \
    }
#define WRAP_BINARY(name, DOMAIN, RESULT, ulp, doc)                                        \
    nd_status nd_##name(const nd_array *a, const nd_array *b, nd_array **out)              \
    {                                                                                      \
        return binary(ND_OP_##name, a, b, out);                                            \
    }                                                                                      \
    nd_status nd_##name##_into(const nd_array *a, const nd_array *b, const nd_array *dst)  \
    {                                                                                      \
        return binary_into(ND_OP_##name, a, b, dst);                                       \
    }                                                                                      \
    nd_status nd_##name##_scalar(const nd_array *a, nd_scalar b, nd_array **out)           \
    {                                                                                      \
        return binary_scalar(ND_OP_##name, a, b, out);                                     \
    }                                                                                      \
    nd_status nd_##name##_scalar_into(const nd_array *a, nd_scalar b, const nd_array *dst) \
    {                                                                                      \
        return binary_scalar_into(ND_OP_##name, a, b, dst);                                \
    }
#define WRAP_TERNARY(name, DOMAIN, RESULT, ulp, doc)                                             \
    nd_status nd_##name(const nd_array *a, const nd_array *b, const nd_array *c, nd_array **out) \
    {                                                                                            \
        ND_OUT(#name, 3, out, NULL);                                                             \
        return of_arrays(ND_OP_##name, 3, (const nd_array *const[]){a, b, c}, out, NULL);        \
    }                                                                                            \
    nd_status nd_##name##_into(const nd_array *a, const nd_array *b, const nd_array *c,          \
                               const nd_array *dst)                                              \
    {                                                                                            \
        return of_arrays(ND_OP_##name, 3, (const nd_array *const[]){a, b, c}, NULL, dst);        \
    }
#define ND_EXPAND_UNARY ND_EXPAND_BY(WRAP_UNARY)
#define ND_EXPAND_BINARY ND_EXPAND_BY(WRAP_BINARY)
#define ND_EXPAND_TERNARY ND_EXPAND_BY(WRAP_TERNARY)
#include <ndock/op_expand.h>
