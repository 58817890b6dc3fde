#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""nd.nn: values worked out by hand, gradients against finite differences in float64, channels last, and what is refused. Random
geometries against loops of the definition are in tests/conform/."""
import ndock as nd
from arrays import DEVICES, from_numpy, host, np
from tap import cases, main, raises

F = nd.nn


def column(device, shape, seed=3):
    """Random float64 numbers, no two of a window alike."""
    rng = np.random.default_rng(seed)
    return rng.permutation(int(np.prod(shape))).reshape(shape) / 7.0 - 3.0


def differences(function, x, grad_of_result, step=1e-4):
    """The gradient of sum(function(x)*grad_of_result) by central differences."""
    g = np.zeros_like(x)
    for i in np.ndindex(*x.shape):
        at = x.copy()
        at[i] += step
        more = np.sum(function(at) * grad_of_result)
        at[i] -= 2 * step
        g[i] = (more - np.sum(function(at) * grad_of_result)) / (2 * step)
    return g


def check(device, function, gradient, x, tolerance=1e-7):
    """gradient(x, dy) is the derivative of function, both of arrays of ndock, at x."""
    def forward(a):
        return host(function(from_numpy(a, device)))

    dy = column(device, forward(x).shape, 5)
    got = host(gradient(from_numpy(x, device), from_numpy(dy, device)))
    np.testing.assert_allclose(got, differences(forward, x, dy), rtol=tolerance, atol=tolerance * 100)


CONVS = [((2, 2, 7), (3, 2, 3), {}), ((1, 4, 9), (4, 2, 2), dict(stride=2, padding=1, groups=2)),
         ((2, 3, 5, 6), (3, 1, 3, 2), dict(groups=3, padding=(1, 0), dilation=(1, 2))),
         ((1, 2, 6, 5), (2, 2, 3, 3), dict(padding="same")), ((1, 2, 4, 3, 5), (2, 2, 2, 2, 3), dict(stride=(2, 1, 2), padding=1))]


@cases(*[(d, i) for d in DEVICES for i in range(len(CONVS))])
def test_conv_gradients(device, i):
    shape, kernel, options = CONVS[i]
    x, w = column(device, shape), column(device, kernel, 4)
    rank = len(shape) - 2
    conv, by_input, by_weight = (getattr(F, f"conv{rank}d{end}") for end in ("", "_input", "_weight"))
    there = from_numpy(w, device)
    check(device, lambda a: conv(a, there, **options), lambda a, dy: by_input(shape, there, dy, **options), x)
    image = from_numpy(x, device)
    check(device, lambda a: conv(image, a, **options), lambda a, dy: by_weight(image, kernel, dy, **options), w)


@cases(*DEVICES)
def test_conv_transpose_is_the_gradient(device):
    w = from_numpy(column(device, (2, 3, 3, 2)), device)
    x = from_numpy(column(device, (2, 2, 4, 3)), device)
    got = F.conv_transpose2d(x, w, stride=2, padding=1, output_padding=1)
    want = F.conv2d_input((2, 3, 8, 5), w, x, stride=2, padding=1)
    np.testing.assert_array_equal(host(got), host(want))
    bias = from_numpy(np.array([1.0, 2.0, 3.0]), device)
    biased = F.conv_transpose2d(x, w, bias, stride=2, padding=1, output_padding=1)
    np.testing.assert_allclose(host(biased), host(want) + np.array([1.0, 2.0, 3.0])[:, None, None])
    single = from_numpy(column(device, (2, 1, 1, 1)), device)  # windows of one element, and more positions than those of x
    got = F.conv_transpose2d(x[:, :, :, :1].copy(), single, dilation=(1, 2), output_padding=(0, 1))
    want = np.zeros((2, 1, 4, 2))
    want[:, 0, :, 0] = (host(x)[:, :, :, 0] * host(single)[:, 0, 0]).sum(1)
    np.testing.assert_allclose(host(got), want, rtol=1e-6)


@cases(*DEVICES)
def test_pools_keep_channels_last(device):
    image = from_numpy(column(device, (2, 6, 7, 5)), device)
    last = nd.permute_dims(image, (0, 3, 1, 2))
    for pool in (F.max_pool2d, F.avg_pool2d):
        for options in ({}, {"stride": 1, "padding": 1}):
            got, want = pool(last, 2, **options), pool(last.copy(), 2, **options)
            np.testing.assert_array_equal(host(got), host(want))
            n, c, h, w = got.shape
            assert got.strides == (h * w * c, 1, w * c, c), got.strides


@cases(*DEVICES)
def test_values(device):
    x = from_numpy(np.arange(1.0, 10).reshape(1, 1, 3, 3), device)
    k = from_numpy(np.array([[[[1.0, 0.0], [0.0, -1.0]]]]), device)
    assert host(F.conv2d(x, k)).tolist() == [[[[-4, -4], [-4, -4]]]]
    assert host(F.max_pool2d(x, 2, 1)).tolist() == [[[[5, 6], [8, 9]]]]
    assert host(F.max_pool2d(x, 2, 1, return_indices=True)[1]).tolist() == [[[[4, 5], [7, 8]]]]
    assert host(F.avg_pool2d(x, 2, 1)).tolist() == [[[[3, 4], [6, 7]]]]
    assert host(F.avg_pool2d(x, 2, padding=1)).tolist() == [[[[0.25, 1.25], [2.75, 7]]]]
    assert host(F.avg_pool2d(x, 2, padding=1, count_include_pad=False)).tolist() == [[[[1, 2.5], [5.5, 7]]]]
    assert host(F.avg_pool2d(x, 2, ceil_mode=True)).tolist() == [[[[3, 4.5], [7.5, 9]]]]
    assert host(F.adaptive_avg_pool2d(x, 1)).tolist() == [[[[5]]]]
    assert host(F.adaptive_max_pool2d(x, (None, 2))).tolist() == [[[[2, 3], [5, 6], [8, 9]]]]
    assert host(F.lp_pool2d(x, 1, 3)).tolist() == [[[[45]]]]
    assert host(F.interpolate(x, size=2)).tolist() == [[[[1, 2], [4, 5]]]]
    assert host(F.interpolate(x, size=5, mode="bilinear", align_corners=True))[0, 0, 1].tolist() == [2.5, 3, 3.5, 4, 4.5]
    assert host(F.unfold(x, 2)).tolist() == [[[1, 2, 4, 5], [2, 3, 5, 6], [4, 5, 7, 8], [5, 6, 8, 9]]]
    assert host(F.fold(F.unfold(x, 2), (3, 3), 2)).tolist() == [[[[1, 4, 3], [8, 20, 12], [7, 16, 9]]]]


@cases(*DEVICES)
def test_pool_gradients(device):
    x = column(device, (2, 2, 5, 6))
    windows = dict(kernel_size=(3, 2), stride=(2, 1), padding=(1, 1))

    def positions(a):
        return F.max_pool2d(a, return_indices=True, dilation=(1, 2), **windows)[1]

    check(device, lambda a: F.max_pool2d(a, dilation=(1, 2), **windows),
          lambda a, dy: F.max_pool_grad(dy, positions(a), a.shape, dilation=(1, 2), **windows), x)
    for more in (dict(count_include_pad=False), dict(ceil_mode=True), dict(divisor_override=3)):
        check(device, lambda a: F.avg_pool2d(a, **windows, **more),
              lambda a, dy: F.avg_pool_grad(dy, a.shape, **windows, **more), x)
    check(device, lambda a: F.lp_pool2d(a, 3, 2), lambda a, dy: F.lp_pool_grad(dy, a, F.lp_pool2d(a, 3, 2), 3, 2), x, 1e-5)


@cases(*[(d, m) for d in DEVICES for m in ("nearest", "nearest-exact", "linear", "bicubic")])
def test_interpolate_gradients(device, mode):
    x = column(device, (1, 2, 4, 5) if mode == "bicubic" else (2, 2, 6))
    for align in (None, True) if mode in ("linear", "bicubic") else (None,):
        for size in (dict(size=3), dict(scale_factor=1.7)):
            check(device, lambda a: F.interpolate(a, mode=mode, align_corners=align, **size),
                  lambda a, dy: F.interpolate_grad(dy, a.shape, mode=mode, align_corners=align, **size), x)


@cases(*[(d, t) for d in DEVICES for t in ("float16", "float32", "float64")])
def test_channels_last(device, dtype):
    rng = np.random.default_rng(9)
    x = rng.standard_normal((2, 7, 6, 8)).astype(dtype).transpose(0, 3, 1, 2)
    for groups in (1, 8):
        w = rng.standard_normal((16 if groups == 1 else 8, 8 // groups, 3, 3)).astype(dtype)
        last, first = from_numpy(x, device), from_numpy(np.ascontiguousarray(x), device)
        weight = from_numpy(w, device)
        out = nd.permute_dims(nd.zeros((2, 7, 6, w.shape[0]), dtype=dtype, device=device), (0, 3, 1, 2))
        got = F.conv2d(last, weight, padding=1, groups=groups, out=out)
        want = host(F.conv2d(first, weight, padding=1, groups=groups)).astype("float64")
        assert got is out and out.strides[1] == 1
        np.testing.assert_allclose(host(out).astype("float64"), want, rtol=2e-3, atol=2e-2 if dtype == "float16" else 1e-5)
        np.testing.assert_array_equal(host(F.max_pool2d(last, 3, 2, 1)), host(F.max_pool2d(first, 3, 2, 1)))


def last_of(x):
    """The same numbers, channels innermost in memory."""
    return nd.permute_dims(nd.permute_dims(x, (0, 2, 3, 1)).copy(), (0, 3, 1, 2))


@cases(*[(d, t) for d in DEVICES for t in ("float16", "bfloat16")])
def test_channels_last_of_16_bits(device, dtype):
    """Numbers of so few bits that sums are exact: results are those of float64, rounded once. The largest image is of several turns."""
    rng = np.random.default_rng(11)
    for n, c, extent, o, groups, kernel, options in (
            (2, 6, (7, 5), 4, 1, (3, 3), dict(padding=1)), (2, 3, (9, 8), 8, 1, (5, 5), dict(padding=2, stride=2)),
            (3, 12, (6, 7), 12, 3, (3, 2), dict(padding=1)), (2, 20, (8, 6), 20, 20, (3, 3), dict(padding=1, stride=(1, 2))),
            (2, 8, (6, 6), 5, 1, (1, 1), {}), (5, 16, (96, 160), 2, 1, (3, 3), dict(padding=1)), (1, 70, (5, 4), 70, 70, (3, 3), dict(padding=2))):
        x = from_numpy(rng.integers(-4, 5, (n, c, *extent)) / 4, device)
        w = from_numpy(rng.integers(-4, 5, (o, c // groups, *kernel)) / 4, device)
        y = F.conv2d(x, w, groups=groups, **options)
        g = from_numpy(rng.integers(-2, 3, y.shape) / 2, device)
        few = tuple(last_of(nd.astype(a, dtype)) for a in (x, w, g))
        for weight in (few[1], nd.astype(w, dtype)):
            for got, want in ((F.conv2d(few[0], weight, groups=groups, **options), y),
                              (F.conv2d_input(x.shape, weight, few[2], groups=groups, **options),
                               F.conv2d_input(x.shape, w, g, groups=groups, **options))):
                assert str(got.dtype) == dtype
                np.testing.assert_array_equal(host(nd.astype(got, nd.float64)), host(nd.astype(nd.astype(want, dtype), nd.float64)))
        want = F.conv2d_weight(x, w.shape, g, groups=groups, **options)
        for image, grad in ((few[0], few[2]), (nd.astype(x, dtype), few[2]), (few[0], nd.astype(g, dtype))):
            got = F.conv2d_weight(image, w.shape, grad, groups=groups, **options)
            np.testing.assert_array_equal(host(nd.astype(got, nd.float64)), host(nd.astype(nd.astype(want, dtype), nd.float64)))


REAL = [d for d in DEVICES if not d.startswith("sim")]  # a device of the CPU's kernels shows nothing more


@cases(*[(d, t, g) for d in REAL for t in ("float16", "bfloat16") for g in (1, 4, 8, 16)])
def test_groups_of_16_bits(device, dtype, size):
    """Groups of `size` channels, which tensor cores may compute, in planes and channels last; sums are exact, so results are float64's, rounded once. What is
    infinite stays in its group."""
    rng = np.random.default_rng(13)
    for n, c, extent, kernel, options in ((1, 64, (56, 56), (3, 3), dict(padding=1)), (1, 48, (13, 150), (3, 3), dict(padding=(1, 2))),
                                          (2, 32, (20, 24), (5, 3), dict(padding=2, dilation=(1, 2))), (3, 16, (9, 7), (2, 2), {}),
                                          (1, 64, (17, 40), (3, 3), dict(padding=1, stride=2)), (2, 48, (19, 23), (3, 2), dict(padding=(1, 0), stride=(3, 2)))):
        image = rng.integers(-4, 5, (n, c, *extent)) / 4
        image[0, c // 2 + 1, 3, 4] = np.inf
        x = from_numpy(image, device)
        w = from_numpy(rng.integers(-4, 5, (c, size, *kernel)) / 4, device)
        bias = from_numpy(rng.integers(-4, 5, c) / 4, device)
        y = F.conv2d(x, w, bias, groups=c // size, **options)
        grad = rng.integers(-2, 3, y.shape) / 2
        grad[0, c // 2 - 2, 2, 1] = -np.inf
        g = from_numpy(grad, device)
        dx = F.conv2d_input(x.shape, w, g, groups=c // size, **options)
        for order in (lambda a: a, last_of):
            few = tuple(order(nd.astype(a, dtype)) for a in (x, w, g))
            for got, want in ((F.conv2d(few[0], few[1], nd.astype(bias, dtype), groups=c // size, **options), y),
                              (F.conv2d_input(x.shape, few[1], few[2], groups=c // size, **options), dx)):
                np.testing.assert_array_equal(host(nd.astype(got, nd.float64)), host(nd.astype(nd.astype(want, dtype), nd.float64)))


def window_sums(x, w, places, stride, padding):
    """Sums of windows at places (n, o, h, w) in float64, and of their terms' sizes."""
    pad = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    k = w.shape[-1]
    terms = [pad[n, :, h * stride:h * stride + k, v * stride:v * stride + k].astype("float64") * w[o] for n, o, h, v in places]
    return np.array([t.sum() for t in terms]), np.array([np.abs(t).sum() for t in terms])


