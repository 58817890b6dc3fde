/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Fourier transforms: one axis after the other, many transforms at a time.
 *
 * Short transforms, and those that lie side by side, are taken a vector of them at a time, each in
 * a lane; longer ones one by one. */
#include <stdio.h>
#include "walk/walk.h"
#include "fft/fftw.h"
#include "fft/line.h"

enum {
    GRAIN = 1 << 14,      /* elements that are worth waking a thread */
    LONG_LINE = 1 << 15,  /* elements of a transform that several threads share */
    NEAR_CELLS = 1 << 19, /* bytes of cells that the nearer caches have room for */
    ODD_CELLS = 1 << 22,  /* bytes of them for odd numbers of real elements */
    MOST_CELLS = 1 << 28, /* bytes of them for transforms that lie side by side */
    SLOTS_A_THREAD = 2    /* parts of work, so that a thread that is held up delays less */
};

/* One axis of a call. */
typedef struct {
    const cpu_fft_table *loops;
    const cpu_fft_plan *plan;
    int32_t kind, inverse;
    int64_t n, size; /* of the transform; bytes of a real number */
    double scale;
    char *base[2];   /* in, out */
    int64_t step[2]; /* bytes from element to element */
    cpu_walk others; /* the other dimensions */
    int in_lanes;    /* transforms are taken a vector at a time */
    int64_t a_run,
        units; /* vectors in an innermost run of others, 0 when vectors span runs; in all */
    cpu_fft_room room;
    int64_t slots;
    char *memory;
} axis;

/* ---- where the elements of up to a vector of transforms are ---- */

/* Side 0 is read, 1 is written. Real elements of an even number are taken as pairs. */
static cpu_fft_io io_of(const axis *x, int side)
{
    const int real = x->kind == (side ? CPU_FFT_TO_REAL : CPU_FFT_TO_COMPLEX);
    const int pairs = real && x->n % 2 == 0;
    cpu_fft_io io = {.re = x->base[side], .step = x->step[side], .scale = {x->scale, x->scale}};
    io.im = pairs ? io.re + io.step : real ? NULL : io.re + x->size;
    io.step *= pairs ? 2 : 1;
    if (x->kind == CPU_FFT_TO_COMPLEX && side && x->inverse)
        io.scale[1] = -io.scale[1];
    if ((x->kind == CPU_FFT_COMPLEX && x->inverse) || (x->kind == CPU_FFT_TO_REAL && side)) {
        char *t = io.re;
        io.re = io.im;
        io.im = t;
    }
    return io;
}

/* Real numbers that go into an odd number of parts. */
static void odd_parts(const axis *x, const cpu_fft_io *in, const cpu_fft_io *out, char *cells,
                      char *work)
{
    const cpu_fft_table *f = x->loops;
    const int64_t parts = cpu_fft_odd_parts(x->n), m = x->n / parts;
    const int64_t nbytes = m * 2 * f->lanes * x->size;
    if (x->kind == CPU_FFT_TO_REAL) {
        f->load(cells, in, x->n / 2 + 1);
        f->join_odd(x->plan, cells, x->inverse ? 1 : -1);
    }
    const int loads = x->kind == CPU_FFT_TO_COMPLEX && !f->load_odd(x->plan, cells, in);
    for (int64_t p = 0; p <= parts / 2; p++) {
        char *at = cells + p * nbytes;
        const cpu_fft_io io = x->kind == CPU_FFT_TO_REAL
                                  ? cpu_fft_io_of_part(out, parts, p ? 2 * p - 1 : 0, 1)
                                  : cpu_fft_io_of_part(in, parts, p ? 2 * p - 1 : 0, 0);
        if (loads)
            f->load(at, &io, m);
        f->cells(x->plan, x->plan->shape.root, at, work);
        if (x->kind == CPU_FFT_TO_REAL)
            f->store(at, &io, m);
    }
    if (x->kind == CPU_FFT_TO_COMPLEX) {
        f->part_odd(x->plan, cells);
        f->store(cells, out, x->n / 2 + 1);
    }
}

