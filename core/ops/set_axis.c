/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Distinct slices along an axis: sorted by all their elements, compared with their neighbours. */
#include "core/ops/set.h"
#include "core/ops/steps.h"

typedef struct {
    nd_array **out[4]; /* values, indices, inverse, counts; NULL: nobody wants it */
    nd_array *order, *mask;
} distinct;

/* The order of the slices by their last elements, then those before, and so on: each sort is
 * stable. */
static nd_array *order_of(nd_steps *s, const nd_array *rows)
{
    nd_array *order = nd__step_range(s, rows, 0, rows->shape[0]);
    for (int64_t c = rows->shape[1] - 1; c >= 0 && s->status == ND_OK; c--) {
        nd_steps own = {ND_OK};
        nd_array *now, *step, *next;
        nd_array *column = nd__step_flat(&own, nd__step_part(&own, rows, 1, c, c + 1, 1));
        ND_STEP(&own, now, nd_take(column, order, 0, &now));
        ND_STEP(&own, step, nd_argsort(now, NULL, &step));
        ND_STEP(&own, next, nd_take(order, step, 0, &next));
        nd_array *kept = NULL;
        s->status = nd__steps_end(&own, "unique_axis", next, &kept);
        if (s->status == ND_OK) { /* in the place of the one before */
            nd_release(s->made[s->n - 1]);
            s->made[s->n - 1] = order = kept;
        }
    }
    return order;
}

/* Which of the sorted slices differ from the one before. */
static nd_array *first_of_each(nd_steps *s, const nd_array *rows, const nd_array *order)
{
    nd_array *sorted, *mask;
    const int64_t n = rows->shape[0];
    ND_STEP(s, sorted, nd_take(rows, order, 0, &sorted));
    ND_STEP(s, mask, nd_ones(rows->storage->device, ND_BOOL, 1, &n, &mask));
    if (n < 2)
        return mask;
    nd_array *differs =
        nd__step2(s, ND_OP_not_equal, nd__step_part(s, sorted, 0, 1, ND_END_OPEN, 1),
                  nd__step_part(s, sorted, 0, ND_END_OPEN, -1, 1));
    nd_array *any = nd__step_reduce(s, nd_any, differs, 1, false);
    nd_array *rest = nd__step_part(s, mask, 0, 1, ND_END_OPEN, 1);
    ND_STEP_DO(s, nd__copy_into(any, rest));
    return mask;
}

static void find(nd_steps *s, const nd_array *a, int axis, distinct *d)
{
    nd_array *moved = nd__step_moveaxis(s, a, axis, 0);
    const int64_t n = a->shape[axis], shape[2] = {n, n ? a->size / n : 0};
    nd_array *rows = nd__step_reshape(s, moved, 2, shape);
    if (s->status != ND_OK)
        return;
    d->order = order_of(s, rows);
    d->mask = first_of_each(s, rows, d->order);
}

nd_status nd_unique_axis(const nd_array *a, int axis, nd_array **values, nd_array **indices,
                         nd_array **inverse, nd_array **counts)
{
    nd_steps s;
    distinct d = {{values, indices, inverse, counts}, NULL, NULL};
    int where;
    nd_array *first;
    for (int i = 0; i < 4; i++)
        if (d.out[i])
            *d.out[i] = NULL;
    ND_RETURN_IF(nd__check_array("unique_axis", a, 0));
    ND_RETURN_IF(nd__axis("unique_axis", axis, a->ndim, &where));
    ND_RETURN_IF(nd__steps_begin(&s, "unique_axis", a, NULL));
    find(&s, a, where, &d);
    ND_STEP(&s, first, nd_select(d.order, d.mask, &first));
    if (values)
        ND_STEP_DO(&s, nd_take(a, first, where, values));
    if (indices && s.status == ND_OK)
        *indices = nd_retain(first);
    if (inverse)
        ND_STEP_DO(&s, nd__number_values(d.mask, d.order, 1, &a->shape[where], inverse));
    if (counts)
        ND_STEP_DO(&s, nd__count_runs(d.mask, counts));
    for (int i = 0; i < 4; i++)
        if (s.status != ND_OK && d.out[i]) {
            nd_release(*d.out[i]);
            *d.out[i] = NULL;
        }
    return nd__steps_end(&s, "unique_axis", NULL, NULL);
}
