#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Special functions compiled at run time, as PyTorch compiles zeta and gcd on GPUs when they are first called: here from formulas of
the program, on any device, and kept for the next process (nd.kernel_cache).

    examples/jit.py [--device cpu]

gcd is Euclid's, zeta Hurwitz's by the Euler-Maclaurin formula (NIST Digital Library of Mathematical Functions, 25.11.28), for s > 1 and
q > 0. Both are compared with the library's own operations; times are of the first call, which compiles or reads the cache, and of
the best of ten more."""
import argparse
import time

import ndock as nd

gcd = nd.ElementwiseKernel("int64 x, int64 y", "int64 z", """
    int64 a = x < 0 ? -x : x, b = y < 0 ? -y : y;
    while (b != 0) {
        const int64 rest = a % b;
        a = b;
        b = rest;
    }
    z = a;""", "gcd_by_euclid")

zeta = nd.ElementwiseKernel("float64 s, float64 q", "float64 z", """
    float64 total = 0, w = q;
    for (int k = 0; k < 10; k++) {
        total += pow(w, -s);
        w += 1;
    }
    const float64 last = pow(w, -s), w2 = w * w;
    total += last * w / (s - 1) + 0.5 * last;
    float64 f = s * last / w;
    total += f / 12;
    f *= (s + 1) * (s + 2) / w2;
    total -= f / 720;
    f *= (s + 3) * (s + 4) / w2;
    total += f / 30240;
    f *= (s + 5) * (s + 6) / w2;
    total -= f / 1209600;
    f *= (s + 7) * (s + 8) / w2;
    total += f / 47900160;
    f *= (s + 9) * (s + 10) / w2;
    total -= f * 691 / 1307674368000.0;
    z = total;""", "zeta_by_euler_maclaurin")


def timed(f, *args):
    start = time.perf_counter()
    result = f(*args)
    nd.synchronize(args[0].device)
    return result, time.perf_counter() - start


def show(name, kernel, own, *args):
    """One function: its times beside the library's, and how far both are from each other."""
    result, first = timed(kernel, *args)
    best = min(timed(kernel, *args)[1] for _ in range(10))
    want, _ = timed(own, *args)
    library = min(timed(own, *args)[1] for _ in range(3))
    far = float(nd.max(nd.abs(nd.subtract(result, want)) / nd.maximum(nd.abs(want), 1)))
    print(f"{name:<5} first call {1e3 * first:8.2f} ms   then {1e3 * best:8.3f} ms   nd {1e3 * library:8.3f} ms   "
          f"largest difference {far:.1e}")
    return far


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--size", type=int, default=200_000)
    args = parser.parse_args()
    nd.set_default_device(args.device)
    x = nd.random.integers(-10**6, 10**6, args.size, dtype=nd.int64)
    y = nd.random.integers(-10**6, 10**6, args.size, dtype=nd.int64)
    s = nd.random.uniform(1.5, 10, args.size)
    q = nd.random.uniform(0.5, 30, args.size)
    worst = show("gcd", gcd, nd.gcd, x, y)
    worst = max(worst, show("zeta", zeta, nd.special.zeta, s, q))
    print(nd.kernel_cache)
    if worst > 1e-13:
        raise SystemExit("WRONG")


if __name__ == "__main__":
    main()
