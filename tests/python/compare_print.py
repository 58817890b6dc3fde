# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""nd_format against NumPy's str() and the bracket part of repr(), for random arrays of every dtype.

Usage: compare_print.py LIBNDOCK [COUNT [SEED]]"""
import ctypes
import sys

import numpy as np

C_NAMES = 'bool i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64 c64 c128'.split()
IDS = {np.dtype(name).name: i + 1 for i, name in enumerate(
    ['bool', 'i1', 'i2', 'i4', 'i8', 'u1', 'u2', 'u4', 'u8', 'f2', 'V2', 'f4', 'f8', 'c8', 'c16'])
    if name != 'V2'}
MOST_SHOWN = 5
OLD = tuple(map(int, np.__version__.split('.')[:2])) < (2, 3)


class Layout(ctypes.Structure):
    _fields_ = [('size', ctypes.c_uint32), ('dtype', ctypes.c_int32), ('ndim', ctypes.c_int32),
                ('flags', ctypes.c_int32), ('shape', ctypes.c_void_p), ('stride', ctypes.c_void_p)]


class PrintOpts(ctypes.Structure):
    _fields_ = [('size', ctypes.c_uint32)] + [(n, ctypes.c_int32) for n in (
        'style', 'precision', 'edge_items', 'line_width', 'suppress')] + [
            ('threshold', ctypes.c_int64)]


lib = ctypes.CDLL(sys.argv[1])
libc = ctypes.CDLL(None)
libc.free.argtypes = [ctypes.c_void_p]
lib.nd_last_error.restype = ctypes.c_void_p
lib.nd_format.argtypes = [ctypes.c_void_p] * 3
lib.nd_release.argtypes = [ctypes.c_void_p]
lib.nd_from_host.argtypes = [ctypes.c_void_p] * 4


def text_of(a, style):
    a = np.ascontiguousarray(a) if a.ndim else a
    shape = (ctypes.c_int64 * max(1, a.ndim))(*a.shape)
    layout = Layout(ctypes.sizeof(Layout), IDS[a.dtype.name], a.ndim, 0,
                    ctypes.addressof(shape), None)
    array, text = ctypes.c_void_p(), ctypes.c_void_p()
    opts = PrintOpts(ctypes.sizeof(PrintOpts), style, 8, 3, 75, 0, 1000)
    if lib.nd_from_host(ctypes.byref(layout), a.ctypes.data, None, ctypes.byref(array)):
        return 'nd_from_host failed'
    status = lib.nd_format(array, ctypes.byref(opts), ctypes.byref(text))
    result = ctypes.string_at(text).decode() if status == 0 else f'status {status}'
    libc.free(text)
    lib.nd_release(array)
    return result


def brackets(text):
    """The part of a repr from the bracket that opens to the one that closes."""
    if '[' in text.split('dtype')[0]:
        return text[text.index('['):text.rindex(']', 0, text.find('shape=') if 'shape=' in text
                                               else len(text)) + 1]
    return text[text.index('(') + 1:].split(', dtype')[0].rstrip(')')


def floats(rng, size, real):
    info = np.finfo(real)
    kind = rng.integers(9)
    values = rng.standard_normal(size)
    if kind == 0:
        values = np.round(values * 100)
    elif kind == 1:
        values = np.round(values, rng.integers(1, 5))
    elif kind == 2:
        values = values * 10.0 ** rng.integers(-4, 5, size)
    elif kind == 3:
        values = values * 10.0 ** rng.uniform(np.log10(info.tiny) / 1.1, np.log10(info.max) / 1.1)
    elif kind == 4:
        values = rng.choice([0.0, -0.0, 1.0, -1.0, 0.5, 1e-4, 9.9e-5, 12345678.0, 0.1], size)
    elif kind == 5:
        values = rng.choice([info.max, info.tiny, info.smallest_subnormal, info.eps, 0.0], size)
    elif kind == 6:
        values = rng.choice([1e8, 99999999.0, 1e5, 1e16, 3.0, 0.25], size)
    with np.errstate(over='ignore'):
        values = np.asarray(values, dtype=np.float64).astype(real)
    if rng.integers(4) == 0 and size:
        where = rng.integers(0, size, max(1, size // 4))
        values[where] = rng.choice([np.nan, np.inf, -np.inf], len(where)).astype(real)
    return values


def elements(rng, size, dtype):
    if dtype.kind == 'b':
        return rng.integers(0, 2, size).astype(bool)
    if dtype.kind in 'iu':
        info = np.iinfo(dtype)
        low, high = (info.min, info.max) if rng.integers(2) else (max(info.min, -20), 100)
        return rng.integers(low, high, size, dtype=dtype, endpoint=True)
    if dtype.kind == 'f':
        return floats(rng, size, dtype)
    real = np.float32 if dtype.itemsize == 8 else np.float64
    z = np.empty(size, dtype)
    z.real, z.imag = floats(rng, size, real), floats(rng, size, real)
    return z


def random_array(rng, dtype):
    kind = rng.integers(10)
    if kind == 0:
        shape = ()
    elif kind == 1:
        shape = tuple(rng.integers(0, 4, rng.integers(1, 4)))
    elif kind == 2:
        shape = [(1001,), (40, 30), (1100, 2), (3, 4, 200), (11, 10, 10), (2, 7, 8, 10)][
            rng.integers(6)]
    else:
        shape = tuple(rng.integers(1, 9, rng.integers(1, 5)))
    size = int(np.prod(shape))
    return elements(rng, size, dtype).reshape(shape)


def main():
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 300
    rng = np.random.default_rng(int(sys.argv[3]) if len(sys.argv) > 3 else 1)
    failed = 0
    cases = [(name, style) for name in IDS for style in (1, 0)]
    for n, (name, style) in enumerate(cases, 1):
        bad = 0
        what = 'str()' if style else "the brackets of repr()"
        if OLD and name in ('float16', 'float32', 'complex64'):
            print(f'ok {n} - {name}: {what} # SKIP NumPy {np.__version__} turns to scientific '
                  'notation later than 2.3 does')
            continue
        for _ in range(count):
            a = random_array(rng, np.dtype(name))
            if style == 0 and a.size == 0:
                continue
            want = str(a) if style else brackets(repr(a))
            got = text_of(a, style) if style else brackets(text_of(a, style))
            if got != want:
                bad += 1
                if bad <= MOST_SHOWN:
                    shown = f'shape {a.shape}\nNumPy:\n{want[:700]}\nndock:\n{got[:700]}'
                    print('# ' + shown.replace('\n', '\n# '))
        print(f"{'not ok' if bad else 'ok'} {n} - {name}: {what} of {count} arrays"
              + (f' ({bad} differ)' if bad else ''))
        failed += bad > 0
    print(f'1..{len(cases)}')
    return failed > 0


sys.exit(main())