/* Cells that are loaded, transformed and stored. */
static void cells_of_lanes(const axis *x, const cpu_fft_io *in, const cpu_fft_io *out, char *cells,
                           char *work)
{
    const cpu_fft_table *f = x->loops;
    const int32_t root = x->plan->shape.root;
    const int64_t n = x->n, length = x->plan->shape.node[root].n;
    const int pairs = n % 2 == 0;
    f->load(cells, in, x->kind == CPU_FFT_TO_REAL ? n / 2 + 1 : length);
    if (x->kind == CPU_FFT_TO_REAL && pairs)
        f->join(x->plan, cells, x->inverse ? 1 : -1);
    else if (x->kind == CPU_FFT_TO_REAL)
        f->mirror(cells, n, x->inverse ? 1 : -1);
    f->cells(x->plan, root, cells, work);
    if (x->kind == CPU_FFT_TO_COMPLEX && pairs)
        f->part(x->plan, cells);
    f->store(cells, out, x->kind == CPU_FFT_TO_COMPLEX ? n / 2 + 1 : length);
}

static void run_vectors(const axis *x, int64_t begin, int64_t end, char *memory)
{
    const int64_t lanes = x->loops->lanes, inner = x->others.shape[x->others.ndim - 1];
    cpu_fft_io in = io_of(x, 0), out = io_of(x, 1);
    for (int64_t u = begin; u < end; u++) {
        cpu_place at;
        int64_t first = u * lanes, room;
        if (x->a_run)
            first = u / x->a_run * inner + u % x->a_run * lanes;
        cpu_place_seek(&at, &x->others, first);
        room = x->a_run ? cpu_place_room(&at) : x->others.size - first;
        in.lanes = out.lanes = (int32_t)(room < lanes ? room : lanes);
        for (int i = 0; i < in.lanes; i++) {
            in.lane[i] = at.offset[0];
            out.lane[i] = at.offset[1];
            if (i + 1 < in.lanes)
                cpu_place_step(&at, 1);
        }
        if (x->kind != CPU_FFT_COMPLEX && cpu_fft_odd_parts(x->n))
            odd_parts(x, &in, &out, memory, memory + x->room.shared);
        else
            cells_of_lanes(x, &in, &out, memory, memory + x->room.shared);
    }
}

static void run_lines(const axis *x, int64_t begin, int64_t end, char *memory, int32_t slots)
{
    cpu_fft_io in = io_of(x, 0), out = io_of(x, 1);
    const cpu_fft_line line = {.loops = x->loops,
                               .plan = x->plan,
                               .kind = x->kind,
                               .slots = slots,
                               .sign = x->inverse ? 1 : -1,
                               .shared = memory,
                               .slot = memory + x->room.shared,
                               .slot_nbytes = x->room.slot};
    in.lanes = out.lanes = 1;
    for (int64_t u = begin; u < end; u++) {
        cpu_place at;
        cpu_place_seek(&at, &x->others, u);
        in.lane[0] = at.offset[0];
        out.lane[0] = at.offset[1];
        cpu_fft_line_run(&line, &in, &out);
    }
}

static void run_slots(void *ctx, int64_t begin, int64_t end)
{
    const axis *x = ctx;
    for (int64_t s = begin; s < end; s++) {
        char *memory = x->memory + s * (x->room.shared + x->room.slot);
        const int64_t from = x->units * s / x->slots, to = x->units * (s + 1) / x->slots;
        if (x->in_lanes)
            run_vectors(x, from, to, memory);
        else
            run_lines(x, from, to, memory, 1);
    }
}

/* ---- planning ---- */

/* Whether lines are worked on one after the other, each by all threads. */
static int shares_lines(const axis *x)
{
    return !x->in_lanes && x->n >= LONG_LINE && x->units < cpu_threads();
}

