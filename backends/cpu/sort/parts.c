/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * order_statistics, partition and argpartition along the last dimension: by selection, which gives
 * what a stable sort would, or by sorting where rows are short. */
#include <string.h>
#include "sort/select.h"
#include "walk/walk.h"

#define BLOCK SELECT_BLOCK
#define LANES_NBYTES 4096 /* of a row; networks sort several of up to so many at once */

/* ---- order statistics ---- */
/* Zeros and NaNs have one key each: their bits are those of the equal elements in order. */
typedef struct {
    uint64_t key;
    int64_t next, passed; /* elements looked at; equal ones among them */
} equals;

static int has_many_bits(const selection *s, uint64_t key)
{
    const uint64_t all = UINT64_MAX >> (64 - 8 * s->nbytes), flip = s->flip & all;
    return s->k->restore && ((key ^ flip) == all || (key ^ flip) == all / 2 + 1);
}

static const char *equal_at(const selection *s, equals *e, uint64_t key, int64_t which)
{
    const sort_row *r = s->r;
    if (e->key != key || e->passed > which)
        *e = (equals){.key = key};
    for (;; e->next++) {
        const char *a = r->a + e->next * r->stride * s->nbytes;
        uint64_t own;
        s->k->keys(a, r->stride, 1, s->flip, &own);
        if (own == key && e->passed++ == which) {
            e->next++;
            return a;
        }
    }
}

static void store_statistics(const selection *s)
{
    const sort_row *r = s->r;
    equals e = {0};
    for (int64_t i = 0; i < r->n_out; i++) {
        int64_t below;
        char *to = r->out + i * r->out_stride * s->nbytes;
        const uint64_t key = select_key_at(s, r->first + i, &below);
        if (has_many_bits(s, key))
            memcpy(to, equal_at(s, &e, key, r->first + i - below), (size_t)s->nbytes);
        else
            s->k->store(&key, 1, s->flip, 0, to, 1);
    }
}

/* Rows that are short, or of which much is wanted, are sorted. */
static int is_selected(int32_t dtype, int64_t n, int64_t wanted)
{
    return n > SORT_SMALL && wanted <= n / 64 && ndp_dtype_size(dtype) > 1;
}

static void statistics_row(const sort_row *r, sort_between *chunk)
{
    selection s;
    select_begin(&s, r, chunk);
    if (is_selected(r->dtype, r->n, r->n_out) &&
        select_enclose(&s, r->first, r->first + r->n_out - 1))
        store_statistics(&s);
    else
        sort_row_values(r);
}

/* ---- partitions ---- */
typedef struct {
    selection s;
    uint64_t key;
    int64_t (*place)[3]; /* by chunk: where what is below, equal and above goes */
    int positions;
    int uneven; /* most blocks are all below the key, or all above it */
} division;

enum { PART_BELOW, PART_EQUAL, PART_ABOVE, PART_MIXED };

/* Where all n elements at a go, if that is asked for and one part has them all. */
static int part_of_block(const division *w, const char *a, int64_t n)
{
    uint64_t least, most;
    if (!w->uneven)
        return PART_MIXED;
    w->s.k->range(a, w->s.r->stride, n, w->s.flip, &least, &most);
    return most < w->key ? PART_BELOW : least > w->key ? PART_ABOVE : PART_MIXED;
}

static void division_count(void *ctx, int64_t begin, int64_t end)
{
    division *w = ctx;
    const selection *s = &w->s;
    uint64_t block[BLOCK];
    int64_t below = 0, equal = 0, *place = w->place[begin / s->grain], size = end - begin;
    for (; begin < end; begin += BLOCK) {
        int64_t n = end - begin < BLOCK ? end - begin : BLOCK;
        const char *a = s->r->a + begin * s->r->stride * s->nbytes;
        const int part = part_of_block(w, a, n);
        if (part != PART_MIXED) {
            below += part == PART_BELOW ? n : 0;
            continue;
        }
        s->k->keys(a, s->r->stride, n, s->flip, block);
        for (int64_t i = 0; i < n; i++) {
            below += block[i] < w->key;
            equal += block[i] == w->key;
        }
    }
    place[0] = below;
    place[1] = equal;
    place[2] = size - below - equal;
}

static void counts_to_places(division *w)
{
    int64_t at = 0;
    for (int part = 0; part < 3; part++)
        for (int64_t c = 0; c * w->s.grain < w->s.r->n; c++) {
            int64_t n = w->place[c][part];
            w->place[c][part] = at;
            at += n;
        }
}

