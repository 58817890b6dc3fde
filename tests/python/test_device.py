# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Devices from Python: facts, guards, availability (D10), plug-ins and why they were refused (D12), fallback."""
import os
import pickle
import subprocess
import sys
import tempfile
import threading

import ndock as nd
from tap import Skip, cases, main, raises


def child(code, **env):
    """The output of a Python program in a process of its own, which must end well."""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600,
                         env={**os.environ, **env})
    assert run.returncode == 0, f"status {run.returncode}: {run.stderr}"
    return run.stdout


def test_facts():
    d = nd.Device("sim:1")
    assert (d.name, d.type, d.index, str(d), repr(d)) == ("sim:1", "sim", 1, "sim:1", "Device('sim:1')")
    assert d.asynchronous and not d.host_visible and d.memory > 0 and d.facts["mode"] == "auto"
    c = nd.Device("cpu")
    assert (c.name, c.type, c.index) == ("cpu:0", "cpu", 0)
    assert c.host_visible and not c.asynchronous and int(c.facts["threads"]) > 0
    assert nd.float64 in c.dtypes and nd.bfloat16 in c.dtypes
    assert nd.float32 in c.op_dtypes("add") and nd.float32 not in c.op_dtypes("bitwise_and")
    with raises(ValueError, "nonsense"):
        c.op_dtypes("nonsense")


def test_equality_and_pickle():
    d = nd.Device("sim:1")
    assert d == nd.Device("sim:1") == "sim:1" and d != nd.Device("sim:0") and d != "sim:0" and d != 3
    assert hash(d) == hash("sim:1") and {d: 1}["sim:1"] == 1
    assert pickle.loads(pickle.dumps(d)) == d


def test_listing_opens_nothing():
    out = child("import ndock as nd; d = nd.devices(); print([str(x) for x in d], nd.devices('sim') == d[-2:],"
                "nd.availability('sim:1'), d[-1].index, nd.availability('sim:1'), d[-1].asynchronous, "
                "nd.availability('sim:1'))", NDOCK_SIM_DEVICES="2")
    assert out.split("] ")[1].split() == ["True", "likely", "1", "likely", "True", "yes"], out
    assert "'cpu:0'" in out and "'sim:0', 'sim:1']" in out


def test_guards_nest_and_restore():
    before = nd.get_default_device()
    with nd.device("sim:1") as d:
        assert d == "sim:1" and nd.zeros(2).device == d
        with nd.Device("sim:2"):
            assert nd.zeros(2).device == "sim:2"
            with nd.device(None) as same:
                assert same == "sim:2"
        assert nd.get_default_device() == d
        with raises(KeyError):
            with nd.device("cpu"):
                raise KeyError
        assert nd.zeros(2).device == d
    assert nd.get_default_device() == before


def test_guard_as_decorator():
    @nd.device("sim:1")
    def where(x, *, y=None):
        """Its text."""
        return nd.zeros(2).device, x, y
    assert where(1, y=2) == ("sim:1", 1, 2) and where.__name__ == "where" and where.__doc__ == "Its text."
    assert nd.get_default_device() != "sim:1"


def test_D2_guards_out_of_order_are_refused():
    a, b = nd.device("sim:1"), nd.device("sim:2")
    a.__enter__()
    b.__enter__()
    with raises(nd.Error, "out of order"):
        a.__exit__(None, None, None)
    b.__exit__(None, None, None)
    a.__exit__(None, None, None)


def test_D1_a_thread_does_not_inherit():
    seen = []
    with nd.device("sim:1"):
        thread = threading.Thread(target=lambda: seen.append(nd.get_default_device()))
        thread.start()
        thread.join()
    assert seen == [nd.get_default_device()] and seen[0] != "sim:1"


def test_default_device():
    before = nd.get_default_device()
    try:
        nd.set_default_device("sim:1")
        assert nd.get_default_device() == "sim:1" and nd.ones(1).device == "sim:1"
    finally:
        nd.set_default_device(before)
    assert child("import ndock as nd; print(nd.zeros(1).device)", NDOCK_DEVICE="sim:1").strip() == "sim:1"


def test_missing_devices_say_what_is_missing():
    if nd.is_available("cuda"):
        raise Skip("there is a CUDA device")
    with raises(nd.Error, "cuda", "cpu:0"):
        nd.Device("cuda")
    with raises(nd.Error, "sim has 4, sim:0 to sim:3"):
        nd.zeros(1, device="sim:9")
    with raises(TypeError, "3", "cuda:0"):
        nd.Device(3)
    with raises(TypeError):
        nd.zeros(1, device=3.5)


