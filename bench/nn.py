#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Neural operations: ndock from Python beside PyTorch, in one run.

    bench/nn.py [--device cuda:0|cpu] [--only WORD] [--seconds 0.1]

A figure is the least time of a call in microseconds, of rounds in which the two take turns; in brackets PyTorch's time over ndock's
(above 1, ndock is faster) and the share of the copy ceiling, where bytes that must move are known: the ceiling is a copy of the same
device in the same run, and batch_norm with statistics of the whole must read twice. A row that fails says why, and the rest goes on."""
import argparse
import time

import ndock as nd

try:
    import torch
except Exception as error:
    print(f"# without PyTorch: {error}")
    torch = None


def arguments(seconds=0.1, dtypes=None):
    """What the benches of neural operations are told: the device, a word that rows have, seconds a row, and dtypes where there are several."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--only", default="")
    parser.add_argument("--seconds", type=float, default=seconds)
    if dtypes:
        parser.add_argument("--dtypes", default=dtypes)
    return parser


class Bench:
    def __init__(self, device, seconds, only):
        self.device, self.seconds, self.only = device, seconds, only
        self.peer = None
        if torch:
            self.peer = "cuda" if device.startswith("cuda") else "cpu"
            if self.peer == "cuda" and not torch.cuda.is_available():
                self.peer = None
        self.ceiling = None

    def wait(self):
        nd.synchronize(self.device)
        if self.peer == "cuda":
            torch.cuda.synchronize()

    def once(self, f, n):
        self.wait()
        start = time.perf_counter()
        for _ in range(n):
            f()
        self.wait()
        return (time.perf_counter() - start) / n

    def settle(self):
        """Until no thread of the process runs any more. Those of OpenMP look for work for some milliseconds after a call,
        on the processors that the next contender's threads would have."""
        for _ in range(100):
            before = time.process_time()
            time.sleep(0.002)
            if time.process_time() - before < 0.0005:
                return

    def turn(self, f, n):
        if self.peer == "cpu":
            self.settle()
            f()
        return self.once(f, n)

    def least(self, functions):
        """The least time of a call of each; they take turns."""
        counts = []
        for f in functions:
            self.once(f, 1)
            counts.append(max(1, int(self.seconds / 5 / max(self.once(f, 1), 1e-6))))
        times = [[] for _ in functions]
        for _ in range(5):
            for f, n, t in zip(functions, counts, times):
                t.append(self.turn(f, n))
        return [min(t) for t in times]

    def row(self, name, make, nbytes=None, flops=None):
        """make(): ndock's call, and PyTorch's or None. Returns PyTorch's time over ndock's and the share of a copy's speed,
        None for what is not known; None for a row that did not run."""
        if self.only and self.only not in name:
            return None
        try:
            ours, theirs = make()
            theirs = theirs if self.peer else None
            t = self.least([ours] + ([theirs] if theirs else []))
            text = f"{name:44} {t[0] * 1e6:10.1f} us"
            text += f"  torch {t[1] * 1e6:10.1f} ({t[1] / t[0]:.2f})" if theirs else ""
            if nbytes:
                text += f"  {nbytes / t[0] / 1e9:7.0f} GB/s" + (f" ({nbytes / t[0] / self.ceiling:.2f} of a copy)" if self.ceiling else "")
            if flops:
                text += f"  {flops / t[0] / 1e12:7.2f} TFLOP/s"
            print(text, flush=True)
            share = nbytes / t[0] / self.ceiling if nbytes and self.ceiling else None
            if name.startswith("copy"):
                self.ceiling = nbytes / t[0]
            return t[1] / t[0] if theirs else None, share
        except Exception as error:
            print(f"{name:44} failed: {type(error).__name__}: {error}", flush=True)
            return None

    def pair(self, shape, dtype, grad=False):
        """The same random numbers in both."""
        x = nd.astype(nd.random.default_rng(1).standard_normal(shape, dtype=nd.float32, device=self.device), dtype)
        if not self.peer:
            return x, None
        t = torch.randn(shape, device=self.peer, dtype=getattr(torch, dtype))
        return x, t.requires_grad_() if grad else t


