#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A fuzzer of the Python package: random calls with objects that misbehave while they are read (hostile.py).

    objects.py [--seed FIRST]                 the slice of make check: some thousand cases, FIRST, FIRST + 1, ...
    objects.py --seconds S [--seed FIRST]     cases for that long; all run in processes of their own
    objects.py --only CASE                    one case, here

A case is its number: it does the same again, as long as what lies in memory plays no part. Found are: a process that
ends, which sanitizers bring about at the first bad access; a case that takes more than a minute; SystemError, with
which Python says that C broke its rules; a deleter run twice or with an exception set; and arithmetic that is wrong
afterwards. Says so in TAP; status 1 where something was found."""
import argparse
import mmap
import os
import pickle
import resource
import struct
import subprocess
import sys
import tempfile
import time

os.environ["NDOCK_CAI_SIM"] = "1"
os.environ["NDOCK_DEVICE"] = "cpu"  # cases are the same on every machine
BATCH = 4000  # cases a process
SLICE = 1000 if os.environ.get("NDOCK_TEST_SLICE") else 4000  # cases of make check
SLOW = 60  # seconds that no case takes
ROOM = 8 << 30  # bytes of memory of a process: a view may stand for more, which takes minutes where there is as much


# ---- the child ----
def calls(nd, hostile):
    """Functions of a World, each a call of the package."""
    base = nd.reshape(nd.arange(24, dtype="float64"), (2, 3, 4))
    on_device = nd.zeros(1 << 17, dtype="float64", device="sim:0")
    good = dict(on_device.__cuda_array_interface__)
    backend = nd._ndock._needle_backend("cpu")
    folder = tempfile.mkdtemp(prefix="ndock-fuzz-")
    from ndock._pickle import _rebuild

    def foreign(w):
        """An object of another library's, or a sequence or number."""
        return w.random.choice((
            lambda: hostile.ArrayInterface(w), lambda: hostile.ArrayInterface(w), lambda: hostile.CudaInterface(w, good),
            lambda: hostile.Producer(w), lambda: hostile.Producer(w), lambda: hostile.ArrayMethod(w), w.nested,
            lambda: w.sequence([base[0], hostile.ArrayInterface(w), w.nested()]), w.scalar))()

    def use(a):
        """Reads what came out."""
        if isinstance(a, nd.Array) and a.size < 10000:
            a.tolist()
            repr(a)
            nd.any(a)

    def dtype(w):
        return w.random.choice((None, None, "float32", "int8", "bool", "complex64", "bfloat16", "f\0", hostile.ArrayMethod(w)))

    def device(w):
        return w.random.choice((None, None, None, "cpu", "sim:0", "sim:9", "cpu\0", 5))

    def copy(w):
        return w.random.choice((None, None, w.truth()))

    def key(w):
        one = w.random.choice((
            w.integer, w.integer, lambda: slice(w.integer(), w.integer(), w.integer()), lambda: Ellipsis, lambda: None,
            w.truth, lambda: w.sequence(w.integers(2)), lambda: w.sequence([w.truth() for _ in range(3)]),
            lambda: foreign(w), lambda: nd.asarray([0, 1]), lambda: nd.asarray([True, False])))
        return one() if w.one_in(3) else tuple(one() for _ in range(w.random.randrange(5)))

    def assign(w):
        a = base.copy() if w.one_in(2) else nd.zeros((2, 3, 4), dtype="int32", device="sim:0")
        a[key(w)] = w.random.choice((w.scalar, w.nested, lambda: foreign(w)))()

    def shape(w):
        if w.one_in(3):
            return w.sequence(w.random.choice(((2, 3, 4), (4, 6), (-1,), (0, 1, 2), (2, 0, 1), (1, 24))))
        return w.sequence(w.integers(w.random.randrange(5))) if not w.one_in(8) else w.integer()

    def manipulate(w):
        name = w.random.choice(("reshape", "broadcast_to", "permute_dims", "expand_dims", "squeeze", "tile", "repeat"))
        return getattr(nd, name)(base, shape(w))

    def create(w):
        name = w.random.choice(("zeros", "ones", "empty"))
        return getattr(nd, name)(shape(w), dtype=dtype(w), device=device(w))

    def axes(w):
        name = w.random.choice(("sum", "max", "mean", "flip", "any", "argmax"))
        return getattr(nd, name)(base, axis=shape(w))

    def many(w):
        arrays = [base, foreign(w) if w.one_in(2) else base, base]
        return w.random.choice((nd.concat, nd.stack))(w.sequence(arrays), axis=w.integer())

    def operate(w):
        other = w.random.choice((w.scalar, lambda: foreign(w)))()
        return w.random.choice((lambda: base + other, lambda: other * base, lambda: base == other,
                                lambda: nd.where(base > other, base, other), lambda: nd.add(base, other, out=other)))()

    def export(w):
        capsule = base.__dlpack__(stream=w.random.choice((None, -1, w.integer())), copy=w.truth(),
                                  max_version=w.random.choice((None, (w.integer(), w.integer()), w.sequence([1, 0]))),
                                  dl_device=w.random.choice((None, (1, 0), (w.integer(), w.integer()))))

        class Again:
            __dlpack_device__ = base.__dlpack_device__

            def __dlpack__(self, **_):
                return capsule
        first = nd.from_dlpack(Again())
        return nd.from_dlpack(Again()) if w.one_in(2) else first

    def files(w):
        path = os.path.join(folder, w.random.choice(("a", "b\udcff", "c\0")))
        names = w.random.choice(("x", "x\0y", "\udcff", 5))
        nd.save(path, w.mapping({names: base, "y": foreign(w) if w.one_in(3) else base}),
                metadata=w.mapping({names: w.random.choice(("v", "v\0", 5))}))
        return nd.load(path, names=w.sequence([names, "y"]))[names]

    def pickles(w):
        if w.one_in(2):
            return pickle.loads(pickle.dumps(base, w.random.randrange(2, 6)))
        data = w.random.choice((bytes(16), bytearray(16), hostile.ArrayInterface(w), w.nested()))
        return _rebuild(data, w.random.choice(("float32", "uint8", 7)), shape(w), w.random.choice(("cpu:0", "sim:0", "x")))

    def needle(w):
        handle = backend.Array(8)
        name = w.random.choice(("from_numpy", "from_numpy", "compact", "scalar_setitem", "to_numpy"))
        view = (shape(w), w.sequence(w.integers(2)), w.integer())
        {"from_numpy": lambda: backend.from_numpy(w.random.choice((hostile.ArrayMethod(w), bytearray(32), foreign(w))), handle),
         "compact": lambda: backend.compact(handle, backend.Array(8), *view),
         "scalar_setitem": lambda: backend.scalar_setitem(w.integer(), 1.0, handle, *view),
         "to_numpy": lambda: backend.to_numpy(handle, *view)}[name]()

    rows = (
        lambda w: use(nd.asarray(foreign(w), dtype=dtype(w), device=device(w), copy=copy(w))),
        lambda w: use(nd.asarray(foreign(w))),
        lambda w: use(nd.as_array(foreign(w), sync=w.truth())),
        lambda w: use(nd.from_cai(hostile.CudaInterface(w, good).dictionary, owner=on_device, sync=w.truth())),
        lambda w: use(nd.from_dlpack(hostile.Producer(w), device=device(w), copy=copy(w))),
        lambda w: use(base[key(w)]), assign,
        lambda w: base.item(*w.integers(w.random.randrange(4))),
        lambda w: use(base.reshape(*w.integers(w.random.randrange(4)), copy=copy(w))),
        lambda w: base.transpose(shape(w)),
        lambda w: use(manipulate(w)), lambda w: use(create(w)), lambda w: use(axes(w)), lambda w: use(many(w)),
        lambda w: use(operate(w)), lambda w: use(export(w)), lambda w: use(files(w)), lambda w: use(pickles(w)), needle,
        lambda w: nd.Stream.from_external(w.random.choice((foreign(w), w.integer())), device="sim:0")
        if w.one_in(8) else None)

    def call(w):
        w.random.choice(rows)(w)

    return call


