# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The package as a whole: what an import costs and brings, signatures, development mode."""
import inspect
import os
import resource
import subprocess
import sys
import tempfile

import ndock as nd
from tap import cases, main

IMPORT_MS = 50  # of the processor's time, so that a busy machine changes little


def run(*arguments):
    """Python with these arguments; its output."""
    done = subprocess.run([sys.executable, "-B", *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def children_ms():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (used.ru_utime + used.ru_stime) * 1e3


def cost_ms(code, cache):
    """The least processor time of some runs, the modules being compiled before."""
    def once():
        before = children_ms()
        subprocess.run([sys.executable, "-I", "-S", "-X", f"pycache_prefix={cache}", "-c",
                        f"import sys; sys.path.extend({sys.path!r})\n{code}"], check=True)
        return children_ms() - before
    return min(once() for _ in range(9))


def test_import_takes_at_most_50_ms():
    with tempfile.TemporaryDirectory() as cache:
        took = cost_ms("import ndock", cache) - cost_ms("", cache)
    print(f"# {took:.1f} ms of the processor")
    assert took <= IMPORT_MS, took


def test_import_brings_no_numpy_and_little_of_the_standard_library():
    before, _ = run("-c", "import sys; print(*sys.modules)")
    after, _ = run("-c", "import sys, ndock; print(*sys.modules)")
    new = {name for name in set(after.split()) - set(before.split()) if name.partition(".")[0] != "ndock"}
    assert not new & {"numpy", "typing", "dataclasses", "enum", "re", "inspect", "ctypes", "importlib.metadata"}, new
    assert len(new) <= 12, sorted(new)


def test_import_loads_no_plug_in_and_starts_no_thread():
    out, _ = run("-c", "import ndock, os; print(len(os.listdir('/proc/self/task'))); print(open('/proc/self/maps').read())")
    assert out.split()[0] == "1" and "ndock-cpu.so" not in out


def test_development_mode_and_warnings_as_errors():
    _, err = run("-X", "dev", "-W", "error", "-c", "import ndock as nd, gc; x = nd.ones((3, 4), device='cpu'); y = (x + 1) * x; "
                 "repr(y); del x, y; gc.collect()")
    assert err == "", err


def test_import_again_after_it_was_dropped():
    run("-c", "import sys, gc\nfor i in range(3):\n import ndock\n x = ndock.ones(3, device='cpu') + 1\n del x, ndock\n"
        " [sys.modules.pop(m) for m in list(sys.modules) if m.partition('.')[0] == 'ndock']\n gc.collect()")


def public():
    """Names of functions and types, but for exceptions."""
    found = ((name, getattr(nd, name)) for name in sorted(dir(nd)) if not name.startswith("_"))
    return [name for name, thing in found if callable(thing) and not (isinstance(thing, type) and issubclass(thing, BaseException))]


@cases(*public())
def test_has_a_signature_and_a_text(name):
    thing = getattr(nd, name)
    if not (isinstance(thing, type) and thing.__new__ is object.__new__):
        try:
            inspect.signature(thing)
        except ValueError:
            assert isinstance(thing, type), "no signature that inspect can read"
    assert (thing.__doc__ or "").strip(), "no docstring"


def test_version_is_that_of_the_build():
    with open(os.path.join(os.path.dirname(__file__), "..", "..", "configure.ac")) as f:
        assert f"AC_INIT([ndock], [{nd.__version__}]" in f.read()


if __name__ == "__main__":
    main(globals())
