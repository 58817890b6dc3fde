#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""einsum against NumPy's: listed and random subscripts over random views, dtypes, empty and stretched axes; what is refused."""
import math
from fractions import Fraction

import ndock as nd
from arrays import DEVICES, from_numpy, host, np, pair, same
from tap import cases, main, raises

SUBSCRIPTS = """
a->a; ->; a->; ab->ba; aa->a; aa->; aab->ba; abcba->cab; ab; ba; cab; aa; a,a->; a,a->a; a,b->ab; a,b->ba; ab,bc->ac; ab,cb->ac; ba,bc->ca; ab,bc
ab,bc->b; ab,ab->; ab,ab->a; ab,ab->b; abc,acd->abd; abc,bd->acd; abc,adc->abd; abcd,cd->ab; abcd,abde->abce; ab,bc,cd->ad; ab,bc,cd,de->ae; a,ab,b->
ab,ac,ad->abcd; abc,abd,cd->ab; aa,ab->b; aab,bcc->ac; ...->...; ...a->...; a...->a...; ...a,...a->...; ...ab,...bc->...ac; ab...,bc...->ac...
a...,...a->...; ...,...; a...b,b->a...; ...ii->...i; i...i->...; ...ij,jk->...ik; abc,cba->abc; a,b,c,d->abcd; ab,b,c->ac; ab,cd->; abc->b; A,aA->a; Zz,zy->yZ
"""


def extents(rng, text):
    return {c: int(rng.integers(0 if rng.random() < 0.05 else 1, 5)) for c in set(text) if c.isalpha()}


def shapes(rng, text, ellipsis=()):
    inputs = text.split("->")[0]
    size = extents(rng, inputs)
    for operand in inputs.split(","):
        stretched = rng.random() < 0.15
        cut = int(rng.integers(0, len(ellipsis) + 1))
        middle = tuple(1 if rng.random() < 0.2 else n for n in ellipsis[cut:])
        shape = []
        for part in operand.replace("...", ".").strip():
            if part == ".":
                shape += middle
            else:
                shape.append(1 if stretched and operand.count(part) == 1 and inputs.count(part) > 1 and rng.random() < 0.5 else size[part])
        yield tuple(shape)


def check(rng, text, device, dtype, ellipsis=()):
    pairs = [pair(rng, dtype, s, device) for s in shapes(rng, text, ellipsis)]
    want = np.asarray(np.einsum(text, *[a for a, _ in pairs]))
    got = nd.einsum(text, *[x for _, x in pairs])
    same(got, want, {"f": 1e-4, "c": 1e-4}.get(np.dtype(dtype).kind, 0) if np.dtype(dtype).itemsize in (4, 8) and dtype != "float64" else 1e-11
         if np.dtype(dtype).kind in "fc" else 0)


@cases(*DEVICES)
def test_listed(device):
    rng = np.random.default_rng(1)
    for text in SUBSCRIPTS.replace("\n", ";").split(";"):
        text = text.strip()
        for dtype in ("float64", "float32", "complex128", "int32"):
            for ellipsis in ((), (2, 3)) if "..." in text else ((),):
                check(rng, text, device, dtype, ellipsis)


@cases(*DEVICES)
def test_random(device):
    rng = np.random.default_rng(2)
    for _ in range(250):
        letters = "abcdefgh"[:int(rng.integers(1, 7))]
        operands = ["".join(rng.choice(list(letters), int(rng.integers(0, 5)))) for _ in range(int(rng.integers(1, 6)))]
        used = sorted(set("".join(operands)))
        text = ",".join(operands)
        if rng.random() < 0.8:
            text += "->" + "".join(rng.permutation(used)[:int(rng.integers(0, len(used) + 1))])
        check(rng, text, device, "float64")


