#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Paths that only arrays of some size and layout take, against NumPy: rows moved in vectors, lines summed in tiles, short rows folded
together, long rows sorted."""
import ndock as nd
from arrays import DEVICES, from_numpy, host, np, same
from tap import cases, main

rng = np.random.default_rng(18)


def numbers(dtype, *shape):
    if np.dtype(dtype).kind in "iu":
        return rng.integers(0, 100, shape).astype(dtype)
    x = rng.standard_normal(shape)
    return (x + 1j * rng.standard_normal(shape) if np.dtype(dtype).kind == "c" else x).astype(dtype)


@cases(*DEVICES)
def test_rows_set(device):
    for dtype, row in (("float32", 128), ("int8", 160), ("complex128", 33), ("float16", 1040)):
        x, b = numbers(dtype, 500, row), numbers(dtype, 300, row)
        for i in (rng.permutation(500)[:300], rng.integers(-500, 500, 300)):  # the last of equal indices wins
            y = from_numpy(x, device)
            y[from_numpy(i, device)] = from_numpy(b, device)
            want = x.copy()
            for j, at in enumerate(i):
                want[at] = b[j]
            same(y, want)


@cases(*DEVICES)
def test_rows_added(device):
    for dtype, row, groups in (("float32", 128, 7), ("float64", 20, 100), ("int32", 300, 1), ("float16", 64, 3), ("complex64", 40, 50)):
        x, b, i = numbers(dtype, groups, row), numbers(dtype, 700, row), rng.integers(-groups, groups, 700)
        want = x.copy()
        for j, at in enumerate(i):  # in order, each sum rounded
            want[at] += b[j]
        same(nd.index_add(from_numpy(x, device), from_numpy(i, device), from_numpy(b, device)), want)


@cases(*DEVICES)
def test_rows_taken(device):
    for dtype, row in (("float32", 128), ("int8", 272), ("float64", 2000), ("complex128", 17)):
        x, i = numbers(dtype, 300, row), rng.integers(-300, 300, 1001)
        same(nd.take(from_numpy(x, device), from_numpy(i, device), axis=0), x[i])
        same(nd.take(from_numpy(x[:, ::2], device), from_numpy(i, device), axis=0), x[:, ::2][i])


@cases(*DEVICES)
def test_elements_from_afar(device):
    """More elements than caches hold, in no order, in order, and in order here and there; from both ends."""
    n, m = (1 << 25 if device.startswith("cuda") else 1 << 24) + 9, (1 << 22) + 5001
    x, away, along = np.arange(n, dtype="int32") * 40503, rng.integers(-n, n, m), np.arange(m) + n - m
    here = np.where(np.arange(m) // 20000 % 2, away, along)
    table = from_numpy(x, device)
    for i in (away, along, here):
        same(nd.take(table, from_numpy(i, device)), x[i])
    away[12345] = n
    try:
        nd.take(table, from_numpy(away, device))
        nd.synchronize(device)
    except IndexError as error:
        assert str(n) in str(error), error
    else:
        raise AssertionError("an index beyond the table is taken")


@cases(*DEVICES)
def test_axes_apart_reduced(device):
    """Lines of two and three dimensions, whose inner one has more or fewer vectors than a step, and is no multiple of it. The numbers
    are small and whole, factors powers of two, so that results are exact."""
    for shape, axes in (((37, 41, 96), (0, 2)), ((300, 5, 8), (0, 2)), ((9, 33, 4100), (0, 2)), ((5, 7, 300, 3, 64), (0, 2, 4)),
                        ((64, 50, 3, 512), (0, 2)), ((28, 8, 6, 1000), (1, 3))):
        for dtype in ("float32", "float64", "int32"):
            x = rng.integers(0, 8, shape).astype(dtype)
            powers = np.ldexp(1, rng.integers(-1, 2, shape)).astype(dtype) if dtype != "int32" else x % 2 + 1
            y = from_numpy(x, device)
            same(nd.sum(y, axis=axes, dtype=getattr(nd, dtype)), x.sum(axes, dtype=dtype))
            same(nd.max(y, axis=axes), x.max(axes))
            if dtype != "int32":
                with np.errstate(over="ignore", under="ignore"):
                    want = np.exp2(np.log2(powers.astype("float64")).sum(axes)).astype(dtype)
                same(nd.prod(from_numpy(powers, device), axis=axes), want)
                np.testing.assert_allclose(host(nd.var(y, axis=axes)), x.astype("float64").var(axes), rtol=1e-6)


@cases(*DEVICES)
def test_products_that_leave_the_range(device):
    for n in (16, 4096, 5003):
        x = np.ones((4200, n), "float32")
        half = n // 2
        x[:, :half], x[:, half:2 * half] = 2.0 ** 100, 2.0 ** -100
        x[:, 0] *= -3
        x[1, 3], x[2, 5], x[3, 2] = 0, np.inf, np.nan
        x[4, 1], x[4, 2] = 0, np.inf
        x[5, :3], x[5, half] = (2.0 ** -149, 2.0 ** 127, 2.0 ** 120), 2.0 ** 100
        want = np.full(4200, -3, "float32")
        want[1:6] = (-0.0, -np.inf, np.nan, np.nan, 2.0 ** -2)
        got = host(nd.prod(from_numpy(x, device), axis=1))
        np.testing.assert_array_equal(got, want, str(n))


@cases(*DEVICES)
def test_positions(device):
    for n in (100, 4096, 70001):
        for x in (rng.random(n) < 0.5, rng.random(n) < 0.01, numbers("int8", n)):
            same(nd.nonzero(from_numpy(x, device))[0], np.nonzero(x)[0])


@cases(*DEVICES)
def test_selected_from_long_lines(device):
    """More tiles than one group of a look-back has, a last one that is not full; masks in a line, from an odd address, with steps."""
    for n in (8191, 8192, 8193, 5000011):
        mask, x = rng.random(n + 1) < 0.4, rng.integers(0, 2, n).astype("float32")
        y = from_numpy(mask, device)
        for there, m in ((y[:n], mask[:n]), (y[1:], mask[1:])):
            same(nd.nonzero(there)[0], np.nonzero(m)[0])
            for dtype in ("int8", "float16", "float32", "int64", "complex128"):
                a = (np.arange(n) % 100).astype(dtype)
                same(from_numpy(a, device)[there], a[m])
        same(nd.nonzero(from_numpy(x, device))[0], np.nonzero(x)[0])
        same(nd.nonzero(y[::2])[0], np.nonzero(mask[::2])[0])
        same(nd.nonzero(y & False)[0], np.nonzero(mask & False)[0])
        rows = np.arange(3 * (n // 50)).reshape(-1, 3)
        same(from_numpy(rows, device)[y[:n // 50]], rows[mask[:n // 50]])


@cases(*DEVICES)
def test_triangles(device):
    for shape in ((1, 1), (3, 5), (5, 3), (70, 90), (2, 40, 37), (0, 3), (4, 0)):
        x = numbers("float32", *shape)
        for k in (0, 1, -2, 100, -100, shape[-1], -shape[-2]):
            same(nd.tril(from_numpy(x, device), k=k), np.tril(x, k))
            same(nd.triu(from_numpy(x, device), k=k), np.triu(x, k))


@cases(*DEVICES)
def test_rolled_and_padded(device):
    x = numbers("float32", 12, 9, 7)
    for shift, axis in ((3, 0), ((1, -2), (0, 2)), ((4, 5, -6), (0, 1, 2)), ((2, 3), (1, 1)), (100, 1), (0, 2), (5, None)):
        same(nd.roll(from_numpy(x, device), shift, axis=axis), np.roll(x, shift, axis))
    for shape, width in (((700, 400), ((1, 2), (3, 0))), ((30, 40), 2), ((20, 130, 120), ((0, 1), (2, 0), (0, 5))), ((600, 500), 0)):
        a = numbers("float32", *shape)
        same(nd.pad(from_numpy(a, device), width, constant_values=2.5), np.pad(a, width, constant_values=2.5))
    for dtype in ("int8", "float16", "float32", "float64", "complex128"):  # long rows that begin anywhere in a line of memory
        for shape in ((40, 2051), (7, 3, 1030), (3, 1024), (5, 9001), (1, 70001)):
            a = numbers(dtype, *shape)
            same(nd.pad(from_numpy(a, device), 1, constant_values=2), np.pad(a, 1, constant_values=2))
            same(nd.roll(from_numpy(a, device), (1, 5), axis=(0, -1)), np.roll(a, (1, 5), (0, -1)))
            r = nd.zeros(shape, dtype=dtype, device=device)
            r[..., 3:] = from_numpy(a, device)[..., ::-1][..., 3:]
            r[..., 1:3] = 7
            want = np.zeros_like(a)
            want[..., 3:], want[..., 1:3] = a[..., ::-1][..., 3:], 7
            same(r, want)


@cases(*DEVICES)
def test_products(device):
    x = (rng.random((50, 3000)) + 0.5).astype("float32")
    x[0, 7], x[1, 3], x[2, 5], x[3, 8] = 0, np.inf, np.nan, -0.0
    tiny = np.full((2, 400), 1e-30, "float32")
    tiny[:, ::2] = 1e30  # nothing overflows on the way
    for a in (x, tiny):
        wide = np.where(a == 0, 1, a).astype("float64")
        want = np.where(np.any(a == 0, axis=1), 0, np.exp2(np.sum(np.log2(wide), axis=1))).astype("float32")
        np.testing.assert_allclose(host(nd.prod(from_numpy(a, device), axis=1)), want, rtol=1e-5)


@cases(*DEVICES)
def test_short_rows(device):
    for dtype in ("float32", "int32", "float64", "int8", "complex64"):
        for width in (1, 3, 4, 8, 31):
            x = numbers(dtype, 1 << 18 if width < 8 else 1 << 17, width)
            got = nd.sum(from_numpy(x, device), axis=0)
            want = np.sum(x, axis=0, dtype="int64" if x.dtype.kind in "iu" else "complex128" if x.dtype.kind == "c" else "float64")
            np.testing.assert_allclose(host(got), want, rtol=1e-6, atol=1e-4)
            np.testing.assert_allclose(host(nd.sum(from_numpy(x, device), axis=1)), np.sum(x.astype(want.dtype), axis=1), rtol=1e-6, atol=1e-5)
            if x.dtype.kind != "c":
                same(nd.max(from_numpy(x, device), axis=0), np.max(x, axis=0))
                same(nd.argmax(from_numpy(x, device), axis=0), np.argmax(x, axis=0))


@cases(*DEVICES)
def test_long_lines(device):
    for dtype, shape in (("float32", (1 << 20,)), ("float32", (3, 100004)), ("int32", (200004,)), ("float64", (2, 65538)),
                         ("complex64", (80002,)), ("float16", (1 << 17,)), ("int8", (3, 70000))):
        x = numbers(dtype, *shape)
        wide = {"i": "int64", "f": "float64", "c": "complex128"}[x.dtype.kind]
        want = np.cumsum(x.astype(wide), axis=-1)
        got = host(nd.cumulative_sum(from_numpy(x, device), axis=-1)).astype(wide)
        if x.dtype.kind == "i":
            np.testing.assert_array_equal(got, want)
        else:
            eps = np.finfo(x.dtype).eps
            assert np.all(np.abs(got - want) <= np.abs(want) * eps + 1e-9), (dtype, shape)
        runs = [host(nd.cumulative_sum(from_numpy(x, device), axis=-1)).tobytes() for _ in range(2)]
        assert runs[0] == runs[1], (dtype, shape)  # the same bits from run to run


@cases(*DEVICES)
def test_lines_of_several_groups(device):
    """More tiles than one group of a look-back has. Multiples of 1/8: every sum is exact in float64, so one result is right."""
    for dtype, shape in (("float32", (9000004,)), ("int8", (2, 4500008)), ("float64", (4300002,))):
        x = (rng.integers(-9, 10, shape) / (1 if dtype[0] == "i" else 8)).astype(dtype)
        want = np.cumsum(x.astype("int64" if dtype[0] == "i" else "float64"), axis=-1)
        got = host(nd.cumulative_sum(from_numpy(x, device), axis=-1))
        np.testing.assert_array_equal(got, want.astype(got.dtype))


@cases(*DEVICES)
def test_lines_at_once(device):
    """Some rows go together: each has the bits that it has alone, in turned and stepped views too."""
    for dtype in ("float32", "float64", "float16", "int32", "complex64"):
        for rows, n in ((1, 700), (4, 513), (7, 1030), (23, 5)):
            x = numbers(dtype, rows, n) * 3
            x[rows // 2, n // 3] = -0.0 if x.dtype.kind in "fc" else 1
            for f in (nd.cumulative_sum, nd.cumulative_prod):
                for y in (from_numpy(x, device), from_numpy(np.repeat(x, 2, 1), device)[:, ::2], from_numpy(x[::-1, ::-1], device)[::-1, ::-1]):
                    got = host(f(y, axis=1))
                    alone = np.stack([host(f(y[i], axis=0)) for i in range(rows)])
                    assert got.tobytes() == alone.tobytes(), (dtype, rows, n, f.__name__)
    x = numbers("float64", 6, 300)
    np.testing.assert_allclose(host(nd.cumulative_sum(from_numpy(x, device), axis=1)), np.cumsum(x, 1), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(host(nd.cumulative_prod(from_numpy(x, device), axis=1)), np.cumprod(x, 1), rtol=1e-12)


@cases(*DEVICES)
def test_every_second(device):
    for dtype in ("float32", "int16", "float64", "uint8"):
        x = numbers(dtype, 10007)
        for first in (0, 1, 5):
            same(from_numpy(x, device)[first::2] + from_numpy(x, device)[first::2], x[first::2] + x[first::2])


@cases(*DEVICES)
def test_quotients(device):
    x = rng.integers(-2**31, 2**31, 1 << 16).astype("int32")
    for y in (7, -3, 1, -1, 2**31 - 1, -2**31, 10, 64):
        want = (x.astype("int64") // y).astype("int32")  # the least over -1 wraps
        same(from_numpy(x, device) // y, want)
        same(from_numpy(x, device) % y, (x.astype("int64") % y).astype("int32"))


@cases(*DEVICES)
def test_filled(device):
    for n in (1, 3, 15, 17, 4095, 4097, 65537):
        for dtype, value in (("int8", 5), ("int16", -3), ("float32", 1.5), ("float64", 2.5), ("complex128", 1 + 2j)):
            y = nd.zeros(n + 3, dtype=dtype, device=device)
            y[3:] = value
            want = np.zeros(n + 3, dtype)
            want[3:] = value
            same(y, want)


@cases(*DEVICES)
def test_long_rows_sorted(device):
    for dtype in ("float32", "int32", "uint32", "int64", "float64", "float16"):
        for shape in ((3, 65), (5, 100), (2, 1000), (9, 1024), (2, 3000), (300001,)):
            x = numbers(dtype, *shape)
            some = rng.integers(0, shape[-1], 9)
            if x.dtype.kind == "f":
                x[..., some[:3]], x[..., some[3:5]], x[..., some[5:7]] = np.nan, -0.0, 0.0
            elif x.dtype.kind == "i":
                x[..., some] = np.iinfo(dtype).min
            got, want = nd.sort(from_numpy(x, device)), np.take_along_axis(x, np.argsort(x, axis=-1, kind="stable"), -1)
            same(got, want)
            if x.dtype.kind == "f":  # zeros of either sign keep their order
                np.testing.assert_array_equal(np.signbit(host(got)), np.signbit(want))
            same(nd.sort(from_numpy(x, device), descending=True)[..., ::-1], np.sort(x, axis=-1))
    for x in (np.zeros(5000, "float32"), np.arange(5000, 0, -1, dtype="float32"), np.repeat(np.float32([3, 1, 2]), 4000)):
        same(nd.sort(from_numpy(x, device)), np.sort(x))


@cases("cpu")
def test_partitions_keep_order(device):
    """What is below, equal and above, each in the order it had, so that all levels of the processor give the same."""
    for dtype in ("float32", "float64", "int32", "uint64", "int16", "uint8", "float16"):
        for n in (1025, 5003, 300001):
            x = rng.integers(0, 200 if n < 9999 else 3, n).astype(dtype)
            if x.dtype.kind == "f":
                x[rng.random(n) < 0.1], x[rng.random(n) < 0.1] = np.nan, -0.0
            wide = np.nan_to_num(x.astype("float64"), nan=1e9)
            for k in (0, 100, n // 2, n - 1):
                pivot = np.sort(wide)[k]
                order = np.concatenate([np.flatnonzero(part) for part in (wide < pivot, wide == pivot, wide > pivot)])
                for y in (from_numpy(x, device), from_numpy(np.repeat(x, 2), device)[::2]):
                    same(nd.argpartition(y, k), order)
                    got = host(nd.partition(y, k))
                    assert got.tobytes() == x[order].tobytes(), (dtype, n, k)


@cases(*DEVICES)
def test_few_values_sorted(device):
    for dtype in ("int32", "uint32", "int64", "uint64"):
        info = np.iinfo(dtype)
        for low, high in ((0, 100), (info.max - 2000, info.max), (info.min, info.min + 2047), (info.min, info.min + 2048), (5, 6),
                          (info.max - 99999, info.max)):
            x = rng.integers(low, high, (2, 9001), dtype=dtype, endpoint=True)
            x[1, 7] = info.max  # which a sample does not see
            same(nd.sort(from_numpy(x, device)), np.sort(x))
            same(nd.sort(from_numpy(x, device)[:, ::2], descending=True)[:, ::-1], np.sort(x[:, ::2]))
            same(nd.sort(from_numpy(x.T.copy(), device), axis=0).T, np.sort(x))


@cases(*DEVICES)
def test_division_by_every_number(device):
    """All pairs of 8 bits, all elements of 16 bits and many of more by divisors of either sign, powers of two and the extremes; by 0 it is 0."""
    for dtype in ("uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64"):
        info = np.iinfo(dtype)
        x = np.arange(info.min, info.max + 1).astype(dtype) if info.bits <= 16 else np.concatenate(
            [rng.integers(info.min, info.max, 3000, dtype=dtype, endpoint=True), rng.integers(0, 1000, 1000).astype(dtype),
             np.arange(info.max - 99, info.max, dtype=dtype), np.arange(info.min, info.min + 100, dtype=dtype)])
        by = range(info.min, info.max + 1) if info.bits == 8 else {
            -1, -2, -3, -7, -10, -128, 0, 1, 2, 3, 5, 6, 7, 9, 10, 11, 25, 64, 100, 125, 127, 625, 641, 1000, 4096, 32767, info.max // 2 + 1, info.max // 3,
            info.max - 1, info.max, info.min, info.min + 1, *(sign * b for sign in (1, -1) for b in rng.integers(1, info.max, 9, dtype=dtype).tolist())}
        y = from_numpy(x, device)
        with np.errstate(all="ignore"):
            for b in by:
                if info.min <= b <= info.max:
                    same(y // b, x // np.array(b, dtype))
                    same(y % b, x % np.array(b, dtype))


def wide_numbers(n):
    """Rows of 64-bit elements whose keys differ in all bits, in the low ones alone, in few, or are the extremes."""
    for dtype in ("int64", "uint64"):
        info = np.iinfo(dtype)
        yield rng.integers(info.min, info.max, n, dtype=dtype, endpoint=True)
        yield rng.choice(np.array([info.min, info.max, 7, 8], dtype=dtype), n)
        yield np.append(rng.integers(0, 9, n - 1).astype(dtype), np.array(info.max, dtype))
    yield rng.standard_normal(n)
    yield 1 + rng.integers(0, n, n) * 2.0**-52
    yield np.append(1 + rng.integers(0, 50, n - 1) * 2.0**-52, 1e300)
    yield rng.choice([np.nan, -np.nan, 0.0, -0.0, np.inf, -np.inf, 5e-324, -1e-310], n)


@cases(*DEVICES)
def test_wide_rows_sorted(device):
    for n in (2, 9, 31, 33, 64, 65, 100, 257, 1000, 5000):
        for x in wide_numbers(n):
            order = np.argsort(x, kind="stable")
            got = nd.sort(from_numpy(x, device))
            same(got, x[order])
            if x.dtype.kind != "f" or device.startswith(("cpu", "sim")):  # NaNs' and zeros' bits in their order
                np.testing.assert_array_equal(host(got).view("uint64"), x[order].view("uint64"))
            same(nd.argsort(from_numpy(x, device)), order)
            same(nd.sort(from_numpy(x, device), descending=True)[::-1], np.sort(x))


@cases(*DEVICES)
def test_many_wide_keys_sorted(device):
    """So many keys that a device may sort by their leading digits alone: of all widths, with long runs of the same leading digits, with
    one key that is wider than a sample can see, of few values, and floats."""
    n = (1 << 20) + 4321
    wide = rng.integers(0, 1 << 62, n)
    run = np.where(np.arange(n) % 200, wide, (5 << 54) + (wide >> 22))
    outlier = wide >> 32
    outlier[n // 3] = 1 << 60
    for x in (wide, wide - (1 << 61), wide >> 41, wide >> 20, run, outlier, np.arange(n), np.arange(n)[::-1].copy(), wide % 999 << 40,
              np.full(n, -7), (wide * 4).astype("uint64"), rng.standard_normal(n), np.exp(rng.random(n) * 40)):
        y = from_numpy(x, device)
        same(nd.sort(y), np.sort(x))
        same(y, x)
    same(nd.sort(from_numpy(wide, device), descending=True)[::-1], np.sort(wide))
    x = rng.choice([np.nan, -np.nan, 0.0, -0.0, 1.0, -1.0], n)
    got, want = nd.sort(from_numpy(x, device)), x[np.argsort(x, kind="stable")]
    same(got, want)
    np.testing.assert_array_equal(np.signbit(host(got)[~np.isnan(want)]), np.signbit(want[~np.isnan(want)]))


@cases(*DEVICES)
def test_many_normal_deviates(device):
    """Each depends on its place alone, and has the CPU's bits, however many a device makes at once."""
    for dtype in (nd.float32, nd.float16):
        for n in ((1 << 22) + 4, (1 << 22) + 3):
            for mean in (0.0, -0.0, 3.0):
                def some(count, where):
                    return host(nd.random.Generator(7).normal(mean, 1.0, count, dtype=dtype, device=where)).tobytes()
                many = some(n, device)
                assert many[:2000] == some(1000, device)[:2000]
                assert many == some(n, "cpu")


