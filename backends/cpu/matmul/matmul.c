/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Matrix products: the kernel the core finds, and the run of a plan.
 *
 * Tiles of one large product share operands packed beforehand; tiles of small products pack their
 * own. Threads take tiles; a tile computes in a slot of the call's scratch memory, of which there
 * are as many as threads. */
#include <stdio.h>
#include <string.h>
#include "host/slots.h"
#include "matmul/matmul.h"

#define MM_PACK_LEAST (8 << 10) /* elements worth a task of packing */
#define MM_PACK_MOST (32 << 10)

void mm_pack(const mm_kernels *k, mm_pack_fn fn, int64_t width, const char *src, int32_t dtype,
             int64_t stride_w, int64_t stride_k, int64_t w, int64_t kc, char *dst)
{
    if (mm_is_native(k, dtype) || k->reads == dtype) {
        fn(src, stride_w, stride_k, w, kc, dst);
        return;
    }
    _Alignas(64) char panel[MM_MAX_DEPTH * MM_MAX_PANEL];
    const int64_t size = ndp_dtype_size(dtype);
    for (int64_t i = 0; i < w; i += width) {
        int64_t lanes = w - i < width ? w - i : width;
        if (stride_w == 1) {
            k->load[dtype](src + i * size, stride_k, 1, kc, lanes, panel);
            fn(panel, 1, lanes, lanes, kc, dst + i * kc * k->element);
        } else {
            k->load[dtype](src + i * stride_w * size, stride_w, stride_k, lanes, kc, panel);
            fn(panel, kc, 1, lanes, kc, dst + i * kc * k->element);
        }
    }
}

static void pack_a(const mm_plan *p, int64_t item, int64_t i, int64_t w, int64_t k, int64_t kc,
                   char *dst)
{
    mm_pack(p->k, p->k->pack_a, p->k->rows, mm_at(p, &p->a, item, i, k), p->a.dtype, p->a.row,
            p->a.column, w, kc, dst);
}

static void pack_b(const mm_plan *p, int64_t item, int64_t j, int64_t w, int64_t k, int64_t kc,
                   char *dst)
{
    mm_pack(p->k, p->k->pack_b, p->k->columns, mm_at(p, &p->b, item, k, j), p->b.dtype, p->b.column,
            p->b.row, w, kc, dst);
}

/* The part of one product that is computed at a time, and the scratch memory. */
typedef struct {
    const mm_plan *p;
    char *shared, *slots;
    atomic_uchar *busy; /* a slot each */
    int32_t n_slots;
    int64_t item, i0, j0, m, n; /* shared operands: of this part */
    int64_t tiles_m, tiles_n;   /* in it */
    int32_t goes_down;          /* the next tile is the one below, not the one beside */
    struct {
        int64_t lanes, blocks, tasks; /* of a task, of k; in all */
    } packing[2];                     /* of a and b */
} mm_run;

static void pack_shared(void *ctx, int64_t begin, int64_t end)
{
    const mm_run *r = ctx;
    const mm_plan *p = r->p;
    for (int64_t g = begin; g < end; g++) {
        const int is_b = g >= r->packing[0].tasks;
        const int64_t t = is_b ? g - r->packing[0].tasks : g, blocks = r->packing[is_b].blocks;
        const int64_t lane = t / blocks * r->packing[is_b].lanes, all = is_b ? r->n : r->m;
        const int64_t left = all - lane,
                      w = left < r->packing[is_b].lanes ? left : r->packing[is_b].lanes;
        const int64_t padded = mm_round_up(all, is_b ? p->k->columns : p->k->rows);
        const int64_t last = blocks > 1 ? (t % blocks + 1) * p->kc : p->depth;
        for (int64_t k = t % blocks * p->kc; k < last && k < p->depth; k += p->kc) {
            int64_t kc = p->depth - k < p->kc ? p->depth - k : p->kc;
            int64_t offset = (padded * k + lane * kc) * p->k->element;
            if (is_b)
                pack_b(p, r->item, r->j0 + lane, w, k, kc, r->shared + p->shared_b + offset);
            else
                pack_a(p, r->item, r->i0 + lane, w, k, kc, r->shared + p->shared_a + offset);
        }
    }
}

