/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What the files of conv share.
 *
 * A convolution and its gradient for the input are one computation: each position of the result
 * reads the taps that windows.h says, positions of one phase having the same ones; forward there is
 * one phase, backward one for each remainder of the stride. Its sums are products of matrices,
 * weights by the taps of positions, that are never in memory as a whole: a tile of positions is
 * packed into panels for the kernels of matmul, a block of k at a time.
 * Where groups have channels enough, and no depth, nothing is packed: direct.h. Planes of bf16 are sums
 * of pairs, in an order of their own: pairs.h.
 *
 * k counts taps within channels, or channels within taps where channels lie side by side. Blocks of
 * k and, but for pairs, the order of sums are those of matmul.h, so that bits do not depend on tiles or threads. */
#ifndef NDOCK_CPU_CONV_H
#define NDOCK_CPU_CONV_H
#include "host/grain.h"
#include "conv/direct.h"
#include "conv/pairs.h"
#include "host/slots.h"
#include "matmul/matmul.h"
#include <ndock/windows.h>

/* An operand (n, channels, d, h, w). Strides count elements. */
typedef struct {
    char *data;
    int64_t image, channel, space[3], extent[3];
    int64_t size; /* bytes of an element */
    int32_t dtype;
} cv_image;

/* The taps of some positions in one image's group of channels. */
typedef struct {
    const char *data;
    int64_t size, channel, space[3], extent[3];
    int64_t channels;
    nd_window_axis axis[3];
    int channels_inner;
    mm_pack_fn transpose; /* of elements that are stored as sums are; NULL: they are not */
} cv_gather;

/* Taps k0 to k0 + kc of positions p0 to p0 + w, as panels `width` across in the type of the sums. */
typedef void (*cv_pack_fn)(const cv_gather *g, int64_t p0, int64_t w, int64_t k0, int64_t kc,
                           int width, void *dst);
/* Taps along the last axis in some rows of the source: for sum i, number k meets element i*scale +
 * origin + k*move. What lies outside of the extent counts as zero. */
enum { CV_MOST_ROWS = 8 };
typedef struct {
    int64_t n, extent, scale, origin, move, taps;
    int64_t first, end; /* of the sums whose taps are all inside */
    int rows, start;    /* start: sums are zero so far, whatever is in memory */
    const void *row[CV_MOST_ROWS], *weight[CV_MOST_ROWS]; /* in the type of sums */
} cv_taps;
/* Sums of the positions of `rows` rows, n of each, for up to CV_PLANE_OUTS channels of the result: tap t
 * of position i of row r meets packed[r*row_step + offset[t] + i]; weights are tap by tap, of all channels
 * side by side. */
enum { CV_PLANE_OUTS = 4, CV_PLANE_PHASES = 16 /* whose taps are kept */ };
typedef struct {
    int64_t n, rows, row_step, pitch, taps;
    const void *packed, *weight;
    const int64_t *offset;
    void *sum[CV_PLANE_OUTS];
} cv_plane;
/* Rows of a source, `row` elements apart, to packed ones: of run k, elements first[k] to end[k], which are
 * begin + k + i*scale of the row. Of one type, that of the sums. */
enum { CV_MOST_SCALE = 4 };
typedef struct {
    const void *from;
    void *to;
    int64_t rows, row, run, scale, begin, first[CV_MOST_SCALE], end[CV_MOST_SCALE];
} cv_spread;
/* sums[t] += the inner product of `rows` rows of g, `pitch` apart and n long, with the packed elements from
 * offset[t] on, row_step further for each row. Behind the elements of g are zeros, to 64 bytes. */
enum { CV_DOT_TAPS = 4 };
typedef struct {
    int64_t n, rows, row_step, pitch, taps;
    const void *packed, *g;
    const int64_t *offset;
    double *sums;
} cv_dots;
/* Sums of `pixels` pixels of n channels that lie side by side: tap t of a pixel and the next are `step` apart
 * from x[t] on, its weights for all channels are in weight[t]. Sums are `pitch` apart. */
