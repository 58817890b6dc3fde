/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Conformance: views. Each is compared by address, element by element, and by value. */
#include "tests/conform/grid.h"

/* ---- comparing ---- */

/* Address, in elements from the start of the storage, of an element at a C-order position. */
static int64_t address(const nd_array *a, int64_t position)
{
    int64_t at = nd_offset(a);
    for (int d = nd_ndim(a) - 1; d >= 0; d--) {
        at += position % nd_shape(a)[d] * nd_strides(a)[d];
        position /= nd_shape(a)[d];
    }
    return at;
}

typedef struct {
    mirror m;
    dense a;
    int ndim; /* of the view */
    int64_t shape[ND_MAX_NDIM];
} view_case;

static bool open_case(view_case *c, int i, int least_ndim)
{
    view_wish wish = any_view;
    memset(c, 0, sizeof *c);
    wish.least_ndim = least_ndim;
    if (!mirror_random(&c->m, legal_dtype(ND_OP_copy, i), &wish))
        return false;
    c->a = dense_of(&c->m);
    return true;
}

static void close_case(view_case *c)
{
    mirror_release(&c->m);
    dense_release(&c->a);
}

/* The view's element at each index is the array's at position source(index). */
static void check_view(const view_case *c, const nd_array *view, const char *what,
                       int64_t (*source)(const view_case *, const void *, const int64_t *),
                       const void *ctx)
{
    int64_t index[ND_MAX_NDIM];
    dense want = dense_new(c->a.dtype, c->ndim, c->shape);
    bool same = true;
    for (int64_t p = 0; p < want.size; p++) {
        unravel(c->ndim, c->shape, p, index);
        dense_put(&want, p, &c->a, source(c, ctx, index));
    }
    if (dense_is(&want, view, what) && !nd_shares_storage(view, c->m.array))
        fail_case("%s copied", what);
    for (int64_t p = 0; p < want.size && same && nd_size(view) == want.size; p++) {
        unravel(c->ndim, c->shape, p, index);
        same = address(view, p) == address(c->m.array, source(c, ctx, index));
    }
    if (!same)
        fail_case("%s: an element of the view is another one of the array's", what);
    if (nd_is_readonly(c->m.array) && !nd_is_readonly(view))
        fail_case("%s made a read-only array writable", what);
    dense_release(&want);
}

/* ---- reshape ---- */

/* Splits size into at most 5 extents, in random order, ones among them. */
static int random_factors(int64_t size, int64_t *shape)
{
    int ndim = size == 1 ? (int)random_below(4) : 1 + (int)random_below(5);
    for (int d = 0; d < ndim; d++)
        shape[d] = 1;
    if (size == 0) {
        for (int d = 0; d < ndim; d++)
            shape[d] = random_below(4);
        shape[random_below(ndim)] = 0;
        return ndim;
    }
    for (int64_t p = 2; size > 1; p++)
        for (; size % p == 0; size /= p)
            shape[random_below(ndim)] *= p;
    return ndim;
}

/* Whether strides exist that lead to the same elements in C order: those of the first steps must
 * serve for all. This is when NumPy makes a view. */
static bool view_exists(const nd_array *a, int ndim, const int64_t *shape)
{
    int64_t stride[ND_MAX_NDIM], index[ND_MAX_NDIM], step = 1, size = shape_size(ndim, shape);
    for (int d = ndim - 1; d >= 0 && size; d--) {
        stride[d] = shape[d] > 1 ? address(a, step) - address(a, 0) : 0;
        step *= shape[d];
    }
    for (int64_t p = 0; p < size; p++) {
        int64_t at = address(a, 0);
        unravel(ndim, shape, p, index);
        for (int d = 0; d < ndim; d++)
            at += index[d] * stride[d];
        if (at != address(a, p))
            return false;
    }
    return true;
}

static int64_t same_source(const view_case *c, const void *ctx, const int64_t *index)
{
    (void)ctx;
    return ravel(c->ndim, c->shape, index);
}

