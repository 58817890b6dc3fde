#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Modules of programs and launches of their kernels: C on the CPU and a simulated device, functions of the process, and on a GPU
CUDA C++ and PTX; arguments are checked against what kernels declare."""
import ctypes
import gc

from in_use import kilobytes
from kernels import DEVICES, back, rng, there
import ndock as nd
import numpy as np
from tap import Skip, cases, main, raises

C = """#include "ndock_kernel.h"
/* y = a * x + y of n elements, `block[0]` of them a block. */
ND_BLOCK_KERNEL(axpy)
{
    const int64_t n = ND_ARGUMENT(int64_t, 0), first = (int64_t)at[0] * block[0];
    const float a = ND_ARGUMENT(float, 1), *x = argument[2];
    float *y = argument[3];
    for (int64_t i = first; i < n && i < first + block[0]; i++)
        y[i] = a * x[i] + y[i];
}
ND_BLOCK_KERNEL(places)
{
    int32_t *out = argument[0];
    const int64_t i = at[0] + (int64_t)grid[0] * (at[1] + (int64_t)grid[1] * at[2]);
    out[3 * i] = at[0]; out[3 * i + 1] = at[1]; out[3 * i + 2] = at[2];
}
"""
CUDA = """
extern "C" __global__ void axpy(long long n, float a, const float *x, float *y)
{
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = a * x[i] + y[i];
}
"""
OPENCL = """
__kernel void axpy(long n, float a, __global const char *x, ulong x_at, __global char *y, ulong y_at)
{
    long i = get_global_id(0);
    if (i < n)
        ((__global float *)(y + y_at))[i] += a * ((__global const float *)(x + x_at))[i];
}
__kernel void whole(__global float *x) { x[get_global_id(0)] += 1; }
"""
SOURCES = {"cuda": CUDA, "opencl": OPENCL}
DECLARED = "int64 n, float32 a, const float32 *x, float32 *y"


def module(device, **more):
    return nd.Module(SOURCES.get(device.partition(":")[0], C), device, name="saxpy", **more)


@cases(*DEVICES)
def test_a_launch_with_arrays_and_numbers(device):
    x, y = rng.random(1000, dtype="float32"), rng.random(1000, dtype="float32")
    k = module(device).kernel("axpy", DECLARED)
    for n, block in ((1000, 256), (1, 32), (999, 64)):
        target = there(y, device)
        k((n + block - 1) // block, block, (n, 2, there(x, device), target))
        want = y.copy()
        want[:n] = np.float32(2) * x[:n] + y[:n]
        np.testing.assert_allclose(back(target), want, rtol=1e-6)  # a GPU may contract


@cases("cpu", "sim:0")
def test_places_of_blocks(device):
    out = nd.zeros((4, 3, 2, 3), dtype="int32", device=device)
    module(device).kernel("places", "int *out")((2, 3, 4), 1, (out,))
    got = back(out)
    for z in range(4):
        for y in range(3):
            for x in range(2):
                assert got[z, y, x].tolist() == [x, y, z]


@cases(*DEVICES)
def test_views_begin_where_they_begin(device):
    y = nd.zeros(10, dtype="float32", device=device)
    k = module(device).kernel("axpy", DECLARED)
    k(1, 32, (3, 1.0, nd.ones(3, dtype="float32", device=device), y[4:]))
    assert back(y).tolist() == [0] * 4 + [1] * 3 + [0] * 3


@cases(*DEVICES)
def test_arguments_are_checked(device):
    k = module(device).kernel("axpy", DECLARED)
    f, d = nd.ones(4, dtype="float32", device=device), nd.ones(4, device=device)
    with raises(TypeError, "axpy", "argument 2 (x)", "float32", "float64"):
        k(1, 4, (4, 1.0, d, f))
    with raises(TypeError, "argument 0 (n)", "not an array"):
        k(1, 4, (f, 1.0, f, f))
    with raises(TypeError, "argument 3 (y)", "an array, not int"):
        k(1, 4, (4, 1.0, f, 7))
    with raises(TypeError, "takes 4", "not 3"):
        k(1, 4, (4, 1.0, f))
    with raises(TypeError, "no integer"):
        k(1, 4, (4.5, 1.0, f, f))
    with raises(OverflowError, "int64"):
        k(1, 4, (1 << 70, 1.0, f, f))
    with raises(ValueError, "grid"):
        k(0, 4, (4, 1.0, f, f))
    with raises(ValueError, "1 to 3"):
        k((1, 1, 1, 1), 4, (4, 1.0, f, f))
    elsewhere = nd.ones(4, dtype="float32", device="sim:1" if device == "sim:0" else "sim:0")
    with raises(ValueError, "sim"):
        k(1, 4, (4, 1.0, elsewhere, f))
    with raises(nd.Error, "read-only"):
        k(1, 4, (4, 1.0, f, nd.broadcast_to(f[:1], (4,))))
    k(1, 4, (4, 1.0, nd.broadcast_to(f[:1], (4,)), f))  # what is read may be


def test_arguments_that_are_not_declared():
    k = nd.Module(C, "cpu").kernel("axpy")
    y = nd.ones(4, dtype="float32", device="cpu")
    k(1, 4, (4, np.float32(3), nd.ones(4, dtype="float32", device="cpu"), y))
    assert y.tolist() == [4.0] * 4
    k(1, 4, (ctypes.c_int64(4), ctypes.c_float(3), y, y))
    assert y.tolist() == [16.0] * 4
    with raises(TypeError, "str", "argument of a kernel"):
        k(1, 4, (4, "3", y, y))


def test_declarations_are_read_from_a_source():
    from ndock._modules import _declared
    text = """// __global__ void other(int a)
    extern "C" __global__ void __launch_bounds__(256)
    f(const float *__restrict__ x, float* y, const unsigned long long n, int m /* count */, double *z, bool on)"""
    found = _declared(text + " {}", "f", {})
    assert [(a.name, a.array, a.writes, a.dtype.name) for a in found] == [
        ("x", True, False, "float32"), ("y", True, True, "float32"), ("n", False, False, "uint64"), ("m", False, True, "int32"),
        ("z", True, True, "float64"), ("on", False, True, "bool")]
    assert [a.dtype.name for a in _declared("__kernel void g(__global const int *x, ulong n) {}", "g", {})] == ["int32", "uint64"]
    assert _declared("__global__ void h(struct box b) {}", "h", {}) is None and _declared(text, "g", {}) is None


def test_functions_of_the_process():
    @ctypes.CFUNCTYPE(None, ctypes.POINTER(ctypes.c_uint32), ctypes.POINTER(ctypes.c_uint32), ctypes.POINTER(ctypes.c_void_p))
    def add_places(grid, block, argument):
        values = ctypes.cast(argument[0], ctypes.POINTER(ctypes.c_float))
        for i in range(grid[0] * block[0]):
            values[i] += i
    m = nd.Module({"add_places": add_places}, "cpu", kind="host")
    x = nd.ones(6, dtype="float32", device="cpu")
    m.kernel("add_places", "float *x")(3, 2, (x,))
    assert x.tolist() == [1, 2, 3, 4, 5, 6]
    with raises(ValueError, "no function"):
        m.kernel("other")
    with raises(TypeError, "ctypes"):
        nd.Module({"f": 1.5}, "cpu", kind="host")
    with raises(ValueError, "no function"):
        nd.Module({}, "cpu", kind="host")
    with raises(TypeError, "dict"):
        nd.Module("f", "cpu", kind="host")


@cases(*DEVICES)
def test_what_is_wrong_with_a_module(device):
    with raises(ValueError, "saxpy", "undeclared_name"):
        before = {"cuda": "extern \"C\" __global__ ", "opencl": "__kernel "}.get(device.partition(":")[0], "")
        nd.Module(before + "void f(int n) { undeclared_name = n; }", device, name="saxpy")
    with raises(ValueError, "no_such"):
        module(device).kernel("no_such")
    with raises(ValueError, "kind"):
        nd.Module(C, device, kind="cobol")
    with raises(nd.Error):
        nd.Module(C, "no_such_device")
    if not device.startswith("cuda"):
        with raises(NotImplementedError, "PTX"):
            nd.Module(".version 7.0", device, kind="ptx")


def test_options_reach_the_compiler():
    code = '#include "ndock_kernel.h"\nND_BLOCK_KERNEL(value) { *(int32_t *)argument[0] = VALUE; }'
    x = nd.zeros(1, dtype="int32", device="cpu")
    for options in ("-DVALUE=41", ["-DVALUE=42"]):
        nd.kernel(code, "value", "cpu", arguments="int *x", options=options)(1, 1, (x,))
    assert x.tolist() == [42]


@cases(*DEVICES)
def test_a_kernel_outlives_its_module(device):
    y = nd.zeros(8, dtype="float32", device=device)
    k = module(device).kernel("axpy", DECLARED)
    gc.collect()
    k(1, 8, (8, 1.0, nd.ones(8, dtype="float32", device=device), y))
    assert back(y).tolist() == [1.0] * 8
    assert k.limits["block_threads"] >= 256 and "axpy" in repr(k) and "saxpy" in repr(k.module)


@cases(*[d for d in DEVICES if d.startswith("opencl")])
def test_buffers_of_opencl(device):
    """Kernels with a parameter for each array get buffers, which begin at multiples of an alignment."""
    x = nd.zeros(4096, dtype="float32", device=device)
    k = module(device).kernel("whole")
    k(1, 4, (x,))
    k(1, 4, (x[2048:],))
    assert back(x).nonzero()[0].tolist() == [0, 1, 2, 3, 2048, 2049, 2050, 2051]
    with raises(ValueError, "offset", "ulong"):
        k(1, 4, (x[1:],))


@cases("sim:0")
def test_launches_are_in_stream_order(device):
    k = module(device).kernel("axpy", DECLARED)
    one = nd.ones(8, dtype="float32", device=device)
    stream = nd.Stream(device)
    with stream:
        y = nd.zeros(8, dtype="float32", device=device)
        for _ in range(5):
            k(1, 8, (8, 2.0, one, y))
        y += 1
    stream.synchronize()
    assert back(y).tolist() == [11.0] * 8
    z = nd.zeros(8, dtype="float32", device=device)
    nd.synchronize(device)
    k(1, 8, (8, 2.0, one, z), stream=stream)
    stream.synchronize()
    assert back(z).tolist() == [2.0] * 8


def test_modules_do_not_leak():
    def once(i):
        k = nd.Module(C, "cpu", name=f"m{i % 2}").kernel("axpy", DECLARED)
        y = nd.zeros(8, dtype="float32", device="cpu")
        k(1, 8, (8, 1.0, y, y))
    for i in range(20):
        once(i)
    before = kilobytes()
    with open("/proc/self/maps") as f:
        maps = len(f.readlines())
    for i in range(200):
        once(i)
    with open("/proc/self/maps") as f:
        assert len(f.readlines()) <= maps + 8
    assert kilobytes() - before < 4096


def test_ptx_on_a_gpu():
    if "cuda:0" not in DEVICES:
        raise Skip("there is no cuda:0")
    ptx = """.version 7.0
.target sm_70
.address_size 64
.visible .entry set(.param .u64 p, .param .f32 v) {
    .reg .u64 %a; .reg .f32 %v;
    ld.param.u64 %a, [p]; ld.param.f32 %v, [v];
    cvta.to.global.u64 %a, %a;
    st.global.f32 [%a], %v;
    ret;
}"""
    x = nd.zeros(1, dtype="float32", device="cuda:0")
    nd.Module(ptx, "cuda:0", kind="ptx").kernel("set", "float *p, float v")(1, 1, (x, 2.5))
    assert back(x).tolist() == [2.5]


if __name__ == "__main__":
    nd.set_default_device("cpu")
    main(globals())
