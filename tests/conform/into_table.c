/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The table of functions that write into an array that is there; elementwise ones from op.def. */
#include "tests/conform/into.h"

/* ---- one caller for each kind of signature ---- */

typedef nd_status unary_fn(const nd_array *, const nd_array *);
typedef nd_status binary_fn(const nd_array *, const nd_array *, const nd_array *);
typedef nd_status ternary_fn(const nd_array *, const nd_array *, const nd_array *,
                             const nd_array *);
typedef nd_status reduce_fn(const nd_array *, const nd_reduce_opts *, const nd_array *);
typedef nd_status scan_fn(const nd_array *, const nd_scan_opts *, const nd_array *);
typedef nd_status norm_fn(const nd_array *, const nd_norm_opts *, const nd_array *);
typedef nd_status fft_fn(const nd_array *, const nd_fft_opts *, const nd_array *);
typedef nd_status linalg_fn(const nd_array *, const nd_linalg_opts *, const nd_array *);
typedef nd_status solve_fn(const nd_array *, const nd_array *, const nd_linalg_opts *,
                           const nd_array *);
typedef nd_status sort_fn(const nd_array *, const nd_sort_opts *, const nd_array *);
typedef nd_status take_fn(const nd_array *, const nd_array *, int, const nd_array *);
#define CALLER(name) \
    static nd_status name(const into_entry *e, nd_array *const *in, nd_array *dst, nd_array *count)
#define UNUSED_COUNT (void)count

CALLER(call_unary)
{
    UNUSED_COUNT;
    return ((unary_fn *)e->fn)(in[0], dst);
}

CALLER(call_binary)
{
    UNUSED_COUNT;
    return ((binary_fn *)e->fn)(in[0], in[1], dst);
}

CALLER(call_ternary)
{
    UNUSED_COUNT;
    return ((ternary_fn *)e->fn)(in[0], in[1], in[2], dst);
}

/* With a number as the second operand. */
CALLER(call_apply)
{
    const nd_arg args[2] = {nd_array_arg(in[0]), nd_scalar_arg(nd_bool(1))};
    UNUSED_COUNT;
    return nd_apply_into(e->op, args, 2, NULL, dst);
}

CALLER(call_reduce)
{
    const int32_t axis = e->axis;
    const nd_reduce_opts opts = {.size = sizeof opts, .axes = &axis, .naxes = 1};
    UNUSED_COUNT;
    return ((reduce_fn *)e->fn)(in[0], &opts, dst);
}

CALLER(call_scan)
{
    const nd_scan_opts opts = {.size = sizeof opts, .axis = e->axis};
    UNUSED_COUNT;
    return ((scan_fn *)e->fn)(in[0], &opts, dst);
}

CALLER(call_softmax)
{
    const int32_t axis = e->axis;
    const nd_norm_opts opts = {.size = sizeof opts, .axes = &axis, .naxes = 1, .eps = -1};
    UNUSED_COUNT;
    return ((norm_fn *)e->fn)(in[0], &opts, dst);
}

CALLER(call_layer_norm)
{
    UNUSED_COUNT;
    (void)e;
    return nd_layer_norm_into(in[0], in[1], in[2], NULL, dst);
}

CALLER(call_rms_norm)
{
    UNUSED_COUNT;
    (void)e;
    return nd_rms_norm_into(in[0], in[1], NULL, dst);
}

CALLER(call_fft)
{
    const int32_t axis = 0;
    const int64_t n = INTO_ROWS;
    const nd_fft_opts opts = {.size = sizeof opts, .axes = &axis, .lengths = &n, .naxes = 1};
    UNUSED_COUNT;
    return ((fft_fn *)e->fn)(in[0], &opts, dst);
}

CALLER(call_sort)
{
    const nd_sort_opts opts = {.size = sizeof opts, .axis = e->axis, .descending = e->how};
    UNUSED_COUNT;
    return ((sort_fn *)e->fn)(in[0], &opts, dst);
}

CALLER(call_take)
{
    UNUSED_COUNT;
    return ((take_fn *)e->fn)(in[0], in[1], 0, dst);
}

CALLER(call_scatter)
{
    UNUSED_COUNT;
    return nd_scatter_into(in[0], in[1], 0, e->how, dst);
}

CALLER(call_index_add)
{
    UNUSED_COUNT;
    (void)e;
    return nd_index_add_into(in[0], in[1], 0, dst);
}

