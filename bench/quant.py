#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Quantised arrays on a device: products with one row (gemv) and dequantisation, in packed bytes a second, beside what the memory can
do in the same run, and PyTorch's product of the same matrix in f16 (f32 on the CPU) where it is installed.

    bench/quant.py [--device cuda:0] [--rounds 7] [--only WORDS] [--batch 1,2,4,8] [--graph] [--gemv]

A figure is the best of the rounds. ceiling: bytes a second of a copy on a GPU, of a sum's reading on the CPU. share: packed bytes a
second over the ceiling. torch: its time over ndock's, above 1 where ndock is faster. With --graph products are measured in a graph of
ten as well, which leaves out what the host does for each, beside a copy's time that reads and writes as many bytes. A row that fails is printed and the rest goes on."""
import argparse
import time

import ndock as nd

FORMATS = ["q4_0", "q8_0", "q4_K", "q6_K"]
READ = ["q4_1", "q5_0", "q5_1", "q2_K", "q3_K", "q5_K", "iq4_nl"]


def best_of(fn, wait, rounds, seconds=0.02):
    fn()
    wait()
    calls, least = 1, 1e9
    for _ in range(rounds + 1):
        start = time.perf_counter()
        for _ in range(calls):
            fn()
        wait()
        took = (time.perf_counter() - start) / calls
        least = min(least, took)
        calls = max(1, min(1000, int(seconds / least)))
    return least


def ceiling(device, wait, rounds):
    n = 1 << (28 if device.startswith("cuda") else 25)
    x, y = nd.ones(n, dtype=nd.float32, device=device), nd.ones(n, dtype=nd.float32, device=device)
    if device.startswith("cuda"):
        return 8 * n / best_of(lambda: nd.copy_to(x, y) if hasattr(nd, "copy_to") else y.__setitem__(slice(None), x), wait, rounds)
    return 4 * n / best_of(lambda: nd.sum(x), wait, rounds)


def random_blocks(name, rows, n, device):
    """Blocks whose bytes are random; those of formats that are written are made of numbers."""
    nd.random.seed(1)
    if name in FORMATS:
        part = nd.quantize(nd.random.normal(size=(64, n)).astype(nd.float32), name).blocks
    else:
        q = nd.quantize(nd.zeros((64, n)), "q8_0")
        block, nbytes = nd._ndock._quant_block(name)
        part = nd.reshape(nd.arange(64 * n // block * nbytes, dtype=nd.int64) % 60, (64, -1)).astype(nd.uint8)
        del q
    return nd.QuantArray(nd.tile(part.to_device(device), (rows // 64, 1)), name)


def torch_time(device, rows, n, wait_rounds):
    try:
        import torch
    except ImportError:
        return None
    cuda = device.startswith("cuda")
    kind = torch.float16 if cuda else torch.float32
    w = torch.randn(rows, n, device=device if cuda else "cpu").to(kind)
    x = torch.randn(n, device=w.device).to(kind)
    return best_of(lambda: torch.mv(w, x), torch.cuda.synchronize if cuda else (lambda: None), wait_rounds)


def graph_time(product, device, wait, rounds):
    """A product's time in a graph of ten."""
    product()
    with nd.graph(device=device) as graph:
        for _ in range(10):
            product()
    return best_of(graph.launch, wait, rounds) / 10


def copy_time(nbytes, device, wait, rounds):
    """The time, in a graph of ten, of a copy that reads and writes so many bytes together: what so short a kernel can reach."""
    x, y = (nd.zeros(nbytes // 8, dtype=nd.float32, device=device) for _ in range(2))
    return graph_time(lambda: y.__setitem__(slice(None), x), device, wait, rounds)


def gemv_rows(o, rows, n, m, top, theirs, wait):
    cuda = o.device.startswith("cuda")
    kind = nd.float16 if cuda else nd.float32
    for name in FORMATS + READ:
        label = f"gemv {name:7} {rows} x {n}" + (f" batch {m}" if m > 1 else "")
        if not any(word in label for word in o.only.split(",")):
            continue
        try:
            w = random_blocks(name, rows, n, o.device)
            x = nd.ones((m, n), dtype=kind, device=o.device)
            took = best_of(lambda: nd.matmul_q(x, w), wait, o.rounds)
            rate = w.nbytes / took
            ratio = f"{theirs / took:6.2f}" if theirs else "   -"
            graph = ""
            if o.graph:
                alone = graph_time(lambda: nd.matmul_q(x, w), o.device, wait, o.rounds)
                least = copy_time(w.nbytes, o.device, wait, o.rounds)
                graph = f"  graph {alone * 1e6:6.1f} us share {w.nbytes / alone / top:5.2f} of a copy's {least / alone:5.2f}"
            print(f"{label:28} {took * 1e6:9.1f} us {rate / 1e9:8.1f} GB/s  share {rate / top:5.2f}  torch {ratio}{graph}", flush=True)
            if m > 1 or o.gemv:
                continue
            took = best_of(lambda: nd.dequantize(w, dtype=kind), wait, o.rounds)
            moved = w.nbytes + w.size * (2 if cuda else 4)
            print(f"{'dequantize ' + name:28} {took * 1e6:9.1f} us {moved / took / 1e9:8.1f} GB/s  share {moved / took / top:5.2f}",
                  flush=True)
        except Exception as e:
            print(label, "failed:", e, flush=True)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--device", default="cuda:0")
    p.add_argument("--rounds", type=int, default=7)
    p.add_argument("--only", default="", help="rows whose label has one of these, separated by commas")
    p.add_argument("--batch", default="1", help="rows of the other operand")
    p.add_argument("--graph", action="store_true")
    p.add_argument("--gemv", action="store_true", help="no dequantisation, no products of many rows")
    o = p.parse_args()
    cuda = o.device.startswith("cuda")
    wait = (lambda: nd.synchronize(o.device)) if cuda else (lambda: None)
    top = max(ceiling(o.device, wait, o.rounds) for _ in range(3))  # the first one may find a slow clock
    print(f"ceiling {top / 1e9:8.1f} GB/s on {o.device}", flush=True)
    sizes = [(4096, 4096), (11008, 4096), (4096, 11008), (32000, 4096)] if cuda else [(4096, 4096), (32000, 4096)]
    for rows, n in sizes:
        theirs = None
        try:
            if cuda or rows <= 4096:  # of the other one in f32 there may not be room
                theirs = torch_time(o.device, rows, n, o.rounds)
        except Exception as e:  # a peer that fails
            print("torch:", e)
        for m in map(int, o.batch.split(",")):
            gemv_rows(o, rows, n, m, top, theirs if m == 1 else None, wait)
    if o.gemv:
        return
    for m in (8, 64, 512):
        for name in FORMATS:
            try:
                w = random_blocks(name, 4096, 4096, o.device)
                x = nd.ones((m, 4096), dtype=nd.float16 if cuda else nd.float32, device=o.device)
                took = best_of(lambda: nd.matmul_q(x, w), wait, 3)
                print(f"product {name:7} {m} x 4096 x 4096  {took * 1e6:9.1f} us {2 * m * 4096**2 / took / 1e9:9.1f} GFLOP/s", flush=True)
            except Exception as e:
                print("product", name, m, "failed:", e, flush=True)


main()
