/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Conformance: putting arrays together, repeating, rolling and padding. */
#include "tests/conform/grid.h"

enum { MOST_ARRAYS = 4 };

/* ---- concat, stack ---- */

typedef struct {
    int n;
    nd_dtype dtype; /* in which all meet */
    mirror m[MOST_ARRAYS];
    const nd_array *arrays[MOST_ARRAYS];
    dense d[MOST_ARRAYS]; /* their elements in that dtype */
} bundle;

/* A dtype that promotes to dtype with every value kept. */
static nd_dtype narrower(nd_dtype dtype)
{
    int kind = nd_dtype_get(dtype)->kind;
    bool takes_i8 = kind & (ND_KIND_INT | ND_KIND_FLOAT | ND_KIND_COMPLEX);
    return !takes_i8 || random_below(2) ? ND_BOOL : ND_I8;
}

/* Adds a view of the given shape; not the first: sometimes of a narrower dtype. */
static bool bundle_add(bundle *b, int ndim, const int64_t *shape)
{
    nd_dtype dtype = b->n && random_below(4) == 0 ? narrower(b->dtype) : b->dtype;
    mirror *m = &b->m[b->n];
    if (!mirror_shaped(m, dtype, ndim, shape, &any_view))
        return false;
    dense own = dense_of(m), *d = &b->d[b->n];
    *d = dense_new(b->dtype, ndim, shape);
    for (int64_t i = 0; i < d->size; i++)
        if (dtype == b->dtype)
            dense_put(d, i, &own, i);
        else
            cell_write(b->dtype, cell_widened(b->dtype, dense_cell(&own, i)), dense_at(d, i));
    dense_release(&own);
    b->arrays[b->n++] = m->array;
    return true;
}

static void bundle_release(bundle *b)
{
    for (int i = 0; i < MOST_ARRAYS; i++) {
        mirror_release(&b->m[i]);
        dense_release(&b->d[i]);
    }
}

static void random_shape(int ndim, int64_t *shape)
{
    for (int d = 0; d < ndim; d++)
        shape[d] = random_below(12) == 0 ? 0 : 1 + random_below(6);
}

static void concat_case(int i)
{
    bundle b = {.dtype = legal_dtype(ND_OP_copy, i)};
    int64_t shape[CASE_NDIM], total = 0, index[CASE_NDIM], before = 0;
    int ndim = 1 + (int)random_below(4), axis = (int)random_below(ndim);
    int n = 1 + (int)random_below(MOST_ARRAYS);
    nd_array *r = NULL;
    random_shape(ndim, shape);
    for (int k = 0; k < n; k++, total += shape[axis]) {
        shape[axis] = random_below(6);
        if (!bundle_add(&b, ndim, shape))
            return;
    }
    shape[axis] = total;
    dense want = dense_new(b.dtype, ndim, shape);
    for (int k = 0; k < n; before += b.d[k].shape[axis], k++)
        for (int64_t p = 0; p < b.d[k].size; p++) {
            unravel(ndim, b.d[k].shape, p, index);
            index[axis] += before;
            dense_put(&want, ravel(ndim, shape, index), &b.d[k], p);
        }
    if (good(nd_concat(n, b.arrays, either_sign(axis, ndim), &r), "concat"))
        (void)dense_is(&want, r, "concat");
    nd_release(r);
    dense_release(&want);
    bundle_release(&b);
}

static void concat_flat_case(int i)
{
    bundle b = {.dtype = legal_dtype(ND_OP_copy, i)};
    int64_t shape[CASE_NDIM], total = 0, at = 0;
    int n = 1 + (int)random_below(MOST_ARRAYS);
    nd_array *r = NULL;
    for (int k = 0; k < n; k++) {
        int ndim = (int)random_below(4);
        random_shape(ndim, shape);
        if (!bundle_add(&b, ndim, shape))
            return;
        total += b.d[k].size;
    }
    dense want = dense_new(b.dtype, 1, &total);
    for (int k = 0; k < n; k++)
        for (int64_t p = 0; p < b.d[k].size; p++)
            dense_put(&want, at++, &b.d[k], p);
    if (good(nd_concat_flat(n, b.arrays, &r), "concat_flat"))
        (void)dense_is(&want, r, "concat_flat");
    nd_release(r);
    dense_release(&want);
    bundle_release(&b);
}

