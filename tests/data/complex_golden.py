# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Golden vectors of the complex functions: writes complex_golden.inc to standard output.

Made with mpmath 1.3.0 and NumPy 2.4.6 (on glibc 2.36) under Python 3.11; rerun with
    python3 tests/data/complex_golden.py > tests/data/complex_golden.inc
Finite arguments: mpmath at PREC and again at more bits, the two must agree; expected parts rounded
to 53 bits for c64 and 64 bits for c128. A signed zero among the arguments is a number far below
every dtype, which tells the two sides of a branch cut apart; a result that far down is a signed
zero. Infinite and NaN arguments: NumPy's results, asserted against Python's cmath where that has
one, but for the cases of OVERRIDE, which are the array API standard's. UNSPECIFIED says where that
standard (as C99 Annex G) leaves the sign of a zero or an infinity open: 1 of the real part, 2 of
the imaginary part.
"""
import cmath
import math
import random

import mpmath as mp
import numpy as np

PREC = 4600  # bits: above 2*1074 + 2*1024, so that no cancellation among doubles is felt
TINY_EXP, ZERO_EXP = -6000, -2000  # a zero argument is 2^TINY_EXP; less than 2^ZERO_EXP is zero
ROWS = 50
INF, NAN = math.inf, math.nan
rng = random.Random(20251)


def near(v, bits):
    return v + rng.choice((-1, 1)) * math.ldexp(1 + rng.random(), -rng.randint(1, bits))


class Dtype:
    def __init__(self, bits, mant, emin, emax, out):
        self.bits, self.mant, self.emin, self.emax, self.out = bits, mant, emin, emax, out

    def fit(self, v):
        return float(np.float32(v)) if self.bits == 64 else float(v)

    def any(self):
        """All magnitudes, subnormal to the largest."""
        e = rng.randint(self.emin - self.mant + 1, self.emax - 1)
        return rng.choice((-1, 1)) * math.ldexp(1 + rng.random(), e)


C64 = Dtype(64, 24, -126, 128, 53)
C128 = Dtype(128, 53, -1022, 1024, 64)


def sign():
    return rng.choice((-1, 1))


def circle(d):
    t, r = rng.uniform(0, 7), near(1, d.mant + 2)
    return r * math.cos(t), r * math.sin(t)


def arguments(op, d):
    """One argument of a unary function: common kinds, and those where this function is delicate."""
    big = math.log(2) * d.emax
    k = rng.randrange(9)
    moderate = lambda: sign() * 2 ** rng.uniform(-12, 4)
    if k == 0:
        return d.any(), d.any()
    if k == 1:
        return moderate(), d.any()
    if k == 2:
        return d.any(), moderate()
    if k <= 5:
        return moderate(), moderate()
    if op in ("log", "log2", "log10"):
        return circle(d)
    if op == "log1p":
        t = math.ldexp(rng.uniform(-3, 3), -rng.randint(0, 12))
        return -2 * math.sin(t / 2) ** 2, math.sin(t)
    if op in ("asin", "acos", "acosh", "atanh"):
        return sign() * near(1, d.mant), sign() * math.ldexp(1 + rng.random(), -rng.randint(1, 40))
    if op in ("asinh", "atan"):
        return math.ldexp(1 + rng.random(), -rng.randint(1, 40)), sign() * near(1, d.mant)
    if op in ("tan", "sin", "cos"):
        x = rng.randint(-40, 40) * math.pi / 2
        y = sign() * (big + rng.uniform(-1, 2)) if k == 6 and op != "tan" else moderate() / 16
        return near(x, d.mant), y
    if op in ("tanh", "sinh", "cosh", "exp", "expm1"):
        y = rng.randint(-40, 40) * math.pi / 2
        x = sign() * (big + rng.uniform(-1, 2)) if k == 6 and op != "tanh" else moderate() / 16
        return x, near(y, d.mant)
    if op == "sqrt":
        x = moderate()
        return x, x * math.ldexp(rng.random(), -rng.randint(1, d.mant))
    return d.any(), d.any()


def pair(op, d):
    """Two arguments of a binary function."""
    part = lambda s: rng.uniform(-s, s)
    if op == "pow":
        a = circle(d) if rng.random() < 0.3 else (part(4), part(4))
        if rng.random() < 0.2:
            a = (d.any(), d.any())
        k = rng.randrange(4)
        b = (rng.choice((2, 3, 5, -1, -2, 7, 17, 99, -99, 100, 0.5)), 0.0) if k == 0 else \
            (part(30), 0.0) if k == 1 else (part(30), part(30)) if k == 2 else (part(300), part(3))
        return a, b
    if rng.random() < 0.4:
        return (d.any(), d.any()), (d.any(), d.any())
    return (part(4), part(4)), (part(4), part(4))


REFERENCE = {
    "sqrt": mp.sqrt, "exp": mp.exp, "expm1": lambda z: mp.exp(z) - 1, "log": mp.log,
    "log1p": lambda z: mp.log(1 + z), "log2": lambda z: mp.log(z) / mp.log(2),
    "log10": lambda z: mp.log(z) / mp.log(10), "sin": mp.sin, "cos": mp.cos, "tan": mp.tan,
    "asin": mp.asin, "acos": mp.acos, "atan": mp.atan, "sinh": mp.sinh, "cosh": mp.cosh,
    "tanh": mp.tanh, "asinh": mp.asinh, "acosh": mp.acosh, "atanh": mp.atanh,
    "sign": lambda z: z / abs(z), "square": lambda z: z * z, "reciprocal": lambda z: 1 / z,
}
BINARY = {"multiply": lambda a, b: a * b, "divide": lambda a, b: a / b,
          "pow": lambda a, b: a ** int(b.real) if b.imag == 0 and b.real == int(b.real)
          else mp.exp(b * mp.log(a))}

# Results of the functions below where x or y is infinite or NaN, or the standard has a rule for zeros.
OVERRIDE = {
    "expm1": lambda x, y: (0.0, y) if x == y == 0 else (x, y) if x != x and y == 0 else
    (-1.0, (0 * math.sin(y) if math.isfinite(y) else 0.0)) if x == -INF else
    (INF, y) if x == INF and y == 0 else
    (INF, NAN) if x == INF and not math.isfinite(y) else None,
    "tanh": lambda x, y: (x, NAN) if x == 0 and not math.isfinite(y) else
    (math.copysign(1, x), math.copysign(0, y)) if abs(x) == INF and math.isfinite(y) else None,
    "tan": lambda x, y: (NAN, y) if y == 0 and not math.isfinite(x) else
    (math.copysign(0, x), math.copysign(1, y)) if abs(y) == INF and math.isfinite(x) else None,
    "sign": lambda x, y: (NAN, NAN) if x != x or y != y else None,
}


def open_sinh(x, y):
    return 1 if not math.isfinite(y) and (x == 0 or abs(x) == INF) else 0


def open_cosh(x, y):
    return 2 if x == 0 or (x != x and y == 0) else 1 if abs(x) == INF and abs(y) == INF else 0


def swapped(f):
    return lambda x, y: {0: 0, 1: 2, 2: 1, 3: 3}[f(y, x)]


UNSPECIFIED = {
    "exp": lambda x, y: 0 if math.isfinite(y) else 3 if x == -INF else 1 if x == INF else 0,
    "expm1": lambda x, y: 0 if math.isfinite(y) else 2 if x == -INF else 1 if x == INF else 0,
    "sinh": open_sinh, "sin": swapped(open_sinh),
    "cosh": open_cosh, "cos": lambda x, y: open_cosh(-y, x),
    "tanh": lambda x, y: 2 if abs(x) == INF and not math.isfinite(y) else 0,
    "asinh": lambda x, y: 1 if x != x and abs(y) == INF else 0,
    "acos": lambda x, y: 2 if abs(x) == INF and y != y else 0,
    "atanh": lambda x, y: 1 if x != x and abs(y) == INF else 0,
    "sqrt": lambda x, y: 2 if x == -INF and y != y else 0,
}
PLAIN_ZERO = ("expm1", "log", "log1p", "log2", "log10", "reciprocal", "sign")  # of 0: NumPy's, or an override
UNSPECIFIED["tan"] = swapped(UNSPECIFIED["tanh"])
UNSPECIFIED["asin"] = swapped(UNSPECIFIED["asinh"])
UNSPECIFIED["atan"] = swapped(UNSPECIFIED["atanh"])
NUMPY = {"asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "asinh": np.arcsinh,
         "acosh": np.arccosh, "atanh": np.arctanh, "pow": np.power}


def number(v):
    """A part of an argument, exactly."""
    if v != v:
        return "NAN"
    if abs(v) == INF:
        return "INFINITY" if v > 0 else "-INFINITY"
    if v == int(v) and abs(v) < 1000:
        return "-0." if v == 0 and math.copysign(1, v) < 0 else "%d" % v
    m, e = v.hex().split("p")
    return (m.rstrip("0").rstrip(".") if "." in m else m) + "p" + e


def rounded(v, d):
    """A part of a result: text of v rounded to d.out bits, infinite beyond d's range, zero far
    below it."""
    if v == 0:
        return None
    if mp.mpf(abs(v)) < mp.mpf(2) ** max(ZERO_EXP, d.emin - d.mant - 64):
        return "-0." if v < 0 else "0"
    top = mp.mpf(2) ** d.emax
    if abs(v) >= top * (1 - mp.mpf(2) ** (-d.mant - 1)):
        return "-INFINITY" if v < 0 else "INFINITY"
    with mp.workprec(d.out):
        v = +v
    s, man, exp, _ = v._mpf_
    man = int(man)
    return "%s0x%xp%d%s" % ("-" if s else "", man, exp, "L" if d.out == 64 else "")


def complex_of(re, im):
    z = lambda v: mp.ldexp(math.copysign(1, v), TINY_EXP) if v == 0 else mp.mpf(v)
    return mp.mpc(z(re), z(im))


def exact(f, args, d, signed=True):
    """The parts of f(args) as text, and the mask of parts whose sign of zero is not known."""
    texts = []
    zero = signed and any(v == 0 for a in args for v in a)
    for prec in ((20000,) if zero else (PREC, PREC + 700)):
        with mp.workprec(prec):
            w = f(*[complex_of(*a) if signed else mp.mpc(*a) for a in args])
            texts.append([rounded(w.real, d), rounded(w.imag, d)])
    assert texts[0] == texts[-1], (args, texts)
    t = texts[0]
    return [x or "0" for x in t], sum(k for k, x in zip((1, 2), t) if x is None)


def emit(op, bits, args, want, mask):
    parts = [number(v) for a in args for v in a] + ["0", "0"]
    print("G(%s,%d,%s,%s,%d)" % (op, bits, ",".join(parts[:4]), ",".join(want), mask))


def by_numpy(op, args):
    f = NUMPY.get(op) or getattr(np, op)
    with np.errstate(all="ignore"):
        w = complex(f(*[np.complex128(complex(*a)) for a in args]))
    return w.real, w.imag


def same(a, b, open_sign):
    if a != a or b != b:
        return a != a and b != b
    if not open_sign and math.copysign(1, a) != math.copysign(1, b):
        return False
    return abs(abs(a) - abs(b)) <= 1e-15 if math.isfinite(a) else abs(a) == abs(b)


def special(op, x, y):
    mask = UNSPECIFIED.get(op, lambda x, y: 0)(x, y)
    want = OVERRIDE.get(op, lambda x, y: None)(x, y)
    if want is None:
        want = by_numpy(op, [(x, y)])
        if hasattr(cmath, op) and not (op == "acosh" and x == 0):  # its acosh(NaN j) is not C11's
            try:
                w = getattr(cmath, op)(complex(x, y))
            except (ValueError, OverflowError):
                w = None
            assert w is None or (same(w.real, want[0], mask & 1) and
                                 same(w.imag, want[1], mask & 2)), (op, x, y, w, want)
    emit(op, 0, [(x, y)], [number(v) for v in want], mask)


def main():
    print("/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception")
    print(" * By complex_golden.py: G(op, bits of the dtype (0: both), re and im of a, of b, of the")
    print(" * result, mask of the parts whose sign is open). */")
    grid = (0.0, -0.0, 0.75, -0.75, 2.5, INF, -INF, NAN)
    for op, f in REFERENCE.items():
        for x in grid:
            for y in grid:
                finite = math.isfinite(x) and math.isfinite(y)
                if finite and x != 0 and y != 0:
                    continue
                zero = x == 0 and y == 0
                if not finite or (zero and op in PLAIN_ZERO):
                    special(op, x, y)
                elif op != "square":  # whose zeros are those of the plain formula
                    want, mask = exact(f, [(x, y)], C128)
                    emit(op, 0, [(x, y)], want, mask)
        for d in (C64, C128):
            for _ in range(ROWS):
                a = tuple(d.fit(v) for v in arguments(op, d))
                if all(math.isfinite(v) and v for v in a):
                    want, mask = exact(f, [a], d)
                    if op != "square" or "INF" not in "".join(want):
                        emit(op, d.bits, [a], want, mask)
    for y in (0.0, -0.0):
        special("log1p", -1.0, y)
    for x in (1.0, -1.0):
        for y in (0.0, -0.0):
            emit("atanh", 0, [(x, y)], [number(x * INF), number(y)], 0)
            for op in ("acos", "asin", "acosh"):
                emit(op, 0, [(x, y)], *exact(REFERENCE[op], [(x, y)], C128))
    for op, f in BINARY.items():
        for d in (C64, C128):
            for _ in range(ROWS):
                a, b = (tuple(d.fit(v) for v in p) for p in pair(op, d))
                if any(a) and any(b):
                    want, mask = exact(f, [a, b], d, False)
                    if "INF" not in "".join(want):
                        emit(op, d.bits, [a, b], want, mask)
        values = (0.0, -0.0, 1.5, -2.0, INF, -INF, NAN)
        for i in range(120):
            a, b = ((rng.choice(values), rng.choice(values)) for _ in range(2))
            if op == "pow" and i % 3:
                b = (float(rng.choice((0, 1, 2, 3, 4, -1, -2))), 0.0)
            if all(map(math.isfinite, a + b)) and any(a) and any(b):
                continue
            want = by_numpy(op, [a, b])
            if op == "pow" and any(a) and (b[0] != b[0] or b[1] != b[1]):
                want = NAN, NAN  # NumPy's depends on how libm multiplies
            emit(op, 0, [a, b], [number(v) for v in want], 3 if op == "pow" else 0)


main()
