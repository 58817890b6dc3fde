#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""NumPy's functions of Arrays by __array_ufunc__ and __array_function__: what NumPy computes of its own array, on the Array's device; and what
Dask asks (tests/clients has more)."""
import ndock as nd
from arrays import np
from tap import Skip, main, raises


def pairs():
    if np is None:
        raise Skip("no NumPy")
    a = np.random.default_rng(0).random((4, 6))
    return [(a, nd.asarray(a, device=d)) for d in ("cpu", "sim:0")]


def host(x):
    return np.asarray(x.to_device("cpu")) if isinstance(x, nd.Array) else x


def agree(f, a, x):
    want, got = f(a), f(x)
    if isinstance(want, (tuple, list)):
        assert len(want) == len(got)
    else:
        want, got = [want], [got]
    for w, g in zip(want, got):
        assert isinstance(g, nd.Array) and g.device == x.device, (type(g), f.__code__.co_consts)
        assert g.shape == np.shape(w) and np.allclose(host(g), w), f.__code__.co_consts


def test_dtypes():
    """As NumPy before 2.4 asks for them (dtype), and since (__numpy_dtype__)."""
    if np is None:
        raise Skip("no NumPy")
    assert nd.float32.dtype == np.dtype("float32") and nd.complex128.dtype == np.dtype("complex128")
    assert np.zeros(2, dtype=nd.int16).dtype == np.dtype("int16")
    with raises(TypeError):
        nd.bfloat16.dtype


def test_ufuncs():
    for a, x in pairs():
        for name in """absolute arccos arcsin arctan cbrt ceil conjugate cos cosh deg2rad exp exp2 expm1 fabs floor isfinite isinf isnan log
                       log10 log1p log2 logical_not negative positive rad2deg reciprocal rint sign signbit sin sinh sqrt square tan tanh trunc""".split():
            agree(lambda v: getattr(np, name)(v), a, x)
        for name in """add arctan2 copysign divide equal floor_divide fmod greater greater_equal hypot less less_equal logaddexp logical_and
                       maximum minimum multiply not_equal power remainder subtract""".split():
            agree(lambda v: getattr(np, name)(v, v[::-1]), a, x)
            agree(lambda v: getattr(np, name)(v, 0.5), a, x)
        agree(lambda v: np.subtract(0.5, v), a, x)
        agree(lambda v: np.float64(2) ** v, a, x)
        agree(lambda v: np.matmul(v, v.T), a, x)
        agree(lambda v: np.where(v > 0.5, np.asarray(0.25), v), a, x)
        agree(lambda v: np.where(np.floor(2 * v), v, -1.0), a, x)  # a condition of any dtype
        agree(lambda v: np.add.reduce(v), a, x)
        agree(lambda v: np.maximum.reduce(v, axis=1, keepdims=True), a, x)
        agree(lambda v: np.add.accumulate(v, axis=1), a, x)
        agree(lambda v: np.subtract.outer(v[0], v[:, 0]), a, x)
        out = nd.empty((4, 6), device=x.device)
        assert np.add(x, x, out=out) is out and np.allclose(host(out), a + a)
        assert np.add(x, x, dtype="float32").dtype == nd.float32
        with raises(TypeError):
            np.spacing(x)
        with raises(TypeError):
            np.add(x, x, where=x > 0.5)


def test_functions():
    functions = [
        lambda v: np.sum(v, 0), lambda v: np.mean(v, axis=1, keepdims=True), lambda v: np.std(v, ddof=1), lambda v: np.var(v, 0), lambda v: np.amax(v, 1),
        lambda v: np.argmin(v, 0), lambda v: np.cumsum(v, 1), lambda v: np.transpose(v), lambda v: np.reshape(v, (3, 8)), lambda v: np.ravel(v),
        lambda v: np.sort(v, 0), lambda v: np.median(v, 1), lambda v: np.percentile(v, 30, axis=0),
        lambda v: np.clip(v, 0.2, 0.7), lambda v: np.expand_dims(v, 0), lambda v: np.flip(v, 1), lambda v: np.roll(v, 1, 0), lambda v: np.diff(v),
        lambda v: np.zeros_like(v), lambda v: np.full_like(v, 3, shape=(2,)), lambda v: np.swapaxes(v, 0, 1), lambda v: np.tile(v, (2, 1)),
        lambda v: np.repeat(v, 2, axis=0), lambda v: np.nanmean(v, 0), lambda v: np.nanstd(v, dtype="float64", ddof=1), lambda v: np.nonzero(v > 0.5),
        lambda v: np.where(v > 0.5, v, 0), lambda v: np.triu(v), lambda v: np.trace(v), lambda v: np.broadcast_to(v, (2, 4, 6)), lambda v: np.pad(v, 1),
        lambda v: np.split(v, 2), lambda v: np.copy(v), lambda v: np.stack([v, v], axis=1), lambda v: np.concatenate([v, v]), lambda v: np.vstack([v, v]),
        lambda v: np.dot(v, v.T), lambda v: np.tensordot(v, v, axes=2), lambda v: np.einsum("ij,kj->ik", v, v), lambda v: np.linalg.norm(v),
        lambda v: np.fft.fft(v), lambda v: np.linalg.svd(v, compute_uv=False), lambda v: np.moveaxis(v, 0, 1), lambda v: np.partition(v, 2, axis=1)[:, 2]]
    for a, x in pairs():
        for f in functions:
            agree(f, a, x)
        assert np.ndim(x) == 2 and np.shape(x) == (4, 6) and np.size(x) == 24 and not np.iscomplexobj(x)
        made = np.asarray([1, 2], like=x), np.zeros((2, 3), "float32", like=x), np.full(2, 7, like=x), np.arange(1, 4, like=x), np.array([1], ndmin=2, like=x)
        assert all(isinstance(m, nd.Array) and m.device == x.device for m in made) and made[-1].shape == (1, 1)
        assert [m.tolist() for m in made[:4]] == [[1, 2], [[0.0] * 3] * 2, [7, 7], [1, 2, 3]]


def test_average():
    """Weights of ours beside elements of NumPy's, as scikit-learn's metrics have them; on a device nothing is copied unasked."""
    weights = nd.asarray([3.0, 0.0, 1.0], device="cpu")
    mean, total = np.average(np.array([1.0, 2.0, 3.0]), weights=weights, returned=True)
    assert isinstance(mean, nd.Array) and mean.item() == 1.5 and total.item() == 4.0
    assert np.average(weights, weights=np.array([1.0, 1.0, 2.0])).item() == 1.25
    with raises(TypeError):
        np.average(np.ones(3), weights=pairs()[1][1][0, :3])


def test_others():
    """What ndock has no function for is done with the host's elements as ever, and refused for a device; what compares is NumPy's."""
    (a, x), (_, away) = pairs()
    assert type(np.packbits(nd.asarray([True, False], device="cpu"))) is np.ndarray and np.allclose(x, a) and np.array_equal(x, a)
    with raises(TypeError, 'to_device("cpu")'):
        np.packbits(away > 0.5)
    with raises(TypeError, "host"):
        np.add(away, a)

    class Foreign:
        def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
            return "theirs"
        __array_function__ = lambda self, function, types, args, kwargs: "theirs"
        __add__ = __radd__ = lambda self, other: "theirs"
    assert np.add(x, Foreign()) == "theirs" and np.concatenate([x, Foreign()]) == "theirs"
    assert nd.float32.type is np.float32 and np.stack([x, x]).dtype == x.dtype


if __name__ == "__main__":
    main(globals())
