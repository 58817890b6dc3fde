/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Panels of the gradient and of the taps of positions, for the gradient of a convolution for its weight. */
#include <string.h>
#include "conv/weight.h"

/* Positions at to at + n of one channel of an image, or of one tap of it, into a line. */
static void load_line(const cv_weights *p, const cv_image *image, const char *data,
                      const int64_t scale[3], const int64_t begin[3], int64_t at, int64_t n,
                      char *line)
{
    const int64_t grid[3] = {p->axis[0].n, p->axis[1].n, p->axis[2].n}, size = p->k->element;
    for (int64_t i = 0, run; i < n; i += run) {
        int64_t from[3], first, end, offset = 0, inside = 1;
        run = cv_next_run(grid, at + i, n - i, from);
        for (int d = 0; d < 3; d++)
            from[d] = from[d] * scale[d] + begin[d];
        for (int d = 0; d < 2; d++) {
            inside &= from[d] >= 0 && from[d] < image->extent[d];
            offset += from[d] * image->space[d];
        }
        nd_window_inside(run, scale[2], from[2], image->extent[2], &first, &end);
        if (!inside)
            first = end = 0;
        memset(line + i * size, 0, (size_t)(first * size));
        if (end > first) {
            offset += (from[2] + first * scale[2]) * image->space[2];
            if (scale[2] * image->space[2] == 1 && mm_is_native(p->k, image->dtype))
                memcpy(line + (i + first) * size, data + offset * size,
                       (size_t)((end - first) * size));
            else
                p->k->load[image->dtype](data + offset * image->size, 0, scale[2] * image->space[2],
                                         1, end - first, line + (i + first) * size);
        }
        memset(line + (i + end) * size, 0, (size_t)((run - end) * size));
    }
}

/* Rows o to o + m of the gradient's group, over n positions. */
void cv_weight_pack_gradient(const cv_weights *p, const char *data, int64_t m, int64_t at,
                             int64_t n, char *dst, char *line)
{
    static const int64_t one[3] = {1, 1, 1}, none[3];
    const mm_kernels *k = p->k;
    if (cv_is_line(p->grad.space, p->grad.extent)) {
        mm_pack(k, k->pack_a, k->rows, data + at * p->grad.space[2] * p->grad.size, p->grad.dtype,
                p->grad.channel, p->grad.space[2], m, n, dst);
        return;
    }
    for (int64_t i = 0; i < m; i += k->rows) {
        const int64_t rows = m - i < k->rows ? m - i : k->rows;
        for (int64_t j = 0; j < rows; j++)
            load_line(p, &p->grad, data + (i + j) * p->grad.channel * p->grad.size, one, none, at,
                      n, line + j * n * k->element);
        k->pack_a(line, n, 1, rows, n, dst + i * n * k->element);
    }
}

/* Lanes `first` to before `end` of `lanes` at src; the others are zero. */
static void copy_lanes(char *dst, const char *src, int64_t lanes, int64_t first, int64_t end,
                       int64_t size)
{
    if (first == 0 && end == lanes) {
        if (lanes * size == 64)
            memcpy(dst, src, 64);
        else
            memcpy(dst, src, (size_t)(lanes * size));
        return;
    }
    memset(dst, 0, (size_t)(lanes * size));
    if (end > first)
        memcpy(dst + first * size, src + first * size, (size_t)((end - first) * size));
}

/* Elements of a row that lie side by side, channels of a tap or, joined, of this and the next ones, over n positions:
 * `lanes` of each, of which the first is number `c` of the element `begin`; `pitch` bytes from one position to the
 * next. What is beyond the row is zero. */
static void pack_lanes(const cv_weights *p, const cv_image *x, int64_t c, const int64_t begin[3],
                       int64_t lanes, int joined, int64_t at, int64_t n, char *dst, int64_t pitch)
{
    const int64_t grid[3] = {p->axis[0].n, p->axis[1].n, p->axis[2].n}, size = p->k->element;
    const int64_t extent = x->extent[2], space = x->space[2];
    for (int64_t i = 0, run; i < n; i += run) {
        int64_t from[3];
        run = cv_next_run(grid, at + i, n - i, from);
        for (int d = 0; d < 3; d++)
            from[d] = from[d] * p->axis[d].scale + begin[d];
        const int inside =
            from[0] >= 0 && from[0] < x->extent[0] && from[1] >= 0 && from[1] < x->extent[1];
        const char *row = x->data + (from[0] * x->space[0] + from[1] * x->space[1]) * size;
        for (int64_t j = 0; j < run; j++, dst += pitch, from[2] += p->axis[2].scale) {
            const int64_t e = from[2] * space + c, rest = extent * space - e;
            int64_t first = 0, end = from[2] >= 0 && from[2] < extent ? lanes : 0;
            if (joined) {
                first = e < 0 ? -e : 0;
                end = rest < lanes ? rest : lanes;
            }
            copy_lanes(dst, row + e * size, lanes, first, inside ? end : 0, size);
        }
    }
}

