/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The arithmetic of windows and of resampling along one axis, once for every device: which elements
 * a position reads, by the parameters of the classes CONV, POOL, RESAMPLE and UNFOLD of plugin.h.
 *
 * In the common subset of C11, C++17 and CUDA C++; links nothing. ND_WINDOW_FN is what functions
 * are declared with, "static inline" where the includer has not defined it. */
#ifndef NDOCK_WINDOWS_H
#define NDOCK_WINDOWS_H
#include <stdint.h>

#ifndef ND_WINDOW_FN
#define ND_WINDOW_FN static inline
#endif

/* Some positions of an axis and what they read: position j is element first + j*step of the result;
 * its tap m is element tap + m*tap_step of the kernel, and meets element j*scale + origin + m*move
 * of the source, or nothing where that is outside. */
typedef struct {
    int64_t n, first, step;
    int64_t taps, tap, tap_step;
    int64_t scale, origin, move;
} nd_window_axis;

/* Windows as they are: all positions are alike. n: windows. */
ND_WINDOW_FN nd_window_axis nd_window_forward(int64_t n, int64_t kernel, int64_t stride,
                                              int64_t dilation, int64_t before)
{
    nd_window_axis a = {n, 0, 1, kernel, 0, 1, stride, -before, dilation};
    return a;
}

ND_WINDOW_FN int64_t nd_window_gcd(int64_t a, int64_t b)
{
    while (b) {
        int64_t r = a % b;
        a = b;
        b = r;
    }
    return a;
}

/* The way back, from windows to the n elements that they cover: those whose number is `phase` modulo
 * the stride (0 <= phase < stride) have the same taps. */
ND_WINDOW_FN nd_window_axis nd_window_backward(int64_t n, int64_t kernel, int64_t stride,
                                               int64_t dilation, int64_t before, int64_t phase)
{
    const int64_t common = nd_window_gcd(dilation, stride);
    nd_window_axis a = {0, phase, stride, 0, 0, 1, 1, 0, 0};
    int64_t t = 0;
    a.n = n > phase ? (n - phase + stride - 1) / stride : 0;
    a.tap_step = stride / common;
    while (t < a.tap_step && (phase + before - t * dilation) % stride != 0)
        t++;
    if (t == a.tap_step || t >= kernel)
        return a;
    a.tap = t;
    a.taps = (kernel - t + a.tap_step - 1) / a.tap_step;
    a.origin = (phase + before - t * dilation) / stride;
    a.move = -(a.tap_step * dilation / stride);
    return a;
}

/* The first and the end of the positions j in [0, n) for which 0 <= j*scale + at < extent. */
ND_WINDOW_FN void nd_window_inside(int64_t n, int64_t scale, int64_t at, int64_t extent,
                                   int64_t *first, int64_t *end)
{
    *first = at >= 0 ? 0 : scale == 1 ? -at : (-at + scale - 1) / scale;
    if (at < extent && (n - 1) * scale < extent - at) /* without a division where all are */
        *end = n;
    else
        *end = at >= extent ? 0 : (extent - at + scale - 1) / scale;
    if (*first > *end)
        *first = *end;
}

/* ---- pools ---- */

/* The taps of window p that lie in the image: m from *first, before *end, tap m being element
 * *origin + m*dilation. */
ND_WINDOW_FN void nd_window_taps(int64_t p, int64_t in, int64_t out, int adaptive, int64_t kernel,
                                 int64_t stride, int64_t dilation, int64_t before, int64_t *origin,
                                 int64_t *first, int64_t *end)
{
    if (adaptive) {
        *origin = p * in / out;
        *first = 0;
        *end = ((p + 1) * in + out - 1) / out - *origin;
    } else {
        *origin = p * stride - before;
        nd_window_inside(kernel, dilation, *origin, in, first, end);
    }
}

/* The elements of window p that avg_pool counts. */
ND_WINDOW_FN int64_t nd_window_count(int64_t p, int64_t in, int64_t out, int adaptive,
                                     int64_t kernel, int64_t stride, int64_t before,
                                     int exclude_padding)
{
    int64_t origin, first, end;
    nd_window_taps(p, in, out, adaptive, kernel, stride, 1, before, &origin, &first, &end);
    if (adaptive || exclude_padding)
        return end - first;
    return origin + kernel < in + before ? kernel : in + before - origin;
}

/* The windows that cover element i, which are a run of them: from *first, before *end. Those of a
 * dilated kernel that step over it are among them. */
