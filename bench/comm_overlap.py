#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How much of an exchange hides behind computing, on GPUs; PyTorch's beside, in turns in the same processes.

    ndock run -n 2 --device cuda python bench/comm_overlap.py [--only buckets] [--no-torch]

    behind     one all_reduce of 64 MiB beside four products of float32 that do not need it
    buckets    a backward pass of eight products of bfloat16, whose results are gradients of 32 MiB, each exchanged while the next ones
               are computed, beside one exchange at its end
    layers     forward and backward pass of a network of bfloat16 with the exchange of its gradients (nd.parallel.Buckets; PyTorch by the
               same calls, and by DistributedDataParallel), and without: what N GPUs do more than one
    deep       the same with twelve layers
    updated    the same, and what the gradients are for: an update of the weights, all after the last exchange, or each after its own
               (Buckets.results)
    sums       an exchange of 32 MiB that sums, and one that averages, of two dtypes
    timeline   of one pass of that network: when each kernel of it runs, on rank 0, by PyTorch's profiler, which sees ours too

"usual": the exchange's stream is no more urgent than computing. "in place": gradients are exchanged where they are. Both average by NCCL,
as PyTorch's same calls do; the others are nd.parallel.Buckets, which divides before it sums, as DistributedDataParallel does. "inputs first": the
gradient for a layer's input is computed before that for its weights, as PyTorch's autograd does, so that an exchange begins beside the
short step between two products. "in halves": each gradient is two products and two exchanges, so that less is left at the end. The part
that is hidden: of the shorter of computing and exchanging, what the two together do not take longer than the longer one. The last bucket
has nothing to hide behind, which is a bound, and an exchange needs multiprocessors too (NCCL_MAX_CTAS bounds how many). GPUs whose power
is bounded slow down while they compute and not while they exchange: so each call is timed after a rest (--rest, milliseconds),
--at-once of them, in another order each time."""
import argparse
import json
import os
import re
import tempfile
import time

from comm import peer_of, tell
from comm_models import WIDTH, BucketsOn, ModuleThere, Network, There, urgent_group

import ndock as nd

LAYERS, DEEP, GRADIENTS, ROUNDS = 4, 12, 8, 8
HOW = argparse.Namespace(rest=20.0, at_once=1)


def in_turns(comm, calls, wait):
    """Seconds of each call, the least of ROUNDS."""
    best = [float("inf")] * len(calls)
    for call in calls * 2:
        call()
    for k in range(ROUNDS):
        order = [(i * (1 + 2 * (k % 3)) + k) % len(calls) for i in range(len(calls))]
        for i in order if len(set(order)) == len(calls) else range(len(calls)):
            wait()
            time.sleep(HOW.rest / 1000)
            comm.barrier()
            start = time.perf_counter()
            for _ in range(HOW.at_once):
                calls[i]()
            wait()
            best[i] = min(best[i], (time.perf_counter() - start) / HOW.at_once)
    return best


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


def compare(comm, peer, name, step, step_there, others, inputs_first=None, halves=None):
    """step(each) computes here, and gives each gradient to each(); inputs_first, halves: in another order; others: more calls, named."""
    grads, there, device = [], [], comm.device
    usual = nd.Stream(device)
    step(grads.append)

    def begun(buckets, step=step):
        step(buckets.add)
        return buckets.wait()

    names = ["", ", usual", ", in place", ", usual in place"]
    calls = [lambda: step(lambda g: None), lambda: nd.parallel.all_reduce_gradients(comm, grads), lambda: begun(nd.parallel.Buckets(comm)),
             lambda: begun(BucketsOn(comm, usual)), lambda: begun(BucketsOn(comm, urgent, True)), lambda: begun(BucketsOn(comm, usual, True))]
    urgent = nd.Stream(device, priority=-100)
    if inputs_first:
        names += [", inputs first", ", usual, inputs first", ", in halves", ", inputs first, in halves"]
        calls += [lambda: begun(nd.parallel.Buckets(comm), inputs_first), lambda: begun(BucketsOn(comm, usual), inputs_first),
                  lambda: begun(nd.parallel.Buckets(comm), halves), lambda: begun(nd.parallel.Buckets(comm), lambda each: inputs_first(each, 2))]
    k = len(calls)
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
    lines = [line(name + w, t, u, b) + f"; {comm.size * t / b:.2f} x one" for w, b in zip(names, times[2:k])]
    lines[0] += f"; all but the last bucket would be {1 - 1 / len(grads):.2f}"
    if peer:
        t, u = times[k:k + 2]
        lines += [line(name + w, t, u, b) + f"; {comm.size * t / b:.2f} x"
                  for w, b in zip([", torch", ", torch urgent"] + [n for _, n in others], times[k + 2:])]
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


def layers(comm, peer, n_layers=LAYERS, name="layers"):
    net = Network(comm, n_layers)

    def inputs_first(each, pieces=1):
        net.step(each, True, pieces)

    def halves(each):
        net.step(each, pieces=2)

    if not peer:
        return compare(comm, peer, name, net.step, None, [], inputs_first, halves)
    there = ModuleThere(peer[0], n_layers)
    others = [(lambda: there.by_module(there.alone), ", module alone"), (lambda: there.by_module(there.together), ", DDP")]
    return compare(comm, peer, name, net.step, there.by_hand, others, inputs_first, halves)


def deep(comm, peer):
    return layers(comm, peer, DEEP, "deep")


def updated(comm, peer):
    net, wait = Network(comm, LAYERS), wait_for(comm, peer)

    def alone():
        grads = []
        net.step(grads.append)
        net.update(grads)

    def together(take):
        buckets = nd.parallel.Buckets(comm)
        net.step(buckets.add)
        net.update(take(buckets))

    names = ["after all", "as they come"]
    calls = [alone, lambda: together(nd.parallel.Buckets.wait), lambda: together(nd.parallel.Buckets.results)]
    if peer:
        there = ModuleThere(peer[0], LAYERS)
        names += ["DDP and SGD"]
        calls += [lambda: there.trained(there.alone), lambda: there.trained(there.together)]
    t, *both = in_turns(comm, calls, wait)
    alone_there = both.pop(2) if peer else t
    return "updated: " + ", ".join(f"{name} {1e6 * a:.0f} us alone, {1e6 * b:.0f} together, {comm.size * a / b:.2f} x one"
                                   for name, a, b in zip(names, (t, t, alone_there), both))


def sums(comm, peer):
    calls, names = [], []
    for dtype in (nd.bfloat16, nd.float32):
        x = nd.zeros((32 << 20) // dtype.itemsize, dtype=dtype, device=comm.device)
        for op in ("sum", "avg"):
            names.append(f"{dtype} {op}")
            calls.append(lambda x=x, op=op: [comm.all_reduce(x, op, out=x) for _ in range(4)])
    times = in_turns(comm, calls, wait_for(comm, peer))
    return "four all_reduce of 32 MiB: " + ", ".join(f"{name} {1e6 * t:.0f} us" for name, t in zip(names, times))


def kernels_of(torch, call, meet):
    """(kind, start, end) of each kernel of one call, in microseconds from the first; the ranks begin it together."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]) as p:
        for _ in range(2):  # of which the first finds what profiling needs
            call()
            meet()
    with tempfile.NamedTemporaryFile(suffix=".json") as f:
        p.export_chrome_trace(f.name)
        with open(f.name) as text:
            events = sorted((e for e in json.load(text)["traceEvents"] if e.get("cat") == "kernel"), key=lambda e: e["ts"])
    kinds = [("x", "nccl"), ("m", "nvjet|gemm|cutlass|sm90|mma")]
    found = [(next((k for k, words in kinds if re.search(words, e["name"])), "e"), e["ts"], e["ts"] + e["dur"]) for e in events]
    # Between rests, each of which ends with the barrier's exchange: the last call.
    rests = [0, 0] + [i for i in range(1, len(found)) if found[i][1] - found[i - 1][2] > 500 * HOW.rest]
    found = found[rests[-2]:rests[-1] or len(found)]
    found = found[next((i for i, k in enumerate(found) if k[0] == "m"), 0):]
    return [(kind, a - found[0][1], b - found[0][1]) for kind, a, b in found]


