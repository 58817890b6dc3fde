# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arrays as text: str as NumPy's, repr with dtype and device, format, options, tables for notebooks."""
import random

import ndock as nd
from devices import DEVICES
from tap import Skip, cases, main, raises

try:
    import numpy as np
except ImportError:
    np = None

EACH = cases(*DEVICES)


@EACH
def test_repr_names_dtype_and_device(device):
    x = nd.asarray([[1, 2.5], [3, 4]], device=device)
    assert repr(x) == f"array([[1. , 2.5],\n       [3. , 4. ]], dtype=float64, device='{nd.Device(device)}')"
    assert str(x) == "[[1.  2.5]\n [3.  4. ]]" == f"{x}"
    assert repr(x[0, 0]) == f"array(1., dtype=float64, device='{nd.Device(device)}')" and str(x[0, 1]) == "2.5"
    assert "dtype=bfloat16" in repr(nd.zeros(1, dtype="bfloat16", device=device))
    assert "shape=(0, 3), dtype=int64" in repr(nd.zeros((0, 3), dtype=int, device=device))


def test_str_as_numpy():
    if np is None:
        raise Skip("no NumPy to compare with")
    if tuple(map(int, np.__version__.split(".")[:2])) < (2, 3):
        raise Skip(f"NumPy {np.__version__} turns to scientific notation later than 2.3 does")
    r = random.Random(3)
    for _ in range(200):
        shape = tuple(r.randint(1, 5) for _ in range(r.randint(0, 3)))
        a = np.array([r.choice([r.random() * 10**r.randint(-6, 9), float(r.randint(-99, 99)), 0.0])
                      for _ in range(int(np.prod(shape)))]).reshape(shape)
        a = a.astype(r.choice(["float64", "float32", "int64", "complex128"]))
        options = {"precision": r.randint(0, 10), "suppress": r.random() < .3, "linewidth": r.randint(30, 90),
                   "threshold": r.choice([5, 1000]), "edgeitems": r.randint(1, 3)}
        with np.printoptions(**options), nd.printoptions(**options):
            assert str(nd.asarray(a)) == str(a), f"{options}\n{nd.asarray(a)}\nnot\n{a}"


@EACH
def test_format_of_single_elements(device):
    x = nd.asarray(3.14159, device=device)
    assert f"{x:.2f}" == "3.14" and f"{x:>8.1f}" == "     3.1" and f"{x}" == "3.14159"
    assert f"{nd.asarray(255, device=device):#x}" == "0xff" and f"{nd.asarray(1 + 2j, device=device):.1f}" == "1.0+2.0j"
    with raises(TypeError, ".2f"):
        f"{nd.ones(2):.2f}"
    with raises(ValueError):
        f"{x:q}"


def test_options():
    before = nd.get_printoptions()
    assert before == {"precision": 8, "threshold": 1000, "edgeitems": 3, "linewidth": 75, "suppress": False}
    with nd.printoptions(precision=2, threshold=3, edgeitems=1) as inside:
        assert inside["precision"] == 2 and str(nd.asarray([1 / 3])) == "[0.33]"
        assert str(nd.asarray([1, 2, 3, 4])) == "[1 ... 4]"
        with nd.printoptions(precision=4):
            assert str(nd.asarray([1 / 3])) == "[0.3333]"
        assert str(nd.asarray([1 / 3])) == "[0.33]"
    assert nd.get_printoptions() == before
    nd.set_printoptions(suppress=True)
    assert str(nd.asarray([1e-10, 1.0])) == "[0. 1.]"
    nd.set_printoptions(suppress=False)
    assert nd.get_printoptions() == before
    for wrong in ({"precision": -1}, {"precision": 99}, {"edgeitems": 0}, {"linewidth": 1}, {"threshold": -1}):
        with raises(ValueError, next(iter(wrong))):
            nd.set_printoptions(precision=wrong.get("precision", 3), **{k: v for k, v in wrong.items() if k != "precision"})
    assert nd.get_printoptions() == before
    try:
        with nd.printoptions(precision=1):
            raise KeyError
    except KeyError:
        pass
    assert nd.get_printoptions() == before


@EACH
def test_tables_for_notebooks(device):
    html = nd.asarray([[1, 2], [3, 4]], device=device)._repr_html_()
    assert f"Array, shape (2, 2), int64, {nd.Device(device)}" in html
    assert html.count("<tr>") == 2 and html.count("<td>") == 4 and "<td>4</td>" in html
    large = nd.reshape(nd.arange(10000, device=device), (100, 100))._repr_html_()
    assert large.count("<tr>") == 7 and "&hellip;" in large and "&#8942;" in large and "<td>9999</td>" in large
    for x in (nd.asarray(5, device=device), nd.zeros((2, 2, 2), device=device), nd.zeros((0, 2), device=device)):
        assert "<pre>" in x._repr_html_() and str(x.shape) in x._repr_html_()


if __name__ == "__main__":
    main(globals())