static int64_t memory_of(const axis *x)
{
    if (shares_lines(x))
        return x->room.shared + x->slots * x->room.slot;
    return x->slots * (x->room.shared + x->room.slot);
}

/* Bytes of cells up to which transforms that lie anywhere are taken a vector at a time. One of an odd
 * number of real elements is as much work as a complex one where it is a line: in lanes that are
 * mostly filled it takes about half the time, from farther memory as well. */
static int64_t most_cells(const axis *x)
{
    const int64_t lanes = x->loops->lanes, size = x->others.size;
    const int filled = 4 * size > 3 * ((size + lanes - 1) / lanes * lanes);
    return x->kind != CPU_FFT_COMPLEX && x->n % 2 && filled ? ODD_CELLS : NEAR_CELLS;
}

/* How many transforms at a time, and in how much memory. */
static void choose_way(axis *x, const cpu_fft_needs *needs)
{
    const int64_t lanes = x->loops->lanes, inner = x->others.shape[x->others.ndim - 1];
    const int64_t wide = 2 * x->size;
    const int64_t real = x->kind == CPU_FFT_COMPLEX ? 0 : cpu_fft_real_cells(x->n);
    const int64_t most = needs->n > real ? needs->n : real;
    const cpu_fft_room cells = {most * lanes * wide, needs->work * lanes * wide};
    const uint64_t away[2] = {ndp_magnitude(cpu_walk_inner(&x->others, 0)),
                              ndp_magnitude(cpu_walk_inner(&x->others, 1))};
    const int beside = inner >= lanes / 2 && away[0] <= (uint64_t)wide &&
                       away[1] <= (uint64_t)wide && cells.shared + cells.slot <= MOST_CELLS;
    x->in_lanes = needs->kind == CPU_FFT_LEAF || beside ||
                  (cells.shared + cells.slot <= most_cells(x) && x->others.size >= lanes / 2);
    x->units = x->others.size;
    if (x->in_lanes) {
        x->a_run = inner >= lanes ? (inner + lanes - 1) / lanes : 0;
        x->units = x->a_run ? x->others.size / inner * x->a_run : (x->units + lanes - 1) / lanes;
        x->room = cells;
    } else {
        x->room = cpu_fft_line_room(needs, x->kind, x->n, x->size);
    }
    const int64_t threads = cpu_threads(), all = x->n * x->others.size;
    x->slots = threads > 1 ? threads * SLOTS_A_THREAD : 1;
    if (all < 2 * GRAIN)
        x->slots = 1;
    else if (x->slots > all / GRAIN)
        x->slots = all / GRAIN;
    if (!shares_lines(x) && x->slots > x->units)
        x->slots = x->units;
}

/* What a transform needs, of those that the thread asked for last. */
static int needs_of(const axis *x, cpu_fft_needs *out)
{
    enum { KEPT = 4 };
    static _Thread_local struct {
        int64_t n, size;
        cpu_fft_needs needs;
    } kept[KEPT];
    static _Thread_local unsigned next;
    const int64_t n = x->kind == CPU_FFT_COMPLEX ? x->n : cpu_fft_complex(x->n);
    cpu_fft_shape shape;
    for (int i = 0; i < KEPT; i++)
        if (kept[i].n == n && kept[i].size == x->size) {
            *out = kept[i].needs;
            return 1;
        }
    if (!cpu_fft_cut(n, &shape))
        return 0;
    cpu_fft_find_needs(&shape, x->loops->lanes, x->size, out);
    kept[next % KEPT].n = n;
    kept[next % KEPT].size = x->size;
    kept[next++ % KEPT].needs = *out;
    return 1;
}

