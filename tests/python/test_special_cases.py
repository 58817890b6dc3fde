#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Special cases of the array API standard 2025.12, written down from its text or computed by math and cmath: NaN, infinities
and zeros of both signs, on cpu and sim, as scalars of the dense, the strided and the broadcast form of each call."""
import cmath
import itertools
import math

import ndock as nd
from arrays import DEVICES, from_numpy, host, np
from tap import cases, main

nan, inf = math.nan, math.inf
VALUES = (nan, inf, -inf, 0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 3.0, -3.0, 1e300, -1e300)


def alike(got, want):
    """The same value, NaN is NaN, zeros have their signs; or close, where the value is not special."""
    if math.isnan(want):
        return math.isnan(got)
    if want == 0 or math.isinf(want):
        return got == want and math.copysign(1, got) == math.copysign(1, want)
    return math.isclose(got, want, rel_tol=1e-12, abs_tol=0)


def check(function, arguments, wanted, device):
    columns = [np.array(c) for c in zip(*arguments)]
    for form in (lambda c: from_numpy(c, device), lambda c: nd.flip(from_numpy(c[::-1], device))):
        got = host(function(*[form(c) for c in columns])).tolist()
        for a, g, w in zip(arguments, got, wanted):
            assert alike(g, w), f"{function.__name__}{a} is {g!r}, not {w!r}"


# x: result, as the standard lists them.
UNARY = {
    "acos": {nan: nan, 1.5: nan, -1.5: nan, 1.0: 0.0},
    "acosh": {nan: nan, 0.5: nan, 1.0: 0.0, inf: inf},
    "asin": {nan: nan, 1.5: nan, -1.5: nan, 0.0: 0.0},
    "asinh": {nan: nan, 0.0: 0.0, inf: inf, -inf: -inf},
    "atan": {nan: nan, 0.0: 0.0, inf: math.pi / 2, -inf: -math.pi / 2},
    "atanh": {nan: nan, -2.0: nan, 2.0: nan, -1.0: -inf, 1.0: inf, 0.0: 0.0},
    "ceil": {nan: nan, inf: inf, -inf: -inf, -0.5: -0.0, 0.0: 0.0, 1.5: 2.0},
    "cos": {nan: nan, 0.0: 1.0, inf: nan, -inf: nan},
    "cosh": {nan: nan, 0.0: 1.0, inf: inf, -inf: inf},
    "exp": {nan: nan, 0.0: 1.0, inf: inf, -inf: 0.0},
    "expm1": {nan: nan, 0.0: 0.0, inf: inf, -inf: -1.0},
    "floor": {nan: nan, inf: inf, -inf: -inf, 0.5: 0.0, -0.5: -1.0},
    "log": {nan: nan, -1.0: nan, 0.0: -inf, 1.0: 0.0, inf: inf},
    "log1p": {nan: nan, -2.0: nan, -1.0: -inf, 0.0: 0.0, inf: inf},
    "log2": {nan: nan, -1.0: nan, 0.0: -inf, 1.0: 0.0, inf: inf},
    "log10": {nan: nan, -1.0: nan, 0.0: -inf, 1.0: 0.0, inf: inf},
    "reciprocal": {nan: nan, inf: 0.0, -inf: -0.0, 0.0: inf},
    "round": {nan: nan, inf: inf, -inf: -inf, 0.5: 0.0, 1.5: 2.0, 2.5: 2.0, -0.5: -0.0},
    "sign": {nan: nan, inf: 1.0, -inf: -1.0, 0.0: 0.0, -3.0: -1.0},
    "sin": {nan: nan, 0.0: 0.0, inf: nan, -inf: nan},
    "sinh": {nan: nan, 0.0: 0.0, inf: inf, -inf: -inf},
    "sqrt": {nan: nan, -1.0: nan, 0.0: 0.0, inf: inf},
    "tan": {nan: nan, 0.0: 0.0, inf: nan, -inf: nan},
    "tanh": {nan: nan, 0.0: 0.0, inf: 1.0, -inf: -1.0},
    "trunc": {nan: nan, inf: inf, -inf: -inf, 0.5: 0.0, -0.5: -0.0, -1.5: -1.0},
    "abs": {nan: nan, -inf: inf, inf: inf},
}
KEEPS_NEGATIVE_ZERO = ("asin", "asinh", "atan", "atanh", "ceil", "expm1", "floor", "log1p", "round", "sin", "sinh", "sqrt",
                       "tan", "tanh", "trunc")


@cases(*itertools.product(UNARY, DEVICES))
def test_unary(name, device):
    table = list(UNARY[name].items())
    if name in KEEPS_NEGATIVE_ZERO:
        table.append((-0.0, -0.0))
    if name == "reciprocal":
        table.append((-0.0, -inf))
    if name in ("log", "log2", "log10"):
        table.append((-0.0, -inf))
    check(getattr(nd, name), [(x,) for x, _ in table], [w for _, w in table], device)


def pow_(x, y):
    if y == 0 or x == 1:
        return 1.0
    try:
        return math.pow(x, y)
    except OverflowError:
        return -inf if x < 0 and y % 2 == 1 else inf
    except ValueError:  # C's domain and pole errors
        odd = y % 2 == 1
        return (math.copysign(inf, x) if odd else inf) if x == 0 else nan


def floor_divide(x, y):
    if math.isnan(x) or math.isnan(y) or (math.isinf(x) and math.isinf(y)) or (x == 0 and y == 0):
        return nan
    negative = math.copysign(1, x) != math.copysign(1, y)
    if y == 0:
        return -inf if negative else inf
    if math.isinf(x):
        return -inf if negative else inf
    if x == 0:
        return -0.0 if negative else 0.0
    if math.isinf(y):  # Python has -1 where the signs differ
        return -0.0 if negative else 0.0
    exact = math.floor(_fraction(x) / _fraction(y))
    return float(exact) if exact else (-0.0 if negative else 0.0)


def _fraction(x):
    from fractions import Fraction
    return Fraction(x)


def remainder(x, y):
    if math.isnan(x) or math.isnan(y) or math.isinf(x) or y == 0:
        return nan
    if math.isinf(y):
        return x if x == 0 and math.copysign(1, x) == math.copysign(1, y) or x and (x > 0) == (y > 0) else \
            math.copysign(0.0, y) if x == 0 else y
    exact = _fraction(x) - _fraction(y) * math.floor(_fraction(x) / _fraction(y))
    return float(exact) if exact else math.copysign(0.0, y)


def logaddexp(x, y):
    if math.isnan(x) or math.isnan(y):
        return nan
    if inf in (x, y):
        return inf
    if x == y == -inf:
        return -inf
    return max(x, y) + math.log1p(math.exp(-abs(x - y)))


def maximum(x, y):
    return nan if math.isnan(x) or math.isnan(y) else (y if math.copysign(1, x) < 0 else x) if x == y else max(x, y)


def minimum(x, y):
    return nan if math.isnan(x) or math.isnan(y) else (x if math.copysign(1, x) < 0 else y) if x == y else min(x, y)


def divide(x, y):
    if y == 0:
        return nan if x == 0 or math.isnan(x) else math.copysign(1, x) * math.copysign(inf, y)
    return x / y


def multiply(x, y):
    return x * y


BINARY = {"pow": pow_, "floor_divide": floor_divide, "remainder": remainder, "logaddexp": logaddexp, "maximum": maximum,
          "minimum": minimum, "divide": divide, "atan2": math.atan2, "hypot": math.hypot, "copysign": math.copysign,
          "nextafter": math.nextafter, "add": lambda x, y: x + y, "subtract": lambda x, y: x - y, "multiply": multiply}


@cases(*itertools.product(BINARY, DEVICES))
def test_binary(name, device):
    pairs = list(itertools.product(VALUES, VALUES))
    check(getattr(nd, name), pairs, [BINARY[name](*p) for p in pairs], device)


@cases(*DEVICES)
def test_a_scalar_is_a_broadcast_operand(device):
    for name in ("pow", "floor_divide", "remainder", "atan2", "copysign"):
        for s in VALUES:
            x = from_numpy(np.array(VALUES), device)
            for got, want in [(getattr(nd, name)(x, s), [BINARY[name](v, s) for v in VALUES]),
                              (getattr(nd, name)(s, x), [BINARY[name](s, v) for v in VALUES])]:
                for v, g, w in zip(VALUES, host(got).tolist(), want):
                    assert alike(g, w), f"{name} of {v} and {s} is {g}, not {w}"


@cases(*DEVICES)
def test_comparisons_and_classification(device):
    import operator
    x, y = (from_numpy(np.array(c), device) for c in zip(*itertools.product(VALUES, VALUES)))
    for name, f in [("equal", operator.eq), ("not_equal", operator.ne), ("less", operator.lt), ("less_equal", operator.le),
                    ("greater", operator.gt), ("greater_equal", operator.ge)]:
        assert host(getattr(nd, name)(x, y)).tolist() == [f(*p) for p in itertools.product(VALUES, VALUES)], name
    x = from_numpy(np.array(VALUES), device)
    for name, f in [("isnan", math.isnan), ("isinf", math.isinf), ("isfinite", math.isfinite),
                    ("signbit", lambda v: math.copysign(1, v) < 0), ("logical_not", lambda v: not v)]:
        got = host(getattr(nd, name)(x)).tolist()
        assert [g for g, v in zip(got, VALUES) if v == v] == [f(v) for v in VALUES if v == v], name


@cases(*DEVICES)
def test_integers(device):
    for dtype in ("int8", "int32", "int64", "uint8", "uint64"):
        info = nd.iinfo(dtype)
        values = [v for v in (info.min, info.max, 0, 1, 2, 3, 7, -1, -2, -7) if info.min <= v <= info.max]
        pairs = [(a, b) for a in values for b in values if b]
        x, y = (from_numpy(np.array(c, dtype), device) for c in zip(*pairs))

        def wrap(v):
            return (v - info.min) % 2**info.bits + info.min
        for f, exact in [(nd.floor_divide, lambda a, b: a // b), (nd.remainder, lambda a, b: a % b),
                         (nd.multiply, lambda a, b: a * b), (nd.subtract, lambda a, b: a - b)]:
            assert host(f(x, y)).tolist() == [wrap(exact(a, b)) for a, b in pairs], (dtype, f.__name__)
        small = [(a, b) for a, b in pairs if 0 < b < 8]
        x, y = (from_numpy(np.array(c, dtype), device) for c in zip(*small))
        assert host(nd.pow(x, y)).tolist() == [wrap(a**b) for a, b in small]
        assert host(nd.bitwise_left_shift(x, y)).tolist() == [wrap(a << b) if b < info.bits else 0 for a, b in small]
        assert host(nd.bitwise_right_shift(x, y)).tolist() == [a >> b for a, b in small]


@cases(*DEVICES)
def test_sums_of_zeros(device):
    """A sum is -0 where all its terms are, and +0 where there are none; the parts of a complex sum are sums. Running sums are
    so in NumPy, and sums that are told to begin with -0; sums that are not begin with +0 there, for real and complex
    numbers, which NumPy's test_addition_reduce_negative_zero marks as a failure that is expected."""
    def minus(z):
        return np.signbit(z.real).tolist(), np.signbit(z.imag).tolist()

    for dtype, n, odd in itertools.product(("float16", "float32", "float64", "complex64", "complex128"),
                                           (0, 1, 2, 3, 8, 17, 130, 1000), (None, 0, -1)):
        for part in ("real",) if dtype[0] == "f" else ("real", "imag"):
            x = np.full(n, complex(-0.0, -0.0) if dtype[0] == "c" else -0.0, dtype)
            if n and odd is not None:
                getattr(x, part)[odd] = 0.0
            y = from_numpy(x, device)
            begin = {"initial": complex(-0.0, -0.0) if dtype[0] == "c" else -0.0} if n else {}
            assert minus(host(nd.sum(y))) == minus(np.sum(x, **begin)), (dtype, n, odd, part)
            assert minus(host(nd.cumulative_sum(y))) == minus(np.cumsum(x)), (dtype, n, odd, part)


