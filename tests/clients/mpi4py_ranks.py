# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One rank of several that mpirun has started, with mpi4py: MPI itself on ndock's host arrays, which it takes by the buffer protocol,
and ndock's communicators beside. Every rank checks what it gets against NumPy.

    mpirun -n 2 python tests/clients/mpi4py_ranks.py [2]"""
import sys

import numpy as np
from mpi4py import MPI

import ndock as nd

nd.set_default_device("cpu")
world = MPI.COMM_WORLD
rank, size = world.Get_rank(), world.Get_size()
assert len(sys.argv) < 2 or size == int(sys.argv[1]), "mpi4py uses another MPI than mpirun"


def brought(r, dtype, shape=(3, 4)):
    return np.random.default_rng(r).integers(0, 5, shape).astype(dtype)


def same(x, want):
    assert isinstance(x, nd.Array) and np.array_equal(np.asarray(x), want), (x, want)


for dtype in ("float32", "float64", "int8", "int64", "uint16", "complex128", "bool"):
    all_x = np.stack([brought(r, dtype) for r in range(size)])
    x = nd.asarray(all_x[rank], copy=True)
    total = nd.empty_like(x)
    world.Allreduce(x, total, MPI.LOR if dtype == "bool" else MPI.SUM)  # the datatype is found by the buffer's format
    same(total, all_x.any(0) if dtype == "bool" else all_x.sum(0, dtype=dtype))
    whole = nd.empty((size, 3, 4), dtype=dtype)
    world.Allgather(x, whole)
    same(whole, all_x)
    world.Bcast(x, root=size - 1)
    same(x, all_x[size - 1])
x = nd.asarray(brought(rank, "float32"), copy=True)
world.Allreduce(MPI.IN_PLACE, x, MPI.MAX)
same(x, np.max([brought(r, "float32") for r in range(size)], axis=0))

theirs = nd.empty((3, 4), dtype=nd.float32)
mine = nd.asarray(brought(rank, "float32"))
world.Sendrecv(mine, (rank + 1) % size, 0, theirs, (rank - 1) % size, 0)
same(theirs, brought((rank - 1) % size, "float32"))
request = world.Iallreduce(mine, theirs)
request.Wait()
same(theirs, sum(brought(r, "float32") for r in range(size)))

# What is not dense has to be made so, as with NumPy: MPI does not take strides from a buffer.
try:
    world.Allreduce(mine[:, ::2], nd.empty((3, 2), dtype=nd.float32))
    raise AssertionError("strides were taken")
except (BufferError, ValueError) as e:
    assert "contiguous" in str(e), e
turned = nd.empty((4, 3), dtype=nd.float32)
world.Allreduce(mine.mT.copy(), turned)
same(turned, sum(brought(r, "float32") for r in range(size)).T)

# Lower case: objects, by their pickles.
same(world.bcast(mine if rank == 0 else None, root=0), brought(0, "float32"))
for r, x in enumerate(world.allgather(mine.mT)):
    same(x, brought(r, "float32").T)

# ndock's own communicator of the same ranks: MPI brings its name alone.
comm = nd.comm.from_mpi4py(world)
assert (comm.rank, comm.size, comm.transport) == (rank, size, "cpu")
same(comm.all_reduce(mine.mT), sum(brought(r, "float32") for r in range(size)).T)
half = nd.comm.from_mpi4py(world.Split(rank % 2, rank))
assert half.size == (size + 1 - rank % 2) // 2
comm.barrier()

# And the plug-in mpi's, where it is there: it uses the MPI that mpi4py has started.
if size > 1:
    try:
        by_mpi = nd.comm.world("cpu")
    except RuntimeError as e:
        assert "no plug-in mpi" in str(e), e
        print(f"rank {rank}: no plug-in mpi")
    else:
        assert by_mpi.transport == "mpi" and by_mpi.rank == rank
        same(by_mpi.all_reduce(mine), sum(brought(r, "float32") for r in range(size)))
        print(f"rank {rank}: plug-in mpi beside")
print(f"rank {rank} of {size} is content with mpi4py by {MPI.Get_library_version().split(',')[0].split()[0]}")
