/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Convolutions of f32 and their gradients as products of ours that gather the image's elements as they go, by tensor
 * cores, three products of TF32 for one: the library's products need elements written to memory first, and its engines
 * that sum term by term reach half of what multipliers do. Which calls, how many parts the weight's gradient has, and the
 * launch. */
#include "conv/plan.h"

enum { FEWEST_CHANNELS = 32, ROUNDS = 3 /* of blocks for each processor */, MORE_SPLITS = 64 };

static int64_t rows_of(const conv_plan *q)
{
    return q->kind == CONV_INPUT ? q->ci : q->co;
}

/* A tile is as tall as rows fill it. */
static int is_tall(const conv_plan *q)
{
    const int64_t rows = rows_of(q);
    return conv_round_up(rows, 2 * CONV_GATHER_ROWS) == conv_round_up(rows, CONV_GATHER_ROWS);
}
static int64_t tile_rows(const conv_plan *q)
{
    return is_tall(q) ? 2 * CONV_GATHER_ROWS : CONV_GATHER_ROWS;
}
static int64_t tile_columns(const conv_plan *q)
{
    return CONV_GATHER_SUMS / tile_rows(q);
}

/* Tiles of rows and columns. */
static int64_t tiles_of(const conv_plan *q)
{
    const ndp_view *of = q->kind == CONV_INPUT ? q->image : q->grid;
    const int64_t columns =
        q->kind == CONV_WEIGHT ? q->ci * conv_plane(q->weight) : of->shape[0] * conv_plane(of);
    return (conv_round_up(rows_of(q), tile_rows(q)) / tile_rows(q)) *
           (conv_round_up(columns, tile_columns(q)) / tile_columns(q));
}

/* The fewest parts that keep all processors busy to the end, or nearly. */
static void take_splits(conv_plan *q, const ndp_dev *dev)
{
    const int64_t sms = dev->sm_count, tiles = tiles_of(q);
    const int64_t first = (ROUNDS * sms + tiles - 1) / tiles, least = first < 2 ? 2 : first;
    const int64_t most = q->k / (8 * CONV_GATHER_DEPTH);
    int64_t n = least;
    while (n < least + MORE_SPLITS && conv_round_up(n * tiles, sms) * 16 > n * tiles * 17)
        n++;
    n = n < least + MORE_SPLITS ? n : least;
    n = n < most ? n : most;
    n = n < CONV_MOST_SPLITS ? n : CONV_MOST_SPLITS;
    n = n < 2 ? 2 : n;
    q->part = conv_round_up((q->k + n - 1) / n, CONV_GATHER_DEPTH);
    q->splits = (int32_t)((q->k + q->part - 1) / q->part);
}

static int spans_32_bits(const ndp_view *v)
{
    int64_t last = 0;
    for (int d = 0; d < 5; d++)
        last += (v->shape[d] - 1) * (v->stride[d] < 0 ? INT32_MAX : v->stride[d]);
    return last <= INT32_MAX;
}

/* Of the weight's gradient: channels of image and grid lie side by side, in vectors of four. */
static int terms_are_beside(const conv_plan *q)
{
    return window_is_whole(q->image, 1, 4) && window_is_whole(q->grid, 1, 4) && q->co % 4 == 0;
}

/* Pixels of what is gathered lie side by side, or its channels do. */
static int has_order(const conv_plan *q)
{
    const ndp_view *from = q->kind == CONV_INPUT ? q->grid : q->image;
    if (q->kind == CONV_WEIGHT)
        return (from->stride[4] == 1 && q->grid->stride[4] == 1) || terms_are_beside(q);
    return (from->stride[4] == 1 || window_is_whole(from, 1, 4)) && spans_32_bits(from);
}

static int has_channels(const conv_plan *q)
{
    const int64_t from = q->kind == CONV_INPUT ? q->co : q->ci, rows = rows_of(q);
    const int64_t depth = q->kind == CONV_WEIGHT ? CONV_GATHER_ROWS : CONV_GATHER_DEPTH;
    return from >= FEWEST_CHANNELS && from % depth == 0 &&
           conv_round_up(rows, CONV_GATHER_ROWS) * 4 <= rows * 5;
}

