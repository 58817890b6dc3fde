# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Golden vectors of the special functions: writes special_golden.inc to standard output.

Made with mpmath 1.4.1 under Python 3.11; rerun with
    python3 tests/data/special_golden.py > tests/data/special_golden.inc
Arguments are numbers of f32 or f64: random ones, and those where a function is delicate: beside its zeros and poles, where
formulas change, subnormal ones and both ends of the range. Results are by mpmath in 80 digits, and again in 120, which must
agree, rounded to 64 bits. The last column is the size of which the bound in op.def counts units in the last place, where
the row says that this is not the result's.
"""
import math
import random
import struct

import mpmath as mp

ROWS = 24
rng = random.Random(20264)
INF, NAN = math.inf, math.nan
HALF = mp.mpf(1) / 2


def f32(x):
    try:
        return struct.unpack("f", struct.pack("f", x))[0]
    except OverflowError:
        return math.copysign(INF, x)


def erfcx(x):
    return mp.exp(x * x) * mp.erfc(x) if x < 50 else mp.hyperu(HALF, HALF, x * x) / mp.sqrt(mp.pi)


def erfcinv(q):
    if q > 1:
        return -erfcinv(2 - q)
    if q > mp.mpf("0.1"):
        return mp.erfinv(1 - q)
    log = mp.log(q)
    x = mp.sqrt(-log)
    while True:
        e = mp.erfc(x)
        step = (mp.log(e) - log) / (-2 / mp.sqrt(mp.pi) * mp.exp(-x * x) / e)
        x -= step
        if abs(step) < mp.mpf(10) ** (10 - mp.mp.dps) * x:
            return x


def log_ndtr(x):
    return mp.log(mp.erfc(-x / mp.sqrt(2)) / 2) if x < 0 else mp.log1p(-mp.erfc(x / mp.sqrt(2)) / 2)


def softplus(x):
    return mp.log1p(mp.exp(x)) if x < 0 else x + mp.log1p(mp.exp(-x))


def selu(x):
    scale, alpha = mp.mpf("1.0507009873554804934193349852946"), mp.mpf("1.6732632423543772848170429916717")
    return scale * (x if x > 0 else alpha * mp.expm1(x))


def cut(x):
    return mp.mpf(0) if x <= -3 else mp.mpf(1) if x >= 3 else (x + 3) / 6


def scaled_bessel(n):
    return lambda x: mp.besseli(n, x) * mp.exp(-abs(x))


def hurwitz(s, q):
    if q == 1:
        return mp.zeta(s)
    if q > 0:
        return mp.zeta(s, q)
    n = int(1 - mp.floor(q))
    return mp.fsum([(q + k) ** -int(s) for k in range(n)]) + mp.zeta(s, q + n)


def ln_beta(a, b):
    r = mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(a + b)
    return mp.re(r)


REFERENCE = {
    "cbrt": lambda x: mp.cbrt(abs(x)) * mp.sign(x), "exp2": lambda x: mp.mpf(2) ** x, "exp10": lambda x: mp.mpf(10) ** x,
    "sinc": lambda x: mp.sinpi(x) / (mp.pi * x), "deg2rad": lambda x: x * mp.pi / 180, "rad2deg": lambda x: x * 180 / mp.pi,
    "softplus": softplus, "mish": lambda x: x * mp.tanh(softplus(x)), "hardswish": lambda x: x * cut(x), "hardsigmoid": cut,
    "selu": selu, "entr": lambda x: -x * mp.log(x), "logit": lambda x: mp.log(x) - mp.log1p(-x), "erfc": mp.erfc,
    "erfcx": erfcx, "erfinv": lambda x: mp.sign(x) * erfcinv(1 - abs(x)) if abs(x) > HALF else mp.erfinv(x),
    "erfcinv": erfcinv, "ndtr": lambda x: mp.erfc(-x / mp.sqrt(2)) / 2,
    "ndtri": lambda x: -mp.sqrt(2) * erfcinv(2 * x), "log_ndtr": log_ndtr, "gamma": mp.gamma,
    "lgamma": lambda x: mp.re(mp.loggamma(x)), "digamma": mp.digamma, "i0": lambda x: mp.besseli(0, x),
    "i1": lambda x: mp.besseli(1, x), "i0e": scaled_bessel(0), "i1e": scaled_bessel(1),
    "celu": lambda a, b: a if a > 0 else b * mp.expm1(a / b), "xlogy": lambda a, b: a * mp.log(b),
    "xlog1py": lambda a, b: a * mp.log1p(b), "polygamma": lambda n, x: mp.polygamma(int(n), x), "zeta": hurwitz,
    "beta": mp.beta, "betaln": ln_beta,
}
# The size that errors are measured by, where it is not the result's.
SCALE = {
    "lgamma": lambda x: mp.mpf(1) if x < 0 else mp.mpf(0), "betaln": lambda a, b: mp.mpf(1),
    "digamma": lambda x: max(mp.mpf(1), mp.log(1 - x)) if x < 0 else mp.mpf(0),
    "polygamma": lambda n, x: mp.factorial(n) * hurwitz_sizes(n + 1, x) if x < 0 else mp.mpf(0),
    "zeta": lambda s, q: hurwitz_sizes(s, q) if q < 0 else mp.mpf(0),
}


def hurwitz_sizes(s, q):
    n = int(1 - mp.floor(q))
    return mp.fsum([abs(q + k) ** -int(s) for k in range(n)]) + mp.zeta(s, q + n)


class Dtype:
    def __init__(self, bits):
        self.bits, self.double = bits, bits == 64
        self.tiny, self.huge = (5e-324, 1.7e308) if self.double else (1.4e-45, 3.3e38)
        self.eps = 2.0 ** (-52 if self.double else -23)

    def fit(self, x):
        return float(x) if self.double else f32(x)

    def span(self, low, high):
        return rng.uniform(low, high)

    def magnitude(self, low, high):
        return math.exp(rng.uniform(math.log(low), math.log(high)))

    def beside(self, x):
        """A neighbour of x, near or very near."""
        return x + rng.choice((-1, 1)) * max(abs(x), 1e-9) * self.eps * 2.0 ** rng.randint(0, 30)


def pick(d, spans, points):
    k = rng.random()
    if k < 0.55:
        return d.span(*rng.choice(spans))
    if k < 0.75 and points:
        return d.beside(rng.choice(points))
    return rng.choice((1, -1)) * d.magnitude(d.tiny, d.huge if k > 0.9 else 1)


def argument(op, d):
    big = 709.0 if d.double else 88.0
    spans = {
        "exp2": ([(-1074, 1023), (-1, 1)] if d.double else [(-149, 127), (-1, 1)], [1, 10]),
        "exp10": ([(-323, 308), (-1, 1)] if d.double else [(-45, 38), (-1, 1)], [1, 10]),
        "sinc": ([(-10, 10), (0, 1000)], [1, 2, 3, 7]), "softplus": ([(-big - 30, 40), (-3, 3)], [0.5]),
        "mish": ([(-big - 30, 40), (-3, 3)], [-650, -1]), "hardswish": ([(-4, 4)], [-3, 3]), "hardsigmoid": ([(-4, 4)], [-3, 3]),
        "selu": ([(-40, 4)], [-0.35, 0.35]), "entr": ([(0, 3)], [1]), "logit": ([(0, 1)], [0.5, 0.3, 0.65, 1]),
        "erfc": ([(-6, 27), (-1, 1)] if d.double else [(-4, 10), (-1, 1)], [0.5, 26]),
        "erfcx": ([(-26, 40)] if d.double else [(-9, 30)], [0.5, 3]), "erfinv": ([(-1, 1)], [0.5, -0.5, 1, -1]),
        "erfcinv": ([(0, 2)], [0.5, 1, 1.5, 2]), "ndtr": ([(-38, 9)] if d.double else [(-14, 6)], [1, -1]),
        "ndtri": ([(0, 1)], [0.25, 0.5, 0.75, 1]), "log_ndtr": ([(-50, 10), (-3, 3)], [1, -20]),
        "gamma": ([(-5, 10), (-183, 0), (0, 171)] if d.double else [(-5, 10), (-41, 0), (0, 35)], [1, 2, 3, -1, -2, -3]),
        "lgamma": ([(-10, 10), (0, 300)], [0.5, 1, 2, 3, -1, -2]), "digamma": ([(-10, 10), (0, 300)], [0.5, 1.4616321449683623, 3, -1]),
        "i0": ([(-20, 20), (-big, big)], [10, 512]), "i1": ([(-20, 20), (-big, big)], [10, 512]),
        "i0e": ([(-20, 20), (-big, big)], [10]), "i1e": ([(-20, 20), (-big, big)], [10]),
    }.get(op, ([(-100, 100)], [1]))
    return (pick(d, *spans),)


def arguments(op, d):
    if op == "celu":
        return pick(d, [(-20, 5)], [-1]), rng.choice((1, -1)) * d.magnitude(0.1, 30)
    if op == "xlogy":
        return d.span(-5, 5), rng.choice((d.magnitude(d.tiny, d.huge), d.beside(1)))
    if op == "xlog1py":
        return d.span(-5, 5), rng.choice((d.span(-1, 5), d.magnitude(d.tiny, 1), -d.magnitude(d.tiny, 1)))
    if op == "polygamma":
        x = rng.choice((d.span(0, 20), d.span(-12, 0), d.magnitude(0.01, 1000)))
        return float(rng.randint(0, 12)), x
    if op == "zeta":
        k = rng.randrange(4)
        return ((1 + d.magnitude(1e-3, 60), d.magnitude(0.01, 1e5)), (d.span(-20, 0.98), 1.0), (d.span(1, 30), 1.0),
                (float(rng.randint(2, 9)), d.span(-9, 0)))[k]
    if rng.random() < 0.6:
        return d.magnitude(1e-3, 150), d.magnitude(1e-3, 150)
    return d.span(-6, 6), d.span(-6, 6)


def number(x):
    m, e = float(x).hex().split("p")
    return (m.rstrip("0").rstrip(".") if "." in m else m) + "p" + e


def rounded(v):
    if v == 0:
        return "0"
    with mp.workprec(64):
        v = +v
    s, man, exp, _ = v._mpf_
    return "%s0x%xp%dL" % ("-" if s else "", int(man), exp)


def exact(f, args):
    """Both precisions agree to 70 bits."""
    got = []
    for digits in (80, 120):
        with mp.workdps(digits):
            got.append(mp.re(mp.mpf(0) + f(*[mp.mpf(a) for a in args])))
    with mp.workdps(120):
        assert abs(got[1]) < mp.mpf(10) ** -400 or abs(got[0] - got[1]) <= abs(got[1]) * mp.mpf(2) ** -70, (args, got)
    return got[1]


def emit(op, d):
    draw = arguments if op in ("celu", "xlogy", "xlog1py", "polygamma", "zeta", "beta", "betaln") else argument
    done = 0
    while done < ROWS:
        args = [d.fit(x) for x in draw(op, d)]
        if any(math.isinf(x) or x == 0 for x in args) or outside(op, args):
            continue
        try:
            want = exact(REFERENCE[op], args)
        except (ValueError, ZeroDivisionError, OverflowError):
            continue  # a pole, or no real result
        if not mp.isfinite(want) or abs(want) > d.huge or 0 < abs(want) < mp.mpf(d.tiny) / 4:
            continue
        scale = exact(SCALE[op], args) if op in SCALE else mp.mpf(0)
        print("G(%s, %d, %s, %s, %s, %s)" % (op, d.bits, number(args[0]), number(args[1]) if len(args) > 1 else "0",
                                            rounded(want), number(scale) if scale else "0"))
        done += 1


def outside(op, args):
    """Where the function has no real value, and mpmath gives the real part of a complex one."""
    x = args[0]
    return (op in ("entr", "logit", "ndtri", "erfcinv") and x <= 0 or op in ("logit", "ndtri") and x >= 1 or
            op == "erfcinv" and x >= 2 or op == "erfinv" and abs(x) >= 1 or op == "xlog1py" and args[1] <= -1 or
            op == "xlogy" and args[1] <= 0 or
            op in ("lgamma", "digamma", "gamma") and x < 0 and x == int(x))


def main():
    print("/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception")
    print(" * By special_golden.py: G(op, bits of the dtype, a, b, result, size that errors are measured by). */")
    for op in REFERENCE:
        for bits in (32, 64):
            emit(op, Dtype(bits))


main()
