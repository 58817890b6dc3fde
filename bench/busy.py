#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A short job beside busy processes, and in a container's quota: how far from its time on one thread it gets, for ndock and PyTorch.

    bench/busy.py [--busy 2] [--calls 300] [--pause 0.001] [--quota 1]

The job is an elementwise operation of about 100 us on one thread, called again and again with a pause between, as an interactive
program would. Each contender runs in a process of its own: on one thread of an idle machine, on all threads of the same, and on all
threads beside --busy processes that do nothing but compute. Means and the worst of the calls in us; the aim of
shared/spec/cpu-performance.md is a mean of at most 2 x that of one thread. Libraries whose threads meet at a barrier wait there for
whole turns of the scheduler.

Then the same job without a pause in a control group that may use --quota processors (by cpu.max, or by cpu.cfs_quota_us in version 1; as root,
who may make one): with as many threads as the library itself chooses, and with one for each processor of the machine. Threads that are
more than the quota use it up early, and the whole process waits for the rest of each period. Last, allowed one processor by its affinity."""
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
    if threads:
        m.set_num_threads(threads)
    x = m.full((SIZE,), 0.5)
times = []
for i in range(calls + 20):
    if pause:
        time.sleep(pause)
    start = time.perf_counter()
    y = m.tanh(x)
    times.append(time.perf_counter() - start)
times = sorted(times[20:])
print(sum(times) / len(times) * 1e6, times[-1] * 1e6)
""".replace("SIZE", "120000")


def job(name, threads, o, pause=None, enter=None):
    """Mean and worst us of a call. threads 0: as many as the library chooses. enter: what the process does first."""
    env = {k: v for k, v in os.environ.items() if k not in ("NDOCK_NUM_THREADS", "NDOCK_CPU_NUM_THREADS", "OMP_NUM_THREADS")}
    if threads:
        env |= {"NDOCK_NUM_THREADS": str(threads), "OMP_NUM_THREADS": str(threads)}
    words = [name, str(threads), str(o.calls), str(o.pause if pause is None else pause)]
    out = subprocess.run([sys.executable, "-c", JOB, *words], env=env, capture_output=True, text=True, preexec_fn=enter)
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


class Group:
    """A control group of its own, with that many processors' time in each tenth of a second."""

    def __init__(self, processors):
        period, quota = 100000, int(processors * 100000)
        name = f"ndock-busy-{os.getpid()}"
        self.folder = f"/sys/fs/cgroup/cpu/{name}" if os.path.exists("/sys/fs/cgroup/cpu/cpu.cfs_quota_us") else f"/sys/fs/cgroup/{name}"
        os.mkdir(self.folder)
        try:
            if self.folder.startswith("/sys/fs/cgroup/cpu/"):
                self.write("cpu.cfs_period_us", period)
                self.write("cpu.cfs_quota_us", quota)
            else:
                self.write("cpu.max", f"{quota} {period}")
        except OSError:
            self.close()
            raise

    def write(self, file, value):
        with open(f"{self.folder}/{file}", "w") as f:
            f.write(str(value))

    def enter(self):
        self.write("cgroup.procs", os.getpid())

    def close(self):
        os.rmdir(self.folder)


def limited(name, o, every):
    """The rows of a quota and of affinity."""
    try:
        group = Group(o.quota)
    except OSError as error:
        print(f"# no control group: {error}")
    else:
        try:
            one, own, many = (job(name, threads, o, 0, group.enter) for threads in (1, 0, every))
        finally:
            group.close()
        print(f"{name:6} quota of {o.quota:g}: one thread {one[0]:7.1f} us; its own choice {own[0]:7.1f} (at most {own[1]:.0f}): {own[0] / one[0]:.2f} x one thread; "
              f"{every} threads {many[0]:7.1f} (at most {many[1]:.0f})", flush=True)
    first = min(os.sched_getaffinity(0))
    one, own = (job(name, threads, o, 0, lambda: os.sched_setaffinity(0, [first])) for threads in (1, 0))
    print(f"{name:6} affinity to one processor: one thread {one[0]:7.1f} us; its own choice {own[0]:7.1f} (at most {own[1]:.0f}): {own[0] / one[0]:.2f} x one thread",
          flush=True)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--busy", type=int, default=2)
    p.add_argument("--calls", type=int, default=300)
    p.add_argument("--pause", type=float, default=0.001)
    p.add_argument("--quota", type=float, default=1, help="processors of the control group")
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
        limited(name, o, every)


if __name__ == "__main__":
    main()
