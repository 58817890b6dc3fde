#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a user of NumPy, CuPy or PyTorch writes first: each idiom works with the value that NumPy gives, or is refused with
the sentence that says what to write. `test_idioms.py --table` prints them all.

The idioms are our own list, along NumPy's quickstart, its pages for absolute beginners, on indexing, creation, broadcasting
and random sampling, and along the first pages of CuPy's and PyTorch's documentation. xp is numpy or ndock; a, f, m, b, z
are arrays: integers (2, 3), floats (3,), floats (3, 3), truth values (2, 3), complex (2,)."""
import sys

import ndock as nd
from tap import Skip, cases, main

try:
    import numpy as np
except ImportError:
    np = None

# Expressions whose value is NumPy's.
SAME = """
xp.array([1, 2, 3, 4])
xp.array([1.2, 3.5, 5.1]).dtype.name
xp.array([(1.5, 2, 3), (4, 5, 6)])
xp.array([[1, 2], [3, 4]], dtype=complex)
xp.array([1, 2], dtype='i4')
xp.array([1, 2], dtype='i8').itemsize
xp.array([1, 2], dtype='u8').dtype.name
xp.array([1, 2], dtype='<f4').dtype.name
xp.array([1, 0], dtype='?')
xp.array([1, 2], dtype=float)
xp.array([1, 2], dtype=xp.int8).nbytes
xp.array([1, 2], 'c16') if xp is np else xp.array([1, 2], dtype='c16')
xp.asarray([1, 2, 3]) is not None
xp.asarray(range(4))
xp.asarray(3.5)
xp.asarray(((1, 2), (3, 4)))
xp.zeros((3, 4))
xp.zeros(3, dtype=int)
xp.ones((2, 3, 4), dtype=xp.int16)
xp.full((2, 2), 7)
xp.full(3, xp.pi)
xp.full_like(f, 2.5)
xp.full((2,), f[0])
xp.zeros_like(a)
xp.ones_like(f)
xp.empty((2, 3)).shape
xp.eye(3)
xp.eye(2, 3)
xp.eye(3, k=1)
xp.arange(10, 30, 5)
xp.arange(0, 2, 0.3)
xp.arange(f[1], f[2])
xp.linspace(0, 2, 9)
xp.linspace(0, 2 * xp.pi, 5)
xp.linspace(f[0], f[2], 3)
xp.meshgrid(xp.arange(2), xp.arange(3))[0]
xp.tril(m)
xp.triu(m, k=1)
a.ndim
a.shape
a.size
a.dtype.name
a.itemsize
a.nbytes
len(a)
a.T
m.mT
a.astype(float)
a.astype('float32').dtype.name
a.astype(bool)
f.astype(int)
a.reshape(3, 2)
a.reshape((3, 2))
a.reshape(3, -1)
a.reshape(-1)
a.ravel()
a.flatten()
a.transpose()
a.transpose(1, 0)
xp.transpose(a)
xp.reshape(a, (6,))
a[:, xp.newaxis].shape
a[None].shape
xp.expand_dims(f, axis=0).shape
xp.squeeze(f[None, :, None]) if xp is np else xp.squeeze(f[None, :, None], axis=(0, 2))
f[None].squeeze()
a.swapaxes(0, 1)
xp.moveaxis(a, 0, 1)
xp.flip(a)
xp.flip(a, axis=1)
xp.roll(a, 1)
xp.roll(a, 1, axis=0)
xp.tile(f, (2,))
xp.repeat(f, 2)
a.repeat(2, axis=1)
xp.concat([a, a]) if hasattr(xp, 'concat') else xp.concatenate([a, a])
xp.concat([a, a], axis=1) if hasattr(xp, 'concat') else xp.concatenate([a, a], axis=1)
xp.stack([f, f])
xp.stack((f, f), axis=1)
xp.broadcast_to(f, (2, 3))
f - xp.array([1, 1, 1])
f + 1
1 - f
2 ** a
a ** 2
f ** -1.0
f / 2
a / 2
a // 2
a % 4
divmod(a, 4)[1]
-a
abs(-f)
f * [1, 2, 3]
[1, 2, 3] + f
a == [0, 1, 2]
a != a
a < 3
(a > 1) & (a < 5)
~b
b | (a > 4)
m @ m
m @ f
m @ [1, 0, 0]
m.dot(f)
f.dot(f)
f.dot(2)
xp.matmul(m, m)
xp.tensordot(m, m, axes=1)
xp.vecdot(f, f) if hasattr(xp, 'vecdot') else (f * f).sum()
xp.sin(f)
xp.exp(f)
xp.sqrt(f)
xp.add(f, f)
xp.maximum(f, [1, 1, 1])
xp.minimum(a, 3) if xp is np else xp.minimum(a, 3)
xp.where(a > 2, a, 0)
xp.where(b, a, -a)
xp.clip(a, 1, 4)
a.clip(1, 4)
f.clip(0.5)
f.round()
(f * 1.234).round(2)
xp.round(f)
a.sum()
a.sum(0)
a.sum(axis=1)
a.sum(1, keepdims=True)
a.sum(axis=(0, 1))
f.mean()
a.mean(0)
m.std()
m.std(0)
m.std(ddof=1)
m.var(axis=1)
a.min()
a.max(1)
a.prod()
a.cumsum()
a.cumsum(axis=1)
f.cumprod()
a.argmax()
a.argmin(1)
b.any()
b.all(0)
xp.any(a > 4)
xp.all(a >= 0)
xp.sum(a, axis=0)
xp.mean(f)
xp.count_nonzero(a)
xp.diff(f)
sorted(f.tolist())
xp.sort(f)
xp.argsort(-f)
f.argsort()
xp.searchsorted(f, 1.0)
f.searchsorted([0.5, 1.5])
xp.nonzero(a)[0]
b.nonzero()[1]
xp.take(f, [0, 2])
xp.take(a, [0, 2], axis=1)
a.take([0, 5])
a[1]
a[1, 2]
a[-1]
a[:, 1]
a[0, 1:3]
a[::-1]
a[..., 0]
a[b]
a[a > 2]
a[[1, 0]]
a[[0, 1], [2, 0]]
a[xp.array([0, 0])]
a[:, [0, 2]]
(lambda c: (c.__setitem__((0, 0), 9), c)[1])(a.copy())
(lambda c: (c.__setitem__(c > 2, 0), c)[1])(a.copy())
(lambda c: (c.__setitem__([0, 1], 5), c)[1])(a.copy())
(lambda c: (c.fill(3), c)[1])(a.copy())
(lambda c: (c.sort(), c)[1])(f[::-1].copy())
(lambda c: c.__iadd__(1))(a.copy())
(lambda c: c.__imul__(2))(f.copy())
[row.tolist() for row in a]
[int(v) for v in a[0]]
2 in a
a.tolist()
f.item(1)
f[1].item()
float(f[1])
int(a[1, 1])
bool(a[0, 1])
a.copy()
a.diagonal()
m.trace()
m.trace(1)
z.real
z.imag
z.conj()
z.conjugate()
f.real
xp.real(z)
xp.conj(z)
xp.abs(z)
xp.isnan(f)
xp.isfinite(f / xp.array([0.0, 1.0, 2.0]))
xp.absolute(-f)
xp.power(f, 2)
xp.arctan2(f, f)
xp.mod(a, 4)
xp.true_divide(a, 2)
xp.invert(b)
xp.bitwise_not(a)
xp.rint(f)
xp.amax(a)
xp.isin(a, [1, 4])
xp.sort(xp.unique_values(a) if hasattr(xp, 'unique_values') else xp.unique(a))
xp.finfo(xp.float32).eps == 2.0**-23
xp.iinfo(xp.int16).max
xp.result_type(xp.int8, xp.int16).name
xp.can_cast(xp.int8, xp.int16)
xp.float64(3).dtype.name if xp is np else xp.asarray(3, dtype=xp.float64).dtype.name
(a == a.copy()).all()
xp.inf > 1
str(xp.arange(3))
str(xp.zeros((2, 2)))
xp.random.default_rng(0).normal(0, 1, 5).shape
xp.random.normal(0, 1, 5).shape
xp.random.normal(size=(2, 3)).shape
xp.random.uniform(-1, 1, (4,)).shape
xp.random.default_rng(1).integers(0, 10, 3).shape
xp.random.default_rng(1).random((2, 2)).shape
xp.random.default_rng(1).standard_normal(3).shape
memoryview(a).shape
a.tobytes()
"""

# Expressions of PyTorch, CuPy and of ndock alone, and their values.
GIVES = [
    ("nd.asarray(np.ones(3)).numpy().sum()", 3.0),
    ("np.asarray(nd.ones(3)).tolist()", [1.0, 1.0, 1.0]),
    ("np.dtype(nd.float64).name if np.lib.NumpyVersion(np.__version__) >= '2.4.0' else 'float64'", "float64"),
    ("a.device == 'cpu'", True), ("a.device == nd.Device('cpu:0')", True), ("a.device == 'cpu:0'", True),
    ("a.device != 'cuda'", True), ("str(a.to('cpu').device)", "cpu:0"), ("a.to(nd.float32).dtype.name", "float32"),
    ("a.to('cpu', non_blocking=True).tolist()", [[0, 1, 2], [3, 4, 5]]), ("a.to(f).dtype.name", "float64"),
    ("a.cpu() is a", True), ("a.numel()", 6), ("a.dim()", 2), ("a.unsqueeze(0).shape", (1, 2, 3)),
    ("a.permute(1, 0).shape", (3, 2)), ("a.contiguous() is a", True), ("a.clone().tolist()", [[0, 1, 2], [3, 4, 5]]),
    ("a.new_zeros(2, 3).tolist()", [[0, 0, 0], [0, 0, 0]]), ("a.new_ones((2,)).dtype.name", "int64"),
    ("a.new_full((2,), 7).tolist()", [7, 7]), ("a.new_empty(4).shape", (4,)), ("a.pin_memory().tolist()", [[0, 1, 2], [3, 4, 5]]),
    ("a.is_contiguous()", True), ("a.T.is_contiguous()", False), ("np.ones(3) + nd.ones(3) == 2", [True] * 3),
    ("nd.asarray([1.0, 2.0]) * np.asarray([3.0, 4.0])", [3.0, 8.0]), ("nd.asarray(a, device='cpu') is a", True),
    ("nd.float32 == 'f4'", True), ("nd.int64 == np.dtype('int64')", True), ("nd.is_available('cuda') in (True, False)", True),
    ("nd.synchronize()", None), ("nd.random.seed(3).normal(size=2).shape", (2,)), ("nd.memory.memory_summary()[:1]", "|"),
    ("z.real.readonly", True), ("nd.from_dlpack(np.ones(2)).tolist()", [1.0, 1.0]), ("hasattr(nd, 'linalg')", True),
    ("hasattr(a, 'flags')", False), ("sorted(n for n in dir(a) if n == 'ctypes')", []),
]

# What is refused: the expression, the exception, and what its message says.
REFUSED = [
    ("nd.concatenate([a, a])", AttributeError, "use nd.concat"),
    ("nd.cumsum(a)", AttributeError, "nd.cumulative_sum"),
    ("nd.tensor([1])", AttributeError, "nd.asarray"),
    ("nd.cat([a, a])", AttributeError, "nd.concat"), ("nd.from_numpy(1)", AttributeError, "nd.asarray"),
    ("nd.array([1], dtype=object)", TypeError, "no dtype"), ("nd.array(['a'])", TypeError, ""),
    ("nd.zeros(3, dtype='f32')", TypeError, "'float32'"), ("nd.zeros(3, dtype='>f4')", TypeError, "big-endian"),
    ("nd.zeros(3, dtype='f16')", TypeError, "float16"), ("nd.zeros(3, dtype='datetime64')", TypeError, "no dtype"),
    ("nd.random.normal((2, 3))", TypeError, "size=(2, 3)"), ("nd.random.uniform(5)", ValueError, "size=n"),
    ("nd.random.rand(2, 3)", AttributeError, "uniform(size=shape)"), ("nd.random.randn(2)", AttributeError, "normal(size=shape)"),
    ("nd.random.vonmises(0, 1)", AttributeError, "not in this version"), ("a ** -1", ValueError, "negative integer powers"),
    ("a ** nd.asarray([1, -1, 0])", ValueError, "x.astype(float)"), ("bool(a)", ValueError, "nd"),
    ("float(f)", TypeError, "item()"), ("a[5]", IndexError, "5"), ("a[0, 0, 0]", IndexError, ""), ("a[1.5]", IndexError, ""),
    ("a + nd.ones(4)", ValueError, "shape"), ("a.reshape(4, 2)", ValueError, "shape"), ("nd.sum([1, 2])", TypeError, "ndock.asarray"),
    ("nd.add(1, 2)", TypeError, "at least one ndock.Array"), ("a.view(nd.int32)", AttributeError, "reshape"),
    ("a.flags", AttributeError, "is_contiguous"), ("a.cuda()", AttributeError, "x.to('cuda')"), ("a.get()", AttributeError, "x.cpu().numpy()"),
    ("a.float()", AttributeError, "astype"), ("a.backward()", AttributeError, "no gradients"), ("a.add_(1)", AttributeError, "x += y"),
    ("a.ctypes", AttributeError, "nd.ptr_info"), ("a.base", AttributeError, ""), ("a.resize(3)", AttributeError, "x.reshape"),
    ("a.astype(nd.float32, casting='safe')", TypeError, "casting"), ("nd.zeros((2, -1))", ValueError, "-1"),
    ("f.real.fill(1) if f.readonly else z.real.fill(1)", (ValueError, BufferError), "read-only"),
    ("a.__iadd__(f)", TypeError, "destination of int64"), ("f.__iadd__(m)", ValueError, "the destination, argument 2,"), ("nd.asarray([[1, 2], [3]])", ValueError, ""),
    ("z < z", TypeError, "complex"), ("nd.zeros(2).to('cuda:99')", (ValueError, RuntimeError), "cuda"),
    ("nd.object_", AttributeError, "stay with NumPy"), ("nd.errstate", AttributeError, "IEEE 754"), ("nd.no_grad", AttributeError, "gradients"),
    ("nd.asarray(3) @ nd.asarray(4)", ValueError, "nd"), ("z.astype(float)", TypeError, "real"), ("len(nd.asarray(3))", TypeError, "axes"),
]


def names(xp):
    return {"xp": xp, "nd": nd, "np": np, "a": xp.reshape(xp.arange(6), (2, 3)), "f": xp.asarray([0.5, 1.0, 1.5]),
            "m": xp.reshape(xp.asarray([2.0, 0.0, 1.0, 3.0, 1.0, 4.0, 0.5, 6.0, 2.0]), (3, 3)),
            "b": xp.asarray([[True, False, True], [False, False, True]]), "z": xp.asarray([1 + 2j, 3 - 4j])}


def plain(value):
    """Arrays, dtypes and NumPy's scalars as what compares with ==."""
    return value.tolist() if hasattr(value, "tolist") else value


