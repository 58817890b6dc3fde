/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Matrices made of diagonals and powers, ones at chosen places, and the sum of a diagonal. */
#include "core/ops/linalg.h"

nd_status nd_tri(nd_device *device, nd_dtype dtype, int64_t rows, int64_t cols, int64_t k,
                 nd_array **out)
{
    nd_array *all = NULL;
    const int64_t shape[2] = {rows, cols};
    ND_OUT("tri", 5, out, NULL);
    ND_RETURN_IF(nd__error_as("tri", nd_ones(device, dtype, 2, shape, &all)));
    nd_status status = nd_tril(all, k, out);
    nd_release(all);
    return nd__error_as("tri", status);
}

static nd_status matrix_of(const char *op, const nd_array *flat, int64_t k, nd_array **out)
{
    nd_steps s;
    nd_array *r, *line;
    int64_t n;
    ND_RETURN_IF(nd__steps_begin(&s, op, flat, NULL));
    if (k == INT64_MIN || !nd__add_size(flat->size, k < 0 ? -k : k, &n)) {
        s.status =
            nd__fail(ND_ERR_OVERFLOW, op, 1, "diagonal %lld is beyond any matrix", (long long)k);
        return nd__steps_end(&s, op, NULL, NULL);
    }
    const int64_t shape[2] = {n, n};
    ND_STEP(&s, r, nd_zeros(flat->storage->device, flat->dtype, 2, shape, &r));
    ND_STEP(&s, line, nd_diagonal(r, k, 0, 1, &line));
    ND_STEP_DO(&s, nd__copy_into(flat, line));
    return nd__steps_end(&s, op, r, out);
}

nd_status nd_diag(const nd_array *a, int64_t k, nd_array **out)
{
    nd_array *line = NULL;
    ND_OUT("diag", 2, out, NULL);
    ND_RETURN_IF(nd__check_array("diag", a, 0));
    if (a->ndim == 1)
        return matrix_of("diag", a, k, out);
    if (a->ndim != 2)
        return nd__fail(ND_ERR_SHAPE, "diag", 0, "rank %d; it is 1 or 2", a->ndim);
    ND_RETURN_IF(nd__error_as("diag", nd_diagonal(a, k, 0, 1, &line)));
    nd_status status = nd_copy(line, NULL, out);
    nd_release(line);
    return nd__error_as("diag", status);
}

nd_status nd_diagflat(const nd_array *a, int64_t k, nd_array **out)
{
    nd_array *flat = NULL;
    ND_OUT("diagflat", 2, out, NULL);
    ND_RETURN_IF(nd__check_array("diagflat", a, 0));
    ND_RETURN_IF(nd__error_as("diagflat", nd_reshape_copy(a, 1, &a->size, &flat)));
    nd_status status = matrix_of("diagflat", flat, k, out);
    nd_release(flat);
    return status;
}

nd_status nd_vander(const nd_array *a, int64_t cols, int increasing, nd_array **out)
{
    nd_steps s;
    nd_array *r, *column, *turned;
    const int32_t last[1] = {1};
    ND_OUT("vander", 3, out, NULL);
    ND_RETURN_IF(nd__check_array("vander", a, 0));
    if (a->ndim != 1)
        return nd__fail(ND_ERR_SHAPE, "vander", 0, "rank %d, not 1", a->ndim);
    ND_RETURN_IF(nd__steps_begin(&s, "vander", a, NULL));
    const int64_t n = cols < 0 ? a->size : cols, shape[2] = {a->size, n};
    nd_array *x = nd__step_cast(&s, a, a->dtype == ND_BOOL ? ND_I64 : a->dtype);
    const nd_dtype dtype = s.status == ND_OK ? x->dtype : a->dtype;
    ND_STEP(&s, r, nd_ones(a->storage->device, dtype, 2, shape, &r));
    ND_STEP(&s, column, nd_expand_dims(x, 1, last, &column));
    if (n > 1 && s.status == ND_OK) { /* products, so that integers stay exact */
        nd_array *rest = nd__step_part(&s, r, 1, 1, ND_END_OPEN, 1);
        const nd_scan_opts along = {.size = sizeof along, .dtype = dtype, .axis = 1};
        ND_STEP_DO(&s, nd__copy_into(column, rest));
        ND_STEP_DO(&s, nd_cumulative_prod_into(r, &along, r));
    }
    if (!increasing) {
        ND_STEP(&s, turned, nd_flip(r, 1, last, &turned));
        r = nd__step_copy(&s, turned);
    }
    return nd__steps_end(&s, "vander", r, out);
}

nd_status nd_one_hot(const nd_array *indices, int64_t n, nd_dtype dtype, nd_array **out)
{
    nd_steps s;
    nd_array *column;
    const int32_t last[1] = {-1};
    ND_OUT("one_hot", 3, out, NULL);
    ND_RETURN_IF(nd__check_array("one_hot", indices, 0));
    ND_RETURN_IF(nd__check_dtype("one_hot", dtype));
    if (!(nd__kind(indices->dtype) & (ND_KIND_INT | ND_KIND_UINT)))
        return nd__fail(ND_ERR_DTYPE, "one_hot", 0, "the indices are %s, not integers",
                        nd_dtype_name(indices->dtype));
    if (n < 0)
        return nd__fail(ND_ERR_ARGUMENT, "one_hot", 1, "an extent of %lld is negative",
                        (long long)n);
    ND_RETURN_IF(nd__steps_begin(&s, "one_hot", indices, NULL));
    const nd_dtype wide = indices->dtype == ND_U64 ? ND_U64 : ND_I64;
    nd_array *places = nd__step_cast(&s, nd__step_range(&s, indices, 0, n), wide);
    nd_array *x = nd__step_cast(&s, indices, wide);
    ND_STEP(&s, column, nd_expand_dims(x, 1, last, &column));
    nd_array *r = nd__step2(&s, ND_OP_equal, column, places);
    r = nd__step_cast(&s, r, dtype);
    return nd__steps_end(&s, "one_hot", r, out);
}

nd_status nd_trace(const nd_array *a, int64_t offset, nd_dtype dtype, nd_array **out)
{
    static const int32_t last = -1;
    const nd_reduce_opts o = {.size = sizeof o, .dtype = dtype, .axes = &last, .naxes = 1};
    nd_steps s = {.status = ND_OK};
    nd_array *diagonal, *sum;
    ND_OUT("trace", 3, out, NULL);
    ND_RETURN_IF(nd__check_array("trace", a, 0));
    ND_RETURN_IF(nd__check_matrix("trace", a, 0));
    ND_RETURN_IF(nd__steps_begin(&s, "trace", a, NULL));
    ND_STEP(&s, diagonal, nd_diagonal(a, offset, -2, -1, &diagonal));
    ND_STEP(&s, sum, nd_sum(diagonal, &o, &sum));
    return nd__steps_end(&s, "trace", sum, out);
}
