/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * A gradient of a convolution for its weight by products of matrices: what weight.c plans and weight_pack.c
 * packs. */
#ifndef NDOCK_CPU_CONV_WEIGHT_H
#define NDOCK_CPU_CONV_WEIGHT_H
#include "conv/conv.h"

/* How weight_direct.c cuts up a call. Of copies: rows and columns in pixels, elements from a pixel to the next, bytes
 * of a group; rows of positions in a band; images whose bands exist at a time. Sets of `lanes` columns, `pitch` apart. */
typedef struct {
    int64_t rows, columns, pixel, group, band, bands, images;
    int64_t sets, lanes, pitch;
    int64_t image_parts, block_parts, part_blocks;
    int64_t tile_o, tiles_o, tile_l, tiles_l;
    int64_t steps_at, copies_at, bytes; /* in scratch memory, which sums begin */
    int joined;                         /* a set has all taps of a row, else one tap */
} cv_weight_direct;

typedef struct {
    const mm_kernels *k;
    cv_image x, grad;
    char *out;
    int64_t out_stride[5], out_size;
    int32_t out_dtype;
    int64_t images, groups, co, lanes; /* of a group: rows and columns of the product */
    nd_window_axis axis[3];
    int64_t positions, depth; /* of an image; of a block of them */
    int64_t tile_o, tile_l, tiles_o, tiles_l;
    int64_t blocks, parts,
        part_units; /* of an image; of all; blocks or, of planes, images in a part */
    int64_t sums, slot_a, slot_b, slot_line, slot_image,
        slot_bytes;     /* scratch: all sums; of a slot */
    int planes, beside; /* without matrices: weight_plane.c, weight_beside.c */
    int is_direct;      /* weight_direct.c */
    cv_weight_direct direct;
    int channels_inner; /* columns are channels of taps, else taps of channels */
    int turned;         /* a group's channels of an image are laid side by side first */
    int pointwise;      /* windows of one element: positions are those of the source */
    cv_plan few;
} cv_weights;

/* ---- weight_direct.c ---- */
int cv_weight_is_direct(const cv_plan *f);
void cv_weight_direct_plan(const cv_plan *f, cv_weight_direct *d);
void cv_weight_direct_run(const cv_plan *f, const cv_weight_direct *d, const ndp_view *out,
                          void *scratch);

/* ---- weight_pack.c ---- */
/* Rows o to o + m of the gradient's group, whose first is at data, over n positions from `at` on; line: room for a
 * panel. */
void cv_weight_pack_gradient(const cv_weights *p, const char *data, int64_t m, int64_t at,
                             int64_t n, char *dst, char *line);
/* A group's channels of an image from data on, side by side. */
void cv_weight_turn(const cv_weights *p, char *data, int64_t channels, char *to);
/* Columns l to l + w of the taps of a group, whose image is at data, over n positions; turned: what cv_weight_turn
 * made, where the plan has it. */
void cv_weight_pack_taps(const cv_weights *p, char *data, int64_t l, int64_t w, int64_t at,
                         int64_t n, char *dst, char *line, char *turned);
#endif
