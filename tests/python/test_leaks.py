# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""No public function keeps anything: each is called some thousand times, with arguments that it takes and with some that
it refuses, while Python's allocated blocks and the process's memory are watched."""
import os

import ndock as nd
from in_use import blocks_and_kilobytes
from tap import cases, main

CALLS = 300 if os.environ.get("NDOCK_TEST_SLICE") else 2500
# What these do is lasting by nature, waits for long, or writes files.
LASTING = {"save", "savetxt", "savez", "savez_compressed", "set_default_device", "set_default_dtype", "plugins", "from_file", "load", "needle",
           "reset_peak_memory", "set_device", "set_log", "fallback"}

x = nd.reshape(nd.arange(6, dtype=nd.float64, device="cpu"), (2, 3)) + 1
m = nd.reshape(nd.arange(9, dtype=nd.float64, device="cpu"), (3, 3)) + 1
v = nd.arange(3, dtype=nd.float64, device="cpu")
i = nd.arange(2, dtype=nd.int64, device="cpu")
b = x > 2
# The first that a function takes is used.
ATTEMPTS = [(), (x,), (i,), (b,), (x, x), (i, i), (b, b), (m, m), (v, v), (x, i), (b, x, x), (x, x, x), ([x, x],), (x, (3, 2)), (x, 0), (x, 1, 0),
            (x, i, x), ((2, 3),), ((2, 3), 1), (3,), (0, 1, 5), ("float32",), (nd.float32, nd.int32), (x, nd.float32), ("cpu",), (x, "cpu"),
            (x, (4, 2, 3)), (x, (1, 0)), (1,), ("float32", "real floating")]


def call(function, args):
    try:
        function(*args)
    except Exception as e:
        return e
    return None


def keeps(function, args):
    """What the calls leave, if that is so again and again: caches fill once."""
    for _ in range(8):
        blocks, kib = blocks_and_kilobytes()
        for _ in range(CALLS):
            call(function, args)
        more_blocks, more_kib = blocks_and_kilobytes()
        if more_blocks - blocks < CALLS // 4 and more_kib - kib < CALLS * 100 // 1024:
            return None
    return f"{CALLS} calls leave {more_blocks - blocks} blocks and {more_kib - kib} KiB"


def test_a_leak_would_be_seen():
    kept = []
    assert keeps(kept.append, ([],)) or keeps(lambda: kept.append([0.5]), ())


def functions():
    found = ((name, getattr(nd, name)) for name in sorted(dir(nd)) if not name.startswith("_") and name not in LASTING)
    return [name for name, f in found if callable(f) and not (isinstance(f, type) and issubclass(f, BaseException))]


@cases(*functions())
def test_nothing_is_left_of(name):
    function = getattr(nd, name)
    taken = next((args for args in ATTEMPTS if call(function, args) is None), None)
    print("#", name, "no arguments of ours" if taken is None else f"{len(taken)} arguments")
    if taken is not None:
        left = keeps(function, taken)
        assert not left, left
    refused = (object(), object())
    left = keeps(function, refused)
    assert not left, f"after errors: {left}"


@cases("x + 1", "2 - x", "x == x", "x @ m", "-x", "x.shape", "x.dtype", "x.device", "repr(x)", "x + object", "x.no_such", "nd.Device('cpu')",
       "x == nd.ones(7)")
def test_nothing_is_left_of_the_expression(text):
    code = compile(text, text, "eval")
    names = {"x": x, "m": m, "nd": nd, "object": object()}
    left = keeps(lambda: eval(code, names), ())
    assert not left, left


if __name__ == "__main__":
    main(globals())
