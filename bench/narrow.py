#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of 8-bit matrices: int8 to int32, and float8 with scales, beside PyTorch's _int_mm and _scaled_mm in the same run.

    bench/narrow.py [--device cuda:0] [--sizes 4096,8192] [--rounds 5]

A figure is the best of the rounds, in 10^12 operations a second (a multiplication and an addition are two). torch: its time over
ndock's, above 1 where ndock is faster. k: b is dense along k, as a transposed weight; n: it is dense along n, and copied first.
A row that fails is printed and the rest goes on."""
import argparse
import time

import ndock as nd


def best_of(fn, wait, rounds, seconds=0.05):
    fn()
    wait()
    calls, least = 1, 1e9
    for _ in range(rounds + 1):
        start = time.perf_counter()
        for _ in range(calls):
            fn()
        wait()
        least = min(least, (time.perf_counter() - start) / calls)
        calls = max(1, min(1000, int(seconds / least)))
    return least


def bytes_of(n, device, dtype):
    """n by n elements of moderate size."""
    nd.random.seed(1)
    x = nd.random.normal(size=(n, n)).astype(nd.float32)
    return (x * 16 if dtype == nd.int8 else x).astype(dtype).to_device(device)


def torch_rows(n, device):
    """The peers' calls by name; none where there is no PyTorch for the device."""
    try:
        import torch
    except ImportError:
        return {}, None
    if not device.startswith("cuda"):
        return {}, None
    calls = {}
    whole = torch.randint(-99, 99, (n, n), device=device, dtype=torch.int8)
    narrow = torch.randn(n, n, device=device).to(torch.float8_e4m3fn)
    one = torch.ones((), device=device)
    lines = torch.ones(n, 1, device=device)
    calls["int8 k"] = lambda: torch._int_mm(whole, whole.t())
    calls["int8 n"] = lambda: torch._int_mm(whole, whole)
    for fast in (False, True):
        calls["fp8 fast" if fast else "fp8 k"] = lambda fast=fast: torch._scaled_mm(
            narrow, narrow.t(), scale_a=one, scale_b=one, out_dtype=torch.bfloat16, use_fast_accum=fast)
    calls["fp8 lines"] = lambda: torch._scaled_mm(narrow, narrow.t(), scale_a=lines, scale_b=lines.t(), out_dtype=torch.bfloat16)
    return calls, torch.cuda.synchronize


def our_rows(n, device):
    whole, narrow = bytes_of(n, device, nd.int8), bytes_of(n, device, nd.float8_e4m3fn)
    one, lines = nd.ones((), dtype=nd.float32, device=device), nd.ones((n, 1), dtype=nd.float32, device=device)
    product = {"int8 k": lambda: nd.matmul(whole, whole.T, dtype=nd.int32), "int8 n": lambda: nd.matmul(whole, whole, dtype=nd.int32),
               "int8 to int8": lambda: nd.matmul(whole, whole.T)}

    def scaled(b, scale_a, scale_b, **more):
        return lambda: nd.scaled_mm(narrow, b, scale_a, scale_b, dtype=nd.bfloat16, **more)
    product["fp8 k"] = scaled(narrow.T, one, one)
    product["fp8 n"] = scaled(narrow, one, one)
    product["fp8 fast"] = scaled(narrow.T, one, one, use_fast_accum=True)
    product["fp8 lines"] = scaled(narrow.T, lines, lines.T)
    return product


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--device", default="cuda:0")
    p.add_argument("--sizes", default="4096,8192")
    p.add_argument("--rounds", type=int, default=5)
    o = p.parse_args()
    wait = (lambda: nd.synchronize(o.device)) if o.device.startswith("cuda") else (lambda: None)
    for n in map(int, o.sizes.split(",")):
        peers, peer_wait = torch_rows(n, o.device)
        for name, fn in our_rows(n, o.device).items():
            try:
                took = best_of(fn, wait, o.rounds)
                text = f"{name:13} {n:5}  {took * 1e6:9.1f} us {2 * n**3 / took / 1e12:8.1f} TOP/s"
            except Exception as e:
                print(f"{name:13} {n:5}  failed: {e}", flush=True)
                continue
            try:
                theirs = best_of(peers[name], peer_wait, o.rounds)
                text += f"  torch {theirs / took:5.2f} ({2 * n**3 / theirs / 1e12:.0f})"
            except KeyError:
                text += "  torch     -"
            except Exception as e:
                text += f"  torch failed: {str(e)[:60]!r}"
            print(text, flush=True)


main()
