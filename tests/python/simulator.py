# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Control of the simulated devices from Python, by the table of include/ndock/sim.h: Sim("sim:0").set_cost(1000, 50)."""
import ctypes
import re
import os

ANY = ctypes.c_void_p(-1)
_HEADER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../include/ndock/sim.h")


def _slots():
    """Names of the table's functions, in order."""
    with open(_HEADER) as f:
        table = f.read().rpartition("typedef struct {")[2]
    return re.findall(r"int32_t \(\*(\w+)\)\(", table)


def _library():
    """libndock as the extension module has loaded it."""
    import ndock  # noqa: F401
    with open("/proc/self/maps") as f:
        paths = {line.split()[-1] for line in f if "libndock.so" in line}
    return ctypes.CDLL(paths.pop())


class Sim:
    def __init__(self, name="sim:0"):
        lib = _library()
        device, table, self.dev = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
        assert lib.nd_device_get(name.encode(), ctypes.byref(device)) == 0
        assert lib.nd_device_group(device, b"org.ndock.sim/1", ctypes.byref(table), ctypes.byref(self.dev)) == 0
        slots = _slots()
        array = (ctypes.c_void_p * (len(slots) + 1)).from_address(table.value)  # size and zero are one word
        self.functions = {slot: ctypes.CFUNCTYPE(ctypes.c_int32)(array[i + 1]) for i, slot in enumerate(slots)}

    def __getattr__(self, slot):
        """The function of that name; ints go as 64-bit ones, and it must return 0."""
        function = self.functions[slot]

        def call(*args):
            args = [ctypes.c_uint64(a) if isinstance(a, int) else a for a in args]
            status = function(self.dev, *args)
            assert status == 0, f"{slot} returned {status}"
        return call

    def count(self, slot, *args):
        """What the function writes through its last argument."""
        value = ctypes.c_uint64()
        getattr(self, slot)(*args, ctypes.byref(value))
        return value.value