CALLER(call_put)
{
    UNUSED_COUNT;
    (void)e;
    return nd_put_into(in[0], in[1], ND_INDEX_RAISE, dst);
}

CALLER(call_put_along_axis)
{
    UNUSED_COUNT;
    (void)e;
    return nd_put_along_axis_into(in[0], in[1], 0, dst);
}

CALLER(call_place)
{
    UNUSED_COUNT;
    (void)e;
    return nd_place_into(in[0], in[1], dst);
}

CALLER(call_select)
{
    (void)e;
    return nd_select_into(in[0], in[1], dst, count);
}

CALLER(call_nonzero)
{
    (void)e;
    return nd_nonzero_into(in[0], dst, count);
}

CALLER(call_matmul)
{
    const nd_matmul_opts opts = {.size = sizeof opts, .alpha = 1, .beta = e->how, .bias = in[2]};
    UNUSED_COUNT;
    return nd_matmul_into(in[0], in[1], &opts, dst);
}

CALLER(call_scaled_mm)
{
    nd_array *one = NULL;
    (void)e;
    UNUSED_COUNT;
    nd_status status = nd_full(nd_device_of(dst), ND_F32, 0, NULL, nd_float(1), &one);
    if (status == ND_OK)
        status = nd_scaled_mm_into(in[0], in[1], one, one, NULL, dst);
    nd_release(one);
    return status;
}

/* Windows of one element: (channels, elements) is one image of one spatial axis. */
static const int64_t one_element[1] = {1};

CALLER(call_conv)
{
    const int32_t last = 2;
    nd_array *weight = NULL;
    UNUSED_COUNT;
    nd_status status = nd_expand_dims(e->how == 3 ? dst : in[1], 1, &last, &weight);
    if (status == ND_OK)
        status = e->how == 0   ? nd_conv_into(in[0], weight, NULL, NULL, dst)
                 : e->how == 1 ? nd_conv_transpose_into(in[0], weight, NULL, NULL, dst)
                 : e->how == 2 ? nd_conv_grad_input_into(in[0], weight, NULL, dst)
                               : nd_conv_grad_weight_into(in[0], in[1], NULL, weight);
    nd_release(weight);
    return status;
}

CALLER(call_pool)
{
    const nd_pooling_opts opts = {.size = sizeof opts, .rank = 1, .kernel = one_element};
    UNUSED_COUNT;
    return e->op == ND_OP_max_pool        ? nd_max_pool_into(in[0], &opts, dst, NULL)
           : e->op == ND_OP_max_pool_grad ? nd_max_pool_grad_into(in[0], in[1], &opts, dst)
           : e->op == ND_OP_avg_pool      ? nd_avg_pool_into(in[0], &opts, dst)
                                          : nd_avg_pool_grad_into(in[0], &opts, dst);
}

CALLER(call_upsample)
{
    const int32_t first = 0;
    const double scale[1] = {1};
    const nd_upsample_opts opts = {
        .size = sizeof opts, .scale = scale, .method = ND_UPSAMPLE_LINEAR};
    nd_array *x = NULL, *to = NULL;
    UNUSED_COUNT;
    nd_status status = nd_expand_dims(in[0], 1, &first, &x);
    if (status == ND_OK)
        status = nd_expand_dims(dst, 1, &first, &to);
    if (status == ND_OK)
        status = e->op == ND_OP_upsample ? nd_upsample_into(x, &opts, to)
                                         : nd_upsample_grad_into(x, &opts, to);
    nd_release(x);
    nd_release(to);
    return status;
}

CALLER(call_unfold)
{
    const nd_unfold_opts opts = {.size = sizeof opts, .rank = 1, .kernel = one_element};
    UNUSED_COUNT;
    return e->op == ND_OP_unfold ? nd_unfold_into(in[0], &opts, dst)
                                 : nd_fold_into(in[0], &opts, dst);
}

/* Unchecked: what is random may be singular. */
CALLER(call_linalg)
{
    const nd_linalg_opts opts = {.size = sizeof opts, .unchecked = 1};
    UNUSED_COUNT;
    return ((linalg_fn *)e->fn)(in[0], &opts, dst);
}

CALLER(call_solve)
{
    const nd_linalg_opts opts = {.size = sizeof opts, .unchecked = 1};
    UNUSED_COUNT;
    return ((solve_fn *)e->fn)(in[0], in[1], &opts, dst);
}

CALLER(call_fill)
{
    UNUSED_COUNT;
    (void)e;
    (void)in;
    return nd_fill(dst, nd_int(1));
}

