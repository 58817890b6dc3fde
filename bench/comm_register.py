#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What NCCL gains when it knows the memory of an exchange: an all_reduce of bfloat16 by NCCL's own functions, from memory of ndock's
pool as it is and registered (ncclCommRegister), from memory that NCCL allocated (ncclMemAlloc), registered too, and as a symmetric
window (ncclCommWindowRegister); alone, and beside products of matrices, where fewer multiprocessors for it would show.

    ndock run -n 2 --device cuda python bench/comm_register.py [--mib 32]

NCCL_MAX_CTAS=8 and the like tell what the same costs with fewer blocks."""
import argparse
import ctypes as c
import os
import time

from comm import tell

import ndock as nd

BFLOAT16, SUM, ROUNDS, PRODUCTS, SYMMETRIC = 9, 0, 8, 8, 1


class Name(c.Structure):
    _fields_ = [("bytes", c.c_byte * 128)]


def must(what, r):
    if r:
        raise RuntimeError(f"{what}: {r}")


class Nccl:
    """A communicator of the same ranks, made and used without ndock."""

    def __init__(self, comm):
        self.lib, driver, context = c.CDLL("libnccl.so.2"), c.CDLL("libcuda.so.1"), c.c_void_p()
        must("context", driver.cuDevicePrimaryCtxRetain(c.byref(context), int(str(comm.device).split(":")[1])))
        must("context", driver.cuCtxSetCurrent(context))
        name, self.comm, self.driver = Name(), c.c_void_p(), driver
        if comm.rank == 0:
            must("name", self.lib.ncclGetUniqueId(c.byref(name)))
        sent = comm.broadcast(nd.asarray(list(bytes(bytearray(name)))).astype(nd.uint8).to_device(comm.device))
        c.memmove(c.byref(name), bytes(sent.to_device("cpu").tolist()), 128)
        must("joining", self.lib.ncclCommInitRank(c.byref(self.comm), comm.size, name, comm.rank))

    def all_reduce(self, address, n, stream):
        must("all_reduce", self.lib.ncclAllReduce(c.c_void_p(address), c.c_void_p(address), c.c_size_t(n), BFLOAT16, SUM, self.comm,
                                                  c.c_void_p(stream)))

    def allocated(self, nbytes):
        at = c.c_void_p()
        must("ncclMemAlloc", self.lib.ncclMemAlloc(c.byref(at), c.c_size_t(nbytes)))
        return at.value

    def register(self, address):
        """The whole allocation that the address is in."""
        base, nbytes, handle = c.c_uint64(), c.c_size_t(), c.c_void_p()
        must("range", self.driver.cuMemGetAddressRange_v2(c.byref(base), c.byref(nbytes), c.c_uint64(address)))
        must("ncclCommRegister", self.lib.ncclCommRegister(self.comm, c.c_void_p(base.value), nbytes, c.byref(handle)))

    def window(self, address, nbytes):
        handle = c.c_void_p()
        must("ncclCommWindowRegister", self.lib.ncclCommWindowRegister(self.comm, c.c_void_p(address), c.c_size_t(nbytes),
                                                                       c.byref(handle), SYMMETRIC))


def memories(comm, nccl, nbytes):
    """Name and address of each kind of memory; the arrays, to keep."""
    # Of bits of bfloat16, whose dtype the interface does not name.
    kept = [nd.zeros(nbytes // 2, dtype=nd.int16, device=comm.device) for _ in range(2)]
    pool, registered = [a.__cuda_array_interface__["data"][0] for a in kept]
    made = [("of the pool", lambda: pool), ("registered", lambda: nccl.register(registered) or registered)]

    def of_nccl():
        at = nccl.allocated(nbytes)
        nccl.register(at)
        return at

    def symmetric():
        at = nccl.allocated(nbytes)
        nccl.window(at, nbytes)
        return at

    found = []
    for name, make in made + [("NCCL's, registered", of_nccl), ("symmetric", symmetric)]:
        try:
            found.append((name, make()))
        except Exception as e:  # an older NCCL, or memory that cannot be shared so
            found.append((f"{name}: {e}", None))
    return found, kept


def measure(comm, nbytes):
    nccl = Nccl(comm)
    found, kept = memories(comm, nccl, nbytes)
    side = nd.Stream(comm.device, priority=-100)
    a = nd.ones((4096, 4096), dtype=nd.bfloat16, device=comm.device)
    out = nd.empty_like(a)
    handle = side.__cuda_stream__()[1]

    def products():
        for _ in range(PRODUCTS):
            nd.matmul(a, a, out=out)

    def exchange(address):
        side.wait_stream(nd.current_stream(comm.device))
        for _ in range(PRODUCTS // 2):
            nccl.all_reduce(address, nbytes // 2, handle)

    def both(address):
        exchange(address)
        products()

    calls = [products] + [lambda f=f, at=at: f(at) for _, at in found if at for f in (exchange, both)]
    best = [float("inf")] * len(calls)
    for k in range(ROUNDS + 1):
        for i, call in enumerate(calls):
            nd.synchronize(comm.device)
            side.synchronize()
            time.sleep(0.01)
            comm.barrier()
            start = time.perf_counter()
            call()
            side.synchronize()
            nd.synchronize(comm.device)
            best[i] = min(best[i], time.perf_counter() - start) if k else best[i]
    lines, at, many = [f"{PRODUCTS} products {1e6 * best[0]:.0f} us"], 1, PRODUCTS // 2
    for name, address in found:
        if address is None:
            lines.append(name)
            continue
        alone, together = best[at:at + 2]
        at += 2
        lines.append(f"{many} all_reduce of {nbytes >> 20} MiB, {name}: {1e6 * alone:.0f} us, beside the products {1e6 * together:.0f}")
    del kept
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--mib", type=int, default=32)
    args = parser.parse_args()
    comm = nd.comm.world(os.environ.get("NDOCK_DEVICE", "cuda:0"))
    tell(comm, "registered", measure, comm, args.mib << 20)


if __name__ == "__main__":
    main()
