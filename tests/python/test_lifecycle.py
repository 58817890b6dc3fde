# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How the module begins and ends: interpreters that end with everything alive, forks, subinterpreters, threads."""
import sys

import ndock as nd
from tap import Skip, cases, main
from test_device import child

ALIVE = """
import sys, threading, ndock as nd
x = nd.arange(10, dtype=nd.float64, device="sim:0"); y = x + 1
s = nd.Stream("sim:0"); e = s.record_event(); p = nd.memory.Pool("sim:1"); a = nd.memory.Allocator("debug")
h = nd.empty_pinned(100, device="sim:0")
with s: z = x * 2
nd.copy_to(z, h[:10] if hasattr(h, "__getitem__") else h, non_blocking=True)
sys.kept = (x, y, z, s, e, p, a, h, nd.Device("sim:2"), nd.float32)
nd.kept = sys.kept
watch = nd.memory.on_failure(print)
"""


@cases("alive", "cycle", "in a pool", "guards", "callback queued", "callback running", "thread waits", "fault", "tag")
def test_S18_the_interpreter_ends_with_everything_alive(how):
    more = {"alive": "", "cycle": "c = [x]; c.append(c)",
            "in a pool": "p.__enter__(); q = nd.zeros(5, device='sim:1')",
            "guards": "s.__enter__(); nd.device('sim:2').__enter__()",
            "callback queued": "import time; s.launch_host(time.sleep, 0.2); s.launch_host(print, 'late')",
            "callback running": "import time\ndef f():\n    for _ in range(200): time.sleep(0.001)\n"
                                "s.launch_host(f); time.sleep(0.02)",
            "thread waits": "import time; s.launch_host(time.sleep, 0.3); "
                            "threading.Thread(target=s.synchronize, daemon=True).start(); time.sleep(0.02)",
            "fault": "nd.set_stream_check(True); w = x + x",
            "tag": "nd.tag('a').__enter__(); nd.sync_watch('count').__enter__(); "
                   "nd.math.mode(f32_matmul='tf32').__enter__()"}[how]
    assert child(ALIVE + more + "\nprint('end')").split()[0] == "end"


def test_import_twice_after_removal():
    out = child("import sys, gc, ndock as nd; x = nd.ones(3)\n"
                "for m in [m for m in sys.modules if m.startswith('ndock')]: del sys.modules[m]\n"
                "import ndock; y = ndock.ones(3)\n"
                "print(repr(x), repr(y), type(x) is type(y))\n"
                "del x, nd; gc.collect(); print(repr(y + 1))")
    assert out.count("array([1., 1., 1.]") == 2 and "array([2., 2., 2.]" in out, out


SUB = """
import {module} as interpreters, gc, ndock as nd
def create(): return interpreters.create({how})
x = nd.ones(3, device="sim:0")
code = '''
import ndock as nd
x = nd.arange(5, dtype=nd.float64, device="sim:0") + 1
assert "5." in repr(x), repr(x)
s = nd.Stream("sim:0")
class Foreign:
    def __cuda_stream__(self): return (0, s.handle)
w = nd.Stream.from_external(Foreign(), "sim:0")
del w
try: s.launch_host(print, 1)
except RuntimeError as e: assert "main interpreter" in str(e)
try: nd.ones(3) + nd.ones(4)
except ValueError as e: assert isinstance(e, nd.Error)
'''
def run(i, text):
    {run}
for _ in range(3):
    i = create()
    run(i, code)
    {destroy}(i)
a, b = create(), create()
run(a, code); run(b, code); {destroy}(a); run(b, code); {destroy}(b)
gc.collect()
print(repr(x + 1))
"""


def test_subinterpreters():
    module = "_xxsubinterpreters" if sys.version_info < (3, 13) else "_interpreters"
    run = ("interpreters.run_string(i, text)" if sys.version_info < (3, 13) else
           "e = interpreters.exec(i, text); assert e is None, e")
    try:
        __import__(module)
    except ImportError:
        raise Skip("this Python has no subinterpreters") from None
    # From 3.12 on the default has a lock of its own, which the limited API of 3.11 cannot declare, and Python refuses.
    how = "" if sys.version_info < (3, 12) else "isolated=False" if sys.version_info < (3, 13) else "'legacy'"
    out = child(SUB.format(module=module, run=run, how=how, destroy="interpreters.destroy"))
    assert "array([2., 2., 2.]" in out, out


FORKS = """
import os, threading, ndock as nd
x = nd.ones(1000, device="cpu")
stop = threading.Event()
def work():
    while not stop.is_set():
        nd.ones(100, device="cpu") + 1
        with nd.sync_watch("warn"): pass
threads = [threading.Thread(target=work) for _ in range(3)]
for t in threads: t.start()
bad = 0
for _ in range(20):
    pid = os.fork()
    if pid == 0:
        y = x + 1
        os._exit(0 if "2." in repr(y) else 1)
    bad += os.waitpid(pid, 0)[1] != 0
stop.set()
for t in threads: t.join()
print(bad)
"""


def test_D11_forks_beside_threads():
    assert child(FORKS).strip() == "0"


def test_a_forked_child_ends_normally():
    assert child("import os, sys, ndock as nd\nx = nd.ones(3, device='sim:0'); s = nd.Stream('sim:0')\n"
                 "pid = os.fork()\nif pid == 0: sys.exit(0)\nprint(os.waitpid(pid, 0)[1])").strip() == "0"


THREADS = """
import threading, ndock as nd
def work(k):
    s = nd.Stream("sim:0")
    with s:
        x = nd.arange(100, dtype=nd.float64, device="sim:0")
        for i in range(50):
            x = x + 1
            e = s.record_event(); e.wait(nd.default_stream("sim:0"))
            try: nd.ones(3) + nd.ones(4)
            except nd.Error: pass
            s.launch_host(lambda: None)
    s.synchronize()
    results[k] = repr(x)
results = {}
threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
for t in threads: t.start()
for t in threads: t.join()
print(len(set(results.values())), len(results))
"""


def test_threads():
    assert child(THREADS).split() == ["1", "8"]


def test_nothing_of_the_package_imports_much():
    heavy = child("import sys; before = set(sys.modules); import ndock; print(*sorted(set(sys.modules) - before))")
    loaded = heavy.split()
    assert not [m for m in loaded if m.split(".")[0] in ("numpy", "typing", "logging", "json", "importlib", "dataclasses",
                                                         "enum", "re", "inspect")], loaded


if __name__ == "__main__":
    main(globals())