/* Packed operands of a tile from (i, j) on at depth d, which all tiles share. */
static const char *shared_a(const mm_run *r, int64_t i, int64_t d)
{
    const int64_t kc = r->p->depth - d < r->p->kc ? r->p->depth - d : r->p->kc;
    const int64_t all = mm_round_up(r->m, r->p->k->rows);
    return r->shared + r->p->shared_a + (all * d + i * kc) * r->p->k->element;
}
static const char *shared_b(const mm_run *r, int64_t j, int64_t d)
{
    const int64_t kc = r->p->depth - d < r->p->kc ? r->p->depth - d : r->p->kc;
    const int64_t all = mm_round_up(r->n, r->p->k->columns);
    return r->shared + r->p->shared_b + (all * d + j * kc) * r->p->k->element;
}

/* The tile after the one at (i, j), if any. */
static void next_tile(const mm_run *r, int64_t *i, int64_t *j)
{
    const mm_plan *p = r->p;
    if (r->goes_down) {
        *i += p->tile_m;
        *j += *i < r->m ? 0 : p->tile_n;
    } else {
        *j += p->tile_n;
        *i += *j < r->n ? 0 : p->tile_m;
    }
    *i = *i < r->m ? *i : 0;
    *j = *j < r->n ? *j : 0;
}

/* One block of k of a tile whose operands are packed. What comes next are those of the next block or, of
 * the last one, of the next tile. */
static void shared_block(const mm_run *r, int64_t i, int64_t j, int64_t d, int64_t m, int64_t n,
                         char *sums, int64_t ld)
{
    const mm_plan *p = r->p;
    const int64_t kc = p->depth - d < p->kc ? p->depth - d : p->kc;
    const char *a = shared_a(r, i, d), *b = shared_b(r, j, d);
    const int ends = d + p->kc >= p->depth;
    const int64_t next_d = ends ? 0 : d + p->kc;
    if (ends)
        next_tile(r, &i, &j);
    p->k->shared_block(m, n, kc, a, b, sums, ld, d > 0, shared_a(r, i, next_d),
                       shared_b(r, j, next_d));
}

/* One tile of the run's part: sums over all of k, in out itself where nothing else is to be done.
 */
static void tile(const mm_run *r, int64_t item, int64_t i, int64_t j, char *slot)
{
    const mm_plan *p = r->p;
    const mm_kernels *k = p->k;
    const int64_t m = r->m - i < p->tile_m ? r->m - i : p->tile_m;
    const int64_t n = r->n - j < p->tile_n ? r->n - j : p->tile_n;
    char *sums = p->direct ? mm_at(p, &p->out, item, r->i0 + i, r->j0 + j) : slot + p->slot_sums;
    const int64_t ld = p->direct ? p->out.row : p->pitch;
    for (int64_t d = 0; d < p->depth; d += p->kc) {
        int64_t kc = p->depth - d < p->kc ? p->depth - d : p->kc;
        char *a = slot + p->slot_a, *b = slot + p->slot_b;
        if (p->path == MM_SHARED) {
            shared_block(r, i, j, d, m, n, sums, ld);
            continue;
        }
        pack_a(p, item, i, m, d, kc, a);
        pack_b(p, item, j, n, d, kc, b);
        k->block(m, n, kc, a, b, sums, ld, d > 0);
    }
    for (int64_t row = 0; p->depth == 0 && row < m; row++)
        memset(sums + row * ld * k->element, 0, (size_t)(n * k->element));
    if (!p->direct)
        mm_finish(p, item, r->i0 + i, r->j0 + j, m, n, sums, slot + p->slot_row);
}

/* Whether operand x of each product lies in memory without gaps. */
static int is_dense(const mm_operand *x, int64_t rows, int64_t columns)
{
    return (x->column == 1 && x->row == columns) || (x->row == 1 && x->column == rows);
}

/* One small product, whose operands the kernel reads as they lie. Where another one follows, its operands
 * are asked for: they are pages of their own, before whose ends processors stop to look ahead. */
static void plain_product(const mm_plan *p, int64_t item, int has_next)
{
    const char *a = mm_at(p, &p->a, item, 0, 0), *b = mm_at(p, &p->b, item, 0, 0);
    char *c = mm_at(p, &p->out, item, 0, 0);
    if (has_next && is_dense(&p->a, p->m, p->depth) && is_dense(&p->b, p->depth, p->n))
        p->k->plain_ahead(p->m, p->n, p->depth, a, p->a.row, p->a.column, b, p->b.row, c,
                          p->out.row, mm_at(p, &p->a, item + 1, 0, 0),
                          mm_at(p, &p->b, item + 1, 0, 0));
    else
        p->k->plain(p->m, p->n, p->depth, a, p->a.row, p->a.column, b, p->b.row, c, p->out.row);
}

