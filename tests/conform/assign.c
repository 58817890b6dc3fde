/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Conformance: assignment between views of one storage, as if the source were copied first. */
#include "tests/conform/grid.h"

enum { MOST_RANK = 3, STORAGE = 90 };

/* A strided view: extents, strides and offset in elements of the storage. */
typedef struct {
    int ndim;
    int64_t shape[MOST_RANK], stride[MOST_RANK], offset;
} strided;

static int64_t address(const strided *v, int64_t position)
{
    int64_t index[MOST_RANK], at = v->offset;
    unravel(v->ndim, v->shape, position, index);
    for (int d = 0; d < v->ndim; d++)
        at += index[d] * v->stride[d];
    return at;
}

/* Any strides that stay within the storage. */
static strided random_strides(int ndim, const int64_t *shape)
{
    strided v = {.ndim = ndim};
    for (;;) {
        int64_t low = 0, high = 0;
        for (int d = 0; d < ndim; d++) {
            v.shape[d] = shape[d];
            v.stride[d] = random_below(25) - 9;
            *(v.stride[d] < 0 ? &low : &high) += (shape[d] - 1) * v.stride[d];
        }
        if (shape_size(ndim, shape) == 0)
            low = high = 0;
        if (high - low < STORAGE) {
            v.offset = -low + random_below(STORAGE - (high - low));
            return v;
        }
    }
}

/* Strides of a dense array in some order of axes, with gaps and flips: no element twice. */
static strided random_layout(int ndim, const int64_t *shape)
{
    strided v = {.ndim = ndim};
    int order[MOST_RANK];
    for (;;) {
        int64_t step = 1, reach = 0;
        v.offset = 0;
        for (int d = 0; d < ndim; d++) {
            int e = (int)random_below(d + 1);
            order[d] = order[e];
            order[e] = d;
        }
        for (int k = 0; k < ndim; k++) {
            int d = order[k];
            int64_t span = shape[d] > 1 ? shape[d] - 1 : 0;
            step += random_below(2);
            v.shape[d] = shape[d];
            v.stride[d] = random_below(3) ? step : -step;
            v.offset += v.stride[d] < 0 ? span * step : 0;
            reach += span * step;
            step = reach + 1;
        }
        if (reach < STORAGE) {
            v.offset += random_below(STORAGE - reach);
            return v;
        }
    }
}

static bool overlaps_itself(const strided *v)
{
    bool used[STORAGE] = {false};
    int64_t size = shape_size(v->ndim, v->shape);
    for (int64_t p = 0; p < size; p++) {
        bool *at = &used[address(v, p)];
        if (*at)
            return true;
        *at = true;
    }
    return false;
}

/* The source's shape: the destination's, or one that broadcasts to it. */
static int source_shape(int ndim, const int64_t *shape, int64_t *out)
{
    int dropped = random_below(4) == 0 ? (int)random_below(ndim + 1) : 0;
    for (int d = dropped; d < ndim; d++)
        out[d - dropped] = random_below(5) == 0 ? 1 : shape[d];
    return ndim - dropped;
}

/* The storage after dst[...] = src[...], the source read first. */
static void assign_to(dense *storage, const strided *dst, const strided *src)
{
    dense before = dense_copy(storage);
    int64_t index[MOST_RANK], size = shape_size(dst->ndim, dst->shape);
    for (int64_t p = 0; p < size; p++) {
        int64_t from = src->offset;
        unravel(dst->ndim, dst->shape, p, index);
        for (int d = 0; d < src->ndim; d++)
            if (src->shape[d] != 1)
                from += index[d + dst->ndim - src->ndim] * src->stride[d];
        dense_put(storage, address(dst, p), &before, from);
    }
    dense_release(&before);
}

static bool view_of(const nd_array *a, const strided *v, nd_array **out)
{
    return good(nd_as_strided(a, v->ndim, v->shape, v->stride, v->offset, out), "as_strided");
}

