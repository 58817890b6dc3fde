/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Fourier transforms by cuFFT: the last three axes by one plan, those before them one by one.
 *
 * Views that cuFFT cannot describe are copied to dense scratch first, or from it afterwards. An
 * operand that becomes real numbers always is, since cuFFT destroys it; the copy also makes it what
 * real numbers have as a transform, which of any other operand the definition reads (op.def). */
#include "fft/fft.h"
#include <stdio.h>
#include <string.h>
#include "fft/cufft.h"
#include "walk/plan.h"

enum { MOVE_REAL, MOVE_COMPLEX, PAIRS, PAIRED, FUNCTIONS };

typedef struct {
    const cuda_kernel *k;
    ndp_stream *stream;
    const ndp_call *call;
    const ndp_fft *params;
    int32_t single;
    int first, alone; /* the first transformed dimension; how many are taken one by one */
    int copied[2];    /* in, out */
    cufft_key main;
    uint64_t at[2], work, total; /* scratch: dense copies, the work area; all of it */
} job;

/* ---- layouts ---- */

/* The view as cuFFT sees it, of which dimensions from `from` on are transformed. 0: it cannot. */
static int fits(const ndp_view *v, int from, cufft_side *s)
{
    const int last = v->ndim - 1;
    int64_t numbers = 1, step = v->shape[last] == 1 ? 1 : v->stride[last];
    const int is_complex = v->dtype == NDP_C64 || v->dtype == NDP_C128;
    const uint64_t aligned = (uint64_t)ndp_dtype_size(v->dtype) * (is_complex ? 1 : 2);
    memset(s, 0, sizeof *s);
    s->step = step;
    s->embed[0] = v->shape[from];
    for (int d = last - 1; d >= from; d--) {
        const int64_t least = step * v->shape[d + 1];
        const int64_t stride = v->shape[d] == 1 ? least : v->stride[d];
        if (step <= 0 || stride < least || stride % step != 0)
            return 0;
        s->embed[d + 1 - from] = stride / step;
        step = stride;
    }
    s->apart = step * v->shape[from];
    for (int d = from - 1; d >= 0; d--) {
        if (v->shape[d] == 1)
            continue;
        if (numbers == 1)
            s->apart = v->stride[d];
        else if (v->stride[d] != s->apart * numbers)
            return 0;
        numbers *= v->shape[d];
    }
    return step > 0 && s->apart > 0 && cuda_ptr(v) % aligned == 0;
}

/* Rows of dense elements that do not follow each other at once. To such rows of real numbers cuFFT (12.0, of many
 * lengths) writes n/2 + 1 pairs where they lie as far apart as they would in place; it leaves wider gaps alone, which
 * nothing promises. */
static int has_gaps(const ndp_view *v, int from, const cufft_side *s)
{
    const int last = v->ndim - 1;
    return s->step == 1 && (last > from ? s->embed[last - from] : s->apart) != v->shape[last];
}

static void side_dense(const ndp_view *v, int from, cufft_side *s)
{
    memset(s, 0, sizeof *s);
    s->step = s->apart = 1;
    for (int d = from; d < v->ndim; d++) {
        s->embed[d - from] = v->shape[d];
        s->apart *= v->shape[d];
    }
}

static int is_dense(const ndp_view *v, int from, const cufft_side *s)
{
    cufft_side dense;
    side_dense(v, from, &dense);
    return memcmp(s, &dense, sizeof dense) == 0;
}

static void dense_strides(const ndp_view *v, int64_t *stride)
{
    int64_t step = 1;
    for (int d = v->ndim - 1; d >= 0; d--) {
        stride[d] = step;
        step *= v->shape[d];
    }
}

/* ---- planning ---- */

static int32_t kind_of(int32_t op)
{
    return op == NDP_OP_fft       ? CUFFT_COMPLEX
           : op == NDP_OP_fft_r2c ? CUFFT_TO_COMPLEX
                                  : CUFFT_TO_REAL;
}

/* The plan of the last axes. */
static void main_key(job *j)
{
    const ndp_view *in = &j->call->in[0], *out = &j->call->out[0];
    const ndp_view *real = j->main.kind == CUFFT_TO_REAL ? out : in;
    const int from = j->first + j->alone;
    cufft_side side[2];
    j->copied[0] = !fits(in, from, &side[0]) || j->main.kind == CUFFT_TO_REAL;
    j->copied[1] = !fits(out, from, &side[1]) ||
                   (j->main.kind == CUFFT_TO_REAL && has_gaps(out, from, &side[1]));
    /* The other axes are transformed where the result is, or the copied operand. */
    if (j->alone && j->main.kind != CUFFT_TO_REAL)
        j->copied[1] |= !(out->flags & NDP_VIEW_CONTIGUOUS);
    if (j->copied[0])
        side_dense(in, from, &side[0]);
    if (j->copied[1])
        side_dense(out, from, &side[1]);
    j->main.rank = in->ndim - from;
    j->main.batch = 1;
    for (int d = 0; d < from; d++)
        j->main.batch *= in->shape[d];
    for (int d = from; d < in->ndim; d++)
        j->main.n[d - from] = real->shape[d];
    if (is_dense(in, from, &side[0]) && is_dense(out, from, &side[1]))
        return;
    j->main.in = side[0];
    j->main.out = side[1];
}

