#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""loadtxt and savetxt against NumPy's: the same values of the same text, the same bytes of the same array."""
import gzip
import io
import itertools
import os
import pathlib
import tempfile
import warnings

import ndock as nd
from arrays import ALL, DEVICES, np, pair, same
from tap import cases, main, raises

folder = tempfile.TemporaryDirectory()
PATH = os.path.join(folder.name, "x.csv")


def put(text, path=PATH):
    with open(path, "wb") as f:
        f.write(text if isinstance(text, bytes) else text.encode())


def quiet(f, *args, **keywords):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return f(*args, **keywords)


def agree(text, **keywords):
    """Both read the same of the text, or both refuse it."""
    put(text)
    try:
        with warnings.catch_warnings():  # integers that NumPy reads as floats, whatever becomes of them
            warnings.simplefilter("ignore")
            warnings.simplefilter("error", DeprecationWarning)
            want = np.loadtxt(PATH, **keywords)
    except (ValueError, TypeError, OverflowError, DeprecationWarning):
        with raises((ValueError, TypeError, OverflowError)):
            quiet(nd.loadtxt, PATH, **keywords)
        return
    same(quiet(nd.loadtxt, PATH, **keywords), want)


def test_texts():
    texts = ["1 2\n3 4\n", "1", "1 2 3", "1\n2\n3\n", "", "\n\n", "# nothing\n", "1 2 # c\n\n # d\n3 4", " 1\t2 \r\n3  4\r\n",
             "nan inf -inf +Infinity NaN 1e5 1.e-5 .5 -0", "1 2\n3", "a b", "1e400 -1e400 1e-400 4.9e-324", "1_0", "1,2",
             "0x1", "1 2\r3 4\r5 6", "1.5.2", "--1", "1e", "e5", "+", "9007199254740993 1.7976931348623159e308"]
    shapes = [{}, {"ndmin": 1}, {"ndmin": 2}, {"unpack": True}, {"unpack": True, "ndmin": 2}, {"usecols": 0},
              {"usecols": (-1,)}, {"usecols": (1, 0), "ndmin": 2}, {"skiprows": 1}, {"max_rows": 1}, {"max_rows": 0},
              {"skiprows": 5}, {"skiprows": 1, "max_rows": 1, "ndmin": 2}]
    for text, keywords in itertools.product(texts, shapes):
        agree(text, **keywords)


def test_delimiters_comments_and_quotes():
    for text in ("1,2\n3,4\n", " 1 , 2 \n3,4", "1,2,\n3,4,\n", ",1", "1,2 % c\n% d\n3,4", "1,2\n\n3,4", "\"1\",2\n\"3\",\"4\"",
                 "1,2 // c\n3,4 % d", "1#2\n3#4", "1;2\n3;4"):
        for keywords in ({"delimiter": ","}, {"delimiter": ",", "comments": "%"}, {"delimiter": ",", "comments": ["%", "//"]},
                         {"delimiter": ",", "comments": None}, {"delimiter": ",", "quotechar": '"'},
                         {"delimiter": "#", "comments": None}, {"delimiter": ";", "usecols": 1}):
            agree(text, **keywords)


def test_dtypes_of_cells():
    for dtype in ALL:
        x = np.asarray(nd.iinfo(dtype).max if np.dtype(dtype).kind in "iu" else 1, dtype=dtype)
        for text in ("0 1", "-1", "1 0 1", str(x), "300", "70000", "18446744073709551615", "18446744073709551616",
                     "-9223372036854775808", "x"):
            if dtype != "bool" or text not in ("True", "18446744073709551615", "18446744073709551616"):  # which NumPy refuses
                agree(text, dtype=dtype)
    for text in ("1+2j", "(1-2j) 3j", "1e5-1e-5j 2", "nan+infj", "1+2", "1j2", "(1+2j", "j", "1+2J"):
        agree(text, dtype=complex)
    for text in ("True False", "1 0 7", "true FALSE"):
        put(text)
        same(nd.loadtxt(PATH, dtype=bool), np.array([{"0": False, "false": False}.get(t.lower(), True)
                                                   for t in text.split()]))
    with raises(ValueError, "astype"):
        nd.loadtxt(["1.5"], dtype=int)


