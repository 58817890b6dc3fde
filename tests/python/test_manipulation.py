#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Creation and manipulation functions against NumPy, on random strided views."""
import ndock as nd
from arrays import ALL, DEVICES, INTS, NUMPY, REALS, TOLERANCE, from_numpy, host, np, pair, same
from tap import cases, main, raises

SOME = ("bool", "int16", "float32", "complex128")
SHAPES = [(), (1,), (7,), (3, 4), (2, 3, 5), (0,), (3, 0, 2), (1, 5, 1)]


def each(device, dtypes=SOME, shapes=SHAPES):
    rng = np.random.default_rng(4)
    for dtype in dtypes:
        for shape in shapes:
            yield (rng,) + pair(rng, dtype, shape, device)


@cases(*DEVICES)
def test_creation(device):
    for dtype in ALL:
        d = dict(dtype=dtype, device=device)
        same(nd.zeros((2, 3), **d), np.zeros((2, 3), dtype))
        same(nd.ones((), **d), np.ones((), dtype))
        same(nd.full(4, 1, **d), np.full(4, 1, dtype))
        assert nd.empty((2, 0), **d).shape == (2, 0)
        same(nd.eye(3, **d), np.eye(3, dtype=dtype))
        for k in (-5, -1, 0, 2, 9):
            same(nd.eye(3, 4, k=k, **d), np.eye(3, 4, k, dtype))
        if dtype in INTS + REALS:
            same(nd.arange(2, 11, 3, **d), np.arange(2, 11, 3).astype(dtype))
        if dtype in REALS:
            same(nd.linspace(0, 9, 4, **d), np.linspace(0, 9, 4).astype(dtype))
    same(nd.arange(5, device=device), np.arange(5))
    same(nd.arange(5, 0, -2, device=device), np.arange(5, 0, -2))
    same(nd.arange(0, 1, 0.25, device=device), np.arange(0, 1, 0.25))
    same(nd.arange(5, 2, device=device), np.arange(5, 2))
    same(nd.linspace(1, 2, 7, endpoint=False, device=device), np.linspace(1, 2, 7, endpoint=False), 1e-15)
    same(nd.linspace(1j, 2, 3, device=device), np.linspace(1j, 2, 3), 1e-15)
    for dtype in ("i1", "u2", "i8", "?"):
        same(nd.linspace(-3 if dtype[0] == "i" else 0, 4.5, 11, dtype=dtype, device=device),
             np.linspace(-3 if dtype[0] == "i" else 0, 4.5, 11, dtype=dtype))
    for n in (0, 1):
        same(nd.linspace(3, 4, n, device=device), np.linspace(3, 4, n))


def test_default_dtypes():
    for value, dtype in [(True, "bool"), (1, "int64"), (1.0, "float64"), (1j, "complex128")]:
        assert nd.full((), value).dtype == dtype
    for f in (nd.zeros, nd.ones, nd.empty):
        assert f(1).dtype == nd.float64
    assert nd.arange(3).dtype == nd.int64 and nd.arange(3.0).dtype == nd.float64
    assert nd.linspace(0, 1, 2).dtype == nd.float64 and nd.eye(1).dtype == nd.float64
    with raises(ValueError):
        nd.zeros((-1,))
    with raises(OverflowError):
        nd.full(3, 300, dtype=nd.int8)
    with raises(TypeError):
        nd.zeros((1.5,))