enum { CV_BESIDE_PIXELS = 4, CV_BESIDE_ALONG = 7 };
typedef struct {
    int64_t n, pixels, taps, step, pitch;
    int64_t
        along; /* taps in a row, of which each meets the element `step` behind the last one's; 0: other */
    const void *const *x, *const *weight;
    void *sum;
} cv_beside;
/* sum[c] += the inner product over the pixels of x and g, `step` and `pitch` from pixel to pixel. Where there
 * are CV_DOT_ALONG taps, not one, the sums of the next are `sums` further, and its x a pixel. */
enum { CV_DOT_ALONG = 3 };
typedef struct {
    int64_t n, pixels, step, pitch, taps, sums;
    const void *x, *g;
    double *sum;
} cv_beside_dot;
/* n pixels, `step` apart, of channels that lie side by side, and a row of n elements for each of these channels,
 * `plane` apart. */
typedef struct {
    void *beside, *rows;
    int64_t n, channels, step, plane;
} cv_turn;
typedef struct {
    cv_pack_fn pack[NDP_DTYPE_END];
    void (*apart[NDP_DTYPE_END])(const cv_turn *t);    /* from beside to rows */
    void (*together[NDP_DTYPE_END])(const cv_turn *t); /* and back */
    void (*pairs)(const cv_pairs_block *b);            /* pairs.h */
    cv_pairs_range (*pairs_range)(const uint16_t *x, int64_t n);
    void (*pairs_join)(const char *const row[CV_PAIRS_DEPTH], int n, char *first, char *second);
    void (*pairs_save)(const float *sum, int64_t pitch, int64_t n, int64_t m, uint16_t *to,
                       int64_t step);
    void (*dots[NDP_DTYPE_END])(const cv_dots *d);
    void (*plane[NDP_DTYPE_END])(const cv_plane *p, int outs);
    void (*spread[NDP_DTYPE_END])(const cv_spread *s);
    void (*block[NDP_DTYPE_END])(const cv_block *b);
    void (*beside[NDP_DTYPE_END])(const cv_beside *b);
    void (*beside_dot[NDP_DTYPE_END])(const cv_beside_dot *d);
    /* Row by row and tap by tap sum[i] += weight[row][k] * row[i*scale + origin + k*move]. By the dtype of
     * sums. */
    void (*taps[NDP_DTYPE_END])(void *sum, const cv_taps *t);
} cv_isa;
CPU_ISA_DECLARE(extern const cv_isa, cpu_conv_isa);

/* A call of conv or conv_input, and how it is computed. */
typedef struct {
    const mm_kernels *k;
    const cv_isa *isa;
    cv_image source, out;
    const char *weight;
    int64_t w_out, w_in, w_space[3], kernel[3]; /* strides and extents */
    int32_t w_dtype;
    const char *bias; /* NULL: none; of out's dtype */
    int64_t bias_stride;
    ew_loop epilogue;
    int32_t backward, channels_inner;
    int64_t stride[3], dilation[3], before[3];
    int64_t images, groups, co, ci; /* channels of a group on both sides */
    int64_t phases[3], variants[3]; /* remainders, and those among them that have taps */
    int64_t most_taps;              /* of a phase */
    int32_t depthwise;              /* by rows, without matrices: depthwise.c */
    int32_t plane;                  /* by packed planes, without matrices: plane.c */
    int32_t is_pairs;               /* bf16 by sums of pairs: pairs_conv.c */
    int32_t is_direct;              /* by products of what lies in memory: direct.c */
    int32_t is_pointwise;           /* of that as well, windows of one element: pointwise.c */
    int64_t run, packed_rows;       /* of it: elements a stride apart in a row; rows in a tile */
    int32_t by_channels;            /* of it: vectors are of channels */
    int32_t pixels_down;            /* rows of sums are positions, else channels */
    int32_t direct;                 /* sums go straight into out */
    int64_t line;                   /* direct: from one position to the next */
    int64_t tile_p, tile_o, tiles_p, tiles_o;
    int64_t pitch;
    cv_direct windows;            /* of direct.c */
    cv_pairs_plan pairs;          /* of pairs_conv.c */
    int64_t packed, packed_bytes; /* scratch: weights of one variant and group, and of all */
    int64_t slot_image, slot_sums, slot_row, slot_weights, slot_offsets, slot_bytes;
} cv_plan;

