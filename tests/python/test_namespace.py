#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The namespace of the array API standard 2025.12: names, signatures, promotion of every pair of dtypes, inspection."""
import inspect

import ndock as nd
from tap import cases, main, raises

# Every function of the main namespace with its parameters: "/" ends the positional ones, "*" begins the keyword ones.
SIGNATURES = """
arange(start, /, stop=None, step=1, *, dtype=None, device=None)
asarray(obj, /, *, dtype=None, device=None, copy=None)
empty(shape, *, dtype=None, device=None)
empty_like(x, /, *, dtype=None, device=None)
eye(n_rows, n_cols=None, /, *, k=0, dtype=None, device=None)
from_dlpack(x, /, *, device=None, copy=None)
full(shape, fill_value, *, dtype=None, device=None)
full_like(x, /, fill_value, *, dtype=None, device=None)
linspace(start, stop, /, num, *, dtype=None, device=None, endpoint=True)
meshgrid(*arrays, indexing='xy')
ones(shape, *, dtype=None, device=None)
ones_like(x, /, *, dtype=None, device=None)
tril(x, /, *, k=0)
triu(x, /, *, k=0)
zeros(shape, *, dtype=None, device=None)
zeros_like(x, /, *, dtype=None, device=None)
astype(x, dtype, /, *, copy=True, device=None)
can_cast(from_, to, /)
finfo(type, /)
iinfo(type, /)
isdtype(dtype, kind)
result_type(*arrays_and_dtypes)
clip(x, /, min=None, max=None)
take(x, indices, /, *, axis=None)
take_along_axis(x, indices, /, *, axis=-1)
matmul(x1, x2, /)
matrix_transpose(x, /)
tensordot(x1, x2, /, *, axes=2)
vecdot(x1, x2, /, *, axis=-1)
broadcast_arrays(*arrays)
broadcast_shapes(*shapes)
broadcast_to(x, /, shape)
concat(arrays, /, *, axis=0)
expand_dims(x, /, axis)
flip(x, /, *, axis=None)
moveaxis(x, source, destination, /)
permute_dims(x, /, axes)
repeat(x, repeats, /, *, axis=None)
reshape(x, /, shape, *, copy=None)
roll(x, /, shift, *, axis=None)
squeeze(x, /, axis)
stack(arrays, /, *, axis=0)
tile(x, repetitions, /)
unstack(x, /, *, axis=0)
argmax(x, /, *, axis=None, keepdims=False)
argmin(x, /, *, axis=None, keepdims=False)
count_nonzero(x, /, *, axis=None, keepdims=False)
nonzero(x, /)
searchsorted(x1, x2, /, *, side='left', sorter=None)
where(condition, x1, x2, /)
isin(x1, x2, /, *, invert=False)
unique_all(x, /)
unique_counts(x, /)
unique_inverse(x, /)
unique_values(x, /)
argsort(x, /, *, axis=-1, descending=False, stable=True)
sort(x, /, *, axis=-1, descending=False, stable=True)
cumulative_prod(x, /, *, axis=None, dtype=None, include_initial=False)
cumulative_sum(x, /, *, axis=None, dtype=None, include_initial=False)
max(x, /, *, axis=None, keepdims=False)
mean(x, /, *, axis=None, keepdims=False)
min(x, /, *, axis=None, keepdims=False)
prod(x, /, *, axis=None, dtype=None, keepdims=False)
std(x, /, *, axis=None, correction=0.0, keepdims=False)
sum(x, /, *, axis=None, dtype=None, keepdims=False)
var(x, /, *, axis=None, correction=0.0, keepdims=False)
all(x, /, *, axis=None, keepdims=False)
any(x, /, *, axis=None, keepdims=False)
diff(x, /, *, axis=-1, n=1, prepend=None, append=None)
"""
UNARY = """abs acos acosh asin asinh atan atanh bitwise_invert ceil conj cos cosh exp expm1 floor imag isfinite isinf isnan
log log1p log2 log10 logical_not negative positive real reciprocal round sign signbit sin sinh square sqrt tan tanh
trunc""".split()
BINARY = """add atan2 bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor copysign divide equal
floor_divide greater greater_equal hypot less less_equal logaddexp logical_and logical_or logical_xor maximum minimum
multiply nextafter not_equal pow remainder subtract""".split()
OURS = """as_strided compress elu erf fma from_file gather gelu index_add layer_norm load log_softmax logsumexp
masked_select pad relu rms_norm save scatter sigmoid silu softmax topk""".split()