/* The axis d of the call, from one view to another of the same shape but for that axis. */
static void axis_begin(axis *x, const ndp_call *call, int d, const ndp_view *from,
                       const ndp_view *to)
{
    const ndp_fft *params = call->params;
    const int64_t in_size = ndp_dtype_size(from->dtype), out_size = ndp_dtype_size(to->dtype);
    const int single = from->dtype == NDP_F32 || from->dtype == NDP_C64;
    *x = (axis){.inverse = params->inverse, .scale = 1, .size = single ? 4 : 8};
    x->loops = single ? CPU_ISA_PICK(cpu_fft_f32) : CPU_ISA_PICK(cpu_fft_f64);
    x->kind = in_size == out_size  ? CPU_FFT_COMPLEX
              : in_size < out_size ? CPU_FFT_TO_COMPLEX
                                   : CPU_FFT_TO_REAL;
    x->n = x->kind == CPU_FFT_TO_COMPLEX ? from->shape[d] : to->shape[d];
    x->step[0] = from->stride[d] * in_size;
    x->step[1] = to->stride[d] * out_size;
    cpu_walk_begin(&x->others, 2);
    for (int i = 0; i < to->ndim; i++) {
        const int64_t step[2] = {from->stride[i] * in_size, to->stride[i] * out_size};
        if (i != d)
            cpu_walk_add(&x->others, to->shape[i], step);
    }
    cpu_walk_sort(&x->others);
    cpu_walk_end(&x->others);
}

/* ---- calls: the last axis first, since it is the one of real numbers, or last for those ---- */

/* The views that one axis is transformed from and to. where: 0 the operand, 1 the result, 2 the
 * scratch memory. */
typedef struct {
    int axis, from, to;
} step;

/* Steps of a call; the result is written by the last one. */
static int steps_of(const ndp_call *call, step *steps)
{
    const ndp_fft *params = call->params;
    const int n = params->n_axes, last = call->out[0].ndim - 1;
    for (int i = 0; i < n; i++)
        steps[i] = (step){last - i, i ? 1 : 0, 1};
    if (call->op != NDP_OP_fft_c2r)
        return n;
    for (int i = 0; i < n; i++)
        steps[i] = (step){i < n - 1 ? last - n + 1 + i : last, i ? 2 : 0, i < n - 1 ? 2 : 1};
    return n;
}

/* The view in scratch memory, of the operand's shape in C order; its bytes, rounded up. */
static int64_t between(const ndp_call *call, ndp_view *view, int64_t *stride)
{
    const ndp_view *in = &call->in[0];
    int64_t nbytes = ndp_dtype_size(in->dtype);
    if (call->op != NDP_OP_fft_c2r || ((const ndp_fft *)call->params)->n_axes < 2)
        return 0;
    *view = *in;
    for (int d = in->ndim - 1; d >= 0; d--) {
        stride[d] = nbytes / ndp_dtype_size(in->dtype);
        nbytes *= in->shape[d];
    }
    view->stride = stride;
    view->mem = call->scratch.mem;
    view->offset_bytes = call->scratch.offset_bytes;
    return (nbytes + CPU_FFT_ALIGN - 1) / CPU_FFT_ALIGN * CPU_FFT_ALIGN;
}

static int32_t too_long(int64_t n)
{
    return cpu_error(NDP_ERR_OVERFLOW, "a Fourier transform of %lld elements is too long",
                     (long long)n);
}

static cpu_fftw_axis by_fftw(const axis *x)
{
    return (cpu_fftw_axis){x->kind,    x->inverse, x->n,       x->size,    x->scale, x->base[0],
                           x->base[1], x->step[0], x->step[1], &x->others, x->memory};
}

static int32_t run_axis(axis *x)
{
    cpu_fft_use use;
    cpu_fft_needs needs;
    const cpu_fftw_axis other = by_fftw(x);
    if (cpu_fftw_wanted())
        return cpu_fftw_run(&other);
    if (!needs_of(x, &needs))
        return too_long(x->n);
    choose_way(x, &needs);
    int32_t status =
        cpu_fft_acquire(x->n, x->size == 4 ? NDP_F32 : NDP_F64, x->kind != CPU_FFT_COMPLEX, &use);
    if (status != NDP_OK)
        return status;
    x->plan = use.plan;
    if (shares_lines(x))
        run_lines(x, 0, x->units, x->memory, (int32_t)x->slots);
    else
        cpu_parallel(x->slots, 1, run_slots, x);
    cpu_fft_release(&use);
    return NDP_OK;
}