def test_errors_name_line_column_and_text():
    put("# a b\n1 2\n\n3 zebra\n")
    with raises(ValueError, "x.csv: line 4, column 2", '"zebra"', "float64"):
        nd.loadtxt(PATH)
    with raises(ValueError, "line 2 has 1 columns", "have 2"):
        nd.loadtxt(["1 2", "3"])
    with raises(ValueError, "line 1 has 2 columns; column 5"):
        nd.loadtxt(["1 2"], usecols=5)
    with raises(ValueError, "out of range", "300"):
        nd.loadtxt(["300"], dtype=nd.int8)
    with raises(NotImplementedError, "converters"):
        nd.loadtxt(["1"], converters={0: float})
    with raises(ValueError, "ndmin"):
        nd.loadtxt(["1"], ndmin=3)
    with raises(ValueError, "skiprows"):
        nd.loadtxt(["1"], skiprows=-1)
    with raises(ValueError, "empty"):
        nd.loadtxt(["1"], comments="")
    with raises(ValueError, "quotechar"):
        nd.loadtxt(["1"], quotechar="''")
    with raises(TypeError, "int"):
        nd.loadtxt(3)
    with raises(OSError):
        nd.loadtxt(PATH + "-absent")
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        nd.loadtxt([])
    assert len(seen) == 1 and "no data" in str(seen[0].message) and seen[0].filename == __file__


@cases(*DEVICES)
def test_arrays_go_and_come_back(device):
    rng = np.random.default_rng(8)
    for dtype in ALL:
        for shape in [(3, 4), (5,), (0, 3), (4, 1), (1, 1)]:
            x, y = pair(rng, dtype, shape, device)
            for view, other in ((x, y), (x[::-1], y[::-1]), (x.T, y.T if x.ndim == 2 else y)):
                nd.savetxt(PATH, other, fmt=None, delimiter=",")
                if view.size:
                    same(nd.loadtxt(PATH, dtype=dtype, delimiter=",", ndmin=2, device=device), view.reshape(len(view), -1))
                    if dtype != "bool":
                        back = np.loadtxt(PATH, dtype=dtype, delimiter=",", ndmin=2)
                        np.testing.assert_array_equal(back, view.reshape(len(view), -1))


def test_bytes_are_numpys():
    rng = np.random.default_rng(9)
    real = rng.standard_normal((20, 3)) * 10.0 ** rng.integers(-300, 300, (20, 3))
    real[0] = [np.nan, np.inf, -0.0]
    arrays = [real, real.astype("f4"), rng.integers(-10**6, 10**6, (4, 3)), np.array([[2**63 - 1, -2**63, 0]]),
              rng.integers(0, 255, (2, 3), dtype="u1"), np.ones((2, 3), bool), real + 1j * real[:, ::-1],
              np.arange(3.0), np.arange(5), np.zeros((0, 3)), np.array([[0.5, 1.5, 2.5]])]
    for x in arrays:
        for fmt in ("%.18e", "%e", "%.0e", "%.3f", "%g", "%.17G", "%10.4e", "%+.3e", "%-12.2e|", "% g", "%#.3g", "%05.1f", "%s",
                    "%d", "%5i", "%x", ["%.1f", "%d", "%s"], "%.2f %.3e %g"):
            for keywords in ({}, {"delimiter": ",", "newline": "\r\n"},
                             {"header": "a\nb", "footer": "end", "comments": "% "}):
                ours, theirs = io.StringIO(), io.StringIO()
                if fmt == "%x" and x.dtype == bool:
                    continue  # which NumPy before 2.4 writes, and later ones refuse
                try:
                    with np.errstate(all="ignore"):
                        np.savetxt(theirs, x, fmt=fmt, **keywords)
                except (TypeError, ValueError, AttributeError, OverflowError):
                    with raises((ValueError, TypeError)):
                        nd.savetxt(ours, x, fmt=fmt, **keywords)
                    continue
                if fmt == "%05.1f" and not np.all(np.isfinite(x)):
                    continue  # Python fills inf with zeros, printf with blanks
                if fmt == "%x" and x.size and x.dtype.kind == "i" and x.min() < 0:
                    with raises(ValueError, "negative", "%d"):
                        nd.savetxt(ours, x, fmt=fmt, **keywords)
                    continue
                nd.savetxt(ours, x, fmt=fmt, **keywords)
                assert ours.getvalue() == theirs.getvalue(), (x.dtype, fmt, ours.getvalue()[:200], theirs.getvalue()[:200])


