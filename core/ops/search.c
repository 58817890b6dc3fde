/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Searching in a sorted array. */
#include "core/ops/prepare.h"

typedef struct {
    nd_operation of; /* operands: the sorted array, the values */
    int32_t right;
} searching;

static nd_status run(const nd_operation *of, const nd_array *dst)
{
    const ndp_search params = {.size = sizeof params, .right = ((const searching *)of)->right};
    nd_array *const outs[1] = {(nd_array *)(uintptr_t)dst};
    return dst->size ? nd__run_arrays(ND_OP_searchsorted, 2, of->in, 1, outs, &params)
                     : (nd_status)ND_OK;
}

static nd_status start(const nd_array *sorted, const nd_array *values, const nd_array *sorter,
                       searching *s)
{
    nd_operation *of = &s->of;
    nd_array *ordered = NULL;
    nd_dtype common;
    nd__operation_begin(of, ND_OP_searchsorted, run);
    ND_RETURN_IF(nd__operand(of, 0, sorted));
    ND_RETURN_IF(nd__operand(of, 1, values));
    if (sorted->ndim != 1)
        return nd__fail(ND_ERR_SHAPE, of->name, 0, "the sorted array has rank %d, not 1",
                        sorted->ndim);
    ND_RETURN_IF(nd__promote(of->name, sorted->dtype, values->dtype, &common));
    ND_RETURN_IF(nd__op_domain(of->info, common, &of->compute));
    of->result = ND_I64;
    nd__result_shape(of, values->ndim, values->shape);
    if (sorter) {
        ND_RETURN_IF(nd__check_shape_is(of->name, sorter, 1, sorted->shape, 3));
        ND_RETURN_IF(nd_take(sorted, sorter, 0, &ordered));
        nd__operand_take(of, 0, ordered);
    }
    ND_RETURN_IF(nd__operand_cast(of, 0, of->compute));
    return nd__operand_cast(of, 1, of->compute);
}

nd_status nd_searchsorted(const nd_array *sorted, const nd_array *values, int right,
                          const nd_array *sorter, nd_array **out)
{
    searching s;
    ND_OUT("searchsorted", 4, out, NULL);
    s.right = right != 0;
    return nd__into_new(&s.of, start(sorted, values, sorter, &s), out);
}

/* ---- counts of insertion positions, where the device has them ---- */
bool nd__counts_insertions(const nd_device *device, nd_dtype sorted)
{
    return nd_device_op_dtypes((nd_device *)(uintptr_t)device, ND_OP_histogram) >> sorted & 1;
}

static nd_status run_counts(const nd_operation *of, const nd_array *dst)
{
    const ndp_search params = {.size = sizeof params, .right = ((const searching *)of)->right};
    nd_array *const outs[1] = {(nd_array *)(uintptr_t)dst};
    return nd__run_arrays(ND_OP_histogram, 2, of->in, 1, outs, &params);
}

nd_status nd__insertion_counts(const nd_array *sorted, const nd_array *values, int right,
                               nd_array **out)
{
    searching s = {.right = right};
    nd_operation *of = &s.of;
    nd__operation_begin(of, ND_OP_histogram, run_counts);
    nd_status status = nd__operand(of, 0, sorted);
    if (status == ND_OK)
        status = nd__operand(of, 1, values);
    const int64_t n = status == ND_OK ? sorted->size + 1 : 0;
    of->compute = status == ND_OK ? sorted->dtype : ND_F64;
    of->result = ND_I64;
    nd__result_shape(of, 1, &n);
    return nd__into_new(of, status, out);
}