static int32_t run(const ndp_kernel *kernel, ndp_stream *stream, const ndp_call *call)
{
    (void)kernel;
    (void)stream;
    const ndp_view *view[3] = {&call->in[0], &call->out[0], NULL};
    int64_t stride[NDP_MAX_NDIM];
    ndp_view middle;
    step steps[NDP_MAX_NDIM];
    const int n = steps_of(call, steps);
    const int64_t kept = between(call, &middle, stride);
    view[2] = &middle;
    for (int i = 0; i < n; i++) {
        axis x;
        axis_begin(&x, call, steps[i].axis, view[steps[i].from], view[steps[i].to]);
        x.memory = cpu_ptr(&call->scratch) + kept;
        x.base[0] = cpu_ptr(view[steps[i].from]);
        x.base[1] = cpu_ptr(view[steps[i].to]);
        x.scale = i == n - 1 ? ((const ndp_fft *)call->params)->scale : 1;
        int32_t status = run_axis(&x);
        if (status != NDP_OK)
            return status;
    }
    return NDP_OK;
}

static uint64_t scratch(const ndp_kernel *kernel, const ndp_call *call)
{
    (void)kernel;
    const ndp_view *view[3] = {&call->in[0], &call->out[0], NULL};
    int64_t stride[NDP_MAX_NDIM], most = 0;
    ndp_view middle;
    step steps[NDP_MAX_NDIM];
    const int n = steps_of(call, steps);
    const int64_t kept = between(call, &middle, stride);
    view[2] = &middle;
    for (int i = 0; i < n; i++) {
        axis x;
        cpu_fft_needs needs;
        axis_begin(&x, call, steps[i].axis, view[steps[i].from], view[steps[i].to]);
        const cpu_fftw_axis other = by_fftw(&x);
        if (!cpu_fftw_wanted() && !needs_of(&x, &needs))
            return 0;
        if (!cpu_fftw_wanted())
            choose_way(&x, &needs);
        const int64_t nbytes = cpu_fftw_wanted() ? cpu_fftw_memory(&other) : memory_of(&x);
        most = nbytes > most ? nbytes : most;
    }
    return (uint64_t)(kept + most);
}

static const ndp_kernel the_kernel = {
    .size = sizeof(ndp_kernel), .max_ndim = NDP_MAX_NDIM, .scratch = scratch, .run = run};

static uint64_t dtypes(int32_t op)
{
    const uint64_t real = (uint64_t)1 << NDP_F32 | (uint64_t)1 << NDP_F64;
    const uint64_t complex = (uint64_t)1 << NDP_C64 | (uint64_t)1 << NDP_C128;
    return op == NDP_OP_fft_r2c ? real : complex;
}

static const ndp_kernel *find(const ndp_call *like, char *why, size_t n)
{
    const int32_t in = like->in[0].dtype, out = like->out[0].dtype;
    const int32_t real = in == NDP_C64 ? NDP_F32 : NDP_F64,
                  complex = in == NDP_F32 ? NDP_C64 : NDP_C128;
    const int32_t wanted = like->op == NDP_OP_fft       ? in
                           : like->op == NDP_OP_fft_r2c ? complex
                                                        : real;
    if (dtypes(like->op) >> in & 1 && out == wanted)
        return cpu_fftw_serves(why, n) ? &the_kernel : NULL;
    snprintf(why, n, "the CPU plug-in has no %s from dtype %d to dtype %d", cpu_op_name(like->op),
             (int)in, (int)out);
    return NULL;
}

const cpu_class cpu_fft = {dtypes, find};
