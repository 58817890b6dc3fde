/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Cumulative sums and products along the last dimension.
 *
 * Elements pass through blocks of what is computed in: double for floating dtypes, pairs of it for
 * complex ones, u64 for integers (which wrap). Where another dimension is the densest in memory,
 * neighbouring rows are scanned side by side. Either way a row is scanned from its first element to
 * its last, so the bits depend on neither the layout nor the threads. */
#include <stdio.h>
#include <string.h>
#include "reduce/reduce.h"
#include "reduce/scan_loops.h"
#include "walk/walk.h"

enum { GRAIN = 1 << 14 }; /* elements that are worth waking a thread */

#define AS_IS(x) (x)
#define TO_U64(x) ((uint64_t)(x))
#define TO_F64(x) ((double)(x))
#define TO_F32(v) ((float)(v))
#define TO_BOOL(v) ((v) != 0)
#define F16_TO_F64(x) ((double)cpu_f16_to_f32(x))
#define F64_TO_F16(v) (cpu_f16_from_f32(cpu_f32_round_odd(v)))
#define BF16_TO_F64(x) ((double)cpu_bf16_to_f32(x))
#define F64_TO_BF16(v) (cpu_bf16_from_f32(cpu_f32_round_odd(v)))

#define TNAME bool
#define T uint8_t
#define COMPS 1
#define ACC uint64_t
#define LOAD TO_BOOL
#define STORE TO_BOOL
#include "reduce/scan_tmpl.h"

#define TNAME i8
#define T int8_t
#define COMPS 1
#define ACC uint64_t
#define LOAD TO_U64
#define STORE (T)
#include "reduce/scan_tmpl.h"

#define TNAME i16
#define T int16_t
#define COMPS 1
#define ACC uint64_t
#define LOAD TO_U64
#define STORE (T)
#include "reduce/scan_tmpl.h"

#define TNAME i32
#define T int32_t
#define COMPS 1
#define ACC uint64_t
#define LOAD TO_U64
#define STORE (T)
#include "reduce/scan_tmpl.h"

#define TNAME u8
#define T uint8_t
#define COMPS 1
#define ACC uint64_t
#define LOAD TO_U64
#define STORE (T)
#include "reduce/scan_tmpl.h"

#define TNAME u16
#define T uint16_t
#define COMPS 1
#define ACC uint64_t
#define LOAD TO_U64
#define STORE (T)
#include "reduce/scan_tmpl.h"

#define TNAME u32
#define T uint32_t
#define COMPS 1
#define ACC uint64_t
#define LOAD TO_U64
#define STORE (T)
#include "reduce/scan_tmpl.h"

#define TNAME u64
#define T uint64_t
#define COMPS 1
#define ACC uint64_t
#define LOAD AS_IS
#define STORE AS_IS
#include "reduce/scan_tmpl.h"

#define TNAME f16
#define T uint16_t
#define COMPS 1
#define ACC double
#define LOAD F16_TO_F64
#define STORE F64_TO_F16
#include "reduce/scan_tmpl.h"

#define TNAME bf16
#define T uint16_t
#define COMPS 1
#define ACC double
#define LOAD BF16_TO_F64
#define STORE F64_TO_BF16
#include "reduce/scan_tmpl.h"

#define TNAME f32
#define T float
#define COMPS 1
#define ACC double
#define LOAD TO_F64
#define STORE TO_F32
#include "reduce/scan_tmpl.h"

#define TNAME f64
#define T double
#define COMPS 1
#define ACC double
#define LOAD AS_IS
#define STORE AS_IS
#include "reduce/scan_tmpl.h"

#define TNAME c64
#define T float
#define COMPS 2
#define ACC double
#define LOAD TO_F64
#define STORE TO_F32
#include "reduce/scan_tmpl.h"

#define TNAME c128
#define T double
#define COMPS 2
#define ACC double
#define LOAD AS_IS
#define STORE AS_IS
#include "reduce/scan_tmpl.h"

