/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Convolutions of images of at most four channels by tensor cores (thin.cuh): cuDNN's engines pad them to whole vectors of
 * channels in memory before, or multiply without tensor cores, and take three to eight times as long as results take to be
 * written. Which calls, the tiles, and the launch. */
#include "conv/plan.h"

enum {
    MOST_BYTES = 98 << 10, /* of shared memory, which two blocks of an H100's processor have */
    FEWEST_ROWS = 32, /* channels of the result, below which tensor cores multiply mostly zeros */
    FEWEST_TAPS = 4,
    FEWEST_CHANNELS = 3, /* of f32 */
    FEWEST_TERMS = 64,   /* of f32, whose parts lose more than op.def's bound allows of fewer */
    FEWEST_RESULTS = 1 << 14, /* of a processor: of fewer, reading the weights takes longest */
    FEWEST_WARPS = 4,
    IDLE = 3, /* warps that a processor loses to waiting, about */
    /* About how long a processor takes, in clocks: a step of a warp of 16 bits, of TF32, of f32 in parts, and a warp until a
     * vector of each lane is in shared memory. */
    STEP_16 = 32,
    STEP_TF32 = 52,
    STEP_32 = 154,
    KEEP = 180
};

typedef struct {
    int64_t tile[2], kept[2],
        tiles[2]; /* rows and columns of the grid, of the image; tiles of an image */
    int64_t warps, taps, second, nbytes; /* second: bytes to the taps in shared memory */
    int64_t cost;
} geometry;

static int is_fast(const ndp_call *call, int32_t dtype)
{
    return dtype == NDP_F32 && call->mode & NDP_MODE_FAST_MATH;
}

/* Times CONV_THIN_PIXELS that its warps have, those that they compute in vain among them. */
static int64_t jobs_of(const geometry *g)
{
    const int64_t jobs = (g->tile[0] * g->tile[1] + CONV_THIN_PIXELS - 1) / CONV_THIN_PIXELS;
    return conv_round_up(jobs, g->warps);
}

/* What shared memory has of a tile, and about how long all tiles take. */
static void measure(geometry *g, const conv_plan *q, const ndp_call *call, int64_t sms)
{
    const ndp_conv *c = call->params;
    const int64_t *kernel = q->weight->shape + 2, size = ndp_dtype_size(q->made->dtype);
    const int64_t step = size == 2 ? STEP_16 : is_fast(call, q->made->dtype) ? STEP_TF32 : STEP_32;
    const int64_t steps = conv_round_up(conv_plane(q->weight), CONV_THIN_TAPS) / CONV_THIN_TAPS;
    for (int d = 0; d < 2; d++)
        g->kept[d] =
            (g->tile[d] - 1) * c->stride[d + 1] + (kernel[d + 1] - 1) * c->dilation[d + 1] + 1;
    g->taps = steps * CONV_THIN_TAPS;
    g->second = steps * CONV_THIN_ROWS * CONV_THIN_TAPS * CONV_THIN_CHANNELS * size;
    g->nbytes = g->second + conv_round_up(g->taps * 4, 16) +
                g->kept[0] * g->kept[1] * CONV_THIN_CHANNELS * size;
    const int64_t all = q->grid->shape[0] * g->tiles[0] * g->tiles[1];
    const int64_t mine = (all + CONV_THIN_BLOCKS * sms - 1) / (CONV_THIN_BLOCKS * sms);
    const int64_t work = CONV_THIN_BLOCKS * jobs_of(g) * steps * step,
                  keep = (g->kept[0] * g->kept[1] / (32 * g->warps) + 1) * KEEP;
    const int64_t busy = CONV_THIN_BLOCKS * g->warps;
    g->cost = (mine * (work + keep) + 2 * keep) * (busy + IDLE) / busy;
}

/* Those of some tiles that take the least time; nbytes 0: none fit. */
static geometry geometry_of(const conv_plan *q, const ndp_call *call, int64_t sms)
{
    const int64_t height = q->grid->shape[3], width = q->grid->shape[4];
    const int64_t threads =
        ndp_dtype_size(q->made->dtype) == 2 ? CONV_THIN_THREADS_16 : CONV_THIN_THREADS_32;
    geometry best = {.nbytes = 0};
    for (int i = 0; i < 8; i++) {
        geometry g = {.warps = i & 1 ? FEWEST_WARPS : threads / 32};
        g.tile[1] = i & 2 ? 8 : 16;
        g.tile[0] = (i & 4 ? 2 : 1) * g.warps * CONV_THIN_PIXELS / g.tile[1];
        g.tile[0] = g.tile[0] < height ? g.tile[0] : height;
        g.tiles[0] = (height + g.tile[0] - 1) / g.tile[0];
        g.tiles[1] = (width + g.tile[1] - 1) / g.tile[1];
        measure(&g, q, call, sms);
        if (g.nbytes <= MOST_BYTES && (best.nbytes == 0 || g.cost < best.cost))
            best = g;
    }
    return best;
}

