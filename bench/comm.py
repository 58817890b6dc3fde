#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Time and bus bandwidth of all_reduce and all_gather by size, as NCCL's tests count it: 2(n-1)/n and (n-1)/n of the bytes of the whole.

    ndock run -n 2 python bench/comm.py [device]      mpirun -n 2 python bench/comm.py [device]"""
import sys
import time

import ndock as nd

SIZES = [4 << 10, 64 << 10, 1 << 20, 16 << 20, 64 << 20]


def seconds(comm, call):
    call()
    best = float("inf")
    for _ in range(5):
        comm.barrier()
        start = time.perf_counter()
        call()
        nd.synchronize(comm.device)
        best = min(best, time.perf_counter() - start)
    return best


def row(comm, name, nbytes):
    x = nd.ones(nbytes // 4, dtype=nd.float32, device=comm.device)
    if name == "all_reduce":
        moved, t = 2 * (comm.size - 1) / comm.size * nbytes, seconds(comm, lambda: comm.all_reduce(x, out=x))
    else:
        whole = nd.empty((comm.size, nbytes // 4), dtype=nd.float32, device=comm.device)
        moved, t = (comm.size - 1) * nbytes, seconds(comm, lambda: comm.all_gather(x, out=whole))
    return f"{name:10s} {nbytes:10d} bytes  {1e6 * t:10.1f} us  {moved / t / 1e9:7.2f} GB/s"


def main():
    comm = nd.comm.world(sys.argv[1] if len(sys.argv) > 1 else None)
    if comm.rank == 0:
        print(f"{comm.size} ranks on {comm.device} by {comm.transport}")
    for name in ("all_reduce", "all_gather"):
        for nbytes in SIZES:
            try:
                line = row(comm, name, nbytes)
            except Exception as e:  # the other rows are still wanted
                line = f"{name} {nbytes}: {e}"
            if comm.rank == 0:
                print(line, flush=True)


main()