INTS = {"int8": 1, "int16": 2, "int32": 4, "int64": 8}
UINTS = {"uint8": 1, "uint16": 2, "uint32": 4, "uint64": 8}
FLOATS = {"float16": 2, "bfloat16": 2, "float32": 4, "float64": 8}
COMPLEX = {"complex64": 8, "complex128": 16}
STANDARD = ["bool", *INTS, *UINTS, "float32", "float64", *COMPLEX]


def promoted(a, b):
    """The standard's table, and the mixed kinds as DESIGN has them; None where there is no such dtype."""
    if a == b or b == "bool":
        return a
    if a == "bool":
        return b
    if a in COMPLEX or b in COMPLEX:
        wide = "complex128" in (a, b) or "float64" in (a, b)
        return "complex128" if wide else "complex64"
    if a in FLOATS or b in FLOATS:
        if a in FLOATS and b in FLOATS:
            return "float32" if FLOATS[a] == FLOATS[b] == 2 else max(a, b, key=FLOATS.get)
        return a if a in FLOATS else b
    for same in (INTS, UINTS):
        if a in same and b in same:
            return max(a, b, key=same.get)
    signed, unsigned = (a, b) if a in INTS else (b, a)
    nbytes = max(INTS[signed], 2 * UINTS[unsigned])
    return {2: "int16", 4: "int32", 8: "int64"}.get(nbytes)


@cases(*SIGNATURES.split("\n")[1:-1])
def test_signature(line):
    name, parameters = line[:-1].split("(", 1)
    scope = {}
    exec(f"def f({parameters}): pass", scope)
    check(name, inspect.signature(scope["f"]))


def check(name, want, package=nd):
    """Kinds and defaults, and names where they can be used; more parameters by keyword are allowed."""
    function = getattr(package, name)
    got = list(inspect.signature(function).parameters.values())
    for p in want.parameters.values():
        match = next((g for g in got if g.name == p.name), None)
        assert match is not None, f"{name}() has no {p.name}"
        assert match.kind == p.kind, f"{name}(): {p.name} is {match.kind}"
        if p.default is not inspect.Parameter.empty:
            assert match.default == p.default or match.default is p.default, f"{name}(): {p.name}={match.default}"
    positional = [p.name for p in want.parameters.values() if p.kind < inspect.Parameter.KEYWORD_ONLY]
    assert [g.name for g in got][:len(positional)] == positional
    assert all(g.kind >= inspect.Parameter.KEYWORD_ONLY for g in got[len(positional):]), f"{name}{got}"
    assert function.__doc__




@cases(*UNARY)
def test_signature_of_unary(name):
    check(name, inspect.signature(lambda x, /: None))


@cases(*BINARY)
def test_signature_of_binary(name):
    check(name, inspect.signature(lambda x1, x2, /: None))


def test_every_public_function_has_a_signature_and_a_docstring():
    for name in dir(nd):
        function = getattr(nd, name)
        if not name.startswith("_") and callable(function) and not isinstance(function, type):
            assert inspect.signature(function) and function.__doc__, name


def test_counts_of_the_standard():
    assert len(UNARY) + len(BINARY) + 1 == 67  # clip
    assert len(SIGNATURES.split("\n")) - 2 + len(UNARY) + len(BINARY) == 135


def test_our_own_functions_are_there():
    for name in OURS:
        assert callable(getattr(nd, name)), name


FFT = ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"]
FFTN = ["fftn", "ifftn", "rfftn", "irfftn"]


