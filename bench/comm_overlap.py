#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How much of an exchange hides behind computing, on GPUs; PyTorch's beside, in turns in the same processes.

    ndock run -n 2 --device cuda python bench/comm_overlap.py [--only buckets] [--no-torch]

    behind     one all_reduce of 64 MiB beside four products of float32 that do not need it
    buckets    a backward pass of eight products of bfloat16, whose results are gradients of 32 MiB, each exchanged while the next ones
               are computed, beside one exchange at its end
    layers     forward and backward pass of a network of bfloat16 with the exchange of its gradients (nd.parallel.Buckets; PyTorch by the
               same calls, and by DistributedDataParallel), and without: what N GPUs do more than one
    timeline   of one backward pass of that network: when each part of it runs

"usual": the exchange's stream is no more urgent than computing. "in place": gradients are exchanged where they are. The part that is
hidden: of the shorter of computing and exchanging, what the two together do not take longer than the longer one. The last bucket has
nothing to hide behind, and an exchange needs multiprocessors too (NCCL_MAX_CTAS bounds how many), so it stays below 1. Calls are timed
in another order each time: a GPU is faster after an exchange, during which it cools down, than after computing."""
import argparse
import os
import time

from comm import peer_of, tell

import ndock as nd

WIDTH, ROWS, LAYERS, GRADIENTS, ROUNDS, AT_ONCE = 4096, 8192, 4, 8, 12, 3


def in_turns(comm, calls, wait):
    """Seconds of each call, the least of ROUNDS."""
    best = [float("inf")] * len(calls)
    for call in calls * 2:
        call()
    for k in range(ROUNDS):
        order = [(i * (1 + 2 * (k % 3)) + k) % len(calls) for i in range(len(calls))]
        for i in order if len(set(order)) == len(calls) else range(len(calls)):
            wait()
            comm.barrier()
            start = time.perf_counter()
            for _ in range(AT_ONCE):
                calls[i]()
            wait()
            best[i] = min(best[i], (time.perf_counter() - start) / AT_ONCE)
    return best


class Exchanged:
    """What waits for an exchange on a stream that the program has chosen."""

    def __init__(self, result, stream):
        self.result, self.stream = result, stream

    def wait(self):
        nd.current_stream(self.result.device).wait_stream(self.stream)
        return self.result


class BucketsOn(nd.parallel.Buckets):
    """Buckets of one gradient each, on a stream, in place or not."""

    __slots__ = ("_stream", "_in_place")

    def __init__(self, comm, stream, in_place=False):
        super().__init__(comm)
        self._stream, self._in_place = stream, in_place

    def add(self, gradient):
        part = gradient.reshape((-1,))
        self._stream.wait_stream(nd.current_stream(part.device))
        with self._stream:
            result = self._comm.all_reduce(part, "avg", out=part if self._in_place else None)
        self._under_way.append((Exchanged(result, self._stream), [(gradient.size, gradient.shape)], [part]))


def hidden(t, u, b):
    return (t + u - b) / min(t, u)


def wait_for(comm, peer):
    def wait():
        nd.synchronize(comm.device)
        if peer:
            peer[0].cuda.synchronize()
    return wait


def line(name, t, u, b):
    return f"{name:19s} computing {1e6 * t:6.0f} us, exchanging {1e6 * u:6.0f}, both {1e6 * b:6.0f}: {hidden(t, u, b):5.2f} hidden"


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
    times = in_turns(comm, calls, wait_for(comm, peer))
    return "\n".join(line("behind" + w, *times[i:i + 3]) for i, w in ((0, ""), (3, ", torch"))[:1 + bool(peer)])


def torch_exchange(peer, grads):
    torch, dist = peer
    for g in grads:
        dist.all_reduce(g, op=dist.ReduceOp.AVG)


class There:
    """PyTorch's gradients as they are made, exchanged in place."""

    def __init__(self, peer, group=None):
        self.dist, self.group, self.works = peer[1], group, []

    def add(self, g):
        self.works.append(self.dist.all_reduce(g, op=self.dist.ReduceOp.AVG, async_op=True, group=self.group))

    def wait(self):
        for w in self.works:
            w.wait()


def urgent_group(peer):
    options = peer[1].ProcessGroupNCCL.Options()
    options.is_high_priority_stream = True
    return peer[1].new_group(pg_options=options)


def compare(comm, peer, name, step, step_there, others):
    """step(each) computes here, and gives each gradient to each(); others: more calls and their names."""
    grads, there, device = [], [], comm.device
    usual = nd.Stream(device)
    step(grads.append)

    def begun(buckets):
        step(buckets.add)
        return buckets.wait()

    names = ["", ", usual", ", in place", ", usual in place"]
    calls = [lambda: step(lambda g: None), lambda: nd.parallel.all_reduce_gradients(comm, grads), lambda: begun(nd.parallel.Buckets(comm)),
             lambda: begun(BucketsOn(comm, usual)), lambda: begun(BucketsOn(comm, urgent, True)), lambda: begun(BucketsOn(comm, usual, True))]
    urgent = nd.Stream(device, priority=-100)
    if peer:
        group = urgent_group(peer)
        step_there(there.append)

        def begun_there(buckets):
            step_there(buckets.add)
            buckets.wait()

        calls += [lambda: step_there(lambda g: None), lambda: torch_exchange(peer, there), lambda: begun_there(There(peer)),
                  lambda: begun_there(There(peer, group))] + [call for call, _ in others]
    times = in_turns(comm, calls, wait_for(comm, peer))
    t, u = times[:2]
    lines = [line(name + w, t, u, b) + f"; {comm.size * t / b:.2f} x one" for w, b in zip(names, times[2:])]
    if peer:
        t, u = times[6:8]
        lines += [line(name + w, t, u, b) + f"; {comm.size * t / b:.2f} x"
                  for w, b in zip([", torch", ", torch urgent"] + [n for _, n in others], times[8:])]
    return "\n".join(lines)