def test_D12_reports_say_why():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "ndock-broken.so")
        with open(path, "w") as f:
            f.write("no library")
        out = child("import ndock as nd\n"
                    "try: nd.load_plugin(%r)\n"
                    "except nd.Error as e: print(isinstance(e, OSError), type(e).__name__, e)\n"
                    "r = nd.plugins()\n"
                    "print([(p['name'], p['state']) for p in r if p['state'] == 'LOADED'])\n"
                    "print([p for p in r if p['path'] == %r][0]['state'], nd.zeros(2))" % (path, path))
    lines = out.splitlines()
    assert "PluginError" in lines[0] and path in lines[0], out
    assert "('cpu', 'LOADED')" in lines[1] and "('sim', 'LOADED')" in lines[1], out
    assert lines[2].startswith("NO_NOTE [0. 0.]"), out


def test_D10_availability():
    assert nd.availability("cpu") == "yes" or nd.availability("cpu") == "likely"
    assert nd.is_available("sim:3") and not nd.is_available("sim:4") and not nd.is_available("nonsense")
    assert nd.availability("sim:2", probe="full") == "yes" == nd.availability("sim:2")
    with raises(ValueError, "maybe"):
        nd.is_available("sim", probe="maybe")


FORK = """
import os, ndock as nd
assert nd.is_available("sim") and nd.availability("sim:0") == "likely"
pid = os.fork()
if pid == 0:
    x = nd.arange(5, dtype=nd.float64, device="sim:0") + 1
    good = nd.availability("sim:0") == "yes" and "1., 2., 3., 4., 5." in repr(x)
    os._exit(0 if good else 1)
print(os.waitpid(pid, 0)[1])
"""
FORK_LATE = """
import os, ndock as nd
x = nd.ones(3, device="sim:0") + 1
h = nd.ones(3, device="cpu")
pid = os.fork()
if pid == 0:
    try:
        x + x
    except nd.Error as e:
        good = "fork" in str(e) and "spawn" in str(e)
    del x
    os._exit(0 if good and "[2., 2., 2.]" in repr(h + 1) else 1)
print(os.waitpid(pid, 0)[1])
print("[4., 4., 4.]" in repr(x + x))
"""


def test_D10_asked_then_forked_the_child_computes():
    assert child(FORK).strip() == "0"


def test_D11_a_forked_child_is_refused_and_the_cpu_works():
    assert child(FORK_LATE).split() == ["0", "True"]


def make_package(folder, target):
    """A distribution with an entry point, as pip would leave it."""
    os.makedirs(os.path.join(folder, "brings-1.0.dist-info"))
    with open(os.path.join(folder, "brings-1.0.dist-info", "METADATA"), "w") as f:
        f.write("Metadata-Version: 2.1\nName: brings\nVersion: 1.0\n")
    with open(os.path.join(folder, "brings-1.0.dist-info", "entry_points.txt"), "w") as f:
        f.write(f"[ndock.plugins]\nsim = brings:{target}\n")
    with open(os.path.join(folder, "brings.py"), "w") as f:
        f.write("import os\nPATH = os.environ['BROUGHT']\ndef path(): return PATH\n")


@cases("path", "PATH")
def test_plug_ins_of_other_packages(target):
    sim = next(p["path"] for p in nd.plugins() if p["name"] == "sim")
    cpu = next(p["path"] for p in nd.plugins() if p["name"] == "cpu")
    with tempfile.TemporaryDirectory() as folder:
        make_package(folder, target)
        env = {"PYTHONPATH": folder + ":" + os.environ["PYTHONPATH"], "BROUGHT": sim,
               "NDOCK_PLUGIN_PATH": os.path.dirname(cpu)}
        out = child("import sys, ndock as nd\n"
                    "nd.zeros(1, device='cpu'); nd.Device('cpu:0'); nd.is_available('cpu')\n"
                    "print('importlib.metadata' in sys.modules and 'brings' in sys.modules)\n"
                    "print(nd.Device('sim:1'), nd.is_available('sim'))\n", **env)
        assert out.split() == ["False", "sim:1", "True"], out
        assert "likely" in child("import ndock as nd; print(nd.availability('sim'))", **env)
        assert "sim:0" in child("import ndock as nd; print(nd.devices())", **env)


def test_a_package_that_fails_is_reported():
    with tempfile.TemporaryDirectory() as folder:
        make_package(folder, "nowhere")
        env = {"PYTHONPATH": folder + ":" + os.environ["PYTHONPATH"], "BROUGHT": "x"}
        out = child("import ndock as nd; print([p for p in nd.plugins() if p['state'] == 'ENTRY_POINT'])", **env)
        assert "AttributeError" in out and "nowhere" in out, out


def test_fallback():
    code = """
import ndock as nd
nd.reset_fallback_stats()
x = nd.arange(6, dtype=nd.float64, device="sim:0")
a = nd.fallback_stats()
assert set(a) == {"staged_calls", "staged_bytes", "derived_calls"} and all(v == 0 for v in a.values()), a
nd.set_fallback("error"); nd.set_fallback("allow")
try: nd.set_fallback("perhaps")
except ValueError as e: print(e)
"""
    assert "allow, warn, error" in child(code)


if __name__ == "__main__":
    main(globals())