CALLER(call_random)
{
    const nd_random_key key = {7, {9, 0}};
    UNUSED_COUNT;
    (void)in;
    return e->op == ND_OP_random_uniform  ? nd_random_uniform_into(&key, 0, 1, dst)
           : e->op == ND_OP_random_normal ? nd_random_normal_into(&key, 0, 1, dst)
                                          : nd_random_integers_into(&key, 0, 100, dst);
}

CALLER(call_draw)
{
    const nd_random_key key = {7, {9, 0}};
    const nd_arg params[1] = {nd_scalar_arg(nd_float(3))};
    UNUSED_COUNT;
    (void)in;
    return nd_random_draw_into(e->how, params, 1, &key, dst);
}

/* ---- forms ---- */
#define FLAT(role)              \
    {                           \
        1, {INTO_FLAT, 0}, role \
    }
#define TABLE(role)                     \
    {                                   \
        2, {INTO_ROWS, INTO_WIDE}, role \
    }
#define ROW(role)               \
    {                           \
        1, {INTO_WIDE, 0}, role \
    }
#define COLUMN(role)            \
    {                           \
        1, {INTO_ROWS, 0}, role \
    }
#define SQUARE(role)                    \
    {                                   \
        2, {INTO_ROWS, INTO_ROWS}, role \
    }
#define V INTO_VALUE

#define ROW_UNARY(op, DOMAIN, RESULT, ulp, doc)                               \
    {#op "_into",     call_unary,    (into_any)nd_##op##_into, ND_OP_##op, 1, \
     .in = {FLAT(V)}, .out = FLAT(V)},