/* The array whose first axes are transformed one by one: the side that is complex, and dense. */
static const ndp_view *whole(const job *j)
{
    return j->main.kind == CUFFT_TO_REAL ? &j->call->in[0] : &j->call->out[0];
}

/* The plan of one of the first axes, in an array in C order. It has outer * inner transforms, of
 * which a plan's batch has the more numerous kind; *times: how often it is run, *move elements on
 * each time. */
static void lone_key(const job *j, int axis, cufft_key *key, int64_t *times, int64_t *move)
{
    const ndp_view *v = whole(j);
    const int d = j->first + axis;
    int64_t outer = 1, inner = 1;
    for (int i = 0; i < v->ndim; i++)
        *(i < d ? &outer : &inner) *= i == d ? 1 : v->shape[i];
    cuda_cufft_key(j->k->dev, CUFFT_COMPLEX, j->single, key);
    key->rank = 1;
    key->n[0] = key->in.embed[0] = v->shape[d];
    key->in.step = inner;
    key->in.apart = outer <= inner ? 1 : inner * v->shape[d];
    key->batch = outer <= inner ? inner : outer;
    key->out = key->in;
    *times = outer <= inner ? outer : inner;
    *move = outer <= inner ? inner * v->shape[d] : 1;
}

static uint64_t reserve(job *j, uint64_t nbytes)
{
    const uint64_t at = j->total;
    j->total += (nbytes + 255) / 256 * 256;
    return at;
}

static void begin(job *j, const ndp_kernel *base, ndp_stream *s, const ndp_call *call)
{
    const ndp_view *in = &call->in[0], *out = &call->out[0];
    *j = (job){.k = (const cuda_kernel *)base, .stream = s, .call = call, .params = call->params};
    const int n_axes = j->params->n_axes;
    j->first = in->ndim - n_axes;
    j->alone = n_axes > CUFFT_AXES ? n_axes - CUFFT_AXES : 0;
    j->single = in->dtype == NDP_F32 || in->dtype == NDP_C64;
    cuda_cufft_key(j->k->dev, kind_of(call->op), j->single, &j->main);
    main_key(j);
    for (int i = 0; i < 2; i++) {
        const ndp_view *v = i ? out : in;
        if (j->copied[i])
            j->at[i] = reserve(j, (uint64_t)(ndp_view_size(v) * ndp_dtype_size(v->dtype)));
    }
    j->work = j->total;
}

/* The most that one of the plans wants. */
static int32_t find_work(job *j, uint64_t *most)
{
    cufft_key key = j->main;
    uint64_t nbytes;
    int64_t times, move;
    int32_t status = cuda_cufft_work(j->k->dev, &key, most);
    for (int i = 0; i < j->alone && status == NDP_OK; i++) {
        lone_key(j, i, &key, &times, &move);
        status = cuda_cufft_work(j->k->dev, &key, &nbytes);
        *most = status == NDP_OK && nbytes > *most ? nbytes : *most;
    }
    return status;
}

static uint64_t scratch(const ndp_kernel *base, const ndp_call *call)
{
    job j;
    uint64_t work;
    begin(&j, base, NULL, call);
    if (find_work(&j, &work) != NDP_OK)
        return j.total; /* run() reports what is the matter */
    return j.total + work;
}

/* ---- moving elements ---- */

typedef struct {
    const job *j;
    double scale;
    int32_t function, conjugate;
} moving;

static int32_t launch_move(void *ctx, const walk_plan *piece)
{
    const moving *m = ctx;
    line_rows rows = {.kind = m->conjugate};
    uint32_t blocks = line_rows_of(piece, FFT_ITEMS, &rows);
    memcpy(rows.pattern, &m->scale, sizeof m->scale);
    return cuda_launch(m->j->k, m->j->k->function[m->function], m->j->stream, blocks, LINE_THREADS,
                       0, &rows);
}

