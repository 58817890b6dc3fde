#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Seven functions as users write them, run operation by operation, through nd.fuse, as graphs (nd.graphed), and both: the same
bits, and the times.

    examples/fused.py [--device auto] [--size 1000000] [--rounds 5]

--device: several, with commas, are one table after another."""
import argparse
import time

import ndock as nd


def softmax(x):
    e = nd.exp(x - nd.max(x, axis=-1, keepdims=True))
    return e / nd.sum(e, axis=-1, keepdims=True)


def gelu(x):
    return 0.5 * x * (1 + nd.tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))


def adam(params, grads, means, squares, step_size):
    """One step for a list of parameters: new parameters, means and mean squares."""
    made = []
    for p, g, m, v in zip(params, grads, means, squares):
        m = 0.9 * m + 0.1 * g
        v = 0.999 * v + 0.001 * g * g
        made.append((p - step_size * m / (nd.sqrt(v) + 1e-8), m, v))
    return made


def black_scholes(price, strike, years):
    rate, sigma = 0.02, 0.3
    root = sigma * nd.sqrt(years)
    d1 = (nd.log(price / strike) + (rate + 0.5 * sigma * sigma) * years) / root
    discounted = strike * nd.exp(-rate * years)
    call = price * nd.special.ndtr(d1) - discounted * nd.special.ndtr(d1 - root)
    return call, call - price + discounted


def mandelbrot(re, im):
    """After how many of 50 iterations each point has left the circle of radius 2."""
    x, y, inside = re, im, re * 0 + 1
    for _ in range(50):
        xx, yy = x * x, y * y
        inside = inside + (xx + yy <= 4)
        x, y = xx - yy + re, 2 * (x * y) + im
    return inside


def k_means(x, y, cx, cy, ids):
    """One step: the centres, of k points, move to the means of the points (columns x and y) nearest to them."""
    dx, dy = x - cx, y - cy
    near = nd.argmin(dx * dx + dy * dy, axis=1, keepdims=True)
    mine = (near == ids).astype(nd.float32)
    count = nd.maximum(nd.sum(mine, axis=0), 1)
    return nd.sum(mine * x, axis=0) / count, nd.sum(mine * y, axis=0) / count


def heat(u):
    """One step of the heat equation: the inner points."""
    middle = u[1:-1, 1:-1]
    return middle + 0.1 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * middle)


def programs(n, device):
    """name, function, arguments"""
    key = iter(range(1000))

    def make(*shape):
        return nd.random.Generator(next(key)).uniform(0.5, 1.5, shape, dtype="float32", device=device)
    side = max(int(n ** 0.5), 4)
    layers = [[make(max(n // 100 // 64, 1), 64) for _ in range(100)] for _ in range(4)]
    yield "softmax by hand", softmax, (make(max(n // 1000, 1), 1000),)
    yield "GELU by hand", gelu, (make(n),)
    yield "Adam, 100 arrays", adam, (*layers, 1e-3)
    yield "Black-Scholes", black_scholes, (make(n), make(n), make(n))
    yield "Mandelbrot", mandelbrot, (make(n // 10) * 2.5 - 3.25, make(n // 10) * 2.5 - 2.5)
    yield "k-means step", k_means, (make(n // 10, 1), make(n // 10, 1), make(8), make(8), nd.arange(8, device=device))
    yield "heat step", heat, (make(side, side),)


def flat(x):
    return [x] if isinstance(x, nd.Array) else [a for part in x for a in flat(part)]


def best(function, arguments, rounds, device):
    least = 1e9
    for _ in range(rounds):
        nd.synchronize(device)
        start = time.perf_counter()
        function(*arguments)
        nd.synchronize(device)
        least = min(least, time.perf_counter() - start)
    return least * 1e3


def alike(got, want):
    return len(got) == len(want) and all(bool(nd.all((g == w) | (nd.isnan(g) & nd.isnan(w)))) for g, w in zip(got, want))


def table(device, args):
    print(f"{device}: milliseconds operation by operation, fused, as a graph, as a graph of what is fused; the first over each")
    for name, function, arguments in programs(args.size, device):
        fused = nd.fuse(function)
        ways = [function, fused, nd.graphed(function), nd.graphed(nd.fuse(function))]
        want = flat(function(*arguments))
        same, reasons = True, []
        for way in ways[1:]:
            for _ in range(3):  # traced, compiled, captured
                way(*arguments)
            same = alike(flat(way(*arguments)), want) and same
        if fused.fused_reason:
            reasons.append("in part by single operations: " + fused.fused_reason)
        reasons += [f"no graph: {why}" for way in ways[2:] for why in way.reasons()]
        took = [best(way, arguments, args.rounds, device) for way in ways]
        print(f"{name:18} " + " ".join(f"{t:8.3f}" for t in took) + "  " + " ".join(f"{took[0] / t:5.2f}" for t in took[1:])
              + f"  {'same values' if same else 'DIFFERS'}" + "".join("  " + why for why in reasons))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="auto")
    parser.add_argument("--size", type=int, default=1000000)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    for name in args.device.split(","):
        table(nd.Device(name), args)


if __name__ == "__main__":
    main()
