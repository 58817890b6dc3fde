#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Quantised arrays against NumPy, and bit for bit against the PyPI package gguf where it can be imported."""
import hashlib
import os
import subprocess
import sys

import ndock as nd
from arrays import DEVICES, np
from tap import Skip, cases, main, raises

SMALL = ["q4_0", "q4_1", "q5_0", "q5_1", "q8_0", "q8_1", "iq4_nl"]
LARGE = ["q2_K", "q3_K", "q4_K", "q5_K", "q6_K"]
WRITTEN = ["q4_0", "q8_0", "q4_K", "q6_K"]
STEP = {"q4_0": 1 / 7, "q8_0": 1 / 250, "q4_K": 1 / 8, "q6_K": 1 / 30}


def gguf_package():
    try:
        import gguf
    except ImportError:
        return None
    return gguf


@cases(*SMALL, *LARGE)
def test_elements_are_those_of_gguf(name):
    gguf = gguf_package()
    if gguf is None or name == "q8_1":
        raise Skip("gguf does not read q8_1" if gguf else "the package gguf is not installed")
    kind = gguf.GGMLQuantizationType[name.upper()]
    block, nbytes = gguf.GGML_QUANT_SIZES[kind]
    rng = np.random.default_rng(7)
    for rows in (1, 5):
        raw = rng.integers(0, 256, (rows, 3, nbytes * (512 // block)), dtype=np.uint8)
        with np.errstate(all="ignore"):
            want = gguf.quants.dequantize(raw, kind)
        got = np.asarray(nd.dequantize(nd.QuantArray(nd.asarray(raw), name)))
        assert got.shape == want.shape == (rows, 3, 512)
        assert np.all((got.view(np.uint32) == want.view(np.uint32)) | (np.isnan(got) & np.isnan(want)))


@cases("q4_0", "q8_0")
def test_blocks_are_those_of_gguf(name):
    gguf = gguf_package()
    if gguf is None:
        raise Skip("the package gguf is not installed")
    rng = np.random.default_rng(8)
    x = (rng.standard_normal((64, 96)) * np.exp(4 * rng.standard_normal((64, 1)))).astype(np.float32)
    x[0], x[1], x[2, :40], x[3] = 0, 1, 0, np.round(2 * x[3]) / 2
    want = gguf.quants.quantize(x, gguf.GGMLQuantizationType[name.upper()])
    assert np.array_equal(np.asarray(nd.quantize(nd.asarray(x, device="cpu"), name).blocks), want)


@cases(*[(name, device) for name in WRITTEN for device in DEVICES])
def test_round_trip(name, device):
    rng = np.random.default_rng(9)
    for dtype in (np.float32, np.float16, np.float64):
        x = rng.standard_normal((2, 3, 512)).astype(dtype)
        q = nd.quantize(nd.asarray(x, device=device), name)
        assert q.shape == x.shape and q.format == name and str(q.device) == str(nd.Device(device))
        y = np.asarray(nd.dequantize(q).to_device("cpu"))
        assert np.abs(y - x).max() <= np.abs(x).max() * STEP[name]
        assert np.array_equal(np.asarray(nd.quantize(nd.asarray(x, device="cpu"), name).blocks), np.asarray(q.blocks.to_device("cpu")))
        for narrow in (nd.float16, nd.bfloat16, nd.float64):
            z = nd.dequantize(q, dtype=narrow)
            assert z.dtype == narrow and nd.all(z == nd.dequantize(q).astype(narrow))


@cases(*[(name, device) for name in WRITTEN for device in DEVICES])
def test_products(name, device):
    rng = np.random.default_rng(10)
    for m, r, n in ((1, 7, 256), (5, 3, 1024), (17, 2, 768)):
        x = rng.standard_normal((m, n)).astype(np.float32)
        w = nd.quantize(nd.asarray(rng.standard_normal((r, n)).astype(np.float32), device=device), name)
        d = (np.abs(x.reshape(m, -1, 32)).max(-1, keepdims=True) / np.float32(127)).astype(np.float32)
        codes = np.sign(x.reshape(m, -1, 32)) * np.floor(np.abs(x.reshape(m, -1, 32) * (1 / d)) + 0.5)
        rounded = (codes * d).reshape(m, n).astype(np.float64)
        weights = np.asarray(nd.dequantize(w).to_device("cpu")).astype(np.float64)
        got = nd.matmul_q(nd.asarray(x, device=device), w)
        assert got.shape == (m, r) and got.dtype == nd.float32
        got = np.asarray(got.to_device("cpu"))
        assert np.all(np.abs(got - rounded @ weights.T) <= 2e-6 * (np.abs(rounded) @ np.abs(weights.T)))
        assert np.abs(got - x @ weights.T).max() <= 0.02 * np.sqrt(n)
        for dtype in (nd.float16, nd.bfloat16):
            assert nd.matmul_q(nd.asarray(x, device=device).astype(dtype), w).dtype == dtype


HALVES = {"q2_K": (80, 82), "q3_K": (108,), "q6_K": (208,), **{name: (0, 2) for name in ("q4_1", "q5_1", "q8_1", "q4_K", "q5_K")}}


def random_blocks(rng, rows, n, name):
    """Blocks of random bytes, but for their factors, which are halves below 1 of either sign."""
    block, nbytes = nd._ndock._quant_block(name)
    raw = rng.integers(0, 256, (rows, n // block, nbytes), dtype=np.uint8)
    for at in HALVES.get(name, (0,)):
        raw[..., at:at + 2] = rng.uniform(-1, 1, raw.shape[:2] + (1,)).astype(np.float16).view(np.uint8)
    return raw.reshape(rows, -1)


@cases(*[(name, device) for name in SMALL + LARGE for device in DEVICES])
def test_products_of_long_rows(name, device):
    """Rows that begin at any even place, or at multiples of 16 bytes, and end within a warp's piece, odd numbers of them; few of the other operand."""
    rng = np.random.default_rng(12)
    for m, rows, n in ((1, 33, 11008), (1, 7, 10240), (1, 301, 4096), (1, 9, 3328), (3, 5, 4352), (2, 2, 8192), (8, 4, 256)):
        w = nd.QuantArray(nd.asarray(random_blocks(rng, rows, n, name), device=device), name)
        x = rng.standard_normal((m, n)).astype(np.float32)
        x[0, :64] = [0.5] * 32 + [0] * 32
        d = np.abs(x.reshape(m, -1, 32)).max(-1, keepdims=True) / np.float32(127)
        scaled = x.reshape(m, -1, 32) * np.divide(np.float32(1), d, out=np.zeros_like(d), where=d != 0)
        rounded = (np.sign(scaled) * np.floor(np.abs(scaled) + np.float32(0.5)) * d.astype(np.float64)).reshape(m, n)
        weights = np.asarray(nd.dequantize(w).to_device("cpu")).astype(np.float64)
        got = np.asarray(nd.matmul_q(nd.asarray(x, device=device), w).to_device("cpu"))
        size = np.abs(rounded) @ np.abs(weights.T)
        assert np.all(np.abs(got - rounded @ weights.T) <= 2e-6 * size), (m, rows, n)
        x[:, 7], x[:, n - 40] = np.nan, np.inf
        assert np.all(np.isnan(np.asarray(nd.matmul_q(nd.asarray(x, device=device), w).to_device("cpu"))))


@cases(*[(name, device) for name in SMALL + LARGE for device in DEVICES])
def test_products_of_many_rows(name, device):
    """A row's product has the same bits wherever it lies among others, so many that each multiprocessor takes many of them."""
    rng = np.random.default_rng(14)
    for rows, times, n in ((331, 53, 2048), (37, 61, 4864)):
        few = nd.asarray(random_blocks(rng, rows, n, name), device=device)
        x = nd.asarray(rng.standard_normal((1, n)).astype(np.float32), device=device)
        want = np.asarray(nd.matmul_q(x, nd.QuantArray(few, name)).to_device("cpu"))
        got = np.asarray(nd.matmul_q(x, nd.QuantArray(nd.tile(few, (times, 1)), name)).to_device("cpu"))
        assert np.array_equal(got.view(np.uint32), np.tile(want, (1, times)).view(np.uint32)), (rows, n)


@cases(*[(name, device) for name in SMALL + LARGE for device in DEVICES])
def test_largest_sums(name, device):
    """Codes, scales and minima of all bits set, and random ones, with codes of 127 of all signs: no sum of integers is too large."""
    rng = np.random.default_rng(5)
    raw = random_blocks(rng, 5, 768, name).reshape(5, -1, nd._ndock._quant_block(name)[1])
    factors = [at + i for at in HALVES.get(name, (0,)) for i in range(2)]
    heads = raw[:3, :, factors]
    raw[0], raw[1], raw[2] = 255, 0, 0x7f
    raw[:3, :, factors] = heads
    w = nd.QuantArray(nd.asarray(raw.reshape(5, -1), device=device), name)
    weights = np.asarray(nd.dequantize(w).to_device("cpu")).astype(np.float64)
    for signs in (np.ones((1, 768)), -np.ones((1, 768)), np.where(weights < 0, -1.0, 1.0), np.where(rng.random((9, 768)) < 0.5, -1.0, 1.0)):
        x = (signs * 127).astype(np.float32)
        got = np.asarray(nd.matmul_q(nd.asarray(x, device=device), w).to_device("cpu"))
        assert np.all(np.abs(got - x.astype(np.float64) @ weights.T) <= 2e-6 * (np.abs(x) @ np.abs(weights.T)))


@cases(*[(name, device) for name in WRITTEN for device in DEVICES])
def test_products_in_a_graph(name, device):
    """Products of products, with sums of them between: in a graph, where a device may begin one before another ends, the bits are those
    of the same calls outside one, each time it runs."""
    rng = np.random.default_rng(9)
    w = nd.quantize(nd.asarray(rng.standard_normal((2048, 2048)).astype(np.float32) / 32, device=device), name)

    def chain(x):
        for _ in range(4):
            x = nd.matmul_q(nd.matmul_q(x, w) + x, w)
        return x

    x = nd.asarray(rng.standard_normal((1, 2048)).astype(np.float32), device=device)
    with nd.graph(device=device) as graph:
        made = chain(x)
    for _ in range(5):
        x[:] = nd.asarray(rng.standard_normal((1, 2048)).astype(np.float32), device=device)
        graph.launch()
        assert np.array_equal(np.asarray(made.to_device("cpu")), np.asarray(chain(x).to_device("cpu")))


@cases(*[(name, device) for name in ("q2_K", "q3_K") for device in DEVICES])
def test_products_of_many_rows(name, device):
    """So many rows that each multiprocessor of a GPU takes several tiles of 16, and adds its warps' sums more than once; the same
    rows again and again, whose products have the same bits wherever they lie."""
    rng = np.random.default_rng(16)
    rows, n, copies = 1003, 2048, 36
    raw = random_blocks(rng, rows, n, name)
    x = rng.integers(-120, 121, (1, n)).astype(np.float32) / np.float32(1024)  # numbers of f16 and bf16 as well
    d = np.abs(x.reshape(-1, 32)).max(-1, keepdims=True) / np.float32(127)
    scaled = x.reshape(-1, 32) * (np.float32(1) / d)
    rounded = (np.sign(scaled) * np.floor(np.abs(scaled) + np.float32(0.5)) * d.astype(np.float64)).reshape(1, n)
    weights = np.asarray(nd.dequantize(nd.QuantArray(nd.asarray(raw, device="cpu"), name))).astype(np.float64)
    w = nd.QuantArray(nd.asarray(np.tile(raw, (copies, 1)), device=device), name)
    got = np.asarray(nd.matmul_q(nd.asarray(x, device=device), w).to_device("cpu")).reshape(copies, rows)
    assert np.all(np.abs(got[0] - rounded @ weights.T) <= 2e-6 * (np.abs(rounded) @ np.abs(weights.T)))
    assert np.all(got == got[0])
    few = nd.QuantArray(nd.asarray(raw, device=device), name)
    for dtype, unit in ((nd.float16, 2e-3), (nd.bfloat16, 2e-2)):
        made = nd.matmul_q(nd.asarray(x, device=device).astype(dtype), few)
        assert made.dtype == dtype
        made = np.asarray(made.astype(nd.float64).to_device("cpu"))[0]
        assert np.all(np.abs(made - got[0]) <= unit * np.abs(got[0]) + 2e-6 * (np.abs(rounded) @ np.abs(weights.T))[0]), dtype


def hashes():
    """Lines for each format: products of random blocks, of one row, two, and more than are computed at once, and of tiny numbers."""
    lines = []
    for name in SMALL + LARGE:
        rng = np.random.default_rng(11)
        q = nd.QuantArray(nd.asarray(random_blocks(rng, 19, 1536, name), device="cpu"), name)
        for m, unit in ((1, 1), (2, 1), (9, 1), (3, 2.0**-112)):
            x = nd.asarray((rng.standard_normal((m, 1536)) * unit).astype(np.float32), device="cpu")
            lines.append(name + hashlib.sha256(np.asarray(nd.matmul_q(x, q)).tobytes()).hexdigest())
    return "\n".join(lines)


@cases("avx512", "avx2", "baseline")
def test_same_bits_at_every_level(level):
    run = subprocess.run([sys.executable, os.path.abspath(__file__), "--hashes"], env={**os.environ, "NDOCK_CPU_ISA": level},
                         capture_output=True, text=True, check=True)
    assert run.stdout.strip() == hashes()


def blocks_of(x, name):
    """What 32 numbers become in q4_0 (the largest one is -8 of them) and q8_0, by ggml's definition, in float32 as there."""
    parts = x.reshape(-1, 32).astype(np.float32)
    most = parts[np.arange(len(parts)), np.abs(parts).argmax(1)][:, None]
    d = most / np.float32(-8) if name == "q4_0" else np.abs(most) / np.float32(127)
    scaled = parts * np.divide(np.float32(1), d, out=np.zeros_like(d), where=d != 0)
    if name == "q4_0":
        codes = np.minimum(15, np.trunc(scaled + np.float32(8.5))) - 8
    else:
        codes = np.sign(scaled) * np.floor(np.abs(scaled) + np.float32(0.5))
    return (codes.astype(np.float64) * d.astype(np.float16).astype(np.float64)).reshape(x.shape)


@cases(*[(name, device) for name in ("q4_0", "q8_0") for device in DEVICES])
def test_numbers_of_candle(name, device):
    """The operands of candle's own tests of quantised products: numbers that count, from 0 and from below it, and batches of them."""
    line = np.arange(128, dtype=np.float32)
    got = np.asarray(nd.dequantize(nd.quantize(nd.asarray(line, device=device), name)).to_device("cpu"))
    assert np.array_equal(got, blocks_of(line, name).astype(np.float32))
    m, k, n = 3, 64, 4
    for batch, low, right in ((1, 0, 0), (1, m * k // 2, k * n // 3), (12, 0, 0)):
        x = (np.arange(batch * m * k, dtype=np.float32) - low).reshape(batch * m, k)
        w = (np.arange(k * n, dtype=np.float32) - right).reshape(n, k)
        parts = x.reshape(-1, 32)
        d = np.abs(parts).max(1, keepdims=True) / np.float32(127)
        codes = parts * np.divide(np.float32(1), d, out=np.zeros_like(d), where=d != 0)
        rounded = (np.sign(codes) * np.floor(np.abs(codes) + np.float32(0.5)) * d.astype(np.float64)).reshape(x.shape)
        want = rounded @ blocks_of(w, name).T
        got = nd.matmul_q(nd.asarray(x, device=device), nd.quantize(nd.asarray(w, device=device), name))
        assert np.abs(np.asarray(got.to_device("cpu")) - want).max() <= 2e-6 * np.abs(want).max(), (batch, low)


@cases(*[(name, device) for name in WRITTEN for device in DEVICES])
def test_more_of_candle(name, device):
    """Its products of fractions within 2 % of the exact ones, batches whose rows have the bits of the same row alone (but for many, which
    devices may add in another order), and its embedding, each beside the definition."""
    m, n, k = 3, 4, 256
    x, w = (np.arange(size * k, dtype=np.float32) / np.float32(size * k) for size in (m, n))
    x, w = x.reshape(m, k), np.ascontiguousarray(w.reshape(k, n).T)
    q = nd.quantize(nd.asarray(w, device=device), name)
    exact = x.astype(np.float64) @ w.astype(np.float64).T
    got = np.asarray(nd.matmul_q(nd.asarray(x, device=device), q).to_device("cpu"))
    assert np.abs(got / exact - 1).mean() <= 0.02
    for batch in (1, 2, 4, 6, 12):
        rows = np.resize(x, (batch, k))
        made = np.asarray(nd.matmul_q(nd.asarray(rows, device=device), q).to_device("cpu"))
        off = np.abs(made - np.resize(got, (batch, n))).max()
        assert off <= (2e-6 * np.abs(got).max() if batch > 8 else 0), (batch, off)
    i = np.arange(8 * 256, dtype=np.float32)
    table = (np.sin(i * np.float32(0.003)) * 0.5 + np.cos(i * np.float32(0.007)) * 0.25).reshape(8, 256).astype(np.float32)
    table = nd.quantize(nd.asarray(table, device=device), name)
    rows = nd.embedding_q(table, nd.asarray([[3, 1], [3, 7]], device=device))
    want = np.asarray(nd.dequantize(table).to_device("cpu"))[[[3, 1], [3, 7]]]
    assert rows.shape == (2, 2, 256) and np.array_equal(np.asarray(rows.to_device("cpu")), want)


@cases(*DEVICES)
def test_views_and_rows(device):
    x = np.arange(4)[:, None] * np.full((1, 64), 127.0, np.float32)
    q = nd.quantize(nd.asarray(x.reshape(2, 2, 64), device=device), "q8_0")
    assert q[1].shape == (2, 64) and q[:, 1:].shape == (2, 1, 64) and q[..., ].shape == q.shape and len(q) == 2
    assert nd.dequantize(q[1, ::-1])[:, 0].tolist() == [381, 254]
    assert nd.dequantize(q[None, 1]).shape == (1, 2, 64)
    flat = nd.QuantArray(q.blocks.reshape((4, -1)), "q8_0")
    rows = nd.embedding_q(flat, [[3, 0], [-1, 2]], dtype=nd.float16)
    assert rows.shape == (2, 2, 64) and rows.dtype == nd.float16 and rows[..., 5].tolist() == [[381, 0], [381, 254]]
    assert nd.matmul_q(nd.ones((0, 64), dtype=nd.float32, device=device), flat).shape == (0, 4)
    assert q.to_device(device) is q and q.size == 256 and q.nbytes == 4 * 68 and q.ndim == 3
    x = nd.ones((3, 64), dtype=nd.float32, device=device)
    part = nd.matmul_q(x[::-1, ::1], nd.QuantArray(flat.blocks[::2], "q8_0"))
    assert part.shape == (3, 2) and abs(float(part[0, 1]) - 64 * 254) < 3


def test_errors():
    x = nd.ones((2, 64), dtype=nd.float32, device="cpu")
    q = nd.quantize(x, "q8_0")
    with raises(ValueError, "q4_2", "q4_0"):
        nd.quantize(x, "q4_2")
    with raises(NotImplementedError, "q5_K"):
        nd.quantize(x, "q5_K")
    with raises(ValueError, "64", "256"):
        nd.quantize(x, "q4_K")
    with raises(TypeError, "int64"):
        nd.quantize(nd.arange(32, device="cpu"), "q8_0")
    with raises(ValueError, "68"):
        nd.QuantArray(nd.zeros((2, 68), dtype=nd.uint8, device="cpu"), "q4_K")
    with raises(ValueError, "uint8"):
        nd.QuantArray(x, "q8_0")
    with raises(IndexError, "last axis"):
        q[0, :32]
    with raises(IndexError, "ints and slices"):
        q[[0, 1]]
    with raises(IndexError):
        nd.embedding_q(q, [2])
    with raises(ValueError, "32"):
        nd.matmul_q(nd.ones((1, 32), dtype=nd.float32, device="cpu"), q)
    with raises(TypeError, "float64"):
        nd.matmul_q(nd.ones((1, 64), device="cpu"), q)
    with raises(TypeError, "int32"):
        nd.dequantize(q, dtype=nd.int32)
    with raises(TypeError):
        len(q[0])


if __name__ == "__main__":
    if sys.argv[1:] == ["--hashes"]:
        print(hashes())
    else:
        main(globals())