def test_arguments_of_filled_arrays():
    """What a function written in Python would say of wrong arguments, empty, full, ones and zeros say too."""
    for f in (nd.zeros, nd.ones, nd.empty):
        name = f.__name__
        assert f(shape=(2, 3), dtype="f4", device="cpu:0").shape == f((2, 3)).shape == (2, 3)
        with raises(TypeError, f"{name}() needs shape"):
            f(dtype="f4")
        with raises(TypeError, f"{name}() takes 1 positional arguments, not 2", "dtype= and device= go by name"):
            f(2, nd.float32)
        with raises(TypeError, f"{name}() has no argument 'order'", "shape, dtype= and device="):
            f(2, order="C")
        with raises(TypeError, f"{name}() has no argument 'fill_value'"):
            f(2, fill_value=1)
        with raises(TypeError, f"{name}(): shape is given twice"):
            f(2, shape=2)
        with raises(TypeError, "shape is an int or a sequence of ints"):
            f(None)
        with raises(ValueError, "extent -1 of axis 0 is negative"):
            f(-1)
        with raises(ValueError, "nosuch"):
            f(1, device="nosuch")
    same(nd.full(fill_value=3, shape=2, dtype=None, device=None), np.full(2, 3))
    with raises(TypeError, "full() needs fill_value"):
        nd.full(2)
    with raises(TypeError, "None is neither a Python scalar"):  # not elements that are unset
        nd.full(2, None)
    with raises(TypeError, "None is neither a Python scalar"):
        nd.ones(1).new_full(2, None)


@cases(*DEVICES)
def test_fills_of_all_lengths(device):
    """Short runs are written otherwise than long ones; the bytes behind them are left alone."""
    for dtype in ("int8", "float16", "float32", "float64", "complex128"):
        for n in (0, 1, 2, 3, 7, 15, 16, 17, 31, 33, 63, 64, 65, 255, 256, 257, 300):
            ours, theirs = nd.zeros(n + 2, dtype=dtype, device=device), np.zeros(n + 2, dtype)
            ours[1:n + 1] = theirs[1:n + 1] = 3
            same(ours, theirs)
            same(nd.full(n, 5, dtype=dtype, device=device), np.full(n, 5, dtype))


@cases(*DEVICES)
def test_like(device):
    for rng, x, y in each(device):
        same(nd.zeros_like(y), np.zeros(x.shape, x.dtype))
        same(nd.ones_like(y, dtype=nd.uint8), np.ones(x.shape, "uint8"))
        same(nd.full_like(y, 1), np.full(x.shape, 1, x.dtype))
        other = nd.empty_like(y, device="cpu" if device != "cpu" else "sim:0")
        assert other.shape == x.shape and other.dtype.name == x.dtype.name and other.device != y.device


@cases(*DEVICES)
def test_triangles(device):
    for rng, x, y in each(device, SOME, [(3, 4), (2, 5, 3), (0, 3), (1, 1)]):
        for k in (-3, -1, 0, 1, 7, 2**70, -2**70):
            near = max(-9, min(k, 9))
            same(nd.tril(y, k=k), np.tril(x, near))
            same(nd.triu(y, k=k), np.triu(x, near))
            same(nd.eye(2, 3, k=k, device=device), np.eye(2, 3, near))
    with raises(ValueError):
        nd.tril(nd.ones(3))


@cases(*DEVICES)
def test_meshgrid(device):
    x, y = pair(np.random.default_rng(0), "int32", (3,), device)
    p, q = pair(np.random.default_rng(1), "float32", (4,), device)
    for indexing in ("xy", "ij"):
        got = nd.meshgrid(y, q, y, indexing=indexing)
        assert type(got) is tuple
        for g, w in zip(got, np.meshgrid(x, p, x, indexing=indexing), strict=True):
            same(g, w)
    assert nd.meshgrid() == ()
    with raises(ValueError, "ji"):
        nd.meshgrid(y, indexing="ji")


@cases(*DEVICES)
def test_views_of_shape(device):
    for rng, x, y in each(device):
        axes = [int(a) for a in rng.permutation(x.ndim)]
        same(nd.permute_dims(y, axes), np.transpose(x, axes))
        same(nd.permute_dims(y, [a - x.ndim for a in axes]), np.transpose(x, axes))
        same(nd.flip(y), np.flip(x))
        for a in range(-x.ndim, x.ndim):
            same(nd.flip(y, axis=a), np.flip(x, a))
            same(nd.moveaxis(y, a, 0), np.moveaxis(x, a, 0))
        same(nd.flip(y, axis=tuple(axes)), np.flip(x, tuple(axes)))
        same(nd.moveaxis(y, axes, list(range(x.ndim))), np.moveaxis(x, axes, list(range(x.ndim))))
        for a in range(-x.ndim - 1, x.ndim + 1):
            same(nd.expand_dims(y, a), np.expand_dims(x, a))
        same(nd.expand_dims(y, (0, -1)), np.expand_dims(x, (0, -1)))
        same(nd.squeeze(y), np.squeeze(x))
        ones = tuple(a for a, n in enumerate(x.shape) if n == 1)
        same(nd.squeeze(y, ones), np.squeeze(x, ones))
        if x.ndim > 1:
            same(nd.matrix_transpose(y), np.swapaxes(x, -1, -2))
        for shape in (x.shape, (2,) + x.shape):
            same(nd.broadcast_to(y, shape), np.broadcast_to(x, shape))
    with raises(ValueError):
        nd.squeeze(nd.ones((2, 1)), 0)
    with raises(IndexError):
        nd.expand_dims(nd.ones((2, 1)), 3)
    with raises(ValueError):
        nd.broadcast_to(nd.ones(3), (4,))
    with raises(IndexError):
        nd.permute_dims(nd.ones((2, 1)), (0, 2))


