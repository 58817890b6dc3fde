/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Images of other extents, and back. The first axes' taps are summed as whole rows of the source,
 * then the last axis is resampled; backward the other way around. */
#include <string.h>
#include "pool/pool.h"

enum { SUMS, ROW, RESULT, ROWS };

/* Taps of every element of the result along one axis, those of tap t from place t*extent on, and the
 * elements of the result that have element e of the source among their taps: from begin[e], before
 * end[e]. row_share: shares in the type that is computed in. */
typedef struct {
    int64_t *element, *begin, *end;
    double *share;
    void *row_share;
} table;

typedef struct {
    pl_frame f;
    const ndp_resample *params;
    int32_t backward, taps;
    int32_t
        doubled; /* each element of the source is two neighbours of the result along the last axis */
    int64_t source[3], result[3]; /* extents */
    table axis[3];
} plan;

static int64_t table_bytes(const plan *q, int d)
{
    return 8 * (12 * q->result[d] + 2 * q->source[d]);
}

static void plan_call(plan *q, const ndp_call *call)
{
    memset(q, 0, sizeof *q);
    pl_frame_of(&q->f, call->in[0].dtype, &call->in[0], &call->out[0]);
    q->params = call->params;
    q->backward = call->op == NDP_OP_upsample_grad;
    q->taps = q->params->method <= NDP_RESAMPLE_NEAREST_EXACT ? 1
              : q->params->method == NDP_RESAMPLE_LINEAR      ? 2
                                                              : 4;
    int64_t fixed = 0, width;
    for (int d = 0; d < 3; d++) {
        q->source[d] = (q->backward ? &call->out[0] : &call->in[0])->shape[2 + d];
        q->result[d] = (q->backward ? &call->in[0] : &call->out[0])->shape[2 + d];
        fixed += table_bytes(q, d);
    }
    width = q->source[2] > q->result[2] ? q->source[2] : q->result[2];
    pl_room(&q->f, ROWS, width, fixed);
}

static void make_table(plan *q, int d, char *memory)
{
    table *t = &q->axis[d];
    const int64_t n = q->result[d], m = q->source[d];
    t->element = (int64_t *)(void *)memory;
    t->share = (double *)(void *)(t->element + 4 * n);
    t->row_share = t->share + 4 * n;
    t->begin = (int64_t *)(void *)(t->share + 8 * n);
    t->end = t->begin + m;
    for (int64_t e = 0; e < m; e++) {
        t->begin[e] = n;
        t->end[e] = 0;
    }
    for (int64_t i = 0; i < n; i++) {
        int64_t element[4];
        double share[4];
        const int taps = nd_window_resample(q->params->method, q->params->align_corners,
                                            q->params->ratio[d], m, n, i, element, share);
        for (int k = 0; k < taps; k++) {
            const int64_t e = element[k];
            t->element[k * n + i] = e;
            t->share[k * n + i] = share[k];
            if (q->f.element == 8)
                ((double *)t->row_share)[k * n + i] = share[k];
            else
                ((float *)t->row_share)[k * n + i] = (float)share[k];
            t->begin[e] = i < t->begin[e] ? i : t->begin[e];
            t->end[e] = i + 1;
        }
    }
}

/* ---- forward ---- */

/* Row (d, h) of the result: the taps of the first axes, summed. */
static const char *sum_rows(const plan *q, const pl_run *r, int s, int64_t image, int64_t c,
                            int64_t d, int64_t h)
{
    const pl_frame *f = &q->f;
    const table *ad = &q->axis[0], *ah = &q->axis[1];
    const int64_t nd = q->result[0], nh = q->result[1];
    if (q->taps == 1)
        return pl_load(f, &f->in, pl_at(&f->in, image, c, ad->element[d], ah->element[h], 0),
                       f->in.space[2], q->source[2], pl_row(r, s, ROW));
    char *sums = pl_row(r, s, SUMS);
    f->loops->fill(sums, 0, q->source[2]);
    for (int i = 0; i < q->taps; i++)
        for (int j = 0; j < q->taps; j++) {
            const double share = ad->share[i * nd + d] * ah->share[j * nh + h];
            if (share != 0)
                f->loops->scaled(sums,
                                 pl_load(f, &f->in,
                                         pl_at(&f->in, image, c, ad->element[i * nd + d],
                                               ah->element[j * nh + h], 0),
                                         f->in.space[2], q->source[2], pl_row(r, s, ROW)),
                                 share, q->source[2]);
        }
    return sums;
}

/* Whether row h is the one before it again, of the same element. */
static int is_repeated(const plan *q, int64_t h)
{
    return q->taps == 1 && h > 0 && q->axis[1].element[h] == q->axis[1].element[h - 1];
}

/* Tasks count rows of the result. */
static void run_rows(void *ctx, int64_t begin, int64_t end)
{
    const pl_run *r = ctx;
    const plan *q = r->call;
    const pl_frame *f = &q->f;
    const int s = cpu_slot_take(r->busy, r->n_slots);
    const int dense = f->out.space[2] == 1, direct = dense && mm_is_native(f->k, f->out.dtype);
    for (int64_t task = begin; task < end; task++) {
        const int64_t h = task % q->result[1], d = task / q->result[1] % q->result[0];
        const int64_t plane = task / q->result[1] / q->result[0];
        const int64_t image = plane / f->channels, c = plane % f->channels;
        char *out = pl_at(&f->out, image, c, d, h, 0), *row = direct ? out : pl_row(r, s, RESULT);
        if (dense && task > begin && is_repeated(q, h)) {
            memcpy(out, pl_at(&f->out, image, c, d, h - 1, 0),
                   (size_t)(q->result[2] * f->out.size));
            continue;
        }
        const char *sums = sum_rows(q, r, s, image, c, d, h);
        if (q->taps == 1)
            f->loops->pick(row, sums, q->source[2], q->axis[2].element, q->result[2]);
        else
            f->loops->gather(row, sums, q->source[2], q->axis[2].element, q->axis[2].row_share,
                             q->taps, q->result[2]);
        if (!direct)
            f->k->save[f->out.dtype](row, q->result[2], out, f->out.space[2]);
    }
    cpu_slot_give(r->busy, s);
}

