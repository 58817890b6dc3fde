# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators of Array: arrays and weak scalars, reflected, in place, against Python's own arithmetic."""
import operator

import ndock as nd
from tap import cases, main, raises


@cases("add", "sub", "mul", "truediv", "floordiv", "mod", "pow")
def test_reflected(name):
    op = getattr(operator, name)
    x = nd.arange(1, 5, dtype=nd.float64)
    for other in (2, 2.5):
        assert repr(op(x, other)) == repr(op(x, nd.full((), other, dtype=nd.float64)))
        assert repr(op(other, x)) == repr(op(nd.full((), other, dtype=nd.float64), x))


@cases(*"uint8 int32 float32 float64".split())
def test_long_rows_beside_one_element(dtype):
    """Rows that are taken in pieces, beside numbers and columns: every element, and the last of them."""
    n = 3 * 4096 + 5
    flat = [i % 13 for i in range(n)]
    x, rows = nd.asarray(flat, dtype=getattr(nd, dtype)), nd.asarray([flat, flat[::-1]], dtype=getattr(nd, dtype))
    assert (x + 2).tolist() == [v + 2 for v in flat] and (20 - x).tolist() == [20 - v for v in flat]
    assert (x < 5).tolist() == [v < 5 for v in flat] and nd.clip(x, 3, 9).tolist() == [min(max(v, 3), 9) for v in flat]
    assert (x ** 2).tolist() == [v * v for v in flat] and (x[::2] ** 2).tolist() == [v * v for v in flat[::2]]
    column = nd.asarray([[1], [4]], dtype=getattr(nd, dtype))
    assert (rows + column).tolist() == [[v + 1 for v in flat], [v + 4 for v in flat[::-1]]]
    assert nd.where(rows > column, rows, 7).tolist() == [[v if v > 1 else 7 for v in flat], [v if v > 4 else 7 for v in flat[::-1]]]


@cases(*"int8 uint8 int16 uint16 int32 int64".split())
def test_division_by_one_number(dtype):
    """Every value of 8 bits and many of more, in whole vectors and what is left of them, by divisors of either sign, powers of two
    and the extremes."""
    info = nd.iinfo(getattr(nd, dtype))
    values = [info.min + k * max(1, (info.max - info.min) // 299) for k in range(300) if info.min + k * max(1, (info.max - info.min) // 299) <= info.max]
    x = nd.asarray(values, dtype=getattr(nd, dtype))
    for by in {1, 2, 3, 7, 10, 64, 100, 127, -1, -2, -7, -128, info.max, info.max - 1, info.min, info.min + 1}:
        if by == 0 or not info.min <= by <= info.max:
            continue
        quotients = [(v // by - info.min) % 2**info.bits + info.min for v in values]  # the least by -1 wraps
        assert (x // by).tolist() == quotients and (x % by).tolist() == [v % by for v in values], by


def test_squares_of_specials():
    inf, got = float("inf"), (nd.asarray([-0.0, float("inf"), -float("inf"), float("nan"), 1e200, -1e-200, 3.0] * 100) ** 2).tolist()[:7]
    assert got[:3] == [0, inf, inf] and str(got[0]) == "0.0" and got[3] != got[3] and got[4:] == [inf, 0, 9]


@cases(*"float32 float64".split())
def test_squares_are_products_fused_or_not(dtype):
    x = nd.random.uniform(-4, 4, (5000,), device="cpu").astype(dtype)
    product, square, y = x * x, nd.fuse(lambda v: v ** 2 + 0), x.copy()
    y **= 2.0
    assert (x ** 2).tolist() == (x ** 2.0).tolist() == y.tolist() == product.tolist()
    for _ in range(3):
        assert square(x).tolist() == product.tolist()


def test_squares_keep_the_dtype_of_powers():
    assert (nd.asarray([15, 16], dtype=nd.uint8) ** 2).dtype == nd.uint8 and (nd.asarray([3], dtype=nd.int32) ** 2.0).dtype == nd.float64
    assert (nd.asarray([2j]) ** 2).tolist() == [-4 + 0j]


def test_shapes_that_do_not_broadcast_name_both():
    with raises(ValueError, "(3,)", "(4,)"):
        nd.ones(3) + nd.ones(4)
    with raises(nd.Error):
        nd.ones(3) + nd.ones(4)


if __name__ == "__main__":
    main(globals())
