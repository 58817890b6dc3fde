# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trees of _kernel_parse.py run over arrays: C's types and conversions, statements under a mask of the elements that reach
them."""
from __future__ import annotations

import ndock as nd

from ._kernel_parse import NotUnderstood

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._types import Any, Array, Optional

_MATH = {name: name for name in """exp expm1 log log1p log2 log10 sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh sqrt
         floor ceil trunc erf erfc pow atan2 hypot copysign nextafter fma rsqrt""".split()}
_MATH.update(rint="round", fabs="abs", fmod="_fmod", rsqrt="_rsqrt")
_OPERATORS = {"+": "add", "-": "subtract", "*": "multiply", "&": "bitwise_and", "|": "bitwise_or", "^": "bitwise_xor"}
_COMPARE = {"==": "equal", "!=": "not_equal", "<": "less", "<=": "less_equal", ">": "greater", ">=": "greater_equal"}
_RANK = ["int32", "uint32", "int64", "uint64", "float32", "float64"]
COMPUTED = {"float16": "float32", "bfloat16": "float32"}


def cast(x: Array, dtype: str) -> Array:
    return x if x.dtype.name == dtype else nd.astype(x, dtype)


def _promoted(x: Array) -> Array:
    """C's integer promotions."""
    name = x.dtype.name
    return cast(x, "int32") if name in ("bool", "int8", "int16", "uint8", "uint16") else x


def _same(x: Array, y: Array) -> tuple[Array, Array]:
    """C's usual arithmetic conversions."""
    x, y = _promoted(x), _promoted(y)
    wide = max(x.dtype.name, y.dtype.name, key=_RANK.index)
    return cast(x, wide), cast(y, wide)


def _truth(x: Array) -> Array:
    return cast(x, "bool")


def _divide(x: Array, y: Array, rest: bool) -> Array:
    """Integers: towards zero, and what is left then."""
    q, r = nd.floor_divide(x, y), nd.remainder(x, y)
    if x.dtype.kind == "i":
        short = nd.logical_and(nd.not_equal(r, 0), nd.not_equal(nd.less(x, 0), nd.less(y, 0)))
        q = nd.where(short, nd.add(q, 1), q)
    return nd.subtract(x, nd.multiply(q, y)) if rest else q