int cuda_conv_is_gathered(conv_plan *q, const ndp_call *call, const ndp_dev *dev)
{
    const ndp_conv *c = call->params;
    const int steps = c->stride[1] != 1 || c->stride[2] != 1;
    const int64_t pixels = q->grid->shape[0] * conv_plane(q->grid);
    if (q->made->dtype != NDP_F32 || call->mode & NDP_MODE_FAST_MATH || c->groups != 1 ||
        dev->compiled < 80 || !conv_has_two_axes(q, c) || ndp_view_size(q->image) == 0 ||
        pixels == 0 || pixels > INT32_MAX ||
        q->image->shape[0] * conv_plane(q->image) > INT32_MAX || conv_plane(q->weight) == 1 ||
        (q->kind == CONV_INPUT && steps) || !has_channels(q) || !has_order(q))
        return 0;
    if (q->kind == CONV_WEIGHT) {
        if (q->k < 8 * CONV_GATHER_DEPTH * 2)
            return 0;
        if (cuda_conv_is_wide(q, dev))
            return q->is_gathered = 1;
        take_splits(q, dev);
    }
    return q->is_gathered =
               tiles_of(q) * q->splits >= dev->sm_count && tiles_of(q) * q->splits <= INT32_MAX;
}

uint64_t cuda_conv_gathered_scratch(const conv_plan *q)
{
    return (uint64_t)(q->k * conv_round_up(rows_of(q), tile_rows(q))) * 4;
}

int32_t cuda_conv_whole_of(const ndp_view *to)
{
    const int64_t plane = conv_plane(to);
    if (window_is_whole(to, 4, 4) && conv_is_merged(to, 2, 1) && plane % 4 == 0)
        return CONV_WHOLE_PIXELS;
    return window_is_whole(to, 1, 4) && to->shape[1] % 4 == 0 ? CONV_WHOLE_CHANNELS : 0;
}

static int function_of(const conv_plan *q)
{
    const ndp_view *from = q->kind == CONV_INPUT ? q->grid : q->image;
    const int function = q->kind == CONV_WEIGHT
                             ? (terms_are_beside(q) ? CONV_GATHER_TERMS_BESIDE : CONV_GATHER_TERMS)
                         : from->stride[4] == 1 ? CONV_GATHER_PLANES
                                                : CONV_GATHER_BESIDE;
    return function + is_tall(q);
}

int32_t cuda_conv_gathered_run(const cuda_kernel *k, ndp_stream *s, const conv_plan *q,
                               cuda_convolving *p)
{
    const ndp_view *pixels = q->kind == CONV_INPUT ? q->image : q->grid;
    const int64_t M = tile_rows(q), N = tile_columns(q);
    const int64_t rows = conv_round_up(p->m, M) / M, columns = conv_round_up(p->n, N) / N;
    int32_t status = NDP_OK;
    if (q->is_wide)
        return cuda_conv_wide_run(k, s, q, p);
    if (q->kind == CONV_INPUT)
        cuda_conv_turn_around(p);
    p->by_tiles[0] = cuda_divisor_of((uint32_t)pixels->shape[4]);
    p->by_tiles[1] = cuda_divisor_of((uint32_t)conv_plane(pixels));
    p->tiles_m = cuda_divisor_of((uint32_t)rows);
    p->rows = (int32_t)(rows * M);
    p->by_taps = q->kind == CONV_WEIGHT;
    p->whole = cuda_conv_whole_of(q->made);
    if (q->kind != CONV_WEIGHT) {
        const int64_t items = rows * M * (p->flip ? q->co : q->ci);
        status =
            cuda_launch(k, k->function[CONV_GATHER_WEIGHTS], s,
                        (uint32_t)((items + CONV_THREADS - 1) / CONV_THREADS), CONV_THREADS, 0, p);
    }
    if (status != NDP_OK)
        return status;
    return cuda_launch_2d(k, k->function[function_of(q)], s, (uint32_t)columns,
                          (uint32_t)(rows * q->splits), CONV_GATHER_THREADS,
                          (uint32_t)CONV_GATHER_BYTES(M, N), p);
}

int32_t cuda_conv_gathered_make(cuda_kernel *k)
{
    static const char *const names[] = {
        "gathered_weights",    "gathered_planes",       "gathered_planes_tall",
        "gathered_beside",     "gathered_beside_tall",  "gathered_terms",
        "gathered_terms_tall", "gathered_terms_beside", "gathered_terms_beside_tall"};
    const int bytes = CONV_GATHER_BYTES(CONV_GATHER_ROWS, CONV_GATHER_SUMS / CONV_GATHER_ROWS);
    CUfunction *f = &k->function[CONV_GATHER_WEIGHTS];
    int32_t status = NDP_OK;
    for (size_t i = 0; i < sizeof names / sizeof *names && status == NDP_OK; i++) {
        status = window_function(k, "conv", NDP_F32, names[i], &f[i]);
        if (status == NDP_OK) /* a wide tile has more than launches may have without being asked */
            status = cuda_fail(
                cu.cuFuncSetAttribute(f[i], CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, bytes),
                "shared memory for %s", names[i]);
    }
    return status == NDP_OK ? cuda_conv_wide_make(k) : status;
}
