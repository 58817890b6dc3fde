# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""NumPy's protocols for arrays of other libraries, by which NumPy's own functions, Dask and xarray compute with Arrays:
numpy.sin(x) is __array_ufunc__, numpy.concatenate([x, y]) __array_function__. What is in the tables here is ndock's function on the
array's device; any other function of NumPy does with an Array what it does with any object: on host memory it reads the elements, on
a device it raises TypeError. NumPy is not imported: whoever calls has it."""
from __future__ import annotations

from ._ndock import Array

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ._types import Any, Optional

# ---- ufuncs ----
# Those that are operators: Python's names, and that of the operator with its sides exchanged.
_OPERATORS = {
    "add": ("__add__", "__radd__"), "subtract": ("__sub__", "__rsub__"), "multiply": ("__mul__", "__rmul__"),
    "divide": ("__truediv__", "__rtruediv__"), "floor_divide": ("__floordiv__", "__rfloordiv__"),
    "remainder": ("__mod__", "__rmod__"), "power": ("__pow__", "__rpow__"), "matmul": ("__matmul__", "__rmatmul__"),
    "bitwise_and": ("__and__", "__rand__"), "bitwise_or": ("__or__", "__ror__"), "bitwise_xor": ("__xor__", "__rxor__"),
    "left_shift": ("__lshift__", "__rlshift__"), "right_shift": ("__rshift__", "__rrshift__"),
    "less": ("__lt__", "__gt__"), "less_equal": ("__le__", "__ge__"), "greater": ("__gt__", "__lt__"),
    "greater_equal": ("__ge__", "__le__"), "equal": ("__eq__", "__eq__"), "not_equal": ("__ne__", "__ne__")}
_UFUNCS = {"absolute": "abs", "fabs": "abs", "arccos": "acos", "arccosh": "acosh", "arcsin": "asin", "arcsinh": "asinh", "arctan": "atan",
           "arctan2": "atan2", "arctanh": "atanh", "conjugate": "conj", "invert": "bitwise_invert", "rint": "round",
           **{name: name for name in """ceil copysign cos cosh exp exp2 expm1 floor fmod hypot isfinite isinf isnan log log10 log1p log2
              logaddexp logical_and logical_not logical_or logical_xor maximum minimum negative nextafter positive reciprocal sign
              signbit sin sinh sqrt square tan tanh trunc deg2rad rad2deg cbrt float_power heaviside ldexp gcd lcm""".split()}}
_REDUCTIONS = {"add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min", "logical_and": "all", "logical_or": "any"}
_RUNNING = {"add": "cumulative_sum", "multiply": "cumulative_prod"}


def _package() -> Any:
    import ndock
    return ndock


def _known(x: Any) -> bool:
    """Whether ndock's operations may take x; what other libraries' arrays do with ours is theirs to say."""
    return isinstance(x, (Array, bool, int, float, complex, list, tuple)) or type(x).__module__ == "numpy"


def _scalars(operands: Any) -> tuple[Any, ...]:
    """NumPy's arrays without axes as Arrays beside the others: a number needs no copy."""
    device = next((x.device for x in operands if isinstance(x, Array)), None)
    return tuple(_package().full((), x.item(), dtype=x.dtype.name, device=device)
                 if type(x).__module__ == "numpy" and type(x).__name__ == "ndarray" and not x.ndim and x.dtype.kind in "biufc" else x
                 for x in operands)


def _elementwise(name: str, inputs: tuple[Any, ...]) -> Any:
    if name in _OPERATORS and len(inputs) == 2:
        here, swapped = _OPERATORS[name]
        a, b = inputs
        return getattr(a, here)(b) if isinstance(a, Array) else getattr(b, swapped)(a)
    function = getattr(_package(), _UFUNCS.get(name, ""), None)
    return NotImplemented if function is None else function(*inputs)


def _folded(name: str, method: str, x: Array, axis: Any = 0, dtype: Any = None, keepdims: bool = False) -> Any:
    nd = _package()
    if method == "reduce" and name in _REDUCTIONS:
        typed = {"dtype": dtype} if name in ("add", "multiply") else {}
        return getattr(nd, _REDUCTIONS[name])(x, axis=axis, keepdims=keepdims, **typed)
    if method == "accumulate" and name in _RUNNING:
        return getattr(nd, _RUNNING[name])(x, axis=axis, dtype=dtype)
    return NotImplemented


