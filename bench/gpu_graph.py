#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Graphs on a GPU beside PyTorch's and plain CUDA's, in one run.

    bench/gpu_graph.py [--device cuda:0] [--nodes 100] [--rounds 30]

replay: microseconds a node, of many launches that are waited for together. enqueue: microseconds until one launch returns,
the device idle; each on a stream of its own, and ours and PyTorch's on the default one, which the driver takes longer for. Best
of the rounds, peers in turn. The plain graph is as many launches of one kernel, captured and launched by
the driver through ctypes, whose own cost (of an empty call) is taken off; "C API" is nd_graph_launch called in the same way. What Python
takes of ours is told beside it: an empty call of a builtin, and giving the GIL away and taking it back, by an empty call of the driver
with and without that. rebind: one argument that every node reads, beside what the driver takes to give as many nodes other parameters.
A row that fails is printed, and the rest goes on. Each is quick: the whole takes a few seconds."""
import argparse
import ctypes
import time

PTX = b"""
.version 7.0
.target sm_70
.address_size 64
.visible .entry add_one(.param .u64 data, .param .u32 count)
{
    .reg .pred %p<2>; .reg .f32 %f<3>; .reg .b32 %r<6>; .reg .b64 %rd<5>;
    ld.param.u64 %rd1, [data];
    ld.param.u32 %r2, [count];
    mov.u32 %r3, %ctaid.x;
    mov.u32 %r4, %ntid.x;
    mov.u32 %r5, %tid.x;
    mad.lo.s32 %r1, %r3, %r4, %r5;
    setp.ge.s32 %p1, %r1, %r2;
    @%p1 bra DONE;
    cvta.to.global.u64 %rd2, %rd1;
    mul.wide.s32 %rd3, %r1, 4;
    add.s64 %rd4, %rd2, %rd3;
    ld.global.f32 %f1, [%rd4];
    add.f32 %f2, %f1, 0f3F800000;
    st.global.f32 [%rd4], %f2;
DONE:
    ret;
}
\x00"""
N = 64 * 64


def best(fn, rounds):
    took = 1e9
    for _ in range(rounds):
        start = time.perf_counter()
        fn()
        took = min(took, time.perf_counter() - start)
    return took * 1e6


class Ours:
    name = "ndock"

    def __init__(self, device, nodes):
        import ndock as nd

        self.nd, self.device = nd, device
        self.x = nd.ones((64, 64), dtype=nd.float32, device=device)
        self.work = lambda: self.chain(nodes)
        self.work()
        with nd.graph(device=device) as self.graph:
            self.result = self.work()
        self.launch, self.eager = self.graph.launch, self.work
        self.launch()
        value = float(nd.sum(self.result)) / N
        assert value == nodes + 1, f"the graph gives {value}, not {nodes + 1}"

        self.own = nd.Stream(device)

    def on_own(self, function):
        """On a stream of its own, waited for as the plain one is: behind a wait for the whole device a launch takes longer."""
        self.wait = self.own.synchronize
        with self.own:
            result = function()
        del self.wait
        return result

    def chain(self, nodes):
        y = self.x
        for _ in range(nodes):
            y = y + self.x
        return y

    def wait(self):
        self.nd.synchronize(self.device)


class Direct:
    """nd_graph_launch by ctypes, as the plain graph is launched."""
    name = "C API"

    def __init__(self, device, nodes):
        import ndock_ctypes

        with open("/proc/self/maps") as maps:  # the library that the package has loaded
            path = next(line.split()[-1] for line in maps if "/libndock.so" in line)
        lib = self.lib = ndock_ctypes.Library(path, device)
        self.stream, self.graph = ctypes.c_void_p(), ctypes.c_void_p()
        lib.call("nd_stream_create", lib.device, None, ctypes.byref(self.stream))
        lib.call("nd_stream_push", self.stream)
        self.kept = [lib.apply("add", lib.uniform((64, 64)), lib.uniform((64, 64)))]
        lib.call("nd_graph_begin", self.stream, None, ctypes.byref(self.graph))
        for _ in range(nodes):
            self.kept.append(lib.apply("add", self.kept[-1], self.kept[0]))
        lib.call("nd_graph_end", self.graph)
        lib.call("nd_stream_pop", self.stream)
        self.launch_fn, self.eager = lib.c.nd_graph_launch, None
        self.empty = best(lambda: lib.c.nd_ndim(self.kept[0].handle), 1000)

    def on_own(self, function):
        return function()

    def launch(self):
        self.launch_fn(self.graph, self.stream, None)

    def wait(self):
        self.lib.call("nd_stream_synchronize", self.stream)


class Torch:
    name = "torch"

    def __init__(self, device, nodes):
        import torch

        self.torch = torch
        self.x = torch.ones((64, 64), device="cuda")
        side = torch.cuda.Stream()
        with torch.cuda.stream(side):
            self.chain(nodes)
        torch.cuda.synchronize()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.result = self.chain(nodes)
        self.launch, self.eager = self.graph.replay, lambda: self.chain(nodes)
        self.wait = torch.cuda.synchronize
        self.own = torch.cuda.Stream()

    chain = Ours.chain

    def on_own(self, function):
        device, self.wait = self.wait, self.own.synchronize
        with self.torch.cuda.stream(self.own):
            result = function()
        self.wait = device
        return result


class Plain:
    name = "plain CUDA"

    def __init__(self, device, nodes):
        cu = self.cu = ctypes.CDLL("libcuda.so.1")
        word = ctypes.c_void_p
        context, module, function, self.stream, graph, self.exec = word(), word(), word(), word(), word(), word()
        self.data, number = ctypes.c_uint64(), ctypes.c_int()
        self.done("cuInit", 0)
        self.done("cuDeviceGet", ctypes.byref(number), int(device.partition(":")[2] or 0))
        self.done("cuDevicePrimaryCtxRetain", ctypes.byref(context), number)
        self.done("cuCtxSetCurrent", context)
        self.done("cuModuleLoadData", ctypes.byref(module), PTX)
        self.done("cuModuleGetFunction", ctypes.byref(function), module, b"add_one")
        self.done("cuStreamCreate", ctypes.byref(self.stream), 1)
        self.done("cuMemAlloc_v2", ctypes.byref(self.data), ctypes.c_size_t(4 * N))
        count = ctypes.c_uint32(N)
        values = (ctypes.c_void_p * 2)(ctypes.addressof(self.data), ctypes.addressof(count))
        self.done("cuStreamBeginCapture_v2", self.stream, 1)
        for _ in range(nodes):
            self.done("cuLaunchKernel", function, N // 256, 1, 1, 256, 1, 1, 0, self.stream, values, None)
        self.done("cuStreamEndCapture", self.stream, ctypes.byref(graph))
        self.done("cuGraphInstantiateWithFlags", ctypes.byref(self.exec), graph, ctypes.c_uint64(0))
        self.graph, self.values = graph, values
        self.launch_fn, self.query = cu.cuGraphLaunch, cu.cuDriverGetVersion
        self.empty = best(lambda: self.query(ctypes.byref(number)), 1000)
        kept = ctypes.PyDLL("libcuda.so.1").cuDriverGetVersion  # without giving the GIL away
        there = ctypes.byref(number)
        self.gil = max(self.cold(lambda: self.query(there)) - self.cold(lambda: kept(there)), 0)
        self.eager = None

    def on_own(self, function):
        return function()

    def cold(self, fn):
        """As launches are timed: after a wait."""
        took = 1e9
        for _ in range(30):
            self.wait()
            took = min(took, best(fn, 1))
        return took

    def done(self, name, *args):
        code = getattr(self.cu, name)(*args)
        if code:
            raise RuntimeError(f"{name}: CUDA error {code}")

    def launch(self):
        self.launch_fn(self.exec, self.stream)

    def set_params_us(self, nodes):
        """What the driver takes to give a node of a ready graph the parameters that it has."""
        class Params(ctypes.Structure):  # CUDA_KERNEL_NODE_PARAMS_v2
            _fields_ = [("func", ctypes.c_void_p), ("sizes", ctypes.c_uint * 7), ("values", ctypes.c_void_p),
                        ("extra", ctypes.c_void_p), ("kernel", ctypes.c_void_p), ("context", ctypes.c_void_p)]

        count, params = ctypes.c_size_t(nodes), Params()
        node = (ctypes.c_void_p * nodes)()
        self.done("cuGraphGetNodes", self.graph, node, ctypes.byref(count))
        self.done("cuGraphKernelNodeGetParams_v2", ctypes.c_void_p(node[0]), ctypes.byref(params))
        call, where, calls = self.cu.cuGraphExecKernelNodeSetParams_v2, ctypes.byref(params), [ctypes.c_void_p(n) for n in node]
        self.done("cuGraphExecKernelNodeSetParams_v2", self.exec, calls[0], where)

        def each():
            for n in calls:
                call(self.exec, n, where)
        return max(best(each, 20) / nodes - self.empty, 0)

    def wait(self):
        self.done("cuStreamSynchronize", self.stream)


def replay_us(peer, nodes, times=20):
    def many():
        for _ in range(times):
            peer.launch()
        peer.wait()
    return best(many, 5) / times / nodes


def enqueue_us(peer, rounds):
    took = 1e9
    for _ in range(rounds):
        peer.wait()
        took = min(took, best(peer.launch, 1))
    peer.wait()
    return max(took - getattr(peer, "empty", 0), 0.01)


def row(name, figures):
    print(f"{name:34}" + "".join(f"{f:>14}" for f in figures), flush=True)


def graphs(args):
    peers = []
    for kind in (Ours, Torch, Plain, Direct):
        try:
            peers.append(kind(args.device, args.nodes))
            peers[-1].launch()
            peers[-1].wait()
        except Exception as e:
            print(f"{kind.name}: {type(e).__name__}: {e}")
    row(f"graph of {args.nodes} adds of 64 x 64", [p.name for p in peers])
    replay = [1e9] * len(peers)
    enqueue, default = [1e9] * len(peers), [1e9] * len(peers)
    for _ in range(3):
        for i, p in enumerate(peers):
            replay[i] = min(replay[i], replay_us(p, args.nodes))
            enqueue[i] = min(enqueue[i], p.on_own(lambda p=p: enqueue_us(p, args.rounds)))
            default[i] = min(default[i], enqueue_us(p, args.rounds))
    row("replay, us a node", [f"{t:.3f}" for t in replay])
    row("enqueue, us a launch", [f"{t:.2f}" for t in enqueue])
    row("   on the default stream", [f"{t:.2f}" for t in default[:2]])
    eager = [f"{best(lambda p=p: (p.eager(), p.wait()), 5) / args.nodes:.3f}" if p.eager else "" for p in peers]
    row("without a graph, us an add", eager)
    at = {p.name: i for i, p in enumerate(peers)}
    if len(peers) == 4:
        i, plain = at["torch"], at["plain CUDA"]
        print(f"ratio to plain CUDA: replay {replay[0] / replay[plain]:.3f} (aim 1.07), enqueue {enqueue[at['C API']] / enqueue[plain]:.2f} "
              f"(aim 1.3), from Python {enqueue[0] / enqueue[plain]:.2f}; to torch: replay {replay[0] / replay[i]:.3f}, "
              f"enqueue {enqueue[0] / enqueue[i]:.2f}")
        python = peers[plain].cold(int) + peers[plain].gil
        print(f"   of ours Python's: an empty call {peers[plain].cold(int):.2f} us, the GIL given away and taken {peers[plain].gil:.2f} us; "
              f"without these {(enqueue[0] - python) / enqueue[plain]:.2f} of plain CUDA")
        row("the driver, us a node given parameters", [f"{peers[plain].set_params_us(args.nodes):.3f}"])
    return peers[0] if peers and isinstance(peers[0], Ours) else None


def conditions(args):
    """A loop of 100 rounds whose end an array on the device decides, beside the same where the host looks at it each time."""
    import ndock as nd

    x = nd.zeros((64, 64), dtype=nd.float32, device=args.device)
    head = x[0, :1]
    go = head < 100

    def round_of_it():
        nd.add(x, 1, out=x)
        nd.less(head, 100, out=go)
    round_of_it()
    with nd.graph(device=args.device) as body:
        round_of_it()
    with nd.graph(device=args.device) as g:
        nd.less(head, 100, out=go)
        g.while_loop(go, body)

    def run():
        x[:] = 0
        g.launch()
        nd.synchronize(args.device)

    def by_host():
        x[:] = 0
        while bool(head < 100):
            body.launch()
    run(), run()
    value = float(x[0, 0])
    enqueue = []
    for _ in range(5):
        x[:] = 0
        nd.synchronize(args.device)
        enqueue.append(best(g.launch, 1))
        nd.synchronize(args.device)
    who = "device" if '"decided_by": "device"' in g.text() else "host"
    row("a loop's round, us", [f"{best(run, 5) / 100:.2f}", f"{best(by_host, 3) / 100:.2f}"])
    print(f"   decided by the {who}, then by Python; its launch returns after {min(enqueue):.1f} us"
          + ("" if value == 100 else f"   WRONG: {value}"))


def rebinding(ours, args):
    nd, g = ours.nd, ours.graph
    arrays = [nd.full((64, 64), float(v), dtype=nd.float32, device=args.device) for v in (2, 3)]
    number = g.argument(ours.x)
    for i in range(4):
        g.rebind(number, arrays[i % 2])
    turn = [0]

    def once():
        turn[0] += 1
        g.rebind(number, arrays[turn[0] % 2])
    def launched():
        once()
        g.launch()
        ours.wait()

    def only_launch():
        g.launch()
        ours.wait()
    launched()
    took = best(once, args.rounds)
    # A node that cannot be changed in place costs a capture at the next launch.
    both = max(best(launched, args.rounds) - best(only_launch, args.rounds), took)
    launched()
    value, want = float(nd.sum(ours.result)) / N, (args.nodes + 1) * (2 + turn[0] % 2)
    row(f"rebind, us ({args.nodes} nodes read it)", [f"{took:.2f}"])
    row("   with what the next launch takes more", [f"{both:.2f}"])
    row("   us a node beyond 5 (aim 0.3)", [f"{max(both - 5, 0) / args.nodes:.3f}"])
    print("   values after it are right" if value == want else f"   WRONG: {value}, not {want}")


def random_numbers(args):
    import ndock as nd

    def draw(rng):
        return [rng.normal(size=(64, 64), dtype=nd.float32, device=args.device) for _ in range(10)]
    eager, rng = nd.random.Generator(1), nd.random.Generator(1)
    for _ in range(3):
        want = draw(eager)
    with nd.graph(device=args.device) as g:
        got = draw(rng)
    for _ in range(3):
        g.launch()
    same = all(bool(nd.all(a == b)) for a, b in zip(want, got))
    row("launch with 10 draws, us", [f"{best(g.launch, args.rounds):.2f}"])
    print("   the third launch draws as the third run" if same else "   WRONG numbers")


def recaptured(args):
    """A product of cuBLASLt cannot be changed in place: rebinding captures again and updates."""
    import ndock as nd

    a, b = (nd.ones((256, 256), dtype=nd.float32, device=args.device) for _ in range(2))
    other = nd.full((256, 256), 2.0, dtype=nd.float32, device=args.device)
    a @ b
    with nd.graph(device=args.device) as g:
        c = a @ b
        d = nd.softmax(c, axis=-1) if hasattr(nd, "softmax") else nd.exp(c * 1e-3)
    number = g.argument(a)
    g.rebind(number, other)
    g.launch()
    value = float(nd.sum(c))
    turn = [0]

    def once():
        turn[0] += 1
        g.rebind(number, (a, other)[turn[0] % 2])
        g.launch()
    row("rebind a product and launch, us", [f"{best(once, args.rounds):.2f}"])
    print("   the product is right" if value == 2.0 * 256**3 else f"   WRONG: {value}")
    del d


def memory(args):
    import ndock as nd

    x = nd.ones((64, 64), dtype=nd.float32, device=args.device)

    def once():
        with nd.graph(device=args.device) as g:
            y = x + x
        g.launch()
        nd.synchronize(args.device)
        del g, y
    once()
    before = nd.memory.usage(args.device)[0]
    start = time.perf_counter()
    for _ in range(200):
        once()
    took = time.perf_counter() - start
    nd.memory.empty_cache(args.device)
    row("capture, launch, destroy, us", [f"{took / 200 * 1e6:.0f}"])
    row("   bytes lost in 200 of these", [f"{before - nd.memory.usage(args.device)[0]}"])


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--device", default="cuda:0")
    p.add_argument("--nodes", type=int, default=100)
    p.add_argument("--rounds", type=int, default=30)
    args = p.parse_args()
    ours = None
    for name, part in (("graphs", graphs), ("rebinding", lambda a: ours and rebinding(ours, a)),
                       ("conditions", conditions), ("random numbers", random_numbers), ("products", recaptured),
                       ("memory", memory)):
        try:
            answer = part(args)
            ours = answer if name == "graphs" else ours
        except Exception as e:
            print(f"{name}: {type(e).__name__}: {e}", flush=True)


if __name__ == "__main__":
    main()