def timeline(comm, peer):
    """x: an exchange, m: a product, e: what goes by elements; with start and end."""
    if not peer:
        return "timeline: PyTorch's profiler makes it"
    torch, lines = peer[0], []
    net, there, wait = Network(comm, LAYERS), ModuleThere(peer[0], LAYERS), wait_for(comm, peer)
    usual = nd.Stream(comm.device)

    def meet():
        wait()
        time.sleep(HOW.rest / 1000)
        comm.barrier()

    def begun(buckets, **how):
        net.step(buckets.add, **how)
        return buckets.wait()

    def begun_there(works):
        there.by_hand(works.add)
        works.wait()

    for name, call in (("here", lambda: begun(nd.parallel.Buckets(comm))),
                       ("usual, inputs first", lambda: begun(BucketsOn(comm, usual), inputs_first=True)),
                       ("torch", lambda: begun_there(There(peer))), ("DDP", lambda: there.by_module(there.together))):
        for _ in range(3):
            call()
        kernels = kernels_of(torch, call, meet)
        lines.append(f"timeline, {name}: " + " ".join(f"{kind}{a:.0f}-{b:.0f}" for kind, a, b in kernels if b - a > 15))
    return "\n".join(lines)


ROWS_OF = {"behind": behind, "buckets": buckets, "layers": layers, "deep": deep, "updated": updated, "sums": sums, "timeline": timeline}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", choices=list(ROWS_OF), nargs="+")
    parser.add_argument("--no-torch", action="store_true")
    parser.add_argument("--rest", type=float, default=HOW.rest)
    parser.add_argument("--at-once", type=int, default=HOW.at_once)
    args = parser.parse_args(namespace=HOW)
    comm = nd.comm.world(os.environ.get("NDOCK_DEVICE", "cuda:0"))
    try:
        peer = None if args.no_torch else peer_of(comm)
    except Exception as e:
        peer = None
        print(f"no PyTorch beside: {e}", flush=True)
    for name, function in ROWS_OF.items():
        if not args.only or name in args.only:
            tell(comm, name, function, comm, peer)


if __name__ == "__main__":
    main()