def losses(b, F, dtype, size, k):
    """Embeddings, whose bytes are those of the rows that are read and written, and of the table for their gradient; losses by mean, which read two
    arrays, and their gradients, which write a third."""
    words, width, n = 50000, 1024, 32768 // k
    w, tw = b.pair((words, width), dtype)
    g, tg = b.pair((n, width), dtype)
    i = nd.astype(nd.random.default_rng(3).integers(0, words, n, device=b.device), nd.int64)
    ti = torch.randint(0, words, (n,), device=b.peer) if b.peer else None
    b.row(f"embedding {dtype}", lambda: (lambda: nd.nn.embedding(i, w), lambda: F.embedding(ti, tw)), 2 * size * n * width)
    b.row(f"embedding_grad {dtype}", lambda: (lambda: nd.nn.embedding_grad(g, i, words),
                                              lambda: torch.ops.aten.embedding_dense_backward(tg, ti, words, -1, False)), size * (n + words) * width)
    x, t = b.pair((2 ** 25 // k,), dtype, True)
    y, ty = b.pair((2 ** 25 // k,), dtype)
    one = nd.astype(nd.ones((), device=b.device), dtype)
    for name in ("mse_loss", "binary_cross_entropy_with_logits", "kl_div", "huber_loss"):
        ours, theirs, grad = getattr(nd.nn, name), getattr(F, name, None), getattr(nd.nn, name + "_grad")

        def backward():
            loss = theirs(t, ty)
            return lambda: torch.autograd.grad(loss, t, retain_graph=True)
        b.row(f"{name} {dtype}", lambda: (lambda: ours(x, y), lambda: theirs(t.detach(), ty)), 2 * size * x.size)
        b.row(f"{name}_grad {dtype}", lambda: (lambda: grad(one, x, y), backward() if b.peer else None), 3 * size * x.size)


def rows(b, small):
    k = 8 if small else 1
    F = torch.nn.functional if torch else None
    n = 2 ** 26 // k
    x, t = b.pair((n,), "float32")
    b.row("copy f32", lambda: (lambda: x.copy(), lambda: t.clone()), 8 * n)
    for dtype, size in (("bfloat16", 2), ("float32", 4)):
        r, c = 16384 // k, 4096
        x, t = b.pair((r, c), dtype, True)
        g, tg = b.pair((r, c), dtype)
        w, tw = b.pair((c,), dtype)

        def backward(make):
            """PyTorch's backward pass alone, by autograd."""
            if not b.peer:
                return None
            y = make()
            return lambda: torch.autograd.grad(y, t, tg if y.ndim else None, retain_graph=True)
        y = nd.nn.softmax(x)
        b.row(f"softmax_grad {dtype} {r}x{c}", lambda: (lambda: nd.nn.softmax_grad(g, y), backward(lambda: F.softmax(t, -1))), 3 * size * r * c)
        b.row(f"layer_norm_grad {dtype} (of the input)", lambda: (lambda: nd._ndock._layer_norm_grad(g, x, w, [1], 1e-5) and None,
                                                                 backward(lambda: F.layer_norm(t, (c,), tw))), 3 * size * r * c)
        r, c = 8192 // k, 32000
        x, t = b.pair((r, c), dtype, True)
        y = nd.astype(nd.random.default_rng(2).integers(0, c, r, device=b.device), nd.int64)
        ty = torch.randint(0, c, (r,), device=b.peer) if b.peer else None
        tg = None
        one = nd.astype(nd.ones((), device=b.device), dtype)
        b.row(f"cross_entropy {dtype} {r}x{c}", lambda: (lambda: nd.nn.cross_entropy(x, y), lambda: F.cross_entropy(t.detach(), ty)), size * r * c)
        b.row(f"cross_entropy_grad {dtype}", lambda: (lambda: nd.nn.cross_entropy_grad(one, x, y), backward(lambda: F.cross_entropy(t, ty))), 2 * size * r * c)
        x, t = b.pair((32 // k, 32, 1024, 128), dtype)
        c, s = b.pair((1024, 64), dtype)[0], b.pair((1024, 64), dtype)[0]
        for layout in ("half", "interleaved"):
            b.row(f"rope {layout} {dtype}", lambda: (lambda: nd.nn.rope(x, c, s, layout=layout), None), 2 * size * x.size)
        key = nd.random.Key(1)
        b.row(f"dropout {dtype}", lambda: (lambda: nd.nn.dropout(x, 0.1, key=key), lambda: F.dropout(t, 0.1)), 2 * size * x.size)
        losses(b, F, dtype, size, k)
        x, t = b.pair((32 // k, 64, 112, 112), dtype)
        w, tw = b.pair((64,), dtype)
        b.row(f"batch_norm training {dtype}", lambda: (lambda: nd.nn.batch_norm(x, None, None, w, w, training=True),
                                                       lambda: F.batch_norm(t, None, None, tw, tw, training=True)), 3 * size * x.size)
        b.row(f"group_norm {dtype}", lambda: (lambda: nd.nn.group_norm(x, 32, w, w), lambda: F.group_norm(t, 32, tw, tw)), 2 * size * x.size)
    for dtype, shape in (("bfloat16", (8 // min(k, 8), 16, 4096 // k, 64)), ("float32", (8 // min(k, 8), 16, 1024 // min(k, 2), 64))):
        q, tq = b.pair(shape, dtype)
        for causal in (False, True):
            flops = 4 * shape[0] * shape[1] * shape[2] ** 2 * shape[3] / (2 if causal else 1)
            b.row(f"attention {dtype} {'x'.join(map(str, shape))}{' causal' if causal else ''}",
                  lambda: (lambda: nd.nn.scaled_dot_product_attention(q, q, q, is_causal=causal),
                           lambda: F.scaled_dot_product_attention(tq, tq, tq, is_causal=causal)), flops=flops)
        out, lse = nd.nn.attention_with_logsumexp(q, q, q)
        b.row(f"attention_grad {dtype}", lambda: (lambda: nd.nn.scaled_dot_product_attention_grad(q, q, q, q, out, lse), None),
              flops=10 * shape[0] * shape[1] * shape[2] ** 2 * shape[3])


def main():
    options = arguments().parse_args()
    if torch:
        torch.set_grad_enabled(True)
    print(f"# {options.device}; PyTorch {torch.__version__ if torch else 'is not there'}")
    rows(Bench(options.device, options.seconds, options.only), options.device.startswith("cpu"))


if __name__ == "__main__":
    main()
