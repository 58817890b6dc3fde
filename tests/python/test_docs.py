#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every public name has a docstring that names each of its parameters, says what it raises where it takes arrays, and has an
example, which is run. Completion and annotations show no private name."""
import doctest
import inspect
import re
import types

import ndock as nd
from tap import cases, main

MODULES = {"nd": nd, "nd.linalg": nd.linalg, "nd.fft": nd.fft, "nd.random": nd.random, "nd.memory": nd.memory, "nd.math": nd.math,
           "nd.special": nd.special, "nd.backends": nd.backends,
           "nd.signal": nd.signal, "nd.nn": nd.nn}
OPERATORS = {"name", "args", "kwargs", "self"}


def public():
    """(where, name) of every function and class, each once."""
    seen = set()
    for where, module in MODULES.items():
        for name in sorted(n for n in dir(module) if not n.startswith("_")):
            value = getattr(module, name)
            known = isinstance(value, (types.FunctionType, types.BuiltinFunctionType, type))
            ours = known and (getattr(value, "__module__", "") or "").startswith("ndock")
            if ours and id(value) not in seen:
                seen.add(id(value))
                yield where, name


NAMES = list(public())


def get(where, name):
    return getattr(MODULES[where], name)


@cases(*NAMES)
def test_example_runs(where, name):
    text = get(where, name).__doc__
    test = doctest.DocTestParser().get_doctest(text, {"nd": nd, "ndock": nd}, name, where, 0)
    said = []
    failed, attempted = doctest.DocTestRunner().run(test, out=said.append)
    assert attempted, "it has no example"
    assert not failed, "".join(said)


@cases(*[n for n in NAMES if not isinstance(get(*n), type)])
def test_parameters_are_named(where, name):
    value = get(where, name)
    for p in inspect.signature(value).parameters:
        if p not in OPERATORS:
            assert re.search(rf"\b{p}\b", value.__doc__.partition("--\n")[2] or value.__doc__), p


def test_there_are_many():
    assert len(NAMES) > 200


def test_methods_have_docstrings():
    for kind in (nd.Array, nd.Stream, nd.Event, nd.Device, nd.random.Generator, nd.backends.PlanCache):
        for name in kind.__dict__:
            if not name.startswith("_") and hasattr(kind, name):  # Array refuses some names of other libraries
                assert (getattr(kind, name).__doc__ or "").strip(), (kind, name)


def test_nothing_private_is_shown():
    assert not [n for n in dir(nd) if n.startswith("_") and n not in
                ("__array_api_version__", "__array_namespace_info__", "__version__")]
    assert "flags" not in dir(nd.ones(1)) and "sum" in dir(nd.ones(1))
    assert "_ndock" not in inspect.getdoc(nd.add) and inspect.signature(nd.add)


if __name__ == "__main__":
    nd.set_default_device("cpu")
    main(globals())