@cases(*DEVICES)
def test_reshape(device):
    for rng, x, y in each(device):
        shapes = [(-1,), (x.size,), (1, x.size), x.shape] if x.size else [(0,), (2, 0), x.shape]
        for shape in shapes:
            same(nd.reshape(y, shape), np.reshape(x, shape))
            same(nd.reshape(y, shape, copy=True), np.reshape(x, shape))
    x = nd.arange(6, device=device)
    assert nd.reshape(x, (2, 3), copy=False).shape == (2, 3)
    with raises(ValueError):
        nd.reshape(nd.matrix_transpose(nd.reshape(x, (2, 3))), (6,), copy=False)
    with raises(ValueError):
        nd.reshape(x, (4,))
    with raises(ValueError):
        nd.reshape(x, (-1, -1))


def test_a_copy_is_one():
    x = nd.zeros(4)
    shared, own = nd.reshape(x, (2, 2)), nd.reshape(x, (2, 2), copy=True)
    x += 1
    same(shared, np.ones((2, 2)))
    same(own, np.zeros((2, 2)))
    assert nd.astype(x, nd.float64, copy=False) is x
    copied = nd.astype(x, nd.float64)
    x += 1
    same(copied, np.ones(4))


@cases(*DEVICES)
def test_concat_stack_unstack(device):
    rng = np.random.default_rng(9)
    for dtypes in [("int8", "int32"), ("float32", "float64"), ("bool", "bool"), ("complex64", "float64")]:
        for shape in [(3,), (2, 3), (0, 2), (2, 3, 4)]:
            (a, p), (b, q) = (pair(rng, d, shape, device) for d in dtypes)
            for axis in range(-len(shape), len(shape)):
                same(nd.concat([p, q, p], axis=axis), np.concatenate([a, b, a], axis))
                same(nd.stack((p, q), axis=axis), np.stack((a, b), axis))
                views = nd.unstack(p, axis=axis)
                assert type(views) is tuple and len(views) == shape[axis]
                for i, v in enumerate(views):
                    same(v, np.take(a, i, axis))
            same(nd.stack((p, q), axis=len(shape)), np.stack((a, b), len(shape)))
            same(nd.concat([p, q], axis=None), np.concatenate([a, b], None))
    with raises(ValueError):
        nd.concat([])
    with raises(ValueError):
        nd.stack([nd.ones(2), nd.ones(3)])
    with raises(IndexError):
        nd.concat([nd.ones(2)], axis=1)
    with raises(TypeError):
        nd.concat([nd.ones(2), 1.0])