/* Tasks count tiles of the part, product by product. */
static void run_tiles(void *ctx, int64_t begin, int64_t end)
{
    const mm_run *r = ctx;
    const mm_plan *p = r->p;
    const int s = cpu_slot_take(r->busy, r->n_slots);
    for (int64_t t = begin; t < end; t++) {
        int64_t item = r->item + t / (r->tiles_m * r->tiles_n), in = t % (r->tiles_m * r->tiles_n);
        const int64_t row = r->goes_down ? in % r->tiles_m : in / r->tiles_n;
        const int64_t column = r->goes_down ? in / r->tiles_m : in % r->tiles_n;
        const int64_t i = row * p->tile_m, j = column * p->tile_n;
        char *slot = r->slots + s * p->slot_bytes;
        if (p->path == MM_SWEEP)
            mm_sweep_tile(p, item, j, p->n - j < p->tile_n ? p->n - j : p->tile_n, slot);
        else if (p->path == MM_DOT)
            mm_dot_tile(p, item, j, p->n - j < p->tile_n ? p->n - j : p->tile_n, slot);
        else if (p->path == MM_PLAIN)
            plain_product(p, item, t + 1 < end);
        else
            tile(r, item, i, j, slot);
    }
    cpu_slot_give(r->busy, s);
}

/* Tasks read memory in runs as long as can be: of lanes side by side those of one block of k, else lanes from end to
 * end. */
static void cut_packing(mm_run *r, int is_b)
{
    const mm_plan *p = r->p;
    const int64_t own = (r->m + r->n) * p->depth / (2 * (int64_t)cpu_team());
    const int64_t work = own < MM_PACK_LEAST  ? MM_PACK_LEAST
                         : own > MM_PACK_MOST ? MM_PACK_MOST
                                              : own;
    const int64_t all = is_b ? r->n : r->m;
    const int beside = (is_b ? p->b.column : p->a.row) == 1;
    const int64_t deep = beside ? p->kc : p->depth;
    const int64_t lanes = mm_round_up((work + deep - 1) / deep, is_b ? p->k->columns : p->k->rows);
    r->packing[is_b].lanes = lanes;
    r->packing[is_b].blocks = beside ? (p->depth + p->kc - 1) / p->kc : 1;
    r->packing[is_b].tasks = (all + lanes - 1) / lanes * r->packing[is_b].blocks;
}

static void run_shared(mm_run *r)
{
    const mm_plan *p = r->p;
    for (r->item = 0; r->item < p->batch; r->item++)
        for (r->j0 = 0; r->j0 < p->n; r->j0 += p->super_n)
            for (r->i0 = 0; r->i0 < p->m; r->i0 += p->super_m) {
                r->m = p->m - r->i0 < p->super_m ? p->m - r->i0 : p->super_m;
                r->n = p->n - r->j0 < p->super_n ? p->n - r->j0 : p->super_n;
                r->tiles_m = (r->m + p->tile_m - 1) / p->tile_m;
                r->tiles_n = (r->n + p->tile_n - 1) / p->tile_n;
                /* While tiles go down, all of a is read for each of their columns; else all of b
                 * for each of their rows. */
                r->goes_down = r->tiles_n * r->m < r->tiles_m * r->n;
                cut_packing(r, 0);
                cut_packing(r, 1);
                cpu_parallel(r->packing[0].tasks + r->packing[1].tasks, 1, pack_shared, r);
                cpu_parallel(r->tiles_m * r->tiles_n, 1, run_tiles, r);
            }
}

static void run_separate(mm_run *r)
{
    const mm_plan *p = r->p;
    /* Few rows: reading b takes the time of four. */
    const int64_t rows = p->path == MM_SEPARATE ? p->tile_m : p->tile_m + 3;
    const int64_t work = rows * p->tile_n * (p->depth + 1);
    r->m = p->m;
    r->n = p->n;
    r->tiles_m = (p->m + p->tile_m - 1) / p->tile_m;
    r->tiles_n = (p->n + p->tile_n - 1) / p->tile_n;
    cpu_parallel(p->batch * r->tiles_m * r->tiles_n, (MM_TASK_WORK + work - 1) / work, run_tiles,
                 r);
}

