# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels of expressions in PTX (tests/cuda/program.t --ptx), run by ptx.py, beside the same in NumPy's doubles: addresses, loops, shuffles and
barriers, without a GPU. Bits are compared on one (tests/python/test_fuse_words.py)."""
import struct
import subprocess
import sys

import numpy as np

from ptx import Kernel, bits_of, launch, value

KINDS = {"float32": "f32", "bfloat16": "bf16", "float16": "f16"}
NEAR = {"float32": 3e-6, "bfloat16": 2e-2, "float16": 3e-3}
ROWS, COLUMNS = 40 + 24 * 8 + 64 * 16, 6  # where in cuda_program_rows extents are; dimensions of a stride's row
rng = np.random.default_rng(15)


def pack(x, dtype):
    kind = KINDS[dtype]
    return b"".join(bits_of(v, kind).to_bytes(4 if kind == "f32" else 2, "little") for v in np.asarray(x, dtype="float64").ravel())


def unpack(data, dtype):
    kind, n = KINDS[dtype], 4 if dtype == "float32" else 2
    return np.array([float(value(int.from_bytes(data[i: i + n], "little"), kind)) for i in range(0, len(data), n)])


def kernel(program, name, dtype, whole=1):
    text = subprocess.run([program, "--ptx", name, dtype, str(whole)], capture_output=True, text=True, check=True).stdout
    return Kernel(text)


def near(got, want, dtype):
    worst = np.abs(got - want).max() / np.abs(want).max()
    assert worst <= NEAR[dtype], worst


# ---- dense operands ----
def flat(program, dtype, n, skip):
    """tanh(x*x + x) of n elements, skip of them beside a multiple of 16 bytes."""
    size = 4 if dtype == "float32" else 2
    whole = n % (16 // size) == 0 and skip == 0
    x = pack(rng.standard_normal(n), dtype)
    memory, at, out = bytearray(1 << 15), 256 + skip * size, 1 << 14
    memory[at: at + len(x)] = x
    given = bytearray(16 + 24 * 8 + 64 * 16)
    struct.pack_into("<QiiQQ", given, 0, n, skip == 0, 0, at, out)
    launch(kernel(program, "chain", dtype, int(whole)), given, memory, -(-n * size // (256 * 16)), 256)
    values = unpack(x, dtype)
    near(unpack(memory[out: out + n * size], dtype), np.tanh(values * values + values), dtype)
    assert not any(memory[out + n * size:]), "elements behind the last"


# ---- strided operands ----
def divisor(d):
    """cuda_divisor_of()"""
    shift = (d - 1).bit_length()
    return d, ((1 << 32) * ((1 << shift) - d) // d + 1) & 0xFFFFFFFF, shift


def strided(program, dtype):
    """x*row + x, where x is turned and row is broadcast."""
    size, (a, b, c) = 4 if dtype == "float32" else 2, (5, 7, 61)
    x, row = pack(rng.standard_normal(a * b * c), dtype), pack(rng.standard_normal(a * c), dtype)
    memory, out = bytearray(1 << 17), 1 << 16
    memory[256: 256 + len(x)], memory[1 << 15: (1 << 15) + len(row)] = x, row
    extents = 8 + 24 * 8 + 64 * 16
    given = bytearray(extents + 6 * 12 + 24 * 6 * 8)
    struct.pack_into("<IIQQQ", given, 0, a * b * c, 0, 256, 1 << 15, out)
    for i, extent in enumerate((c, b, a)):
        struct.pack_into("<III", given, extents + 12 * i, *divisor(extent))
    for i, strides in enumerate(((1, a * c, c), (1, 0, c), (1, c, b * c))):
        struct.pack_into("<qqq", given, extents + 72 + 48 * i, *strides)
    launch(kernel(program, "strided", dtype), given, memory, -(-a * b * c // 1024), 256)
    xs = unpack(x, dtype).reshape(b, a, c).transpose(1, 0, 2)
    want = xs * unpack(row, dtype).reshape(a, 1, c) + xs
    near(unpack(memory[out: out + a * b * c * size], dtype), want.ravel(), dtype)
    assert not any(memory[out + a * b * c * size:]), "elements behind the last"


# ---- rows ----
def row_parameters(rows, count, lanes, threads, size, operands, strides, scalars):
    given, slots = bytearray(ROWS + 6 * 12 + 24 * 6 * 8 + 24 * 8 + 16 * 4), threads // lanes
    struct.pack_into("<IIiiIIqd", given, 0, rows, count * size // 16, lanes, lanes.bit_length() - 1, slots, 0xFFFFFFFF, count, 1 / count)
    struct.pack_into("<QQ", given, 40, *operands)
    given[40 + 24 * 8: 40 + 24 * 8 + len(scalars)] = scalars
    for i, stride in enumerate(strides):
        struct.pack_into("<q", given, ROWS + 6 * 12 + i * COLUMNS * 8, stride)
    struct.pack_into("<II", given, ROWS + 6 * 12 + 24 * 6 * 8 + 24 * 8, 0, count * slots * size)
    return given, slots


def row_values(name, x):
    if name == "softmax":
        e = np.exp(x - x.max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True)
    c = x - x.mean(axis=1, keepdims=True)
    v = (c * c).mean(axis=1, keepdims=True)
    return c / np.sqrt(v + 1e-5) if name == "layer" else v


def row_kernel(program, dtype, name, rows, count, lanes, threads):
    size = 4 if dtype == "float32" else 2
    x = pack(rng.standard_normal((rows, count)), dtype)
    memory, out, each = bytearray(1 << 17), 1 << 16, 1 if name == "variance" else count
    memory[256: 256 + len(x)] = x
    given, slots = row_parameters(rows, count, lanes, threads, size, (256, out), (count, each), pack([1e-5], dtype) if name == "layer" else b"")
    launch(kernel(program, name, dtype), given, memory, -(-rows // slots), threads)
    want = row_values(name, unpack(x, dtype).reshape(rows, count))
    near(unpack(memory[out: out + rows * each * size], dtype), want.ravel(), dtype)
    assert not any(memory[out + rows * each * size:]), "elements behind the last"


def quotients(program, dtype):
    """Subnormal ones and those that the few steps do not serve, too: the quotient of doubles, rounded; one that is no number, the NaN of f32."""
    size, count = 4 if dtype == "float32" else 2, 64
    numbers = np.array([0.0, -0.0, 1.0, -3.0, 5.0, 1e-30, 3e38, 1e-40, float("inf"), float("-inf"), float("nan"), 7.5] + [0.0] * 52)
    numbers[12:] = rng.standard_normal(52)
    numbers[32:] *= 2.0 ** -rng.integers(100, 134, 32)  # quotients that are subnormal
    text = kernel(program, "quotients", dtype)
    for by in (0.7, -3.0, 192.0, 1e-30, 1e30, 0.0, -0.0, float("inf"), float("nan"), 3e-40):
        row = numbers.copy()
        row[0] = by
        x = pack(row, dtype)
        memory, out = bytearray(1 << 13), 1 << 12
        memory[256: 256 + len(x)], memory[128: 128 + size] = x, x[:size]
        given, _ = row_parameters(1, count, 8, 128, size, (256, 128), (count, 1), b"")
        struct.pack_into("<QQ", given, 56, out, 64)
        for i in (2, 3):
            struct.pack_into("<q", given, ROWS + 6 * 12 + i * COLUMNS * 8, count if i == 2 else 1)
        launch(text, given, memory, 1, 128)
        values = unpack(x, dtype)
        want = pack((values / values[0]).astype("float32"), dtype)
        assert bytes(memory[out: out + count * size]) == want, (by, values, unpack(memory[out: out + count * size], dtype))


def roots(program, dtype):
    """Of rows' largest elements, each alone in its row: the bits of a root of doubles, rounded."""
    size, count = 4 if dtype == "float32" else 2, 64
    numbers = [0.0, -0.0, 1.0, 2.0, -3.0, 1e-30, 3e38, 1e-40, float("inf"), float("-inf"), float("nan"), 65504.0, *rng.uniform(0, 9, 20)]
    x = b"".join(pack([v] * count, dtype) for v in numbers)
    memory, out = bytearray(1 << 15), 1 << 14
    memory[256: 256 + len(x)] = x
    given, slots = row_parameters(len(numbers), count, 8, 128, size, (256, out), (count, 1), b"")
    launch(kernel(program, "roots", dtype), given, memory, -(-len(numbers) // slots), 128)
    want = pack(np.sqrt(unpack(pack(numbers, dtype), dtype)).astype("float32"), dtype)
    assert bytes(memory[out: out + len(numbers) * size]) == want, (numbers, unpack(memory[out: out + len(numbers) * size], dtype))


def main(program):
    cases = [(f"{name} of {dtype}, {rows} rows of {count}, {lanes} lanes", row_kernel, (program, dtype, name, rows, count, lanes, threads))
             for dtype in KINDS for name in ("softmax", "layer", "variance") for rows, count, lanes, threads in ((5, 64, 8, 128), (3, 256, 32, 128))]
    cases += [(f"{name} of float32, a block a row", row_kernel, (program, "float32", name, 2, 1280, 256, 256)) for name in ("softmax", "variance")]
    cases += [(f"{n} elements of {dtype}, {skip} beside a multiple", flat, (program, dtype, n, skip))
              for dtype in KINDS for n, skip in ((1024, 0), (1021, 0), (203, 1))]
    cases += [(f"strided operands of {dtype}", strided, (program, dtype)) for dtype in KINDS]
    cases += [(f"quotients by a row's value, {dtype}", quotients, (program, dtype)) for dtype in KINDS]
    cases += [(f"roots of rows' values, {dtype}", roots, (program, dtype)) for dtype in KINDS]
    failed = 0
    for i, (what, function, arguments) in enumerate(cases, 1):
        try:
            function(*arguments)
            print(f"ok {i} - {what}", flush=True)
        except Exception as e:
            failed += 1
            print(f"not ok {i} - {what}\n# {type(e).__name__}: {str(e)[:1000]}", flush=True)
    print(f"1..{len(cases)}")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
