# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the benches of a GPU share: peers that may be absent, waiting for the whole device, and the time of calls between two waits."""
import ctypes
import time

SECONDS = 0.008  # of calls in one round
WARM_UP_SECONDS = 1.5  # until the clocks of a card that was idle have settled


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


def warm_up(fn):
    """Calls it, which waits for its own end, until the device's clocks have settled: an idle H100 begins at 345 MHz."""
    end = time.monotonic() + WARM_UP_SECONDS
    while time.monotonic() < end:
        fn()


def repeats(seconds, most=100):
    """How many calls that take so long are one round."""
    return max(1, min(most, int(SECONDS / max(seconds, 1e-7))))


def shown(best, who):
    """A contender's milliseconds of {contender: seconds}, with how many times ndock's they are."""
    if who not in best:
        return f"{'-':>18}"
    ratio = f"({best[who] / best['ndock']:.2f})" if who != "ndock" and "ndock" in best else ""
    return f"{best[who] * 1e3:10.3f} {ratio:>7}"


CEILING = 4250.0  # GB/s of the copy beside which aims are stated
MOVING = 4000.0  # of it, what rows that move memory alone should reach


class Aims:
    """What a row should reach: a figure of the tables, as a share of the copy of the same run where it is limited by memory; or "torch" or
    "peer" and how many times their speed; or "moved", a figure, and how many times the bytes that are counted memory has to move, since it
    moves whole sectors: no more is asked then than moves these as other rows do (MOVING of CEILING). Notes the rows that fall short."""

    def __init__(self, copy):
        self.copy, self.rows, self.short = copy, 0, []

    def scaled(self, unit, aim):
        return aim * self.copy / CEILING if unit in ("GB/s", "Gkey/s") else aim

    def of_moved(self, unit, aim, times):
        """The figure, or what is left of MOVING where that is less; and how to say so."""
        wanted = min(self.scaled(unit, aim), self.scaled(unit, MOVING) / times)
        return wanted, f"aim {aim} of {CEILING:.0f}, memory moves {times:g} x as many bytes, here {wanted:.4g}"

    def text(self, row, unit, aim, figures):
        """The row's aim, and whether figures, {contender: more is better}, meet it."""
        if not aim or "ndock" not in figures:
            return ""
        self.rows += 1
        if isinstance(aim, tuple) and aim[0] == "moved":
            wanted, said = self.of_moved(unit, aim[1], aim[2])
        elif isinstance(aim, tuple):
            peers = {k: v for k, v in figures.items() if k != "ndock" and (aim[0] == "peer" or k == aim[0])}
            if not peers:
                return "no peer"
            wanted, said = aim[1] * max(peers.values()), f"aim {aim[1]:.2f} of {aim[0]}"
        else:
            wanted = self.scaled(unit, aim)
            said = f"aim {aim}" + (f" of {CEILING:.0f}, here {wanted:.4g}" if wanted != aim else "")
        if figures["ndock"] >= wanted:
            return said
        per = "a us" if unit == "us" else unit
        self.short.append((figures["ndock"] / wanted, row, f"{figures['ndock']:.4g} {per} for {wanted:.4g}"))
        return f"{said} SHORT {figures['ndock'] / wanted:.3f}"

    def report(self):
        print(f"# {len(self.short)} of {self.rows} rows with an aim are short of it, the worst first")
        for share, row, why in sorted(self.short):
            print(f"#   {share:.3f}  {row}: {why}", flush=True)