@cases(*DEVICES)
def test_repeat_and_tile(device):
    for rng, x, y in each(device):
        for n in (0, 1, 3):
            same(nd.repeat(y, n), np.repeat(x, n))
            for axis in range(-x.ndim, x.ndim):
                same(nd.repeat(y, n, axis=axis), np.repeat(x, n, axis))
        for axis in range(x.ndim):
            counts = rng.integers(0, 4, x.shape[axis])
            same(nd.repeat(y, from_numpy(counts, device), axis=axis), np.repeat(x, counts, axis))
            counts[len(counts) // 2:] = 0  # the last ones end where the result does
            same(nd.repeat(y, from_numpy(counts, device), axis=axis), np.repeat(x, counts, axis))
        for reps in [(), (2,), (2, 1), (1, 2, 3), (0, 2)]:
            same(nd.tile(y, reps), np.tile(x, reps))


@cases(*DEVICES)
def test_repeat_of_the_elements_of_a_line(device):
    """Counts around a vector and a block of a GPU, elements of 1 to 16 bytes, lines that begin anywhere and fill no whole number of blocks."""
    for dtype in ("uint8", "float16", "float32", "float64", "complex128"):
        for n in (1, 17, 1000, 4099):
            for first in (0, 1, 2):
                x = np.arange(first + n).astype(dtype)
                y = from_numpy(x, device)[first:]
                for count in (2, 3, 5, 7, 16, 100, 1024, 1500):
                    if count * n < 40000:
                        same(nd.repeat(y, count), np.repeat(x[first:], count))


@cases(*DEVICES)
def test_roll(device):
    for rng, x, y in each(device):
        for shift in (0, 1, -2, 100):
            same(nd.roll(y, shift), np.roll(x, shift))
            for axis in range(-x.ndim, x.ndim):
                same(nd.roll(y, shift, axis=axis), np.roll(x, shift, axis))
        if x.ndim > 1:
            same(nd.roll(y, (1, -2), axis=(0, 1)), np.roll(x, (1, -2), (0, 1)))
            same(nd.roll(y, 1, axis=(0, 1)), np.roll(x, 1, (0, 1)))
    with raises(ValueError, "2 shifts"):
        nd.roll(nd.ones((2, 2)), (1, 2), axis=(0,))


def padded(x, width, mode):
    """np.pad; but NumPy before 1.25 wraps wrongly where a width exceeds the extent (its release notes): by indices there."""
    if mode != "wrap" or NUMPY >= (1, 25):
        return np.pad(x, width, mode)
    for axis, (before, after) in enumerate(np.broadcast_to(width, (x.ndim, 2))):
        x = np.take(x, np.arange(-before, x.shape[axis] + after) % x.shape[axis], axis=axis)
    return x


@cases(*DEVICES)
def test_pad(device):
    for rng, x, y in each(device, SOME, [(3,), (3, 4), (2, 3, 4)]):
        for width in [0, 2, (1, 3), [(1, 2)] * x.ndim]:
            same(nd.pad(y, width), np.pad(x, width))
            same(nd.pad(y, width, constant_values=1), np.pad(x, width, constant_values=1))
            for mode in ("edge", "reflect", "wrap"):
                same(nd.pad(y, width, mode=mode), padded(x, width, mode))
    with raises(ValueError, "mirror"):
        nd.pad(y, 1, mode="mirror")
    with raises(ValueError, "pairs"):
        nd.pad(y, [(1, 1), (1, 1)])


def test_broadcast_shapes_and_arrays():
    assert nd.broadcast_shapes() == ()
    assert nd.broadcast_shapes((3, 1), (1, 4), ()) == (3, 4)
    assert nd.broadcast_shapes((0, 1), (1, 4)) == (0, 4)
    with raises(ValueError):
        nd.broadcast_shapes((3,), (4,))
    got = nd.broadcast_arrays(nd.ones((3, 1)), nd.zeros((4,), dtype=nd.int8))
    assert type(got) is tuple and [g.shape for g in got] == [(3, 4), (3, 4)] and got[1].dtype == nd.int8
    assert nd.broadcast_arrays() == ()


@cases(*DEVICES)
def test_astype(device):
    for rng, x, y in each(device, ALL, [(7,), (2, 3)]):
        for to in ALL:
            if x.dtype.kind == "c" and to not in ("bool", "complex64", "complex128"):
                with raises(TypeError):
                    nd.astype(y, to)
                continue
            if x.dtype.kind in "if" and to.startswith("u"):
                continue  # negative values: the implementation's choice
            same(nd.astype(y, to), x.astype(to), TOLERANCE.get(to, 0))
    other = nd.astype(y, nd.complex128, device="cpu")
    assert other.device == "cpu:0"
    same(other, x.astype("complex128"))


if __name__ == "__main__":
    main(globals())