def test_signatures_of_fft():
    for names, want in ((FFT, lambda x, /, *, n=None, axis=-1, norm="backward": None),
                        (FFTN, lambda x, /, *, s=None, axes=None, norm="backward": None),
                        (["fftfreq", "rfftfreq"], lambda n, /, *, d=1.0, dtype=None, device=None: None),
                        (["fftshift", "ifftshift"], lambda x, /, *, axes=None: None)):
        for name in names:
            check(name, inspect.signature(want), nd.fft)


def test_extensions():
    assert hasattr(nd, "linalg") and hasattr(nd, "fft")


def test_constants():
    import math
    assert (nd.e, nd.pi, nd.inf, nd.newaxis) == (math.e, math.pi, math.inf, None) and nd.nan != nd.nan
    assert nd.__array_api_version__ == "2025.12"


def test_promotion_of_every_pair():
    names = ["bool", *INTS, *UINTS, *FLOATS, *COMPLEX]
    for a in names:
        for b in names:
            want = promoted(a, b)
            x, y = nd.ones(2, dtype=a), nd.ones((), dtype=b)
            if want is None:
                for f in (lambda: nd.result_type(a, b), lambda: nd.add(x, y), lambda: nd.concat([x, nd.ones(1, dtype=b)])):
                    with raises(TypeError, "uint64"):
                        f()
                assert not nd.can_cast(a, b)
                continue
            assert nd.result_type(a, b).name == want and nd.result_type(x, y).name == want, (a, b)
            assert nd.add(x, y).dtype.name == want, (a, b)
            assert nd.concat([x, nd.ones(1, dtype=b)]).dtype.name == want
            assert nd.equal(x, y).dtype == nd.bool
            assert nd.can_cast(a, b) == (want == b)
            assert nd.can_cast(x, b) == (want == b)


def test_scalars_are_weak():
    kinds = {bool: ["bool", *INTS, *UINTS, *FLOATS, *COMPLEX], int: [*INTS, *UINTS, *FLOATS, *COMPLEX],
             float: [*FLOATS, *COMPLEX], complex: list(COMPLEX)}
    for python, names in kinds.items():
        for name in names:
            x, s = nd.ones(2, dtype=name), python(1)
            assert nd.result_type(x, s).name == name and nd.result_type(s, name).name == name
            assert nd.add(x, s).dtype.name == name and nd.add(s, x).dtype.name == name, (name, python)
            assert nd.where(nd.ones(2, dtype=bool), x, s).dtype.name == name
    assert nd.result_type("float32", 1j) == nd.complex64 and nd.result_type("float64", 1j) == nd.complex128
    assert nd.result_type("int8", 1.0) == nd.float64 and nd.result_type("bool", 1) == nd.int64
    with raises(OverflowError, "300"):
        nd.add(nd.ones(2, dtype=nd.int8), 300)
    with raises(TypeError, "at least one"):
        nd.add(1, 2)
    with raises(ValueError, "at least one"):
        nd.result_type(1, 2.0)


@cases(*UNARY)
def test_domain_of_unary(name):
    """The result's dtype by the standard; integers of floating functions are computed in float64."""
    boolean = ("isfinite", "isinf", "isnan", "logical_not", "signbit")
    exact = ("abs", "bitwise_invert", "ceil", "conj", "floor", "imag", "negative", "positive", "real", "round", "sign",
             "square", "trunc")
    for dtype in [*INTS, *UINTS, *FLOATS]:
        if name == "bitwise_invert" and dtype in FLOATS:
            continue
        got = getattr(nd, name)(nd.ones(3, dtype=dtype)).dtype.name
        want = "bool" if name in boolean else dtype if dtype in FLOATS or name in exact else "float64"
        assert got == want, (dtype, got)
    if name not in ("bitwise_invert", "ceil", "floor", "signbit", "trunc"):
        for dtype in COMPLEX:
            got = getattr(nd, name)(nd.ones(3, dtype=dtype)).dtype.name
            part = {"complex64": "float32", "complex128": "float64"}[dtype]
            assert got == ("bool" if name in boolean else part if name in ("abs", "real", "imag") else dtype), got


