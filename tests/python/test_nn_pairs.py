#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutions of bfloat16 by sums of pairs, on the CPU by AMX or by each SIMD level's own code: within rounding of float64 over random
geometries, the same bits at every level, on several threads and in both layouts, numbers that AMX would flush and infinities included.

    test_nn_pairs.py --hashes N: a line of hashes for each of N geometries."""
import hashlib
import os
import subprocess
import sys

import ndock as nd
from arrays import from_numpy, host, np
from tap import cases, main
from test_nn_direct import Case, last_of

F = nd.nn
KINDS = ("normal", "spread", "wide", "tiny", "infinite")
# Rows of pixels that are copied by parts: with padding, and all positions of an image in one row.
LONG = {2000: (1, 40, (4, 300), 24, 1, (3, 3), {"stride": (1, 2), "padding": (1, 2), "dilation": (1, 1)}),
        2001: (2, 140, (50, 61), 20, 2, (1, 1), {"stride": (1, 1), "padding": (0, 0), "dilation": (1, 1)})}


def geometry(seed):
    """Images, channels, extents, results, groups, kernel and options, as Case takes them: the same ones on every machine."""
    if seed in LONG:
        return LONG[seed]
    draw = np.random.default_rng(seed).integers
    groups = (1, 1, 1, 2, 4)[draw(0, 5)]
    kernel, dilation = tuple(draw(1, 6, 2)), tuple(draw(1, 3, 2))
    least = [d * (k - 1) + 1 for d, k in zip(dilation, kernel)]
    extents = tuple(int(draw(n, 28)) for n in least)
    options = dict(stride=tuple(draw(1, 4, 2)), padding=tuple(draw(0, 3, 2)), dilation=dilation)
    options = {k: tuple(int(i) for i in v) for k, v in options.items()}
    return (int(draw(1, 3)), groups * int(draw(1, 70)), extents, groups * int(draw(3, 80)), groups, tuple(int(k) for k in kernel), options)


def numbers(rng, shape, kind):
    """Rounded to bfloat16. Wide: products and sums are below 2^-126 too; tiny: so are numbers."""
    scale = {"normal": 0, "spread": 8, "wide": 35, "tiny": 0, "infinite": 0}[kind]
    x = rng.normal(size=shape) * np.exp2(np.clip(rng.normal(0, scale, shape), -120, 60)) * (rng.random(shape) < 0.8)
    x = x * 2.0**-125 if kind == "tiny" else x
    if kind == "infinite" and x.size:
        x.flat[rng.integers(0, x.size)] = np.inf
    return host(nd.astype(nd.astype(from_numpy(x.astype(np.float32), "cpu"), nd.bfloat16), nd.float64))


def case_of(seed, kind):
    case, rng = Case(geometry(seed), seed), np.random.default_rng(seed + 1)
    case.x, case.w, case.g = (numbers(rng, a.shape, k) for a, k in ((case.x, kind), (case.w, "normal"), (case.g, "normal")))
    return case


def results(case, layout="first"):
    x, w, g = (nd.astype(from_numpy(a.astype(np.float32), "cpu"), nd.bfloat16) for a in (case.x, case.w, case.g))
    if layout == "last":
        x, w, g = last_of(x), last_of(w), last_of(g)
    options = dict(case.options, groups=case.groups)
    return [host(nd.astype(r, nd.float64)) for r in (F.conv2d(x, w, **options), F.conv2d_input(x.shape, w, g, **options),
                                                     F.conv2d_weight(x, w.shape, g, **options))]


def hashes(n):
    lines = []
    for seed in (*range(n), *LONG):
        got = results(case_of(seed, KINDS[seed % len(KINDS)]))
        lines.append(" ".join(hashlib.sha256(np.where(np.isnan(r), np.nan, r).tobytes()).hexdigest()[:16] for r in got))
    return "\n".join(lines)


@cases("normal", "spread", "infinite")
def test_within_rounding(kind):
    for seed in (*range(1000, 1006), *LONG):
        case, sizes = case_of(seed, kind), case_of(seed, kind)
        sizes.x, sizes.w, sizes.g = abs(case.x), abs(case.w), abs(case.g)
        with np.errstate(invalid="ignore"):
            wanted, most = case.expected(), sizes.expected()
        for layout in ("first", "last"):
            for got, want, size in zip(results(case, layout), wanted, most):
                inside = np.isfinite(want)
                np.testing.assert_array_equal(got[~inside], want[~inside])
                # Half a unit of bfloat16, and four roundings of f32 for the sum of sizes.
                assert (abs(got[inside] - want[inside]) <= abs(want[inside]) * 2.0**-8 + size[inside] * 2.0**-22).all(), (seed, layout)


@cases(("NDOCK_CPU_ISA", "avx512"), ("NDOCK_CPU_ISA", "avx2"), ("NDOCK_CPU_ISA", "baseline"), ("NDOCK_NUM_THREADS", "3"),
       ("NDOCK_NUM_THREADS", "1"))
def test_same_bits(variable, value):
    run = subprocess.run([sys.executable, os.path.abspath(__file__), "--hashes", "10"], env={**os.environ, variable: value},
                         capture_output=True, text=True, check=True)
    assert run.stdout.strip() == hashes(10)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--hashes"]:
        print(hashes(int(sys.argv[2])))
    else:
        main(globals())
