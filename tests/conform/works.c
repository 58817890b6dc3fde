/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The calls, and the arrays that they are made on. */
#include "tests/conform/grid.h"
#include "tests/conform/works.h"

static void small_integers(dense *d, int64_t below)
{
    for (int64_t i = 0; i < d->size; i++)
        cell_write(d->dtype, cell_real((long double)random_below(below)), dense_at(d, i));
}

static nd_array *make(nd_dtype dtype, int ndim, int64_t rows, int64_t columns, int64_t below)
{
    const int64_t shape[2] = {rows, columns};
    dense d = dense_new(dtype, ndim, shape);
    if (dtype == ND_F32)
        small_integers(&d, below);
    else
        for (int64_t i = 0; i < d.size; i++)
            dense_set(&d, i, random_below(below));
    nd_array *a = dense_array(&d);
    dense_release(&d);
    return a;
}

bool works_make(works_in *in, int64_t rows, int64_t columns)
{
    in->a = make(ND_F32, 2, rows, columns, 100);
    in->b = make(ND_F32, 2, rows, columns, 100);
    in->square = make(ND_F32, 2, columns, columns, 10);
    in->rows = make(ND_I64, 1, rows, 1, rows);
    in->truth = make(ND_BOOL, 2, rows, columns, 2);
    in->integer = make(ND_I32, 2, rows, columns, 1000);
    return in->a && in->b && in->square && in->rows && in->truth && in->integer;
}

void works_release(works_in *in)
{
    nd_release(in->a);
    nd_release(in->b);
    nd_release(in->square);
    nd_release(in->rows);
    nd_release(in->truth);
    nd_release(in->integer);
    memset(in, 0, sizeof *in);
}

static nd_status add(const works_in *in, nd_array **out)
{
    return nd_add(in->a, in->b, out);
}

static nd_status add_scalar(const works_in *in, nd_array **out)
{
    return nd_add_scalar(in->a, nd_float(3), out);
}

static nd_status exponential(const works_in *in, nd_array **out)
{
    return nd_exp(in->a, out);
}

static nd_status where(const works_in *in, nd_array **out)
{
    return nd_where(in->truth, in->a, in->b, out);
}

static nd_status convert(const works_in *in, nd_array **out)
{
    return nd_astype(in->integer, ND_F64, out);
}

/* Along the rows, so that every thread of a device has some. */
static nd_status sum(const works_in *in, nd_array **out)
{
    const nd_reduce_opts opts = {.size = sizeof opts, .naxes = 1, .axes = (const int32_t[]){0}};
    return nd_sum(in->a, &opts, out);
}

static nd_status sum_all(const works_in *in, nd_array **out)
{
    return nd_sum(in->b, NULL, out);
}

static nd_status greatest(const works_in *in, nd_array **out)
{
    const nd_reduce_opts opts = {.size = sizeof opts, .naxes = 1, .axes = (const int32_t[]){1}};
    return nd_max(in->a, &opts, out);
}

static nd_status argmax(const works_in *in, nd_array **out)
{
    const nd_reduce_opts opts = {.size = sizeof opts, .naxes = 1, .axes = (const int32_t[]){1}};
    return nd_argmax(in->a, &opts, out);
}

static nd_status running_sum(const works_in *in, nd_array **out)
{
    const nd_scan_opts opts = {.size = sizeof opts, .axis = 1};
    return nd_cumulative_sum(in->a, &opts, out);
}

static nd_status softmax(const works_in *in, nd_array **out)
{
    return nd_softmax(in->a, NULL, out);
}

static nd_status product(const works_in *in, nd_array **out)
{
    return nd_matmul(in->a, in->square, NULL, out);
}

static nd_status take(const works_in *in, nd_array **out)
{
    return nd_take(in->a, in->rows, 0, out);
}

static nd_status add_rows(const works_in *in, nd_array **out)
{
    return nd_index_add(in->a, in->rows, in->b, 0, out);
}

static nd_status sort(const works_in *in, nd_array **out)
{
    return nd_sort(in->a, NULL, out);
}

static nd_status argsort(const works_in *in, nd_array **out)
{
    return nd_argsort(in->integer, NULL, out);
}

static nd_status nonzero(const works_in *in, nd_array **out)
{
    return nd_nonzero(in->truth, out);
}

static nd_status uniform(const works_in *in, nd_array **out)
{
    const int64_t shape[2] = {nd_shape(in->a)[0], nd_shape(in->a)[1]};
    const nd_random_key key = {0};
    return nd_random_uniform(run.device, ND_F32, 2, shape, &key, 0, 1, out);
}

const work works[] = {{"add", add},         {"add of a scalar", add_scalar},
                      {"exp", exponential}, {"where", where},
                      {"astype", convert},  {"sum along axis 0", sum},
                      {"sum", sum_all},     {"max", greatest},
                      {"argmax", argmax},   {"cumulative_sum", running_sum},
                      {"softmax", softmax}, {"matmul", product},
                      {"take", take},       {"index_add", add_rows},
                      {"sort", sort},       {"argsort", argsort},
                      {"nonzero", nonzero}, {"random_uniform", uniform},
                      {NULL, NULL}};
