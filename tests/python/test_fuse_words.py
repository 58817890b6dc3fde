# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""fuse of one floating dtype of at most 32 bits, whose kernels cuda assembles itself: the bits of each operation by itself, of dense
operands of any length and place, and of rows of any shape."""
import os

import numpy as np

import ndock as nd
from tap import cases, main
from test_fuse import bits

DEVICES = os.environ.get("NDOCK_TEST_DEVICES", "cpu sim:0").split()
DTYPES = ("float32", "float16", "bfloat16")
UNARY = """positive negative abs sign square reciprocal sqrt exp expm1 log log1p log2 log10 asin acos atan sinh cosh tanh asinh acosh
atanh floor ceil trunc round real conj imag erf relu sigmoid silu gelu gelu_tanh cbrt exp2 exp10 sinc deg2rad rad2deg softplus mish
hardswish hardsigmoid entr sin cos""".split()
BINARY = """add subtract multiply divide floor_divide remainder atan2 hypot copysign nextafter maximum minimum fmod heaviside xlogy
xlog1py elu leaky_relu celu logaddexp""".split()
COMPARISONS = "equal not_equal less less_equal greater greater_equal logical_and logical_or logical_xor".split()
rng = np.random.default_rng(77)
SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, -np.nan, 1e-45, -1e-45, 3e-39, 6e-8, 65504, 3.4e38, 1.0, -1.0, 0.5, -3.0, 1e-20, 1e20, 88.8, -104.0]


def numbers(n, dtype, device, scale=3.0):
    """Special values, numbers of any size, and everyday ones."""
    x = scale * rng.standard_normal(n).astype("float32")
    x[n // 2:] = rng.integers(0, 2**32, n - n // 2, dtype=np.uint32).view("float32")
    k = min(n, len(SPECIAL))
    x[rng.permutation(n)[:k]] = np.array(SPECIAL[:k], dtype="float32")
    return nd.asarray(x).astype(dtype).to_device(device)


def words(x):
    """Its bits; on the CPU any NaN counts as any other, since which of two operands' a sum has depends on the compiler's order."""
    if str(x.device).startswith("cuda"):
        return bits(x)
    x = x.astype("float64")
    return bits(nd.where(nd.isnan(x), float("nan"), x))


def differs(function, *args):
    """What of the fused function's bits is not the function's; of the first call, which is traced, and the next."""
    fused, wrong = nd.fuse(function), []
    for i in range(2):
        got, want = fused(*args), function(*args)
        got, want = (got, want) if isinstance(got, tuple) else ((got,), (want,))
        wrong += [i for g, w in zip(got, want) if words(g) != words(w)]
    assert not fused.fused_reason, fused.fused_reason
    return wrong


def check(functions, *args):
    """All of them, so that one run tells every one that differs."""
    wrong = [name for name, f in functions.items() if differs(f, *args)]
    assert not wrong, wrong


@cases(*[(device, dtype) for device in DEVICES for dtype in DTYPES])
def test_each_operation(device, dtype):
    a, b = numbers(4096, dtype, device), numbers(4096, dtype, device)
    unary = {name: (lambda x, y, f=getattr(nd, name): f(x) + y) for name in UNARY}
    binary = {name: (lambda x, y, f=getattr(nd, name): f(x, y)) for name in BINARY}
    check({**unary, **binary, "clip": lambda x, y: nd.clip(x, y, y), "fma": lambda x, y: nd.fma(x, y, x)}, a, b)


@cases(*[(device, dtype) for device in DEVICES for dtype in DTYPES])
def test_choices(device, dtype):
    a, b = numbers(2048, dtype, device), numbers(2048, dtype, device)
    check({name: (lambda x, y, f=getattr(nd, name): nd.where(f(x, y), x * y, x - 2)) for name in COMPARISONS}, a, b)
    check({name: (lambda x, y, f=getattr(nd, name): nd.where(f(x), y, x + 1)) for name in ("isnan", "isinf", "isfinite", "signbit")}, a, b)


@cases(*[(device, dtype) for device in DEVICES for dtype in DTYPES])
def test_lengths_and_places(device, dtype):
    """Whole words of 16 bytes, and what is left of the last one; operands that lie beside such words."""
    for n in (1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 1023, 1024, 1025, 2047, 2048, 2049, 70000, 70001):
        a, b = numbers(n + 3, dtype, device), numbers(n + 3, dtype, device)
        for skip in (0, 1, 2, 3):
            x, y = a[skip: n + skip], b[:n]
            wrong = differs(lambda x, y: (nd.tanh(x * y + 1.5), 2.5 * x - y), x, y)
            assert not wrong, (n, skip, wrong)


@cases(*[(device, dtype) for device in DEVICES for dtype in DTYPES])
def test_strided(device, dtype):
    """Broadcast, turned and cut operands of one to five dimensions; results that are written in their order."""
    for shape in ((5,), (300,), (7, 41), (33, 64), (3, 5, 7), (2, 3, 5, 7), (2, 2, 3, 4, 70), (2, 3, 2, 3, 2, 3, 5)):
        x = numbers(int(np.prod(shape)) * 2, dtype, device).reshape(shape[:-1] + (2 * shape[-1],))
        row, column, turned = x[..., :1], x[..., ::2], numbers(int(np.prod(shape)), dtype, device).reshape(shape[::-1])
        turned = nd.permute_dims(turned, tuple(range(len(shape)))[::-1])
        check({"both": lambda x, y, z: (x * y + 0.5 - z, nd.maximum(x, z))}, column, row, turned)
        check({"last": lambda x, y, z: nd.where(x > y, z, y)}, column, x[..., -1:], column[..., ::-1])


def softmax(x):
    e = nd.exp(x - nd.max(x, axis=-1, keepdims=True))
    return e / nd.sum(e, axis=-1, keepdims=True)


def layer_norm(x):
    c = x - nd.mean(x, axis=-1, keepdims=True)
    return c / nd.sqrt(nd.mean(c * c, axis=-1, keepdims=True) + 1e-5)


def everything(x, row):
    """A value for each row as an operand and as a result, an input as it is, extremes of what is made, three walks."""
    s = x * row + nd.min(x, axis=-1, keepdims=True)
    t = nd.abs(s) - nd.max(s, axis=-1, keepdims=True)
    return t, nd.sum(t, axis=-1), row + nd.mean(x, axis=-1, keepdims=True), s / row


@cases(*[(device, dtype) for device in DEVICES for dtype in DTYPES])
def test_rows(device, dtype):
    """Rows that a few lanes have, a warp, a block; of one dimension before them and of three; many rows and few."""
    for shape in ((1, 1024), (5, 64), (300, 8), (37, 16), (64, 96), (1000, 256), (7, 4096), (3, 5, 512), (2, 3, 4, 264), (2, 16384), (3, 1000)):
        x = numbers(int(np.prod(shape)), dtype, device).reshape(shape)
        tame = nd.asarray(rng.standard_normal(shape).astype("float32")).astype(dtype).to_device(device)
        row = nd.asarray((rng.random(shape[:-1] + (1,)) + 0.5).astype("float32")).astype(dtype).to_device(device)
        for name, function, args in (("softmax", softmax, (tame,)), ("layer norm", layer_norm, (tame,)), ("everything", everything, (tame, row)),
                                     ("softmax of any", softmax, (x,)), ("extremes", lambda x: (nd.max(x, axis=-1), nd.min(x, axis=-1)), (x,)),
                                     ("largest", lambda x: x - nd.max(x, axis=-1, keepdims=True), (x,)),
                                     ("sums", lambda x: (nd.sum(x * x, axis=-1), nd.mean(x, axis=-1)), (x,))):
            wrong = differs(function, *args)
            assert not wrong, (name, shape, wrong)


@cases(*[(device, dtype) for device in DEVICES for dtype in DTYPES])
def test_rows_of_views(device, dtype):
    """Rows of every second matrix, in another order, and one value a row of every third."""
    x = nd.asarray(rng.standard_normal((6, 10, 512)).astype("float32")).astype(dtype).to_device(device)
    row = nd.asarray(rng.standard_normal((6, 10, 3)).astype("float32")).astype(dtype).to_device(device)
    check({"softmax": softmax, "layer norm": layer_norm}, x[::2])
    check({"turned": lambda x, row: everything(x, row)}, nd.permute_dims(x, (1, 0, 2)), nd.permute_dims(row, (1, 0, 2))[:, :, 1:2])


if __name__ == "__main__":
    nd.set_default_device("cpu")
    main(globals())
