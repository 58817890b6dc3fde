/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Matrices made of blocks on a diagonal. */
#include "core/ops/linalg.h"

static nd_status check_blocks(int n, const nd_array *const *arrays, int64_t *shape, nd_dtype *dtype)
{
    for (int i = 0; i < n; i++) {
        const nd_array *a = arrays[i];
        ND_RETURN_IF(nd__check_array("block_diag", a, 1));
        if (a->ndim > 2)
            return nd__fail(ND_ERR_SHAPE, "block_diag", 1, "block %d has %d axes; 2 is the most", i,
                            (int)a->ndim);
        if (i > 0)
            ND_RETURN_IF(nd__check_same_device("block_diag", arrays[0], a, 0, i));
        *dtype = i ? *dtype : a->dtype;
        ND_RETURN_IF(nd__promote("block_diag", *dtype, a->dtype, dtype));
        if (!nd__add_size(shape[0], a->ndim == 2 ? a->shape[0] : 1, &shape[0]) ||
            !nd__add_size(shape[1], a->ndim ? a->shape[a->ndim - 1] : 1, &shape[1]))
            return nd__fail(ND_ERR_OVERFLOW, "block_diag", 1, "more than 2^63 rows or columns");
    }
    return ND_OK;
}

nd_status nd_block_diag(int n, const nd_array *const *arrays, nd_array **out)
{
    int64_t shape[2] = {0, 0}, row = 0, column = 0;
    nd_dtype dtype = 0;
    nd_array *r = NULL;
    nd_status status = ND_OK;
    ND_OUT("block_diag", 2, out, NULL);
    if (n < 1)
        return nd__fail(ND_ERR_ARGUMENT, "block_diag", 0, "%d blocks; one is the least", n);
    ND_NEED("block_diag", 1, arrays);
    ND_RETURN_IF(check_blocks(n, arrays, shape, &dtype));
    ND_RETURN_IF(
        nd__error_as("block_diag", nd_zeros(arrays[0]->storage->device, dtype, 2, shape, &r)));
    for (int i = 0; i < n && status == ND_OK; i++) {
        const nd_array *a = arrays[i];
        const int64_t rows = a->ndim == 2 ? a->shape[0] : 1,
                      columns = a->ndim ? a->shape[a->ndim - 1] : 1;
        const nd_index part[2] = {nd_range(row, row + rows, 1),
                                  nd_range(column, column + columns, 1)};
        nd_array *view = NULL;
        status = nd_slice(r, part, 2, &view);
        if (status == ND_OK)
            status = nd__copy_into(a, view);
        nd_release(view);
        row += rows;
        column += columns;
    }
    return nd__hand_over(nd__error_as("block_diag", status), r, out);
}