/* Of f32 in parts, tensor cores multiply the channels that are not there as well. */
static int has_terms(const conv_plan *q, const ndp_call *call)
{
    const int64_t taps = conv_plane(q->weight);
    const int is_short = ndp_dtype_size(q->made->dtype) == 2 || is_fast(call, q->made->dtype);
    return taps >= FEWEST_TAPS && taps <= UINT16_MAX &&
           (is_short || (q->ci >= FEWEST_CHANNELS && q->ci * taps >= FEWEST_TERMS));
}

int cuda_conv_is_thin(conv_plan *q, const ndp_call *call, const ndp_dev *dev)
{
    const ndp_conv *c = call->params;
    const int64_t pixels = q->grid->shape[0] * conv_plane(q->grid);
    if (q->kind != CONV_FORWARD || q->made->dtype == NDP_F64 || dev->compiled < 80 ||
        c->groups != 1 || !conv_has_two_axes(q, c) || q->ci == 0 || q->ci > CONV_THIN_CHANNELS ||
        q->co < FEWEST_ROWS || q->co > INT16_MAX || ndp_view_size(q->image) == 0 || pixels == 0 ||
        pixels > INT32_MAX || !has_terms(q, call))
        return 0;
    return q->is_thin = pixels * q->co >= (int64_t)FEWEST_RESULTS * dev->sm_count &&
                        geometry_of(q, call, dev->sm_count).nbytes > 0;
}

/* How results are written: by vectors of four pixels of a row, or of channels. */
static int32_t whole_of(const conv_plan *q)
{
    const ndp_view *to = q->made;
    if (window_is_whole(to, 4, 4) && to->shape[4] % 4 == 0)
        return CONV_WHOLE_PIXELS;
    return window_is_whole(to, 1, 4) && q->co % 4 == 0 ? CONV_WHOLE_CHANNELS : 0;
}

int32_t cuda_conv_thin_run(const cuda_kernel *k, ndp_stream *s, const conv_plan *q,
                           cuda_convolving *p, const ndp_call *call)
{
    const int64_t sms = k->dev->sm_count;
    const geometry g = geometry_of(q, call, sms);
    const int64_t tiles = g.tiles[0] * g.tiles[1] * q->grid->shape[0];
    const int64_t slabs = conv_round_up(q->co, CONV_THIN_ROWS) / CONV_THIN_ROWS;
    const int64_t blocks = (CONV_THIN_BLOCKS * sms + slabs - 1) / slabs;
    for (int d = 0; d < 2; d++) {
        p->tile[d] = (int32_t)g.tile[d];
        p->kept[d] = (int32_t)g.kept[d];
        p->by_tiles[d] = cuda_divisor_of((uint32_t)g.tiles[d]);
    }
    p->by_column = cuda_divisor_of((uint32_t)g.tile[1]);
    p->by_kept = cuda_divisor_of((uint32_t)g.kept[1]);
    p->pieces = (int32_t)(g.taps / CONV_THIN_TAPS);
    p->weights_at = (uint32_t)g.second;
    p->tiles = (uint32_t)tiles;
    p->whole = whole_of(q);
    return cuda_launch_2d(k, k->function[CONV_THIN + is_fast(call, q->made->dtype)], s,
                          (uint32_t)(tiles < blocks ? tiles : blocks), (uint32_t)slabs,
                          (uint32_t)(32 * g.warps), (uint32_t)g.nbytes, p);
}

int32_t cuda_conv_thin_make(cuda_kernel *k, int32_t dtype)
{
    static const char *const names[2] = {"thin_windows", "thin_windows_fast"};
    CUfunction *f = &k->function[CONV_THIN];
    int32_t status = NDP_OK;
    if (k->dev->compiled < 80)
        return NDP_OK;
    for (int i = 0; i < 1 + (dtype == NDP_F32) && status == NDP_OK; i++) {
        status = window_function(k, "conv", dtype, names[i], &f[i]);
        if (status == NDP_OK)
            status =
                cuda_fail(cu.cuFuncSetAttribute(
                              f[i], CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, MOST_BYTES),
                          "shared memory for %s", names[i]);
    }
    return status;
}
