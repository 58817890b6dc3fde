#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operations of programs with their shape rule and forms in Python, on devices that have a form and on those that have none."""
import ctypes
import threading

from kernels import DEVICES, back, random, there
import ndock as nd
import numpy as np
from tap import cases, main, raises


def outer_rule(x, y, *, scale=1.0):
    return nd.Spec(x.shape + y.shape, nd.result_type(x.dtype, y.dtype))


def outer_host(x, y, out, *, scale=1.0):
    out[...] = x.reshape(*x.shape, *([1] * y.ndim)) * y * scale


outer = nd.custom_op("test_outer", 2, shape=outer_rule, host=outer_host, doc="x of y by the outer product.")


@cases(*DEVICES)
def test_a_host_form_serves_every_device(device):
    x, y = random((3, 2), "float64"), random(4, "float64")
    got = outer(there(x, device), there(y, device), scale=2.0)
    np.testing.assert_array_equal(back(got), np.multiply.outer(x, y) * 2)
    assert str(got.device).startswith(device) and (outer.name, outer.doc[:4]) == ("test_outer", "x of")
    views = outer(there(x, device).transpose()[::-1], there(y, device)[::2])
    np.testing.assert_array_equal(back(views), np.multiply.outer(x.T[::-1], y[::2]))


@cases(*DEVICES)
def test_into_existing_arrays(device):
    x, y = random(3, "float64"), random(4, "float64")
    out = nd.zeros((3, 8), device=device)
    target = out[:, ::2]
    assert outer(there(x, device), there(y, device), out=target) is target
    np.testing.assert_array_equal(back(out)[:, ::2], np.multiply.outer(x, y))
    with raises(ValueError, "shape"):
        outer(there(x, device), there(y, device), out=nd.zeros((3, 3), device=device))
    with raises(TypeError, "1 results"):
        outer(there(x, device), there(y, device), out=(out, out))


def test_kernels_by_formula_are_forms_of_their_devices():
    """Nothing is staged where the kernel compiles."""
    squared = nd.ElementwiseKernel("T x, T y", "T z", "z = (x - y) * (x - y)", "squared_error")
    op = nd.custom_op("test_squared_error", 2, host=squared)
    for device in DEVICES:
        x, y = random((5, 1), "float32"), random(4, "float32")
        before = nd.fallback_count() if hasattr(nd, "fallback_count") else None
        np.testing.assert_array_equal(back(op(there(x, device), there(y, device))), (x - y) * (x - y))
        assert before is None or nd.fallback_count() == before


def test_forms_by_plugin():
    called = []

    def form(x, out):
        called.append(str(x.device))
        nd.ElementwiseKernel("T x", "T y", "y = x + 1")(x, out)

    def host(x, out):
        called.append("host")
        return x + 1
    op = nd.custom_op("test_forms", 1, host=host, forms={"sim": form})
    for device in ("cpu", "sim:0"):
        assert back(op(there(np.arange(3.0), device))).tolist() == [1, 2, 3]
    assert called == ["host", "sim:0"]
    only = nd.custom_op("test_forms_only", 1, forms={"sim": form})
    with raises(NotImplementedError, "test_forms_only", "cpu"):
        only(nd.ones(2, device="cpu"))


def test_several_results_of_their_own_dtypes():
    def rule(x):
        return [(x.shape[:-1], x.dtype), nd.Spec(x.shape[:-1], "int64")]

    def host(x, least, where):
        least[...] = nd.min(x, axis=-1)
        where[...] = nd.argmin(x, axis=-1)
    op = nd.custom_op("test_min_and_where", 1, 2, shape=rule, host=host)
    a = random((6, 5), "float32")
    for device in DEVICES:
        least, where = op(there(a, device))
        np.testing.assert_array_equal(back(least), a.min(axis=-1))
        np.testing.assert_array_equal(back(where), a.argmin(axis=-1))
    returning = nd.custom_op("test_returning", 1, 2, shape=rule, host=lambda x, *out: (nd.min(x, axis=-1), nd.argmin(x, axis=-1)))
    least, where = returning(there(a, "cpu"))
    np.testing.assert_array_equal(back(where), a.argmin(axis=-1))


class Odd(Exception):
    pass


