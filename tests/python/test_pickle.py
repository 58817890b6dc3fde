# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pickles of arrays, dtypes and devices: every protocol, out-of-band buffers, devices that are missing."""
import pickle
import subprocess
import sys
import warnings

import ndock as nd
from devices import DEVICES
from tap import cases, main, raises

NAMES = ("bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 "
         "complex128").split()


@cases(*((device, protocol) for device in DEVICES for protocol in range(6)))
def test_every_protocol_dtype_and_layout(device, protocol):
    for name in NAMES:
        x = nd.asarray([[0, 1, 1], [1, 0, 1]], dtype=name, device=device)
        for y in (x, x.mT, x[::-1, ::2], x[0, 0], x[:0], nd.broadcast_to(x[:1], (4, 3))):
            z = pickle.loads(pickle.dumps(y, protocol))
            assert z.tolist() == y.tolist() and z.shape == y.shape and z.dtype is y.dtype and z.device == y.device
            z[...] = 0


def test_out_of_band_buffers_are_not_copied():
    x = nd.asarray([float(i) for i in range(1000)], device="cpu")
    buffers = []
    data = pickle.dumps(x, 5, buffer_callback=buffers.append)
    assert len(data) < 300 and len(buffers) == 1 and buffers[0].raw().nbytes == x.nbytes
    y = pickle.loads(data, buffers=buffers)
    y[0] = 99
    assert x[0].item() == 99
    z = pickle.loads(data, buffers=[bytes(buffers[0])])
    assert z.tolist() == y.tolist()
    w = pickle.loads(data, buffers=[bytearray(buffers[0])])
    w[1] = 5
    assert x[1].item() == 1


def test_a_device_that_is_missing():
    device = nd.asarray([1, 2], device="sim:0")
    data = pickle.dumps(device, 2).replace(b"sim:0", b"sim:99".replace(b"99", b"9"))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        x = pickle.loads(data)
    assert x.device == nd.Device("cpu") and x.tolist() == [1, 2]
    assert len(caught) == 1 and "sim:9" in str(caught[0].message)


def test_in_another_process():
    data = pickle.dumps([nd.asarray([1, 2], device="cpu"), nd.float32], 5)
    code = "import pickle, sys; x, d = pickle.loads(bytes.fromhex(sys.argv[1])); print(x.tolist(), d)"
    run = subprocess.run([sys.executable, "-c", code, data.hex()], capture_output=True, text=True)
    assert run.stdout == "[1, 2] float32\n", run.stderr


def test_malformed_pickles_are_refused():
    from ndock._pickle import _rebuild
    for args in ((b"12345", "int32", (1,), "cpu:0"), (b"", "int32", (-1,), "cpu:0"), (b"1234", "int32", (2**62, 8), "cpu:0"),
                 (b"1234", "int33", (1,), "cpu:0"), (b"1234", "int32", "x", "cpu:0")):
        with raises((ValueError, TypeError, OverflowError)):
            _rebuild(*args)


def test_dtypes_are_one_object():
    for protocol in range(6):
        assert pickle.loads(pickle.dumps(nd.float32, protocol)) is nd.float32


if __name__ == "__main__":
    main(globals())
