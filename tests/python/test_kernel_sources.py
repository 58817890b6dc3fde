#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The sources that kernels by formula give GPUs, compiled without one: CUDA C++ by NVRTC where its library is there, OpenCL C by
clang's front end where that is installed; every layout of operands, and every dtype."""
import ctypes
import glob
import itertools
import shutil
import subprocess

import ndock as nd
from ndock._kernel_reduction import reduction
from ndock._kernel_text import Operand, elementwise
from ndock._kernel_types import LETTERS, Binding
from tap import Skip, cases, main


class Nvrtc:
    """As much of NVRTC as compiles a text for sm_90."""

    def __init__(self):
        names = ["libnvrtc.so.13", "libnvrtc.so.12", *sorted(glob.glob("/usr/local/cuda/lib64/libnvrtc.so*"))]
        for name in names:
            try:
                self.lib = ctypes.CDLL(name)
                break
            except OSError:
                self.lib = None
        if self.lib is None:
            raise Skip("libnvrtc is not installed")

    def compile(self, source, options=("--fmad=false", "--std=c++17", "-default-device")):
        program = ctypes.c_void_p()
        assert self.lib.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"kernel.cu", 0, None, None) == 0
        options = [b"--gpu-architecture=sm_90", *[o.encode() for o in options]]
        failed = self.lib.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
        n = ctypes.c_size_t()
        self.lib.nvrtcGetProgramLogSize(program, ctypes.byref(n))
        log = ctypes.create_string_buffer(n.value)
        self.lib.nvrtcGetProgramLog(program, log)
        self.lib.nvrtcDestroyProgram(ctypes.byref(program))
        assert not failed, log.value.decode()[:2000] + "\n" + source


class Clang:
    """clang's front end for OpenCL C 1.2."""

    def __init__(self):
        self.path = shutil.which("clang")
        if not self.path:
            raise Skip("clang is not installed")

    def compile(self, source):
        run = subprocess.run([self.path, "-x", "cl", "-cl-std=CL1.2", "-Xclang", "-finclude-default-header", "-target", "spir64", "-fsyntax-only",
                              "-Werror", "-"], input=source, capture_output=True, text=True)
        assert run.returncode == 0, run.stderr[:2000] + "\n" + source


COMPILERS = {"cuda": Nvrtc, "opencl": Clang}
_made = {}


def compiler(lang):
    if lang not in _made:
        _made[lang] = COMPILERS[lang]()
    return _made[lang]


def operands(kernel, lang, args):
    """Operands and placeholders as for a call with these arguments."""
    binding = Binding(kernel.name, kernel.in_params, kernel.out_params)
    dtypes = binding.bind(tuple(args) + (None,) * kernel.nout, kernel.nin)
    params = kernel.in_params + kernel.out_params
    found = [Operand(p, d, lang, k >= kernel.nin, k < kernel.nin and not isinstance(args[k], nd.Array))
             for k, (p, d) in enumerate(zip(params, dtypes))]
    return found, binding.types


def keys(n):
    """Layout keys: dense, and steps of each operand with some numbers of axes."""
    yield 0
    for steps in itertools.product(range(3), repeat=n):
        number = 0
        for s in steps:
            number = 3 * number + s
        for ndim, wide in ((1, 0), (2, 0), (3, 1), (8, 0)):
            yield 2 * (1 + 2 * (number * 8 + ndim - 1)) + wide


@cases("cuda", "opencl")
def test_elementwise_of_every_layout(lang):
    kernel = nd.ElementwiseKernel("T x, float32 y", "T z", "z = x * x + (T)y")
    args = [nd.ones(2, dtype="float32", device="cpu"), nd.ones(2, dtype="float32", device="cpu")]
    found, types = operands(kernel, lang, args)
    for key in [0, *list(keys(3))[1::9]]:
        compiler(lang).compile(elementwise(kernel, lang, found, types, key)[0])


@cases(*[(lang, dtype) for lang in ("cuda", "opencl") for dtype in LETTERS])
def test_elementwise_of_every_dtype(lang, dtype):
    kernel = nd.ElementwiseKernel("T x, T y, T s", "T z, bool b", "T t = x; z = t < y ? t : y + s; b = x == y")
    a = nd.ones(2, dtype=dtype, device="cpu")
    found, types = operands(kernel, lang, [a, a, True if dtype == "bool" else 1])
    for key in (0, 2 * (1 + 2 * (40 * 8 + 1))):
        compiler(lang).compile(elementwise(kernel, lang, found, types, key)[0])


@cases("cuda", "opencl")
def test_raw_and_preamble(lang):
    kernel = nd.ElementwiseKernel("raw float32 x, int64 shift", "float32 y", "y = twice(x[(i + shift) % x.size()]) + n",
                                  preamble="static inline float twice(float v) { return 2.0f * v; }")
    found, types = operands(kernel, lang, [nd.ones(3, dtype="float32", device="cpu"), 1])
    text, _ = elementwise(kernel, lang, found, types, 0)
    compiler(lang).compile(text)


@cases(*[(lang, dtype) for lang in ("cuda", "opencl") for dtype in ("float32", "float16", "int64", "bool")])
def test_reductions(lang, dtype):
    kernel = nd.ReductionKernel("T x, float32 w, raw float32 r", "T y", "x * w + r[0]", "a + b", "y = a / (_in_ind.size() / _out_ind.size())",
                                "0", reduce_type="float32")
    a = nd.ones(2, dtype=dtype, device="cpu")
    f = nd.ones(2, dtype="float32", device="cpu")
    found, types = operands(kernel, lang, [a, f, f])
    for key in (0, 1):
        compiler(lang).compile(reduction(kernel, lang, found, types, nd.result_type("float32"), key))


if __name__ == "__main__":
    nd.set_default_device("cpu")
    main(globals())