@cases(*DEVICES)
def test_sums_of_one_operand(device):
    rng = np.random.default_rng(3)
    for shape in ((20, 30), (16, 16, 40), (3, 40), (40, 3), (20, 600), (4, 5, 700), (0, 600), (20, 0), (600,)):
        letters = "abc"[:len(shape)]
        for dtype in ("float32", "float64", "int32"):
            a = (10 * rng.normal(size=shape)).astype(dtype)
            for kept in ("", letters[:1], letters[:-1], letters[-1:], letters[1:]):
                got, want = host(nd.einsum(f"{letters}->{kept}", from_numpy(a, device))), np.einsum(f"{letters}->{kept}", a.astype("float64"))
                assert got.dtype == a.dtype and got.shape == want.shape
                np.testing.assert_allclose(got, want, rtol=0, atol=1e-5 * np.abs(a).sum() if dtype == "float32" else 1e-9)


@cases(*DEVICES)
def test_long(device):
    """Sums of many elements, whose last ones are no row; outer products whose rows are segments, with a rest."""
    rng = np.random.default_rng(4)
    for dtype in ("float32", "float64"):
        a = rng.random((300, 301)).astype(dtype)
        for x, subscripts in ((a, "ij->"), (a.ravel()[:-1], "i->"), (a[:, ::2], "ij->")):
            got, want = host(nd.einsum(subscripts, from_numpy(x, device))), x.astype("float64").sum()
            assert got.shape == () and abs(got - want) < (2e-6 if dtype == "float32" else 1e-13) * want
    for dtype in ("float32", "float64", "int8", "int16", "complex128"):
        x, y = (10 * rng.normal(size=5)).astype(dtype), (10 * rng.normal(size=1037)).astype(dtype)
        own = from_numpy(x, device), from_numpy(y, device)
        assert (host(nd.einsum("i,j->ij", *own)) == np.multiply.outer(x, y)).all()
        assert (host(nd.where(own[0][:, None] == own[1], own[0][:, None], own[1])) == np.where(x[:, None] == y, x[:, None], y)).all()


def test_dtypes_and_views():
    a = nd.asarray([[1, 2], [3, 4]], dtype=nd.int8)
    assert nd.einsum("ij->j", a).dtype == nd.int8 and nd.einsum("ij,jk", a, nd.ones((2, 2), dtype=nd.float32)).dtype == nd.float32
    assert nd.einsum("ij->", nd.asarray([[True, False], [False, False]])).tolist() is True
    assert nd.einsum("i,i->", nd.asarray([200, 100], dtype=nd.uint8), nd.asarray([2, 3], dtype=nd.uint8), dtype=nd.int64).tolist() == 700
    x = nd.zeros((3, 3))
    nd.einsum("ii->i", x)[...] = 1  # a view, as NumPy's
    assert x.tolist() == nd.eye(3).tolist()
    assert nd.einsum("ij,j", [[1, 2], [3, 4]], nd.asarray([1, 1], device="cpu")).tolist() == [3, 7]
    assert nd.einsum(" i j , j -> i ", np.eye(2), [1.0, 2.0]).tolist() == [1.0, 2.0]
    with nd.device("sim:0"):  # on the current device, where nothing says another
        assert nd.einsum("ij,j->i", np.eye(2), [1.0, 2.0]).device == "sim:0"
    many = [nd.ones(2)] * 64
    assert nd.einsum(",".join("a" * 64) + "->a", *many).tolist() == [1, 1]


def test_order():
    """The order keeps what is between small: this would have 10^12 elements from left to right."""
    a, b, c = nd.ones((1000000, 1)), nd.ones((1, 1000000)), nd.ones((1000000, 1))
    assert nd.einsum("ab,bc,cd->ad", a, b, c).shape == (1000000, 1)