class Machine:
    """One block: variables, and the mask of the elements that the statement at hand is for (None: all)."""

    def __init__(self, device: Any, shape: tuple[int, ...], names: dict[str, Array], raw: dict[str, Array]) -> None:
        self.device, self.shape = device, shape
        self.names = names
        self.raw = raw

    def constant(self, value: Any, dtype: str) -> Array:
        return nd.asarray(value, dtype=dtype, device=self.device)

    # ---- expressions ----
    def value(self, e: Any) -> Array:
        found: Array = getattr(self, "_" + e[0])(*e[1:])
        return found

    def _number(self, value: Any, dtype: str) -> Array:
        return self.constant(value, dtype)

    def _name(self, name: str) -> Array:
        if name not in self.names:
            raise NotUnderstood(f"the name {name!r}")
        return self.names[name]

    def _unary(self, op: str, e: Any) -> Array:
        x = self.value(e)
        if op == "!":
            return nd.logical_not(x)
        x = _promoted(x)
        if op == "-":
            return nd.subtract(self.constant(0, x.dtype.name), x) if x.dtype.kind == "u" else nd.negative(x)
        if op == "~":
            return nd.bitwise_invert(x)
        return x

    def _binary(self, op: str, left: Any, right: Any) -> Array:
        x, y = self.value(left), self.value(right)
        if op in ("&&", "||"):
            return (nd.logical_and if op == "&&" else nd.logical_or)(_truth(x), _truth(y))
        if op in ("<<", ">>"):
            x = _promoted(x)
            return (nd.bitwise_left_shift if op == "<<" else nd.bitwise_right_shift)(x, cast(_promoted(y), x.dtype.name))
        x, y = _same(x, y)
        if op in _COMPARE:
            return getattr(nd, _COMPARE[op])(x, y)
        if op in ("/", "%") and x.dtype.kind in "iu":
            return _divide(x, y, op == "%")
        if op == "/":
            return nd.divide(x, y)
        if op == "%" or (op in "&|^" and x.dtype.kind == "f"):
            raise NotUnderstood(f"{op!r} of {x.dtype.name}")
        return getattr(nd, _OPERATORS[op])(x, y)

    def _choose(self, c: Any, left: Any, right: Any) -> Array:
        x, y = _same(self.value(left), self.value(right))
        return nd.where(_truth(self.value(c)), x, y)

    def _cast(self, dtype: str, e: Any) -> Array:
        return cast(self.value(e), COMPUTED.get(dtype, dtype))

    def _index(self, name: str, e: Any) -> Array:
        if name not in self.raw:
            raise NotUnderstood(f"{name!r} with an index")
        flat = self.raw[name]
        at = nd.broadcast_to(cast(self.value(e), "int64"), self.shape)
        at = nd.where(nd.logical_and(nd.greater_equal(at, 0), nd.less(at, flat.size)), at, 0)  # masked places
        found = nd.reshape(nd.take(flat, nd.reshape(at, (-1,)), axis=0), self.shape)
        return cast(found, COMPUTED.get(flat.dtype.name, flat.dtype.name))

    def _call(self, name: str, args: list[Any]) -> Array:
        values = [self.value(a) for a in args]
        if name in ("min", "max", "fmin", "fmax") and len(values) == 2:
            return self._least(name, *values)
        if name == "abs" and len(values) == 1:
            return nd.abs(_promoted(values[0]))
        if name not in _MATH:
            raise NotUnderstood(f"the function {name!r}")
        wide = "float32" if all(v.dtype.name == "float32" for v in values) else "float64"
        values = [cast(v, wide) for v in values]
        if name == "rsqrt":
            return nd.divide(self.constant(1, wide), nd.sqrt(values[0]))
        if name == "erfc":
            return cast(nd.special.erfc(values[0]), wide)
        if name == "fmod":
            x, y = values
            r = nd.remainder(nd.abs(x), nd.abs(y))
            return nd.copysign(r, x)
        found: Array = getattr(nd, _MATH[name])(*values)
        return found

    def _least(self, name: str, x: Array, y: Array) -> Array:
        x, y = _same(x, y)
        if x.dtype.kind == "f":
            x, y = nd.where(nd.isnan(x), y, x), nd.where(nd.isnan(y), x, y)
        return (nd.minimum if "min" in name else nd.maximum)(x, y)

    # ---- statements: each returns the elements that go on behind it ----
    def run(self, program: list[Any], mask: Optional[Array], loop: Optional[_Loop] = None) -> Optional[Array]:
        for s in program:
            mask = getattr(self, "_do_" + s[0])(mask, loop, *s[1:])
        return mask

    def _set(self, mask: Optional[Array], name: str, value: Array) -> None:
        old = self.names[name]
        value = cast(value, old.dtype.name)
        self.names[name] = value if mask is None else nd.where(mask, value, old)

    def _do_declare(self, mask: Optional[Array], loop: Any, dtype: str, name: str, e: Any) -> Optional[Array]:
        dtype = COMPUTED.get(dtype, dtype)
        value = self.constant(0, dtype) if e is None else self.value(e)
        self.names[name] = cast(value, dtype)
        return mask

    def _do_set(self, mask: Optional[Array], loop: Any, name: str, op: str, e: Any) -> Optional[Array]:
        if name not in self.names:
            raise NotUnderstood(f"an assignment to {name!r}")
        self._set(mask, name, self._binary(op, ("name", name), e) if op else self.value(e))
        return mask

    def _do_put(self, mask: Optional[Array], loop: Any, name: str, *rest: Any) -> Optional[Array]:
        raise NotUnderstood(f"an assignment to {name}[...]")

    def _both(self, mask: Optional[Array], c: Array) -> Array:
        return c if mask is None else nd.logical_and(mask, c)

    def _do_if(self, mask: Optional[Array], loop: Optional[_Loop], c: Any, then: list[Any], other: list[Any]) -> Optional[Array]:
        test = _truth(self.value(c))
        yes: Any = self.run(then, self._both(mask, test), loop)
        no: Any = self.run(other, self._both(mask, nd.logical_not(test)), loop)
        if loop is None:
            return mask
        return nd.logical_or(yes, no)

    def _do_break(self, mask: Optional[Array], loop: Optional[_Loop]) -> Array:
        if loop is None:
            raise NotUnderstood("a break without a loop")
        loop.stop(self, mask)
        return self.constant(False, "bool")

    def _do_continue(self, mask: Optional[Array], loop: Optional[_Loop]) -> Array:
        if loop is None:
            raise NotUnderstood("a continue without a loop")
        return self.constant(False, "bool")

    def _do_loop(self, mask: Optional[Array], outer: Any, c: Any, body: list[Any], step: list[Any]) -> Optional[Array]:
        loop = _Loop(self.constant(True, "bool") if mask is None else mask)
        while True:
            if c is not None:
                loop.live = nd.logical_and(loop.live, _truth(self.value(c)))
            if not bool(nd.any(loop.live)):
                return mask
            self.run(body, loop.live, loop)
            self.run(step, loop.live, loop)


class _Loop:
    """The elements that still go round."""

    def __init__(self, live: Array) -> None:
        self.live = live

    def stop(self, machine: Machine, mask: Optional[Array]) -> None:
        gone = machine.constant(True, "bool") if mask is None else mask
        self.live = nd.logical_and(self.live, nd.logical_not(gone))