/* ---- backward ---- */

/* The share that element e of the source has in element i of the result. */
static double share_of(const plan *q, int d, int64_t i, int64_t e)
{
    double share = 0;
    for (int t = 0; t < q->taps; t++)
        if (q->axis[d].element[t * q->result[d] + i] == e)
            share += q->axis[d].share[t * q->result[d] + i];
    return share;
}

/* Row (d, h) of the source where each of its elements is two neighbours in every row of the result. */
static void add_doubled(const plan *q, const pl_run *r, int s, int64_t image, int64_t c, int64_t d,
                        int64_t h, char *row)
{
    const pl_frame *f = &q->f;
    f->loops->fill(row, 0, q->source[2]);
    for (int64_t i = q->axis[0].begin[d]; i < q->axis[0].end[d]; i++)
        for (int64_t j = q->axis[1].begin[h]; j < q->axis[1].end[h]; j++)
            f->loops->add_pairs(row,
                                pl_load(f, &f->in, pl_at(&f->in, image, c, i, j, 0), f->in.space[2],
                                        q->result[2], pl_row(r, s, ROW)),
                                q->source[2]);
}

/* Tasks count rows of the source. */
static void run_back(void *ctx, int64_t begin, int64_t end)
{
    const pl_run *r = ctx;
    const plan *q = r->call;
    const pl_frame *f = &q->f;
    const int s = cpu_slot_take(r->busy, r->n_slots);
    char *sums = pl_row(r, s, SUMS), *row = pl_row(r, s, RESULT);
    for (int64_t task = begin; task < end; task++) {
        const int64_t h = task % q->source[1], d = task / q->source[1] % q->source[0];
        const int64_t plane = task / q->source[1] / q->source[0];
        const int64_t image = plane / f->channels, c = plane % f->channels;
        if (q->doubled) {
            add_doubled(q, r, s, image, c, d, h, row);
            f->k->save[f->out.dtype](row, q->source[2], pl_at(&f->out, image, c, d, h, 0),
                                     f->out.space[2]);
            continue;
        }
        f->loops->fill(sums, 0, q->result[2]);
        for (int64_t i = q->axis[0].begin[d]; i < q->axis[0].end[d]; i++)
            for (int64_t j = q->axis[1].begin[h]; j < q->axis[1].end[h]; j++) {
                const double share = share_of(q, 0, i, d) * share_of(q, 1, j, h);
                if (share != 0)
                    f->loops->scaled(sums,
                                     pl_load(f, &f->in, pl_at(&f->in, image, c, i, j, 0),
                                             f->in.space[2], q->result[2], pl_row(r, s, ROW)),
                                     share, q->result[2]);
            }
        f->loops->fill(row, 0, q->source[2]);
        f->loops->scatter(row, sums, q->axis[2].element, q->axis[2].row_share, q->taps,
                          q->result[2]);
        f->k->save[f->out.dtype](row, q->source[2], pl_at(&f->out, image, c, d, h, 0),
                                 f->out.space[2]);
    }
    cpu_slot_give(r->busy, s);
}

/* ---- calls ---- */

static uint64_t scratch(const ndp_kernel *kernel, const ndp_call *call)
{
    plan q;
    (void)kernel;
    plan_call(&q, call);
    return pl_scratch(&q.f);
}

static int32_t run(const ndp_kernel *kernel, ndp_stream *stream, const ndp_call *call)
{
    plan q;
    (void)kernel;
    (void)stream;
    plan_call(&q, call);
    if (!call->scratch.mem || (uint64_t)ndp_view_size(&call->scratch) < pl_scratch(&q.f))
        return cpu_error(NDP_ERR_INTERNAL, "upsample was called without its scratch memory");
    char *memory = cpu_ptr(&call->scratch);
    for (int d = 0; d < 3; memory += table_bytes(&q, d), d++)
        make_table(&q, d, memory);
    q.doubled = q.taps == 1 && q.result[2] == 2 * q.source[2];
    for (int64_t e = 0; q.doubled && e < q.source[2]; e++)
        q.doubled = q.axis[2].begin[e] == 2 * e && q.axis[2].end[e] == 2 * e + 2;
    const int64_t *extent = q.backward ? q.source : q.result;
    return pl_parallel(&q.f, call, &q, q.f.images * q.f.channels * extent[0] * extent[1],
                       extent[2] * q.taps, q.backward ? run_back : run_rows);
}

static const ndp_kernel the_kernel = {
    .size = sizeof(ndp_kernel), .max_ndim = NDP_MAX_NDIM, .scratch = scratch, .run = run};

static const ndp_kernel *find(const ndp_call *like, char *why, size_t n)
{
    return pl_serves(like, 5, 5, why, n) ? &the_kernel : NULL;
}

const cpu_class cpu_resample = {pl_dtypes, find};