def weight_sums(x, g, places, kernel, stride, padding):
    """Of the weight's gradient, at places (o, c): all taps."""
    h, v = g.shape[2:]
    want = np.zeros((2, len(places), kernel, kernel))
    for at, (o, c) in enumerate(places):
        pad = np.pad(x[:, c].astype("float64"), ((0, 0), (padding, padding), (padding, padding)))
        for i, j in np.ndindex(kernel, kernel):
            terms = pad[:, i:i + h * stride:stride, j:j + v * stride:stride][:, :h, :v] * g[:, o]
            want[:, at, i, j] = terms.sum(), np.abs(terms).sum()
    return want


def within(got, want, sizes, terms):
    """op.def's bound of float32: an ulp times the condition and the square root of the length."""
    error = np.abs(got.astype("float64") - want) / (2.0 ** -23 * sizes * np.sqrt(terms) + 1e-30)
    assert error.max() <= 1, error.max()


# images and channels (on a CPU fewer), extent, results, kernel, stride: bench/conv.py's
LARGE = ((32, 64, 56, 64, 3, 1), (32, 512, 14, 512, 3, 1), (32, 128, 56, 128, 3, 2), (32, 3, 224, 64, 7, 2), (32, 256, 56, 512, 1, 2), (32, 256, 56, 64, 1, 1),
         (11, 96, 23, 80, 3, 1))