typedef struct {
    const cv_plan *p;
    char *packed, *slots;
    atomic_uchar *busy;
    int32_t n_slots;
} cv_run;

static inline int64_t cv_product(const int64_t v[3])
{
    return v[0] * v[1] * v[2];
}
/* One plane of windows: the first axis has one element, tap and window. */
int cv_is_flat(const cv_plan *p);
/* Elements that a stride apart from one to the next axis, all of one axis then: whether three axes
 * are one. */
int cv_is_line(const int64_t space[3], const int64_t extent[3]);
/* Positions in C order, from `at` on: the next run along the last axis, of at most `most`, begins at
 * (d, h, w); returns how many it has. */
static inline int64_t cv_next_run(const int64_t n[3], int64_t at, int64_t most, int64_t begin[3])
{
    begin[2] = at % n[2];
    begin[1] = at / n[2] % n[1];
    begin[0] = at / n[2] / n[1];
    return n[2] - begin[2] < most ? n[2] - begin[2] : most;
}
cv_image cv_image_of(const ndp_view *v);

/* ---- plan.c ---- */
void cv_plan_call(cv_plan *p, const ndp_call *call);
/* Positions and taps of a phase; returns the variant of the weights, -1: no taps. */
int64_t cv_phase(const cv_plan *p, int64_t phase, nd_window_axis axis[3]);
/* The same of axis d and of its phases alone. */
nd_window_axis cv_phase_axis(const cv_plan *p, int d, int64_t phase);

/* ---- conv.c ---- */
/* Bias and epilogue over n sums side by side: of channel o of the result, or of it and those after it; row: room for as
 * many. */
void cv_adjust(const cv_plan *p, int64_t o, char *sums, int64_t n, int one, char *row);

/* ---- grid.c ---- */
/* For so many rows of positions. */
void cv_grid_plan(const cv_plan *p, int64_t band, cv_grid *g);
/* Elements of some channels' planes and of what vectors reach beyond. */
int64_t cv_grid_size(const cv_grid *g, int64_t channels);
/* From a channel's first element to what a tap meets at the first position: an element of the source, had the
 * position been the first of all. */
int64_t cv_grid_displacement(const cv_grid *g, int64_t row, int64_t column);
/* Some channels of the source from `from` on; the copy's first row of positions is number `position`. Rows first to end
 * of the planes. */
void cv_grid_pack(const cv_plan *p, const cv_grid *g, const char *from, int64_t channels,
                  int64_t position, int64_t first, int64_t end, char *to);

/* ---- direct.c ---- */
int cv_is_direct(const cv_plan *p);
void cv_direct_plan(cv_plan *p);
/* Elements of scratch memory of a tile: its sums, a row of them, and as many as sums where the result wants others. */
void cv_direct_slot(const cv_plan *p, int64_t *sums, int64_t *row, int64_t *line);
void cv_direct_run(cv_run *r);

/* ---- several files ---- */
/* Tasks of a chunk, of which `worth` are worth a thread: fewer where threads would have few chunks, but a 16th of `worth`. */
static inline int64_t cv_grain(int64_t tasks, int64_t worth)
{
    return cpu_fair_grain(tasks, cpu_ceil_div(worth, 16), worth);
}

/* ---- pairs.c ---- */
/* By shapes and dtype alone. */
int cv_pairs_serves(const ndp_call *call);
/* Of all phases of a plan. */
void cv_pixels_plan(const cv_plan *p, cv_pixels *g);
/* Pieces that a unit, an image's group, is copied by: a few rows, or part of a row. */
int64_t cv_pixels_pieces(const cv_pixels *g);
/* One of them into a unit's copy, and behind the last one zeros, which tiles reach into; which exponents it has. */
cv_pairs_range cv_pixels_pack(const cv_plan *p, const cv_pixels *g, int64_t unit, int64_t piece,
                              char *to);
cv_pairs_runs cv_pairs_runs_of(int64_t channels, const nd_window_axis *along);
/* The tap that number e of run r meets. */
int64_t cv_pairs_tap(const cv_pairs_runs *r, const nd_window_axis *along, int64_t channels,
                     int64_t run, int64_t e);
