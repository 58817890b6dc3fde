#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""nd.special, and NumPy's functions of this kind at top level: identities, NumPy's results on random strided views, dtypes,
errors. Golden vectors are in tests/unit/special.c."""
import math

import ndock as nd
from arrays import DEVICES, from_numpy, host, np, pair, same
from tap import cases, main, raises

FLOATS = ("float16", "float32", "float64")


@cases(*DEVICES)
def test_against_numpy(device):
    rng = np.random.default_rng(1)
    for dtype in FLOATS:
        for shape in [(3, 4), (0, 3), (), (5, 1, 7), (1031,)]:
            a, x = pair(rng, dtype, shape, device)
            b, y = pair(rng, dtype, shape, device)
            wide, other = a.astype("float64"), b.astype("float64")
            for got, want in [
                    (nd.cbrt(x), np.cbrt(wide)), (nd.exp2(x), np.exp2(wide)), (nd.sinc(x / 8), np.sinc((a / 8).astype("float64"))),
                    (nd.deg2rad(x), np.deg2rad(wide)), (nd.rad2deg(x), np.rad2deg(wide)), (nd.fmod(x, y), np.fmod(wide, other)),
                    (nd.heaviside(x, y), np.heaviside(wide, other)), (nd.special.i0(x / 4), np.i0((a / 4).astype("float64")))]:
                with np.errstate(all="ignore"):
                    np.testing.assert_allclose(host(got).astype("float64"), want.astype(dtype).astype("float64"), atol=1e-15,
                                               rtol={"float16": 2e-3, "float32": 3e-7, "float64": 3e-15}[dtype])
                assert got.dtype == dtype and got.shape == shape


@cases(*DEVICES)
def test_parts(device):
    rng = np.random.default_rng(2)
    for dtype in FLOATS:
        a, x = pair(rng, dtype, (7, 30), device)
        for ours, theirs in [(nd.frexp(x), np.frexp(a)), (nd.modf(x), np.modf(a))]:
            for got, want in zip(ours, theirs):
                same(got, want)
        mantissa, exponent = nd.frexp(x)
        assert exponent.dtype == nd.int32
        same(nd.ldexp(mantissa, exponent), a)
        assert nd.ldexp(mantissa, exponent).dtype == dtype
    special = np.asarray([0.0, -0.0, math.inf, -math.inf, math.nan, 5e-324, -2.5])
    x = from_numpy(special, device)
    for got, want in zip(nd.modf(x) + nd.frexp(x), np.modf(special) + np.frexp(special)):
        same(got, want)
        if want.dtype == float:
            assert (np.signbit(host(got)) == np.signbit(want)).all() or np.isnan(want).any()
    whole = nd.asarray([3, -4], device=device)
    assert [r.dtype for r in nd.modf(whole)] == [nd.float64] * 2 and nd.modf(whole)[1].tolist() == [3.0, -4.0]
    with raises(TypeError, "frexp"):
        nd.frexp(nd.ones(2, dtype=nd.complex64, device=device))


@cases(*DEVICES)
def test_integers(device):
    rng = np.random.default_rng(3)
    for dtype in ("int8", "uint8", "int16", "uint32", "int64", "uint64"):
        info = np.iinfo(dtype)
        a = rng.integers(info.min, info.max, (40, 13), dtype=dtype, endpoint=True)
        b = rng.integers(max(info.min, -30), 30, (13,), dtype=dtype)
        a[0, :3] = info.min, info.max, 0
        x, y = from_numpy(a[::-1], device), from_numpy(b, device)
        with np.errstate(all="ignore"):
            same(nd.gcd(x, y), np.gcd(a[::-1], b))
            same(nd.lcm(x, y), np.lcm(a[::-1], b))
            same(nd.fmod(x, y), np.fmod(a[::-1], b))
    with raises(TypeError, "gcd"):
        nd.gcd(nd.ones(2, device=device), nd.ones(2, device=device))


@cases(*DEVICES)
def test_float_power(device):
    x = nd.asarray([2, 3], dtype=nd.int32, device=device)
    assert nd.float_power(x, -2).tolist() == [0.25, 1 / 9] and nd.float_power(x, x).dtype == nd.float64
    assert nd.float_power(2, x).tolist() == [4.0, 8.0]
    z = nd.float_power(nd.asarray([1j], dtype=nd.complex64, device=device), 2)
    assert z.dtype == nd.complex128 and abs(z.tolist()[0] + 1) < 1e-15
    out = nd.empty(2, device=device)
    assert nd.float_power(x, 2, out=out) is out and out.tolist() == [4.0, 9.0]
    assert nd.float_power(nd.asarray([3.0], dtype=nd.float16, device=device), 0.5).dtype == nd.float64


@cases(*DEVICES)
def test_identities(device):
    s = nd.special
    x = nd.linspace(-4.0, 4.0, 801, device=device)
    p = nd.linspace(0.001, 0.999, 799, device=device)
    positive = nd.linspace(0.01, 40.0, 500, device=device)

    def close(a, b, tolerance=4e-15):
        np.testing.assert_allclose(host(a), host(b), rtol=tolerance, atol=tolerance)

    close(s.erf(x) + s.erfc(x), nd.ones_like(x))
    close(s.erfcx(x), nd.exp(x * x) * s.erfc(x), 1e-14)
    close(s.erf(s.erfinv(p)), p)
    close(s.erfc(s.erfcinv(p)), p)
    close(s.ndtr(s.ndtri(p)), p)
    close(s.log_ndtr(x), nd.log(s.ndtr(x)), 1e-13)
    close(s.expit(s.logit(p)), p)
    close(s.gamma(positive + 1), positive * s.gamma(positive), 1e-13)  # the sum is rounded
    close(s.gammaln(positive), nd.log(s.gamma(positive)), 1e-14)
    close(s.psi(positive + 1), s.psi(positive) + 1 / positive)
    close(s.polygamma(1, positive), s.polygamma(1, positive + 1) + 1 / (positive * positive), 2e-14)
    close(s.zeta(positive + 1.5, 2.0), s.zeta(positive + 1.5, 3.0) + 0.5 ** (positive + 1.5), 1e-14)
    close(s.beta(positive, 2.5), s.gamma(positive) * s.gamma(nd.full_like(positive, 2.5)) / s.gamma(positive + 2.5), 1e-13)
    close(s.betaln(positive, positive), nd.log(s.beta(positive, positive)), 1e-14)
    close(s.i0e(x), nd.exp(-nd.abs(x)) * s.i0(x))
    close(s.i1e(x), nd.exp(-nd.abs(x)) * s.i1(x))
    close(s.entr(p), -s.xlogy(p, p))
    close(s.xlog1py(p, p), p * nd.log1p(p))
    close(s.softplus(x), nd.logaddexp(x, 0.0))
    close(s.mish(x), x * nd.tanh(s.softplus(x)))
    close(s.selu(x), 1.0507009873554805 * nd.elu(x, 1.6732632423543772))
    close(s.celu(x, 2.0), nd.where(x > 0, x, 2 * nd.expm1(x / 2)))
    close(s.hardswish(x), x * nd.clip(x + 3, 0, 6) / 6)
    close(s.hardsigmoid(x), nd.clip(x / 6 + 0.5, 0, 1))


def test_riemann():
    assert nd.special.zeta(nd.asarray([2.0, -1.0])).tolist() == [math.pi**2 / 6, -1 / 12]
    assert math.isinf(float(nd.special.zeta(nd.asarray(1.0))))
    out = nd.empty(1)
    assert nd.special.zeta(nd.asarray([2.0]), 1.0, out) is out and nd.special.polygamma(0, nd.asarray([1.0]), out) is out
    assert abs(out.tolist()[0] + 0.5772156649015329) < 1e-15


@cases(*DEVICES)
def test_prelu(device):
    x = nd.reshape(nd.arange(-12.0, 12.0, device=device), (2, 3, 4))
    weight = nd.asarray([0.5, 0.25, 0.0], device=device)
    a, w = host(x), host(weight)
    same(nd.prelu(x, weight), np.where(a > 0, a, a * w[:, None]))
    same(nd.prelu(x, weight[:1]), np.where(a > 0, a, a * 0.5))
    same(nd.prelu(x, 0.1), np.where(a > 0, a, a * 0.1))
    same(nd.prelu(x[0, :, 0], weight), np.where(a[0, :, 0] > 0, a[0, :, 0], a[0, :, 0] * w))
    same(nd.leaky_relu(x), np.where(a > 0, a, a * 0.01))
    with raises(ValueError, "(2,)", "3"):
        nd.prelu(x, nd.ones(2, device=device))


def test_names():
    for name in nd.special.__all__:
        assert callable(getattr(nd.special, name)), name
    assert nd.special.gammaln is nd.lgamma and nd.special.psi is nd.digamma and nd.special.expit is nd.sigmoid
    assert nd.special.normcdf is nd.ndtr and nd.radians is nd.deg2rad and nd.degrees is nd.rad2deg
    assert nd.special.erfc(nd.asarray([1, 0])).dtype == nd.float64
    with raises(TypeError):
        nd.special.gamma(nd.ones(1, dtype=nd.complex128))


if __name__ == "__main__":
    main(globals())
