/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Conformance: basic indexing as Python's, and arrays of rank 64. */
#include "tests/conform/grid.h"

/* Which positions of an axis a range names, by Python's definition: i, i + k, ... before j. */
static int64_t positions_of(nd_index x, int64_t extent, int64_t *out)
{
    __int128 k = x.step, i = x.start, j = x.stop;
    int64_t n = 0;
    i = x.start == ND_END_OPEN ? (k > 0 ? 0 : extent - 1) : i < 0 ? i + extent : i;
    j = x.stop == ND_END_OPEN ? (k > 0 ? extent : -1) : j < 0 ? j + extent : j;
    __int128 first = k > 0 ? 0 : -1, last = k > 0 ? extent : extent - 1;
    i = i < first ? first : i > last ? last : i;
    j = j < first ? first : j > last ? last : j;
    for (; k > 0 ? i < j : i > j; i += k)
        out[n++] = (int64_t)i;
    return n;
}

static int64_t random_bound(int64_t extent)
{
    static const int64_t extremes[] = {ND_END_OPEN, ND_END_OPEN, INT64_MAX, INT64_MIN + 1};
    return random_below(3) ? random_below(2 * extent + 7) - extent - 3 : extremes[random_below(4)];
}

static nd_index random_range(int64_t extent)
{
    static const int64_t extremes[] = {INT64_MAX, INT64_MIN + 1, 100, -100};
    int64_t step = random_below(10) == 0 ? extremes[random_below(4)] : random_below(9) - 4;
    return nd_range(random_bound(extent), random_bound(extent), step ? step : 1);
}

enum { MOST_POSITIONS = 400, MOST_ENTRIES = 12 };
/* For each axis of the array the positions that the index names. */
typedef struct {
    int64_t count[CASE_NDIM], position[CASE_NDIM][MOST_POSITIONS];
    nd_index idx[MOST_ENTRIES];
    int n, ndim;                        /* entries; rank of the result */
    int axis[CASE_NDIM + MOST_ENTRIES]; /* of the array, for each axis of the result; -1: new */
    int64_t shape[CASE_NDIM + MOST_ENTRIES];
    bool out_of_range;
} selection;

static void take_axis(selection *s, const mirror *m, int axis, nd_index x)
{
    int64_t extent = m->shape[axis];
    if (x.kind == ND_INDEX_INT) {
        s->count[axis] = 1;
        s->position[axis][0] = x.start < 0 ? x.start + extent : x.start;
        s->out_of_range |= s->position[axis][0] < 0 || s->position[axis][0] >= extent;
        return;
    }
    s->count[axis] = positions_of(x, extent, s->position[axis]);
    s->axis[s->ndim] = axis;
    s->shape[s->ndim++] = s->count[axis];
}

static void maybe_new_axis(selection *s)
{
    if (random_below(6) || s->n >= MOST_ENTRIES - 6)
        return;
    s->idx[s->n++] = nd_newaxis();
    s->axis[s->ndim] = -1;
    s->shape[s->ndim++] = 1;
}

/* Entries for the first axes, an ellipsis at one of them sometimes, new axes between. */
static void random_index(selection *s, const mirror *m)
{
    int hidden_from = (int)random_below(m->ndim + 1);
    int hidden = (int)random_below(m->ndim - hidden_from + 1); /* axes the ellipsis stands for */
    bool at_end = hidden_from + hidden == m->ndim && random_below(2); /* it may be implied */
    memset(s, 0, sizeof *s);
    for (int axis = 0; axis <= m->ndim; axis++) {
        if (!(at_end && axis > hidden_from))
            maybe_new_axis(s);
        if (axis == hidden_from && !at_end)
            s->idx[s->n++] = nd_ellipsis();
        for (; axis >= hidden_from && axis < hidden_from + hidden; axis++)
            take_axis(s, m, axis, nd_all_of());
        if (axis == hidden_from + hidden && hidden && !at_end)
            maybe_new_axis(s);
        if (axis >= m->ndim)
            break;
        int64_t extent = m->shape[axis], beyond = random_below(12) == 0;
        nd_index x = random_below(3) || extent == 0
                         ? random_range(extent)
                         : nd_at(random_below(2 * extent) - extent + (beyond ? 3 * extent : 0));
        s->idx[s->n++] = x;
        take_axis(s, m, axis, x);
    }
}

static int64_t address(const mirror *m, const int64_t *index)
{
    int64_t at = m->offset;
    for (int d = 0; d < m->ndim; d++)
        at += index[d] * m->stride[d];
    return at;
}

