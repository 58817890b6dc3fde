#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A Numba kernel that writes into an ndock array on a side stream, with everything before and after it in order and no
wait on the host. Needs Numba and a CUDA device; without them, exits with 77."""
import argparse
import sys

import ndock as nd


def need(condition, what):
    if not condition:
        print(f"numba_stream: needs {what}")
        sys.exit(77)


def kernel_of(cuda):
    @cuda.jit
    def scale(x, y, factor):
        i = cuda.grid(1)
        if i < x.size:
            y[i] += factor * x[i]
    return scale


def round_trip(cuda, kernel, side, n, factor):
    """3 + factor*(0, 1, ...), whose sum is queued on the current stream when this returns."""
    main = nd.current_stream(side.device)
    x = nd.arange(n, dtype=nd.float32, device=side.device)  # queued on main
    side.wait_stream(main)                                  # so that x is there before the kernel reads it
    with nd.stream(side):
        y = nd.full(n, 1, dtype=nd.float32, device=side.device)
        # Numba's handles of the two arrays. sync=False: Numba would wait on the host for the streams that the arrays
        # name, and the kernel goes to a stream that is in order with both.
        views = [cuda.as_cuda_array(a, sync=False) for a in (x, y)]
        kernel[-(-n // 256), 256, cuda.external_stream(side.handle)](*views, factor)
        y += 2  # ours again, behind the kernel on the same stream
    nd.record_use(x, side)   # x goes back to main's cache when this returns: not before the kernel has read it
    main.wait_stream(side)   # what main does from here on sees y
    total = nd.sum(nd.astype(y, nd.float64))
    nd.record_use(y, main)   # y was made on side, and main reads it
    return total


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda:0", help="a CUDA device (%(default)s)")
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--size", type=int, default=1 << 20, help="elements (%(default)s)")
    args = parser.parse_args()
    try:
        from numba import cuda
    except ImportError as why:
        need(False, f"Numba: {why}")
    need(nd.is_available(args.device) and cuda.is_available(), f"{args.device}, in ndock and in Numba")
    nd.set_default_device(args.device)
    cuda.select_device(nd.Device(args.device).index)
    side, kernel = nd.Stream(args.device), kernel_of(cuda)
    factors = [i % 16 for i in range(args.rounds)]  # so that all values are whole and below 2**24: float32 has them
    totals = [round_trip(cuda, kernel, side, args.size, factor) for factor in factors]
    right = sum(float(total) == 3.0 * args.size + factor * (args.size * (args.size - 1) / 2)
                for factor, total in zip(factors, totals))
    print(f"{right} of {args.rounds} rounds as expected")
    return 0 if right == args.rounds else 1


if __name__ == "__main__":
    sys.exit(main())