/* Elements of a view to or from dense scratch at an address, or, without one, where they are. */
static int32_t move(const job *j, int side, CUdeviceptr dense, double scale, int32_t conjugate)
{
    const ndp_view *v = side ? &j->call->out[0] : &j->call->in[0];
    const int64_t size = ndp_dtype_size(v->dtype);
    const int is_complex = v->dtype == NDP_C64 || v->dtype == NDP_C128;
    moving m = {j, scale, is_complex ? MOVE_COMPLEX : MOVE_REAL, conjugate};
    int64_t stride[NDP_MAX_NDIM];
    walk_plan plan;
    dense_strides(v, stride);
    walk_plan_begin(&plan);
    walk_plan_operand(&plan, side || !dense ? cuda_ptr(v) : dense, 1);
    walk_plan_operand(&plan, side && dense ? dense : cuda_ptr(v), 1);
    for (int d = 0; d < v->ndim; d++) {
        const int64_t apart[2] = {v->stride[d] * size, (dense ? stride[d] : v->stride[d]) * size};
        walk_plan_add(&plan, v->shape[d], (int64_t[]){apart[!side], apart[side]});
    }
    walk_plan_turn(&plan);
    walk_plan_sort(&plan);
    walk_plan_merge(&plan);
    return walk_plan_pieces(&plan, CUDA_WALK_FEW + 1, launch_move, &m);
}

/* ---- running ---- */

static CUdeviceptr scratch_at(const job *j, uint64_t at)
{
    return cuda_ptr(&j->call->scratch) + at;
}

static int32_t run_main(const job *j, CUdeviceptr in, CUdeviceptr out)
{
    const cufft_run run = {.in = in,
                           .out = out,
                           .work = scratch_at(j, j->work),
                           .sign = j->params->inverse ? 1 : -1,
                           .times = 1};
    return cuda_cufft_run(j->k->dev, j->stream, &j->main, &run);
}

/* The first axes, in place. */
static int32_t run_alone(const job *j, CUdeviceptr at, int32_t sign)
{
    int32_t status = NDP_OK;
    for (int i = j->alone - 1; i >= 0 && status == NDP_OK; i--) {
        cufft_key key;
        cufft_run run = {.in = at, .out = at, .work = scratch_at(j, j->work), .sign = sign};
        lone_key(j, i, &key, &run.times, &run.move);
        run.move *= ndp_dtype_size(whole(j)->dtype);
        status = cuda_cufft_run(j->k->dev, j->stream, &key, &run);
    }
    return status;
}

static fft_pairs pairs_at(const job *j, CUdeviceptr at)
{
    const cufft_key *k = &j->main;
    const int rank = k->rank;
    return (fft_pairs){.at = at,
                       .batch = (uint64_t)k->batch,
                       .n1 = rank > 2 ? (uint64_t)k->n[0] : 1,
                       .n2 = rank > 1 ? (uint64_t)k->n[rank - 2] : 1,
                       .m = (uint64_t)(k->n[rank - 1] / 2 + 1),
                       .last = k->n[rank - 1] % 2 == 0};
}

/* What real numbers have as a transform, of what is at that address. */
static int32_t run_pairs(const job *j, CUdeviceptr at)
{
    fft_pairs p = pairs_at(j, at);
    const uint64_t elements = p.batch * p.n1 * p.n2 * (p.last ? 2 : 1);
    const uint64_t blocks = (elements + FFT_THREADS - 1) / FFT_THREADS,
                   most = (uint64_t)j->k->dev->sm_count * 32;
    return cuda_launch(j->k, j->k->function[PAIRS], j->stream,
                       (uint32_t)(blocks < most ? blocks : most), FFT_THREADS, 0, &p);
}

/* Whether the operand lies as its copy will, so that one kernel copies it and makes its pairs. */
static int copied_in_pairs(const job *j)
{
    const ndp_view *in = &j->call->in[0];
    return !j->alone && in->flags & NDP_VIEW_CONTIGUOUS && ndp_view_size(in) < INT32_MAX &&
           cuda_ptr(in) % (uint64_t)ndp_dtype_size(in->dtype) == 0;
}

static int32_t copy_in_pairs(const job *j, CUdeviceptr to)
{
    const int64_t elements = ndp_view_size(&j->call->in[0]), block = FFT_THREADS * FFT_ITEMS;
    fft_pairs p = pairs_at(j, to);
    p.from = cuda_ptr(&j->call->in[0]);
    p.scale = j->params->scale;
    p.conjugate = !j->params->inverse;
    p.columns = cuda_divisor_of((uint32_t)p.m);
    return cuda_launch(j->k, j->k->function[PAIRED], j->stream,
                       (uint32_t)((elements + block - 1) / block), FFT_THREADS, 0, &p);
}

/* The dense copy that cuFFT may destroy, transformed along the first axes, of numbers of which real
 * ones are made. */
static int32_t copy_for_real(const job *j, CUdeviceptr to)
{
    if (copied_in_pairs(j))
        return copy_in_pairs(j, to);
    int32_t status = move(j, 0, to, j->params->scale, !j->params->inverse);
    if (status == NDP_OK)
        status = run_alone(j, to, 1);
    return status == NDP_OK ? run_pairs(j, to) : status;
}

