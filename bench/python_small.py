#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What small work costs from Python, ours and peers' in one run: `make bench-python`.

    bench/python_small.py [--rounds 30] [--size 16]

Operations on arrays of 16 float32 elements on the CPU, and on cuda:0 where it is; the contenders of a row take turns, and a
figure is the median of the rounds, in microseconds a call. On a GPU only the host's part is timed: the work is queued and
waited for between the rounds. Then the import of the package in a new process, beside Python's own start."""
import argparse
import statistics
import subprocess
import sys
import time

import ndock as nd

CALLS = 2000


def peer(name):
    try:
        return __import__(name)
    except Exception as error:  # a broken installation counts as none
        print(f"# without {name}: {error}")
        return None


def timed(fn):
    start = time.perf_counter()
    for _ in range(CALLS):
        fn()
    return (time.perf_counter() - start) / CALLS * 1e6


def row(label, contenders, rounds, wait=lambda: None):
    """contenders: name to function. Prints the medians, and peers' as multiples of ours."""
    figures = {name: [] for name in contenders}
    for turn in range(rounds + 3):
        for name, fn in contenders.items():
            us = timed(fn)
            wait()
            if turn >= 3:
                figures[name].append(us)
    median = {name: statistics.median(us) for name, us in figures.items()}
    ours = median["ndock"]
    print(f"{label:28}" + "  ".join(f"{name} {us:7.3f}" + ("" if name == "ndock" else f" ({us / ours:.2f})") for name, us in median.items()))


def cpu_rows(size, rounds):
    numpy, torch = peer("numpy"), peer("torch")
    groups = {"ndock": [nd.ones(size, dtype=nd.float32, device="cpu") for _ in range(2)]}
    if numpy:
        groups["NumPy"] = [numpy.ones(size, dtype="float32") for _ in range(2)]
    if torch:
        groups["PyTorch"] = [torch.ones(size) for _ in range(2)]
    for label, make in (("a + b", lambda a, b: lambda: a + b), ("a + 1", lambda a, b: lambda: a + 1),
                        ("a * b + a", lambda a, b: lambda: a * b + a), ("a.shape", lambda a, b: lambda: a.shape)):
        row(f"cpu    {label}", {name: make(a, b) for name, (a, b) in groups.items()}, rounds)
    spaces = {"ndock": nd, "NumPy": numpy, "PyTorch": torch}
    row("cpu    exp(a)", {name: (lambda f, a: lambda: f(a))(spaces[name].exp, a) for name, (a, _) in groups.items()}, rounds)
    row("cpu    sum(a)", {name: (lambda f, a: lambda: f(a))(spaces[name].sum, a) for name, (a, _) in groups.items()}, rounds)
    makers = {name: (lambda f: lambda: f(size))(spaces[name].zeros) for name in groups}
    row("cpu    zeros(n)", makers, rounds)
    index_rows(size, rounds, spaces, groups)


def index_rows(size, rounds, spaces, groups):
    """Views of a matrix, and the half of a vector that a mask chooses."""
    def matrix(space):
        return space.reshape(space.ones(64, dtype=space.float32), (8, 8))

    def mask(space):
        return space.arange(size) >= size // 2

    matrices = {name: matrix(spaces[name]) for name in groups}
    row("cpu    m[3]", {name: (lambda m: lambda: m[3])(m) for name, m in matrices.items()}, rounds)
    row("cpu    m[2:5, 3]", {name: (lambda m: lambda: m[2:5, 3])(m) for name, m in matrices.items()}, rounds)
    masked = {name: (a, mask(spaces[name])) for name, (a, _) in groups.items()}
    row("cpu    a[mask]", {name: (lambda a, m: lambda: a[m])(*pair) for name, pair in masked.items()}, rounds)


def cuda_rows(size, rounds):
    try:
        device = nd.Device("cuda:0")
    except nd.Error as error:
        print(f"# no cuda:0: {error}")
        return
    torch, cupy = peer("torch"), peer("cupy")
    groups = {"ndock": [nd.ones(size, dtype=nd.float32, device=device) for _ in range(2)]}
    waits = [lambda: nd.synchronize(device)]
    if torch and torch.cuda.is_available():
        groups["PyTorch"] = [torch.ones(size, device="cuda") for _ in range(2)]
        waits.append(torch.cuda.synchronize)
    if cupy:
        groups["CuPy"] = [cupy.ones(size, dtype="float32") for _ in range(2)]
        waits.append(cupy.cuda.Device().synchronize)
    for label, make in (("a + b", lambda a, b: lambda: a + b), ("a + 1", lambda a, b: lambda: a + 1)):
        row(f"cuda:0 {label}", {name: make(a, b) for name, (a, b) in groups.items()}, rounds, lambda: [w() for w in waits])


def import_row(rounds):
    """Milliseconds of wall clock: medians, and the difference."""
    took = {"pass": [], "import ndock": []}
    for _ in range(max(5, rounds // 2)):
        for code, list_ in took.items():
            start = time.perf_counter()
            subprocess.run([sys.executable, "-c", code], check=True)
            list_.append((time.perf_counter() - start) * 1e3)
    bare, whole = (statistics.median(v) for v in took.values())
    print(f"import: {whole - bare:.1f} ms (Python itself {bare:.1f} ms); aim: at most 50 ms")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--size", type=int, default=16)
    args = parser.parse_args()
    print(f"# {args.size} float32 elements; microseconds a call, median of {args.rounds} rounds of {CALLS}; (as a multiple of ndock's)")
    with nd.Device("cpu"):  # the default may be a GPU
        cpu_rows(args.size, args.rounds)
    cuda_rows(args.size, args.rounds)
    import_row(args.rounds)


if __name__ == "__main__":
    main()
