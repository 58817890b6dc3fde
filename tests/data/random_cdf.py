#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes random_cdf.inc: distribution functions of the distributions of distribution.def by mpmath, to 17 digits, at edges
that cut the line into cells of about equal probability. Edges of counts are halves of odd numbers.
Usage: python3 random_cdf.py > random_cdf.inc (needs mpmath)."""
import mpmath as mp

mp.mp.dps = 40
CELLS = 64


def normal(x):
    return mp.erfc(-x / mp.sqrt(2)) / 2


def gamma(a, scale=1):
    return lambda x: mp.gammainc(a, 0, mp.mpf(x) / scale, regularized=True) if x > 0 else mp.mpf(0)


def student(df):
    def cdf(x):
        half = mp.betainc(mp.mpf(df) / 2, mp.mpf(1) / 2, 0, df / (df + mp.mpf(x) ** 2), regularized=True) / 2
        return 1 - half if x > 0 else half
    return cdf


def truncated(low, high, loc, scale):
    def below(a, b):
        """Probability of (a, b) of the standard normal, from the side where it does not cancel."""
        return normal(b) - normal(a) if b < 0 else normal(-a) - normal(-b)
    a, b = (mp.mpf(low) - loc) / scale, (mp.mpf(high) - loc) / scale
    return lambda x: below(a, min(max((mp.mpf(x) - loc) / scale, a), b)) / below(a, b)


def triangular(a, c, b):
    a, b, c = mp.mpf(a), mp.mpf(b), mp.mpf(c)

    def cdf(x):
        x = min(max(mp.mpf(x), a), b)
        return (x - a) ** 2 / ((b - a) * (c - a)) if x < c else 1 - (b - x) ** 2 / ((b - a) * (b - c))
    return cdf


def counts(probability, first=0):
    """The distribution function from probabilities, summed up once."""
    sums = {}

    def cdf(x):
        k = int(mp.floor(x))
        if k < first:
            return mp.mpf(0)
        known = max((n for n in sums if n <= k), default=first - 1)
        total = sums.get(known, mp.mpf(0))
        for n in range(known + 1, k + 1):
            total += probability(n)
        sums[k] = total
        return total
    return cdf


def window(mean, deviation, first, ratio):
    """The same of probabilities that come one from another, within 40 deviations of the mean (beyond them lies less than 1e-300);
    first(k) is one of them, ratio(k) what takes it to the next."""
    begin, end = max(0, int(mean - 40 * deviation)), int(mean + 40 * deviation) + 40
    sums, p, total = [], first(begin), mp.mpf(0)
    for k in range(begin, end):
        total += p
        sums.append(total)
        p *= ratio(k)

    def cdf(x):
        k = int(mp.floor(x))
        return mp.mpf(0) if k < begin else sums[min(k, end - 1) - begin]
    return cdf


def poisson(lam):
    lam = mp.mpf(lam)
    return window(lam, mp.sqrt(lam), lambda k: mp.exp(k * mp.log(lam) - lam - mp.loggamma(k + 1)), lambda k: lam / (k + 1))


def binomial(n, p):
    p = mp.mpf(p)
    return window(n * p, mp.sqrt(n * p * (1 - p)), lambda k: mp.binomial(n, k) * p ** k * (1 - p) ** (n - k),
                  lambda k: (n - k) * p / ((k + 1) * (1 - p)) if k < n else mp.mpf(0))


def negative_binomial(n, p):
    return lambda x: mp.betainc(n, mp.floor(x) + 1, 0, mp.mpf(p), regularized=True) if x > 0 else mp.mpf(0)


def hypergeometric(good, bad, sample):
    whole = mp.binomial(good + bad, sample)
    return counts(lambda k: mp.binomial(good, k) * mp.binomial(bad, sample - k) / whole
                  if max(0, sample - bad) <= k <= min(good, sample) else 0)


def geometric(p):
    return lambda x: 1 - (1 - mp.mpf(p)) ** mp.floor(x) if x >= 1 else mp.mpf(0)


def positive(f):
    return lambda x: f(mp.mpf(x)) if x > 0 else mp.mpf(0)


def beta(a, b):
    return lambda x: mp.betainc(a, b, 0, min(max(mp.mpf(x), 0), 1), regularized=True)


REAL, COUNT = 0, 1
ROWS = [
    ("exponential", (2,), REAL, positive(lambda x: -mp.expm1(-x / 2))),
    ("cauchy", (1, 3), REAL, lambda x: mp.atan((mp.mpf(x) - 1) / 3) / mp.pi + mp.mpf(1) / 2),
    ("laplace", (-1, 2), REAL, lambda x: mp.exp((mp.mpf(x) + 1) / 2) / 2 if x < -1 else 1 - mp.exp(-(mp.mpf(x) + 1) / 2) / 2),
    ("logistic", (1, 0.5), REAL, lambda x: 1 / (1 + mp.exp(-(mp.mpf(x) - 1) * 2))),
    ("gumbel", (0.5, 2), REAL, lambda x: mp.exp(-mp.exp(-(mp.mpf(x) - 0.5) / 2))),
    ("rayleigh", (1.5,), REAL, positive(lambda x: -mp.expm1(-(x / 1.5) ** 2 / 2))),
    ("weibull", (0.75,), REAL, positive(lambda x: -mp.expm1(-x ** mp.mpf(0.75)))),
    ("weibull", (3,), REAL, positive(lambda x: -mp.expm1(-x ** 3))),
    ("pareto", (2.5,), REAL, positive(lambda x: 1 - (1 + x) ** mp.mpf(-2.5))),
    ("triangular", (-1, 0.5, 3), REAL, triangular(-1, 0.5, 3)),
    ("lognormal", (0.25, 0.5), REAL, positive(lambda x: normal((mp.log(x) - 0.25) / 0.5))),
    ("gamma", (0.05, 1), REAL, gamma(0.05)),
    ("gamma", (0.5, 2), REAL, gamma(0.5, 2)),
    ("gamma", (1, 1), REAL, gamma(1)),
    ("gamma", (2.5, 1), REAL, gamma(2.5)),
    ("gamma", (1000, 1), REAL, gamma(1000)),
    ("beta", (0.25, 0.5), REAL, beta(0.25, 0.5)),
    ("beta", (2, 5), REAL, beta(2, 5)),
    ("beta", (1, 1), REAL, beta(1, 1)),
    ("chisquare", (3,), REAL, gamma(1.5, 2)),
    ("standard_t", (1.5,), REAL, student(1.5)),
    ("standard_t", (30,), REAL, student(30)),
    ("truncated_normal", (-1, 1, 0, 1), REAL, truncated(-1, 1, 0, 1)),
    ("truncated_normal", (-2, 7, 1, 2), REAL, truncated(-2, 7, 1, 2)),
    ("truncated_normal", (8, 9, 0, 1), REAL, truncated(8, 9, 0, 1)),
    ("truncated_normal", (-40, -3, 1, 0.5), REAL, truncated(-40, -3, 1, 0.5)),
    ("truncated_normal", (0.25, 40, 0, 1), REAL, truncated(0.25, 40, 0, 1)),
    ("truncated_normal", (1, 2, 0, 1), REAL, truncated(1, 2, 0, 1)),
    ("bernoulli", (0.3,), COUNT, lambda x: mp.mpf(1) - mp.mpf(0.3) if 0 < x < 1 else mp.mpf(x > 1)),
    ("geometric", (0.3,), COUNT, geometric(0.3)),
    ("geometric", (0.001,), COUNT, geometric(0.001)),
    ("poisson", (0.25,), COUNT, poisson(0.25)),
    ("poisson", (9.5,), COUNT, poisson(9.5)),
    ("poisson", (10,), COUNT, poisson(10)),
    ("poisson", (12.5,), COUNT, poisson(12.5)),
    ("poisson", (300,), COUNT, poisson(300)),
    ("poisson", (1000000,), COUNT, poisson(1000000)),
    ("binomial", (5, 0.3), COUNT, binomial(5, 0.3)),
    ("binomial", (100, 0.05), COUNT, binomial(100, 0.05)),
    ("binomial", (20, 0.5), COUNT, binomial(20, 0.5)),
    ("binomial", (100, 0.75), COUNT, binomial(100, 0.75)),
    ("binomial", (40, 0.9), COUNT, binomial(40, 0.9)),
    ("binomial", (1000000, 0.25), COUNT, binomial(1000000, 0.25)),
    ("negative_binomial", (2.5, 0.25), COUNT, negative_binomial(2.5, 0.25)),
    ("negative_binomial", (50, 0.5), COUNT, negative_binomial(50, 0.5)),
    ("hypergeometric", (7, 5, 6), COUNT, hypergeometric(7, 5, 6)),
    ("hypergeometric", (100, 50, 20), COUNT, hypergeometric(100, 50, 20)),
    ("hypergeometric", (30, 1000, 400), COUNT, hypergeometric(30, 1000, 400)),
    ("hypergeometric", (1000, 2000, 1800), COUNT, hypergeometric(1000, 2000, 1800)),
]


def quantile(cdf, q, kind):
    """An edge below which about q lies: short, so that a double holds it."""
    low, high = (mp.mpf(-1), mp.mpf(1))
    while cdf(low) > q:
        low *= 2
    while cdf(high) < q:
        high *= 2
    if kind == COUNT:
        low, high = int(mp.floor(low)), int(mp.ceil(high))
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if cdf(middle + 0.5) < q else (low, middle)
        return float(high) + 0.5
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if cdf(middle) < q else (low, middle)
    return float(mp.nstr(low, 7))


def edges(cdf, kind):
    found = sorted({quantile(cdf, mp.mpf(i) / CELLS, kind) for i in range(1, CELLS)})
    values = [(x, cdf(x)) for x in found]
    return [(x, p) for x, p in values if p > 1e-3 / CELLS and p < 1 - 1e-3 / CELLS]


print("/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception\n"
      " * Made by tests/data/random_cdf.py with mpmath: CDF(distribution, parameters..., {edge, probability of what is below}...).\n"
      " * Deliberately no include guard. */")
for name, parameters, kind, cdf in ROWS:
    cells = edges(cdf, kind)
    print(f"CDF({name}, ({', '.join(map(repr, parameters))}), {len(parameters)},")
    for i in range(0, len(cells), 3):
        print("    " + " ".join(f"{{{x!r}, {mp.nstr(p, 17)}}}," for x, p in cells[i:i + 3]).rstrip("," if i + 3 >= len(cells) else ""))
    print(")")
