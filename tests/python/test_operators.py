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


def test_shapes_that_do_not_broadcast_name_both():
    with raises(ValueError, "(3,)", "(4,)"):
        nd.ones(3) + nd.ones(4)
    with raises(nd.Error):
        nd.ones(3) + nd.ones(4)


if __name__ == "__main__":
    main(globals())