static void stack_case(int i)
{
    bundle b = {.dtype = legal_dtype(ND_OP_copy, i)};
    int64_t shape[CASE_NDIM], full[CASE_NDIM], index[CASE_NDIM];
    int ndim = (int)random_below(4), axis = (int)random_below(ndim + 1);
    int n = 1 + (int)random_below(MOST_ARRAYS);
    nd_array *r = NULL;
    random_shape(ndim, shape);
    for (int k = 0; k < n; k++)
        if (!bundle_add(&b, ndim, shape))
            return;
    for (int d = 0; d <= ndim; d++)
        full[d] = d < axis ? shape[d] : d == axis ? n : shape[d - 1];
    dense want = dense_new(b.dtype, ndim + 1, full);
    for (int64_t p = 0; p < want.size; p++) {
        unravel(ndim + 1, full, p, index);
        int k = (int)index[axis];
        memmove(index + axis, index + axis + 1, (size_t)(ndim - axis) * sizeof *index);
        dense_put(&want, p, &b.d[k], ravel(ndim, shape, index));
    }
    if (good(nd_stack(n, b.arrays, either_sign(axis, ndim + 1), &r), "stack"))
        (void)dense_is(&want, r, "stack");
    nd_release(r);
    dense_release(&want);
    bundle_release(&b);
}

/* ---- one array ---- */

typedef struct {
    mirror m;
    dense a;
    int ndim; /* of the result */
    int64_t shape[CASE_NDIM];
    int axis;
    int64_t before[CASE_NDIM], after[CASE_NDIM]; /* pad; roll's shifts are before */
    int mode;
} moving;

static bool open_moving(moving *c, nd_op op, int i, int least_ndim)
{
    view_wish wish = any_view;
    memset(c, 0, sizeof *c);
    wish.least_ndim = least_ndim;
    wish.most_extent = 6;
    if (!mirror_random(&c->m, legal_dtype(op, i), &wish))
        return false;
    c->a = dense_of(&c->m);
    c->ndim = c->m.ndim;
    memcpy(c->shape, c->m.shape, sizeof c->shape);
    c->axis = c->m.ndim ? (int)random_below(c->m.ndim) : 0;
    return true;
}

static void close_moving(moving *c)
{
    mirror_release(&c->m);
    dense_release(&c->a);
}

/* The result has element source(index) of a at every index; below 0: fill. */
static void check_moved(const moving *c, const nd_array *r, const char *what, const void *fill,
                        int64_t (*source)(const moving *, const int64_t *))
{
    int64_t index[CASE_NDIM];
    dense want = dense_new(c->a.dtype, c->ndim, c->shape);
    for (int64_t p = 0; p < want.size; p++) {
        unravel(c->ndim, c->shape, p, index);
        int64_t from = source(c, index);
        if (from >= 0)
            dense_put(&want, p, &c->a, from);
        else
            memcpy(dense_at(&want, p), fill, nd_dtype_size(want.dtype));
    }
    (void)dense_is(&want, r, what);
    dense_release(&want);
}

static int64_t unstack_source(const moving *c, const int64_t *index)
{
    int64_t own[CASE_NDIM];
    for (int d = 0; d < c->a.ndim; d++)
        own[d] = d < c->axis ? index[d] : d == c->axis ? c->before[0] : index[d - 1];
    return ravel(c->a.ndim, c->a.shape, own);
}

static void unstack_case(int i)
{
    moving c;
    nd_array *r[400] = {NULL};
    if (!open_moving(&c, ND_OP_copy, i, 1))
        return;
    int64_t n = c.m.shape[c.axis];
    c.ndim--;
    for (int d = c.axis; d < c.ndim; d++)
        c.shape[d] = c.a.shape[d + 1];
    if (n <= 400 && good(nd_unstack(c.m.array, either_sign(c.axis, c.m.ndim), r), "unstack"))
        for (c.before[0] = 0; c.before[0] < n; c.before[0]++) {
            check_moved(&c, r[c.before[0]], "unstack", NULL, unstack_source);
            if (!nd_shares_storage(r[c.before[0]], c.m.array))
                fail_case("unstack copied");
        }
    for (int64_t k = 0; k < 400; k++)
        nd_release(r[k]);
    close_moving(&c);
}

static int64_t tile_source(const moving *c, const int64_t *index)
{
    int64_t own[CASE_NDIM];
    for (int d = 0; d < c->a.ndim; d++)
        own[d] = index[d + c->ndim - c->a.ndim] % c->a.shape[d];
    return ravel(c->a.ndim, c->a.shape, own);
}