static void reshape_case(int i)
{
    view_case c;
    nd_array *view = NULL, *copy = NULL;
    int64_t asked[ND_MAX_NDIM];
    if (!open_case(&c, i, 0))
        return;
    c.ndim = random_factors(c.a.size, c.shape);
    memcpy(asked, c.shape, sizeof asked);
    if (c.a.size && c.ndim && random_below(3) == 0)
        asked[random_below(c.ndim)] = -1;
    bool exists = view_exists(c.m.array, c.ndim, c.shape);
    nd_status status = nd_reshape(c.m.array, c.ndim, asked, &view);
    if (!exists)
        (void)fails(status, ND_ERR_SHAPE, "reshape where no strides fit");
    else if (good(status, "reshape"))
        check_view(&c, view, "reshape", same_source, NULL);
    if (good(nd_reshape_copy(c.m.array, c.ndim, asked, &copy), "reshape_copy")) {
        dense want = dense_new(c.a.dtype, c.ndim, c.shape);
        memcpy(want.data, c.a.data, (size_t)c.a.size * nd_dtype_size(c.a.dtype));
        if (dense_is(&want, copy, "reshape_copy") && nd_shares_storage(copy, c.m.array) != exists)
            fail_case("reshape_copy %s", exists ? "copied" : "made a view");
        dense_release(&want);
    }
    nd_release(view);
    nd_release(copy);
    close_case(&c);
}

/* Shapes of another size, more than one -1, negative extents. */
static void bad_reshape_case(int i)
{
    view_case c;
    nd_array *view = NULL;
    if (!open_case(&c, i, 0))
        return;
    const int64_t larger[1] = {c.a.size + 1}, two[2] = {-1, -1}, negative[2] = {-2, c.a.size},
                  over[3] = {INT64_MAX, INT64_MAX, -1}, three[2] = {-1, c.a.size + 2};
    (void)fails(nd_reshape(c.m.array, 1, larger, &view), ND_ERR_SHAPE, "reshape to a larger size");
    (void)fails(nd_reshape(c.m.array, 2, two, &view), ND_ERR_SHAPE, "reshape with two -1");
    (void)fails(nd_reshape(c.m.array, 2, negative, &view), ND_ERR_SHAPE, "reshape to -2");
    (void)fails(nd_reshape_copy(c.m.array, 3, over, &view), ND_ERR_SHAPE, "reshape to 2^126");
    if (c.a.size > 0)
        (void)fails(nd_reshape(c.m.array, 2, three, &view), ND_ERR_SHAPE, "reshape with -1 unfit");
    if (view)
        fail_case("a reshape that failed left an array");
    nd_release(view);
    close_case(&c);
}

/* ---- permutations ---- */

/* ctx: for each axis of the view, that of the array. */
static int64_t permuted_source(const view_case *c, const void *ctx, const int64_t *index)
{
    const int *order = ctx;
    int64_t own[CASE_NDIM];
    for (int d = 0; d < c->ndim; d++)
        own[order[d]] = index[d];
    return ravel(c->ndim, c->a.shape, own);
}

static void check_permuted(view_case *c, const nd_array *view, const char *what, const int *order)
{
    c->ndim = c->a.ndim;
    for (int d = 0; d < c->ndim; d++)
        c->shape[d] = c->a.shape[order[d]];
    check_view(c, view, what, permuted_source, order);
}

static void shuffle(int n, int *order)
{
    for (int d = 0; d < n; d++) {
        int e = (int)random_below(d + 1);
        order[d] = order[e];
        order[e] = d;
    }
}

static void permute_case(int i)
{
    view_case c;
    nd_array *view = NULL;
    int order[CASE_NDIM];
    int32_t axes[CASE_NDIM];
    if (!open_case(&c, i, 0))
        return;
    shuffle(c.a.ndim, order);
    for (int d = 0; d < c.a.ndim; d++)
        axes[d] = either_sign(order[d], c.a.ndim);
    if (good(nd_permute(c.m.array, c.a.ndim, axes, &view), "permute"))
        check_permuted(&c, view, "permute", order);
    nd_release(view);
    view = NULL;
    for (int d = 0; d < c.a.ndim; d++)
        order[d] = c.a.ndim - 1 - d;
    if (good(nd_transpose(c.m.array, &view), "transpose"))
        check_permuted(&c, view, "transpose", order);
    nd_release(view);
    view = NULL;
    for (int d = 0; d < c.a.ndim; d++)
        order[d] = d < c.a.ndim - 2 ? d : 2 * c.a.ndim - 3 - d;
    nd_status status = nd_matrix_transpose(c.m.array, &view);
    if (c.a.ndim < 2)
        (void)fails(status, ND_ERR_SHAPE, "matrix_transpose of a vector");
    else if (good(status, "matrix_transpose"))
        check_permuted(&c, view, "matrix_transpose", order);
    nd_release(view);
    view = NULL;
    if (c.a.ndim > 1) {
        axes[1] = axes[0];
        (void)fails(nd_permute(c.m.array, c.a.ndim, axes, &view), ND_ERR_INDEX, "an axis twice");
        (void)fails(nd_permute(c.m.array, 1, axes, &view), ND_ERR_ARGUMENT, "one axis of several");
    }
    close_case(&c);
}

