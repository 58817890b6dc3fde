/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Elementwise operations: from arguments of any dtypes and shapes to a call in one compute dtype.
 */
#include "core/ops/ops.h"

#define MAX_ARGS 3

typedef struct {
    const nd_op_info *info;
    int n;
    nd_arg args[MAX_ARGS];
    nd_array *owned[MAX_ARGS]; /* casts and copies made on the way */
    nd_dtype compute, result;
    nd_device *device;
    nd_scope scope;
    int ndim;
    int64_t shape[ND_MAX_NDIM];
} plan;

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

static bool is_condition(const plan *p, int i)
{
    return p->info->op == ND_OP_where && i == 0;
}

/* One number in the host's memory goes with arrays of any device. */
static bool is_host_number(const nd_array *a)
{
    return a->ndim == 0 && a->storage->device->host_visible;
}

static nd_status choose_device(plan *p)
{
    int first = -1, number = -1;
    for (int i = 0; i < p->n; i++) {
        const nd_array *a = p->args[i].array;
        if (a && is_host_number(a))
            number = number < 0 ? i : number;
        else if (a && first < 0)
            first = i;
        else if (a)
            ND_RETURN_IF(nd__check_same_device(p->info->name, p->args[first].array, a, first, i));
    }
    first = first < 0 ? number : first;
    if (first < 0)
        return nd__fail(ND_ERR_ARGUMENT, p->info->name, 0,
                        "every operand is NULL or a scalar; at least one must be an array");
    p->device = p->args[first].array->storage->device;
    return ND_OK;
}

static nd_status check_args(nd_op op, const nd_arg *args, int n, plan *p)
{
    memset(p, 0, offsetof(plan, shape));
    p->info = nd_op_get(op);
    if (!p->info || arity(p->info) == 0)
        return nd__fail(ND_ERR_ARGUMENT, "apply", 0, "op %d is not an elementwise operation",
                        (int)op);
    ND_NEED(p->info->name, 1, args);
    if (n != arity(p->info))
        return nd__fail(ND_ERR_ARGUMENT, p->info->name, -1, "%d operands given, %d needed", n,
                        arity(p->info));
    p->n = n;
    for (int i = 0; i < n; i++) {
        p->args[i] = args[i];
        if (args[i].array)
            ND_RETURN_IF(nd__check_array(p->info->name, args[i].array, i));
    }
    return choose_device(p);
}

/* The dtype all operands meet in, arrays first, then weak scalars; then the op's domain. */
static nd_status choose_dtypes(plan *p, const nd_apply_opts *opts)
{
    nd_dtype common = 0;
    for (int i = 0; i < p->n; i++)
        if (p->args[i].array && !is_condition(p, i)) {
            if (common)
                ND_RETURN_IF(nd__promote(p->info->name, common, p->args[i].array->dtype, &common));
            else
                common = p->args[i].array->dtype;
        }
    for (int i = 0; i < p->n; i++)
        if (!p->args[i].array && !is_condition(p, i))
            ND_RETURN_IF(nd__promote_scalar(p->info->name, common, p->args[i].scalar, &common));
    if (opts && opts->dtype) {
        ND_RETURN_IF(nd__check_dtype(p->info->name, opts->dtype));
        ND_RETURN_IF(nd__check_castable(p->info->name, common, opts->dtype));
        common = opts->dtype;
    }
    ND_RETURN_IF(nd__op_domain(p->info, common, &p->compute));
    p->result = nd__op_result(p->info, p->compute);
    return ND_OK;
}

static nd_status broadcast_args(plan *p)
{
    int ndims[MAX_ARGS], n = 0;
    const int64_t *shapes[MAX_ARGS];
    for (int i = 0; i < p->n; i++)
        if (p->args[i].array) {
            ndims[n] = p->args[i].array->ndim;
            shapes[n++] = p->args[i].array->shape;
        }
    return nd__broadcast(p->info->name, n, ndims, shapes, &p->ndim, p->shape);
}

static nd_status cast_args(plan *p)
{
    for (int i = 0; i < p->n; i++) {
        const nd_array *a = p->args[i].array;
        nd_dtype want = is_condition(p, i) ? ND_BOOL : p->compute;
        if (!a || (a->dtype == want && a->storage->device == p->device))
            continue;
        if (a->dtype != want && is_condition(p, i))
            return nd__fail(ND_ERR_DTYPE, p->info->name, i,
                            "the condition is %s, not bool; compare it, or convert with nd_astype",
                            nd_dtype_name(a->dtype));
        if (a->storage->device != p->device) {
            p->args[i].array = NULL;
            ND_RETURN_IF(nd__item(p->info->name, a, ND_WAIT_ITEM, &p->args[i].scalar));
            continue;
        }
        ND_RETURN_IF(nd__cast(a, want, &p->owned[i]));
        p->args[i].array = p->owned[i];
    }
    return ND_OK;
}

