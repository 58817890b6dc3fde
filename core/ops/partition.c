/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Partitions, and sorting by several keys. */
#include "core/ops/steps.h"

#define SELECTED_FROM 1025 /* elements of a row; many shorter ones are sorted */

/* f: what sorts, where the device does not have the operation itself. */
static nd_status partition(nd_op which,
                           nd_status (*f)(const nd_array *, const nd_sort_opts *, nd_array **),
                           const nd_array *a, int64_t kth, int axis, nd_array **out)
{
    const char *op = nd_op_get(which)->name;
    nd_sort_opts o = {.size = sizeof o};
    *out = NULL;
    ND_RETURN_IF(nd__check_array(op, a, 0));
    ND_RETURN_IF(nd__axis(op, axis, a->ndim, &o.axis));
    const int64_t n = a->shape[o.axis];
    if (kth < -n || kth >= n)
        return nd__fail(ND_ERR_INDEX, op, 1,
                        "kth = %lld is out of range for the extent %lld of axis %d", (long long)kth,
                        (long long)n, o.axis);
    return nd__error_as(op, nd__selects(a, which) && (n >= SELECTED_FROM || a->size < 4 * n)
                                ? nd__partition(which, a, kth < 0 ? kth + n : kth, o.axis, out)
                                : f(a, &o, out));
}

nd_status nd_partition(const nd_array *a, int64_t kth, int axis, nd_array **out)
{
    ND_NEED("partition", 3, out);
    return partition(ND_OP_partition, nd_sort, a, kth, axis, out);
}

nd_status nd_argpartition(const nd_array *a, int64_t kth, int axis, nd_array **out)
{
    ND_NEED("argpartition", 3, out);
    return partition(ND_OP_argpartition, nd_argsort, a, kth, axis, out);
}

/* The order so far, sorted stably by one key more; *order NULL: none yet. */
static nd_status sort_by(const char *op, const nd_array *key, int axis, nd_array **order)
{
    const nd_sort_opts o = {.size = sizeof o, .axis = axis};
    nd_steps s = {ND_OK};
    nd_array *now, *step, *next;
    if (!*order)
        return nd_argsort(key, &o, order);
    ND_STEP(&s, now, nd_take_along_axis(key, *order, axis, &now));
    ND_STEP(&s, step, nd_argsort(now, &o, &step));
    ND_STEP(&s, next, nd_take_along_axis(*order, step, axis, &next));
    nd_release(*order);
    *order = NULL;
    return nd__steps_end(&s, op, next, order);
}

nd_status nd_lexsort(int n, const nd_array *const *keys, int axis, nd_array **out)
{
    nd_array *order = NULL;
    nd_status status = ND_OK;
    int where;
    ND_OUT("lexsort", 3, out, NULL);
    if (n < 1)
        return nd__fail(ND_ERR_ARGUMENT, "lexsort", 0, "%d keys; there is at least one", n);
    ND_NEED("lexsort", 1, keys);
    for (int i = 0; i < n; i++) {
        ND_RETURN_IF(nd__check_array("lexsort", keys[i], i));
        ND_RETURN_IF(nd__check_same_device("lexsort", keys[0], keys[i], 0, i));
        ND_RETURN_IF(nd__check_shape_is("lexsort", keys[i], keys[0]->ndim, keys[0]->shape, i));
    }
    ND_RETURN_IF(nd__axis("lexsort", axis, keys[0]->ndim, &where));
    for (int i = 0; i < n && status == ND_OK; i++)
        status = sort_by("lexsort", keys[i], where, &order);
    *out = status == ND_OK ? order : NULL;
    return nd__error_as("lexsort", status);
}