typedef void (*scan_store)(char *dst, int64_t stride_bytes, const void *src, int64_t n);
static const struct {
    cpu_load load;
    scan_store store;
} io[NDP_DTYPE_END] = {
    [NDP_BOOL] = {load_bool, store_bool}, [NDP_I8] = {load_i8, store_i8},
    [NDP_I16] = {load_i16, store_i16},    [NDP_I32] = {load_i32, store_i32},
    [NDP_I64] = {load_u64, store_u64},    [NDP_U8] = {load_u8, store_u8},
    [NDP_U16] = {load_u16, store_u16},    [NDP_U32] = {load_u32, store_u32},
    [NDP_U64] = {load_u64, store_u64},    [NDP_F16] = {load_f16, store_f16},
    [NDP_BF16] = {load_bf16, store_bf16}, [NDP_F32] = {load_f32, store_f32},
    [NDP_F64] = {load_f64, store_f64},    [NDP_C64] = {load_c64, store_c64},
    [NDP_C128] = {load_c128, store_c128},
};

typedef struct {
    cpu_walk rows; /* operands: in, out, in bytes */
    const char *in;
    char *out;
    int64_t n, step[2];    /* along the scanned dimension, bytes */
    int64_t beside, tiles; /* whether rows go side by side, and in how many tiles a run */
    int words;             /* dense sums of 64 bits, which need no block */
    scan_loop at_once;     /* of ROWS rows, or NULL */
    cpu_load load;
    scan_store store;
    scan_loop along, across;
    int prod, complex;
} plan;

static void plan_make(plan *p, const ndp_call *call)
{
    const ndp_view *in = &call->in[0], *out = &call->out[0];
    int64_t in_bytes = ndp_dtype_size(in->dtype), out_bytes = ndp_dtype_size(out->dtype);
    int last = in->ndim - 1, prod = call->op == NDP_OP_cumulative_prod;
    p->in = cpu_ptr(in);
    p->out = cpu_ptr(out);
    p->load = io[in->dtype].load;
    p->store = io[out->dtype].store;
    cpu_walk_begin(&p->rows, 2);
    for (int d = 0; d < last; d++) {
        int64_t step[2] = {in->stride[d] * in_bytes, out->stride[d] * out_bytes};
        cpu_walk_add(&p->rows, in->shape[d], step);
    }
    cpu_walk_sort(&p->rows);
    cpu_walk_end(&p->rows);
    p->n = last < 0 ? 1 : in->shape[last];
    p->step[0] = last < 0 ? 0 : in->stride[last] * in_bytes;
    p->step[1] = last < 0 ? 0 : out->stride[last] * out_bytes;
    int kind = kind_of(in->dtype);
    p->prod = prod;
    p->complex = kind == COMPLEX;
    p->along = loops[kind][prod].along;
    p->across = loops[kind][prod].across;
    p->at_once = loops[kind][prod].rows;
    p->words = kind == INTEGER && !prod && in_bytes == 8 && out_bytes == 8 && p->step[0] == 8 &&
               p->step[1] == 8;
    /* Rows side by side where they are closer to each other than their own elements are. */
    int64_t next = cpu_walk_inner(&p->rows, 0), own = p->step[0];
    int64_t inner = p->rows.shape[p->rows.ndim - 1];
    p->beside = inner >= 8 && p->n > 1 && (own < 0 ? -own : own) > (next < 0 ? -next : next);
    p->tiles = (inner + TILE - 1) / TILE;
}

/* ROWS rows from row on, which is left at the last of them. */
static void scan_at_once(const plan *p, cpu_place *row, double *block, carry *c)
{
    int64_t in[ROWS], out[ROWS];
    for (int r = 0; r < ROWS; r++) {
        if (r > 0)
            cpu_place_step(row, 1);
        in[r] = row->offset[0];
        out[r] = row->offset[1];
    }
    start(c, p->prod, 0, ROWS);
    for (int64_t i = 0; i < p->n; i += BLOCK) {
        int64_t m = p->n - i < BLOCK ? p->n - i : BLOCK;
        for (int r = 0; r < ROWS; r++)
            p->load(block + r * PITCH, p->in + in[r] + i * p->step[0], p->step[0], m);
        p->at_once(c, block, m);
        for (int r = 0; r < ROWS; r++)
            p->store(p->out + out[r] + i * p->step[1], p->step[1], block + r * PITCH, m);
    }
}