def check(nd, hostile):
    """What is wrong after a case; None: nothing."""
    if nd.sum(nd.asarray([1.0, 2.0, 3.0]) * 2).item() != 12:
        return "2 * (1 + 2 + 3) is not 12 any more"
    return hostile.failures[0] if hostile.failures else None


def run_case(nd, hostile, call, number):
    """What was found in it, or None."""
    found = []
    sys.unraisablehook = lambda u: found.append(f"unraisable: {u.exc_value!r}") if isinstance(u.exc_value, SystemError) else None
    world = hostile.World(number, call)
    try:
        call(world)
    except (SystemError, AssertionError) as e:
        cause = e.__cause__
        return f"{type(e).__name__}: {e}" + (f" (of {cause!r})" if cause else "")
    except BaseException:
        pass
    world.containers.clear()
    world.kept.clear()
    hostile.ended.clear()
    if number % 500 == 499:
        hostile.gc.collect()
        hostile.alive.clear()
    return found[0] if found else check(nd, hostile)


def child(progress, first, n):
    import faulthandler

    import hostile
    import ndock as nd
    call = calls(nd, hostile)
    if "asan" not in os.environ.get("LD_PRELOAD", ""):  # whose own memory would count
        resource.setrlimit(resource.RLIMIT_DATA, (ROOM, ROOM))
    for number in range(first, first + n):
        if progress:
            progress[:8] = struct.pack("<q", number)
        faulthandler.dump_traceback_later(SLOW, exit=True)
        why = run_case(nd, hostile, call, number)
        faulthandler.cancel_dump_traceback_later()
        if why:
            print(f"case {number}: {why}", file=sys.stderr, flush=True)
            os._exit(3)