static void assign_case(int i)
{
    const int64_t n = STORAGE;
    int64_t shape[MOST_RANK], narrow[MOST_RANK];
    int ndim = (int)random_below(MOST_RANK + 1);
    for (int d = 0; d < ndim; d++)
        shape[d] = random_below(15) == 0 ? 0 : 1 + random_below(4);
    if (ndim == 1 && random_below(3) == 0)
        shape[0] = 20 + random_below(40); /* long enough for vectors */
    int rank = source_shape(ndim, shape, narrow);
    bool wild = random_below(8) == 0; /* a destination that may overlap itself */
    strided to = wild ? random_strides(ndim, shape) : random_layout(ndim, shape);
    strided from = random_below(2) ? random_strides(rank, narrow) : random_layout(rank, narrow);
    dense storage = dense_random(legal_dtype(ND_OP_copy, i), 1, &n, true);
    nd_array *a = dense_array(&storage), *src = NULL, *dst = NULL;
    if (a && view_of(a, &from, &src) && view_of(a, &to, &dst)) {
        bool clash = overlaps_itself(&to);
        nd_status status = nd_assign(src, dst);
        if (clash)
            (void)fails(status, ND_ERR_OVERLAP, "a destination that overlaps itself");
        else if (status != ND_ERR_OVERLAP || !wild) /* it is told by its strides alone */
            (void)good(status, "assign");
        if (status == ND_OK)
            assign_to(&storage, &to, &from);
        (void)dense_is(&storage, a, "the storage after an assignment");
    }
    nd_release(src);
    nd_release(dst);
    nd_release(a);
    dense_release(&storage);
}

/* Large enough for blocks and threads: a transpose of itself, a shift by a little. */
static void large_case(int i)
{
    int64_t n = 40 + random_below(60), shift = random_below(5), size = n * n;
    const int64_t square[2] = {n, n}, stride[2] = {n, 1}, turned[2] = {1, n};
    const int64_t flat[1] = {size - shift}, one[1] = {1};
    dense storage = dense_random(legal_dtype(ND_OP_copy, i), 1, &size, true);
    dense want = dense_copy(&storage);
    nd_array *a = dense_array(&storage), *src = NULL, *dst = NULL;
    int kind = i % 3;
    for (int64_t p = 0; p < size; p++)
        if (kind == 0)
            dense_put(&want, p, &storage, p % n * n + p / n);
        else if (p + shift < size)
            dense_put(&want, kind == 1 ? p + shift : p, &storage, kind == 1 ? p : p + shift);
    bool made =
        a &&
        (kind == 0 ? good(nd_as_strided(a, 2, square, turned, 0, &src), "src") &&
                         good(nd_as_strided(a, 2, square, stride, 0, &dst), "dst")
                   : good(nd_as_strided(a, 1, flat, one, kind == 1 ? 0 : shift, &src), "src") &&
                         good(nd_as_strided(a, 1, flat, one, kind == 1 ? shift : 0, &dst), "dst"));
    if (made && good(nd_assign(src, dst), "assign"))
        (void)dense_is(&want, a, kind == 0 ? "a transposition in place" : "a shift in place");
    nd_release(src);
    nd_release(dst);
    nd_release(a);
    dense_release(&storage);
    dense_release(&want);
}

static void refused_case(int i)
{
    nd_dtype dtype = legal_dtype(ND_OP_copy, i);
    mirror m = {0};
    nd_array *zeros = NULL, *readonly = NULL;
    int64_t shape[CASE_NDIM + 1] = {0};
    view_wish wish = {
        .writable = true, .no_empty = true, .least_ndim = 1, .most_ndim = 3, .most_extent = 5};
    if (!mirror_random(&m, dtype, &wish))
        return;
    dense before = dense_of(&m);
    memcpy(shape, m.shape, (size_t)m.ndim * sizeof *shape);
    shape[random_below(m.ndim)] += 2;
    if (good(nd_zeros(run.device, dtype, m.ndim, shape, &zeros), "zeros") &&
        good(nd_readonly(m.array, &readonly), "readonly")) {
        (void)fails(nd_assign(zeros, m.array), ND_ERR_SHAPE, "assign of another shape");
        (void)fails(nd_assign(m.array, readonly), ND_ERR_READONLY, "assign to a read-only view");
    }
    nd_release(zeros);
    zeros = NULL;
    bool real = cell_kind(dtype) != ND_KIND_COMPLEX;
    if (real && good(nd_zeros(run.device, ND_C64, 0, NULL, &zeros), "zeros"))
        (void)fails(nd_assign(zeros, m.array), ND_ERR_DTYPE, "assign of complex numbers to real");
    (void)dense_is(&before, m.array, "the destination of refused assignments");
    nd_release(zeros);
    nd_release(readonly);
    dense_release(&before);
    mirror_release(&m);
}

void conform_assign(void)
{
    run_cases("assign_overlap", assign_case);
    run_cases("assign_in_place", large_case);
    run_cases("assign_refused", refused_case);
}
