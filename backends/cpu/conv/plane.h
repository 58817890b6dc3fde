/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What convolutions by planes share: plane.c computes tiles, plane_pack.c packs their source. */
#ifndef NDOCK_CPU_CONV_PLANE_H
#define NDOCK_CPU_CONV_PLANE_H
#include "conv/conv.h"

enum { CV_PLANE_SLACK = 64 / 4 }; /* elements that the last vector of a row reaches beyond */

/* The source's rows or columns that some positions of all phases read: from `first` on. */
typedef struct {
    int64_t first, n;
} cv_span;

/* A tile: rows of an image's group, positions from..end down, and what is packed of the source for them. */
typedef struct {
    const cv_plan *p;
    int64_t image, group, from, end;
    cv_span rows, columns;
    char *packed;
} cv_plane_tile;

/* Along axis d, for positions from `from` to `end`. */
cv_span cv_plane_span(const cv_plan *p, int d, int64_t from, int64_t end);
/* How far apart the source's elements are that positions side by side meet. */
int64_t cv_plane_scale(const cv_plan *p, int d);
/* Where tap (i, j) of channel c meets the first position of a tile. */
int64_t cv_plane_tap(const cv_plane_tile *t, const nd_window_axis axis[3], int64_t c, int64_t i,
                     int64_t j);
/* Packs what the taps of a tile read, so that positions side by side lie side by side. */
void cv_plane_pack_tile(const cv_plane_tile *t);

#endif
