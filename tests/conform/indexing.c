/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Conformance: take, take_along_axis and gather. */
#include "tests/conform/positions.h"

/* ---- index arrays ---- */

dense positions_random(int ndim, const int64_t *shape, int64_t n)
{
    static const nd_dtype wide[] = {ND_I64, ND_I32, ND_U32, ND_U64, ND_I16, ND_U16, ND_I8, ND_U8};
    nd_dtype dtype = wide[random_below(n > 100 ? 6 : 8)];
    bool is_signed = nd_dtype_get(dtype)->kind == ND_KIND_INT;
    dense p = dense_new(dtype, ndim, shape);
    for (int64_t i = 0; i < p.size; i++) {
        int64_t at = random_below(n);
        dense_set(&p, i, is_signed && random_below(3) == 0 ? at - n : at);
    }
    return p;
}

int64_t positions_get(const dense *p, int64_t at, int64_t n)
{
    int64_t i = (int64_t)dense_cell(p, at).i;
    return i < 0 ? i + n : i;
}

int64_t positions_spoil(dense *p, int64_t n, int64_t *value)
{
    int64_t at = random_below(p->size), beyond = random_below(4);
    *value = nd_dtype_get(p->dtype)->kind == ND_KIND_INT && random_below(2) ? -n - 1 - beyond
                                                                            : n + beyond;
    if (p->dtype == ND_I64 && random_below(4) == 0)
        *value = random_below(2) ? INT64_MIN : INT64_MAX;
    if (p->dtype == ND_U64 && random_below(4) == 0)
        *value = INT64_MAX;
    dense_set(p, at, *value);
    return at;
}

bool positions_refused(nd_status got, const dense *p, int64_t at, int64_t value, int64_t n,
                       const char *op)
{
    char shape[256], want[512];
    const nd_error *e = nd_last_error();
    size_t used = (size_t)snprintf(shape, sizeof shape, "(");
    for (int d = 0; d < p->ndim; d++)
        used += (size_t)snprintf(shape + used, sizeof shape - used, "%s%lld", d ? ", " : "",
                                 (long long)p->shape[d]);
    snprintf(shape + used, sizeof shape - used, p->ndim == 1 ? ",)" : ")");
    snprintf(want, sizeof want,
             "%s: index %lld at position %lld of %s is out of range for an axis of extent %lld; "
             "allowed are %lld to %lld",
             op, (long long)value, (long long)at, shape, (long long)n, (long long)-n,
             (long long)n - 1);
    if (!fails(got, ND_ERR_INDEX, op))
        return false;
    if (run.async) /* the position is the kernel's, perhaps in stretched indices */
        return error_names(value) && error_names(-n) && error_names(n - 1);
    if (strcmp(e->op, op) != 0 || strcmp(e->message, want) != 0)
        fail_case("%s says \"%s\", not \"%s\"", e->op, e->message, want);
    return strcmp(e->message, want) == 0;
}

void positions_shape(int ndim, const int64_t *a, int axis, bool cut, int64_t *shape)
{
    for (int d = 0; d < ndim; d++)
        shape[d] = cut && a[d] > 1 && random_below(3) == 0 ? 1 + random_below(a[d]) : a[d];
    shape[axis] = random_below(8) == 0 ? 0 : 1 + random_below(6);
}

/* ---- the operations ---- */

typedef struct {
    const char *name;
    nd_status (*fresh)(const nd_array *, const nd_array *, int, nd_array **);
    nd_status (*into)(const nd_array *, const nd_array *, int, const nd_array *);
} lookup;
static const lookup take = {"take", nd_take, nd_take_into};
static const lookup along = {"take_along_axis", nd_take_along_axis, nd_take_along_axis_into};
static const lookup gather = {"gather", nd_gather, nd_gather_into};

typedef struct {
    mirror m, idx_m; /* the operands */
    dense a, idx;
    int axis;
    int64_t n; /* the axis' extent */
    int ndim;  /* of the result */
    int64_t shape[CASE_NDIM];
} lookup_case;