def _array_ufunc(self: Array, ufunc: Any, method: str, *inputs: Any, out: Any = None, where: Any = True, dtype: Any = None,
                 casting: str = "same_kind", order: str = "K", subok: bool = True, **kwargs: Any) -> Any:
    """NumPy's universal functions of Arrays: numpy.sin(x) is nd.sin(x)."""
    if where is not True or not all(_known(x) for x in inputs) or any(not isinstance(o, Array) for o in out or ()):
        return NotImplemented
    name, inputs = ufunc.__name__, _scalars(inputs)
    if method == "__call__" and not kwargs:
        if dtype is not None:
            inputs = tuple(x.astype(dtype) if isinstance(x, Array) else x for x in inputs)
        result = _elementwise(name, inputs)
    elif method == "outer" and not kwargs and len(inputs) == 2 and all(isinstance(x, Array) for x in inputs):
        a, b = inputs
        result = _elementwise(name, (a.reshape(a.shape + (1,) * b.ndim), b))
    elif isinstance(inputs[0], Array) and len(inputs) == 1 and set(kwargs) <= {"axis", "keepdims"}:
        result = _folded(name, method, inputs[0], dtype=dtype, **kwargs)
    else:
        return NotImplemented
    if result is NotImplemented or not out:
        return result
    out[0][...] = result
    return out[0]


# ---- functions ----
# Called with NumPy's arguments by NumPy's names, where ndock's function has the parameter; where it has not, the argument has to be
# NumPy's default.
_FUNCTIONS = """all amax amin any argmax argmin argpartition argsort argwhere broadcast_to clip concat count_nonzero cov cross cumulative_prod
cumulative_sum diag diagonal diff digitize dot expand_dims flip fliplr flipud hstack imag interp isclose isin kron
matrix_transpose max mean median min moveaxis nan_to_num nanargmax nanargmin nancumprod nancumsum nanmax nanmean nanmedian nanmin
nanpercentile nanprod nanquantile nanstd nansum nanvar nonzero outer partition percentile permute_dims prod ptp quantile real repeat
reshape roll rot90 round searchsorted sinc sort squeeze stack std sum take take_along_axis tensordot tile trace tril triu unique
unstack unwrap var vecdot vstack where""".split()
_NAMES = {"amax": "max", "amin": "min", "concatenate": "concat", "cumsum": "cumulative_sum", "cumprod": "cumulative_prod",
          "transpose": "permute_dims", "around": "round"}
_PARAMETERS = {"ddof": "correction", "a_min": "min", "a_max": "max", "reps": "repetitions", "newshape": "shape"}


def _transpose(nd: Any, a: Array, axes: Any = None) -> Array:
    return nd.permute_dims(a, tuple(range(a.ndim))[::-1] if axes is None else tuple(axes))


def _made(name: str, a: Any, shape: Any, dtype: Any, *fill: Any) -> Any:
    if not isinstance(a, Array):
        return NotImplemented
    shape = a.shape if shape is None else (shape,) if isinstance(shape, int) else tuple(shape)
    return getattr(_package(), name)(shape, *fill, dtype=dtype or a.dtype, device=a.device)


def _like(name: str) -> Callable[..., Any]:
    def make(nd: Any, a: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None, *, device: Any = None) -> Any:
        return _made(name, a, shape, dtype)
    return make


def _full_like(nd: Any, a: Any, fill_value: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None, *,
               device: Any = None) -> Any:
    return _made("full", a, shape, dtype, fill_value)


def _clip(nd: Any, a: Array, a_min: Any = None, a_max: Any = None, out: Any = None, *, min: Any = None, max: Any = None) -> Any:
    return nd.clip(a, a_min if min is None else min, a_max if max is None else max, **({} if out is None else {"out": out}))


def _concatenate(nd: Any, arrays: Any, axis: Any = 0, out: Any = None, *, dtype: Any = None, casting: str = "same_kind") -> Any:
    """NumPy's arrays join as in an operator: on the host."""
    if out is not None:
        return NotImplemented
    own = [a for a in arrays if isinstance(a, Array)]
    if len(own) < len(arrays) and all(str(a.device).startswith("cpu") for a in own):
        arrays = [a if isinstance(a, Array) else nd.asarray(a, device=own[0].device) for a in arrays]
    return nd.concat(arrays if dtype is None else [a.astype(dtype) for a in arrays], axis=axis)