static nd_status prepare(nd_op op, const nd_arg *args, int n, const nd_apply_opts *opts, plan *p)
{
    ND_RETURN_IF(check_args(op, args, n, p));
    if (opts && opts->size < NDP_END(nd_apply_opts, stream))
        return nd__fail(ND_ERR_ARGUMENT, p->info->name, -1,
                        "the options' size field is %u; set it to sizeof", opts->size);
    ND_RETURN_IF(nd__scope_enter(p->info->name, p->device, opts ? opts->stream : NULL, &p->scope));
    ND_RETURN_IF(choose_dtypes(p, opts));
    ND_RETURN_IF(broadcast_args(p));
    return cast_args(p);
}

static void finish(plan *p)
{
    for (int i = 0; i < p->n; i++)
        nd_release(p->owned[i]);
    nd__scope_leave(&p->scope);
}

static nd_status long_way(nd_op op, const nd_arg *args, int n, const nd_apply_opts *opts,
                          nd_array **out)
{
    plan p;
    nd_array *r = NULL;
    nd_status status;
    *out = NULL;
    ND_GOTO_IF(done, prepare(op, args, n, opts, &p));
    ND_GOTO_IF(done, nd__array_alloc(p.info->name, p.device, p.result, p.ndim, p.shape, &r));
    ND_GOTO_IF(done, nd__run_elementwise(op, p.compute, p.args, p.n, r));
    *out = r;
    r = NULL;
done:
    nd_release(r);
    finish(&p);
    return status;
}

/* Inputs that share elements with the destination, other than element by element, are copied first.
 */
static nd_status separate_from(plan *p, const nd_array *dst)
{
    for (int i = 0; i < p->n; i++) {
        const nd_array *a = p->args[i].array;
        if (!a || a == p->owned[i] || nd__same_view(a, dst) || !nd__may_overlap(a, dst))
            continue;
        ND_RETURN_IF(nd_copy(a, NULL, &p->owned[i]));
        p->args[i].array = p->owned[i];
    }
    return ND_OK;
}

static nd_status long_way_into(nd_op op, const nd_arg *args, int n, const nd_apply_opts *opts,
                               const nd_array *dst)
{
    plan p;
    nd_array *temporary = NULL;
    nd_status status;
    ND_GOTO_IF(done, prepare(op, args, n, opts, &p));
    ND_GOTO_IF(done, nd__check_writable(p.info->name, dst, n));
    if (dst->storage->device != p.device)
        ND_GOTO_IF(done, nd__fail(ND_ERR_DEVICE, p.info->name, n,
                                  "the operands are on %s, the destination on %s", p.device->name,
                                  dst->storage->device->name));
    ND_GOTO_IF(done, nd__check_dst_shape(p.info->name, dst, p.ndim, p.shape, n));
    if (dst->dtype == p.result) {
        ND_GOTO_IF(done, separate_from(&p, dst));
        ND_GOTO_IF(done, nd__run_elementwise(op, p.compute, p.args, p.n, dst));
    } else {
        ND_GOTO_IF(done, nd__check_castable(p.info->name, p.result, dst->dtype));
        ND_GOTO_IF(done,
                   nd__array_alloc(p.info->name, p.device, p.result, p.ndim, p.shape, &temporary));
        ND_GOTO_IF(done, nd__run_elementwise(op, p.compute, p.args, p.n, temporary));
        ND_GOTO_IF(done, nd__copy_into(temporary, dst));
    }
done:
    nd_release(temporary);
    finish(&p);
    return status;
}

/* A device still writes to it: the long way waits. */
static bool is_pending(const nd_array *a)
{
    return atomic_load_explicit(&a->storage->pending, memory_order_acquire) != NULL;
}

/* The short way for small arrays: same dtype in the op's domain, same shape, dense, one device.
 * False: take the long way. A call of it would be noticed. */
