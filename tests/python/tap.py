# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests of the Python package, spoken as TAP: every function test_* of a file is a test, once for each of its cases.

    from tap import cases, main, raises, Skip

    @cases("cpu", "sim:0")
    def test_add(device): ...

    if __name__ == "__main__":
        main(globals())

An assertion or another exception is a failure, with its traceback as comments; raising Skip("why") skips. Arguments of
the program choose tests whose names contain one of them. NDOCK_TEST_THREADED=1 chooses those in which threads meet."""
import contextlib
import inspect
import os
import re
import sys
import traceback


class Skip(Exception):
    pass


def cases(*values):
    """Run the test once with each value (a tuple is spread to several arguments)."""
    def mark(function):
        function.cases = [v if isinstance(v, tuple) else (v,) for v in values]
        return function
    return mark


@contextlib.contextmanager
def raises(kind, *texts):
    """The block must raise exactly that kind of exception (or a subclass), whose message holds each text."""
    try:
        yield
    except kind as e:
        for text in texts:
            assert text in str(e), f"{text!r} is not in the message: {e}"
    else:
        raise AssertionError(f"no {getattr(kind, '__name__', kind)} was raised")


def _comment(text):
    for line in text.rstrip().splitlines():
        print("#", line)


def _run(number, name, function, args):
    text = name + "".join(f" {a}" for a in args).replace("#", "")
    label = f"{number} - " + "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
    try:
        function(*args)
    except Skip as why:
        print(f"ok {label} # SKIP {why}")
    except BaseException:
        print(f"not ok {label}")
        _comment(traceback.format_exc())
        return 1
    else:
        print(f"ok {label}")
    sys.stdout.flush()
    return 0


def _threaded(names):
    """Functions whose lines, or those of a function of the same file that they name, speak of threads or of streams."""
    text = {name: inspect.getsource(f) for name, f in names.items()
            if getattr(f, "__module__", None) == "__main__" and (inspect.isfunction(f) or inspect.isclass(f))}
    words = r"[Tt]hread|Stream\("
    others = [name for name, lines in text.items() if not name.startswith("test_") and re.search(words, lines)]
    pattern = "|".join([words] + [rf"\b{name}\b" for name in others])
    return {name for name, lines in text.items() if re.search(pattern, lines)}


def main(names):
    wanted = sys.argv[1:]
    chosen = _threaded(names) if os.environ.get("NDOCK_TEST_THREADED") else names
    tests = [(name[5:].replace("_", " "), f, args)
             for name, f in list(names.items()) if name.startswith("test_") and callable(f)
             for args in getattr(f, "cases", [()])
             if name in chosen and (not wanted or any(w in name for w in wanted))]
    print(f"1..{len(tests)}", flush=True)
    failed = sum(_run(i, *t) for i, t in enumerate(tests, 1))
    sys.exit(failed != 0)
