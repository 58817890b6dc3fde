/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Arrays beside, below and behind each other: concatenation after a view of more axes. */
#include <stdlib.h>
#include "core/ops/ops.h"

static nd_status with_axes(const nd_array *a, int ndim, bool column, nd_array **view)
{
    static const int32_t first[1] = {0}, last1[1] = {1}, last2[1] = {2}, around[2] = {0, 2};
    if (a->ndim >= ndim)
        return nd_slice(a, (const nd_index[1]){nd_ellipsis()}, 1, view);
    if (a->ndim == 0)
        return nd_reshape(a, ndim, (const int64_t[3]){1, 1, 1}, view);
    if (a->ndim == 1 && ndim == 2)
        return nd_expand_dims(a, 1, column ? last1 : first, view);
    return a->ndim == 1 ? nd_expand_dims(a, 2, around, view) : nd_expand_dims(a, 1, last2, view);
}

nd_status nd_atleast(const nd_array *a, int ndim, nd_array **view)
{
    ND_OUT("atleast", 2, view, NULL);
    ND_RETURN_IF(nd__check_array("atleast", a, 0));
    if (ndim < 1 || ndim > 3)
        return nd__fail(ND_ERR_ARGUMENT, "atleast", 1, "rank %d; it is 1, 2 or 3", ndim);
    if (a->ndim >= ndim) {
        *view = nd_retain((nd_array *)a);
        return ND_OK;
    }
    return nd__error_as("atleast", with_axes(a, ndim, false, view));
}

/* ndim: of each array at least; axis -1: the second, of one dimension the first. */
static nd_status stack(const char *op, int n, const nd_array *const *arrays, int ndim, int axis,
                       bool column, nd_array **out)
{
    nd_status status = ND_OK;
    *out = NULL;
    if (n < 1)
        return nd__fail(ND_ERR_ARGUMENT, op, 0, "%d arrays given; at least one is needed", n);
    ND_NEED(op, 1, arrays);
    nd_array **views = calloc((size_t)n, sizeof *views);
    if (!views)
        return nd__fail(ND_ERR_MEMORY, op, -1, "no memory for a list of %d arrays", n);
    for (int i = 0; i < n && status == ND_OK; i++) {
        status = nd__check_array(op, arrays[i], i);
        if (status == ND_OK)
            status = with_axes(arrays[i], ndim, column, &views[i]);
    }
    if (status == ND_OK)
        status =
            nd_concat(n, (const nd_array *const *)views, axis < 0 ? views[0]->ndim > 1 : axis, out);
    nd_release_all(n, views);
    free(views);
    return nd__error_as(op, status);
}

nd_status nd_hstack(int n, const nd_array *const *arrays, nd_array **out)
{
    ND_NEED("hstack", 2, out);
    return stack("hstack", n, arrays, 1, -1, false, out);
}
nd_status nd_vstack(int n, const nd_array *const *arrays, nd_array **out)
{
    ND_NEED("vstack", 2, out);
    return stack("vstack", n, arrays, 2, 0, false, out);
}
nd_status nd_dstack(int n, const nd_array *const *arrays, nd_array **out)
{
    ND_NEED("dstack", 2, out);
    return stack("dstack", n, arrays, 3, 2, false, out);
}
nd_status nd_column_stack(int n, const nd_array *const *arrays, nd_array **out)
{
    ND_NEED("column_stack", 2, out);
    return stack("column_stack", n, arrays, 2, 1, true, out);
}

/* ---- blocks ---- */
static nd_status block_rows(int64_t rows, int cols, const nd_array *const *arrays, nd_array **row)
{
    for (int64_t i = 0; i < rows; i++) {
        const nd_array *const *parts = arrays + i * cols;
        for (int k = 0; k < cols; k++) {
            ND_RETURN_IF(nd__check_array("block_matrix", parts[k], 2));
            if (parts[k]->ndim < 2)
                return nd__fail(ND_ERR_SHAPE, "block_matrix", 2,
                                "block %d of row %lld has rank %d; bring it to 2 with nd_atleast",
                                k, (long long)i, parts[k]->ndim);
        }
        ND_RETURN_IF(nd_concat(cols, parts, -1, &row[i]));
    }
    return ND_OK;
}

nd_status nd_block_matrix(int64_t rows, int64_t cols, const nd_array *const *arrays, nd_array **out)
{
    ND_OUT("block_matrix", 3, out, NULL);
    if (rows < 1 || cols < 1 || rows > INT32_MAX / cols)
        return nd__fail(ND_ERR_ARGUMENT, "block_matrix", rows < 1 ? 0 : 1,
                        "%lld rows of %lld blocks; there is at least one of each, and at most 2^31",
                        (long long)rows, (long long)cols);
    ND_NEED("block_matrix", 2, arrays);
    nd_array **row = calloc((size_t)rows, sizeof *row);
    if (!row)
        return nd__fail(ND_ERR_MEMORY, "block_matrix", -1, "no memory for a list of %lld rows",
                        (long long)rows);
    nd_status status = block_rows(rows, (int)cols, arrays, row);
    if (status == ND_OK)
        status = nd_concat((int)rows, (const nd_array *const *)row, -2, out);
    nd_release_all((int)rows, row);
    free(row);
    return nd__error_as("block_matrix", status);
}