/* Bias and epilogue over tiles that BLAS has computed. */
static void after_blas(void *ctx, int64_t begin, int64_t end)
{
    const mm_run *r = ctx;
    mm_plan p = *r->p;
    const int s = cpu_slot_take(r->busy, r->n_slots);
    char *slot = r->slots + s * p.slot_bytes;
    p.scale = (mm_scale){.f_alpha = 1};
    for (int64_t t = begin; t < end; t++) {
        int64_t i = t / r->tiles_n * p.tile_m, j = t % r->tiles_n * p.tile_n;
        int64_t m = p.m - i < p.tile_m ? p.m - i : p.tile_m;
        int64_t n = p.n - j < p.tile_n ? p.n - j : p.tile_n;
        for (int64_t row = 0; row < m; row++)
            memcpy(slot + p.slot_sums + row * p.pitch * p.k->element,
                   mm_at(&p, &p.out, r->item, i + row, j), (size_t)(n * p.k->element));
        mm_finish(&p, r->item, i, j, m, n, slot + p.slot_sums, slot + p.slot_row);
    }
    cpu_slot_give(r->busy, s);
}

static void run_blas(mm_run *r)
{
    const mm_plan *p = r->p;
    r->tiles_m = (p->m + p->tile_m - 1) / p->tile_m;
    r->tiles_n = (p->n + p->tile_n - 1) / p->tile_n;
    for (r->item = 0; r->item < p->batch; r->item++) {
        mm_blas_product(p, mm_at(p, &p->a, r->item, 0, 0), mm_at(p, &p->b, r->item, 0, 0),
                        mm_at(p, &p->out, r->item, 0, 0));
        if (p->has_bias || p->epilogue_loop)
            cpu_parallel(r->tiles_m * r->tiles_n, 1, after_blas, r);
    }
}

static uint64_t scratch(const ndp_kernel *kernel, const ndp_call *call)
{
    mm_plan p;
    (void)kernel;
    mm_plan_call(&p, call);
    const int64_t slots = cpu_threads();
    return (uint64_t)(p.shared_bytes + mm_round_up(slots, 64) + slots * p.slot_bytes);
}

static int32_t run(const ndp_kernel *kernel, ndp_stream *stream, const ndp_call *call)
{
    mm_plan p;
    (void)kernel;
    (void)stream;
    mm_plan_call(&p, call);
    if (p.epilogue != NDP_EPILOGUE_NONE && !p.epilogue_loop)
        return cpu_error(NDP_ERR_DTYPE, "matmul has no epilogue %d for dtype %d", (int)p.epilogue,
                         (int)p.out.dtype);
    if (mm_is_empty(&p))
        return NDP_OK;
    mm_run r = {.p = &p, .n_slots = cpu_threads()};
    const int64_t need = p.shared_bytes + mm_round_up(r.n_slots, 64) + r.n_slots * p.slot_bytes;
    if (!call->scratch.mem || ndp_view_size(&call->scratch) < need)
        return cpu_error(NDP_ERR_INTERNAL, "matmul was called without its scratch memory");
    r.shared = cpu_ptr(&call->scratch);
    r.busy = (atomic_uchar *)(r.shared + p.shared_bytes);
    r.slots = (char *)r.busy + mm_round_up(r.n_slots, 64);
    memset(r.busy, 0, (size_t)r.n_slots);
    if (mm_blas_serves(&p))
        run_blas(&r);
    else if (p.path == MM_SHARED)
        run_shared(&r);
    else
        run_separate(&r);
    return NDP_OK;
}

static const ndp_kernel the_kernel = {
    .size = sizeof(ndp_kernel), .max_ndim = NDP_MAX_NDIM, .scratch = scratch, .run = run};

static uint64_t dtypes(int32_t op)
{
    return cpu_domain_dtypes(op);
}

static const ndp_kernel *find(const ndp_call *like, char *why, size_t n)
{
    const int32_t out = like->out[0].dtype;
    const mm_kernels *k = mm_kernels_for(like->in[0].dtype, out);
    for (uint32_t i = 0; k && i < like->n_in; i++)
        if (!like->in[i].mem || !k->load[like->in[i].dtype])
            k = NULL;
    if (!k || ndp_dtype_size(out) < ndp_dtype_size(like->in[0].dtype)) {
        snprintf(why, n, "matmul of dtype %d cannot store dtype %d", (int)like->in[0].dtype,
                 (int)out);
        return NULL;
    }
    return &the_kernel;
}

const cpu_class cpu_matmul = {dtypes, find};
