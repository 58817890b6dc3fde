#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How much of an exchange hides behind computing, on GPUs; PyTorch's beside, in turns in the same processes.

    ndock run -n 2 --device cuda python bench/comm_overlap.py [--only buckets] [--no-torch]

    behind     one all_reduce of 64 MiB beside four products of float32 that do not need it
    buckets    a backward pass of eight products of bfloat16, whose results are gradients of 32 MiB, each exchanged while the next ones
               are computed, beside one exchange at its end
    layers     forward and backward pass of a network of bfloat16 with the exchange of its gradients (nd.parallel.Buckets; PyTorch's
               DistributedDataParallel), and without: what N GPUs do more than one

The part that is hidden: of the shorter of computing and exchanging, what the two together do not take longer than the longer one. That
an exchange needs multiprocessors too, and that the last bucket has nothing to hide behind, keeps it below 1. With room: products
leave some multiprocessors to the exchange (the math setting leave_room). NCCL_MAX_CTAS bounds what an exchange takes."""
import argparse
import os

from comm import in_turns, peer_of, tell

import ndock as nd

WIDTH, ROWS, LAYERS, GRADIENTS = 4096, 8192, 4, 8


def room():
    return nd.math.mode("cuda", "matmul", leave_room=True)


def hidden(t, u, b):
    return (t + u - b) / min(t, u)


def wait_for(comm, peer):
    def wait():
        nd.synchronize(comm.device)
        if peer:
            peer[0].cuda.synchronize()
    return wait


def line(name, times):
    t, u, b, *after = times
    text = f"{name:16s} computing {1e6 * t:6.0f} us, exchanging {1e6 * u:6.0f}, both {1e6 * b:6.0f}: {hidden(t, u, b):5.2f} hidden"
    return text + "".join(f"; one after the other {1e6 * a:.0f}" for a in after)


def behind(comm, peer):
    a = nd.ones((WIDTH, WIDTH), dtype=nd.float32, device=comm.device)
    c = nd.empty_like(a)
    x = nd.ones(16 << 20, dtype=nd.float32, device=comm.device)

    def compute():
        for _ in range(4):
            nd.matmul(a, a, out=c)

    def both():
        work = comm.all_reduce(x, out=x, async_op=True)
        compute()
        work.wait()

    calls = [compute, lambda: comm.all_reduce(x, out=x), both]
    if peer:
        torch, dist = peer
        ta, tx = torch.ones(WIDTH, WIDTH, device="cuda"), torch.ones(16 << 20, device="cuda")
        tc = torch.empty_like(ta)

        def compute_there():
            for _ in range(4):
                torch.mm(ta, ta, out=tc)

        def both_there():
            work = dist.all_reduce(tx, async_op=True)
            compute_there()
            work.wait()

        calls += [compute_there, lambda: dist.all_reduce(tx), both_there]
    times = in_turns(comm, calls, wait_for(comm, peer), 128 << 20)
    return "\n".join(line("behind" + w, times[i:i + 3]) for i, w in ((0, ""), (3, ", torch"))[:1 + bool(peer)])


def buckets(comm, peer):
    a = nd.ones((WIDTH, WIDTH), dtype=nd.bfloat16, device=comm.device)
    grads = [nd.empty_like(a) for _ in range(GRADIENTS)]

    def compute(each=lambda g: None):
        for g in grads:
            nd.matmul(a, a, out=g)
            each(g)

    def overlapping():
        on_their_way = nd.parallel.Buckets(comm)
        compute(on_their_way.add)
        return on_their_way.wait()

    def with_room():
        with room():
            return overlapping()

    def exchange():
        return nd.parallel.all_reduce_gradients(comm, grads)

    def after():
        compute()
        return exchange()

    calls = [compute, exchange, overlapping, with_room, after]
    if peer:
        torch, dist = peer
        ta = torch.ones(WIDTH, WIDTH, device="cuda", dtype=torch.bfloat16)
        tg = [torch.empty_like(ta) for _ in range(GRADIENTS)]

        def there(exchanged):
            works = []
            for g in tg:
                torch.mm(ta, ta, out=g)
                if exchanged:
                    works.append(dist.all_reduce(g, op=dist.ReduceOp.AVG, async_op=True))
            for w in works:
                w.wait()

        def exchange_there():
            for g in tg:
                dist.all_reduce(g, op=dist.ReduceOp.AVG)

        calls += [lambda: there(False), exchange_there, lambda: there(True)]
    t, u, b, r, e, *others = in_turns(comm, calls, wait_for(comm, peer), 64 << 20)
    lines = [line("buckets", (t, u, b, e)), line("buckets, room", (t, u, r))] + ([line("buckets, torch", others)] if others else [])
    return "\n".join(lines)


class Network:
    """LAYERS products with relu between them, and their gradients by hand."""

    def __init__(self, comm):
        self.x = nd.random.normal(size=(ROWS, WIDTH), dtype=nd.float32, device=comm.device).astype(nd.bfloat16)
        self.w = [(nd.random.normal(size=(WIDTH, WIDTH), dtype=nd.float32, device=comm.device) * WIDTH**-0.5).astype(nd.bfloat16) for _ in range(LAYERS)]

    def step(self, each):
        """each: takes the gradients, those of the last layer first."""
        h = [self.x]
        for w in self.w:
            h.append(nd.matmul(h[-1], w, epilogue="relu"))
        g = h[-1]
        for i in reversed(range(LAYERS)):
            each(nd.matrix_transpose(h[i]) @ g)
            if i:
                g = nd.where(h[i] > 0, g @ nd.matrix_transpose(self.w[i]), 0.0)


def layers(comm, peer):
    net, made = Network(comm), []

    def compute():
        made.clear()
        net.step(made.append)

    def overlapping():
        on_their_way = nd.parallel.Buckets(comm)
        net.step(on_their_way.add)
        return on_their_way.wait()

    def with_room():
        with room():
            return overlapping()

    compute()
    calls = [compute, lambda: nd.parallel.all_reduce_gradients(comm, made), overlapping, with_room]
    if peer:
        torch, dist = peer
        linear = [torch.nn.Linear(WIDTH, WIDTH, bias=False, device="cuda", dtype=torch.bfloat16) for _ in range(LAYERS)]
        model = torch.nn.Sequential(*[m for one in linear for m in (one, torch.nn.ReLU())])
        together = torch.nn.parallel.DistributedDataParallel(model, gradient_as_bucket_view=True, static_graph=True)
        tx = torch.randn(ROWS, WIDTH, device="cuda").bfloat16()
        tg = [torch.zeros_like(one.weight) for one in linear]

        def step_there(m):
            for p in m.parameters():
                p.grad = None
            out = m(tx)
            out.backward(out.detach())

        def exchange_there():
            for g in tg:
                dist.all_reduce(g, op=dist.ReduceOp.AVG)

        calls += [lambda: step_there(model), exchange_there, lambda: step_there(together)]
    t, u, b, r, *others = in_turns(comm, calls, wait_for(comm, peer), 128 << 20)
    n = comm.size
    lines = [line("layers", (t, u, b)) + f"; {n} GPUs {n * t / b:.2f} x one", line("layers, room", (t, u, r)) + f"; {n * t / r:.2f} x"]
    if others:
        lines.append(line("layers, DDP", others) + f"; {n * others[0] / others[2]:.2f} x")
    return "\n".join(lines)


ROWS_OF = {"behind": behind, "buckets": buckets, "layers": layers}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", choices=list(ROWS_OF))
    parser.add_argument("--no-torch", action="store_true")
    args = parser.parse_args()
    comm = nd.comm.world(os.environ.get("NDOCK_DEVICE", "cuda:0"))
    try:
        peer = None if args.no_torch else peer_of(comm)
    except Exception as e:
        peer = None
        print(f"no PyTorch beside: {e}", flush=True)
    for name, function in ROWS_OF.items():
        if args.only in (None, name):
            tell(comm, name, function, comm, peer)


if __name__ == "__main__":
    main()
