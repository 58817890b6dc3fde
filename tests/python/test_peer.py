#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""nd.peer without a GPU: who reaches whom, and what is refused; tests/cuda/ipc.c shares arrays between processes."""
import struct

import ndock as nd
from tap import main, raises


def test_devices():
    assert nd.peer.can_access("cpu", "cpu") and not nd.peer.can_access("cpu", "sim:0")
    with raises(RuntimeError, "cannot use the memory"):
        nd.peer.enable("sim:0", "cpu")


def test_arrays():
    x = nd.ones(2, device="cpu")
    assert nd.peer.is_alive(x)
    with raises(RuntimeError, "cannot be named"):
        nd.peer.export(x)
    with raises(TypeError, "export"):
        nd.peer.export(3)


def test_handles():
    with raises(ValueError, "1536"):
        nd.peer.open(b"x")
    with raises(ValueError, "no handle"):
        nd.peer.open(bytes(1536))
    with raises(TypeError):
        nd.peer.open(3)


def forged(magic, nbytes, size, names):
    """A handle of process 1 whose sum is right: lease, plug-in and device as named, zeros behind."""
    body = (struct.pack("<q", 1) + b"".join(names)).ljust(size - 16, b"\0")
    total = 0xCBF29CE484222325
    for byte in body:
        total = (total ^ byte) * 0x100000001B3 % 2**64
    return (magic.ljust(8, b"\0") + struct.pack("<Q", total) + body).ljust(nbytes, b"\0")


def test_forged_handles():
    sizes = 48, 32, 64
    for magic, nbytes, size, take in ((b"ndevt 1", 256, 232, nd.peer.open_event), (b"ndipc 1", 1536, 320 + 2 * 8 * 64, nd.peer.open)):
        ended = [b"x".ljust(n, b"\0") for n in sizes]
        with raises(nd.Error, "does not see"):
            take(forged(magic, nbytes, size, ended))
        for k in range(3):
            with raises(ValueError, "no handle"):
                take(forged(magic, nbytes, size, ended[:k] + [b"x" * sizes[k]] + ended[k + 1:]))


def test_events():
    with raises(RuntimeError, "events of cpu:0 cannot be named"):
        nd.Event("cpu", interprocess=True).export()
    with raises(ValueError, "256 bytes"):
        nd.peer.open_event(b"x")
    with raises(ValueError, "no handle"):
        nd.peer.open_event(bytes(256))
    with raises(TypeError):
        nd.peer.open_event(3)


if __name__ == "__main__":
    main(globals())