@cases(*DEVICES)
def test_exceptions_reach_the_caller(device):
    def rule(x, *, where):
        if where == "rule":
            raise Odd("in the rule")
        return x if where != "nonsense" else 7

    def host(x, out, *, where):
        if where == "form":
            raise Odd("in the form")
        return [x, x] if where == "two" else nd.ones(99) if where == "shape" else None
    name = f"test_odd_{device.replace(':', '_')}"
    op = nd.custom_op(name, 1, shape=rule, host=host)
    x = nd.ones(3, device=device)
    for where in ("rule", "form"):
        with raises(Odd, f"in the {where}"):
            op(x, where=where)
    with raises(TypeError):
        op(x, where="nonsense")
    with raises(ValueError, "2 arrays", "1 results"):
        op(x, where="two")
    with raises(ValueError):
        op(x, where="shape")
    with raises(TypeError, "unexpected"):
        op(x, other=1)
    assert op(x, where="nowhere").shape == (3,)  # and goes on


def test_definitions_are_checked():
    with raises(ValueError, "test_outer", "already"):
        nd.custom_op("test_outer", 1, host=lambda x, out: x)
    with raises(ValueError, "add"):
        nd.custom_op("add", 2, host=lambda x, y, out: x)
    with raises(ValueError, "no name"):
        nd.custom_op("No Name", 1, host=lambda x, out: x)
    with raises(ValueError, "form"):
        nd.custom_op("test_nothing", 1)
    with raises(ValueError, "17"):
        nd.custom_op("test_many", 17, host=lambda *a: None)
    with raises(TypeError, "no function"):
        nd.custom_op("test_wrong", 1, host=7)
    with raises(TypeError, "takes 2", "not 1"):
        outer(nd.ones(2))
    with raises(TypeError, "Array"):
        outer(nd.ones(2), [1, 2])


def test_gradients():
    op = nd.custom_op("test_product", 2, host=lambda x, y, out: x * y,
                      backward=lambda ins, outs, grads: (grads[0] * ins[1], grads[0] * ins[0]))
    x, y = nd.asarray([1.0, 2.0]), nd.asarray([3.0, 4.0])
    z = op(x, y)
    gx, gy = op.backward((x, y), (z,), (nd.ones(2),))
    assert gx.tolist() == [3.0, 4.0] and gy.tolist() == [1.0, 2.0]
    wrong = nd.custom_op("test_wrong_gradient", 1, host=lambda x, out: x, backward=lambda ins, outs, grads: nd.ones(5))
    with raises(ValueError, "(5,)", "(2,)"):
        wrong.backward((x,), (x,), (x,))
    with raises(NotImplementedError, "test_outer"):
        outer.backward((x, y), (z,), (z,))


def test_threads():
    wrong = []

    def work(k):
        for _ in range(20):
            x = there(np.arange(5.0) + k, "sim:0")
            if not np.array_equal(back(outer(x, x)), np.multiply.outer(np.arange(5.0) + k, np.arange(5.0) + k)):
                wrong.append(k)
    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_other_programs_parameters_are_refused():
    """From C, nd_custom_apply with bytes of its own reaches no form."""
    with open("/proc/self/maps") as f:
        lib = ctypes.CDLL({line.split()[-1] for line in f if "libndock.so" in line}.pop())
    lib.nd_custom_find.restype = ctypes.c_void_p
    lib.nd_custom_find.argtypes = [ctypes.c_char_p]
    lib.nd_zeros.argtypes = [ctypes.c_void_p, ctypes.c_int32, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p]
    lib.nd_custom_apply.argtypes = [ctypes.c_void_p] * 5
    op = lib.nd_custom_find(b"test_outer")
    a, out, shape = ctypes.c_void_p(), (ctypes.c_void_p * 16)(), (ctypes.c_int64 * 1)(2)
    assert op and lib.nd_zeros(None, 10, 1, shape, ctypes.byref(a)) == 0
    ins = (ctypes.c_void_p * 2)(a, a)
    assert lib.nd_custom_apply(op, ins, b"0123456789" * 20, None, out) != 0 and not out[0]
    lib.nd_release.argtypes = [ctypes.c_void_p]
    lib.nd_release(a)


if __name__ == "__main__":
    nd.set_default_device("cpu")
    main(globals())