/* Element of the source that the first tap of number `tap` meets first. */
static void begin_of(const cv_weights *p, int64_t tap, int64_t begin[3])
{
    for (int d = 2; d >= 0; d--) {
        begin[d] = p->axis[d].origin + tap % p->axis[d].taps * p->axis[d].move;
        tap /= p->axis[d].taps;
    }
}

/* As pack_taps, of channels that lie side by side. */
static void pack_beside(const cv_weights *p, const cv_image *x, int64_t channels, int64_t l,
                        int64_t w, int64_t at, int64_t n, char *dst)
{
    const int64_t columns = p->k->columns, size = p->k->element;
    /* Whether taps along the last axis meet elements side by side, of all channels. */
    const int joined = p->axis[2].move == 1 && x->space[2] == channels;
    for (int64_t i = 0; i < w; i += columns, dst += columns * n * size) {
        const int64_t lanes = w - i < columns ? w - i : columns;
        if (lanes < columns)
            memset(dst, 0, (size_t)(columns * n * size));
        for (int64_t j = 0, some; j < lanes; j += some) {
            const int64_t c = (l + i + j) % channels;
            int64_t begin[3];
            begin_of(p, (l + i + j) / channels, begin);
            some = channels - c;
            if (joined)
                some += channels * (p->axis[2].taps - 1 - (l + i + j) / channels % p->axis[2].taps);
            some = some < lanes - j ? some : lanes - j;
            pack_lanes(p, x, c, begin, some, joined, at, n, dst + j * size, columns * size);
        }
    }
}

/* A group's channels of an image from data on, side by side. */
void cv_weight_turn(const cv_weights *p, char *data, int64_t channels, char *to)
{
    const cv_turn turn = {.beside = to,
                          .rows = data,
                          .n = cv_product(p->x.extent),
                          .channels = channels,
                          .step = channels,
                          .plane = p->x.channel};
    p->few.isa->together[p->k->dtype](&turn);
}

/* The image that pack_beside reads. */
static cv_image image_beside(const cv_weights *p, char *data, int64_t channels, char *turned)
{
    cv_image x = p->x;
    x.data = data;
    if (p->turned) {
        x.data = turned;
        x.space[2] = channels;
        x.space[1] = x.extent[2] * channels;
        x.space[0] = x.extent[1] * x.space[1];
    }
    return x;
}

/* Columns l to l + w of the taps of a group, over n positions. */
void cv_weight_pack_taps(const cv_weights *p, char *data, int64_t l, int64_t w, int64_t at,
                         int64_t n, char *dst, char *line, char *turned)
{
    const mm_kernels *k = p->k;
    const int64_t scale[3] = {p->axis[0].scale, p->axis[1].scale, p->axis[2].scale};
    const int64_t taps = p->axis[0].taps * p->axis[1].taps * p->axis[2].taps;
    if (p->pointwise) {
        mm_pack(k, k->pack_b, k->columns,
                data + (l * p->x.channel + at * p->x.space[2]) * p->x.size, p->x.dtype,
                p->x.channel, p->x.space[2], w, n, dst);
        return;
    }
    if (p->channels_inner) {
        const cv_image x = image_beside(p, data, p->lanes / taps, turned);
        pack_beside(p, &x, p->lanes / taps, l, w, at, n, dst);
        return;
    }
    for (int64_t i = 0; i < w; i += k->columns) {
        const int64_t columns = w - i < k->columns ? w - i : k->columns;
        for (int64_t j = 0; j < columns; j++) {
            int64_t begin[3];
            begin_of(p, (l + i + j) % taps, begin);
            load_line(p, &p->x, data + (l + i + j) / taps * p->x.channel * p->x.size, scale, begin,
                      at, n, line + j * n * k->element);
        }
        k->pack_b(line, n, 1, columns, n, dst + i * n * k->element);
    }
}