def close(x, y):
    if isinstance(x, (list, tuple)) and isinstance(y, (list, tuple)):
        return len(x) == len(y) and all(map(close, x, y))
    if isinstance(x, (float, complex)) and isinstance(y, (int, float, complex)):
        return x == y or abs(x - y) <= 1e-14 * max(abs(x), abs(y))
    return x == y and type(x) is type(y)


@cases(*SAME.strip().split("\n"))
def test_works_as_in_numpy(idiom):
    if np is None:
        raise Skip("no NumPy to compare with")
    if tuple(map(int, np.__version__.split(".")[:1])) < (2,) and ".mT" in idiom:
        raise Skip("NumPy before 2 has no .mT")
    ours, theirs = (eval(idiom, names(xp)) for xp in (nd, np))
    assert close(plain(ours), plain(theirs)), (ours, theirs)
    for name in ("shape", "dtype"):
        if hasattr(ours, name) and hasattr(theirs, name):
            x, y = getattr(ours, name), getattr(theirs, name)
            assert getattr(x, "name", x) == getattr(y, "name", y), (x, y)


@cases(*GIVES)
def test_works(idiom, value):
    if np is None and "np." in idiom:
        raise Skip("no NumPy to compare with")
    got = plain(eval(idiom, names(nd)))
    assert got == value, got