static void scan_rows(void *ctx, int64_t begin, int64_t end)
{
    const plan *p = ctx;
    double block[ROWS * PITCH];
    carry c;
    cpu_place row;
    cpu_place_seek(&row, &p->rows, begin);
    for (int64_t u = begin; u < end; u++, cpu_place_step(&row, 1)) {
        if (p->at_once && end - u >= ROWS) {
            scan_at_once(p, &row, block, &c);
            u += ROWS - 1;
            continue;
        }
        start(&c, p->prod, p->complex, 1);
        for (int64_t i = 0; i < p->n; i += BLOCK) {
            int64_t m = p->n - i < BLOCK ? p->n - i : BLOCK;
            p->load(block, p->in + row.offset[0] + i * p->step[0], p->step[0], m);
            p->along(&c, block, m);
            p->store(p->out + row.offset[1] + i * p->step[1], p->step[1], block, m);
        }
    }
}

static void scan_tiles(void *ctx, int64_t begin, int64_t end)
{
    const plan *p = ctx;
    const cpu_walk *a = &p->rows;
    double line[2 * TILE];
    carry c;
    int64_t inner = a->shape[a->ndim - 1];
    for (int64_t u = begin; u < end; u++) {
        cpu_place row;
        cpu_place_seek(&row, a, u / p->tiles * inner + u % p->tiles * TILE);
        int64_t room = cpu_place_room(&row), m = room < TILE ? room : TILE;
        start(&c, p->prod, p->complex, m);
        for (int64_t i = 0; i < p->n; i++) {
            p->load(line, p->in + row.offset[0] + i * p->step[0], a->stride[0][a->ndim - 1], m);
            p->across(&c, line, m);
            p->store(p->out + row.offset[1] + i * p->step[1], a->stride[1][a->ndim - 1], line, m);
        }
    }
}

/* A row of dense 64-bit elements, which may be its own result: of four elements one waits for those before. */
static void sum_words_along(const char *from, char *to, int64_t n)
{
    const uint64_t *x = (const uint64_t *)(const void *)from;
    uint64_t *out = (uint64_t *)(void *)to, sum = 0;
    int64_t i = 0;
    for (; i + 4 <= n; i += 4) {
        const uint64_t a = x[i], b = a + x[i + 1], c = x[i + 2], d = c + x[i + 3];
        out[i] = sum + a;
        out[i + 1] = sum + b;
        out[i + 2] = sum + (b + c);
        out[i + 3] = sum += b + d;
    }
    for (; i < n; i++)
        out[i] = sum += x[i];
}

static void scan_words(void *ctx, int64_t begin, int64_t end)
{
    const plan *p = ctx;
    cpu_place row;
    cpu_place_seek(&row, &p->rows, begin);
    for (int64_t u = begin; u < end; u++, cpu_place_step(&row, 1))
        sum_words_along(p->in + row.offset[0], p->out + row.offset[1], p->n);
}

static int32_t run(const ndp_kernel *kernel, ndp_stream *stream, const ndp_call *call)
{
    (void)kernel;
    (void)stream;
    plan p;
    plan_make(&p, call);
    if (p.rows.size == 0 || p.n == 0)
        return NDP_OK;
    int64_t width = p.beside ? TILE : 1, grain = GRAIN / (p.n * width);
    int64_t units = p.beside ? p.rows.size / p.rows.shape[p.rows.ndim - 1] * p.tiles : p.rows.size;
    if (p.at_once && !p.beside && grain < ROWS && units >= ROWS * (int64_t)cpu_threads())
        grain = ROWS;
    cpu_parallel(units, grain > 1 ? grain : 1,
                 p.beside  ? scan_tiles
                 : p.words ? scan_words
                           : scan_rows,
                 &p);
    return NDP_OK;
}

static const ndp_kernel the_kernel = {
    .size = sizeof(ndp_kernel),
    .max_ndim = NDP_MAX_NDIM,
    .run = run,
};

static uint64_t dtypes(int32_t op)
{
    return cpu_domain_dtypes(op);
}

static const ndp_kernel *find(const ndp_call *like, char *why, size_t n)
{
    int32_t in = like->in[0].dtype, out = like->out[0].dtype;
    int32_t wide = in >= NDP_F16 ? in : in >= NDP_U8 ? NDP_U64 : NDP_I64;
    if (in > 0 && in < NDP_DTYPE_END && (out == in || out == wide))
        return &the_kernel;
    snprintf(why, n, "the CPU plug-in has no %s from dtype %d to dtype %d", cpu_op_name(like->op),
             (int)in, (int)out);
    return NULL;
}

const cpu_class cpu_scan = {dtypes, find};