@cases(*DEVICES)
def test_out(device):
    a, b = (nd.reshape(nd.arange(9.0, device=device), (3, 3)) for _ in range(2))
    x = host(a)
    for text, operands, want in (("ij,jk->ki", (a, b), (x @ x).T), ("ij->ji", (a,), x.T), ("ii->i", (a,), np.diagonal(x)), ("ij->", (a,), x.sum())):
        wide = nd.zeros((*want.shape, 2), dtype=nd.float32, device=device)
        out = wide[..., 1]  # strided, of another dtype
        assert nd.einsum(text, *operands, out=out) is out
        assert np.array_equal(host(out), want) and not np.any(host(wide)[..., 0])
    assert nd.einsum("ij->ji", a, out=a) is a and np.array_equal(host(a), x.T)  # a view of the operand into itself
    assert nd.einsum("ij,jk", b, b, out=b) is b and np.array_equal(host(b), x @ x)
    with raises(ValueError, "einsum", "(3,)", "(3, 3)"):
        nd.einsum("ij->ji", a, out=nd.ones(3, device=device))
    with raises(ValueError, "einsum", "sim:1", device):
        nd.einsum("ij->ji", a, out=nd.ones((3, 3), device="sim:1"))
    with raises(TypeError, "out"):
        nd.einsum("ij->ji", a, out=np.ones((3, 3)))
    for operand, dtype in ((a * 1j, "float64"), (a, "int64"), (nd.astype(a, nd.int8), "bool")):
        with raises(TypeError, "einsum", str(operand.dtype), dtype):
            nd.einsum("ij->ji", operand, out=nd.zeros((3, 3), dtype=dtype, device=device))
    assert nd.einsum("ij->ji", nd.astype(a, nd.uint8), out=(out := nd.zeros((3, 3), dtype=nd.complex64, device=device))) is out
    assert np.array_equal(host(out), host(a).T)
    with raises(ValueError, "read-only"):
        nd.einsum("ij->ji", a, out=nd.broadcast_to(nd.ones(3, device=device), (3, 3)))


@cases(
    ("ij", "operand 0 has 1 axes"), ("i,i", "2 operands"), ("i->j", "no operand"), ("i->ii", "twice"), ("i.->i", "'.'"), ("i1", "'1'"),
    ("...", None), ("i->...i", None), ("i->i->i", "one list"), ("", "operand 0 has 1 axes"))
def test_refused(text, word):
    x = nd.ones(3)
    if word is None:
        nd.einsum(text, x)
        return
    with raises(ValueError, "einsum", word):
        nd.einsum(text, x)


def test_refused_extents():
    with raises(ValueError, "index j", "3", "4"):
        nd.einsum("ij,jk", nd.ones((2, 3)), nd.ones((4, 2)))
    with raises(ValueError, "broadcast"):
        nd.einsum("...,...", nd.ones(2), nd.ones(3))
    with raises(ValueError, "operands"):
        nd.einsum("i")
    with raises(ValueError, "64"):
        nd.einsum(",".join("a" * 65), *[nd.ones(1)] * 65)
    with raises(TypeError):
        nd.einsum(3, nd.ones(1))


@cases("float32", "float64")
def test_inner_products(dtype):
    """Of every length around blocks of the kernels, dense and not, beside exact sums; the same bits as a matrix product's."""
    rng = np.random.default_rng(15)
    for n in (*range(1, 34), 63, 64, 65, 255, 256, 257, 511, 513, 1000, 4097, 100003):
        a, b = (rng.normal(size=n).astype(dtype) for _ in range(2))
        exact = math.fsum(float(x) * float(y) for x, y in zip(a, b)) if dtype == "float32" else \
            float(sum(Fraction(float(x)) * Fraction(float(y)) for x, y in zip(a, b))) if n < 600 else float(np.dot(a.astype(np.longdouble), b))
        x, y = nd.asarray(a, device="cpu"), nd.asarray(b, device="cpu")
        most = 4 * np.finfo(dtype).eps * float(np.dot(np.abs(a.astype("float64")), np.abs(b.astype("float64"))))
        r = host(nd.einsum("i,i->", x, y))
        assert r.shape == () and r.dtype == dtype and abs(float(r) - exact) <= most
        assert r == host(nd.matmul(x, y)) == host(nd.matmul(nd.reshape(x, (1, n)), nd.reshape(y, (n, 1))))[0, 0]
        spread = nd.asarray(np.repeat(a, 2), device="cpu")[::2]
        assert abs(float(host(nd.einsum("i,i->", spread, y))) - exact) <= most
    m = nd.asarray(rng.normal(size=(30, 40)).astype(dtype), device="cpu")
    assert abs(float(nd.einsum("ij,ij->", m, m)) - float((host(m).astype("float64") ** 2).sum())) < 1e-3
    assert np.isnan(float(nd.einsum("i,i->", nd.asarray([np.inf, 1], dtype=dtype), nd.asarray([0, 1], dtype=dtype))))


if __name__ == "__main__":
    main(globals())
