/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Random views, with the host's own account of what they hold. */
#include "tests/conform/conform.h"

const view_wish any_view = {.most_ndim = 4, .most_extent = 7};

static int64_t product(int ndim, const int64_t *shape)
{
    int64_t n = 1;
    for (int d = 0; d < ndim; d++)
        n *= shape[d];
    return n;
}

/* How one axis of the view lies in its base: the base's extent, the first index, the step. */
typedef struct {
    int64_t extent, first, step;
    bool stretched;
} lie;

static lie random_lie(int64_t extent, const view_wish *wish)
{
    lie l = {extent, 0, 1, false};
    if (!wish->writable && extent != 1 && random_below(8) == 0)
        return (lie){1, 0, 0, true};
    switch (random_below(4)) {
    case 0:
        l.step = 1 + random_below(3);
        break;
    case 1:
        l.step = -1 - random_below(2);
        break;
    default:
        break;
    }
    int64_t span = extent ? (extent - 1) * (l.step < 0 ? -l.step : l.step) + 1 : 0,
            before = random_below(3), after = random_below(3);
    l.extent = span + before + after;
    l.first = l.step < 0 && extent ? before + span - 1 : before;
    return l;
}

/* The view of the base array that the lies describe, made by public functions. */
static bool make_view(mirror *m, nd_array *base, const lie *lies, const int *order)
{
    nd_index idx[CASE_NDIM];
    int32_t axes[CASE_NDIM];
    nd_array *sliced = NULL, *permuted = NULL;
    for (int d = 0; d < m->ndim; d++) {
        const lie *l = &lies[d];
        int64_t count = l->stretched ? 1 : m->shape[d], stop = l->first + count * l->step;
        bool open_end = l->step < 0 && stop < 0; /* -1 would count from the end */
        idx[order[d]] =
            l->stretched ? nd_all_of() : nd_range(l->first, open_end ? ND_END_OPEN : stop, l->step);
        if (count == 0)
            idx[order[d]] = nd_range(l->first, l->first, 1);
        axes[d] = order[d];
    }
    bool fine = good(nd_slice(base, idx, m->ndim, &sliced), "slice") &&
                good(nd_permute(sliced, m->ndim, axes, &permuted), "permute");
    if (fine)
        fine = good(nd_broadcast_to(permuted, m->ndim, m->shape, &m->array), "broadcast_to");
    nd_release(sliced);
    nd_release(permuted);
    if (fine && !nd_is_readonly(m->array))
        return true;
    return fine;
}

bool mirror_shaped(mirror *m, nd_dtype dtype, int ndim, const int64_t *shape, const view_wish *wish)
{
    lie lies[CASE_NDIM];
    int order[CASE_NDIM]; /* where axis d of the view lies in the base */
    int64_t base_shape[CASE_NDIM], base_stride[CASE_NDIM];
    memset(m, 0, sizeof *m);
    m->dtype = dtype;
    m->ndim = ndim;
    for (int d = 0; d < ndim; d++) {
        int e = (int)random_below(d + 1);
        m->shape[d] = shape[d];
        order[d] = d;
        int t = order[d];
        order[d] = order[e];
        order[e] = t;
    }
    if (random_below(3) == 0) /* often enough everything is plain */
        for (int d = 0; d < ndim; d++)
            order[d] = d;
    bool plain = random_below(4) == 0;
    for (int d = 0; d < ndim; d++) {
        lies[d] = plain ? (lie){shape[d], 0, 1, false} : random_lie(shape[d], wish);
        base_shape[order[d]] = lies[d].extent;
    }
    int64_t step = 1;
    for (int d = ndim - 1; d >= 0; d--) {
        base_stride[d] = step;
        step *= base_shape[d];
    }
    for (int d = 0; d < ndim; d++) {
        m->stride[d] = lies[d].stretched ? 0 : base_stride[order[d]] * lies[d].step;
        m->offset += lies[d].first * base_stride[order[d]];
    }
    int64_t n = product(ndim, base_shape);
    size_t item = nd_dtype_size(dtype);
    m->size = product(ndim, shape);
    m->base = malloc((size_t)n * item + 1);
    for (int64_t i = 0; i < n; i++)
        cell_random(dtype, wish->tame, m->base + (size_t)i * item);
    nd_layout layout = {.size = sizeof layout, .dtype = dtype, .ndim = ndim, .shape = base_shape};
    nd_array *base = NULL;
    bool fine = good(nd_from_host(&layout, m->base, run.device, &base), "from_host") &&
                make_view(m, base, lies, order);
    nd_release(base);
    return fine;
}