static bool open_case(lookup_case *c, int i, int least_ndim, int most_ndim)
{
    view_wish wish = any_view;
    memset(c, 0, sizeof *c);
    wish.least_ndim = least_ndim;
    wish.most_ndim = most_ndim;
    if (!mirror_random(&c->m, legal_dtype(ND_OP_take, i), &wish))
        return false;
    c->a = dense_of(&c->m);
    c->axis = (int)random_below(c->m.ndim);
    c->n = c->m.shape[c->axis];
    return true;
}

static void close_case(lookup_case *c)
{
    mirror_release(&c->m);
    mirror_release(&c->idx_m);
    dense_release(&c->a);
    dense_release(&c->idx);
}

/* Runs both forms; bad: position of a bad index, or -1. */
static void try_both(const lookup *op, lookup_case *c, const dense *want, int64_t bad,
                     int64_t value)
{
    view_wish wish = {.writable = true};
    mirror dst = {0};
    nd_array *r = NULL;
    int axis = either_sign(c->axis, c->m.ndim);
    if (!mirror_of(&c->idx_m, &c->idx) ||
        !mirror_shaped(&dst, want->dtype, want->ndim, want->shape, &wish))
        return;
    nd_status fresh = op->fresh(c->m.array, c->idx_m.array, axis, &r);
    if (bad >= 0) {
        dense before = dense_of(&dst);
        if (positions_refused(fresh, &c->idx, bad, value, c->n, op->name) && r && !run.async)
            fail_case("%s with a bad index left an array", op->name);
        (void)positions_refused(op->into(c->m.array, c->idx_m.array, axis, dst.array), &c->idx, bad,
                                value, c->n, op->name);
        if (!run.async) /* there the rest may have been written before anyone noticed */
            (void)dense_is(&before, dst.array, "the destination after a bad index");
        dense_release(&before);
    } else if (good(fresh, op->name) && dense_is(want, r, op->name) &&
               good(op->into(c->m.array, c->idx_m.array, axis, dst.array), "into") &&
               dense_is(want, dst.array, "into") && !mirror_untouched(&dst)) {
        fail_case("%s_into wrote beside the destination", op->name);
    }
    nd_release(r);
    mirror_release(&dst);
}

/* Indices into an axis without elements. */
static void try_empty_axis(const lookup *op, lookup_case *c)
{
    nd_array *r = NULL;
    if (mirror_of(&c->idx_m, &c->idx))
        (void)fails(op->fresh(c->m.array, c->idx_m.array, c->axis, &r), ND_ERR_INDEX, op->name);
    nd_release(r);
}

/* want[p] = a[index(p)], for every position of the result. */
static void run_lookup(const lookup *op, lookup_case *c,
                       int64_t (*source)(const lookup_case *, const int64_t *))
{
    int64_t index[CASE_NDIM], value = 0, bad = -1, size = shape_size(c->ndim, c->shape);
    if (c->n == 0 && c->idx.size > 0 && size > 0) {
        try_empty_axis(op, c);
        return;
    }
    if (size > 0 && random_below(8) == 0)
        bad = positions_spoil(&c->idx, c->n, &value);
    dense want = dense_new(c->a.dtype, c->ndim, c->shape);
    for (int64_t p = 0; p < size && bad < 0; p++) {
        unravel(c->ndim, c->shape, p, index);
        dense_put(&want, p, &c->a, source(c, index));
    }
    try_both(op, c, &want, bad, value);
    dense_release(&want);
}

/* The result's index is (outer, index of idx, inner). */
static int64_t take_source(const lookup_case *c, const int64_t *index)
{
    int64_t own[CASE_NDIM];
    int64_t at = ravel(c->idx.ndim, c->idx.shape, index + c->axis);
    for (int d = 0; d < c->a.ndim; d++)
        if (d != c->axis)
            own[d] = index[d < c->axis ? d : d + c->idx.ndim - 1];
    own[c->axis] = positions_get(&c->idx, at, c->n);
    return ravel(c->a.ndim, c->a.shape, own);
}