/* As NumPy defines it: the axes that stay, then each moved one inserted, by falling destination. */
static void moved_order(int ndim, int n, const int *from, const int *to, int *order)
{
    int rank = 0;
    for (int d = 0; d < ndim; d++) {
        bool moved = false;
        for (int k = 0; k < n; k++)
            moved |= from[k] == d;
        if (!moved)
            order[rank++] = d;
    }
    for (int at = 0; at < ndim; at++)
        for (int k = 0; k < n; k++)
            if (to[k] == at) {
                memmove(order + at + 1, order + at, (size_t)(rank++ - at) * sizeof *order);
                order[at] = from[k];
            }
}

static void moveaxis_case(int i)
{
    view_case c;
    nd_array *view = NULL;
    int from[CASE_NDIM], to[CASE_NDIM], order[CASE_NDIM];
    int32_t source[CASE_NDIM], destination[CASE_NDIM];
    if (!open_case(&c, i, 1))
        return;
    int n = (int)random_below(c.a.ndim + 1);
    shuffle(c.a.ndim, from);
    shuffle(c.a.ndim, to);
    for (int k = 0; k < n; k++) {
        source[k] = either_sign(from[k], c.a.ndim);
        destination[k] = either_sign(to[k], c.a.ndim);
    }
    moved_order(c.a.ndim, n, from, to, order);
    if (good(nd_moveaxis(c.m.array, n, source, destination, &view), "moveaxis"))
        check_permuted(&c, view, "moveaxis", order);
    nd_release(view);
    close_case(&c);
}

/* ---- broadcasting, extents of one ---- */

static int64_t stretched_source(const view_case *c, const void *ctx, const int64_t *index)
{
    int64_t own[CASE_NDIM];
    (void)ctx;
    for (int d = 0; d < c->a.ndim; d++)
        own[d] = c->a.shape[d] == 1 ? 0 : index[d + c->ndim - c->a.ndim];
    return ravel(c->a.ndim, c->a.shape, own);
}

static void broadcast_case(int i)
{
    view_case c;
    nd_array *view = NULL;
    if (!open_case(&c, i, 0))
        return;
    int more = (int)random_below(3);
    c.ndim = c.a.ndim + more;
    for (int d = 0; d < c.ndim; d++) {
        int64_t extent = d < more ? 1 : c.a.shape[d - more];
        c.shape[d] = extent == 1 && random_below(2) ? random_below(5) : extent;
    }
    if (good(nd_broadcast_to(c.m.array, c.ndim, c.shape, &view), "broadcast_to")) {
        check_view(&c, view, "broadcast_to", stretched_source, NULL);
        if (shape_size(c.ndim, c.shape) > c.a.size && !nd_is_readonly(view))
            fail_case("a stretched view is writable");
    }
    nd_release(view);
    view = NULL;
    if (c.a.ndim) {
        int d = (int)random_below(c.a.ndim);
        c.shape[d + more] = c.a.shape[d] == 1 ? 1 : c.a.shape[d] + 1;
        if (c.a.shape[d] != 1)
            (void)fails(nd_broadcast_to(c.m.array, c.ndim, c.shape, &view), ND_ERR_SHAPE,
                        "broadcast_to an extent that does not fit");
        (void)fails(nd_broadcast_to(c.m.array, c.a.ndim - 1, c.a.shape, &view), ND_ERR_SHAPE,
                    "broadcast_to a lower rank");
    }
    close_case(&c);
}