ND_WINDOW_FN void nd_window_covering(int64_t i, int64_t in, int64_t out, int adaptive,
                                     int64_t kernel, int64_t stride, int64_t dilation,
                                     int64_t before, int64_t *first, int64_t *end)
{
    const int64_t reach = (kernel - 1) * dilation;
    if (adaptive) {
        *first = i * out / in;
        *end = ((i + 1) * out + in - 1) / in;
        return;
    }
    *first = i + before <= reach ? 0 : (i + before - reach + stride - 1) / stride;
    *end = (i + before) / stride + 1;
    if (*end > out)
        *end = out;
    if (*first > *end)
        *first = *end;
}

/* ---- resampling ---- */
enum { ND_WINDOW_NEAREST, ND_WINDOW_NEAREST_EXACT, ND_WINDOW_LINEAR, ND_WINDOW_CUBIC };

ND_WINDOW_FN int64_t nd_window_clamp(int64_t i, int64_t n)
{
    return i < 0 ? 0 : i < n ? i : n - 1;
}

/* floor(x) of an x that an int64_t holds. */
ND_WINDOW_FN int64_t nd_window_floor(double x)
{
    const int64_t i = (int64_t)x;
    return (double)i > x ? i - 1 : i;
}

/* Keys' cubic with a = -3/4 at the distances 1 + x, x, 1 - x, 2 - x, its factors multiplied out. */
ND_WINDOW_FN void nd_window_cubic(double x, double share[4])
{
    const double a = -0.75, y = 1 - x;
    share[0] = a * x * y * y;
    share[1] = y * (1 + x - (a + 2) * x * x);
    share[2] = x * (1 + y - (a + 2) * y * y);
    share[3] = a * y * x * x;
}

ND_WINDOW_FN int64_t nd_window_nearest(int64_t i, int64_t in, int64_t out, int exact, double ratio)
{
    int64_t at;
    if (ratio == 0)
        at = exact ? (2 * i + 1) * in / (2 * out) : i * in / out;
    else
        at = nd_window_floor(((double)i + (exact ? 0.5 : 0)) * ratio);
    return nd_window_clamp(at, in);
}

/* numerator/denominator, the latter positive, as a whole number, which is returned, and a part of
 * one. */
ND_WINDOW_FN int64_t nd_window_split(int64_t numerator, int64_t denominator, double *part)
{
    int64_t whole = numerator / denominator, rest = numerator % denominator;
    if (rest < 0) {
        rest += denominator;
        whole--;
    }
    *part = (double)rest / (double)denominator;
    return whole;
}

/* Where element i of the result lies in the source: behind the middle of the element that is
 * returned, by a part of one. Exact but for the rounding of the part where ratio is 0. */
ND_WINDOW_FN int64_t nd_window_place(int64_t i, int64_t in, int64_t out, int align_corners,
                                     double ratio, double *part)
{
    double place;
    int64_t at;
    *part = 0;
    if (align_corners)
        return out > 1 ? nd_window_split(i * (in - 1), out - 1, part) : 0;
    if (ratio == 0)
        return nd_window_split((2 * i + 1) * in - out, 2 * out, part);
    place = ratio * ((double)i + 0.5) - 0.5;
    at = nd_window_floor(place);
    *part = place - (double)at;
    return at;
}

/* The elements that element i of the result is made of, and their shares; returns how many: 1, 2
 * or 4. Elements may be named twice, at the edges. */
ND_WINDOW_FN int nd_window_resample(int method, int align_corners, double ratio, int64_t in,
                                    int64_t out, int64_t i, int64_t *element, double *share)
{
    double part;
    int64_t at;
    if (method == ND_WINDOW_NEAREST || method == ND_WINDOW_NEAREST_EXACT) {
        element[0] = nd_window_nearest(i, in, out, method == ND_WINDOW_NEAREST_EXACT, ratio);
        share[0] = 1;
        return 1;
    }
    at = nd_window_place(i, in, out, align_corners, ratio, &part);
    if (method == ND_WINDOW_LINEAR) { /* before the first element: that one, whatever its share */
        element[0] = nd_window_clamp(at, in);
        element[1] = nd_window_clamp(at + 1, in);
        share[0] = 1 - part;
        share[1] = part;
        return 2;
    }
    for (int t = 0; t < 4; t++)
        element[t] = nd_window_clamp(at + t - 1, in);
    nd_window_cubic(part, share);
    return 4;
}
#endif