static void check_slice(const mirror *m, const selection *s, const nd_array *view)
{
    int64_t index[CASE_NDIM + MOST_ENTRIES], own[CASE_NDIM];
    dense a = dense_of(m), want = dense_new(m->dtype, s->ndim, s->shape);
    for (int d = 0; d < m->ndim; d++)
        own[d] = s->count[d] ? s->position[d][0] : 0; /* integers */
    bool same = true;
    for (int64_t p = 0; p < want.size; p++) {
        int64_t at = nd_offset(view);
        unravel(s->ndim, s->shape, p, index);
        for (int d = 0; d < s->ndim; d++) {
            at += index[d] * nd_strides(view)[d];
            if (s->axis[d] >= 0)
                own[s->axis[d]] = s->position[s->axis[d]][index[d]];
        }
        dense_put(&want, p, &a, ravel(m->ndim, m->shape, own));
        same &= at == address(m, own) || nd_ndim(view) != s->ndim;
    }
    if (dense_is(&want, view, "slice") && !(same && nd_shares_storage(view, m->array)))
        fail_case("slice gave other elements, or a copy");
    dense_release(&a);
    dense_release(&want);
}

static void slice_case(int i)
{
    static selection s;
    mirror m = {0};
    nd_array *view = NULL;
    if (!mirror_random(&m, legal_dtype(ND_OP_copy, i), &any_view))
        return;
    random_index(&s, &m);
    nd_status status = nd_slice(m.array, s.idx, s.n, &view);
    if (s.out_of_range)
        (void)fails(status, ND_ERR_INDEX, "an integer out of range");
    else if (good(status, "slice"))
        check_slice(&m, &s, view);
    nd_release(view);
    mirror_release(&m);
}

static void bad_slice_case(int i)
{
    mirror m = {0};
    nd_array *view = NULL;
    nd_index idx[CASE_NDIM + 1];
    view_wish wish = any_view;
    wish.least_ndim = 1;
    if (!mirror_random(&m, legal_dtype(ND_OP_copy, i), &wish))
        return;
    for (int d = 0; d <= m.ndim; d++)
        idx[d] = nd_all_of();
    (void)fails(nd_slice(m.array, idx, m.ndim + 1, &view), ND_ERR_INDEX, "one entry too many");
    idx[0] = nd_range(0, 1, 0);
    (void)fails(nd_slice(m.array, idx, 1, &view), ND_ERR_ARGUMENT, "a step of 0");
    idx[0] = nd_ellipsis();
    idx[1] = nd_ellipsis();
    (void)fails(nd_slice(m.array, idx, 2, &view), ND_ERR_INDEX, "two ellipses");
    idx[0].kind = 77;
    (void)fails(nd_slice(m.array, idx, 1, &view), ND_ERR_ARGUMENT, "an unknown kind of entry");
    idx[0] = nd_at(m.shape[0]);
    if (fails(nd_slice(m.array, idx, 1, &view), ND_ERR_INDEX, "the extent as an index"))
        (void)error_names(m.shape[0]);
    idx[0] = nd_range(-m.shape[0] - 5, ND_END_OPEN, -1); /* nothing, "before" the first */
    if (good(nd_slice(m.array, idx, 1, &view), "an empty slice") && nd_offset(view) < 0)
        fail_case("an empty slice begins before its storage");
    nd_release(view);
    view = NULL;
    idx[0] = nd_at(INT64_MIN);
    (void)fails(nd_slice(m.array, idx, 1, &view), ND_ERR_INDEX, "-2^63 as an index");
    if (view)
        fail_case("a slice that failed left an array");
    nd_release(view);
    mirror_release(&m);
}

/* ---- rank 64 ---- */

/* A dense array of rank 64: nine extents of two at random axes, ones elsewhere. */
static dense many_axes(nd_dtype dtype)
{
    int64_t shape[ND_MAX_NDIM];
    for (int d = 0; d < ND_MAX_NDIM; d++)
        shape[d] = 1;
    for (int k = 0; k < 9; k++)
        shape[random_below(ND_MAX_NDIM)] = 2;
    return dense_random(dtype, ND_MAX_NDIM, shape, true);
}

static void check_value(const nd_array *r, const dense *want, const char *what)
{
    (void)dense_is(want, r, what);
}