@cases(*DEVICES)
def test_topk_of_long_rows(device):
    for shape, k in (((5, 1024), 10), ((3, 2048), 100), ((2, 777), 1), ((100003,), 100), ((2, 5000), 33), ((2, 16384), 1024)):
        ramp = np.broadcast_to(np.arange(shape[-1], dtype="float32"), shape).copy()
        for x in (numbers("float32", *shape), rng.integers(0, 5, shape).astype("int32"), ramp, -ramp):
            for largest in (True, False):
                values, places = nd.topk(from_numpy(x, device), k, largest=largest)
                order = np.argsort(-x.astype("float64") if largest else x, axis=-1, kind="stable")[..., :k]
                same(places, order)
                same(values, np.take_along_axis(x, order, -1))


def first_of(x, k, largest):
    """Places of the first k by a stable sort; NaN is the largest."""
    size = np.where(np.isnan(x.astype("float64")), np.inf, x.astype("float64"))
    keys = (np.isnan(x.astype("float64")), size)
    if largest:
        keys = (~keys[0], -size)
    return np.lexsort(keys[::-1], axis=-1)[..., :k]


@cases(*DEVICES)
def test_topk_selects(device):
    """Rows for a warp, for a block, for many blocks and for three stages of them; every dtype that is selected."""
    for dtype in ("bool", "int8", "uint8", "int16", "uint16", "float16", "float32", "int32", "uint32"):
        for shape, k in (((7, 64), 3), ((5, 65), 32), ((9, 511), 17), ((3, 1024), 32), ((2, 1500), 32), ((2, 700), 600), ((16500,), 5), ((40000,), 40)):
            x = numbers(dtype, *shape) if dtype[0] == "f" else rng.integers(0, 2 if dtype == "bool" else 120, shape).astype(dtype)
            if x.dtype.kind == "f":
                x[..., 3], x[..., 40], x[..., 41], x[..., -1] = np.nan, -0.0, 0.0, np.nan
            for largest in (True, False):
                order = first_of(x, k, largest)
                for y in (from_numpy(x, device), from_numpy(np.repeat(x, 2, -1), device)[..., ::2], nd.flip(from_numpy(np.flip(x, -1).copy(), device), axis=-1)):
                    values, places = nd.topk(y, k, largest=largest)
                    same(places, order)
                    same(values, np.take_along_axis(x, order, -1))
    falling = np.arange(650001, 0, -1, dtype="float32")  # each comes before all others when it is met
    for x, k in ((falling, 1000), (np.zeros(650001, "float32"), 1000), (np.tile(falling[-1000:], (3, 1)), 20)):
        for largest in (True, False):
            same(nd.topk(from_numpy(x, device), k, largest=largest)[1], first_of(x, k, largest))