/* Positions keep their C order where only extents of one come and go. */
static void expand_case(int i)
{
    view_case c;
    nd_array *view = NULL, *back = NULL;
    int32_t axes[CASE_NDIM];
    int at[CASE_NDIM], n = (int)random_below(3), own = 0;
    if (!open_case(&c, i, 0))
        return;
    c.ndim = c.a.ndim + n;
    shuffle(c.ndim, at);
    for (int k = 0; k < n; k++)
        axes[k] = either_sign(at[k], c.ndim);
    for (int d = 0; d < c.ndim; d++) {
        bool added = false;
        for (int k = 0; k < n; k++)
            added |= at[k] == d;
        c.shape[d] = added ? 1 : c.a.shape[own++];
    }
    if (good(nd_expand_dims(c.m.array, n, axes, &view), "expand_dims")) {
        check_view(&c, view, "expand_dims", same_source, NULL);
        if (good(nd_squeeze(view, n, axes, &back), "squeeze")) { /* the way back */
            c.ndim = c.a.ndim;
            memcpy(c.shape, c.a.shape, (size_t)c.ndim * sizeof *c.shape);
            check_view(&c, back, "squeeze", same_source, NULL);
        }
    }
    nd_release(view);
    nd_release(back);
    close_case(&c);
}

static void squeeze_case(int i)
{
    view_case c;
    nd_array *view = NULL;
    if (!open_case(&c, i, 0))
        return;
    for (int d = 0; d < c.a.ndim; d++)
        if (c.a.shape[d] != 1)
            c.shape[c.ndim++] = c.a.shape[d];
    if (good(nd_squeeze(c.m.array, 0, NULL, &view), "squeeze"))
        check_view(&c, view, "squeeze", same_source, NULL);
    nd_release(view);
    view = NULL;
    if (c.a.ndim) {
        const int32_t axis[1] = {(int32_t)random_below(c.a.ndim)};
        nd_status status = nd_squeeze(c.m.array, 1, axis, &view);
        if (c.a.shape[axis[0]] != 1)
            (void)fails(status, ND_ERR_SHAPE, "squeeze of a longer axis");
        else
            (void)good(status, "squeeze");
    }
    nd_release(view);
    close_case(&c);
}

/* ---- flip, diagonal, read-only ---- */

static int64_t flipped_source(const view_case *c, const void *ctx, const int64_t *index)
{
    const bool *flipped = ctx;
    int64_t own[CASE_NDIM];
    for (int d = 0; d < c->ndim; d++)
        own[d] = flipped[d] ? c->shape[d] - 1 - index[d] : index[d];
    return ravel(c->ndim, c->shape, own);
}

static void flip_case(int i)
{
    view_case c;
    nd_array *view = NULL;
    int32_t axes[CASE_NDIM];
    bool flipped[CASE_NDIM] = {false}, all = random_below(3) == 0;
    int n = 0;
    if (!open_case(&c, i, 0))
        return;
    c.ndim = c.a.ndim;
    memcpy(c.shape, c.a.shape, (size_t)c.ndim * sizeof *c.shape);
    for (int d = 0; d < c.ndim; d++) {
        flipped[d] = all || random_below(2);
        if (flipped[d])
            axes[n++] = either_sign(d, c.ndim);
    }
    if (good(nd_flip(c.m.array, all ? 0 : n, all ? NULL : axes, &view), "flip"))
        check_view(&c, view, "flip", flipped_source, flipped);
    nd_release(view);
    close_case(&c);
}

typedef struct {
    int i, j;
    int64_t offset;
} diagonal;

static int64_t diagonal_source(const view_case *c, const void *ctx, const int64_t *index)
{
    const diagonal *g = ctx;
    int64_t own[CASE_NDIM], k = index[c->ndim - 1];
    for (int d = 0, at = 0; d < c->a.ndim; d++)
        if (d != g->i && d != g->j)
            own[d] = index[at++];
    own[g->i] = g->offset < 0 ? k - g->offset : k;
    own[g->j] = g->offset > 0 ? k + g->offset : k;
    return ravel(c->a.ndim, c->a.shape, own);
}