/* Steps of a phase; returns how many. */
int64_t cv_pairs_steps(const cv_pixels *g, const nd_window_axis axis[3], cv_pairs_step *step);
/* How blocks of operands with such exponents are computed. */
int cv_pairs_way(cv_pairs_range a, cv_pairs_range b);
void cv_pairs_compute(const cv_plan *p, cv_pairs_block *b, int way);
/* Around blocks of one thread. */
void cv_pairs_begin(int way);
void cv_pairs_end(int way);

/* ---- pairs_conv.c ---- */
void cv_pairs_conv_plan(cv_plan *p);
void cv_pairs_slot(const cv_plan *p, int64_t *sums, int64_t *row, int64_t *line);
void cv_pairs_conv(cv_run *r);

/* ---- pairs_pack.c ---- */
/* All weights of a call into its tiles, by all threads; which exponents they have. */
cv_pairs_range cv_pairs_pack_weights(const cv_run *r);

/* ---- pairs_weight.c ---- */
uint64_t cv_pairs_weight_scratch(const ndp_call *call);
int32_t cv_pairs_weight(const ndp_call *call);

/* ---- pointwise.c ---- */
int cv_is_pointwise(const cv_plan *p);
void cv_pointwise_plan(cv_plan *p);
/* As cv_direct_slot; line: of a block's elements at a tile's positions. */
void cv_pointwise_slot(const cv_plan *p, int64_t *sums, int64_t *row, int64_t *line);
void cv_pointwise_run(cv_run *r);

/* ---- widen.c: a call on floats in place of one on 16 bits ---- */
typedef struct {
    const ndp_call *whole;
    ndp_call call; /* of some images; what scratch it has comes after the floats */
    ndp_view in[3], out;
    int64_t shape[3][5], stride[2][5], bytes, scratch_bytes;
    int64_t images; /* of one turn */
} cv_wide;
/* 0: the call is computed as it is. */
int cv_wide_make(cv_wide *w, const ndp_call *call);
/* Makes the floats of the images from *first on and the call for them, and moves *first behind them; 0: there are
 * none. */
int cv_wide_turn(cv_wide *w, int64_t *first);

/* ---- depthwise.c ---- */
void cv_depthwise(cv_run *r);

/* ---- beside.c ---- */
void cv_beside_rows(cv_run *r);

/* ---- plane.c ---- */
int cv_is_plane(const cv_plan *p);
void cv_plane_plan(cv_plan *p);
/* Bytes of scratch of a tile's sums. */
int64_t cv_plane_sums(const cv_plan *p);
void cv_planes(cv_run *r);

/* ---- plane_pack.c ---- */
/* Bytes of scratch of a tile's packed source; elements from one of its rows to the next. */
int64_t cv_plane_packed(const cv_plan *p);
int64_t cv_plane_pitch(const cv_plan *p);
/* For gradients for the weight: all rows are one tile. Where each tap meets the first position; a group's channels of an
 * image, packed amid zeros. */
void cv_plane_whole(cv_plan *p);
void cv_plane_offsets(const cv_plan *p, int64_t *offset);
void cv_plane_pack(const cv_plan *p, int64_t image, int64_t group, char *packed);

/* ---- weight_plane.c ---- */
/* The convolution whose weight is wanted. */
void cv_weight_plan(cv_plan *f, const ndp_call *call);
/* Fills in the rest of its plan. 0: its groups have many channels. */
int cv_weight_planes(cv_plan *f);
/* The sums (co, ci, taps) of a group over some images. */
void cv_weight_part(const cv_plan *f, int64_t group, int64_t first, int64_t end, char *slot,
                    char *sums);

/* ---- weight_beside.c ---- */
/* Of the convolution whose weight is wanted: whether its channels lie side by side; bytes of scratch. */
int cv_weight_is_beside(const cv_plan *f);
int64_t cv_weight_beside_bytes(const cv_plan *f);
void cv_weight_beside(const cv_plan *f, const ndp_view *out, void *scratch);

/* ---- weight.c: the gradient for the weight ---- */
uint64_t cv_weight_scratch(const ndp_call *call);
int32_t cv_weight_run(const ndp_call *call);

#endif