/* cuFFT's sign is + to real numbers and - from them; the other sign is the conjugate of these. */
static int32_t to_real(const job *j, CUdeviceptr in, CUdeviceptr out)
{
    int32_t status = copy_for_real(j, in);
    if (status == NDP_OK)
        status = run_main(j, in, out);
    if (status == NDP_OK && j->copied[1])
        status = move(j, 1, out, 1, 0);
    return status;
}

static int32_t to_complex(const job *j, CUdeviceptr in, CUdeviceptr out)
{
    const int from_real = j->main.kind == CUFFT_TO_COMPLEX;
    const int32_t conjugate = from_real && j->params->inverse;
    /* Scaled where it is copied anyway. */
    const int early = j->copied[0] && !j->copied[1] && !conjugate;
    const double scale = j->params->scale, late = early ? 1 : scale;
    int32_t status = NDP_OK;
    if (j->copied[0])
        status = move(j, 0, in, early ? scale : 1, 0);
    if (status == NDP_OK)
        status = run_main(j, in, out);
    if (status == NDP_OK)
        status = run_alone(j, out, !from_real && j->params->inverse ? 1 : -1);
    if (status != NDP_OK || !(j->copied[1] || late != 1 || conjugate))
        return status;
    return move(j, 1, j->copied[1] ? out : 0, late, conjugate);
}

/* Without a work area scratch() found no plan: for what reason is said now. */
static int32_t has_room(job *j)
{
    const ndp_view *given = &j->call->scratch;
    uint64_t work;
    if (given->mem && (uint64_t)given->shape[0] > j->total)
        return NDP_OK;
    int32_t status = find_work(j, &work);
    return status != NDP_OK ? status
                            : cuda_error(NDP_ERR_MEMORY, "no memory for a plan of cuFFT on cuda:%u",
                                         j->k->dev->index);
}

static int32_t run(const ndp_kernel *base, ndp_stream *s, const ndp_call *call)
{
    job j;
    begin(&j, base, s, call);
    int32_t status = has_room(&j);
    if (status != NDP_OK)
        return status;
    const CUdeviceptr in = j.copied[0] ? scratch_at(&j, j.at[0]) : cuda_ptr(&call->in[0]);
    const CUdeviceptr out = j.copied[1] ? scratch_at(&j, j.at[1]) : cuda_ptr(&call->out[0]);
    return j.main.kind == CUFFT_TO_REAL ? to_real(&j, in, out) : to_complex(&j, in, out);
}

/* ---- the class ---- */

static int32_t make(cuda_kernel *k, const ndp_call *like)
{
    const int32_t in = like->in[0].dtype, single = in == NDP_F32 || in == NDP_C64;
    static const char *const names[2][FUNCTIONS] = {
        {"fft_move_f64", "fft_move_c128", "fft_pairs_c128", "fft_paired_c128"},
        {"fft_move_f32", "fft_move_c64", "fft_pairs_c64", "fft_paired_c64"}};
    int32_t status = NDP_OK;
    k->base.run = run;
    k->base.scratch = scratch;
    for (int i = 0; i < FUNCTIONS && status == NDP_OK; i++)
        status = cuda_function(k->dev, CUDA_MODULE_fft_ANY, names[single][i], &k->function[i]);
    return status;
}

static uint64_t dtypes(int32_t op)
{
    const uint64_t real = (uint64_t)1 << NDP_F32 | (uint64_t)1 << NDP_F64;
    const uint64_t complex = (uint64_t)1 << NDP_C64 | (uint64_t)1 << NDP_C128;
    return op == NDP_OP_fft_r2c ? real : op == NDP_OP_fft || op == NDP_OP_fft_c2r ? complex : 0;
}

static int32_t find(ndp_dev *dev, const ndp_call *like, const ndp_kernel **out, char *why, size_t n)
{
    const int32_t in = like->in[0].dtype, single = in == NDP_F32 || in == NDP_C64;
    const int32_t real = single ? NDP_F32 : NDP_F64, complex = single ? NDP_C64 : NDP_C128;
    if (!(dtypes(like->op) >> in & 1) ||
        like->out[0].dtype != (like->op == NDP_OP_fft_c2r ? real : complex))
        return cuda_unsupported(like, why, n);
    if (cuda_cufft_open() != NDP_OK) {
        snprintf(why, n, "%s", cuda_cufft_missing());
        return NDP_ERR_UNSUPPORTED;
    }
    return cuda_kernel_get(dev, like, 0, make, out);
}

const cuda_class cuda_fft = {.dtypes = dtypes, .find = find};
