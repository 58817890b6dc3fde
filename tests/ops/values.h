/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Arrays of written-out values, and comparisons with such. */
#ifndef NDOCK_TESTS_OPS_VALUES_H
#define NDOCK_TESTS_OPS_VALUES_H
#include <ndock/ndock.h>
#include "tests/tap.h"

enum { VALUES_MAX = 64 };

/* An array of the dtype with these values; the program ends where there is none. */
__attribute__((unused)) static nd_array *values_of(nd_dtype dtype, int ndim, const int64_t *shape,
                                                   const double *v)
{
    nd_array *wide = NULL, *r = NULL;
    const nd_layout layout = {.size = sizeof layout, .dtype = ND_F64, .ndim = ndim, .shape = shape};
    if (nd_from_host(&layout, v, NULL, &wide) != ND_OK || nd_astype(wide, dtype, &r) != ND_OK)
        bail(nd_last_error()->message);
    nd_release(wide);
    return r;
}

/* One dimension of n values. */
__attribute__((unused)) static nd_array *row_of(nd_dtype dtype, int64_t n, const double *v)
{
    return values_of(dtype, 1, &n, v);
}

static int are_values(nd_status status, nd_array *a, nd_dtype dtype, int ndim, const int64_t *shape,
                      const double *want, const char *what)
{
    double got[VALUES_MAX];
    nd_array *wide = NULL;
    int64_t size = 1;
    if (!ok(status == ND_OK, "%s", what)) {
        diag("%s", nd_last_error()->message);
        return 0;
    }
    for (int d = 0; d < ndim; d++)
        size *= shape[d];
    int fine = nd_dtype_of(a) == dtype && nd_ndim(a) == ndim;
    for (int d = 0; fine && d < ndim; d++)
        fine = nd_shape(a)[d] == shape[d];
    if (!ok(fine, "%s: shape and dtype", what))
        diag("rank %d, %s", nd_ndim(a), nd_dtype_name(nd_dtype_of(a)));
    fine = fine && size <= VALUES_MAX && nd_astype(a, ND_F64, &wide) == ND_OK &&
           nd_to_host(wide, got, (size_t)size * sizeof *got) == ND_OK;
    for (int64_t i = 0; fine && i < size; i++) {
        const double scale = dtype == ND_F32 ? 4e-7 : 4e-15;
        const int same = isnan(want[i]) ? isnan(got[i])
                                        : got[i] == want[i] ||
                                              fabs(got[i] - want[i]) <= scale * (1 + fabs(want[i]));
        if (!same)
            diag("element %d is %.17g, not %.17g", (int)i, got[i], want[i]);
        fine = same;
    }
    nd_release(wide);
    nd_release(a);
    return ok(fine, "%s: values", what);
}

__attribute__((unused)) static int is_row(nd_status status, nd_array *a, nd_dtype dtype, int64_t n,
                                          const double *want, const char *what)
{
    return are_values(status, a, dtype, 1, &n, want, what);
}

__attribute__((unused)) static int is_number(nd_status status, nd_array *a, nd_dtype dtype,
                                             double want, const char *what)
{
    return are_values(status, a, dtype, 0, NULL, &want, what);
}

#endif