static inline __attribute__((always_inline)) bool short_way(nd_op op, const nd_array *a,
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
static bool short_way_scalar(nd_op op, const nd_array *a, nd_scalar b, nd_array **out,
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
static bool short_way_into(nd_op op, const nd_array *a, const nd_array *b, const nd_array *dst,
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

/* Whether it is a binary operation without options, which may take a short way; those registered at
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
        (args[1].array ? short_way(op, args[0].array, args[1].array, out, &status)
                       : short_way_scalar(op, args[0].array, args[1].scalar, out, &status)))
        return status;
    return long_way(op, args, n, opts, out);
}

nd_status nd_apply_into(nd_op op, const nd_arg *args, int n, const nd_apply_opts *opts,
                        const nd_array *dst)
{
    nd_status status;
    if (is_plain_pair(op, args, n, opts) &&
        short_way_into(op, args[0].array, args[1].array, dst, &status))
        return status;
    ND_NEED("apply_into", 4, dst);
    return long_way_into(op, args, n, opts, dst);
}

static nd_status binary(nd_op op, const nd_array *a, const nd_array *b, nd_array **out)
{
    nd_status status;
    ND_OUT(nd__ops[op].name, 2, out, NULL);
    if (short_way(op, a, b, out, &status))
        return status;
    ND_RETURN_IF(nd__check_array(nd_op_get(op)->name, a, 0));
    ND_RETURN_IF(nd__check_array(nd_op_get(op)->name, b, 1));
    return long_way(op, (const nd_arg[]){{.array = a}, {.array = b}}, 2, NULL, out);
}

static nd_status unary(nd_op op, const nd_array *a, nd_array **out)
{
    ND_OUT(nd_op_get(op)->name, 1, out, NULL);
    return long_way(op, (const nd_arg[]){{.array = a}}, 1, NULL, out);
}

static nd_status unary_into(nd_op op, const nd_array *a, const nd_array *dst)
{
    return long_way_into(op, (const nd_arg[]){{.array = a}}, 1, NULL, dst);
}

static nd_status binary_into(nd_op op, const nd_array *a, const nd_array *b, const nd_array *dst)
{
    nd_status status;
    if (short_way_into(op, a, b, dst, &status))
        return status;
    ND_RETURN_IF(nd__check_array(nd_op_get(op)->name, a, 0));
    ND_RETURN_IF(nd__check_array(nd_op_get(op)->name, b, 1));
    return long_way_into(op, (const nd_arg[]){{.array = a}, {.array = b}}, 2, NULL, dst);
}

static nd_status binary_scalar(nd_op op, const nd_array *a, nd_scalar b, nd_array **out)
{
    nd_status status;
    ND_OUT(nd_op_get(op)->name, 2, out, NULL);
    if (short_way_scalar(op, a, b, out, &status))
        return status;
    return long_way(op, (const nd_arg[]){{.array = a}, {.scalar = b}}, 2, NULL, out);
}

static nd_status binary_scalar_into(nd_op op, const nd_array *a, nd_scalar b, const nd_array *dst)
{
    ND_RETURN_IF(nd__check_array(nd__ops[op].name, a, 0));
    return long_way_into(op, (const nd_arg[]){{.array = a}, {.scalar = b}}, 2, NULL, dst);
}

static nd_status check_three(nd_op op, const nd_array *a, const nd_array *b, const nd_array *c)
{
    ND_RETURN_IF(nd__check_array(nd_op_get(op)->name, a, 0));
    ND_RETURN_IF(nd__check_array(nd_op_get(op)->name, b, 1));
    return nd__check_array(nd_op_get(op)->name, c, 2);
}

static nd_status ternary(nd_op op, const nd_array *a, const nd_array *b, const nd_array *c,
                         nd_array **out)
{
    ND_OUT(nd_op_get(op)->name, 3, out, NULL);
    ND_RETURN_IF(check_three(op, a, b, c));
    return long_way(op, (const nd_arg[]){{.array = a}, {.array = b}, {.array = c}}, 3, NULL, out);
}

static nd_status ternary_into(nd_op op, const nd_array *a, const nd_array *b, const nd_array *c,
                              const nd_array *dst)
{
    ND_RETURN_IF(check_three(op, a, b, c));
    return long_way_into(op, (const nd_arg[]){{.array = a}, {.array = b}, {.array = c}}, 3, NULL,
                         dst);
}

/* The public functions, from the op table. */
#define WRAP_UNARY(name)                                               \
    nd_status nd_##name(const nd_array *a, nd_array **out)             \
    {                                                                  \
        return unary(ND_OP_##name, a, out);                            \
    }                                                                  \
    nd_status nd_##name##_into(const nd_array *a, const nd_array *dst) \
    {                                                                  \
        return unary_into(ND_OP_##name, a, dst);                       \
    }
#define WRAP_BINARY(name)                                                                  \
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
#define WRAP_TERNARY(name)                                                                       \
    nd_status nd_##name(const nd_array *a, const nd_array *b, const nd_array *c, nd_array **out) \
    {                                                                                            \
        return ternary(ND_OP_##name, a, b, c, out);                                              \
    }                                                                                            \
    nd_status nd_##name##_into(const nd_array *a, const nd_array *b, const nd_array *c,          \
                               const nd_array *dst)                                              \
    {                                                                                            \
        return ternary_into(ND_OP_##name, a, b, c, dst);                                         \
    }
#define WRAP_FILL(name)
#define WRAP_COPY(name)
#define WRAP_IOTA(name)
#define WRAP_REDUCE(name)
#define WRAP_ARGREDUCE(name)
#define WRAP_SCAN(name)
#define WRAP_NORM(name)
#define WRAP_MATMUL(name)
#define WRAP_TAKE(name)
#define WRAP_GATHER(name)
#define WRAP_SCATTER(name)
#define WRAP_COMPRESS(name)
#define WRAP_NONZERO(name)
#define WRAP_SORT(name)
#define WRAP_SEARCH(name)
#define WRAP_RANDOM(name)
#define ND_OP(name, CLASS, DOMAIN, RESULT, ulp, doc) WRAP_##CLASS(name)
#include <ndock/op.def>