static void rank_case(int i)
{
    dense a = many_axes(legal_dtype(ND_OP_copy, i)), want;
    nd_array *x = dense_array(&a), *p = NULL, *r = NULL;
    int32_t axes[ND_MAX_NDIM];
    int64_t shape[ND_MAX_NDIM], index[ND_MAX_NDIM], own[ND_MAX_NDIM];
    for (int d = 0; d < ND_MAX_NDIM; d++) {
        int e = (int)random_below(d + 1);
        axes[d] = axes[e];
        axes[e] = d;
    }
    for (int d = 0; d < ND_MAX_NDIM; d++)
        shape[d] = a.shape[axes[d]];
    want = dense_new(a.dtype, ND_MAX_NDIM, shape);
    for (int64_t at = 0; at < want.size; at++) {
        unravel(ND_MAX_NDIM, shape, at, index);
        for (int d = 0; d < ND_MAX_NDIM; d++)
            own[axes[d]] = index[d];
        dense_put(&want, at, &a, ravel(ND_MAX_NDIM, a.shape, own));
    }
    if (x && good(nd_permute(x, ND_MAX_NDIM, axes, &p), "permute")) {
        const nd_array *const one[1] = {p};
        const int64_t no_pad[ND_MAX_NDIM] = {0};
        check_value(p, &want, "permute of rank 64");
        if (good(nd_copy(p, NULL, &r), "copy"))
            check_value(r, &want, "copy of rank 64");
        nd_release(r);
        if (good(nd_concat(1, one, 63, &r), "concat"))
            check_value(r, &want, "concat of rank 64");
        nd_release(r);
        if (good(nd_pad(p, no_pad, no_pad, ND_PAD_EDGE, nd_int(0), &r), "pad"))
            check_value(r, &want, "pad of rank 64");
        nd_release(r);
    }
    nd_release(x);
    nd_release(p);
    dense_release(&a);
    dense_release(&want);
}

/* Operations with an axis, at rank 64: against the same on the flattened lanes. */
static void rank_axis_case(int i)
{
    dense a = many_axes(ND_I32), flipped = dense_copy(&a);
    nd_array *x = dense_array(&a), *idx = NULL, *r = NULL;
    int axis = i % ND_MAX_NDIM;
    int64_t index[ND_MAX_NDIM], n = a.shape[axis];
    dense positions = dense_new(ND_I64, 1, &n);
    for (int64_t k = 0; k < n; k++)
        dense_set(&positions, k, n - 1 - k);
    for (int64_t at = 0; at < a.size; at++) {
        unravel(ND_MAX_NDIM, a.shape, at, index);
        index[axis] = n - 1 - index[axis];
        dense_put(&flipped, at, &a, ravel(ND_MAX_NDIM, a.shape, index));
    }
    if (x && (idx = dense_array(&positions)) != NULL) {
        const int64_t shift[1] = {n - 1};
        const int32_t axes[1] = {axis};
        if (good(nd_take(x, idx, axis, &r), "take"))
            check_value(r, &flipped, "take at rank 64");
        nd_release(r);
        if (good(nd_roll(x, 1, shift, axes, &r), "roll")) /* of two elements: an exchange */
            check_value(r, &flipped, "roll at rank 64");
        nd_release(r);
        if (good(nd_flip(x, 1, axes, &r), "flip"))
            check_value(r, &flipped, "flip at rank 64");
        nd_release(r);
    }
    nd_release(x);
    nd_release(idx);
    dense_release(&a);
    dense_release(&flipped);
    dense_release(&positions);
}

/* What would have rank 65. */
static void check_too_many(void)
{
    dense a = many_axes(ND_F32);
    nd_array *x = dense_array(&a), *r = NULL;
    const nd_array *const one[1] = {x};
    const int32_t first[1] = {0};
    const nd_index idx[1] = {nd_newaxis()};
    int64_t shape[ND_MAX_NDIM + 1];
    (void)begin_case(0);
    for (int d = 0; d <= ND_MAX_NDIM; d++)
        shape[d] = 1;
    (void)fails(nd_expand_dims(x, 1, first, &r), ND_ERR_SHAPE, "expand_dims to rank 65");
    (void)fails(nd_slice(x, idx, 1, &r), ND_ERR_SHAPE, "a new axis of rank 65");
    (void)fails(nd_stack(1, one, 0, &r), ND_ERR_SHAPE, "stack to rank 65");
    (void)fails(nd_zeros(run.device, ND_F32, 65, shape, &r), ND_ERR_SHAPE, "zeros of rank 65");
    (void)fails(nd_broadcast_to(x, 65, shape, &r), ND_ERR_SHAPE, "broadcast_to rank 65");
    (void)fails(nd_reshape(x, 65, shape, &r), ND_ERR_SHAPE, "reshape to rank 65");
    nd_release(x);
    nd_release(r);
    dense_release(&a);
}

void conform_slice(void)
{
    run_cases("slice", slice_case);
    run_cases("slice_refused", bad_slice_case);
    run_cases("rank_64", rank_case);
    run_cases("rank_64_axis", rank_axis_case);
    if (wanted("rank_65")) {
        begin_op("rank_65");
        check_too_many();
        end_op();
    }
}