def _average(nd: Any, a: Any, axis: Any = None, weights: Any = None, returned: bool = False, **other: Any) -> Any:
    """What is averaged may be NumPy's alone, and the weights ours."""
    if not isinstance(a, Array) and str(weights.device).startswith("cpu"):
        a = nd.asarray(a, device=weights.device)
    return nd.average(a, axis=axis, weights=weights, returned=returned, **other)


def _einsum(nd: Any, subscripts: Any, *operands: Any, out: Any = None, optimize: Any = False, dtype: Any = None, **other: Any) -> Any:
    return nd.einsum(subscripts, *operands) if out is None and dtype is None and isinstance(subscripts, str) else NotImplemented


def _where(nd: Any, condition: Any, *xy: Any) -> Any:
    """NumPy takes a condition of any dtype: what is not 0 is true."""
    if not xy:
        return nd.nonzero(condition)
    if isinstance(condition, Array) and nd.isdtype(condition.dtype, ("real floating", "complex floating")):
        condition = condition != 0
    return nd.where(*_scalars((condition, *xy)))


def _split(name: str) -> Callable[..., Any]:
    def split(nd: Any, ary: Array, indices_or_sections: Any, axis: int = 0) -> Any:
        return getattr(nd, name)(ary, indices_or_sections, axis=axis)
    return split


# Those whose arguments NumPy gives in another way; NotImplemented: as any other function.
_SPECIAL: dict[str, Callable[..., Any]] = {
    "transpose": _transpose, "permute_dims": _transpose, "clip": _clip, "einsum": _einsum, "average": _average,
    "full_like": _full_like, **{name + "_like": _like(name) for name in ("empty", "ones", "zeros")},
    **{name: _split(name) for name in ("split", "array_split")},
    "where": _where,
    "concatenate": _concatenate, "concat": _concatenate,
    "ravel": lambda nd, a, order="C": nd.reshape(a, (-1,)) if order in ("C", "K") else NotImplemented,
    "swapaxes": lambda nd, a, axis1, axis2: nd.moveaxis(a, (axis1, axis2), (axis2, axis1)),
    "atleast_1d": lambda nd, *arys: nd.atleast_1d(*arys), "atleast_2d": lambda nd, *arys: nd.atleast_2d(*arys),
    "atleast_3d": lambda nd, *arys: nd.atleast_3d(*arys),
    "broadcast_arrays": lambda nd, *args, subok=False: tuple(nd.broadcast_arrays(*args)),
    "meshgrid": lambda nd, *xi, indexing="xy": nd.meshgrid(*xi, indexing=indexing),
    "iscomplexobj": lambda nd, x: nd.isdtype(x.dtype, "complex floating"), "isrealobj": lambda nd, x: not nd.isdtype(x.dtype, "complex floating"),
    "copy": lambda nd, a, order="K", subok=False: a.copy(), "dot": lambda nd, a, b: _dot(nd, a, b),
    "pad": lambda nd, array, pad_width, mode="constant", **how: nd.pad(array, pad_width, mode=mode, **how),
    "histogram": lambda nd, a, bins=10, range=None, density=None, weights=None: nd.histogram(a, bins, range=range, density=bool(density), weights=weights),
    "bincount": lambda nd, x, weights=None, minlength=0: nd.bincount(x, weights=weights, minlength=minlength),
}


# ---- functions with like= ----
def _array(nd: Any, like: Array, obj: Any, dtype: Any = None, order: Any = "K", *, copy: Any = None, **other: Any) -> Any:
    return nd.asarray(obj, dtype=dtype, device=like.device, copy=copy)


def _copied(nd: Any, like: Array, obj: Any, dtype: Any = None, *, copy: Any = True, ndmin: int = 0, **other: Any) -> Any:
    made = nd.asarray(obj, dtype=dtype, device=like.device, copy=copy)
    return made.reshape((1,) * (ndmin - made.ndim) + made.shape) if made.ndim < ndmin else made


def _filled(name: str) -> Callable[..., Any]:
    def make(nd: Any, like: Array, shape: Any, *args: Any, dtype: Any = None, order: str = "C", device: Any = None, **fill: Any) -> Any:
        n = name == "full"
        args, rest = args[:n], args[n:]
        return getattr(nd, name)(shape, *args, *fill.values(), dtype=rest[0] if rest else dtype, device=like.device)
    return make


