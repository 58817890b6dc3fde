# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What names of NumPy, PyTorch and CuPy that the package has not got mean here. Read when one of them is asked for.

ALIASES: the same function or dtype under the array API's name. INSTEAD: another spelling, which the AttributeError gives.
LATER: not in this version. ABSENT: what an array library of numbers on devices does not have, and why."""
from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._types import Any

ALIASES = {
    "absolute": "abs", "arccos": "acos", "arccosh": "acosh", "arcsin": "asin", "arcsinh": "asinh", "arctan": "atan",
    "arctan2": "atan2", "arctanh": "atanh", "amax": "max", "amin": "min", "around": "round", "rint": "round",
    "bitwise_not": "bitwise_invert", "invert": "bitwise_invert", "conjugate": "conj", "left_shift": "bitwise_left_shift",
    "right_shift": "bitwise_right_shift", "degrees": "rad2deg", "radians": "deg2rad", "mod": "remainder", "power": "pow", "true_divide": "divide",
    "bool_": "bool", "byte": "int8", "short": "int16", "intc": "int32", "int_": "int64", "long": "int64", "intp": "int64",
    "longlong": "int64", "ubyte": "uint8", "ushort": "uint16", "uintc": "uint32", "uint": "uint64", "ulong": "uint64",
    "uintp": "uint64", "ulonglong": "uint64", "half": "float16", "single": "float32", "double": "float64",
    "csingle": "complex64", "cdouble": "complex128",
}

INSTEAD = {
    # NumPy
    "concatenate": "nd.concat(arrays, axis=0)",
    "ascontiguousarray": "x.contiguous()", "asanyarray": "nd.asarray", "cumsum": "nd.cumulative_sum(x, axis=...), or x.cumsum()",
    "cumprod": "nd.cumulative_prod(x, axis=...), or x.cumprod()", "copy": "x.copy()",
    "ravel": "x.ravel()", "swapaxes": "x.swapaxes(axis1, axis2)",
    "dot": "x.dot(y), or x @ y", "inner": "nd.vecdot(x, y), or x @ y",
    "matvec": "x @ v[..., nd.newaxis]", "vecmat": "v[..., nd.newaxis, :] @ x", "vdot": "nd.vecdot(x, y) of flat arrays",
    "ndim": "x.ndim", "shape": "x.shape", "size": "x.size", "ndarray": "nd.Array", "dtype": "nd.float32 and the like; nd.DType is their class",
    "identity": "nd.eye(n)",
    "row_stack": "nd.vstack",

    "promote_types": "nd.result_type",
    "flatnonzero": "nd.nonzero(x.ravel())[0]", "argwhere": "nd.stack(nd.nonzero(x), axis=1)",
    "extract": "nd.masked_select(x, mask), or x[mask]",
    "putmask": "x[mask] = values",
    "in1d": "nd.isin(x, y)", "isscalar": "isinstance(x, (int, float, complex))",
    "issubdtype": "nd.isdtype(dtype, kind)", "iscomplexobj": "nd.isdtype(x.dtype, 'complex floating')",
    "isrealobj": "nd.isdtype(x.dtype, 'complex floating')", "fabs": "nd.abs(x)",
    "divmod": "divmod(x, y)", "fmax": "nd.where(nd.isnan(x), y, nd.maximum(x, y))",
    "fmin": "nd.where(nd.isnan(x), y, nd.minimum(x, y))",
    "fix": "nd.trunc(x)", "isposinf": "x == nd.inf", "isneginf": "x == -nd.inf", "isreal": "nd.imag(x) == 0", "iscomplex": "nd.imag(x) != 0",
    "angle": "nd.atan2(nd.imag(z), nd.real(z))", "rollaxis": "nd.moveaxis",
    "frombuffer": "nd.asarray(buffer)", "fromfile": "nd.from_file", "fromiter": "nd.asarray(list(items))", "memmap": "nd.load or nd.from_file",
    "array_repr": "repr(x)", "array_str": "str(x)", "array2string": "format(x)", "random_sample": "nd.random.uniform",
    "shares_memory": "x.offset and x.strides, which tell views apart", "get_include": "pkg-config --cflags ndock",
    "show_config": "nd.plugins()", "show_runtime": "nd.plugins()", "True_": "True", "False_": "False",
    "euler_gamma": "0.5772156649015329", "s_": "slice(...)",
    "index_exp": "(slice(...), ...)", "r_": "nd.concat", "c_": "nd.stack(vectors, axis=1)", "mgrid": "nd.meshgrid(..., indexing='ij')",
    "ogrid": "nd.meshgrid", "indices": "nd.meshgrid(..., indexing='ij')",
    "broadcast": "nd.broadcast_arrays",
    "resize": "nd.tile, then x[:n]", "require": "nd.asarray", "min_scalar_type": "nd.result_type",
    # PyTorch and CuPy
    "tensor": "nd.asarray", "as_tensor": "nd.asarray", "from_numpy": "nd.asarray(a)", "Tensor": "nd.Array", "cat": "nd.concat",
    "permute": "nd.permute_dims(x, axes), or x.transpose(*axes)", "unsqueeze": "nd.expand_dims", "mm": "x @ y", "bmm": "x @ y",
    "rand": "nd.random.uniform(size=shape)", "randn": "nd.random.normal(size=shape)", "randint": "nd.random.integers(low, high, shape)",
    "randperm": "nd.random.permutation(n)", "manual_seed": "nd.random.seed(n)", "clamp": "nd.clip", "index_select": "nd.take(x, indices, axis=...)",
    "set_default_dtype": "dtype= where arrays are made", "get_default_dtype": "nd.float64, which it always is",
    "asnumpy": "x.cpu().numpy()", "get_array_module": "x.__array_namespace__()", "cuda": "nd.device('cuda:0'), nd.synchronize and nd.memory",
    "use_deterministic_algorithms": "nothing: all results are deterministic", "default_rng": "nd.random.Generator(seed)",
}

LATER = frozenset("""
einsum_path
logspace geomspace logaddexp2 spacing bitwise_count
trapz unwrap select piecewise choose diag_indices
diag_indices_from tril_indices tril_indices_from triu_indices triu_indices_from mask_indices fill_diagonal
packbits unpackbits polyfit poly polyadd polyder polydiv polyint polymul polysub roots poly1d polynomial
bartlett blackman hamming hanning kaiser real_if_close sort_complex savez savez_compressed savetxt loadtxt genfromtxt
fromregex fromfunction apply_over_axes compile jit vmap grad nn stats
""".split())

_TEXTS = "elements are numbers and truth values, on every device; texts, dates, records and objects stay with NumPy"
_ERRORS = "floating-point errors give inf and NaN, as IEEE 754 has them, and no warning"
_LOOPS = "one element at a time is what arrays are there to avoid; x.tolist() has Python's numbers"
ABSENT = {
    **dict.fromkeys("""bytes_ str_ object_ void character flexible record rec recarray char strings datetime64 timedelta64
                    datetime_as_string datetime_data busday_count busday_offset busdaycalendar is_busday isnat fromstring""".split(), _TEXTS),
    **dict.fromkeys("errstate seterr geterr seterrcall geterrcall setbufsize getbufsize".split(), _ERRORS),
    **dict.fromkeys("nditer nested_iters ndenumerate ndindex flatiter frompyfunc iterable".split(), _LOOPS),
    **dict.fromkeys("float128 longdouble clongdouble complex256".split(), "no accelerator has floats of 80 or 128 bits"),
    **dict.fromkeys("matrix asmatrix bmat ma".split(), "NumPy itself advises against it, or it is a class of its own; plain arrays do"),
    **dict.fromkeys("""generic number integer signedinteger unsignedinteger inexact floating complexfloating ScalarType sctypeDict
                    typecodes typename mintypecode common_type dtypes""".split(), "nd.isdtype(dtype, kind) asks for the kind of a dtype"),
    **dict.fromkeys("asfortranarray isfortran".split(), "x.transpose() gives the other order as a view; new arrays are in C order"),
    **dict.fromkeys("may_share_memory lib core test testing typing exceptions ctypeslib f2py info emath ufunc".split(),
                    "it belongs to NumPy's own machinery"),
    **dict.fromkeys("no_grad enable_grad autograd optim".split(), "ndock computes arrays and keeps no gradients"),
    **dict.fromkeys("base_repr binary_repr format_float_positional format_float_scientific little_endian asarray_chkfinite".split(),
                    "format() and nd.set_printoptions print numbers"),
}


def find(package: Any, name: str) -> Any:
    """The package's attribute that an alias means; else an AttributeError that says what to write."""
    if name in ALIASES:
        return getattr(package, ALIASES[name])
    if name in INSTEAD:
        raise AttributeError(f"{name}: use {INSTEAD[name]} (nd is the package ndock)", name=name, obj=package)
    if name in LATER:
        raise AttributeError(f"{name} is not in this version of ndock", name=name, obj=package)
    if name in ABSENT:
        raise AttributeError(f"ndock has no {name}: {ABSENT[name]}", name=name, obj=package)
    raise AttributeError(f"module 'ndock' has no attribute {name!r}", name=name, obj=package)
