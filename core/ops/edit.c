/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Slices put in, taken out and cut off along an axis. */
#include "core/ops/index.h"
#include "core/ops/steps.h"

nd_status nd_append(const nd_array *a, const nd_array *b, int axis, nd_array **out)
{
    const nd_array *const both[2] = {a, b};
    ND_OUT("append", 3, out, NULL);
    ND_RETURN_IF(nd__check_array("append", a, 0));
    ND_RETURN_IF(nd__check_array("append", b, 1));
    return nd__error_as("append", nd_concat(2, both, axis, out));
}

/* Indices as i64, of one dimension. */
static nd_status read_indices(nd_steps *s, const char *op, const nd_array *a,
                              const nd_array *indices, nd_array **out)
{
    ND_STEP(s, *out, nd__as_indices(op, indices, 1, out));
    ND_STEP_DO(s, nd__check_same_device(op, a, indices, 0, 1));
    if (s->status == ND_OK && indices->ndim != 1)
        s->status = nd__fail(ND_ERR_SHAPE, op, 1, "the indices have rank %d, not 1", indices->ndim);
    return s->status;
}

nd_status nd_delete(const nd_array *a, const nd_array *indices, int axis, nd_array **out)
{
    nd_steps s;
    int where;
    nd_array *at, *keep, *no, *rows, *r;
    ND_OUT("delete", 3, out, NULL);
    ND_RETURN_IF(nd__check_array("delete", a, 0));
    ND_RETURN_IF(nd__check_array("delete", indices, 1));
    ND_RETURN_IF(nd__axis("delete", axis, a->ndim, &where));
    ND_RETURN_IF(nd__steps_begin(&s, "delete", a, NULL));
    s.status = read_indices(&s, "delete", a, indices, &at);
    ND_STEP(&s, keep, nd_ones(a->storage->device, ND_BOOL, 1, &a->shape[where], &keep));
    ND_STEP(&s, no, nd_zeros(a->storage->device, ND_BOOL, 0, NULL, &no));
    if (s.status == ND_OK && at->size)
        ND_STEP_DO(&s, nd_scatter_into(at, no, 0, ND_SCATTER_SET, keep));
    nd_array *first = nd__step_moveaxis(&s, a, where, 0);
    ND_STEP(&s, rows, nd_select(first, keep, &rows));
    r = nd__step_moveaxis(&s, rows, 0, where);
    nd_array *dense;
    ND_STEP(&s, dense, nd_compact(r, &dense));
    return nd__steps_end(&s, "delete", dense, out);
}

/* ---- insert ---- */
/* Where the new slices stand in the result: each index and the number of new ones before it. */
static nd_array *new_places(nd_steps *s, const nd_array *at, int64_t extent)
{
    nd_array *order, *sorted, *places;
    nd_array *from_end = nd__step_scalar(s, ND_OP_add, at, nd_int(extent));
    nd_array *negative = nd__step_scalar(s, ND_OP_less, at, nd_int(0));
    nd_array *front = nd__step_where(s, negative, nd_array_arg(from_end), nd_array_arg(at));
    ND_STEP(s, order, nd_argsort(front, NULL, &order));
    ND_STEP(s, sorted, nd_take(front, order, 0, &sorted));
    nd_array *count = nd__step_range(s, at, 0, at->size);
    sorted = nd__step2(s, ND_OP_add, sorted, count);
    ND_STEP(s, places, nd_empty_like(sorted, 0, &places));
    ND_STEP_DO(s, nd_scatter_into(order, sorted, 0, ND_SCATTER_SET, places));
    return places;
}

/* For each slice of the result its position among a's and then the new ones. */
static nd_array *sources(nd_steps *s, const nd_array *a, const nd_array *at, int64_t extent)
{
    nd_array *old, *none, *running;
    const int64_t n = extent + at->size;
    nd_array *places = new_places(s, at, extent);
    nd_array *fresh = nd__step_range(s, a, extent, n);
    ND_STEP(s, old, nd_ones(a->storage->device, ND_I64, 1, &n, &old));
    ND_STEP(s, none, nd_zeros(a->storage->device, ND_I64, 0, NULL, &none));
    ND_STEP_DO(s, nd_scatter_into(places, none, 0, ND_SCATTER_SET, old));
    ND_STEP(s, running, nd_cumulative_sum(old, NULL, &running));
    running = nd__step_scalar(s, ND_OP_subtract, running, nd_int(1));
    if (s->status == ND_OK && running->size)
        ND_STEP_DO(s, nd_scatter_into(places, fresh, 0, ND_SCATTER_SET, running));
    return running;
}

nd_status nd_insert(const nd_array *a, const nd_array *indices, const nd_array *values, int axis,
                    nd_array **out)
{
    nd_steps s;
    int where;
    nd_array *at, *wide, *all, *r = NULL;
    int64_t shape[ND_MAX_NDIM];
    ND_OUT("insert", 4, out, NULL);
    ND_RETURN_IF(nd__check_array("insert", a, 0));
    ND_RETURN_IF(nd__check_array("insert", indices, 1));
    ND_RETURN_IF(nd__check_array("insert", values, 2));
    ND_RETURN_IF(nd__axis("insert", axis, a->ndim, &where));
    ND_RETURN_IF(nd__steps_begin(&s, "insert", a, NULL));
    s.status = read_indices(&s, "insert", a, indices, &at);
    memcpy(shape, a->shape, (size_t)a->ndim * sizeof *shape);
    shape[where] = indices->size;
    nd_array *cast = nd__step_cast(&s, values, a->dtype);
    ND_STEP(&s, wide, nd_broadcast_to(cast, a->ndim, shape, &wide));
    const nd_array *const both[2] = {a, wide};
    ND_STEP(&s, all, nd_concat(2, both, where, &all));
    nd_array *from = s.status == ND_OK && at->size ? sources(&s, a, at, a->shape[where]) : NULL;
    if (s.status == ND_OK && !at->size)
        r = all;
    else
        ND_STEP(&s, r, nd_take(all, from, where, &r));
    return nd__steps_end(&s, "insert", r, out);
}

/* ---- trimming ---- */
nd_status nd_trim_zeros(const nd_array *a, int front, int back, nd_array **view)
{
    nd_steps s;
    nd_array *first, *last, *turned;
    ND_OUT("trim_zeros", 3, view, NULL);
    ND_RETURN_IF(nd__check_array("trim_zeros", a, 0));
    if (a->ndim != 1)
        return nd__fail(ND_ERR_SHAPE, "trim_zeros", 0, "rank %d, not 1", a->ndim);
    ND_RETURN_IF(nd__steps_begin(&s, "trim_zeros", a, NULL));
    int64_t from = 0, to = a->size;
    if (a->size) {
        nd_array *some = nd__step_scalar(&s, ND_OP_not_equal, a, nd_int(0)), *any;
        ND_STEP(&s, turned, nd_flip(some, 0, NULL, &turned));
        ND_STEP(&s, first, nd_argmax(some, NULL, &first));
        ND_STEP(&s, last, nd_argmax(turned, NULL, &last));
        ND_STEP(&s, any, nd_any(some, NULL, &any));
        const bool empty = nd__step_int(&s, any) == 0;
        from = front ? empty ? a->size : nd__step_int(&s, first) : 0;
        to = back ? empty ? 0 : a->size - nd__step_int(&s, last) : a->size;
    }
    nd_array *r = nd__step_part(&s, a, 0, from, to < from ? from : to, 1);
    return nd__steps_end(&s, "trim_zeros", r, view);
}
