#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""nd.random's distributions and samples: formulas of the generator's numbers as NumPy computes them, the same bits on every device,
moments, shapes, arrays of parameters, errors. Their distribution functions are tried in tests/ops/distributions.c."""
import inspect
import math

import ndock as nd
from arrays import DEVICES, REALS, from_numpy, host, np, same
from tap import cases, main, raises

KEY = nd.random.key(11, 5)
# What each draws: arguments, mean, variance (None: there is none, or it is not tried).
DRAWN = {"exponential": ((2.0,), 2.0, 4.0), "laplace": ((1.0, 2.0), 1.0, 8.0), "cauchy": ((0.0, 1.0), None, None),
         "logistic": ((1.0, 0.5), 1.0, 0.25 * math.pi**2 / 3), "gumbel": ((1.0, 2.0), 1 + 2 * 0.5772156649015329, 4 * math.pi**2 / 6),
         "rayleigh": ((2.0,), 2 * math.sqrt(math.pi / 2), (4 - math.pi) * 2), "weibull": ((2.0,), math.gamma(1.5), 1 - math.gamma(1.5)**2),
         "pareto": ((6.0,), 1 / 5, 6 / (25 * 4)), "triangular": ((-1.0, 0.0, 3.0), 2 / 3, 13 / 18),
         "lognormal": ((0.5, 0.25), math.exp(0.53125), math.expm1(0.0625) * math.exp(1.0625)), "gamma": ((2.5, 3.0), 7.5, 22.5),
         "beta": ((2.0, 3.0), 0.4, 0.04), "chisquare": ((5.0,), 5.0, 10.0), "standard_t": ((12.0,), 0.0, 1.2),
         "truncated_normal": ((0.0, math.inf, 0.0, 1.0), math.sqrt(2 / math.pi), 1 - 2 / math.pi), "bernoulli": ((0.3,), 0.3, 0.21),
         "geometric": ((0.25,), 4.0, 12.0), "poisson": ((30.0,), 30.0, 30.0), "binomial": ((100, 0.3), 30.0, 21.0),
         "negative_binomial": ((5.0, 0.5), 5.0, 10.0), "hypergeometric": ((60, 40, 30), 18.0, 30 * 0.24 * 70 / 99)}
REAL = [n for n in DRAWN if n not in ("bernoulli", "geometric", "poisson", "binomial", "negative_binomial", "hypergeometric")]
# Formulas of uniform numbers u in (0, 1); of all others the bits are the same on every device.
FORMULAS = {"exponential": lambda u: -2 * np.log(u), "cauchy": lambda u: np.tan(np.pi * (u - 0.5)),
            "laplace": lambda u: 1 - 2 * np.sign(u - 0.5) * np.log1p(-2 * abs(u - 0.5)), "logistic": lambda u: 1 + 0.5 * np.log(u / (1 - u)),
            "gumbel": lambda u: 1 - 2 * np.log(-np.log(u)), "rayleigh": lambda u: 2 * np.sqrt(-2 * np.log(u)),
            "weibull": lambda u: (-np.log(u)) ** 0.5, "pareto": lambda u: np.expm1(-np.log(u) / 6),
            "triangular": lambda u: np.where(u < 0.25, -1 + np.sqrt(4 * u), 3 - np.sqrt(12 * (1 - u)))}


def draw(name, *args, **options):
    return getattr(nd.random, name)(*args, **options)


def uniform64(n, low=0.0):
    return host(nd.random.uniform(low, 1.0, n, key=KEY))


def words(n):
    """n random integers of 64 bits, two of a block (plugin.h)."""
    blocks = [nd._ndock._philox(KEY.seed, KEY.position + i) for i in range((n + 1) // 2)]
    return np.array([b >> s & (2**64 - 1) for b in blocks for s in (0, 64)], "uint64")[:n]


@cases(*FORMULAS)
def test_formulas(name):
    """-log(1 - 2|t|) of the Laplace distribution has its sign by t, so 1 - 2 sign(t) log1p(-2|t|) with loc 1, scale 2."""
    want = FORMULAS[name](uniform64(501, 2.0**-54))
    for device in DEVICES:
        got = host(draw(name, *DRAWN[name][0], size=501, key=KEY, device=device))
        np.testing.assert_allclose(got, want, rtol=1e-13, atol=1e-13)


def test_lognormal_is_exp_of_normal():
    z = host(nd.random.normal(0, 1, 100, key=KEY))
    np.testing.assert_allclose(host(nd.random.lognormal(0.5, 0.25, 100, key=KEY)), np.exp(0.5 + 0.25 * z), rtol=1e-13)


@cases(*DRAWN)
def test_moments_and_devices(name):
    """Mean and variance within six standard errors (of the variance by the sample's fourth moment); one array on all devices."""
    args, mean, variance = DRAWN[name]
    n = 20000
    x = host(draw(name, *args, size=n, key=KEY)).astype("float64")
    if mean is not None:
        assert abs(x.mean() - mean) < 6 * math.sqrt(variance / n), (x.mean(), mean)
        spread = math.sqrt(((x - mean)**4).mean() / n)
        assert abs(((x - mean)**2).mean() - variance) < 6 * spread, (x.var(), variance)
    for device in DEVICES[1:]:
        y = host(draw(name, *args, size=n, key=KEY, device=device)).astype("float64")
        if name in FORMULAS or name in ("lognormal", "standard_t"):
            np.testing.assert_allclose(y, x, rtol=1e-12, atol=1e-12)
        else:
            np.testing.assert_array_equal(y, x)


@cases(*DRAWN)
def test_dtypes_and_sizes(name):
    args = DRAWN[name][0]
    for dtype in REALS if name in REAL else ("int8", "uint8", "int16", "uint32", "int64", "uint64"):
        x = draw(name, *args, size=(4, 0, 2), key=KEY, dtype=dtype)
        assert x.dtype == dtype and x.shape == (4, 0, 2)
        x = draw(name, *args, size=(33,), key=KEY, dtype=dtype)
        wide = draw(name, *args, size=(33,), key=KEY)
        if dtype in ("float16", "float32") and (name in FORMULAS or name == "lognormal"):
            continue  # these take f32's numbers, which are others
        np.testing.assert_allclose(host(x).astype("float64"), host(wide).astype("float64"), rtol=2e-3 if dtype == "float16" else 1e-6)
    assert draw(name, *args).shape == () and draw(name, *args, size=3).shape == (3,)
    with raises(TypeError, name):
        draw(name, *args, dtype="complex64")
    if name != "gamma":  # whose shape is a parameter
        same(draw(name, *args, shape=(33,), key=KEY), host(draw(name, *args, size=(33,), key=KEY)))
        with raises(TypeError, "size and shape"):
            draw(name, *args, size=2, shape=2)
    with raises(ValueError):
        draw(name, *args, size=(-1,))


@cases(*DRAWN)
def test_arrays_of_parameters(name):
    """Each element as with its own parameters alone, from views too; the Generator's method gives the function's array."""
    args = DRAWN[name][0]
    arrays = []
    for a in args:
        base = np.full((4, 6), a)
        arrays.append(from_numpy(base, "cpu")[::-1, ::2])
    x = draw(name, *arrays, key=KEY)
    assert x.shape == (4, 3)
    np.testing.assert_allclose(host(x), host(draw(name, *args, size=(4, 3), key=KEY)), rtol=1e-14)
    np.testing.assert_allclose(host(draw(name, arrays[0][0], *args[1:], size=(4, 3), key=KEY)), host(x), rtol=1e-14)
    g = nd.random.Generator(KEY)
    np.testing.assert_array_equal(host(getattr(g, name)(*args, size=(4, 3))), host(draw(name, *args, size=(4, 3), key=KEY)))
    next_key = g.key
    g.key = KEY
    getattr(g, name)(*args, size=(4, 3))
    assert g.key == next_key != KEY
    with raises(ValueError):
        draw(name, from_numpy(np.full((3,), args[0]), "cpu"), *args[1:], size=(4,))


def test_the_generators_methods_have_the_functions_parameters():
    for name in list(DRAWN) + ["choice", "categorical", "multinomial", "dirichlet", "multivariate_normal", "permutation", "shuffle"]:
        function = inspect.signature(getattr(nd.random, name)).parameters
        method = inspect.signature(getattr(nd.random.Generator, name)).parameters
        by_place = [(p.name, p.default) for p in function.values() if p.kind != p.KEYWORD_ONLY]
        assert [(p.name, p.default) for p in list(method.values())[1:] if p.kind != p.VAR_KEYWORD] == by_place, name


def test_errors_name_the_parameter():
    for call, text in [(lambda: nd.random.exponential(-1), "scale is -1"), (lambda: nd.random.gamma(-1.0), "shape is -1"),
                       (lambda: nd.random.poisson(math.nan), "lam is nan"), (lambda: nd.random.binomial(3, 1.5), "p is 1.5"),
                       (lambda: nd.random.binomial(-3, 0.5), "n is -3"), (lambda: nd.random.geometric(0), "p is 0"),
                       (lambda: nd.random.beta(0, 1), "a is 0"), (lambda: nd.random.hypergeometric(3, 4, 8), "nsample <= ngood + nbad"),
                       (lambda: nd.random.triangular(0, 3, 2), "left <= mode <= right"),
                       (lambda: nd.random.truncated_normal(1, 0), "low is above high"),
                       (lambda: nd.random.poisson(nd.asarray([1.0, -1.0])), "lam is something else in one element")]:
        with raises(ValueError, text):
            call()
    with raises(TypeError, "complex"):
        nd.random.exponential(nd.ones(2, dtype="complex64"))


@cases(*DEVICES)
def test_choice(device):
    n = 1000
    uniform = np.array([int(w) * 7 >> 64 for w in words(n)])
    same(nd.random.choice(7, n, key=KEY, device=device), uniform)
    order = np.argsort(words(50), kind="stable")
    for count in (1, 3, 20, 50):
        same(nd.random.choice(50, count, replace=False, key=KEY, device=device), order[:count])
    a = from_numpy(np.arange(24).reshape(4, 6) * 10, device)
    at = host(nd.random.choice(6, (2, 2), key=KEY, device=device))
    same(nd.random.choice(a, (2, 2), axis=1, key=KEY), (np.arange(24).reshape(4, 6) * 10)[:, at])
    assert nd.random.choice(5, device=device).shape == () and nd.random.choice(0, 0, device=device).shape == (0,)
    assert nd.random.choice(a).shape == (6,)


@cases(*DEVICES)
def test_choice_with_probabilities(device):
    p, n = np.array([0.1, 0.0, 0.2, 0.7]), 20000
    edges = np.cumsum((p / p.max() * 2.0**59).astype("int64"))
    want = np.searchsorted(edges, (uniform64(n) * edges[-1]).astype("int64"), side="right")
    same(nd.random.choice(4, n, p=from_numpy(p, device), key=KEY), want)
    assert (abs(np.bincount(want, minlength=4) / n - p) < 6 * np.sqrt(p / n) + 1e-12).all()
    with np.errstate(divide="ignore"):
        race = -np.log(uniform64(4, 2.0**-54)) / p
    same(nd.random.choice(4, 3, replace=False, p=from_numpy(p, device), key=KEY), np.argsort(race)[:3])
    first = np.zeros(4)
    for i in range(400):  # the first that is drawn has p's probabilities
        first[int(nd.random.choice(4, 2, replace=False, p=from_numpy(p, device), key=nd.random.key(i))[0])] += 1
    assert first[1] == 0 and (abs(first / 400 - p) < 5 * np.sqrt(p * (1 - p) / 400) + 1e-12).all()
    for bad, text in [([0.5, 0.6, 0.0, 0.0], "add up to"), ([-0.5, 1.5, 0.0, 0.0], "negative"), ([math.nan, 1, 0, 0], "NaN"),
                      ([0.5, 0.5, 0.0], "")]:
        with raises(ValueError, text):
            nd.random.choice(4, 2, p=from_numpy(np.array(bad), device))
    with raises(ValueError, "have a probability"):
        nd.random.choice(4, 4, replace=False, p=from_numpy(p, device))
    with raises(ValueError, "without replacement"):
        nd.random.choice(4, 5, replace=False, device=device)
    with raises(ValueError):
        nd.random.choice(0, 1, device=device)


@cases(*DEVICES)
def test_categorical(device):
    weights = np.array([[1.0, 3.0, 0.0, 4.0], [0.0, 0.0, 2.0, 0.0], [1e-300, 1e-300, 0.0, 2e-300]])
    x = host(nd.random.categorical(from_numpy(weights, device), (4000, 3), key=KEY))
    for row in range(3):
        p = weights[row] / weights[row].sum()
        assert (abs(np.bincount(x[:, row], minlength=4) / 4000 - p) < 6 * np.sqrt(p * (1 - p) / 4000) + 1e-12).all()
    same(nd.random.categorical(weights, (4000, 3), key=KEY), x)  # the same bits wherever
    assert nd.random.categorical(from_numpy(weights, device)).shape == (3,)
    assert nd.random.categorical(from_numpy(weights[0], device), (0, 2)).shape == (0, 2)
    for bad, text in [(np.zeros(3), "all weights"), (np.array([1.0, -1.0]), "negative"), (np.ones((2, 0)), "no categories"),
                      (np.array([math.inf, 1.0]), "infinite")]:
        with raises(ValueError, text):
            nd.random.categorical(from_numpy(bad, device))
    with raises(ValueError, "broadcast"):
        nd.random.categorical(from_numpy(weights, device), (4,))


@cases(*DEVICES)
def test_multinomial(device):
    p = np.array([0.2, 0.0, 0.5, 0.3])
    x = host(nd.random.multinomial(100, from_numpy(p, device), 2000, key=KEY))
    assert x.shape == (2000, 4) and x.dtype == "int64" and (x.sum(-1) == 100).all() and (x >= 0).all() and (x[:, 1] == 0).all()
    assert (abs(x.mean(0) - 100 * p) < 6 * np.sqrt(100 * p / 2000) + 1e-12).all()
    covariance, want = np.cov(x.T), 100 * (np.diag(p) - np.outer(p, p))
    assert (abs(covariance - want) < 6 * 25 * math.sqrt(2 / 2000)).all()
    same(nd.random.multinomial(100, p, 2000, key=KEY), x)
    assert nd.random.multinomial(5, from_numpy(np.ones((2, 3)), device)).shape == (2, 3)
    assert host(nd.random.multinomial(0, from_numpy(p, device))).tolist() == [0] * 4
    assert host(nd.random.multinomial(7, from_numpy(np.ones(1), device))).tolist() == [7]
    assert nd.random.multinomial(7, from_numpy(p, device), 0).shape == (0, 4)
    with raises(ValueError, "n is -1"):
        nd.random.multinomial(-1, from_numpy(p, device))


@cases(*DEVICES)
def test_dirichlet(device):
    alpha = np.array([0.5, 2.0, 3.5])
    for dtype in ("float32", "float64"):
        x = host(nd.random.dirichlet(from_numpy(alpha, device), 4000, key=KEY, dtype=dtype)).astype("float64")
        assert x.shape == (4000, 3) and (x >= 0).all()
        np.testing.assert_allclose(x.sum(-1), 1, rtol=3e-7 if dtype == "float32" else 1e-14)
        mean = alpha / 6
        assert (abs(x.mean(0) - mean) < 6 * np.sqrt(mean * (1 - mean) / 7 / 4000)).all()
        spread = ((x - mean)**4).mean(0)**0.5
        assert (abs(x.var(0) - mean * (1 - mean) / 7) < 6 * spread / math.sqrt(4000)).all()
    small = host(nd.random.dirichlet(from_numpy(np.full(3, 1e-3), device), 200, key=KEY))
    assert np.isfinite(small).all() and (small.max(-1) > 0.5).all()
    assert nd.random.dirichlet(from_numpy(np.ones((2, 1, 3)), device), (2, 5)).shape == (2, 5, 3)
    with raises(ValueError, "above 0"):
        nd.random.dirichlet(from_numpy(np.array([1.0, 0.0]), device))
    with raises(TypeError):
        nd.random.dirichlet(from_numpy(alpha, device), dtype="int32")


@cases(*DEVICES)
def test_multivariate_normal(device):
    mean, cov = np.array([1.0, -2.0, 0.0]), np.array([[2.0, 0.5, 0.0], [0.5, 1.0, -0.25], [0.0, -0.25, 3.0]])
    for dtype in ("float32", "float64"):
        z = host(nd.random.normal(0, 1, (5, 4, 3), key=KEY, dtype=dtype, device=device)).astype("float64")
        want = z @ np.linalg.cholesky(cov).T + mean
        x = nd.random.multivariate_normal(from_numpy(mean, device), from_numpy(cov, device), (5, 4), key=KEY, dtype=dtype)
        assert x.dtype == dtype
        np.testing.assert_allclose(host(x), want, rtol=1e-5 if dtype == "float32" else 1e-13, atol=1e-5 if dtype == "float32" else 1e-13)
    assert nd.random.multivariate_normal(from_numpy(mean, device), from_numpy(cov, device)).shape == (3,)
    assert nd.random.multivariate_normal(from_numpy(mean, device), from_numpy(cov, device), (0,)).shape == (0, 3)
    with raises(nd.linalg.LinAlgError):
        host(nd.random.multivariate_normal(from_numpy(mean, device), from_numpy(-cov, device)))  # by the time it is read
    with raises(ValueError):
        nd.random.multivariate_normal(from_numpy(mean, device), from_numpy(cov[:2], device))


@cases(*DEVICES)
def test_permutations(device):
    order = np.argsort(words(30), kind="stable")
    same(nd.random.permutation(30, key=KEY, device=device), order)
    rng = np.random.default_rng(1)
    a = rng.normal(size=(30, 5))
    same(nd.random.permutation(from_numpy(a, device), key=KEY), a[order])
    same(nd.random.permutation(from_numpy(a.T.copy(), device), -1, key=KEY), a.T[:, order])
    for axis in (0, 1):
        b = from_numpy(a if axis == 0 else a.T.copy(), device)
        nd.random.shuffle(b, axis, key=KEY)
        same(b, a[order] if axis == 0 else a.T[:, order])
    base = from_numpy(np.arange(60), device)
    part = base[::-2]  # a view, in place
    nd.random.shuffle(part, key=KEY)
    same(base[::-2], np.arange(60)[::-2][order])
    same(base[::2], np.arange(60)[::2])
    assert nd.random.permutation(0, device=device).shape == (0,)
    with raises(ValueError, "without axes"):
        nd.random.permutation(nd.asarray(1.0, device=device))
    with raises(TypeError, "permutation(x)"):
        nd.random.shuffle([1, 2, 3])
    # Each place has each element equally often.
    count = np.zeros((4, 4))
    for i in range(1200):
        count[np.arange(4), host(nd.random.permutation(4, key=nd.random.key(i), device=device))] += 1
    assert ((count - 300)**2 / 300).sum() < 40


if __name__ == "__main__":
    main(globals())
