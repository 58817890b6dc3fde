#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""candle_golden.py >candle_golden.json: what the tests of candle's own kernels compute (candle-core/tests/conv_tests.rs, pool_tests.rs,
tensor_tests.rs, candle-nn/tests/ops.rs, batch_norm.rs), in the same shapes and with the same parameters, of numbers made here. Values are sums of the
definition in fractions, rounded to float64 once; roots, exponentials and angles are float64's, in sums by math.fsum. No library."""
import itertools
import json
import math
from fractions import Fraction


def numbers(seed, shape):
    """Fractions of four digits between -3 and 3, by a generator of its own, and their shape."""
    state, made = seed, []
    for _ in range(math.prod(shape)):
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        made.append(Fraction((state >> 33) % 60001 - 30000, 10000))
    return made, tuple(shape)


def at(array, index):
    values, shape = array
    place = 0
    for i, n in zip(index, shape):
        place = place * n + i
    return values[place]


def every(*extents):
    return itertools.product(*(range(n) for n in extents))


def filled(shape, value):
    """value at every index."""
    return [value(index) for index in every(*shape)], tuple(shape)


def outside(x, lead, place):
    return any(not 0 <= i < n for i, n in zip(place, x[1][lead:]))


def conv(x, w, stride=1, padding=0, dilation=1, groups=1):
    (n, c, *extents), (o, _, *kernel) = x[1], w[1]
    grid = [(s + 2 * padding - dilation * (k - 1) - 1) // stride + 1 for s, k in zip(extents, kernel)]

    def value(index):
        image, channel, *p = index
        first, total = channel // (o // groups) * (c // groups), Fraction(0)
        for i, *k in every(c // groups, *kernel):
            place = [a * stride - padding + b * dilation for a, b in zip(p, k)]
            if not outside(x, 2, place):
                total += at(x, (image, first + i, *place)) * at(w, (channel, i, *k))
        return total
    return filled((n, o, *grid), value)


def conv_transpose(x, w, stride=1, padding=0, output_padding=0, dilation=1, groups=1):
    """Each element of the image adds the weight's window, times itself."""
    (n, c, *extents), (_, per, *kernel) = x[1], w[1]
    grid = [(s - 1) * stride - 2 * padding + dilation * (k - 1) + output_padding + 1 for s, k in zip(extents, kernel)]
    made = {index: Fraction(0) for index in every(n, per * groups, *grid)}
    for image, i, *p in every(n, c, *extents):
        for j, *k in every(per, *kernel):
            index = (image, i // (c // groups) * per + j, *(a * stride - padding + b * dilation for a, b in zip(p, k)))
            if index in made:
                made[index] += at(x, (image, i, *p)) * at(w, (i, j, *k))
    return list(made.values()), (n, per * groups, *grid)


def grad_of_squares(x, w):
    """The gradients of the sum of squares of conv(x, w) by x and by w: products of each pair with twice the result."""
    y = conv(x, w)
    (n, c, *extents), (o, _, *kernel), grid = x[1], w[1], y[1][2:]
    by_x, by_w = {i: Fraction(0) for i in every(n, c, *extents)}, {i: Fraction(0) for i in every(o, c, *kernel)}
    for image, channel, *p in every(n, o, *grid):
        for i, *k in every(c, *kernel):
            place, tap, twice = (image, i, *(a + b for a, b in zip(p, k))), (channel, i, *k), 2 * at(y, (image, channel, *p))
            by_x[place] += twice * at(w, tap)
            by_w[tap] += twice * at(x, place)
    return (list(by_x.values()), x[1]), (list(by_w.values()), w[1])


def pool(x, kernel, of):
    n, c, h, w = x[1]
    return filled((n, c, h // kernel, w // kernel), lambda i: of([at(x, (i[0], i[1], i[2] * kernel + a, i[3] * kernel + b))
                                                                  for a, b in every(kernel, kernel)]))


def nearest(x, h, w):
    n, c, height, width = x[1]
    return filled((n, c, h, w), lambda i: at(x, (i[0], i[1], i[2] * height // h, i[3] * width // w)))


def bilinear(x, h, w, align):
    n, c, height, width = x[1]

    def parts(i, size, wide):
        place = Fraction(i * (size - 1), wide - 1) if align else max(Fraction(0), Fraction((2 * i + 1) * size, 2 * wide) - Fraction(1, 2))
        low = min(int(place), size - 1)
        return (low, 1 - (place - low)), (min(low + 1, size - 1), place - low)
    return filled((n, c, h, w), lambda i: sum(at(x, (i[0], i[1], a, b)) * s * t for a, s in parts(i[2], height, h)
                                              for b, t in parts(i[3], width, w)))


def softmax(x, axis):
    def value(index):
        line = [float(at(x, (*index[:axis], k, *index[axis + 1:]))) for k in range(x[1][axis])]
        top = max(line)
        return math.exp(float(at(x, index)) - top) / math.fsum(math.exp(v - top) for v in line)
    return filled(x[1], value)


def normed(x, scale, bias, eps):
    """layer_norm along the last axis; without a bias rms_norm."""
    width = x[1][-1]

    def value(index):
        line = [at(x, (*index[:-1], k)) for k in range(width)]
        mean = sum(line) / width if bias else Fraction(0)
        spread = sum((v - mean)**2 for v in line) / width
        made = float(at(x, index) - mean) / math.sqrt(float(spread) + eps) * float(at(scale, index[-1:]))
        return made + (float(at(bias, index[-1:])) if bias else 0.0)
    return filled(x[1], value)


def batch_normed(x, mean, variance, scale, bias, eps):
    """By running statistics of the channels, axis 1."""
    def value(index):
        c = index[1:2]
        return float(at(x, index) - at(mean, c)) / math.sqrt(float(at(variance, c)) + eps) * float(at(scale, c)) + float(at(bias, c))
    return filled(x[1], value)


def rope(x, cos, sin, layout):
    """candle's rope (the halves of a head), rope_i (neighbours) and rope_thd (halves, heads behind positions)."""
    half = x[1][-1] // 2

    def value(index):
        t, e = index[1 if layout == "thd" else 2], index[-1]
        pair, first = (e // 2, e % 2 == 0) if layout == "interleaved" else (e % half, e < half)
        other = (e + 1 if first else e - 1) if layout == "interleaved" else (e + half if first else e - half)
        c, s, a, b = at(cos, (t, pair)), at(sin, (t, pair)), at(x, index), at(x, (*index[:-1], other))
        return a * c - b * s if first else a * c + b * s
    return filled(x[1], value)


def added(x, indices, y, axis):
    """x with the slices of y added at indices along an axis: index_add."""
    def value(index):
        return at(x, index) + sum((at(y, (*index[:axis], k, *index[axis + 1:])) for k, i in enumerate(indices) if i == index[axis]), Fraction(0))
    return filled(x[1], value)


def cases():
    """(name, arrays, parameters, result)"""
    t, w = numbers(1, (1, 4, 5)), numbers(2, (2, 4, 3))
    for options in ({}, {"padding": 1}, {"stride": 2}, {"dilation": 2}, {"padding": 2, "stride": 2}):
        yield "conv1d", (t, w), options, conv(t, w, **options)
    turned = numbers(3, (4, 2, 3))
    for options in ({}, {"groups": 2}, {"stride": 2, "padding": 1, "output_padding": 1}, {"dilation": 2}):
        yield "conv_transpose1d", (t, turned), options, conv_transpose(t, turned, **options)
    t, w = numbers(4, (1, 1, 4)), numbers(5, (1, 1, 3))
    for options in ({}, {"padding": 1}):
        yield "conv1d", (t, w), options, conv(t, w, **options)
    t, w, turned = numbers(6, (1, 4, 5, 5)), numbers(7, (2, 4, 3, 3)), numbers(8, (4, 2, 3, 3))
    for options in ({}, {"stride": 2}, {"dilation": 2}):
        yield "conv2d", (t, w), options, conv(t, w, **options)
        yield "conv_transpose2d", (t, turned), options, conv_transpose(t, turned, **options)
    yield "conv_transpose2d", (t, turned), {"stride": 2, "output_padding": 1}, conv_transpose(t, turned, stride=2, output_padding=1)
    for i, made in enumerate(grad_of_squares(t, w)):
        yield ("conv2d_input", "conv2d_weight")[i], (t, w, ([2 * v for v in conv(t, w)[0]], conv(t, w)[1])), {}, made
    t, w = numbers(9, (1, 2, 3, 3)), numbers(10, (1, 2, 1, 1))
    for options in ({}, {"padding": 2}):
        yield "conv2d", (t, w), options, conv(t, w, **options)
    other = numbers(11, (2, 1, 3, 3))
    yield "conv_transpose2d", (other, w), {}, conv_transpose(other, w)
    t, ones = numbers(12, (1, 1, 3, 3)), ([Fraction(1)] * 9, (1, 1, 3, 3))
    yield "conv2d", (t, ones), {}, conv(t, ones)
    t, w = numbers(13, (1, 2, 4, 2)), numbers(14, (1, 2, 1, 1))
    yield "conv2d", (t, w), {}, conv(t, w)
    for shape, kernel in (((1, 1, 4, 4), 2), ((1, 1, 2, 8), 2), ((1, 2, 4, 4), 2), ((1, 2, 4, 4), 3), ((1, 1, 4, 8), 2)):
        x = numbers(15, shape)
        yield "avg_pool2d", (x,), {"kernel_size": kernel}, pool(x, kernel, lambda v: sum(v) / len(v))
        yield "max_pool2d", (x,), {"kernel_size": kernel}, pool(x, kernel, max)
    x = numbers(16, (1, 1, 2, 3))
    yield "interpolate", (x,), {"size": [4, 6], "mode": "nearest"}, nearest(x, 4, 6)
    for align in (False, True):
        yield "interpolate", (x,), {"size": [4, 6], "mode": "bilinear", "align_corners": align}, bilinear(x, 4, 6, align)
    x = numbers(17, (2, 2, 3))
    for axis in range(3):
        yield "softmax", (x,), {"axis": axis}, softmax(x, axis)
    for shape in ((2, 2, 3), (2, 3, 64)):
        x, scale, bias = numbers(18, shape), numbers(19, shape[-1:]), numbers(20, shape[-1:])
        yield "rms_norm", (x, scale), {"eps": 1e-5}, normed(x, scale, None, 1e-5)
        yield "layer_norm", (x, scale, bias), {"eps": 1e-5}, normed(x, scale, bias, 1e-5)
    for layout, shape in (("half", (2, 3, 5, 8)), ("interleaved", (2, 3, 5, 8)), ("thd", (2, 5, 3, 8))):
        x, cos, sin = numbers(21, shape), numbers(22, (5, 4)), numbers(23, (5, 4))
        yield "rope", (x, cos, sin), {"layout": layout}, rope(x, cos, sin, layout)
    x, y = numbers(24, (4, 3)), numbers(25, (5, 3))
    for indices in ([0, 2, 1, 0, 3], [1, 1, 1, 1, 1]):
        yield "index_add", (x, y), {"indices": indices}, added(x, indices, y, 0)
        yield "index_select", (x,), {"indices": indices}, filled((5, 3), lambda i: at(x, (indices[i[0]], i[1])))
    x, mean, variance, scale, bias = numbers(26, (2, 5, 3, 4)), numbers(27, (5,)), numbers(28, (5,)), numbers(29, (5,)), numbers(30, (5,))
    variance = [v * v for v in variance[0]], variance[1]
    yield "batch_norm", (x, mean, variance, scale, bias), {"eps": 1e-5}, batch_normed(x, mean, variance, scale, bias, 1e-5)


def main():
    print("[")
    lines = [json.dumps({"name": name, "arrays": [{"shape": a[1], "values": [float(v) for v in a[0]]} for a in arrays], "options": options,
                         "result": {"shape": made[1], "values": [float(v) for v in made[0]]}}) for name, arrays, options, made in cases()]
    print(",\n".join(lines))
    print("]")


if __name__ == "__main__":
    main()