def _arange(nd: Any, like: Array, *args: Any, dtype: Any = None, device: Any = None, **named: Any) -> Any:
    return nd.arange(*args[:3], **named, dtype=args[3] if len(args) > 3 else dtype, device=like.device)


def _eye(nd: Any, like: Array, N: int, M: Optional[int] = None, k: int = 0, dtype: Any = None, order: str = "C", *, device: Any = None) -> Any:
    return nd.eye(N, M, k=k, dtype=dtype, device=like.device)


_LIKE: dict[str, Callable[..., Any]] = {
    "asarray": _array, "asanyarray": _array, "ascontiguousarray": _array, "array": _copied, "arange": _arange, "eye": _eye,
    "identity": lambda nd, like, n, dtype=None: nd.eye(n, dtype=dtype, device=like.device),
    "tri": lambda nd, like, N, M=None, k=0, dtype=None: nd.tril(nd.ones((N, M or N), dtype=dtype, device=like.device), k=k),
    **{name: _filled(name) for name in ("empty", "ones", "zeros", "full")}}


def _dot(nd: Any, a: Any, b: Any) -> Any:
    if not isinstance(a, Array) or not isinstance(b, Array) or a.ndim == 0 or b.ndim == 0:
        return a * b
    return nd.matmul(a, b) if a.ndim <= 2 and b.ndim <= 2 else nd.tensordot(a, b, axes=((a.ndim - 1,), (max(b.ndim - 2, 0),)))


def _svd(nd: Any, a: Array, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    return nd.linalg.svd(a, full_matrices=full_matrices) if compute_uv else nd.linalg.svdvals(a)


_plans: dict[Any, Optional[Callable[..., Any]]] = {}  # by NumPy's function


def _by_names(theirs: Any, own: Any) -> Callable[..., Any]:
    """own, called with NumPy's arguments."""
    import inspect
    signature = inspect.signature(theirs)
    parameters = inspect.signature(own).parameters.values()
    first = sum(1 for p in parameters if p.kind is p.POSITIONAL_ONLY)
    known = {p.name for p in parameters}

    def call(nd: Any, *args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs).arguments
        front: list[Any] = []
        named: dict[str, Any] = {}
        for i, (name, value) in enumerate(bound.items()):
            default = signature.parameters[name].default
            if i < first and len(front) == i:
                front.append(value)
            elif _PARAMETERS.get(name, name) in known:
                if value is not default and not (value is None and name == "out"):
                    named[_PARAMETERS.get(name, name)] = value
            elif value is not default and not (isinstance(value, (bool, str, int)) and value == default):
                return NotImplemented
        return own(*front, **named)
    return call


def _plan(function: Any) -> Optional[Callable[..., Any]]:
    module, name = function.__module__, function.__name__
    if module == "numpy.linalg" and name == "svd":
        return _svd
    if module == "numpy.linalg" or module == "numpy.fft":
        own = getattr(getattr(_package(), module.rsplit(".", 1)[1]), name, None)
        return None if own is None else _by_names(function, own)
    if module != "numpy":
        return None
    if name in _SPECIAL:
        return _SPECIAL[name]
    own = getattr(_package(), _NAMES.get(name, name), None) if name in _FUNCTIONS or name in _NAMES else None
    return None if own is None else _by_names(function, own)


def _array_function(self: Array, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
    """NumPy's functions of Arrays: numpy.stack([x, y]) is nd.stack([x, y])."""
    if not all(issubclass(t, Array) or t.__module__ == "numpy" for t in types):
        return NotImplemented
    if function not in _plans:
        try:
            _plans[function] = _plan(function)
        except (ValueError, AttributeError):  # a function without a signature, or a name that ndock answers with advice
            _plans[function] = None
    plan = _plans[function]
    if plan is not None:
        result = plan(_package(), *args, **kwargs)
        if result is not NotImplemented:
            return result
    if function.__name__ in _LIKE and function.__module__ == "numpy":
        return _LIKE[function.__name__](_package(), self, *args, **kwargs)
    otherwise = getattr(function, "_implementation", None)
    return NotImplemented if otherwise is None else otherwise(*args, **kwargs)


def _install() -> None:
    for name, function in (("__array_ufunc__", _array_ufunc), ("__array_function__", _array_function)):
        function.__name__ = name
        function.__qualname__ = f"Array.{name}"
        function.__module__ = "ndock"
        setattr(Array, name, function)


_install()
