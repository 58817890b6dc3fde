#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention on a GPU, mostly of f16 and bf16: ndock beside PyTorch in one run, and, with --check, its errors beside the definition in float64.

    bench/attention.py [--check] [--only WORD]

A row has microseconds of a call (the least of rounds in turns), PyTorch's over ndock's time, and TFLOP/s, or GB/s of keys and values
where there is one query. An error is in units of the dtype's rounding of the sizes that are summed; f32 rows have PyTorch's too. A row that fails says why."""
import argparse
import time

import torch

import ndock as nd

F = torch.nn.functional


def given(shape, dtype, seed):
    g = torch.Generator(device="cuda").manual_seed(seed)
    return torch.randn(shape, device="cuda", dtype=torch.float32, generator=g).to(dtype)


def definition(q, k, v, causal, mask):
    """The result, the sizes of its terms, and logsumexp, in float64."""
    group = q.shape[1] // k.shape[1]
    q, k, v = q.double(), k.double().repeat_interleave(group, 1), v.double().repeat_interleave(group, 1)
    m, n = q.shape[2], k.shape[2]
    s = q @ k.transpose(-1, -2) / q.shape[3] ** 0.5
    if mask is not None and mask.dtype == torch.bool:
        s = s.masked_fill(~mask, -torch.inf)
    elif mask is not None:
        s = s + mask.double()
    if causal:
        shift = n - m if causal == "last" else 0
        s = s.masked_fill(torch.ones(m, n, device="cuda", dtype=torch.bool).triu(shift + 1), -torch.inf)
    w = torch.softmax(s, -1).nan_to_num(0)
    return w @ v, w @ v.abs(), torch.logsumexp(s, -1)


def arrays(*tensors):
    torch.cuda.synchronize()
    return [nd.from_dlpack(t) if t is not None else None for t in tensors]


def to_torch(a):
    nd.synchronize("cuda:0")
    return torch.from_dlpack(a)


def worst(got, want, size, unit):
    return ((got.double() - want).abs() / (unit * size + 1e-300)).nan_to_num(0, 1e9).max().item()


def check(name, dtype, b, h, hk, m, n, d, causal=False, kind=None, grad=True, turned=False):
    unit = {torch.float16: 2.0 ** -10, torch.bfloat16: 2.0 ** -7, torch.float32: 2.0 ** -23}[dtype]
    q, g = (given((b, m, h, d) if turned else (b, h, m, d), dtype, s) for s in (1, 2))
    k, v = (given((b, n, hk, d) if turned else (b, hk, n, d), dtype, s) for s in (3, 4))
    if turned:
        q, k, v, g = (t.transpose(1, 2) for t in (q, k, v, g))
    mask = None if kind is None else torch.rand(m, n, device="cuda") < 0.7 if kind == "bool" else given((b, 1, m, n), dtype, 5)
    aq, ak, av, ag, am = arrays(q, k, v, g, mask)
    leaves = [t.double().detach().requires_grad_() for t in (q, k, v)]
    want, size, lse = definition(*leaves, causal, mask)
    out, logs = nd.nn.attention_with_logsumexp(aq, ak, av, am, 0.0, causal)
    again, _ = nd.nn.attention_with_logsumexp(aq, ak, av, am, 0.0, causal)
    text = f"{name:26} {str(dtype)[6:]:9} error {worst(to_torch(out), want.detach(), size.detach(), unit):6.2f}"
    if dtype == torch.float32:
        peer = F.scaled_dot_product_attention(q, k, v, mask, is_causal=causal is True)
        text += f" (torch {worst(peer, want.detach(), size.detach(), unit):.2f})"
    finite = torch.isfinite(lse)
    text += f"  lse {(to_torch(logs).double() - lse)[finite].abs().max().item():.1e}"
    same = torch.equal(to_torch(out), to_torch(again))
    if grad:
        real = torch.autograd.grad(want, leaves, g.double())
        ours = [nd.nn.scaled_dot_product_attention_grad(ag, aq, ak, av, out, logs, am, 0.0, causal) for _ in range(2)]
        for letter, a, r in zip("qkv", ours[0], real):
            text += f"  d{letter} {((to_torch(a).double() - r).abs().max() / r.abs().max() / unit).item():.2f}"
        same = same and all(torch.equal(to_torch(a), to_torch(c)) for a, c in zip(*ours))
    print(text + ("" if same else "  BITS DIFFER"), flush=True)


def checks(only):
    for row in (("d 64", 2, 4, 4, 512, 512, 64), ("d 64 causal", 2, 4, 4, 512, 512, 64, True), ("d 128", 1, 4, 4, 333, 333, 128),
                ("d 256 causal", 1, 2, 2, 300, 300, 256, True)):
        if only and only not in row[0]:
            continue
        try:
            check(row[0], torch.float32, *row[1:])
        except Exception as error:
            print(f"{row[0]:26} failed: {type(error).__name__}: {error}", flush=True)
    for dtype in (torch.float16, torch.bfloat16):
        for row in (("d 64", 2, 4, 4, 512, 512, 64), ("d 64 causal", 2, 4, 4, 500, 500, 64, True), ("d 128 causal", 1, 4, 4, 333, 333, 128, True),
                    ("d 32", 1, 2, 2, 257, 130, 32), ("d 80", 1, 2, 2, 200, 300, 80), ("d 96 last", 1, 4, 2, 130, 300, 96, "last"),
                    ("d 256 causal", 1, 2, 2, 200, 200, 256, True), ("d 72, (b, m, h, d)", 2, 4, 4, 300, 300, 72, True, None, True, True),
                    ("d 61", 1, 2, 2, 100, 100, 61), ("groups", 2, 8, 2, 200, 333, 128, True), ("bool mask", 2, 4, 4, 200, 300, 64, False, "bool"),
                    ("added mask", 2, 4, 4, 200, 300, 64, False, "added"), ("one query", 2, 8, 2, 1, 5000, 128, "last"),
                    ("one query, 64", 1, 4, 4, 1, 4097, 64), ("few queries", 1, 4, 4, 40, 9000, 64, "last")):
            if only and only not in row[0]:
                continue
            try:
                check(row[0], dtype, *row[1:])
            except Exception as error:
                print(f"{row[0]:26} failed: {type(error).__name__}: {error}", flush=True)


def once(f, n):
    nd.synchronize("cuda:0")
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(n):
        f()
    nd.synchronize("cuda:0")
    torch.cuda.synchronize()
    return (time.perf_counter() - start) / n


def least(functions):
    counts, times = [], [[] for _ in functions]
    for f in functions:
        once(f, 2)
        counts.append(max(2, int(0.02 / max(once(f, 2), 1e-6))))
    for _ in range(4):
        for f, n, t in zip(functions, counts, times):
            t.append(once(f, n))
    return [min(t) for t in times]


def bench(name, dtype, b, h, hk, m, n, d, causal, grad):
    q, g = given((b, h, m, d), dtype, 1), given((b, h, m, d), dtype, 2)
    k, v = given((b, hk, n, d), dtype, 3), given((b, hk, n, d), dtype, 4)
    aq, ak, av, ag = arrays(q, k, v, g)
    flops = 4 * b * h * m * n * d / (2 if causal else 1)
    share = {"enable_gqa": True} if h != hk else {}
    tasks = [lambda: nd.nn.scaled_dot_product_attention(aq, ak, av, is_causal=causal),
             lambda: F.scaled_dot_product_attention(q, k, v, is_causal=causal, **share)]
    t = least(tasks)
    rate = f"{2 * b * hk * n * d * q.element_size() / t[0] / 1e9:7.0f} GB/s" if m == 1 else f"{flops / t[0] / 1e12:7.1f} TFLOP/s"
    print(f"{name:40} {t[0] * 1e6:9.1f} us  torch {t[1] * 1e6:9.1f} ({t[1] / t[0]:.2f}) {rate}", flush=True)
    if not grad:
        return
    out, lse = nd.nn.attention_with_logsumexp(aq, ak, av, is_causal=causal)
    leaves = [x.detach().requires_grad_() for x in (q, k, v)]
    y = F.scaled_dot_product_attention(*leaves, is_causal=causal, **share)
    t = least([lambda: nd.nn.scaled_dot_product_attention_grad(ag, aq, ak, av, out, lse, is_causal=causal),
               lambda: torch.autograd.grad(y, leaves, g, retain_graph=True)])
    print(f"{name + ' gradient':40} {t[0] * 1e6:9.1f} us  torch {t[1] * 1e6:9.1f} ({t[1] / t[0]:.2f}) {2.5 * flops / t[0] / 1e12:7.1f} TFLOP/s",
          flush=True)


def benches(only):
    b16, f16 = torch.bfloat16, torch.float16
    for row in (("bf16 8x16x4096x64", b16, 8, 16, 16, 4096, 4096, 64, False, True), ("bf16 8x16x4096x64 causal", b16, 8, 16, 16, 4096, 4096, 64, True, True),
                ("f16 8x16x4096x64", f16, 8, 16, 16, 4096, 4096, 64, False, False), ("bf16 4x16x4096x128", b16, 4, 16, 16, 4096, 4096, 128, False, True),
                ("bf16 4x16x4096x128 causal", b16, 4, 16, 16, 4096, 4096, 128, True, True), ("bf16 4x16x4096x80", b16, 4, 16, 16, 4096, 4096, 80, False, True),
                ("bf16 4x16x4096x32", b16, 4, 16, 16, 4096, 4096, 32, False, True), ("bf16 4x16x2048x96", b16, 4, 16, 16, 2048, 2048, 96, True, True),
                ("bf16 2x16x2048x256", b16, 2, 16, 16, 2048, 2048, 256, False, True),
                ("bf16 2x16x2048x256 causal", b16, 2, 16, 16, 2048, 2048, 256, True, True),
                *((f"bf16 {b}x{h}x{m}x64{' causal' if causal else ''}", b16, b, h, h, m, m, 64, causal, True)
                  for b, h, m, causal in ((32, 12, 512, False), (32, 12, 512, True), (64, 12, 256, False), (64, 12, 200, False), (16, 16, 256, False),
                                          (4, 16, 256, False))),
                ("bf16 groups 4x32/8x2048x128 causal", b16, 4, 32, 8, 2048, 2048, 128, True, True),
                *((f"f32 {b}x16x2048x{d}{' causal' if causal else ''}", torch.float32, b, 16, 16, 2048, 2048, d, causal, True)
                  for b, d in ((4, 64), (4, 128), (2, 256)) for causal in (False, True)),
                ("bf16 one query 16x32/8x8192x128", b16, 16, 32, 8, 1, 8192, 128, False, False),
                ("bf16 one query 1x32/8x32768x128", b16, 1, 32, 8, 1, 32768, 128, False, False),
                ("bf16 one query 8x16x4096x64", b16, 8, 16, 16, 1, 4096, 64, False, False)):
        if only and only not in row[0]:
            continue
        try:
            bench(*row)
        except Exception as error:
            print(f"{row[0]:40} failed: {type(error).__name__}: {error}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    (checks if options.check else benches)(options.only)
