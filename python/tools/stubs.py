# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints the type stubs of the extension module: stubs.py MODULE-FILE OP.DEF METHODS.PY >_ndock.pyi, run by make.

What there is comes from the built module, signatures from its text signatures (the method tables), the elementwise
functions' types from the op table. Types of everything else are told by names: the tables below. Methods of Array
that are Python are copied from METHODS.PY (python/ndock/_methods.py), whose functions are annotated."""
import ast
import importlib.machinery
import importlib.util
import inspect
import re
import sys

OPERAND = "Operand"  # of _types
# Parameters that mean the same everywhere.
PARAMETERS = {"out": "Array | None", "keepdims": "bool", "copy": "bool | None", "device": "Device | str | None",
              "dtype": "DType | str | Any | None", "axis": "int | Sequence[int] | None"}
ARITHMETIC = "add sub mul truediv floordiv mod pow and or xor lshift rshift matmul".split()
OPERATORS = {f"__{prefix}{name}__": (f"other: {OPERAND}", "Array") for name in ARITHMETIC for prefix in ("", "r", "i")}
OPERATORS.update({f"__{name}__": ("", "Array") for name in ("neg", "pos", "abs", "invert")})
OPERATORS.update({f"__{name}__": ("other: object", "Array") for name in ("eq", "ne")})
OPERATORS.update({f"__{name}__": (f"other: {OPERAND}", "Array") for name in ("lt", "le", "gt", "ge")})
OPERATORS.update({f"__{name}__": ("", name) for name in ("bool", "int", "float", "complex")})
OPERATORS.update({"__index__": ("", "int"), "__len__": ("", "int"), "__iter__": ("", "Iterator[Array]"),
                  "__contains__": ("item: object", "bool"), "__getitem__": ("key: Any", "Array"),
                  "__setitem__": ("key: Any, value: Any", "None"), "__buffer__": ("flags: int", "memoryview"),
                  "__enter__": ("", "Any"), "__exit__": ("*exception: Any", "None"), "__hash__": ("", "int")})
# Parameters of the functions of ops/filled.c.
FILLED = {"shape": "Shape", "fill_value": "Scalar", "dtype": "DTypeLike | None", "device": "DeviceLike | None"}
# What attributes and results are, by their names; of all types unless "Type.name" is there.
TYPES = {"shape": "tuple[int, ...]", "strides": "tuple[int, ...]", "ndim": "int", "size": "int", "nbytes": "int",
         "itemsize": "int", "dtype": "DType", "device": "Device", "T": "Array", "mT": "Array", "real": "Array",
         "imag": "Array", "name": "str", "kind": "str", "index": "int", "item": "Any", "tolist": "Any",
         "to_device": "Array", "astype": "Array", "copy": "Array", "reshape": "Array", "__format__": "str",
         "__dlpack_device__": "tuple[int, int]", "__cuda_array_interface__": "dict[str, Any]",
         "__array_ufunc__": "None", "__version__": "str", "synchronize": "None", "readonly": "bool", "id": "int",
         "as_array": "Array", "from_cai": "Array", "from_dlpack": "Array", "empty": "Array", "full": "Array",
         "ones": "Array", "zeros": "Array"}
# Names of python/ndock/_types.py that annotations of methods use.
TYPE_NAMES = {"ArrayLike", "Axes", "DTypeLike", "DeviceLike", "Literal", "Operand", "Optional", "Scalar", "Shape", "Union"}
ORDER = {"__lt__", "__le__", "__gt__", "__ge__"}  # which every type with __eq__ seems to have
INHERITED = {"__new__", "__init__", "__doc__", "__module__", "__getattribute__", "__repr__", "__str__", "__weakref__", "__init_subclass__"}


def load(path):
    """The module alone, without its package."""
    loader = importlib.machinery.ExtensionFileLoader("ndock._ndock", path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_file_location("ndock._ndock", path, loader=loader))
    loader.exec_module(module)
    return module


def operands_of(op_def):
    """How many operands each elementwise operation has, by its name."""
    with open(op_def, encoding="utf-8") as f:
        rows = re.findall(r"^ND_OP\((\w+),\s*(UNARY|BINARY|TERNARY),", f.read(), re.MULTILINE)
    return {name: ("UNARY", "BINARY", "TERNARY").index(kind) + 1 for name, kind in rows}


def parameters(function, types):
    """The text between the parentheses."""
    try:
        signature = inspect.signature(function)
    except (ValueError, TypeError):
        return "*args: Any, **kwargs: Any"
    given = [p.replace(annotation=types.get(p.name, "Any") if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD) else "Any",
                       default=... if p.default is not p.empty else p.empty) for p in signature.parameters.values()]
    text = str(signature.replace(parameters=given))[1:-1]
    return text.replace("Ellipsis", "...").replace("'", "")


def member(kind, name, value):
    """One line of a class."""
    told = TYPES.get(f"{kind}.{name}", TYPES.get(name, "Any"))
    if isinstance(value, (staticmethod, classmethod)) or type(value).__name__ == "classmethod_descriptor":
        first = "" if isinstance(value, staticmethod) else "cls, "
        inner = getattr(value, "__func__", value)
        decorator = "staticmethod" if isinstance(value, staticmethod) else "classmethod"
        text = re.sub(r"^(cls|type|self)\b(, /)?(, )?", "", parameters(inner, PARAMETERS).replace("type: Any", "cls"))
        return f"    @{decorator}\n    def {name}({first}{text}) -> {told}: ..."
    if type(value).__name__ in ("getset_descriptor", "member_descriptor"):
        return f"    @property\n    def {name}(self) -> {told}: ..."
    if not callable(value):
        plain = type(value).__name__ if isinstance(value, (bool, int, float, str)) else "None" if value is None else "Any"
        return f"    {name}: {told if told != 'Any' else plain}"
    if name in OPERATORS:
        args, result = OPERATORS[name]
        result = "bool" if kind != "Array" and name in ("__eq__", "__ne__") else result
        args = f"self, {args}, /" if args and not args.startswith("*") else f"self, {args}".rstrip(", ")
        wrong = name in ("__eq__", "__ne__") and result != "bool"
        return f"    def {name}({args}) -> {result}: ..." + ("  # type: ignore[override]" if wrong else "")
    text = re.sub(r"^self: Any", "self", parameters(value, PARAMETERS))
    return f"    def {name}({'self, ' if not text.startswith('self') else ''}{text}) -> {told}: ..."


def python_methods(path):
    """One line for each function of the file that becomes a method of Array, and for each alias of one; then the names of
    _types that they use."""
    with open(path, encoding="utf-8") as f:
        tree = ast.parse(f.read())
    lines, used = {}, set()
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            args = node.args
            args.defaults = [ast.Constant(...) for _ in args.defaults]
            args.kw_defaults = [d and ast.Constant(...) for d in args.kw_defaults]
            used |= {n.id for n in ast.walk(args) if isinstance(n, ast.Name)}
            used |= {n.id for n in ast.walk(node.returns) if isinstance(n, ast.Name)}
            text = re.sub(r"^self: Array", "self", ast.unparse(args))
            lines[node.name] = f"    def {node.name}({text}) -> {ast.unparse(node.returns)}: ..."
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Name) and node.value.id in lines:
            name = node.targets[0].id
            lines[name] = lines[node.value.id].replace(f"def {node.value.id}(", f"def {name}(", 1)
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and ast.unparse(node.value.func) == "property":
            name = node.targets[0].id
            lines[name] = f"    @property\n    def {name}(self) -> Array: ..."
    return [lines[n] for n in sorted(lines)], used


def class_of(kind, cls):
    """A class; what it has of `object` is left out."""
    base = cls.__bases__[0]
    lines = []
    if cls.__text_signature__ is not None:
        lines.append(f"    def __init__(self, {parameters(cls, PARAMETERS)}) -> None: ...")
    for name, value in sorted(vars(cls).items()):
        absent = name in ORDER and kind != "Array" or name == "__hash__" and value is None
        if name not in INHERITED and not absent:
            lines.append(member(kind, name, value))
    named = base.__name__ if base.__module__ == "builtins" or base.__module__.startswith("ndock") else "Any"
    head = f"class {kind}:" if base is object else f"class {kind}({named}):"
    return head + ("\n" + "\n".join(lines) if lines else " ...")


def main():
    module, operands = load(sys.argv[1]), operands_of(sys.argv[2])
    methods, used = python_methods(sys.argv[3])
    print("# Made by python/tools/stubs.py from the built module and op.def.")
    print("from builtins import bool as _bool\nfrom collections.abc import Iterator, Sequence\nfrom typing import Any\n")
    shared = sorted((used & TYPE_NAMES) | {OPERAND, "DTypeLike", "DeviceLike", "Scalar", "Shape"})
    print(f"from ._types import {', '.join(shared)}\n")
    for line in lines(module, operands, methods):
        print(re.sub(r"(?<=[ [(])bool\b", "_bool", line))  # ndock.bool is a dtype


def lines(module, operands, methods):
    """The stub's classes, functions and constants."""
    # Those of the import machinery, and what the module has of others.
    names = [n for n in sorted(vars(module)) if n == "__version__" or not n.startswith("__")]
    for name in names:
        value = getattr(module, name)
        if isinstance(value, type):
            yield class_of(name, value) + ("\n" + "\n".join(methods) if name == "Array" else "")
        elif name in operands:
            types = dict.fromkeys(inspect.signature(value).parameters, OPERAND if operands[name] > 1 else "Array")
            yield f"def {name}({parameters(value, {**types, **PARAMETERS})}) -> Array: ..."
        elif callable(value):
            types = FILLED if name in ("empty", "full", "ones", "zeros") else PARAMETERS
            yield f"def {name}({parameters(value, types)}) -> {TYPES.get(name, 'Any')}: ..."
        else:
            yield f"{name}: {TYPES.get(name, type(value).__name__)}"


if __name__ == "__main__":
    main()
