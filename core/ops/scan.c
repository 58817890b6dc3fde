/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Scans: running sums and products along one axis. */
#include "core/ops/reduce.h"

typedef struct {
    nd_operation of;
    int axis;
    bool include_initial; /* the result begins with the neutral element */
} scanning;

/* The parts of the result that get the initial value and the running ones. */
static nd_status fill_initial(const scanning *s, const nd_array *out, nd_array **rest)
{
    const nd_index first[2] = {nd_ellipsis(), nd_range(0, 1, 1)},
                   others[2] = {nd_ellipsis(), nd_range(1, ND_END_OPEN, 1)};
    nd_array *initial = NULL;
    ND_RETURN_IF(nd_slice(out, first, 2, &initial));
    nd_status status = nd_fill(initial, nd_int(s->of.info->op == ND_OP_cumulative_prod));
    nd_release(initial);
    return status == ND_OK ? nd_slice(out, others, 2, rest) : status;
}

static nd_status run(const nd_operation *of, const nd_array *dst)
{
    const scanning *s = (const scanning *)of;
    nd_array *in = NULL, *out = NULL, *rest = NULL;
    ndp_scan params = {.size = sizeof params};
    const int32_t from[1] = {s->axis}, to[1] = {-1};
    nd_status status;
    ND_GOTO_IF(done, nd_moveaxis(of->in[0], 1, from, to, &in));
    ND_GOTO_IF(done, nd_moveaxis(dst, 1, from, to, &out));
    if (s->include_initial)
        ND_GOTO_IF(done, fill_initial(s, out, &rest));
    const nd_array *inputs[1] = {in};
    nd_array *outputs[1] = {rest ? rest : out};
    if (in->size)
        ND_GOTO_IF(done, nd__run_arrays(of->info->op, 1, inputs, 1, outputs, &params));
done:
    nd_release(in);
    nd_release(out);
    nd_release(rest);
    return status;
}

static nd_status start(nd_op op, const nd_array *a, const nd_scan_opts *opts, scanning *s)
{
    nd_scan_opts o;
    int64_t size;
    nd__operation_begin(&s->of, op, run);
    const char *name = s->of.name;
    ND_RETURN_IF(nd__operand(&s->of, 0, a));
    ND_RETURN_IF(nd__read_options(name, opts, &o, sizeof o, NDP_END(nd_scan_opts, dtype)));
    ND_RETURN_IF(nd__scope_of(name, a, opts, &s->of.scope));
    if (!opts && a->ndim != 1)
        return nd__fail(ND_ERR_ARGUMENT, name, 1, "rank %d needs options that name the axis",
                        a->ndim);
    ND_RETURN_IF(nd__axis(name, o.axis, a->ndim, &s->axis));
    ND_RETURN_IF(nd__reduce_dtypes(&s->of, a->dtype, o.dtype));
    nd__result_shape(&s->of, a->ndim, a->shape);
    s->include_initial = o.include_initial != 0;
    s->of.shape[s->axis] += s->include_initial;
    ND_RETURN_IF(nd__check_shape(name, s->of.result, s->of.ndim, s->of.shape, &size));
    return o.dtype ? nd__operand_cast(&s->of, 0, s->of.compute) : (nd_status)ND_OK;
}

static nd_status scan(nd_op op, const nd_array *a, const nd_scan_opts *opts, nd_array **out)
{
    scanning s;
    *out = NULL;
    return nd__into_new(&s.of, start(op, a, opts, &s), out);
}

static nd_status scan_into(nd_op op, const nd_array *a, const nd_scan_opts *opts,
                           const nd_array *dst)
{
    scanning s;
    return nd__into(&s.of, start(op, a, opts, &s), dst, 2);
}

nd_status nd_cumulative_sum(const nd_array *a, const nd_scan_opts *opts, nd_array **out)
{
    ND_NEED("cumulative_sum", 2, out);
    return scan(ND_OP_cumulative_sum, a, opts, out);
}
nd_status nd_cumulative_prod(const nd_array *a, const nd_scan_opts *opts, nd_array **out)
{
    ND_NEED("cumulative_prod", 2, out);
    return scan(ND_OP_cumulative_prod, a, opts, out);
}
nd_status nd_cumulative_sum_into(const nd_array *a, const nd_scan_opts *opts, const nd_array *dst)
{
    ND_NEED("cumulative_sum", 2, dst);
    return scan_into(ND_OP_cumulative_sum, a, opts, dst);
}
nd_status nd_cumulative_prod_into(const nd_array *a, const nd_scan_opts *opts, const nd_array *dst)
{
    ND_NEED("cumulative_prod", 2, dst);
    return scan_into(ND_OP_cumulative_prod, a, opts, dst);
}