@cases(*itertools.product(("exp", "log", "sqrt", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh"), DEVICES))
def test_complex(name, device):
    """C99's Annex G, as cmath has it where C raises no exception; the signs of zeros and infinities that Annex G leaves
    open are not asked for."""
    values = [complex(a, b) for a, b in itertools.product((nan, inf, -inf, 0.0, -0.0, 1.0, -1.0, 0.5), repeat=2)]
    table = []
    for z in values:
        if name in ("acosh", "tanh") and z.real == 0 and math.isnan(z.imag):
            continue  # a finite part, by a correction of C11, where cmath has NaN
        try:
            table.append((z, getattr(cmath, name)(z)))
        except (ValueError, OverflowError):
            pass
    got = host(getattr(nd, name)(from_numpy(np.array([z for z, _ in table]), device))).tolist()
    for (z, w), g in zip(table, got):
        free = not (math.isfinite(z.real) and math.isfinite(z.imag))
        for have, want in ((g.real, w.real), (g.imag, w.imag)):
            close = abs(have) == abs(want) if free and not math.isnan(want) and want in (0, inf, -inf) else alike(have, want)
            assert close, f"{name}({z}) is {g}, not {w}"


@cases(*DEVICES)
def test_clip(device):
    x = from_numpy(np.array([nan, -1.0, 0.5, 3.0, inf]), device)
    for low, high, want in [(0.0, 1.0, [nan, 0.0, 0.5, 1.0, 1.0]), (0, None, [nan, 0.0, 0.5, 3.0, inf]),
                            (None, 1, [nan, -1.0, 0.5, 1.0, 1.0]), (None, None, [nan, -1.0, 0.5, 3.0, inf]),
                            (nan, 1.0, [nan] * 5), (0.0, nan, [nan] * 5)]:
        got = host(nd.clip(x, low, high)).tolist()
        assert all(alike(g, w) for g, w in zip(got, want)), (low, high, got)
    assert nd.clip(nd.ones((2, 1), device=device), nd.zeros((1, 3), device=device)).shape == (2, 3)
    assert nd.clip(nd.ones(2, dtype=nd.int8), 0, 5).dtype == nd.int8


if __name__ == "__main__":
    main(globals())