#define ROW_BINARY(op, DOMAIN, RESULT, ulp, doc)              \
    {                                                         \
        #op "_into",   call_binary, (into_any)nd_##op##_into, \
        ND_OP_##op,    2,           .in = {FLAT(V), FLAT(V)}, \
        .out = FLAT(V)},                                      \
        {"apply_into", call_apply, NULL, ND_OP_##op, 1, .in = {FLAT(V)}, .out = FLAT(V)},
#define ROW_TERNARY(op, DOMAIN, RESULT, ulp, doc)                               \
    {#op "_into",                                                               \
     call_ternary,                                                              \
     (into_any)nd_##op##_into,                                                  \
     ND_OP_##op,                                                                \
     3,                                                                         \
     .in = {FLAT(ND_OP_##op == ND_OP_where ? INTO_MASK : V), FLAT(V), FLAT(V)}, \
     .out = FLAT(V)},
#define ROW_REDUCE(op, DOMAIN, RESULT, ulp, doc)                         \
    {#op "_into", call_reduce, (into_any)nd_##op##_into, ND_OP_##op,     \
     1,           .axis = 0,   .in = {TABLE(V)},         .out = ROW(V)}, \
        {#op "_into", call_reduce, (into_any)nd_##op##_into, ND_OP_##op, \
         1,           .axis = 1,   .in = {TABLE(V)},         .out = COLUMN(V)},
#define ROW_SCAN(op, DOMAIN, RESULT, ulp, doc)                           \
    {#op "_into", call_scan, (into_any)nd_##op##_into, ND_OP_##op,       \
     1,           .axis = 0, .in = {TABLE(V)},         .out = TABLE(V)}, \
        {#op "_into", call_scan, (into_any)nd_##op##_into, ND_OP_##op,   \
         1,           .axis = 1, .in = {TABLE(V)},         .out = TABLE(V)},
#define ND_EXPAND_UNARY ND_EXPAND_BY(ROW_UNARY)
#define ND_EXPAND_BINARY ND_EXPAND_BY(ROW_BINARY)
#define ND_EXPAND_TERNARY ND_EXPAND_BY(ROW_TERNARY)
#define ND_EXPAND_REDUCE ND_EXPAND_BY(ROW_REDUCE)
#define ND_EXPAND_ARGREDUCE ND_EXPAND_BY(ROW_REDUCE)
#define ND_EXPAND_SCAN ND_EXPAND_BY(ROW_SCAN)

#define SOFTMAX(op, along)                                                  \
    {                                                                       \
#op "_into", call_softmax, (into_any)nd_##op##_into, ND_OP_##op, 1, \
            .axis = along, .in = {TABLE(V) }, .out = TABLE(V)               \
    }
#define HALVED(role)                            \
    {                                           \
        2, {INTO_ROWS / 2 + 1, INTO_WIDE}, role \
    }
#define TRANSFORMS(function, op, from, to)                                          \
    {                                                                               \
#function "_into", call_fft, (into_any)nd_##function##_into, ND_OP_##op, 1, \
            .in = {from(V) }, .out = to(V)                                          \
    }
#define SORTS(op, along, down)                                             \
    {                                                                      \
#op "_into", call_sort, (into_any)nd_##op##_into, ND_OP_##op, 1,   \
            .axis = along, .how = down, .in = {TABLE(V) }, .out = TABLE(V) \
    }
#define TAKES(function, op, index)                                                   \
    {                                                                                \
#function "_into", call_take, (into_any)nd_##function##_into, ND_OP_##op, 2, \
            .in = {TABLE(V), index(INTO_INDEX) }, .out = TABLE(V)                    \
    }
#define SCATTERS(op, mode)                                                    \
    {                                                                         \
        "scatter_into", call_scatter, NULL, ND_OP_##op, 2,                    \
            .how = mode, .in = {TABLE(INTO_INDEX), TABLE(V)}, .out = TABLE(V) \
    }

const into_entry into_table[] = {
#include <ndock/op_expand.h>
    SOFTMAX(softmax, 0),
    SOFTMAX(softmax, 1),
    SOFTMAX(log_softmax, 0),
    SOFTMAX(log_softmax, 1),
    {"layer_norm_into", call_layer_norm, NULL, ND_OP_layer_norm, 3,
     .in = {TABLE(V), ROW(V), ROW(V)}, .out = TABLE(V)},
    {"rms_norm_into", call_rms_norm, NULL, ND_OP_rms_norm, 2, .in = {TABLE(V), ROW(V)},
     .out = TABLE(V)},
    TRANSFORMS(fft, fft, TABLE, TABLE),
    TRANSFORMS(ifft, fft, TABLE, TABLE),
    TRANSFORMS(fftn, fft, TABLE, TABLE),
    TRANSFORMS(ifftn, fft, TABLE, TABLE),
    TRANSFORMS(rfft, fft_r2c, TABLE, HALVED),
    TRANSFORMS(ihfft, fft_r2c, TABLE, HALVED),
    TRANSFORMS(rfftn, fft_r2c, TABLE, HALVED),
    TRANSFORMS(irfft, fft_c2r, HALVED, TABLE),
    TRANSFORMS(hfft, fft_c2r, HALVED, TABLE),
    TRANSFORMS(irfftn, fft_c2r, HALVED, TABLE),
    SORTS(sort, 0, 0),
    SORTS(sort, 1, 1),
    SORTS(argsort, 0, 1),
    SORTS(argsort, 1, 0),
    TAKES(take, take, COLUMN),
    TAKES(take_along_axis, gather, TABLE),
    TAKES(gather, gather, TABLE),
    SCATTERS(scatter, ND_SCATTER_SET),
    SCATTERS(scatter_add, ND_SCATTER_ADD),
    SCATTERS(scatter_min, ND_SCATTER_MIN),
    SCATTERS(scatter_max, ND_SCATTER_MAX),
    {"index_add_into", call_index_add, NULL, ND_OP_scatter_add, 2,
     .in = {COLUMN(INTO_INDEX), TABLE(V)}, .out = TABLE(V)},
    {"put_into", call_put, NULL, ND_OP_scatter, 2, .in = {COLUMN(INTO_INDEX), TABLE(V)},
     .out = TABLE(V)},
    {"put_along_axis_into", call_put_along_axis, NULL, ND_OP_scatter, 2,
     .in = {TABLE(INTO_INDEX), TABLE(V)}, .out = TABLE(V)},
    {"place_into", call_place, NULL, ND_OP_scatter, 2, .in = {TABLE(INTO_MASK), TABLE(V)},
     .out = TABLE(V)},
    {"select_into", call_select, NULL, ND_OP_compress, 2, .counts = true,
     .in = {TABLE(V), COLUMN(INTO_MASK)}, .out = TABLE(V)},
    {"nonzero_into", call_nonzero, NULL, ND_OP_nonzero, 1, .counts = true, .in = {FLAT(V)},
     .out = {2, {INTO_FLAT, 1}, V}},
    {"matmul_into", call_matmul, NULL, ND_OP_matmul, 3, .in = {SQUARE(V), SQUARE(V), COLUMN(V)},
     .out = SQUARE(V)},
    {"matmul_into", call_matmul, NULL, ND_OP_matmul, 3, .how = 1,
     .in = {SQUARE(V), SQUARE(V), COLUMN(V)}, .out = SQUARE(V)},
    {"scaled_mm_into", call_scaled_mm, NULL, ND_OP_scaled_mm, 2, .in = {SQUARE(V), SQUARE(V)},
     .out = SQUARE(V)},
    {"conv_into", call_conv, NULL, ND_OP_conv, 2, .how = 0, .in = {TABLE(V), SQUARE(V)},
     .out = TABLE(V)},
    {"conv_transpose_into", call_conv, NULL, ND_OP_conv_input, 2, .how = 1,
     .in = {TABLE(V), SQUARE(V)}, .out = TABLE(V)},
    {"conv_grad_input_into", call_conv, NULL, ND_OP_conv_input, 2, .how = 2,
     .in = {TABLE(V), SQUARE(V)}, .out = TABLE(V)},
    {"conv_grad_weight_into", call_conv, NULL, ND_OP_conv_weight, 2, .how = 3,
     .in = {TABLE(V), TABLE(V)}, .out = SQUARE(V)},
    {"max_pool_into", call_pool, NULL, ND_OP_max_pool, 1, .in = {TABLE(V)}, .out = TABLE(V)},
    {"max_pool_grad_into", call_pool, NULL, ND_OP_max_pool_grad, 2,
     .in = {TABLE(V), TABLE(INTO_INDEX)}, .out = TABLE(V)},
    {"avg_pool_into", call_pool, NULL, ND_OP_avg_pool, 1, .in = {TABLE(V)}, .out = TABLE(V)},
    {"avg_pool_grad_into", call_pool, NULL, ND_OP_avg_pool_grad, 1, .in = {TABLE(V)},
     .out = TABLE(V)},
    {"upsample_into", call_upsample, NULL, ND_OP_upsample, 1, .in = {TABLE(V)}, .out = TABLE(V)},
    {"upsample_grad_into", call_upsample, NULL, ND_OP_upsample_grad, 1, .in = {TABLE(V)},
     .out = TABLE(V)},
    {"unfold_into", call_unfold, NULL, ND_OP_unfold, 1, .in = {TABLE(V)}, .out = TABLE(V)},
    {"fold_into", call_unfold, NULL, ND_OP_fold, 1, .in = {TABLE(V)}, .out = TABLE(V)},
    {"cholesky_into", call_linalg, (into_any)nd_cholesky_into, ND_OP_cholesky, 1, .in = {SQUARE(V)},
     .out = SQUARE(V)},
    {"inv_into", call_linalg, (into_any)nd_inv_into, ND_OP_solve, 1, .in = {SQUARE(V)},
     .out = SQUARE(V)},
    {"solve_into", call_solve, (into_any)nd_solve_into, ND_OP_solve, 2, .in = {SQUARE(V), TABLE(V)},
     .out = TABLE(V)},
    {"solve_triangular_into", call_solve, (into_any)nd_solve_triangular_into,
     ND_OP_solve_triangular, 2, .in = {SQUARE(V), TABLE(V)}, .out = TABLE(V)},
    {"assign", call_unary, (into_any)nd_assign, ND_OP_copy, 1, .in = {FLAT(V)}, .out = FLAT(V)},
    {"assign", call_unary, (into_any)nd_assign, ND_OP_copy, 1, .in = {ROW(V)}, .out = TABLE(V)},
    {"fill", call_fill, NULL, ND_OP_fill, 0, .out = TABLE(V)},
    {"random_uniform_into", call_random, NULL, ND_OP_random_uniform, 0, .out = TABLE(V)},
    {"random_normal_into", call_random, NULL, ND_OP_random_normal, 0, .out = TABLE(V)},
    {"random_integers_into", call_random, NULL, ND_OP_random_integers, 0, .out = TABLE(V)},
    {"random_draw_into", call_draw, NULL, ND_OP_random_gamma, 0, .how = ND_DRAW_exponential,
     .out = TABLE(V)},
    {"random_draw_into", call_draw, NULL, ND_OP_random_gamma, 0, .how = ND_DRAW_chisquare,
     .out = TABLE(V)},
    {"random_draw_into", call_draw, NULL, ND_OP_random_poisson, 0, .how = ND_DRAW_poisson,
     .out = TABLE(V)},
};
const int into_entries = sizeof into_table / sizeof *into_table;