static void tile_case(int i)
{
    moving c;
    int64_t reps[5];
    int nreps = (int)random_below(6);
    nd_array *r = NULL;
    if (!open_moving(&c, ND_OP_copy, i, 0))
        return;
    c.ndim = nreps > c.a.ndim ? nreps : c.a.ndim;
    for (int d = 0; d < c.ndim; d++)
        c.shape[d] = d < c.ndim - c.a.ndim ? 1 : c.a.shape[d - (c.ndim - c.a.ndim)];
    for (int d = 0; d < nreps; d++) {
        reps[d] = random_below(10) == 0 ? 0 : 1 + random_below(3);
        c.shape[d + c.ndim - nreps] *= reps[d];
    }
    if (good(nd_tile(c.m.array, nreps, reps, &r), "tile"))
        check_moved(&c, r, "tile", NULL, tile_source);
    if (r && (nd_is_readonly(r) || nd_shares_storage(r, c.m.array)))
        fail_case("tile gave no array of its own");
    nd_release(r);
    close_moving(&c);
}

static int64_t repeat_source(const moving *c, const int64_t *index)
{
    int64_t own[CASE_NDIM];
    memcpy(own, index, (size_t)c->ndim * sizeof *own);
    own[c->axis] /= c->before[0];
    return ravel(c->a.ndim, c->a.shape, own);
}

static void repeat_case(int i)
{
    moving c;
    nd_array *r = NULL;
    if (!open_moving(&c, ND_OP_copy, i, 1))
        return;
    c.before[0] = random_below(5);
    c.shape[c.axis] *= c.before[0];
    if (good(nd_repeat(c.m.array, c.before[0], either_sign(c.axis, c.ndim), &r), "repeat"))
        check_moved(&c, r, "repeat", NULL, repeat_source);
    nd_release(r);
    r = NULL;
    (void)fails(nd_repeat(c.m.array, -1, c.axis, &r), ND_ERR_ARGUMENT, "repeat -1 times");
    close_moving(&c);
}

/* Positions with counts, of any integer dtype; one count may stand for all. */
static void repeat_each_case(int i)
{
    static const nd_dtype integers[] = {ND_I8, ND_I16, ND_I32, ND_I64,
                                        ND_U8, ND_U16, ND_U32, ND_U64};
    moving c;
    mirror counts_m = {0};
    nd_array *r = NULL;
    int64_t index[CASE_NDIM], at = 0;
    if (!open_moving(&c, ND_OP_copy, i, 1))
        return;
    int64_t n = c.m.shape[c.axis], given = random_below(4) == 0 ? 1 : n;
    nd_dtype dtype = integers[random_below(8)];
    dense counts = dense_new(dtype, 1, &given);
    bool negative = given && nd_dtype_get(dtype)->kind == ND_KIND_INT && random_below(10) == 0;
    for (int64_t k = 0; k < given; k++)
        dense_set(&counts, k, random_below(4));
    c.shape[c.axis] = 0;
    for (int64_t k = 0; k < n; k++)
        c.shape[c.axis] += (int64_t)dense_cell(&counts, given == 1 ? 0 : k).i;
    dense want = dense_new(c.a.dtype, c.ndim, c.shape);
    int64_t *from = malloc((size_t)(c.shape[c.axis] + 1) * sizeof *from);
    for (int64_t k = 0; k < n; k++)
        for (int64_t j = 0; j < (int64_t)dense_cell(&counts, given == 1 ? 0 : k).i; j++)
            from[at++] = k;
    for (int64_t p = 0; p < want.size; p++) {
        unravel(c.ndim, c.shape, p, index);
        index[c.axis] = from[index[c.axis]];
        dense_put(&want, p, &c.a, ravel(c.ndim, c.a.shape, index));
    }
    if (negative)
        dense_set(&counts, random_below(given), -1 - random_below(3));
    if (mirror_of(&counts_m, &counts)) {
        nd_status status = nd_repeat_each(c.m.array, counts_m.array, c.axis, &r);
        if (negative)
            (void)fails(status, ND_ERR_ARGUMENT, "repeat_each with a negative count");
        else if (good(status, "repeat_each"))
            (void)dense_is(&want, r, "repeat_each");
    }
    free(from);
    nd_release(r);
    mirror_release(&counts_m);
    dense_release(&counts);
    dense_release(&want);
    close_moving(&c);
}

/* ---- roll ---- */

static int64_t rolled_from(int64_t i, int64_t shift, int64_t n)
{
    return (int64_t)((((__int128)i - shift) % n + n) % n);
}

