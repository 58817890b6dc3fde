# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One rank of test_comm.py's: started by `ndock run -n N`, every rank checks what it gets."""
import numpy as np

import ndock as nd

nd.set_default_device("cpu")

comm = nd.comm.world("cpu")
assert nd.comm.world("cpu") is comm and nd.comm.launched()[:2] == (comm.rank, comm.size)


def brought(rank, shape, dtype):
    return np.random.default_rng(rank).integers(0, 5, shape).astype(dtype)


def got(x):
    return np.asarray(x)


for dtype in ("float32", "float64", "int8", "uint64", "complex128", "bool"):
    for shape in ((), (0,), (7,), (3, 5)):
        all_x = np.stack([brought(r, shape, dtype) for r in range(comm.size)])
        x = nd.asarray(all_x[comm.rank], device="cpu")
        want = all_x.any(axis=0) if dtype == "bool" else all_x.sum(axis=0, dtype=dtype)
        assert np.array_equal(got(comm.all_reduce(x)), want), (dtype, shape)
        assert np.array_equal(got(comm.all_gather(x)), all_x)
        assert np.array_equal(got(comm.broadcast(nd.asarray(all_x[comm.rank], device="cpu", copy=True), 1)), all_x[1])

x = nd.arange(12.).reshape((3, 4)).mT + comm.rank
work = comm.all_reduce(x, "avg", async_op=True)
assert np.allclose(got(work.wait()), np.arange(12.).reshape(3, 4).T + (comm.size - 1) / 2)
assert work.query() and work.synchronize() is work.result

grads = [nd.full((3,), comm.rank, dtype=nd.float32), nd.full((2, 2), 10. * comm.rank), nd.full((1,), 1., dtype=nd.float32)]
for bucket in (1, 16, 1 << 20):
    mean = nd.parallel.all_reduce_gradients(comm, grads, bucket_bytes=bucket)
    assert [m.shape for m in mean] == [(3,), (2, 2), (1,)] and [m.dtype for m in mean] == [g.dtype for g in grads]
    assert float(mean[0][0]) == (comm.size - 1) / 2 and float(mean[1][1, 1]) == 10 * (comm.size - 1) / 2 and float(mean[2][0]) == 1
buckets = nd.parallel.Buckets(comm, bucket_bytes=16, first_bytes=8)
for g in reversed(grads):
    buckets.add(g)
assert [got(m).tolist() for m in reversed(buckets.wait())] == [got(m).tolist() for m in mean] and buckets.wait() == []

# A graph repeats its exchanges: in its own stream and beside it.
x, z = nd.full((4,), 1.), nd.zeros((4,))
with nd.graph() as g:
    y = comm.all_reduce(x) * 2
    z[:] = comm.all_reduce(y, async_op=True).wait()
for i in range(3):
    x[:] = comm.rank + i
    g.launch()
    total = sum(range(comm.size)) + comm.size * i
    assert got(y).tolist() == [2 * total] * 4 and got(z).tolist() == [2 * total * comm.size] * 4
weights = nd.parallel.replicate(comm, [nd.full((5,), comm.rank + 3)])
assert got(weights[0]).tolist() == [3] * 5
assert nd.parallel.shard(comm, nd.arange(11)).shape[0] in (11 // comm.size, 11 // comm.size + 1)

part = comm.split(comm.rank % 2)
assert part.size == (comm.size + 1 - comm.rank % 2) // 2 and part.rank == comm.rank // 2
comm.barrier()
comm.check()
print(f"rank {comm.rank} of {comm.size} is content")
