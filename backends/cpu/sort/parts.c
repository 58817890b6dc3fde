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
    int64_t (*place)[6]; /* by chunk: where what is below, equal and above goes; how much that is */
    int positions;
} division;

static void division_count(void *ctx, int64_t begin, int64_t end)
{
    division *w = ctx;
    const selection *s = &w->s;
    uint64_t block[BLOCK], none[BLOCK];
    int64_t *place = w->place[begin / s->grain], size = end - begin;
    sort_between counts = {0};
    for (; begin < end; begin += BLOCK) {
        int64_t n = end - begin < BLOCK ? end - begin : BLOCK;
        s->k->load(s->r->a + begin * s->r->stride * s->nbytes, s->r->stride, n, s->flip, 0, block);
        CPU_ISA_PICK(sort_table_of)->between[s->nbytes](block, n, w->key, w->key, none, &counts);
    }
    place[3] = counts.below;
    place[4] = counts.at_low;
    place[5] = size - counts.below - counts.at_low;
}

/* The same without another look at the row, where selection kept what it needs. From the last chunk
 * on, as places are stored over the counts of selection and are larger. */
static void counts_of_kept(division *w)
{
    const selection *s = &w->s;
    const uint64_t *kept = s->kept + s->n_kept;
    for (int64_t c = (s->r->n - 1) / s->grain; c >= 0; c--) {
        const int64_t left = s->r->n - c * s->grain, size = left < s->grain ? left : s->grain;
        int64_t below, equal;
        kept -= s->chunk[c].inside;
        select_count_kept(s, c, kept, w->key, &below, &equal);
        w->place[c][3] = below;
        w->place[c][4] = equal;
        w->place[c][5] = size - below - equal;
    }
}

static void counts_to_places(division *w)
{
    int64_t at = 0;
    for (int part = 0; part < 3; part++)
        for (int64_t c = 0; c * w->s.grain < w->s.r->n; c++) {
            w->place[c][part] = at;
            at += w->place[c][part + 3];
        }
}

/* Elements of one size to their places; strides in elements. */
#define DEAL(U)                                                                       \
    for (int64_t i = 0; i < n; i++) {                                                 \
        int part = (block[i] >= w->key) + (block[i] > w->key);                        \
        ((U *)r->out)[place[part]++ * r->out_stride] = ((const U *)a)[i * r->stride]; \
    }

static void deal_block(const division *w, const char *a, const uint64_t *block, int64_t n,
                       int64_t begin, int64_t *place)
{
    const sort_row *r = w->s.r;
    if (w->positions)
        for (int64_t i = 0; i < n; i++) {
            int part = (block[i] >= w->key) + (block[i] > w->key);
            ((int64_t *)r->out)[place[part]++ * r->out_stride] = begin + i;
        }
    else if (w->s.nbytes == 8)
        DEAL(uint64_t)
    else if (w->s.nbytes == 4)
        DEAL(uint32_t)
    else if (w->s.nbytes == 2)
        DEAL(uint16_t)
    else
        DEAL(uint8_t)
}
#undef DEAL

/* Elements, or positions, that lie side by side, to where these lie side by side. */
static void deal_dense(const division *w, int64_t begin, int64_t end)
{
    const selection *s = &w->s;
    const sort_row *r = s->r;
    const int64_t nbytes = w->positions ? 8 : s->nbytes, *place = w->place[begin / s->grain];
    uint64_t block[BLOCK], at[BLOCK];
    sort_places p;
    for (int part = 0; part < 3; part++) {
        p.to[part] = r->out + place[part] * nbytes;
        p.end[part] = p.to[part] + place[part + 3] * nbytes;
    }
    for (; begin < end; begin += BLOCK) {
        const int64_t n = end - begin < BLOCK ? end - begin : BLOCK;
        const char *a = r->a + begin * r->stride * s->nbytes;
        for (int64_t i = 0; i < n && w->positions; i++)
            at[i] = (uint64_t)(begin + i);
        if (w->positions)
            s->k->keys(a, r->stride, n, s->flip, block);
        else
            s->k->load(a, r->stride, n, s->flip, 0, block);
        CPU_ISA_PICK(sort_table_of)
            ->deal[nbytes](block, w->positions ? (const void *)at : a, n, w->key, &p);
    }
}

static void division_deal(void *ctx, int64_t begin, int64_t end)
{
    division *w = ctx;
    const selection *s = &w->s;
    uint64_t block[BLOCK];
    int64_t place[3];
    if (s->r->out_stride == 1 && (w->positions || s->r->stride == 1)) {
        deal_dense(w, begin, end);
        return;
    }
    memcpy(place, w->place[begin / s->grain], sizeof place);
    for (; begin < end; begin += BLOCK) {
        int64_t n = end - begin < BLOCK ? end - begin : BLOCK;
        const char *a = s->r->a + begin * s->r->stride * s->nbytes;
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
    w.s.keeps = 1;
    w.key = key_of_row(&w.s);
    w.place = (int64_t(*)[6])chunk;
    if (w.s.kept)
        counts_of_kept(&w);
    else
        cpu_parallel(r->n, w.s.grain, division_count, &w);
    counts_to_places(&w);
    cpu_parallel(r->n, w.s.grain, division_deal, &w);
}

/* ---- a call ---- */
typedef union { /* of a chunk: what selection counts, what partitions do */
    sort_between between;
    int64_t place[6];
} chunk_counts;
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
    int64_t chunks = sort_chunks(n) * (int64_t)sizeof(chunk_counts);
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
