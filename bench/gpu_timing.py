# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the benches of a GPU share: peers that may be absent, waiting for the whole device, and the time of calls between two waits."""
import ctypes
import time

SECONDS = 0.008  # of calls in one round


def peer(name):
    """The module of that name; None, and a line that says so, where there is none."""
    try:
        return __import__(name)
    except Exception as error:  # a broken installation counts as none
        print(f"# without {name}: {(str(error) or repr(error)).splitlines()[0]}")
        return None


def library(*names):
    """The first of these shared libraries that can be opened; None, and a line that says so, where none can."""
    for name in names:
        try:
            return ctypes.CDLL(name)
        except OSError as error:
            reason = error
    print(f"# without {names[0]}: {reason}")
    return None


class Waiting:
    """Waits for everything that the device has to do, whoever queued it."""

    def __init__(self, index=0):
        self.cu = ctypes.CDLL("libcuda.so.1")
        context, device = ctypes.c_void_p(), ctypes.c_int()
        self.cu.cuInit(0)
        self.cu.cuDeviceGet(ctypes.byref(device), index)
        self.cu.cuDevicePrimaryCtxRetain(ctypes.byref(context), device)
        self.cu.cuCtxSetCurrent(context)

    def __call__(self):
        if self.cu.cuCtxSynchronize() != 0:
            raise RuntimeError("the device has failed")


def timed(fn, wait, calls=1):
    """Seconds a call of so many, from one wait to the next."""
    wait()
    start = time.perf_counter()
    for _ in range(calls):
        keep = fn()
    wait()
    seconds = (time.perf_counter() - start) / calls
    del keep
    return seconds


def repeats(seconds, most=100):
    """How many calls that take so long are one round."""
    return max(1, min(most, int(SECONDS / max(seconds, 1e-7))))


def shown(best, who):
    """A contender's milliseconds of {contender: seconds}, with how many times ndock's they are."""
    if who not in best:
        return f"{'-':>18}"
    ratio = f"({best[who] / best['ndock']:.2f})" if who != "ndock" and "ndock" in best else ""
    return f"{best[who] * 1e3:10.3f} {ratio:>7}"