/* Elements of one size to their places; strides in elements. The places are variables, since what is
 * counted up in memory waits for its last store. */
#define DEAL(U, VALUE)                                            \
    for (int64_t i = 0; i < n; i++) {                             \
        const int above = block[i] > key, same = block[i] == key; \
        const int64_t at = above ? p2 : same ? p1 : p0;           \
        ((U *)r->out)[at * r->out_stride] = (VALUE);              \
        p2 += above;                                              \
        p1 += same;                                               \
        p0 += !(above | same);                                    \
    }
#define DEAL_VALUE(U) DEAL(U, ((const U *)a)[i * r->stride])

static void deal_block(const division *w, const char *a, const uint64_t *block, int64_t n,
                       int64_t begin, int64_t *place)
{
    const sort_row *r = w->s.r;
    const uint64_t key = w->key;
    int64_t p0 = place[0], p1 = place[1], p2 = place[2];
    if (w->positions)
        DEAL(int64_t, begin + i)
    else if (w->s.nbytes == 8)
        DEAL_VALUE(uint64_t)
    else if (w->s.nbytes == 4)
        DEAL_VALUE(uint32_t)
    else if (w->s.nbytes == 2)
        DEAL_VALUE(uint16_t)
    else
        DEAL_VALUE(uint8_t)
    place[0] = p0;
    place[1] = p1;
    place[2] = p2;
}
#undef DEAL_VALUE
#undef DEAL

/* n elements, all of one part. */
static void move_block(const division *w, const char *a, int64_t n, int64_t begin, int64_t *to)
{
    const sort_row *r = w->s.r;
    const int64_t nbytes = w->s.nbytes;
    char *out = r->out + *to * r->out_stride * (w->positions ? 8 : nbytes);
    if (w->positions)
        for (int64_t i = 0; i < n; i++)
            ((int64_t *)out)[i * r->out_stride] = begin + i;
    else if (r->stride == 1 && r->out_stride == 1)
        memcpy(out, a, (size_t)(n * nbytes));
    else
        for (int64_t i = 0; i < n; i++)
            memcpy(out + i * r->out_stride * nbytes, a + i * r->stride * nbytes, (size_t)nbytes);
    *to += n;
}

static void division_deal(void *ctx, int64_t begin, int64_t end)
{
    division *w = ctx;
    const selection *s = &w->s;
    uint64_t block[BLOCK];
    int64_t place[3];
    memcpy(place, w->place[begin / s->grain], sizeof place);
    for (; begin < end; begin += BLOCK) {
        int64_t n = end - begin < BLOCK ? end - begin : BLOCK;
        const char *a = s->r->a + begin * s->r->stride * s->nbytes;
        const int part = part_of_block(w, a, n);
        if (part != PART_MIXED) {
            move_block(w, a, n, begin, &place[part]);
            continue;
        }
        s->k->keys(a, s->r->stride, n, s->flip, block);
        deal_block(w, a, block, n, begin, place);
    }
}

/* The key of element first of the sorted row. */
static uint64_t key_of_row(selection *s)
{
    const sort_row *r = s->r;
    int64_t below;
    if (r->n > SORT_SMALL && select_enclose(s, r->first, r->first))
        return select_key_at(s, r->first, &below);
    uint64_t value = 0, key;
    sort_row one = *r;
    one.out = (char *)&value;
    one.n_out = one.out_stride = 1;
    sort_row_values(&one);
    s->k->keys((char *)&value, 1, 1, s->flip, &key);
    return key;
}

static void partition_row(const sort_row *r, sort_between *chunk, int positions)
{
    division w = {.positions = positions};
    select_begin(&w.s, r, chunk);
    w.key = key_of_row(&w.s);
    w.uneven = r->first < r->n / BLOCK || r->n - 1 - r->first < r->n / BLOCK;
    w.place = (int64_t(*)[3])chunk;
    cpu_parallel(r->n, w.s.grain, division_count, &w);
    counts_to_places(&w);
    cpu_parallel(r->n, w.s.grain, division_deal, &w);
}

/* ---- a call ---- */
typedef struct {
    sort_row row; /* of slot 0 */
    const ndp_call *call;
    cpu_walk outer;
    int64_t rows, slots;
} job;

static int64_t slot_nbytes(const ndp_call *call)
{
    const ndp_view *a = &call->in[0];
    int64_t n = a->shape[a->ndim - 1];
    int64_t chunks = sort_chunks(n) * (int64_t)sizeof(sort_between);
    return 2 * select_nbytes(a->dtype, n) + sort_counts_nbytes(n) + (chunks + 63) / 64 * 64;
}

