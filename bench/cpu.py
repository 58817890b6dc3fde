#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The CPU beside NumPy, SciPy, numexpr and PyTorch, as far as they are installed, in one run: a table of ratios, and JSON.

    bench/cpu.py [--threads 1,2] [--rounds 7] [--row-seconds 3] [--only WORD;WORD] [--groups small,sorting] [--before FOLDER]
                 [--json FILE] [--compare OLD.json] [--list]

Each library has a process of its own for each number of threads, since libraries read it when they start, and is stopped (SIGSTOP) while
others have their turn: threads that look for work for some milliseconds after an operation, as those of OpenMP do, would else run
on processors that the next contender is measured on. Contenders take turns; a figure is the best of the rounds, each of as many calls as
take about 10 ms, for on a machine that others use the best is what the machine can do. With one thread, and for small calls with any
number, which occupy one, it is its processor time, and a round's contenders run on the same processor, the next round's on the
next one: a processor whose other half a neighbour keeps busy gives half of what an idle one does, and would decide a row where each
process stayed on its own. A row's rounds end after --row-seconds
where there were two of them: what takes a second a call needs no seven to be known. The results of a row are compared with NumPy's before it is timed. "x": the best peer's time over ndock's, above 1 where ndock is faster, and the aim; "of copy": for rows of bytes, the
share of what a copy that writes into an array reaches, the best contender's. --before names the build folder of an earlier commit, or one
with its plug-ins, which takes its turns as "before": "was" is its time over ndock's. Turns of small calls take an eighth
of the time, eight times as often: a processor whose clock changes between turns would else decide the row.
--compare names the JSON of an earlier run on this machine and refuses to judge where the copies of the two runs differ by more than 5 %
or the rounds of a row do by more than 20 %; its status is 1 where a row is more than 3 % slower. The rows and aims are those of
shared/spec/speed.md."""
import argparse
import importlib.util
import json
import os
import signal
import subprocess
import sys
import time

SECONDS = 0.01
SMALL_TURNS = 8  # of small calls in place of one
CLOCK = time.perf_counter
# The first words of a row's name and what the best peer's time over ndock's is to be; 1 where nothing is said.
AIMS = {"matmul float32": 0.97, "log": 1.5, "tanh float": 1.5, "sin": 1.5, "x[2:5": 1.5, "x[mask]": 2}
VARIABLES = "NDOCK_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"


def timed(fn, calls):
    start = CLOCK()
    for _ in range(calls):
        fn()
    return (CLOCK() - start) / calls


def turns_of(unit):
    return SMALL_TURNS if unit == "us" else 1


def calls_of(fn, seconds):
    first = timed(fn, 1)
    return 1 if first > seconds else max(1, int(seconds / max(min(first, timed(fn, 1)), 1e-8)))


def peer(name):
    try:
        return __import__(name, fromlist=["_"])
    except Exception:  # a broken installation counts as none
        return None


class Data:
    """An array in NumPy and in the library that this process measures, random between low and high."""

    def __init__(self, libraries, seed=1):
        self.__dict__.update(libraries)
        self.rng = self.np.random.default_rng(seed)

    def real(self, *shape, dtype="float32", low=0.1, high=2.0):
        x = self.rng.random(shape, dtype=dtype)
        x *= high - low
        x += low
        return self.each(x)

    def integers(self, *shape, high=1 << 20, dtype="int32"):
        return self.each(self.rng.integers(1, high, shape).astype(dtype))

    def each(self, x):
        out = {"numpy": x}
        if self.mine == "ndock":
            out["ndock"] = self.nd.asarray(x, copy=True)
        if self.torch:
            out["torch"] = self.torch.from_numpy(x.copy())
        return out


def same(f, *operands, only=("ndock", "numpy", "torch")):
    """Turns of one function of (library's name, operands)."""
    def turn(name):
        mine = [x[name] for x in operands]
        return lambda: f(name, *mine)
    return {name: turn(name) for name in only if all(name in x for x in operands)}


def products(d):
    for dtype, sizes in (("float32", (64, 256, 512, 1024, 2048)), ("float64", (64, 1024))):
        for n in sizes:
            a, b = d.real(n, n, dtype=dtype, low=-1, high=1), d.real(n, n, dtype=dtype, low=-1, high=1)
            yield f"matmul {dtype} {n}", "GFLOP/s", 2 * n**3, same(lambda m, x, y: x @ y, a, b)
    a, b = d.real(2000, 32, 32), d.real(2000, 32, 32)
    yield "matmul of 2000 x 32 x 32 x 32", "GFLOP/s", 2 * 2000 * 32**3, same(lambda m, x, y: x @ y, a, b)
    a, b, v = d.real(8, 4096), d.real(4096, 4096), d.real(4096)
    yield "matmul 8 x 4096 by 4096 x 4096", "GFLOP/s", 2 * 8 * 4096**2, same(lambda m, x, y: x @ y, a, b)
    yield "matmul 4096 x 4096 by a vector", "GB/s", 4 * 4096**2, same(lambda m, x, y: x @ y, b, v)


def reductions(d):
    a, small = d.real(4096, 4096), d.real(100000)
    nbytes = 4 * 4096**2
    for axis in (None, 0, 1):
        yield f"sum, axis {axis}", "GB/s", nbytes, same(lambda m, x, k=axis: x.sum() if k is None else x.sum(k), a)
    for axis in (0, 1):
        def largest(m, x, k=axis):
            return x.amax(k) if m == "torch" else x.max(axis=k)
        yield f"max, axis {axis}", "GB/s", nbytes, same(largest, a)
        yield f"argmax, axis {axis}", "GB/s", nbytes, same(
            lambda m, x, k=axis: d.nd.argmax(x, axis=k) if m == "ndock" else x.argmax(k), a)
    yield "sum of 100,000", "GB/s", 400000, same(lambda m, x: x.sum(), small)
    yield "cumulative sum, axis 1", "GB/s", 2 * nbytes, same(
        lambda m, x: d.nd.cumulative_sum(x, axis=1) if m == "ndock" else x.cumsum(1), a)


def elementwise(d):
    n = 1 << 24
    a, b = d.real(n), d.real(n)
    module = {"ndock": d.nd, "numpy": d.np, "torch": d.torch}
    for size in (100000, 1000000, n):
        x, y = ({k: v[:size] for k, v in p.items()} for p in (a, b))
        yield f"add of {size}", "GB/s", 12 * size, same(lambda m, p, q: p + q, x, y)
    for name in ("exp", "log", "tanh", "sin", "sqrt"):
        yield f"{name} float32", "GB/s", 8 * n, same(lambda m, x, f=name: getattr(module[m], f)(x), a)
    yield "pow float32", "GB/s", 12 * n, same(lambda m, x, y: x**y, a, b)
    yield "greater or equal", "GB/s", 9 * n, same(lambda m, x, y: x >= y, a, b)
    wide = d.real(n // 2, dtype="float64")
    yield "exp float64", "GB/s", 8 * n, same(lambda m, x: module[m].exp(x), wide)
    whole = d.integers(n)
    yield "int32 // 7", "GB/s", 8 * n, same(lambda m, x: x // 7, whole)
    yield "int32 % 7", "GB/s", 8 * n, same(lambda m, x: x % 7, whole)
    for name, f in (("2a + b*b + 1", "2*a + b*b + 1"), ("tanh(a*b + a)", "tanh(a*b + a)")):
        def written(m, x, y, f=f):
            return eval(f, {"a": x, "b": y, "tanh": getattr(module[m], "tanh")})
        turns = same(written, a, b)
        if d.mine == "ndock" and getattr(d.nd, "fuse", None):
            fused = d.nd.fuse(lambda x, y, f=f: eval(f, {"a": x, "b": y, "tanh": d.nd.tanh}))
            turns["ndock fused"] = lambda: fused(a["ndock"], b["ndock"])
        if d.numexpr:
            turns["numexpr"] = lambda f=f: d.numexpr.evaluate(f, {"a": a["numpy"], "b": b["numpy"]})
        yield name, "GB/s", 12 * n, turns


def copies(d):
    a, b, box = d.real(4096, 4096), d.real(4096, 4096), d.real(32, 64, 96, 80)

    def dense(m, x):
        return d.nd.asarray(x, copy=True) if m == "ndock" else d.np.ascontiguousarray(x) if m == "numpy" else x.contiguous()

    def turned(m, x, axes):
        return d.nd.permute_dims(x, axes) if m == "ndock" else x.transpose(axes) if m == "numpy" else x.permute(axes)
    yield "transpose", "GB/s", 8 * 4096**2, same(lambda m, x: dense(m, x.T), a)
    yield "a.T + b", "GB/s", 12 * 4096**2, same(lambda m, x, y: x.T + y, a, b)
    size = 8 * 32 * 64 * 96 * 80
    for axes in ((3, 2, 1, 0), (0, 3, 1, 2), (0, 2, 1, 3)):
        yield f"permute {axes}", "GB/s", size, same(lambda m, x, k=axes: dense(m, turned(m, x, k)), box)
    yield "float32 to float16", "GB/s", 6 * 4096**2, same(
        lambda m, x: x.half() if m == "torch" else x.astype(d.nd.float16 if m == "ndock" else "float16"), a)


def sorting(d):
    a, rows = d.real(10**7), d.real(10000, 1024)
    for name, x in (("10,000,000", a), ("rows of 1024", rows)):
        size = 10**7 if x is a else 10000 * 1024
        yield f"sort {name}", "Gkey/s", size, same(
            lambda m, y: d.nd.sort(y) if m == "ndock" else d.np.sort(y) if m == "numpy" else y.sort().values, x)
        yield f"argsort {name}", "Gkey/s", size, same(
            lambda m, y: d.nd.argsort(y) if m == "ndock" else d.np.argsort(y, kind="stable") if m == "numpy" else y.argsort(stable=True), x)


def small(d):
    x, v = d.real(10, 10, dtype="float64"), d.real(100, dtype="float64")
    mask = {k: y > 1 for k, y in v.items()}
    module = {"ndock": d.nd, "numpy": d.np, "torch": d.torch}
    here = [m for m in x if module[m]]  # each turn is one lambda, for all of it is timed
    yield "zeros(100)", "us", 1, {m: (lambda f: lambda: f(100))(module[m].zeros) for m in here}
    yield "x[2:5, 3]", "us", 1, {m: (lambda y: lambda: y[2:5, 3])(x[m]) for m in here}
    yield "x[mask] of 100", "us", 1, {m: (lambda y, k: lambda: y[k])(v[m], mask[m]) for m in here}
    yield "x + x of 100", "us", 1, {m: (lambda y: lambda: y + y)(v[m]) for m in here}
    yield "sum of 100", "us", 1, {m: (lambda y: lambda: y.sum())(v[m]) for m in here}


def agrees(np, turns):
    """Names of contenders whose result is not NumPy's."""
    if "numpy" not in turns:
        return []
    want = np.asarray(turns["numpy"]())
    wrong = []
    for name, fn in turns.items():
        got = np.asarray(fn())
        error = np.max(np.abs(got.astype("float64") - want.astype("float64")), initial=0) if got.shape == want.shape else np.inf
        if not error <= 2e-3 * max(np.max(np.abs(want.astype("float64")), initial=0), 1) and want.size:
            wrong.append(name)
    return wrong


def copying(d):
    a, b = d.real(1 << 25), d.real(1 << 25)
    yield "copying", "GB/s", 8 * (1 << 25), same(
        lambda m, x, y: y.__setitem__(..., x), a, b, only=("ndock", "numpy"))


GROUPS = (copying, products, reductions, elementwise, copies, sorting, small)


def figure(unit, amount, seconds):
    return seconds * 1e6 if unit == "us" else amount / seconds * 1e-9


def serve(mine, threads, words, groups):
    """One library's process: each row's facts as a line, then seconds a call for each line that names a contender."""
    global CLOCK
    import numpy as np
    import ndock as nd
    nd.set_default_device("cpu")
    library = peer(mine) if mine in ("torch", "numexpr") else None
    if library:
        library.set_num_threads(threads)
    d = Data({"mine": mine, "np": np, "nd": nd, "torch": library if mine == "torch" else None, "numexpr": library if mine == "numexpr" else None})
    for group in GROUPS:
        if group is not copying and groups and group.__name__ not in groups:
            continue
        for name, unit, amount, turns in group(d):
            if group is copying or any(w in name for w in words):
                CLOCK = time.thread_time if threads == 1 or unit == "us" else time.perf_counter
                own = {k: fn for k, fn in turns.items() if k.split()[0] == mine}
                wrong = agrees(np, {"numpy": turns["numpy"], **own}) if group is not copying else []
                print(json.dumps([name, unit, amount, list(own), wrong]), flush=True)
                answer(own, SECONDS / turns_of(unit))
    print("null", flush=True)


def answer(own, seconds):
    calls = {}
    for line in sys.stdin:
        who = line.strip()
        if not who:
            return
        calls.setdefault(who, 0)
        calls[who] = calls[who] or calls_of(own[who], seconds)
        print(timed(own[who], calls[who]), flush=True)


class Contender:
    """A library's process, which runs only while it is asked."""

    def __init__(self, mine, o, threads):
        self.label = mine
        self.processors = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_setaffinity") else []
        self.one_thread = threads == "1"
        env = {**os.environ, **dict.fromkeys(VARIABLES, threads)}
        if mine == "before":
            env["NDOCK_PLUGIN_PATH"] = ":".join(p for p in (o.before + "/backends/cpu/.libs", o.before) if os.path.isdir(p))
            if os.path.isdir(o.before + "/python/ndock"):
                env["PYTHONPATH"] = o.before + "/python:" + env.get("PYTHONPATH", "")
        self.name = "ndock" if mine == "before" else mine
        self.process = subprocess.Popen([sys.executable, __file__, "--serve", self.name, "--threads", threads, "--only", o.only, "--groups", o.groups],
                                        env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def row(self):
        line = self.process.stdout.readline()
        return json.loads(line) if line else None

    def turn(self, who, round_, is_small):
        """Seconds of a call; None where the process ended."""
        binds = bool(self.processors) and (self.one_thread or is_small)
        if binds:  # the thread that calls: those that it has started keep theirs
            os.sched_setaffinity(self.process.pid, {self.processors[round_ % len(self.processors)]})
        self.process.send_signal(signal.SIGCONT)
        self.say(who)
        line = self.process.stdout.readline()
        self.process.send_signal(signal.SIGSTOP)
        if line and binds and not self.one_thread:
            os.sched_setaffinity(self.process.pid, self.processors)
        return float(line) if line else None

    def say(self, line):
        self.process.send_signal(signal.SIGCONT)
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()


def measured(contenders, rows, o):
    """{contender: [seconds a call of each round]}, all of them stopped but the one that is measured."""
    start = time.perf_counter()
    for c in contenders:
        c.process.send_signal(signal.SIGSTOP)
    times = {}
    for turn in range(o.rounds * turns_of(rows[0][1])):
        if turn > 1 and time.perf_counter() - start > o.row_seconds:
            break
        for c, row in zip(contenders, rows):
            for who in row[3]:
                seconds = c.turn(who, turn, rows[0][1] == "us")
                if seconds is not None:
                    times.setdefault(c.label + who[len(c.name):], []).append(seconds)
    for c in contenders:
        c.say("")
    return times


def judged(name, times):
    """Of a row: the best seconds a call of each contender, the best peer, its time over ndock's, and what that is to be."""
    best = {k: min(t) for k, t in times.items()}
    ours = min(v for k, v in best.items() if k.startswith("ndock"))
    others = {k: v for k, v in best.items() if not k.startswith(("ndock", "before"))}
    first = min(others, key=others.get)
    return best, first, others[first] / ours, next((a for word, a in AIMS.items() if name.startswith(word)), 1)


def line_of(row, times, copy):
    """A row of the table."""
    name, unit, amount = row[:3]
    best, first, ratio, aim = judged(name, times)
    return (f"{name:34} {unit:8}" + " ".join(f"{k} {figure(unit, amount, v):9.2f}" for k, v in best.items())
            + f"   {ratio:6.2f} x {first:8} aim {aim}{' short' if ratio < aim else ''}"
            + (f" {amount * ratio / best[first] * 1e-9 / copy:5.2f} of copy" if unit == "GB/s" and copy else "")
            + (f" was {best['before'] / best['ndock']:5.2f}" if "before" in best else ""))


def run(threads, o):
    """The rows of one number of threads, printed; the report."""
    start = time.perf_counter()
    names = ["ndock"] + ["before"] * bool(o.before) + ["numpy"] + [m for m in ("torch", "numexpr") if not o.without_peers and peer_exists(m)]
    contenders = [Contender(m, o, threads) for m in names]
    report = {"threads": int(threads), "copy": 0, "rows": []}
    print(f"# {threads} threads: " + ", ".join(names), flush=True)
    try:
        while all(rows := [c.row() for c in contenders]):
            times = measured(contenders, rows, o)
            name, unit, amount = rows[0][:3]
            wrong = sorted({w for row in rows for w in row[4]})
            if name == "copying":
                report["copy"] = amount / min(min(t) for t in times.values()) * 1e-9
                print(f"# copying {report['copy']:.1f} GB/s")
                continue
            print(line_of(rows[0], times, report["copy"]) + "".join(f"  WRONG: {w}" for w in wrong), flush=True)
            _, _, ratio, aim = judged(name, times)
            report["rows"].append({"row": name, "short": ratio < aim, "unit": unit, "amount": amount, "seconds": times, "wrong": wrong})
    except BaseException:
        for c in contenders:
            c.process.kill()
        raise
    for c in contenders:
        c.process.stdin.close()
        if c.process.wait():
            raise SystemExit(f"the process of {c.label} ended with status {c.process.returncode}")
    short = [row["row"] for row in report["rows"] if row["short"]]
    print(f"# {threads} threads: {len(report['rows'])} rows in {time.perf_counter() - start:.0f} s, {len(short)} short: {'; '.join(short)}", flush=True)
    return report


def listed(o):
    only = Contender("numpy", o, "1")
    while row := only.row():
        print(f"{row[0]:34} {row[1]}")
        only.say("")
    return 0


def peer_exists(name):
    return importlib.util.find_spec(name) is not None


def compared(old, new):
    """Prints how the rows of two reports differ; 1 where one is slower by more than 3 %, 2 where they cannot be compared."""
    status = 0
    for a in old:
        for b in new:
            if a["threads"] != b["threads"]:
                continue
            if abs(a["copy"] / b["copy"] - 1) > 0.05:
                print(f"# {a['threads']} threads: a copy ran at {a['copy']:.1f} GB/s then and at {b['copy']:.1f} now: no comparison")
                status = 2
                continue
            before = {r["row"]: r for r in a["rows"]}
            for r in b["rows"]:
                then, now = before.get(r["row"], {}).get("seconds", {}).get("ndock"), r["seconds"]["ndock"]
                if not then:
                    continue
                noisy = any(sorted(t)[len(t) // 2] > 1.2 * min(t) for t in (then, now))
                ratio = min(then) / min(now)
                print(f"{b['threads']} threads {r['row']:34} {ratio:6.3f} x" + (" noisy, not judged" if noisy else ""))
                status = max(status, 1 if ratio < 0.97 and not noisy else 0)
    return status


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--threads", default=f"1,{os.cpu_count()}")
    p.add_argument("--rounds", type=int, default=7)
    p.add_argument("--row-seconds", type=float, default=3, help="a row has no third round after so many seconds")
    p.add_argument("--only", default="", help="rows whose name has one of these words, separated by semicolons")
    p.add_argument("--groups", default="", help="only these of " + ", ".join(g.__name__ for g in GROUPS))
    p.add_argument("--json")
    p.add_argument("--compare")
    p.add_argument("--list", action="store_true", help="the names of the rows")
    p.add_argument("--before", default="", help="the build folder of an earlier commit, or one with its plug-ins")
    p.add_argument("--without-peers", action="store_true", help="beside NumPy alone")
    p.add_argument("--serve", help=argparse.SUPPRESS)  # the library that this process measures
    o = p.parse_args()
    if o.serve:
        serve(o.serve, int(o.threads), o.only.split(";"), o.groups.split(",") if o.groups else [])
        return 0
    if o.list:
        return listed(o)
    reports = [run(threads, o) for threads in dict.fromkeys(o.threads.split(","))]
    if o.json:
        with open(o.json, "w") as f:
            json.dump(reports, f, indent=1)
    if o.compare:
        with open(o.compare) as f:
            return compared(json.load(f), reports)
    return 0


if __name__ == "__main__":
    sys.exit(main())
