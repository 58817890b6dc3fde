#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""nd.peer without a GPU: who reaches whom, and what is refused; tests/cuda/ipc.c shares arrays between processes."""
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
