# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Polynomials of the special functions: writes include/ndock/scalar_special_fits_tmpl.h to standard output.

Made with mpmath under Python 3.11; rerun with
    python3 tests/data/special_fits.py > include/ndock/scalar_special_fits_tmpl.h
A row of FITS is a name, what it is in words, the function, the interval for f64 and that for single precision. Each is
interpolated at the zeros of a Chebyshev polynomial of the least degree whose remainder, by the coefficients that follow, is
below 2^-57 of the least value (2^-31 for single precision), in 60 digits, and written as powers of its argument.
"""
import mpmath as mp

mp.mp.dps = 60
TINY = mp.mpf(10) ** -24
HALF = mp.mpf(1) / 2


def chebyshev(f, low, high, degree):
    """Coefficients of T_0 ... T_degree over [low, high]."""
    n = degree + 1
    angles = [mp.pi * (k + HALF) / n for k in range(n)]
    values = [f((high + low) / 2 + (high - low) / 2 * mp.cos(a)) for a in angles]
    return [(2 if j else 1) * sum(v * mp.cos(j * a) for v, a in zip(values, angles)) / n for j in range(n)]


def powers(c, low, high):
    """The same polynomial by powers of x."""
    scale, shift = 2 / (high - low), -(high + low) / (high - low)

    def times(p):  # p*(scale*x + shift)
        up = [mp.mpf(0)] + [scale * v for v in p]
        return [u + shift * v for u, v in zip(up, p + [mp.mpf(0)])]

    before, now = [mp.mpf(1)], [shift, scale]
    total = [c[0]] + [mp.mpf(0)] * (len(c) - 1)
    for k in range(1, len(c)):
        for i, v in enumerate(now):
            total[i] += c[k] * v
        doubled = [2 * v for v in times(now)]
        before, now = now, [v - (before[i] if i < len(before) else 0) for i, v in enumerate(doubled)]
    return total


def fit(f, low, high, bits):
    low, high = mp.mpf(low), mp.mpf(high)
    long = chebyshev(f, low, high, 47)
    bound, tail, degree = max(map(abs, long)) * mp.mpf(2) ** -bits, mp.mpf(0), 47
    while degree > 1 and tail + abs(long[degree]) < bound:
        tail += abs(long[degree])
        degree -= 1
    return powers(chebyshev(f, low, high, degree), low, high)


def erfcx(z):
    return mp.exp(z * z) * mp.erfc(z) if z < 20 else mp.hyperu(HALF, HALF, z * z) / mp.sqrt(mp.pi)


def erfcinv(q):
    l = mp.log(q)
    x = mp.sqrt(-l) if q < mp.mpf(1) / 100 else mp.erfinv(1 - q)
    for _ in range(60):
        e = mp.erfc(x)
        step = (mp.log(e) - l) / (-2 / mp.sqrt(mp.pi) * mp.exp(-x * x) / e)
        x -= step
        if abs(step) < mp.mpf(10) ** -50 * x:
            return x
    raise ArithmeticError(q)


def from_ratio(k):
    """x of t = (x - k)/(x + k)."""
    return lambda t: k * (1 + t) / (1 - t)


def of_ratio(f, k):
    x = from_ratio(mp.mpf(k))
    return lambda t: f(x(t))


def ratio(x, k):
    x = mp.mpf(x)
    return (x - k) / (x + k)


def of_square(f, limit):
    """f of the square root of its argument; limit at 0."""
    return lambda w: f(mp.sqrt(w)) if w > TINY else limit


def stirling(y):
    return mp.loggamma(y) - ((y - HALF) * mp.log(y) - y + mp.log(2 * mp.pi) / 2)


PSI_ROOT = mp.findroot(mp.digamma, 1.4616)
LOG_END = ((mp.sqrt(2) - 1) / (mp.sqrt(2) + 1)) ** 2
FAR = mp.mpf(10) ** -14

FITS = [
    ("exp", "(exp(s) - 1 - s)/s^2, |s| <= log(2)/2",
     lambda s: (mp.expm1(s) - s) / s ** 2 if abs(s) > TINY ** HALF else HALF, ("-0.347", "0.347")),
    ("log", "(2 atanh(s) - 2 s)/s^3 over w = s^2",
     of_square(lambda s: (2 * mp.atanh(s) - 2 * s) / s ** 3, mp.mpf(2) / 3), (0, LOG_END)),
    ("sinpi", "(sin(pi r)/r - pi)/r^2 over w = r^2, r <= 1/4",
     of_square(lambda r: (mp.sinpi(r) / r - mp.pi) / r ** 2, -mp.pi ** 3 / 6), (0, "0.0625")),
    ("cospi", "(cos(pi r) - 1)/r^2 over w = r^2, r <= 1/4",
     of_square(lambda r: (mp.cospi(r) - 1) / r ** 2, -mp.pi ** 2 / 2), (0, "0.0625")),
    ("erfcx", "(z + 1/2) exp(z^2) erfc(z) over t = (z - 3)/(z + 3), z >= 0",
     of_ratio(lambda z: erfcx(z) * (z + HALF), 3), (-1, 1 - mp.mpf(10) ** -9)),
    ("erf", "erf(x)/x over w = x^2, x <= 1/2", of_square(lambda x: mp.erf(x) / x, 2 / mp.sqrt(mp.pi)), (0, "0.2501")),
    ("inverse_near", "erfinv(x)/x over w = x^2, x <= 3/4",
     of_square(lambda x: mp.erfinv(x) / x, mp.sqrt(mp.pi) / 2), (0, "0.5626")),
    ("inverse_far", "erfcinv(exp(-r^2))/r over t = (r - 3)/(r + 3), exp(-r^2) <= 1/4 and a number of the format",
     of_ratio(lambda r: erfcinv(mp.exp(-r * r)) / r, 3),
     (ratio("1.17", 3), ratio("27.3", 3)), (ratio("1.17", 3), ratio("10.2", 3))),
    ("gamma", "gamma(5/2 + u), |u| <= 1/2", lambda u: mp.gamma(u + mp.mpf(5) / 2), ("-0.5", "0.5")),
    ("lgamma", "lgamma(x)/((x - 1)(x - 2)) over t = (x - 1.22)/(x + 1.22), 1/2 <= x <= 3",
     of_ratio(lambda x: mp.loggamma(x) / ((x - 1) * (x - 2)), "1.22"),
     (ratio("0.5", mp.mpf("1.22")), ratio(3, mp.mpf("1.22")))),
    ("stirling", "x (lgamma(x) - (x - 1/2) log(x) + x - log(2 pi)/2) over v = 1/x^2, x >= 3",
     lambda v: stirling(1 / mp.sqrt(v)) / mp.sqrt(v), (FAR, mp.mpf(1) / 9)),
    ("zeta", "zeta(s) + 1/(1 - s), 0 <= s <= 1",
     lambda s: mp.zeta(s) + 1 / (1 - s), (0, 1)),
    ("digamma", "digamma(x)/(x - root) over t = (x - 1.22)/(x + 1.22), 1/2 <= x <= 3",
     of_ratio(lambda x: mp.digamma(x) / (x - PSI_ROOT), "1.22"),
     (ratio("0.5", mp.mpf("1.22")), ratio(3, mp.mpf("1.22")))),
    ("digamma_far", "x^2 (log(x) - 1/(2x) - digamma(x)) over v = 1/x^2, x >= 3",
     lambda v: (mp.log(1 / mp.sqrt(v)) - mp.sqrt(v) / 2 - mp.digamma(1 / mp.sqrt(v))) / v, (FAR, mp.mpf(1) / 9)),
    ("i0_near", "I0(x) over w = x^2/4, x <= 10", of_square(lambda r: mp.besseli(0, 2 * r), mp.mpf(1)), (0, 25), None, 57, 12),
    ("i1_near", "2 I1(x)/x over w = x^2/4, x <= 10",
     of_square(lambda r: mp.besseli(1, 2 * r) / r, mp.mpf(1)), (0, 25), None, 57, 10),
    ("i0_far", "sqrt(x) exp(-x) I0(x) over v = 1/x, x >= 10",
     lambda v: mp.besseli(0, 1 / v) * mp.exp(-1 / v) / mp.sqrt(v), (mp.mpf(10) ** -4, "0.1")),
    ("i1_far", "sqrt(x) exp(-x) I1(x) over v = 1/x, x >= 10",
     lambda v: mp.besseli(1, 1 / v) * mp.exp(-1 / v) / mp.sqrt(v), (mp.mpf(10) ** -4, "0.1")),
    ("cbrt", "cbrt(m), to a millionth, 1 <= m <= 2", mp.cbrt, (1, 2), None, 20),
]


def body(c, bits):
    """Horner's rule on the even and the odd coefficients, side by side; the constant is added last, to what is smaller."""
    digits = 17 if bits > 45 else 11
    text = [mp.nstr(v, digits, min_fixed=-5, max_fixed=17) for v in c]
    n = len(text) - 1
    print("    ND_W u = x * x, e = ND_C(%s), o = ND_C(%s);" % (text[n - n % 2], text[n - 1 + n % 2]))
    if n % 2:
        print("    o = o * u + ND_C(%s);" % text[n - 2])
    for i in range(n - 2 - n % 2, 1, -2):
        print("    ND_PAIR(%s, %s);" % (text[i], text[i - 1]))
    print("    return ND_C(%s) + (o * x + e * u);" % text[0])


def main():
    print("""/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Polynomials of scalar_special_tmpl.h, which includes this: made by tests/data/special_fits.py,
 * which says how. Those of single precision are shorter, where they are computed in f64. */
#define ND_PAIR(even, odd) (e = e * u + ND_C(even), o = o * u + ND_C(odd))
""")
    for name, words, f, long, *more in FITS:
        short = more[0] if more and more[0] else long
        bits = more[1] if len(more) > 1 else 57
        grows = more[2] if len(more) > 2 else 0  # bits by which the largest value is above the smallest
        print("/* %s. */" % words)
        print("ND_FN ND_W ND_NAME(fit_%s)(ND_W x)\n{" % name)
        if bits == 57:
            print("#if ND_W_WIDER")
            body(fit(f, *short, 31 + grows), 31 + grows)
            print("#else")
        body(fit(f, *long, bits + grows), bits + grows)
        if bits == 57:
            print("#endif")
        print("}")
    print("#undef ND_PAIR")


main()