bool mirror_random(mirror *m, nd_dtype dtype, const view_wish *wish)
{
    int64_t shape[CASE_NDIM];
    int ndim = wish->least_ndim + (int)random_below(wish->most_ndim - wish->least_ndim + 1);
    for (int d = 0; d < ndim; d++)
        shape[d] =
            random_below(12) == 0 && !wish->no_empty ? 0 : 1 + random_below(wish->most_extent);
    if (ndim > 0 &&
        random_below(40) == 0) /* now and then long enough for vectors, tails and threads */
        shape[ndim - 1] = 60 + random_below(300);
    return mirror_shaped(m, dtype, ndim, shape, wish);
}

bool mirror_like(mirror *m, const mirror *other, nd_dtype dtype, const view_wish *wish,
                 bool broadcasting)
{
    int64_t shape[CASE_NDIM];
    int dropped = broadcasting && other->ndim
                      ? (int)(random_below(3) == 0 ? random_below(other->ndim + 1) : 0)
                      : 0;
    for (int d = dropped; d < other->ndim; d++)
        shape[d - dropped] = broadcasting && random_below(5) == 0 ? 1 : other->shape[d];
    return mirror_shaped(m, dtype, other->ndim - dropped, shape, wish);
}

void mirror_release(mirror *m)
{
    nd_release(m->array);
    free(m->base);
    memset(m, 0, sizeof *m);
}

const void *mirror_at(const mirror *m, int ndim, const int64_t *shape, int64_t position)
{
    int64_t at = m->offset;
    for (int d = ndim - 1; d >= 0; d--) {
        int own = d - (ndim - m->ndim);
        int64_t i = position % shape[d];
        position /= shape[d];
        if (own >= 0 && m->shape[own] != 1)
            at += i * m->stride[own];
    }
    return m->base + at * (int64_t)nd_dtype_size(m->dtype);
}

cell mirror_cell(const mirror *m, int ndim, const int64_t *shape, int64_t position)
{
    return cell_read(m->dtype, mirror_at(m, ndim, shape, position));
}

char *fetch(const nd_array *a)
{
    size_t n = (size_t)nd_size(a) * nd_dtype_size(nd_dtype_of(a));
    char *data = malloc(n + 1);
    if (good(nd_to_host(a, data, n), "to_host"))
        return data;
    free(data);
    return NULL;
}

bool mirror_untouched(const mirror *m)
{
    /* The whole storage as a flat view, compared where the view does not reach. */
    nd_array *flat = NULL;
    int64_t n = 0, step[1] = {1};
    size_t item = nd_dtype_size(m->dtype);
    int64_t low = m->offset, high = m->offset;
    for (int d = 0; d < m->ndim; d++) {
        int64_t reach = (m->shape[d] - 1) * m->stride[d];
        if (m->shape[d] == 0)
            return true;
        low += reach < 0 ? reach : 0;
        high += reach > 0 ? reach : 0;
    }
    n = high - low + 1;
    if (!good(nd_as_strided(m->array, 1, &n, step, low, &flat), "as_strided"))
        return false;
    char *now = fetch(flat), *reached = calloc((size_t)n, 1);
    for (int64_t i = 0; i < m->size; i++) {
        int64_t at =
            ((const char *)mirror_at(m, m->ndim, m->shape, i) - m->base) / (int64_t)item - low;
        reached[at] = 1;
    }
    bool same = now != NULL;
    for (int64_t i = 0; i < n && same; i++)
        same = reached[i] ||
               memcmp(now + (size_t)i * item, m->base + (size_t)(low + i) * item, item) == 0;
    free(now);
    free(reached);
    nd_release(flat);
    return same;
}
