#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels of other compilers on ndock's arrays and streams: Numba's functions on the CPU, Numba's and Triton's kernels on a GPU.

    examples/kernel_recipes.py [RECIPE]...        cfunc, numba, triton; each runs where its package and a device are

Each adds 1 by ndock, multiplies by 2 by the other compiler's kernel and adds 1 again, on one stream of ndock's, with nothing waiting
between, and compares the result."""
import importlib.util
import sys

import ndock as nd

N = 1000


def need(*packages):
    for package in packages:
        if importlib.util.find_spec(package) is None:
            raise LookupError(f"{package} is not installed")


def need_gpu():
    try:
        return nd.Device("cuda:0")
    except nd.Error as e:
        raise LookupError(f"there is no cuda:0 ({e})") from None


def run_cfunc():
    """A function that Numba compiles for the CPU, as a host function of a module."""
    need("numba")
    from numba import carray, cfunc, types
    pointers = types.CPointer(types.voidptr)

    @cfunc(types.void(types.CPointer(types.uint32), types.CPointer(types.uint32), pointers))
    def scale(grid, block, argument):
        x = carray(argument[0], grid[0] * block[0], types.float32)
        a = carray(argument[1], 1, types.float32)[0]
        for i in range(x.size):
            x[i] *= a
    x = nd.zeros(N, dtype=nd.float32, device="cpu")
    x += 1
    nd.Module({"scale": scale}, "cpu", kind="host").kernel("scale", "float *x, float a")(N // 10, 10, (x, 2.0))
    x += 1
    return x


def run_numba():
    """A CUDA kernel of Numba, by the CUDA Array Interface and a stream's handle."""
    need("numba", "numba.cuda")
    device = need_gpu()
    from numba import cuda

    @cuda.jit
    def scale(x, a):
        i = cuda.grid(1)
        if i < x.size:
            x[i] *= a
    x = nd.zeros(N, dtype=nd.float32, device=device)
    nd.synchronize(device)
    with nd.Stream(device) as s:
        x += 1
        scale[(N + 255) // 256, 256, cuda.external_stream(s.__cuda_stream__()[1])](x, 2.0)
        x += 1
    s.synchronize()
    return x


def run_triton():
    """A kernel of Triton, by DLPack and a stream of PyTorch's over ndock's."""
    need("torch", "triton")
    device = need_gpu()
    import torch
    import triton
    import triton.language as tl

    @triton.jit
    def scale(x, a, n, BLOCK: tl.constexpr):
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(x + at, tl.load(x + at, mask=at < n) * a, mask=at < n)
    x = nd.zeros(N, dtype=nd.float32, device=device)
    nd.synchronize(device)
    with nd.Stream(device) as s, torch.cuda.stream(torch.cuda.ExternalStream(s.__cuda_stream__()[1])):
        x += 1
        scale[((N + 255) // 256,)](torch.from_dlpack(x), 2.0, N, BLOCK=256)
        x += 1
    s.synchronize()
    return x


def main():
    names = sys.argv[1:] or ["cfunc", "numba", "triton"]
    ran = 0
    for name in names:
        try:
            x = globals()[f"run_{name}"]()
        except (LookupError, ImportError) as e:
            print(f"{name}: left out: {e}")
            continue
        right = bool(nd.all(nd.equal(x, 3)))
        print(f"{name}: {'1000 elements of 3' if right else 'WRONG'}")
        ran += 1
        if not right:
            sys.exit(1)
    sys.exit(0 if ran else 77)


if __name__ == "__main__":
    main()
