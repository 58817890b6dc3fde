#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Norms and their gradients, and what else reads memory once or twice: ndock from Python beside PyTorch, in one run.

    bench/norms.py [--device cuda:0|cpu] [--only WORD] [--seconds 0.05] [--dtypes "float32 bfloat16"]

Figures as in bench/nn.py. Bytes are those of the passes over memory that statistics of the whole need: three for batch_norm (the input twice,
the result), two by running statistics and for the others, five for a gradient of batches and groups (both inputs twice, the result), three for those of rows."""
import ndock as nd
from conv import last_of
from nn import Bench, arguments, torch


def autograd(b, make, wrt, tg):
    """PyTorch's backward pass alone, by autograd."""
    if not b.peer:
        return None
    y = make()
    return lambda: torch.autograd.grad(y, wrt, tg, retain_graph=True)


def images(b, F, dtype, size, k):
    n, c, h = 32 // k, 64, 112
    x, t = b.pair((n, c, h, h), dtype, True)
    g, tg = b.pair((n, c, h, h), dtype)
    w, tw = b.pair((c,), dtype, True)
    m, v, tm, tv = nd.zeros((c,), device=b.device), nd.ones((c,), device=b.device), None, None
    if b.peer:
        tm, tv = torch.zeros(c, device=b.peer), torch.ones(c, device=b.peer)
        d, dw = t.detach(), tw.detach()
    nbytes = size * x.size
    last = last_of(x)
    b.row(f"of that size: copied {dtype}", lambda: (lambda: x.copy(), lambda: d.clone()), 2 * nbytes)
    for name, y, u in (("", x, d if b.peer else None), (", channels last,", last, d.to(memory_format=torch.channels_last) if b.peer else None)):
        b.row(f"batch_norm, inference{name} {dtype}", lambda: (lambda: nd.nn.batch_norm(y, m, v, w, w), lambda: F.batch_norm(u, tm, tv, dw, dw)), 2 * nbytes)
    b.row(f"batch_norm {dtype}", lambda: (lambda: nd.nn.batch_norm(x, None, None, w, w, training=True),
                                          lambda: F.batch_norm(d, None, None, dw, dw, training=True)), 3 * nbytes)
    b.row(f"batch_norm, running, {dtype}", lambda: (lambda: nd.nn.batch_norm(x, m, v, w, w, training=True),
                                                    lambda: F.batch_norm(d, tm, tv, dw, dw, training=True)), 3 * nbytes)
    b.row(f"batch_norm_grad {dtype}", lambda: (lambda: nd.nn.batch_norm_grad(g, x, None, None, w, training=True),
                                               autograd(b, lambda: F.batch_norm(t, None, None, tw, tw, training=True), (t, tw), tg)), 5 * nbytes)
    for groups in (32, c):
        name = "group_norm" if groups == 32 else "instance_norm"
        b.row(f"{name} {dtype}", lambda: (lambda: nd.nn.group_norm(x, groups, w, w), lambda: F.group_norm(d, groups, dw, dw)), 2 * nbytes)
        b.row(f"{name}_grad {dtype}", lambda: (lambda: nd.nn.group_norm_grad(g, x, groups, w),
                                               autograd(b, lambda: F.group_norm(t, groups, tw, tw), (t, tw), tg)), 3 * nbytes)
    x, t = b.pair((65536 // k, 512), dtype, True)
    g, tg = b.pair((65536 // k, 512), dtype)
    w, tw = b.pair((512,), dtype, True)
    nbytes = size * x.size
    b.row(f"batch_norm of rows {dtype}", lambda: (lambda: nd.nn.batch_norm(x, None, None, w, w, training=True),
                                                  lambda: F.batch_norm(t.detach(), None, None, tw.detach(), tw.detach(), training=True)), 3 * nbytes)
    b.row(f"batch_norm_grad of rows {dtype}", lambda: (lambda: nd.nn.batch_norm_grad(g, x, None, None, w, training=True),
                                                       autograd(b, lambda: F.batch_norm(t, None, None, tw, tw, training=True), (t, tw), tg)), 5 * nbytes)


def rows(b, F, dtype, size, k):
    for r, c in ((16384 // k, 4096), (65536 // k, 512)):
        x, t = b.pair((r, c), dtype, True)
        g, tg = b.pair((r, c), dtype)
        w, tw = b.pair((c,), dtype, True)
        nbytes = size * x.size
        b.row(f"layer_norm_grad, weights, {dtype} {r}x{c}", lambda: (lambda: nd.nn.layer_norm_grad(g, x, c, w),
                                                                    autograd(b, lambda: F.layer_norm(t, (c,), tw, tw), (t, tw), tg)), 3 * nbytes)
        if torch and hasattr(F, "rms_norm"):
            b.row(f"rms_norm_grad, weights, {dtype} {r}x{c}", lambda: (lambda: nd.nn.rms_norm_grad(g, x, c, w),
                                                                      autograd(b, lambda: F.rms_norm(t, (c,), tw), (t, tw), tg)), 3 * nbytes)
    for shape, axis in (((4096 // k, 8192), 0), ((8192 // k, 4096), 1)):
        x, t = b.pair(shape, dtype)
        nbytes = size * x.size
        for name in ("softmax", "log_softmax"):
            b.row(f"{name} axis {axis} {dtype}", lambda: (lambda: getattr(nd.nn, name)(x, axis), lambda: getattr(torch, name)(t, axis)), 2 * nbytes)
        b.row(f"logsumexp axis {axis} {dtype}", lambda: (lambda: nd.logsumexp(x, axis=axis), lambda: torch.logsumexp(t, axis)), nbytes)


def main():
    options = arguments(0.05, "float32 bfloat16").parse_args()
    b = Bench(options.device, options.seconds, "")
    print(f"# {options.device}; PyTorch {torch.__version__ if torch else 'is not there'}")
    k = 8 if options.device.startswith("cpu") else 1
    x, t = b.pair((2 ** 26 // k,), "float32")
    b.row("copy f32", lambda: (lambda: x.copy(), lambda: t.clone()), 8 * x.size)
    b.only = options.only
    F = torch.nn.functional if torch else None
    for dtype in options.dtypes.split():
        size = 4 if dtype == "float32" else 2
        for part in (images, rows):
            try:
                part(b, F, dtype, size, k)
            except Exception as error:
                print(f"# {part.__name__} {dtype} ended: {type(error).__name__}: {error}", flush=True)


if __name__ == "__main__":
    main()