static void diagonal_case(int i)
{
    static const int64_t extremes[] = {INT64_MAX, INT64_MIN, 500, -500};
    view_case c;
    nd_array *view = NULL;
    int axes[CASE_NDIM];
    if (!open_case(&c, i, 2))
        return;
    shuffle(c.a.ndim, axes);
    diagonal g = {axes[0], axes[1],
                  random_below(6) ? random_below(13) - 6 : extremes[random_below(4)]};
    int64_t length = 0, rows = c.a.shape[g.i], cols = c.a.shape[g.j];
    for (int64_t r = 0; r < rows; r++) /* elements whose column is their row plus the offset */
        for (int64_t s = 0; s < cols; s++)
            length += s - r == g.offset;
    for (int d = 0; d < c.a.ndim; d++)
        if (d != g.i && d != g.j)
            c.shape[c.ndim++] = c.a.shape[d];
    c.shape[c.ndim++] = length;
    if (good(nd_diagonal(c.m.array, g.offset, either_sign(g.i, c.a.ndim),
                         either_sign(g.j, c.a.ndim), &view),
             "diagonal"))
        check_view(&c, view, "diagonal", diagonal_source, &g);
    nd_release(view);
    view = NULL;
    (void)fails(nd_diagonal(c.m.array, 0, g.i, g.i, &view), ND_ERR_INDEX, "diagonal of one axis");
    close_case(&c);
}

static void readonly_case(int i)
{
    view_case c;
    nd_array *view = NULL, *again = NULL;
    if (!open_case(&c, i, 0))
        return;
    c.ndim = c.a.ndim;
    memcpy(c.shape, c.a.shape, (size_t)c.ndim * sizeof *c.shape);
    if (good(nd_readonly(c.m.array, &view), "readonly") &&
        good(nd_transpose(view, &again), "transpose")) {
        check_view(&c, view, "readonly", same_source, NULL);
        if (!nd_is_readonly(view) || !nd_is_readonly(again))
            fail_case("a read-only view, or a view of one, is writable");
        (void)fails(nd_fill(view, nd_int(0)), ND_ERR_READONLY, "fill of a read-only view");
        (void)fails(nd_assign(c.m.array, view), ND_ERR_READONLY, "assignment to a read-only view");
    }
    nd_release(view);
    nd_release(again);
    close_case(&c);
}

/* ---- as_strided ---- */

static int64_t strided_source(const view_case *c, const void *ctx, const int64_t *index)
{
    const int64_t *stride = ctx, *offset = stride + CASE_NDIM;
    int64_t at = *offset;
    for (int d = 0; d < c->ndim; d++)
        at += index[d] * stride[d];
    return at;
}

/* Over a dense storage, so that addresses are positions. */
static void strided_case(int i)
{
    view_case c;
    nd_array *view = NULL;
    int64_t stride[CASE_NDIM + 1], n = random_below(60), low = 0, high = 0;
    memset(&c, 0, sizeof c);
    c.a = dense_random(legal_dtype(ND_OP_copy, i), 1, &n, true);
    c.m.array = dense_array(&c.a);
    c.ndim = (int)random_below(4);
    for (int d = 0; d < c.ndim; d++) {
        c.shape[d] = random_below(10) == 0 ? 0 : 1 + random_below(4);
        stride[d] = random_below(15) - 5;
        (stride[d] < 0 ? &low : &high)[0] += (c.shape[d] - 1) * stride[d];
    }
    int64_t *offset = &stride[CASE_NDIM], size = shape_size(c.ndim, c.shape);
    *offset = random_below(6) == 0 ? random_below(2 * n + 3) - n : -low + random_below(4);
    bool fits = size ? *offset + low >= 0 && *offset + high < n : *offset >= 0 && *offset <= n;
    if (!c.m.array)
        return;
    nd_status status = nd_as_strided(c.m.array, c.ndim, c.shape, stride, *offset, &view);
    if (!fits)
        (void)fails(status, ND_ERR_INDEX, "as_strided out of the storage");
    else if (good(status, "as_strided"))
        check_view(&c, view, "as_strided", strided_source, stride);
    nd_release(view);
    view = NULL;
    const int64_t huge[2] = {INT64_MAX / 2, 4}, wide[2] = {INT64_MAX / 2, 2};
    status = nd_as_strided(c.m.array, 2, wide, huge, 0, &view);
    if (status == ND_OK || view)
        fail_case("as_strided beyond 2^63 was accepted");
    close_case(&c);
}

void conform_views(void)
{
    run_cases("reshape", reshape_case);
    run_cases("reshape_refused", bad_reshape_case);
    run_cases("permute", permute_case);
    run_cases("moveaxis", moveaxis_case);
    run_cases("broadcast_to", broadcast_case);
    run_cases("expand_dims", expand_case);
    run_cases("squeeze", squeeze_case);
    run_cases("flip", flip_case);
    run_cases("diagonal", diagonal_case);
    run_cases("readonly", readonly_case);
    run_cases("as_strided", strided_case);
}