def test_shortest_text_is_reprs():
    rng = np.random.default_rng(10)
    x = rng.integers(0, 2**63 - 2**52, 20000).view("f8")
    x = np.where(np.isfinite(x), x, 1.0)
    x[:2000] = rng.integers(0, 10**6, 2000) / 1000
    x[2000:4000] = rng.integers(1, 2**52, 2000).view("f8")
    x[4000:6000] = 2.0 ** np.arange(-1000, 1000)  # whose neighbours are not equally far
    out = io.StringIO()
    nd.savetxt(out, x, fmt=None)
    for text, v in zip(out.getvalue().split(), x.tolist()):
        assert text == repr(v), (text, repr(v))
    for dtype in ("f2", "f4"):
        y = x.astype(dtype) if dtype == "f4" else rng.integers(0, 31743, 5000).astype("u2").view("f2")
        out = io.StringIO()
        nd.savetxt(out, y, fmt=None)
        for text, v in zip(out.getvalue().split(), y):
            # NumPy's shortest digits in Python's notation, for NumPy's own differs between versions.
            assert text == repr(float(np.format_float_scientific(v, unique=True))), (dtype, text, v)


def test_random_texts_read_as_float_does():
    rng = np.random.default_rng(11)
    texts = []
    for _ in range(20000):
        digits = "".join(map(str, rng.integers(0, 10, rng.integers(1, 40))))
        point = rng.integers(0, len(digits) + 1)
        texts.append(f"{'-' if rng.integers(2) else ''}{digits[:point]}.{digits[point:]}e{rng.integers(-330, 310)}")
    same(nd.loadtxt(texts), np.array([float(t) for t in texts]))
    # Halfway between two doubles, and just above: all digits decide.
    m = 2**52 + int(rng.integers(2**51))
    texts = [f"{2 * m + 1}", f"{2 * m + 1}.{'0' * 60}1", f"{2 * m + 1}e-400", "0." + "0" * 400 + "1e401", "1" + "0" * 400 + "e-400"]
    same(nd.loadtxt(texts), np.array([float(t) for t in texts]))


def test_where_texts_come_from_and_go_to():
    x = np.arange(6.0).reshape(2, 3)
    for path in (PATH, PATH.encode(), pathlib.Path(PATH)):
        nd.savetxt(path, x)
        same(nd.loadtxt(path), x)
    for name, opener in ((".gz", gzip.open), (".bz2", __import__("bz2").open), (".xz", __import__("lzma").open)):
        nd.savetxt(PATH + name, x)
        with opener(PATH + name) as f:
            same(nd.loadtxt(f), x)
        same(nd.loadtxt(PATH + name), x)
        np.testing.assert_array_equal(np.loadtxt(PATH + name), x)
    for mode in ("w", "wb"):
        with open(PATH, mode) as f:
            nd.savetxt(f, x, header="h")
        np.testing.assert_array_equal(np.loadtxt(PATH), x)
    with open(PATH) as f:
        same(nd.loadtxt(f), x)
    same(nd.loadtxt(line for line in ["0 1 2\n", b"3 4 5"]), x)
    same(nd.loadtxt(io.BytesIO(b"0 1 2\n3 4 5\n")), x)
    nd.savetxt(PATH, x, header="ä", encoding="latin1")
    with open(PATH, "rb") as f:
        assert f.readline() == "# ä\n".encode("latin1")
    same(nd.loadtxt(PATH, encoding="latin1"), x)
    put("1\u00b72\n3\u00b74".encode("utf-16"))
    same(nd.loadtxt(PATH, delimiter="\u00b7", encoding="utf-16"), np.array([[1.0, 2], [3, 4]]))
    for bad in (np.zeros(()), np.zeros((1, 1, 1))):
        with raises(ValueError, "dimensions"):
            nd.savetxt(PATH, bad)
    with raises(ValueError, "2 formats for 3"):
        nd.savetxt(PATH, x, fmt=["%d", "%d"])
    with raises(ValueError, "conversions"):
        nd.savetxt(PATH, x, fmt="%d %d")
    same(nd.loadtxt(PATH, delimiter="\u00b7", encoding="utf-16"), np.array([[1.0, 2], [3, 4]]))  # untouched


if __name__ == "__main__":
    main(globals())