def buckets(comm, peer):
    a = nd.ones((WIDTH, WIDTH), dtype=nd.bfloat16, device=comm.device)
    grads = [nd.empty_like(a) for _ in range(GRADIENTS)]

    def step(each):
        for g in grads:
            nd.matmul(a, a, out=g)
            each(g)

    if not peer:
        return compare(comm, peer, "buckets", step, None, [])
    torch = peer[0]
    ta = torch.ones(WIDTH, WIDTH, device="cuda", dtype=torch.bfloat16)
    tg = [torch.empty_like(ta) for _ in range(GRADIENTS)]

    def step_there(each):
        for g in tg:
            torch.mm(ta, ta, out=g)
            each(g)

    return compare(comm, peer, "buckets", step, step_there, [])


class Network:
    """LAYERS products with relu between them, and their gradients by hand."""

    def __init__(self, comm):
        self.x = nd.random.normal(size=(ROWS, WIDTH), dtype=nd.float32, device=comm.device).astype(nd.bfloat16)
        self.w = [(nd.random.normal(size=(WIDTH, WIDTH), dtype=nd.float32, device=comm.device) * WIDTH**-0.5).astype(nd.bfloat16)
                  for _ in range(LAYERS)]

    def step(self, each, note=lambda what: None):
        """each: takes the gradients, those of the last layer first."""
        h = [self.x]
        for w in self.w:
            h.append(nd.relu(h[-1] @ w))
        g = h[-1]
        note("forward")
        for i in reversed(range(LAYERS)):
            each(nd.matrix_transpose(h[i]) @ g)
            note(f"dw{i}")
            if i:
                g = g @ nd.matrix_transpose(self.w[i])
                note(f"dx{i}")
                g = nd.where(h[i] > 0, g, 0.0)
                note("where")


def layers(comm, peer):
    net = Network(comm)
    if not peer:
        return compare(comm, peer, "layers", net.step, None, [])
    torch, dist = peer
    linear = [torch.nn.Linear(WIDTH, WIDTH, bias=False, device="cuda", dtype=torch.bfloat16) for _ in range(LAYERS)]
    model = torch.nn.Sequential(*[m for one in linear for m in (one, torch.nn.ReLU())])
    together = torch.nn.parallel.DistributedDataParallel(model, gradient_as_bucket_view=True, static_graph=True)
    tx = torch.randn(ROWS, WIDTH, device="cuda").bfloat16()
    tw = [(torch.randn(WIDTH, WIDTH, device="cuda") * WIDTH**-0.5).bfloat16() for _ in range(LAYERS)]

    def by_hand(each):
        h = [tx]
        for w in tw:
            h.append(torch.relu(h[-1] @ w))
        g = h[-1]
        for i in reversed(range(LAYERS)):
            each(h[i].T @ g)
            if i:
                g = torch.where(h[i] > 0, g @ tw[i].T, 0.0)

    def by_module(m):
        for p in m.parameters():
            p.grad = None
        out = m(tx)
        out.backward(out.detach())

    with torch.no_grad():
        others = [(lambda: by_module_with_grad(model), ", module alone"), (lambda: by_module_with_grad(together), ", DDP")]

        def by_module_with_grad(m):
            with torch.enable_grad():
                by_module(m)

        return compare(comm, peer, "layers", net.step, by_hand, others)


def timeline(comm, peer):
    """Of the exchange on a stream of each priority: milliseconds from the start, of rank 0."""
    net, lines = Network(comm), []
    for name, stream in (("urgent", nd.Stream(comm.device, priority=-100)), ("usual", nd.Stream(comm.device))):
        for _ in range(4):
            noted = []

            def note(what, on=None):
                event = nd.Event(comm.device, timing=True)
                event.record(on)
                noted.append((what, event))

            class Noted(BucketsOn):
                __slots__ = ()

                def add(self, gradient):
                    self._stream.wait_stream(nd.current_stream(gradient.device))
                    note("+x", stream)
                    super().add(gradient)
                    note("x", stream)

            comm.barrier()
            note("start")
            exchange = Noted(comm, stream)
            net.step(exchange.add, note)
            exchange.wait()
            note("end")
            nd.synchronize(comm.device)
        start = noted[0][1]
        lines.append(f"timeline, {name}: " + " ".join(f"{what} {start.elapsed_time(e):.2f}" for what, e in noted[1:]))
    return "\n".join(lines)


ROWS_OF = {"behind": behind, "buckets": buckets, "layers": layers, "timeline": timeline}


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
