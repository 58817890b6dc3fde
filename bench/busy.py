#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A short job beside busy processes: how far from its time on one thread it gets, for ndock and PyTorch.

    bench/busy.py [--busy 2] [--calls 300] [--pause 0.001]

The job is an elementwise operation of about 100 us on one thread, called again and again with a pause between, as an interactive
program would. Each contender runs in a process of its own: on one thread of an idle machine, on all threads of the same, and on all
threads beside --busy processes that do nothing but compute. Means and the worst of the calls in us; the aim of
shared/spec/cpu-performance.md is a mean of at most 2 x that of one thread. Libraries whose threads meet at a barrier wait there for
whole turns of the scheduler."""
import argparse
import importlib.util
import os
import subprocess
import sys
import time

JOB = """
import sys, time
name, threads, calls, pause = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
if name == "ndock":
    import ndock as m
    m.set_default_device("cpu")
    x = m.full(SIZE, 0.5, dtype=m.float32)
else:
    import torch as m
    m.set_num_threads(threads)
    x = m.full((SIZE,), 0.5)
times = []
for i in range(calls + 20):
    time.sleep(pause)
    start = time.perf_counter()
    y = m.tanh(x)
    times.append(time.perf_counter() - start)
times = sorted(times[20:])
print(sum(times) / len(times) * 1e6, times[-1] * 1e6)
""".replace("SIZE", "120000")


def job(name, threads, o):
    env = {**os.environ, "NDOCK_NUM_THREADS": str(threads), "OMP_NUM_THREADS": str(threads)}
    out = subprocess.run([sys.executable, "-c", JOB, name, str(threads), str(o.calls), str(o.pause)], env=env, capture_output=True, text=True)
    if out.returncode:
        raise RuntimeError(out.stderr.strip().splitlines()[-1])
    return [float(word) for word in out.stdout.split()]


def beside(busy, what):
    """what() while that many processes compute."""
    spinning = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(busy)]
    try:
        time.sleep(0.3)
        return what()
    finally:
        for p in spinning:
            p.kill()
            p.wait()


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--busy", type=int, default=2)
    p.add_argument("--calls", type=int, default=300)
    p.add_argument("--pause", type=float, default=0.001)
    o = p.parse_args()
    every = len(os.sched_getaffinity(0))
    for name in ("ndock", "torch"):
        if not importlib.util.find_spec(name):
            continue
        one, _ = job(name, 1, o)
        free, worst_free = job(name, every, o)
        mean, worst = beside(o.busy, lambda name=name: job(name, every, o))
        print(f"{name:6} one thread {one:7.1f} us; {every} threads {free:7.1f} (at most {worst_free:.0f}); beside {o.busy} busy processes "
              f"{mean:7.1f} (at most {worst:.0f}): {mean / one:.2f} x one thread", flush=True)


if __name__ == "__main__":
    main()