def test_kinds():
    kinds = {"bool": ["bool"], "signed integer": INTS, "unsigned integer": UINTS, "integral": {**INTS, **UINTS},
             "real floating": FLOATS, "complex floating": COMPLEX, "numeric": {**INTS, **UINTS, **FLOATS, **COMPLEX}}
    for kind, members in kinds.items():
        for name in ["bool", *INTS, *UINTS, *FLOATS, *COMPLEX]:
            dtype = getattr(nd, name)
            assert nd.isdtype(dtype, kind) == (name in members), (name, kind)
            assert nd.isdtype(dtype, (kind, dtype)) and nd.isdtype(dtype, dtype)
    assert not nd.isdtype(nd.int8, nd.int16) and not nd.isdtype(nd.int8, ())
    with raises(ValueError, "integer"):
        nd.isdtype(nd.int8, "integer")


def test_limits():
    import struct
    for name in {**INTS, **UINTS}:
        i = nd.iinfo(name)
        bits = 8 * {**INTS, **UINTS}[name]
        low = -2**(bits - 1) if name in INTS else 0
        assert (i.bits, i.min, i.max, i.dtype) == (bits, low, low + 2**bits - 1, name)
    for name, (letter, size) in {"float16": ("e", 2), "float32": ("f", 4), "float64": ("d", 8)}.items():
        f = nd.finfo(getattr(nd, name))
        one, = struct.unpack("<" + {2: "H", 4: "I", 8: "Q"}[size], struct.pack("<" + letter, 1.0))
        after = (one + 1).to_bytes(size, "little")
        assert f.eps == struct.unpack("<" + letter, after)[0] - 1.0 and type(f.eps) is float
        inf = int.from_bytes(struct.pack("<" + letter, float("inf")), "little")
        assert f.max == struct.unpack("<" + letter, (inf - 1).to_bytes(size, "little"))[0] == -f.min
        assert f.smallest_normal == 2.0 ** (1 - {2: 15, 4: 127, 8: 1023}[size]) and f.bits == 8 * size
        assert f.smallest_subnormal == struct.unpack("<" + letter, (1).to_bytes(size, "little"))[0]
    assert nd.finfo(nd.complex64).dtype == nd.float32 and nd.finfo(nd.ones(1)).bits == 64
    # bfloat16: the upper half of a binary32.
    top, = struct.unpack(">f", b"\x7f\x7f\0\0")
    assert nd.finfo(nd.bfloat16).max == top and nd.finfo(nd.bfloat16).eps == 2.0**-7
    with raises(TypeError):
        nd.finfo(nd.int8)
    with raises(TypeError):
        nd.iinfo(nd.float32)


def test_inspection():
    info = nd.__array_namespace_info__()
    for name, parameters in [("capabilities", []), ("default_device", []), ("devices", []), ("default_dtypes", ["device"]),
                             ("dtypes", ["device", "kind"])]:
        got = inspect.signature(getattr(info, name)).parameters
        assert list(got) == parameters and all(p.kind == p.KEYWORD_ONLY and p.default is None for p in got.values())
    assert info.capabilities() == {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}
    devices = info.devices()
    assert type(devices) is tuple and "cpu:0" in devices and info.default_device() in devices
    for device in devices:
        assert info.default_dtypes(device=device) == {
            "real floating": nd.float64, "complex floating": nd.complex128, "integral": nd.int64, "indexing": nd.int64}
        assert list(info.dtypes(device=device)) == STANDARD
        for name, dtype in info.dtypes(device=device).items():
            assert nd.empty(1, dtype=dtype, device=device).dtype.name == name
    assert list(info.dtypes(kind="bool")) == ["bool"]
    assert list(info.dtypes(kind=("signed integer", "bool"))) == ["bool", *INTS]
    assert list(info.dtypes(kind="real floating")) == ["float32", "float64"]


def test_devices_must_agree():
    with raises(ValueError, "cpu:0", "sim:0"):
        nd.add(nd.ones(2, device="cpu"), nd.ones(2, device="sim:0"))
    assert nd.zeros(1, device="sim:1").device == "sim:1"


if __name__ == "__main__":
    main(globals())
