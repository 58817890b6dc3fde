/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Whether two strided sets of bytes meet: columns of one matrix lie between each other, and must
 * not be taken for a conflict.
 *
 * A view becomes runs of bytes repeated along at most four dimensions of positive stride; one of
 * more, or of more than 2^20 runs, is taken for everything between its first and last byte. */
#include "checker.h"
#include "simulator.h"

enum { MOST_RUNS = 1 << 20 };

/* A span in the making. */
typedef struct {
    int64_t run;
    int32_t ndim;
    sim_span_dim dim[NDP_MAX_NDIM]; /* outermost first */
} shape;

static void sort_dims(shape *s)
{
    for (int i = 1; i < s->ndim; i++)
        for (int j = i; j > 0 && s->dim[j].stride > s->dim[j - 1].stride; j--) {
            const sim_span_dim t = s->dim[j];
            s->dim[j] = s->dim[j - 1];
            s->dim[j - 1] = t;
        }
}

/* Innermost dimensions that leave no gap become part of the run. */
static void merge_runs(shape *s)
{
    while (s->ndim && s->dim[s->ndim - 1].stride <= s->run) {
        const sim_span_dim *d = &s->dim[--s->ndim];
        s->run += (d->count - 1) * d->stride;
    }
}

static void merge_dims(shape *s)
{
    for (int i = s->ndim - 1; i > 0; i--) {
        sim_span_dim *outer = &s->dim[i - 1], *inner = &s->dim[i];
        if (outer->stride != inner->stride * inner->count)
            continue;
        outer->count *= inner->count;
        outer->stride = inner->stride;
        for (int j = i; j + 1 < s->ndim; j++)
            s->dim[j] = s->dim[j + 1];
        s->ndim--;
    }
}

sim_span sim_span_of(const ndp_view *v)
{
    int64_t nbytes = sim_dtype_size(v->dtype);
    shape s = {.run = nbytes};
    sim_span out = {.ndim = 0};
    sim_extent(v, &out.low, &out.high);
    for (int d = 0; d < v->ndim && d < NDP_MAX_NDIM; d++) {
        int64_t stride = v->stride[d] * nbytes;
        if (v->shape[d] > 1 && stride != 0)
            s.dim[s.ndim++] = (sim_span_dim){v->shape[d], stride < 0 ? -stride : stride};
    }
    sort_dims(&s);
    merge_runs(&s);
    merge_dims(&s);
    int32_t fits = s.ndim <= SIM_SPAN_NDIM;
    out.ndim = fits ? s.ndim : 0;
    out.run = fits ? s.run : out.high - out.low;
    for (int d = 0; d < out.ndim; d++)
        out.dim[d] = s.dim[d];
    return out;
}

sim_span sim_span_bytes(uint64_t offset, uint64_t nbytes)
{
    return (sim_span){
        .low = (int64_t)offset, .high = (int64_t)(offset + nbytes), .run = (int64_t)nbytes};
}

static int64_t run_count(const sim_span *s)
{
    int64_t n = 1;
    for (int d = 0; d < s->ndim; d++)
        n = s->dim[d].count > MOST_RUNS / n ? MOST_RUNS + 1 : n * s->dim[d].count;
    return n;
}

static int64_t floor_divide(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

/* Bytes [low, high) meet the part of s that begins at base and spans dimensions d and further. */
static int32_t meets(const sim_span *s, int d, int64_t base, int64_t low, int64_t high)
{
    if (d == s->ndim)
        return base < high && low < base + s->run;
    int64_t inner = s->run, stride = s->dim[d].stride;
    for (int k = d + 1; k < s->ndim; k++)
        inner += (s->dim[k].count - 1) * s->dim[k].stride;
    int64_t first = floor_divide(low - base - inner, stride) + 1,
            last = floor_divide(high - 1 - base, stride);
    if (first < 0)
        first = 0;
    if (last > s->dim[d].count - 1)
        last = s->dim[d].count - 1;
    for (int64_t i = first; i <= last; i++)
        if (meets(s, d + 1, base + i * stride, low, high))
            return 1;
    return 0;
}

static int64_t run_begin(const sim_span *s, int64_t i)
{
    int64_t at = s->low;
    for (int d = s->ndim - 1; d >= 0; d--) {
        at += i % s->dim[d].count * s->dim[d].stride;
        i /= s->dim[d].count;
    }
    return at;
}

int32_t sim_spans_meet(const sim_span *a, const sim_span *b)
{
    if (a->low >= b->high || b->low >= a->high || a->low == a->high || b->low == b->high)
        return 0;
    if (run_count(a) > run_count(b)) {
        const sim_span *t = a;
        a = b;
        b = t;
    }
    int64_t n = run_count(a);
    if (n > MOST_RUNS)
        return 1;
    for (int64_t i = 0; i < n; i++) {
        int64_t low = run_begin(a, i);
        if (meets(b, 0, b->low, low, low + a->run))
            return 1;
    }
    return 0;
}

int32_t sim_span_covers(const sim_span *a, const sim_span *b)
{
    if (a->ndim == 0)
        return a->low <= b->low && b->high <= a->high;
    int32_t same = a->low == b->low && a->high == b->high && a->run == b->run && a->ndim == b->ndim;
    for (int d = 0; same && d < a->ndim; d++)
        same = a->dim[d].count == b->dim[d].count && a->dim[d].stride == b->dim[d].stride;
    return same;
}
