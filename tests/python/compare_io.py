# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""compare_io.py IO_COPY: files of NumPy through ndock's reader and writer and back. Speaks TAP."""
import json
import os
import struct
import subprocess
import sys
import tempfile

import numpy as np

DTYPES = "? i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8 c8 c16".split()
SHAPES = [(), (0,), (1,), (7,), (3, 4), (1, 5), (5, 1), (2, 0, 3), (2, 3, 4), (1,) * 9, (2, 1) * 4]
LONG = [(n,) for n in (9, 10, 99, 100, 1000, 12345)] + [(1,) * n for n in range(10, 33)]
SAFETENSORS = dict(zip(DTYPES, "BOOL I8 I16 I32 I64 U8 U16 U32 U64 F16 F32 F64 C64".split()))


def cases():
    """Name, array to save, and the array in native byte order that it is."""
    rng = np.random.default_rng(20251112)
    for dtype in DTYPES:
        for shape in SHAPES + (LONG if dtype == "u1" else []):
            size = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
            raw = rng.integers(0, 2 if dtype == "?" else 256, size, dtype=np.uint8)
            native = raw.view(dtype).reshape(shape)
            for order in "C", "F":
                a = np.asarray(native, order=order)
                yield f"{dtype} {shape} {order}", a, a
                big = a.astype(np.dtype(dtype).newbyteorder(">"), order="K")
                yield f"{dtype} {shape} {order} big-endian", big, a


def saved(array, version=None):
    with tempfile.TemporaryFile() as f:
        np.lib.format.write_array(f, array, version=version)
        f.seek(0)
        return f.read()


def read_safetensors(path):
    with open(path, "rb") as f:
        data = f.read()
    (n,) = struct.unpack("<Q", data[:8])
    return json.loads(data[8 : 8 + n]), data[8 + n :]


def as_compared(npy):
    """The bytes; but NumPy before 1.24 leaves no room in the header for the array to grow: without the header's spaces and length."""
    if tuple(map(int, np.__version__.split(".")[:2])) >= (1, 24):
        return npy
    size = 2 if npy[6] == 1 else 4
    data = 8 + size + int.from_bytes(npy[8:8 + size], "little")
    assert data % 64 == 0, data
    return npy[:8], npy[8 + size:data].split(), npy[data:]


def main(io_copy):
    count = failed = 0

    def ok(good, what):
        nonlocal count, failed
        count += 1
        failed += not good
        print(f"{'' if good else 'not '}ok {count} - {what}")

    with tempfile.TemporaryDirectory() as folder:
        todo, command, tensors = [], [io_copy], []
        for i, (name, array, native) in enumerate(cases()):
            source, target = os.path.join(folder, f"{i}.npy"), os.path.join(folder, f"{i}.out")
            for version in (None,) if i % 7 else (None, (2, 0), (3, 0)):
                with open(source, "wb") as f:
                    f.write(saved(array, version))
            todo.append((name, target, saved(native)))
            command += [source, target]
            if array is native and native.dtype.str[1:] != "c16" and array.flags.c_contiguous:
                target = os.path.join(folder, f"{i}.safetensors")
                tensors.append((native, target))
                command += [source, target]
        print(f"# NumPy {np.__version__}, {len(todo)} arrays")
        run = subprocess.run(command, capture_output=True, text=True)
        ok(run.returncode == 0, "all are loaded and saved")
        print("#", run.stderr.strip() or "no messages")
        bad = []
        for name, target, want in todo:
            if not os.path.exists(target) or as_compared(open(target, "rb").read()) != as_compared(want):
                bad.append(name)
        ok(not bad, "as numpy.save does, byte for byte")
        for name in bad[:10]:
            print("# differs:", name)
        good = 0
        for native, target in tensors:
            header, data = read_safetensors(target)
            kind = "?" if native.dtype == bool else native.dtype.str[1:]
            good += header == {
                "a": {
                    "dtype": SAFETENSORS[kind],
                    "shape": list(native.shape),
                    "data_offsets": [0, native.nbytes],
                }
            } and data == native.tobytes()
        ok(good == len(tensors) > 0, f"{len(tensors)} safetensors files read with Python's json")

        source, target = os.path.join(folder, "v.npy"), os.path.join(folder, "v.out")
        void = np.arange(6, dtype="<u2").view("V2").reshape(2, 3)
        np.save(source, void)
        run = subprocess.run([io_copy, source, target], capture_output=True, text=True)
        back = np.load(target) if run.returncode == 0 else None
        ok(back is not None and back.dtype == "V2" and back.tobytes() == void.tobytes()
           and back.shape == (2, 3), "V2 goes through as bf16")
    print(f"1..{count}")
    return failed != 0


sys.exit(main(sys.argv[1]))