static void take_case(int i)
{
    lookup_case c;
    int64_t shape[2];
    if (open_case(&c, i, 1, 4)) {
        int rank = (int)random_below(3);
        for (int d = 0; d < rank; d++)
            shape[d] = random_below(8) == 0 ? 0 : 1 + random_below(6);
        if (rank == 1 && random_below(20) == 0)
            shape[0] = 300 + random_below(2000);
        c.idx = positions_random(rank, shape, c.n);
        c.ndim = c.a.ndim - 1 + rank;
        memcpy(c.shape, c.a.shape, (size_t)c.axis * sizeof *shape);
        memcpy(c.shape + c.axis, shape, (size_t)rank * sizeof *shape);
        memcpy(c.shape + c.axis + rank, c.a.shape + c.axis + 1,
               (size_t)(c.a.ndim - c.axis - 1) * sizeof *shape);
        run_lookup(&take, &c, take_source);
    }
    close_case(&c);
}

/* Extents of one of either operand repeat. */
static int64_t along_source(const lookup_case *c, const int64_t *index)
{
    int64_t own[CASE_NDIM], at[CASE_NDIM];
    for (int d = 0; d < c->a.ndim; d++) {
        own[d] = c->a.shape[d] == 1 ? 0 : index[d];
        at[d] = c->idx.shape[d] == 1 ? 0 : index[d];
    }
    own[c->axis] = positions_get(&c->idx, ravel(c->idx.ndim, c->idx.shape, at), c->n);
    return ravel(c->a.ndim, c->a.shape, own);
}

static void gather_case(int i)
{
    lookup_case c;
    if (open_case(&c, i, 1, 4)) {
        c.ndim = c.a.ndim;
        positions_shape(c.ndim, c.a.shape, c.axis, true, c.shape);
        c.idx = positions_random(c.ndim, c.shape, c.n);
        run_lookup(&gather, &c, along_source);
    }
    close_case(&c);
}

static void along_case(int i)
{
    lookup_case c;
    int64_t shape[CASE_NDIM];
    if (open_case(&c, i, 1, 4)) {
        c.ndim = c.a.ndim;
        positions_shape(c.ndim, c.a.shape, c.axis, false, shape);
        for (int d = 0; d < c.ndim; d++) {
            if (d != c.axis && c.a.shape[d] == 1 && random_below(2)) /* a repeats */
                shape[d] = random_below(4);
            else if (d != c.axis && random_below(4) == 0) /* the indices repeat */
                shape[d] = 1;
            c.shape[d] = d == c.axis || c.a.shape[d] == 1 ? shape[d] : c.a.shape[d];
        }
        c.idx = positions_random(c.ndim, shape, c.n);
        run_lookup(&along, &c, along_source);
    }
    close_case(&c);
}

/* The destination shares storage with the array or with the indices: as if those were copied. */
static void overlap_case(int i)
{
    const int64_t n = 1 + random_below(40), shape[1] = {n};
    dense p = dense_new(ND_I64, 1, shape), want = dense_new(ND_I64, 1, shape);
    mirror m = {0};
    nd_array *flipped = NULL;
    for (int64_t k = 0; k < n; k++)
        dense_set(&p, k, random_below(n));
    for (int64_t k = 0; k < n; k++) /* values and indices at once: r[k] = p[p[n - 1 - k]] */
        dense_put(&want, k, &p, (int64_t)dense_cell(&p, n - 1 - k).i);
    if (mirror_of(&m, &p) && good(nd_flip(m.array, 0, NULL, &flipped), "flip") &&
        good(i % 2 ? nd_gather_into(m.array, flipped, 0, m.array)
                   : nd_take_into(m.array, flipped, 0, m.array),
             "into an operand"))
        (void)dense_is(&want, m.array, "into an operand");
    nd_release(flipped);
    mirror_release(&m);
    dense_release(&p);
    dense_release(&want);
}

void conform_indexing(void)
{
    run_cases("take", take_case);
    run_cases("take_along_axis", along_case);
    run_cases("gather", gather_case);
    run_cases("take_overlap", overlap_case);
}
