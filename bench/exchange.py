# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What an exchange costs, beside NumPy, PyTorch and CuPy where they are: exports, imports, and our share of an import,
which is the whole less the producer's own attribute call. Nanoseconds of the thread's processor time, the best of five.
On a machine without CUDA the CUDA Array Interface is timed on a simulated device, whose own cost is in it."""
import os
import time

os.environ.setdefault("NDOCK_CAI_SIM", "1")
import ndock as nd  # noqa: E402


def ns(function, n=20000, before=None):
    best = float("inf")
    for _ in range(5):
        if before:
            before()
        start = time.thread_time_ns()
        for _ in range(n // 5):
            function()
        best = min(best, (time.thread_time_ns() - start) / (n // 5))
    return best


def line(what, value, note=""):
    print(f"{what:44s} {value - EMPTY:8.0f} ns  {note}")


EMPTY = ns(lambda: None)
print(f"{'(an empty function, not counted below)':44s} {EMPTY:8.0f} ns")


class Spy:
    """Stands for an object, and notes what its __dlpack__ is asked for."""
    def __init__(self, o):
        self.o = o

    def __dlpack_device__(self):
        return self.o.__dlpack_device__()

    def __dlpack__(self, **asked):
        self.asked = asked
        return self.o.__dlpack__(**asked)


def dlpack_share(name, o):
    """The producer's calls are timed with the arguments that an import gives them."""
    if hasattr(type(o), "__dlpack_c_exchange_api__"):
        return line(f"ndock takes from {name}, C functions", ns(lambda: nd.from_dlpack(o)))
    spy = Spy(o)
    nd.from_dlpack(spy)
    asked = spy.asked
    share(f"{name}, DLPack", lambda: nd.from_dlpack(o), lambda: o.__dlpack__(**asked), o.__dlpack_device__)


def share(name, take, *calls):
    """A producer's object: the whole import, its bare calls, and the rest."""
    whole, bare = ns(take), sum(ns(c) - EMPTY for c in calls)
    line(f"ndock takes from {name}", whole, f"bare calls {bare:.0f}, our share {whole - EMPTY - bare:.0f}")


def host():
    x = nd.ones((2, 3), device="cpu")
    line("ndock array.__dlpack__()", ns(lambda: x.__dlpack__(max_version=(1, 3))))
    line("ndock takes from ndock, C functions", ns(lambda: nd.from_dlpack(x)))
    try:
        import numpy as np
    except ImportError:
        return
    a = np.ones((2, 3))
    dlpack_share("NumPy", a)
    line("NumPy takes from ndock, DLPack", ns(lambda: np.from_dlpack(x)))
    line("NumPy takes from NumPy, DLPack", ns(lambda: np.from_dlpack(a)))
    line("ndock.asarray(NumPy array)", ns(lambda: nd.asarray(a, device="cpu")))


def torch_host():
    try:
        import torch
    except ImportError:
        return
    t, x = torch.ones(2, 3), nd.ones((2, 3), device="cpu")
    dlpack_share("PyTorch", t)
    line("PyTorch takes from ndock, DLPack", ns(lambda: torch.from_dlpack(x)))


class Bare:
    def __init__(self, desc):
        self.__cuda_array_interface__ = desc


def interface(device):
    nd.set_default_device(device)
    x = nd.ones((2, 3), device=device)
    nd.synchronize(device)
    idle = Bare(x.__cuda_array_interface__)
    line(f"{device} array.__cuda_array_interface__", ns(lambda: x.__cuda_array_interface__))
    share(f"an object, interface on {device}, no stream", lambda: nd.as_array(idle), lambda: idle.__cuda_array_interface__)
    s = nd.Stream(device)
    busy = Bare({**x.__cuda_array_interface__, "stream": s.__cuda_stream__()[1]})
    share("the same with a stream: event and wait too", lambda: nd.as_array(busy), lambda: busy.__cuda_array_interface__)
    event, other = nd.Event(device), nd.Stream(device)

    def record_and_wait():
        s.record_event(event)
        other.wait_event(event)
    line("of which: an event's record, a wait for it", ns(record_and_wait))
    nd.synchronize(device)


def gpu_peers():
    for name in ("cupy", "torch"):
        try:
            library = __import__(name)
        except ImportError:
            continue
        t = library.ones((2, 3)) if name == "cupy" else library.ones(2, 3, device="cuda")
        x = nd.ones((2, 3), device="cuda")
        nd.synchronize("cuda")
        share(f"{name}, interface", lambda: nd.as_array(t), lambda: t.__cuda_array_interface__)
        dlpack_share(name, t)
        line(f"{name} takes from ndock, interface",
             ns((lambda: library.asarray(x)) if name == "cupy" else (lambda: library.as_tensor(x, device="cuda"))))
        line(f"{name} takes from ndock, DLPack", ns(lambda: library.from_dlpack(x)))


if __name__ == "__main__":
    host()
    torch_host()
    interface("cuda:0" if nd.is_available("cuda") else "sim:0")
    if nd.is_available("cuda"):
        gpu_peers()