static void one_row(const job *w, const sort_row *r, sort_between *chunk)
{
    if (w->call->op == NDP_OP_order_statistics)
        statistics_row(r, chunk);
    else
        partition_row(r, chunk, w->call->op == NDP_OP_argpartition);
}

static int64_t out_nbytes(const job *w)
{
    return w->call->op == NDP_OP_argpartition ? 8 : ndp_dtype_size(w->row.dtype);
}

static void slot_rows(void *ctx, int64_t begin, int64_t end)
{
    const job *w = ctx;
    for (int64_t slot = begin; slot < end; slot++) {
        sort_row r = w->row;
        cpu_place c;
        int64_t from = w->rows * slot / w->slots, to = w->rows * (slot + 1) / w->slots;
        char *memory = cpu_ptr(&w->call->scratch) + slot * slot_nbytes(w->call);
        r.counts = (int64_t *)memory;
        r.buffer[0] = memory + sort_counts_nbytes(r.n);
        r.buffer[1] = r.buffer[0] + select_nbytes(r.dtype, r.n);
        sort_between *chunk = (sort_between *)(r.buffer[1] + select_nbytes(r.dtype, r.n));
        cpu_place_seek(&c, &w->outer, from);
        for (; from < to; from++) {
            r.a = w->row.a + c.offset[0] * ndp_dtype_size(r.dtype);
            r.out = w->row.out + c.offset[1] * out_nbytes(w);
            one_row(w, &r, chunk);
            cpu_place_step(&c, 1);
        }
    }
}

static void lanes_rows(void *ctx, int64_t begin, int64_t end)
{
    const job *w = ctx;
    const int64_t nbytes = ndp_dtype_size(w->row.dtype);
    cpu_place c;
    cpu_place_seek(&c, &w->outer, begin);
    while (begin < end) {
        sort_row r[SORT_LANES];
        int rows = 0;
        for (; rows < SORT_LANES && begin < end; rows++, begin++) {
            r[rows] = w->row;
            r[rows].a += c.offset[0] * nbytes;
            r[rows].out += c.offset[1] * nbytes;
            cpu_place_step(&c, 1);
        }
        sort_lanes_values(r, rows);
    }
}

static int uses_lanes(const ndp_call *call)
{
    const ndp_view *a = &call->in[0];
    const int64_t n = a->shape[a->ndim - 1];
    return call->op == NDP_OP_order_statistics && sort_rows(call) >= SORT_LANES / 2 &&
           n * ndp_dtype_size(a->dtype) <= LANES_NBYTES && sort_lanes_fit(a->dtype, n, 0);
}

static int32_t run(const ndp_kernel *kernel, ndp_stream *s, const ndp_call *call)
{
    (void)kernel;
    (void)s;
    const ndp_view *a = &call->in[0], *out = &call->out[0], *both[2] = {a, out};
    const ndp_sort *params = call->params;
    if (ndp_view_size(out) == 0)
        return NDP_OK;
    int last = a->ndim - 1;
    job w = {.call = call, .rows = sort_rows(call)};
    w.row = (sort_row){.a = cpu_ptr(a),
                       .stride = a->stride[last],
                       .n = a->shape[last],
                       .dtype = a->dtype,
                       .descending = params->descending ? UINT64_MAX : 0,
                       .out = cpu_ptr(out),
                       .out_stride = out->stride[last],
                       .n_out = out->shape[last],
                       .first = params->first};
    cpu_walk_views(&w.outer, 2, both, 0, last);
    if (uses_lanes(call)) {
        cpu_parallel(w.rows, SORT_LANES * (1 + 2048 / w.row.n), lanes_rows, &w);
        return NDP_OK;
    }
    w.slots = (int64_t)call->scratch.shape[0] / slot_nbytes(call);
    cpu_parallel(w.slots, 1, slot_rows, &w);
    return NDP_OK;
}

static uint64_t scratch(const ndp_kernel *kernel, const ndp_call *call)
{
    (void)kernel;
    if (ndp_view_size(&call->out[0]) == 0 || uses_lanes(call))
        return 0;
    return (uint64_t)(sort_slots(call) * slot_nbytes(call));
}

const ndp_kernel sort_select_kernel = {
    .size = sizeof(ndp_kernel), .max_ndim = NDP_MAX_NDIM, .scratch = scratch, .run = run};