def bounded_rows(n):
    """Rows of n elements whose first ones are sought by a bound from a sample: in any order, sorted, of equals, and so that a device's
    bound fails since all that it samples comes before the rest, or behind it."""
    sample = max(64, n >> 16)
    part = np.arange(n // sample, dtype=np.uint64)
    sampled = (part * sample + ((part * 0x9E3779B1 % 2**32 >> 16) * sample >> 16)).astype(np.int64)
    x = rng.standard_normal(n).astype("float32")
    first, last = x.copy(), x.copy()
    first[sampled] += 100
    last[sampled] -= 100
    return x, np.sort(x), np.sort(x)[::-1].copy(), np.full(n, 2, "float32"), rng.integers(0, 3, n).astype("float32"), first, last


@cases(*DEVICES)
def test_topk_by_a_bound(device):
    for x in (*bounded_rows((1 << 22) + 77), np.stack(bounded_rows((1 << 17) + 8) * 5)):
        for dtype in ("float32", "int8"):
            a = np.clip(x * 20, -120, 120).astype(dtype)
            for k, largest in ((1, True), (100, False), (256, True)):
                places = nd.topk(from_numpy(a, device), k, largest=largest)[1]
                key = -a.astype("float32") if largest else a
                same(places, np.argsort(key, axis=-1, kind="stable")[..., :k])


@cases(*DEVICES)
def test_one_divisor(device):
    for dtype in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"):
        ends, bits = np.iinfo(dtype), np.iinfo(dtype).bits
        x = np.concatenate([rng.integers(ends.min, ends.max, 150, dtype, endpoint=True), np.array([ends.min, ends.min + 1, 0, 1, ends.max - 1, ends.max], dtype)])
        powers = [1 << k for k in range(0, bits - 1, max(1, bits // 6))]
        for d in {*powers, *(k + 1 for k in powers), *(k - 1 for k in powers[1:]), 0, 7, 100, 127, ends.max, ends.max - 1, ends.min, ends.min // 3}:
            for b in {d, -d} if ends.min <= -d <= ends.max else {d}:
                exact = [(int(a) // b, int(a) % b) if b else (0, 0) for a in x]
                quotients = np.array([q % (1 << bits) for q, _ in exact], "uint64").astype(f"uint{bits}").view(dtype)  # MIN / -1 wraps
                a = from_numpy(x, device)
                same(a // b, quotients)
                same(a % b, np.array([r for _, r in exact], dtype))
                same(a[::2] // b, quotients[::2])


@cases(*DEVICES)
def test_largest_of_rows(device):
    for dtype in ("float32", "float64", "float16", "int8", "int32", "int64"):
        for n in (1, 5, 31, 32, 33, 511, 512, 513, 1500):
            x = numbers(dtype, 9, n)
            if x.dtype.kind == "f":
                x[1], x[2], x[3, n // 2:] = 0.0, -np.inf, np.nan
                x[1, n // 3:], x[4, n - 1], x[5, 0], x[6] = -0.0, np.nan, np.nan, np.inf
                x[7] = -abs(x[7])
            same(nd.argmax(from_numpy(x, device), axis=1), np.argmax(x, axis=1))
            same(nd.argmin(from_numpy(x, device), axis=1), np.argmin(x, axis=1))


if __name__ == "__main__":
    main(globals())