# ---- the parent ----
def batch(first, n, deadline):
    """Runs cases in a process. Their number, and None or the text of what was found."""
    asan = os.environ.get("ASAN_OPTIONS", "") + ":allocator_may_return_null=1:max_allocation_size_mb=1024"  # as malloc does
    with tempfile.NamedTemporaryFile() as file, tempfile.TemporaryFile() as said:
        file.write(bytes(8))
        file.flush()
        process = subprocess.Popen([sys.executable, "-B", __file__, "--child", file.name, "--seed", str(first), "--cases", str(n)],
                                   stdout=said, stderr=said, stdin=subprocess.DEVNULL, env={**os.environ, "ASAN_OPTIONS": asan})
        while process.poll() is None and time.monotonic() < deadline:
            try:
                process.wait(min(1, max(0.01, deadline - time.monotonic())))
            except subprocess.TimeoutExpired:
                pass
        late = process.poll() is None
        if late:
            process.kill()
            process.wait()
        number, = struct.unpack("<q", open(file.name, "rb").read(8))
        said.seek(0)
        text = said.read().decode(errors="replace")
    done = number - first + 1 if number else 0
    return done, None if late or process.returncode == 0 else f"case {number}: status {process.returncode}\n{text[-6000:]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--cases", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int)
    parser.add_argument("--child")
    args = parser.parse_args()
    if args.only is not None:
        child(None, args.only, 1)
        return 0
    if args.child:
        with open(args.child, "r+b") as file:
            child(mmap.mmap(file.fileno(), 8), args.seed, args.cases)
        return 0
    cases = args.cases or (SLICE if args.seconds is None else 10**12)
    start, done, found = time.monotonic(), 0, None
    deadline = start + (args.seconds or 3600)
    while not found and done < cases and time.monotonic() < deadline:
        n, found = batch(args.seed + done, min(BATCH, cases - done), deadline)
        done += n
        if not n and not found and time.monotonic() < deadline:
            found = "no case was run"
    print("1..1")
    for line in (found or "").splitlines():
        print("#", line)
    print(f"{'not ok' if found else 'ok'} 1 - {done} calls with hostile objects from case {args.seed} on in "
          f"{time.monotonic() - start:.0f} s", flush=True)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