@cases(*[r for r in REFUSED])
def test_is_refused_with_advice(idiom, kind, text):
    try:
        value = eval(idiom, names(nd))
    except kind as e:
        assert text in str(e), str(e)
        assert "nd_" not in str(e) and "NULL" not in str(e), str(e)
    else:
        raise AssertionError(f"it gives {value!r}")


def test_there_are_enough():
    assert len(SAME.strip().split("\n")) + len(GIVES) + len(REFUSED) >= 250


def test_every_name_of_numpy_is_answered():
    """A name of NumPy's main namespace is here, or its absence has a sentence of its own."""
    if np is None:
        raise Skip("no NumPy to compare with")
    if np.__version__.startswith("1."):
        raise Skip(f"NumPy {np.__version__} has names that 2.0 removed")
    for name in (name for name in np.__all__ if not name.startswith("_")):  # 2.0 and 2.1 list some of their own use
        try:
            getattr(nd, name)
        except AttributeError as e:
            assert "has no attribute" not in str(e), name


@cases("einops first", "ndock first")
def test_einops_finds_arrays(order):
    """In a process of its own, since einops is to be imported before or after."""
    import subprocess
    try:
        import einops  # noqa: F401
    except ImportError:
        raise Skip("no einops") from None
    both = "import einops, ndock as nd" if order == "einops first" else "import ndock as nd, einops"
    code = both + """
x = nd.reshape(nd.arange(24, dtype=nd.float32), (2, 3, 4))
y = einops.rearrange(x, 'a b c -> b (a c)')
assert type(y) is nd.Array and y.tolist() == nd.reshape(nd.permute_dims(x, (1, 0, 2)), (3, 8)).tolist()
assert einops.reduce(x, 'a b c -> b', 'mean').tolist() == nd.mean(x, axis=(0, 2)).tolist()
assert einops.repeat(x[0], 'b c -> b c k', k=2).shape == (3, 4, 2)
assert einops.pack([x, x], '* b c')[0].shape == (4, 3, 4)
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def table():
    for idiom in SAME.strip().split("\n"):
        print(f"{idiom:70} NumPy's value")
    for idiom, value in GIVES:
        print(f"{idiom:70} {value!r}")
    for idiom, kind, _ in REFUSED:
        try:
            eval(idiom, names(nd))
        except Exception as e:
            print(f"{idiom:70} {type(e).__name__}: {e}")


if __name__ == "__main__":
    if "--table" in sys.argv:
        table()
    else:
        main(globals())