@cases(*[(d, row) for d in REAL for row in LARGE])
def test_one_large_element(device, row):
    """One element a thousand times as large as others leaves the sums that it is no part of within their bound, whatever way a device takes: transforms
    would spread its rounding over them. In planes and channels last."""
    n, c, extent, o, kernel, stride = row
    padding = kernel // 2
    if not device.startswith("cuda"):
        n, c, o = 1, min(c, 96), min(o, 96)
    rng = np.random.default_rng(14)
    size = (extent + 2 * padding - kernel) // stride + 1
    x, w, g = (rng.standard_normal(shape, dtype="float32") for shape in ((n, c, extent, extent), (o, c, kernel, kernel), (n, o, size, size)))
    x[n // 2, c // 2, extent // 2, extent // 3] = 1000
    g[n // 2, o // 2, size // 2, size // 3] = 1000
    options = dict(stride=stride, padding=padding)

    def places(shape):  # a third of them beside the large one
        at = np.stack([rng.integers(0, m, 150) for m in shape], 1)
        at[:50, 0] = n // 2
        for axis, middle in ((2, shape[2] // 2), (3, shape[3] // 3)):
            at[:50, axis] = np.clip(middle + rng.integers(-4, 5, 50), 0, shape[axis] - 1)
        return at

    of_result, of_input = places(g.shape), places(x.shape)
    of_weight = np.array([(o // 2, c // 2), (o // 2, 0), (0, c // 2), (o - 1, c - 1), (o // 3, c // 2 - 1)])
    turned = w.transpose(1, 0, 2, 3)[:, :, ::-1, ::-1]  # the gradient for the image is a convolution with it
    sums = window_sums(x, w, of_result, stride, padding), weight_sums(x, g, of_weight, kernel, stride, padding)
    if stride == 1:
        sums += window_sums(g, turned, of_input, 1, kernel - 1 - padding),
    for order in (lambda a: a, last_of):
        image, weight, grad = (order(from_numpy(a, device)) for a in (x, w, g))
        within(host(F.conv2d(image, weight, **options))[tuple(of_result.T)], *sums[0], c * kernel ** 2)
        within(host(F.conv2d_weight(image, w.shape, grad, **options))[tuple(of_weight.T)], *sums[1], n * size ** 2)
        if stride == 1:
            within(host(F.conv2d_input(x.shape, weight, grad, **options))[tuple(of_input.T)], *sums[2], o * kernel ** 2)


def with_extremes(rng, shape):
    """float32 with all their bits: an infinity, a NaN and a number whose products overflow, each in an image of its own, and an image of tiny ones."""
    x = rng.standard_normal(shape, dtype="float32")
    x[3] *= np.float32(2.0 ** -118)
    n, c, h, w = shape
    for image, value in ((0, np.inf), (1, np.nan), (2, 3e38)):
        x[image, c // 2, h // 2, w // 3] = value
    return x


def agrees(got, want, sizes, terms):
    """As within() where sums are numbers that float32 has, else the same infinity or no number."""
    with np.errstate(over="ignore", invalid="ignore"):
        whole = np.isfinite(want) & (sizes < 3e38)
        same = (got == want.astype("float32")) | (np.isnan(got) & np.isnan(want)) | (whole | (np.isfinite(want) & (sizes >= 3e38)))
    assert same.all(), (got[~same], want[~same])
    error = np.abs(got[whole].astype("float64") - want[whole]) / (2.0 ** -23 * sizes[whole] * np.sqrt(terms) + 2.0 ** -140)
    assert error.max() <= 1, error.max()


@cases(*[(d, row) for d in REAL for row in ((16, 64, 56, 64, 3), (12, 128, 30, 160, 3), (8, 96, 41, 64, 2))])
def test_extremes(device, row):
    """What is infinite, no number, nearly too large or tiny in float32 is so in the sums that have it, and in no other."""
    n, c, extent, o, kernel = row
    if not device.startswith("cuda"):
        n, c, o = 4, 32, 32
    rng = np.random.default_rng(15)
    padding, size = 1, extent + 3 - kernel
    x, g = with_extremes(rng, (n, c, extent, extent)), with_extremes(rng, (n, o, size, size))
    w = rng.standard_normal((o, c, kernel, kernel), dtype="float32")
    w[:4] = np.round(w[:4])  # of which there is no lower part

    def places(shape):
        at = np.stack([rng.integers(0, m, 400) for m in shape], 1)
        at[:300, 0] = np.arange(300) % 4
        for axis, middle in ((2, shape[2] // 2), (3, shape[3] // 3)):
            at[:200, axis] = middle + rng.integers(-3, 4, 200)
        at[:100, 1] = np.arange(100) // 4 % 4
        return at

    of_result, of_input = places(g.shape), places(x.shape)
    of_weight = np.array([(o // 2, c // 2), (o // 2, 0), (0, c // 2), (o - 1, c - 1), (o // 3, 1)])
    turned = w.transpose(1, 0, 2, 3)[:, :, ::-1, ::-1]
    with np.errstate(invalid="ignore"):
        sums = (window_sums(x, w, of_result, 1, padding), window_sums(g, turned, of_input, 1, kernel - 1 - padding),
                weight_sums(x, g, of_weight, kernel, 1, padding))
    for order in (lambda a: a, last_of):
        image, weight, grad = (order(from_numpy(a, device)) for a in (x, w, g))
        agrees(host(F.conv2d(image, weight, padding=padding))[tuple(of_result.T)], *sums[0], c * kernel ** 2)
        agrees(host(F.conv2d_input(x.shape, weight, grad, padding=padding))[tuple(of_input.T)], *sums[1], o * kernel ** 2)
        agrees(host(F.conv2d_weight(image, w.shape, grad, padding=padding))[tuple(of_weight.T)], *sums[2], n * size ** 2)


@cases(*[(d, t) for d in DEVICES for t in ("float16", "bfloat16", "float32")])
def test_max_pool_gradients_of_planes(device, dtype):
    """Many planes, whose gradients are added up whole; of integers, which sums keep."""
    rng = np.random.default_rng(12)
    for shape, layout in (((8, 9, 7, 11), "first"), ((8, 9, 7, 11), "last"), ((3, 40, 12, 5), "first")):
        values = rng.permutation(int(np.prod(shape))).reshape(shape) % 101
        x = nd.astype(from_numpy(values.astype("float64"), device), dtype)
        for k, s, p in ((2, 2, 0), (3, 1, 1), (3, 2, 1)):
            y, at = F.max_pool2d(x, k, s, p, return_indices=True)
            g = rng.integers(-4, 5, y.shape)
            positions, want = host(at), np.zeros((*shape[:2], shape[2] * shape[3]))
            for i, c in np.ndindex(*shape[:2]):
                np.add.at(want[i, c], positions[i, c].ravel(), g[i, c].ravel())
            grad = nd.astype(from_numpy(g.astype("float64"), device), dtype)
            got = F.max_pool_grad(last_of(grad) if layout == "last" else grad, at, shape, k, s, p)
            np.testing.assert_array_equal(host(nd.astype(got, nd.float64)), want.reshape(shape))


FLOATS = {"float16": 2.0 ** -11, "bfloat16": 2.0 ** -8, "float32": 2.0 ** -23, "float64": 2.0 ** -52}


def rounded(rng, shape, dtype, device):
    """Random numbers of a dtype, and what they are in float64."""
    x = nd.astype(from_numpy(rng.standard_normal(shape), device), dtype)
    return x, host(nd.astype(x, nd.float64))


@cases(*[(d, t) for d in DEVICES for t in FLOATS])
def test_pools_of_planes(device, dtype):
    """The usual windows over planes of every height, whose rows are whole vectors, against float64; with borders, and NaN in one window."""
    rng = np.random.default_rng(14)
    for height in (1, 2, 3, 4, 5, 6, 7, 9, 14, 17):
        x, x64 = rounded(rng, (2, 3, height, 32), dtype, device)
        x64[1, 2, height // 2, 9] = np.nan
        x[1, 2, height // 2, 9] = np.nan
        for k, s, p in ((2, 2, 0), (3, 1, 1), (3, 2, 1), (5, 1, 2)):
            if height + 2 * p < k:
                continue
            for image, there in ((x, x64), (x[:, 1:], x64[:, 1:])):
                for pool, pad, of in ((F.max_pool2d, -np.inf, np.max), (F.avg_pool2d, 0.0, np.mean)):
                    wide = np.pad(there, ((0, 0), (0, 0), (p, p), (p, p)), constant_values=pad)
                    want = of(np.lib.stride_tricks.sliding_window_view(wide, (k, k), (2, 3))[:, :, ::s, ::s], axis=(4, 5))
                    got = host(nd.astype(pool(image, k, s, p), nd.float64))
                    assert got.shape == want.shape, (got.shape, want.shape)
                    bound = 0 if pool is F.max_pool2d else 8 * FLOATS[dtype]
                    np.testing.assert_allclose(got, want, rtol=bound, atol=bound * 4, err_msg=f"{height} {k} {s} {pool.__name__}")


@cases(*[(d, t) for d in DEVICES for t in FLOATS])
def test_pool_gradients_of_whole_rows(device, dtype):
    """The usual windows over planes of every height, whose rows are whole vectors; gradients are small integers, which sums keep."""
    rng = np.random.default_rng(16)
    for shape in ((2, 3, 8, 32), (2, 3, 7, 32), (1, 2, 3, 64), (2, 2, 2, 16), (2, 3, 17, 48)):
        n, c, height, width = shape
        values = rng.permutation(int(np.prod(shape))).reshape(shape) % 101
        x = nd.astype(from_numpy(values.astype("float64"), device), dtype)
        for k, s, p in ((2, 2, 0), (3, 1, 1), (3, 2, 1), (5, 1, 2)):
            if height + 2 * p < k:
                continue
            y, at = F.max_pool2d(x, k, s, p, return_indices=True)
            g = rng.integers(-4, 5, y.shape)
            grad = nd.astype(from_numpy(g.astype("float64"), device), dtype)
            positions, most = host(at), np.zeros((n, c, height * width))
            for i in np.ndindex(n, c):
                np.add.at(most[i], positions[i].ravel(), g[i].ravel())
            got = host(nd.astype(F.max_pool_grad(grad, at, shape, k, s, p), nd.float64))
            np.testing.assert_array_equal(got, most.reshape(shape), err_msg=f"{shape} {k}")
            mean = np.zeros((n, c, height + 2 * p + 2, width + 2 * p + 2))
            for i, j in np.ndindex(*y.shape[2:]):
                mean[:, :, s * i:s * i + k, s * j:s * j + k] += g[:, :, i, j, None, None] / k ** 2
            got = host(nd.astype(F.avg_pool_grad(grad, shape, k, s, p), nd.float64))
            np.testing.assert_allclose(got, mean[:, :, p:p + height, p:p + width], rtol=2 * FLOATS[dtype], atol=8 * FLOATS[dtype], err_msg=f"{shape} {k}")


def doubled(x, shares, axis):
    """Twice as long along an axis: element 2j has these shares of the elements around j, 2j + 1 their mirror image; those beyond the
    borders are the outermost."""
    n, reach = x.shape[axis], len(shares) // 2
    at = np.arange(n)
    if reach == 0:
        return np.repeat(x, 2, axis)

    def sums(first, by):
        return sum(b * np.take(x, np.clip(at + first + t, 0, n - 1), axis) for t, b in enumerate(by))
    return np.stack([sums(-reach, shares), sums(1 - reach, shares[::-1])], axis + 1).reshape(*x.shape[:axis], 2 * n, *x.shape[axis + 1:])


@cases(*[(d, t) for d in DEVICES for t in FLOATS])
def test_images_become_twice_as_large(device, dtype):
    rng = np.random.default_rng(15)
    cubic = [-0.03515625, 0.26171875, 0.87890625, -0.10546875]  # of Keys with a = -0.75, at distances 1.75, 0.75, 0.25, 1.25
    for height, width in ((1, 8), (2, 16), (3, 8), (7, 24), (4, 8), (5, 6)):
        x, x64 = rounded(rng, (2, 3, height, width), dtype, device)
        for mode, shares in (("nearest", [1.0]), ("bilinear", [0.25, 0.75]), ("bicubic", cubic)):
            for image, there in ((x, x64), (x[:, 1:], x64[:, 1:])):
                want = doubled(doubled(there, shares, 2), shares, 3)
                got = host(nd.astype(F.interpolate(image, scale_factor=2, mode=mode), nd.float64))
                bound = 0 if mode == "nearest" else 16 * FLOATS[dtype]
                np.testing.assert_allclose(got, want, rtol=bound, atol=bound * 4, err_msg=f"{mode} {height} {width}")


def resampled(x, shares, n, axis):
    """n elements of an axis from those around (i + 1/2)*extent/n - 1/2, whose shares are a function of their distance; nearest: None."""
    extent = x.shape[axis]
    i = np.arange(n)
    if shares is None:
        return np.take(x, np.floor(i * (extent / n)).astype(int), axis)
    at = (i + 0.5) * (extent / n) - 0.5
    at = np.maximum(at, 0.0) if shares(1.5) == 0 else at
    want, width = 0.0, 1 if shares(1.5) == 0 else 2
    for t in range(1 - width, width + 1):
        e = np.floor(at).astype(int) + t
        by = np.array([shares(abs(float(v))) for v in at - e])
        want = want + by.reshape([-1 if d == axis else 1 for d in range(x.ndim)]) * np.take(x, np.clip(e, 0, extent - 1), axis)
    return want


def keys(d):
    """Of Keys, with a = -0.75."""
    a = -0.75
    return (a + 2) * d ** 3 - (a + 3) * d ** 2 + 1 if d <= 1 else a * (d ** 3 - 5 * d ** 2 + 8 * d - 4) if d < 2 else 0.0


@cases(*[(d, t) for d in DEVICES for t in FLOATS])
def test_images_of_other_sizes(device, dtype):
    """Planes of rows that are made four elements at a time, several rows of them, against float64."""
    rng = np.random.default_rng(17)
    for (height, width), size in (((5, 7), (9, 12)), ((8, 8), (3, 4)), ((1, 9), (6, 20)), ((13, 6), (14, 16)), ((6, 5), (5, 8))):
        x, x64 = rounded(rng, (2, 3, height, width), dtype, device)
        for mode, shares in (("nearest", None), ("bilinear", lambda d: max(0.0, 1 - d)), ("bicubic", keys)):
            for image, there in ((x, x64), (x[:, 1:], x64[:, 1:])):
                want = resampled(resampled(there, shares, size[0], 2), shares, size[1], 3)
                got = host(nd.astype(F.interpolate(image, size=size, mode=mode), nd.float64))
                bound = 0 if shares is None else 16 * FLOATS[dtype]
                np.testing.assert_allclose(got, want, rtol=bound, atol=bound * 4, err_msg=f"{mode} {height} {width} {size}")


@cases(*[(d, t) for d in DEVICES for t in FLOATS])
def test_gradients_of_images_of_other_sizes(device, dtype):
    """The transposed matrices of both axes, in float64, of which those of images twice as large have known shares."""
    rng = np.random.default_rng(18)
    cubic = [-0.03515625, 0.26171875, 0.87890625, -0.10546875]
    modes = (("nearest", [1.0], None), ("bilinear", [0.25, 0.75], lambda d: max(0.0, 1 - d)), ("bicubic", cubic, keys))
    for (height, width), size in (((1, 8), None), ((2, 16), None), ((3, 8), None), ((7, 24), None), ((5, 6), None), ((5, 7), (9, 12)),
                                  ((8, 8), (3, 4)), ((1, 9), (6, 20)), ((13, 6), (14, 16)), ((6, 5), (5, 8)), ((4, 2), (40, 31))):
        for mode, twice, shares in modes:
            rows, columns = [doubled(np.eye(n), twice, 0) if size is None else resampled(np.eye(n), shares, size[d], 0)
                             for d, n in enumerate((height, width))]
            g, g64 = rounded(rng, (2, 3, len(rows), len(columns)), dtype, device)
            to = {"scale_factor": 2} if size is None else {"size": size}
            for grad, there in ((g, g64), (g[:, 1:], g64[:, 1:])):
                want, most = rows.T @ there @ columns, abs(rows.T) @ abs(there) @ abs(columns)
                got = host(nd.astype(F.interpolate_grad(grad, (2, there.shape[1], height, width), mode=mode, **to), nd.float64))
                over = abs(got - want) / (FLOATS[dtype] * (abs(want) + 2.0 ** -14) + 64 * min(FLOATS[dtype], 2.0 ** -23) * most)
                assert over.max() <= 2, (mode, height, width, size, over.max())


@cases(*DEVICES)
def test_empty_batch(device):
    x, w = nd.zeros((0, 3, 5, 5), device=device), nd.ones((4, 3, 3, 3), device=device)
    y = F.conv2d(x, w)
    assert y.shape == (0, 4, 3, 3) and F.conv2d_input(x.shape, w, y).shape == x.shape
    assert host(F.conv2d_weight(x, w.shape, y)).tolist() == np.zeros((4, 3, 3, 3)).tolist()
    assert F.max_pool2d(x, 2).shape == (0, 3, 2, 2) and F.interpolate(x, size=7).shape == (0, 3, 7, 7)


def test_refused():
    x, w = nd.ones((1, 4, 5, 5)), nd.ones((6, 4, 3, 3))
    for call, kind, text in [
            (lambda: F.conv2d(x, nd.ones((6, 4, 7, 7))), ValueError, "a padding of 1 would be enough"),
            (lambda: F.conv2d(x, w, groups=3), ValueError, "3 groups"),
            (lambda: F.conv2d(x, w, groups=0), ValueError, "at least 1"),
            (lambda: F.conv2d(x, nd.ones((6, 3, 3, 3))), ValueError, "(6, 4)"),
            (lambda: F.conv2d(x, w, stride=0), ValueError, "stride is 0"),
            (lambda: F.conv2d(x, w, stride=-1), ValueError, "stride is -1"),
            (lambda: F.conv2d(x, w, padding=-2), ValueError, "padding is -2"),
            (lambda: F.conv2d(x, w, padding=(1, 2, 3)), ValueError, "3 entries"),
            (lambda: F.conv2d(x, w, padding="full"), ValueError, "'full'"),
            (lambda: F.conv2d(x, w, padding="same", stride=2), ValueError, "stride 2"),
            (lambda: F.conv2d(x, w, nd.ones(5)), ValueError, "5"),
            (lambda: F.conv1d(x, w), ValueError, "rank 4"),
            (lambda: F.conv2d(x[0, 0], w), ValueError, "rank 4, or 3"),
            (lambda: F.conv2d(x + 0j, w), TypeError, "complex128"),
            (lambda: F.conv2d_input((1, 4, 9, 9), w, nd.ones((1, 6, 3, 3))), ValueError, "7"),
            (lambda: F.conv_transpose2d(x, nd.ones((4, 2, 3, 3)), output_padding=1), ValueError, "output_padding 1"),
            (lambda: F.max_pool2d(x, 2, padding=2), ValueError, "at most half"),
            (lambda: F.max_pool2d(x, 6), ValueError, "image has 5"),
            (lambda: F.max_pool2d(x[0, 0], 2), ValueError, "rank 4 or 3"),
            (lambda: F.avg_pool2d(x, 2, divisor_override=0), ValueError, "at least 1"),
            (lambda: F.adaptive_avg_pool2d(x, 0), ValueError, "output is 0"),
            (lambda: F.max_pool_grad(nd.ones((1, 4, 2, 2)), nd.ones((1, 4, 2, 2)), (1, 4, 5, 5), 2), TypeError, "int64"),
            (lambda: F.interpolate(x, size=3, scale_factor=2), ValueError, "alone"),
            (lambda: F.interpolate(x, size=3, mode="linear"), ValueError, "rank 4"),
            (lambda: F.interpolate(x, scale_factor=-1), ValueError, "positive"),
            (lambda: F.fold(nd.ones((1, 8, 5)), (3, 3), 2), ValueError, "4 windows of 4 elements")]:
        with raises(kind, text):
            call()


if __name__ == "__main__":
    main(globals())
