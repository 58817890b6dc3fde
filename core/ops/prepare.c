/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What all operations do in the same way before and after their kernel runs. */
#include "core/ops/prepare.h"

void nd__operation_begin(nd_operation *of, nd_op op,
                         nd_status (*run)(const nd_operation *of, const nd_array *dst))
{
    memset(of, 0, offsetof(nd_operation, shape));
    of->info = nd_op_get(op);
    of->name = of->info ? of->info->name : NULL;
    of->run = run;
}

nd_status nd__operand(nd_operation *of, int place, const nd_array *a)
{
    ND_RETURN_IF(nd__check_array(of->name, a, place));
    of->in[place] = a;
    if (!of->device)
        of->device = a->storage->device;
    return place > 0 && of->in[0] ? nd__check_same_device(of->name, of->in[0], a, 0, place)
                                  : (nd_status)ND_OK;
}

void nd__operand_take(nd_operation *of, int place, nd_array *a)
{
    nd_release(of->owned[place]);
    of->in[place] = of->owned[place] = a;
}

nd_status nd__operand_cast(nd_operation *of, int place, nd_dtype dtype)
{
    nd_array *cast = NULL;
    if (of->in[place]->dtype == dtype)
        return ND_OK;
    ND_RETURN_IF(nd__cast(of->in[place], dtype, &cast));
    nd__operand_take(of, place, cast);
    return ND_OK;
}

nd_status nd__read_options(const char *op, const void *opts, void *copy, size_t n, size_t least)
{
    const uint32_t size = opts ? *(const uint32_t *)opts : 0;
    memset(copy, 0, n);
    if (opts && size < least)
        return nd__fail(ND_ERR_ARGUMENT, op, -1, "the options' size field is %u; set it to sizeof",
                        size);
    if (opts)
        memcpy(copy, opts, size < n ? size : n);
    return ND_OK;
}

nd_status nd__choose_dtypes(nd_operation *of, nd_dtype common, nd_dtype wanted)
{
    if (wanted) {
        ND_RETURN_IF(nd__check_dtype(of->name, wanted));
        ND_RETURN_IF(nd__check_castable(of->name, common, wanted));
        common = wanted;
    }
    const bool rounds = nd__op_rounds(of->info, common);
    ND_RETURN_IF(nd__op_domain(of->info, rounds ? ND_F32 : common, &of->compute));
    of->result = nd__op_result(of->info, of->compute);
    of->stored = rounds && of->result == ND_F32 ? common : 0;
    return ND_OK;
}

void nd__result_shape(nd_operation *of, int ndim, const int64_t *shape)
{
    of->ndim = ndim;
    memcpy(of->shape, shape, (size_t)ndim * sizeof *shape);
}

static void end(nd_operation *of)
{
    for (int i = 0; i < ND_OPERANDS; i++)
        nd_release(of->owned[i]);
    nd__scope_leave(&of->scope);
}

/* Of an array that nobody has yet. */
static void put_innermost(nd_array *r, int axis)
{
    int64_t step = r->shape[axis];
    r->stride[axis] = 1;
    for (int d = r->ndim - 1; d >= 0; d--)
        if (d != axis) {
            r->stride[d] = step;
            step *= r->shape[d];
        }
    if (!nd__is_c_order(r->ndim, r->shape, r->stride))
        r->flags &= ~(uint32_t)ND_FLAG_CONTIGUOUS;
}

static nd_status run_into_new(const nd_operation *of, nd_array **out)
{
    nd_array *r = NULL;
    ND_RETURN_IF(nd__array_alloc(of->name, of->device, of->result, of->ndim, of->shape, &r));
    if (of->inner > 0 && r->size > 0)
        put_innermost(r, of->inner);
    nd_status status = of->run(of, r);
    if (status != ND_OK || !of->stored)
        return nd__hand_over(status, r, out);
    status = nd__cast(r, of->stored, out);
    nd_release(r);
    return status;
}

nd_status nd__into_new(nd_operation *of, nd_status status, nd_array **out)
{
    if (status == ND_OK)
        status = run_into_new(of, out);
    end(of);
    return status;
}

/* ---- into a destination ---- */
static nd_status check_dst(const nd_operation *of, const nd_array *dst, int32_t place)
{
    ND_RETURN_IF(nd__check_writable(of->name, dst, place));
    if (dst->storage->device != of->device)
        return nd__fail(ND_ERR_DEVICE, of->name, place,
                        "the operands are on %s, the destination, argument %d, on %s; move one "
                        "with nd_to_device",
                        of->device->name, place, dst->storage->device->name);
    ND_RETURN_IF(nd__check_dst_shape(of->name, dst, of->ndim, of->shape, place));
    return nd__check_castable(of->name, of->stored ? of->stored : of->result, dst->dtype);
}

static bool disturbs(const nd_operation *of, int i, const nd_array *dst)
{
    const nd_array *a = of->in[i];
    return a && !(of->elementwise && nd__same_view(a, dst)) && nd__may_overlap(a, dst);
}

/* Copies of the operands that writing dst would change under the kernel's hands. */
static nd_status part_from(nd_operation *of, const nd_array *dst)
{
    for (int i = 0; i < ND_OPERANDS; i++) {
        nd_array *own = NULL;
        if (!disturbs(of, i, dst))
            continue;
        ND_RETURN_IF(nd_copy(of->in[i], NULL, &own));
        nd__operand_take(of, i, own);
    }
    return ND_OK;
}

static nd_status run_by_way_of_new(const nd_operation *of, const nd_array *dst)
{
    nd_array *r = NULL;
    ND_RETURN_IF(nd__array_alloc(of->name, of->device, of->result, of->ndim, of->shape, &r));
    nd_status status = of->updates ? nd__copy_into(dst, r) : (nd_status)ND_OK;
    if (status == ND_OK)
        status = of->run(of, r);
    if (status == ND_OK && of->stored && dst->dtype != of->stored) {
        nd_array *rounded = NULL;
        status = nd__cast(r, of->stored, &rounded);
        nd_release(r);
        r = rounded;
    }
    if (status == ND_OK)
        status = nd__copy_into(r, dst);
    nd_release(r);
    return status;
}

static nd_status run_into(nd_operation *of, const nd_array *dst)
{
    bool direct =
        dst->dtype == of->result && !of->stored && (!of->dense || dst->flags & ND_FLAG_CONTIGUOUS);
    if (direct && of->elementwise)
        ND_RETURN_IF(part_from(of, dst));
    for (int i = 0; i < ND_OPERANDS; i++)
        direct = direct && !disturbs(of, i, dst);
    return direct ? of->run(of, dst) : run_by_way_of_new(of, dst);
}

nd_status nd__into(nd_operation *of, nd_status status, const nd_array *dst, int32_t place)
{
    if (status == ND_OK)
        status = check_dst(of, dst, place);
    if (status == ND_OK)
        status = run_into(of, dst);
    end(of);
    return status;
}
