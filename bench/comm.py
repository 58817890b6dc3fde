#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Time and bus bandwidth of collectives by size, as NCCL's tests count it: 2(n-1)/n of the bytes for all_reduce, (n-1)/n of the
bytes of the whole for all_gather. On GPUs PyTorch's, by its NCCL, stand beside, in turns in the same processes.

    ndock run -n 2 python bench/comm.py [device]      mpirun -n 2 python bench/comm.py [device]
    ndock run -n 2 --device cuda python bench/comm.py [--only all_gather] [--from BYTES]

NCCL's own variables tell what its choices cost, in both at once: NCCL_MIN_CTAS=32, NCCL_CGA_CLUSTER_SIZE=0, NCCL_P2P_USE_CUDA_MEMCPY=1.

Other rows, on GPUs: a graph with an exchange; a copy between two GPUs of one process. How much of an exchange hides behind computing is comm_overlap.py's."""
import argparse
import os
import socket
import sys
import time

import ndock as nd

SMALL = [4 << 10, 64 << 10, 1 << 20, 16 << 20]
SIZES = {"cpu": SMALL + [64 << 20], "cuda": SMALL + [128 << 20, 1 << 30]}


def in_turns(comm, calls, wait, nbytes):
    """Seconds of each call, of several queued one after the other; the least of a few tries, which the calls take in turns."""
    n = max(1, min(50, (256 << 20) // nbytes))
    for call in calls * 3:
        call()
    best = [float("inf")] * len(calls)
    for _ in range(5):
        for i, call in enumerate(calls):
            wait()
            comm.barrier()
            start = time.perf_counter()
            for _ in range(n):
                call()
            wait()
            best[i] = min(best[i], (time.perf_counter() - start) / n)
    return best


def per_call(comm, call, wait, nbytes):
    return in_turns(comm, [call], wait, nbytes)[0]


def peer_of(comm):
    """PyTorch's communicator of the same ranks; None where there is none."""
    if not str(comm.device).startswith("cuda"):
        return None
    import torch
    import torch.distributed as dist
    port = nd.zeros(1, dtype=nd.int64, device=comm.device)
    if comm.rank == 0:
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            port[0] = s.getsockname()[1]
    comm.broadcast(port)
    os.environ.pop("NDOCK_COMM_STORE", None)
    torch.cuda.set_device(int(str(comm.device).split(":")[1]))
    dist.init_process_group("nccl", init_method=f"tcp://127.0.0.1:{int(port[0])}", rank=comm.rank, world_size=comm.size)
    return torch, dist


def calls(comm, peer, name, nbytes):
    """ndock's call and PyTorch's, and the bytes that cross the bus."""
    n = nbytes // 4
    x = nd.ones(n, dtype=nd.float32, device=comm.device)
    there = None
    if name == "all_reduce":
        moved, here = 2 * (comm.size - 1) / comm.size * nbytes, lambda: comm.all_reduce(x, out=x)
    else:
        whole = nd.empty((comm.size, n), dtype=nd.float32, device=comm.device)
        moved, here = (comm.size - 1) * nbytes, lambda: comm.all_gather(x, out=whole)
    if peer:
        torch, dist = peer
        t = torch.ones(n, device="cuda")
        if name == "all_reduce":
            there = lambda: dist.all_reduce(t)
        else:
            all_of = torch.empty(comm.size * n, device="cuda")
            there = lambda: dist.all_gather_into_tensor(all_of, t)
    return here, there, moved


def row(comm, peer, name, nbytes):
    here, there, moved = calls(comm, peer, name, nbytes)
    def wait():
        nd.synchronize(comm.device)
        if there:
            peer[0].cuda.synchronize()

    t, *others = in_turns(comm, [here, there] if there else [here], wait, nbytes)
    text = f"{name:10s} {nbytes:10d} bytes  {1e6 * t:9.1f} us {moved / t / 1e9:7.2f} GB/s"
    for u in others:
        text += f"   torch {1e6 * u:9.1f} us {moved / u / 1e9:7.2f} GB/s   {u / t:5.2f} x"
    return text


def captured(comm):
    """An all_reduce in a graph that is launched again and again."""
    x = nd.full(1024, float(comm.rank + 1), dtype=nd.float32, device=comm.device)
    comm.all_reduce(x)
    with nd.graph(device=comm.device) as g:
        total = comm.all_reduce(x)
    want = comm.size * (comm.size + 1) / 2
    for _ in range(3):
        g.launch()
    nd.synchronize(comm.device)
    good = float(total[0]) == want and float(total[-1]) == want
    t = per_call(comm, g.launch, lambda: nd.synchronize(comm.device), 4096)
    return f"graph with an all_reduce of 4 KiB: {'right' if good else 'WRONG'}, {g.nodes} nodes, {1e6 * t:.1f} us a launch"


class Alone:
    """A rank whose calls need no other."""

    def barrier(self):
        pass


def copied(comm, peer):
    """Copies of 256 MiB from this rank's GPU to another one of this process, by rank 0; the others wait."""
    kind, mine = str(comm.device).split(":")
    text, nbytes = "", 256 << 20
    if comm.rank == 0:
        there = f"{kind}:{0 if int(mine) else 1}"
        x = nd.ones(nbytes // 4, dtype=nd.float32, device=comm.device)
        calls = [lambda: x.to_device(there)]
        if peer:
            torch = peer[0]
            tx = torch.ones(nbytes // 4, device="cuda:" + mine)
            calls.append(lambda: tx.to(there))

        def wait():
            for device in (comm.device, there):
                nd.synchronize(device)
                if peer:
                    peer[0].cuda.synchronize(int(str(device).split(":")[1]))

        for call in calls * 3:
            call()
        times = in_turns(Alone(), calls, wait, nbytes // 8)
        y = calls[0]()
        right = float(y[0]) == 1 and float(y[-1]) == 1
        text = f"peer copy of 256 MiB: {'right' if right else 'WRONG'}" + "".join(
            f", {who} {1e6 * t:.1f} us {nbytes / t / 1e9:.1f} GB/s" for who, t in zip(("here", "torch"), times))
    comm.barrier()
    return text


def tell(comm, what, function, *args):
    try:
        line = function(*args)
    except Exception as e:  # the other rows are still wanted
        line = f"{what}: {type(e).__name__} {e}"
    if comm.rank == 0:
        print(line, flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("device", nargs="?", default=os.environ.get("NDOCK_DEVICE"))
    parser.add_argument("--only", choices=["all_reduce", "all_gather"])
    parser.add_argument("--from", type=int, default=0, dest="least")
    args = parser.parse_args()
    comm = nd.comm.world(args.device)
    kind = str(comm.device).split(":")[0]
    if comm.rank == 0:
        print(f"{comm.size} ranks on {comm.device} by {comm.transport}", flush=True)
    try:
        peer = peer_of(comm)
    except Exception as e:
        peer = None
        print(f"no PyTorch beside: {e}", flush=True)
    for name in ("all_reduce", "all_gather"):
        for nbytes in [n for n in SIZES.get(kind, SMALL) if n >= args.least and args.only in (None, name)]:
            tell(comm, f"{name} {nbytes}", row, comm, peer, name, nbytes)
    if kind == "cuda" and not args.only:
        tell(comm, "graph", captured, comm)
        tell(comm, "peer copy", copied, comm, peer)


if __name__ == "__main__":
    main()