static int64_t roll_source(const moving *c, const int64_t *index)
{
    int64_t own[CASE_NDIM];
    for (int d = 0; d < c->ndim; d++)
        own[d] = rolled_from(index[d], c->before[d], c->shape[d]);
    return ravel(c->ndim, c->shape, own);
}

static int64_t roll_flat_source(const moving *c, const int64_t *index)
{
    return rolled_from(ravel(c->ndim, c->shape, index), c->before[0], c->a.size);
}

static void roll_case(int i)
{
    moving c;
    nd_array *r = NULL;
    int64_t shifts[6];
    int32_t axes[6];
    bool flat = random_below(4) == 0;
    if (!open_moving(&c, ND_OP_copy, i, 0))
        return;
    int n = c.ndim == 0 ? 0 : (int)random_below(5);
    for (int k = 0; k < n; k++) { /* an axis named again adds up */
        int axis = (int)random_below(c.ndim);
        shifts[k] = random_below(30) - 15;
        c.before[axis] += shifts[k];
        axes[k] = either_sign(axis, c.ndim);
    }
    if (flat) {
        static const int64_t extremes[] = {0, 1, -1, 1000003, INT64_MAX, INT64_MIN};
        shifts[0] = c.before[0] =
            random_below(2) ? random_below(40) - 20 : extremes[random_below(6)];
    }
    if (good(nd_roll(c.m.array, flat ? 1 : n, shifts, flat ? NULL : axes, &r), "roll"))
        check_moved(&c, r, "roll", NULL, flat ? roll_flat_source : roll_source);
    nd_release(r);
    close_moving(&c);
}

/* ---- pad ---- */

/* Where position i of an axis of extent n continues, one bounce or turn at a time; -1: nowhere. */
static int64_t continued(int mode, int64_t i, int64_t n)
{
    if (mode == ND_PAD_CONSTANT)
        return i < 0 || i >= n ? -1 : i;
    if (mode == ND_PAD_EDGE)
        return i < 0 ? 0 : i >= n ? n - 1 : i;
    while (i < 0 || i >= n)
        if (mode == ND_PAD_WRAP)
            i += i < 0 ? n : -n;
        else
            i = n == 1 ? 0 : i < 0 ? -i : 2 * (n - 1) - i;
    return i;
}

static int64_t pad_source(const moving *c, const int64_t *index)
{
    int64_t own[CASE_NDIM];
    for (int d = 0; d < c->ndim; d++)
        if ((own[d] = continued(c->mode, index[d] - c->before[d], c->a.shape[d])) < 0)
            return -1;
    return ravel(c->ndim, c->a.shape, own);
}

static void pad_case(int i)
{
    moving c;
    nd_array *r = NULL;
    char fill[16];
    bool possible = true;
    if (!open_moving(&c, ND_OP_copy, i, 0))
        return;
    c.mode = (int)random_below(4);
    for (int d = 0; d < c.ndim; d++) {
        c.before[d] = random_below(2) ? random_below(5) : 0;
        c.after[d] = random_below(2) ? random_below(9) : 0;
        c.shape[d] += c.before[d] + c.after[d];
        possible &= c.a.shape[d] > 0 || c.shape[d] == 0;
    }
    possible |= c.mode == ND_PAD_CONSTANT;
    int64_t value =
        nd_dtype_get(c.a.dtype)->kind == ND_KIND_BOOL ? random_below(2) : random_below(9);
    cell_write(c.a.dtype, cell_widened(c.a.dtype, cell_int(value)), fill);
    nd_status status = nd_pad(c.m.array, c.before, c.after, c.mode, nd_int(value), &r);
    if (!possible)
        (void)fails(status, ND_ERR_SHAPE, "pad of an empty axis");
    else if (good(status, "pad"))
        check_moved(&c, r, "pad", fill, pad_source);
    nd_release(r);
    r = NULL;
    if (c.ndim) {
        c.before[c.axis] = -1;
        (void)fails(nd_pad(c.m.array, c.before, c.after, c.mode, nd_int(0), &r), ND_ERR_ARGUMENT,
                    "pad by -1");
    }
    close_moving(&c);
}

void conform_manip(void)
{
    run_cases("concat", concat_case);
    run_cases("concat_flat", concat_flat_case);
    run_cases("stack", stack_case);
    run_cases("unstack", unstack_case);
    run_cases("tile", tile_case);
    run_cases("repeat", repeat_case);
    run_cases("repeat_each", repeat_each_case);
    run_cases("roll", roll_case);
    run_cases("pad", pad_case);
}
