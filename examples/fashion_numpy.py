#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The NumPy twin of fashion.c: the same network, data, initial weights, batch order and f32 arithmetic; its yardstick for speed and loss."""
import argparse
import gzip
import os
import sys
import time

import numpy as np

MEAN, STD = np.float32(0.2860), np.float32(0.3530)  # of the training pixels divided by 255
HIDDEN, CLASSES = 128, 10
MOMENTUM = np.float32(0.9)


def philox(key, counter_high, blocks):
    """Philox 4x32-10 (Salmon et al., SC11): u32 words (blocks, 4) of the counters (0 ... blocks-1, counter_high)."""
    low = np.arange(blocks, dtype=np.uint64)
    mask, shift = np.uint64(0xFFFFFFFF), np.uint64(32)
    c = [low & mask, low >> shift,
         np.full(blocks, counter_high & 0xFFFFFFFF, np.uint64), np.full(blocks, counter_high >> 32, np.uint64)]
    k0, k1 = key & 0xFFFFFFFF, key >> 32
    for _ in range(10):
        p0, p1 = c[0] * np.uint64(0xD2511F53), c[2] * np.uint64(0xCD9E8D57)
        c = [(p1 >> shift) ^ c[1] ^ np.uint64(k0), p1 & mask, (p0 >> shift) ^ c[3] ^ np.uint64(k1), p0 & mask]
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return np.stack(c, axis=1).astype(np.uint32)


def uniform(key, counter_high, shape, limit):
    """f32 in [-limit, limit), by the formula of ndp_random in plugin.h."""
    size = int(np.prod(shape))
    words = philox(key, counter_high, -(-size // 4)).ravel()[:size]
    low, high = np.float32(-limit), np.float32(limit)
    x = low + ((words >> np.uint32(8)).astype(np.float32) * np.float32(2.0**-24)) * (high - low)
    return np.minimum(x, np.nextafter(high, low)).reshape(shape)


def permutation(key, counter_high, n):
    """Stable argsort of n random u64."""
    words = philox(key, counter_high, -(-n // 2)).astype(np.uint64).reshape(-1, 2)[:n]
    return np.argsort(words[:, 0] | words[:, 1] << np.uint64(32), kind="stable")


def load_idx(directory, name):
    path = os.path.join(directory, name)
    with gzip.open(path + ".gz") if os.path.exists(path + ".gz") else open(path, "rb") as f:
        data = f.read()
    ndim = data[3]
    shape = np.frombuffer(data, ">i4", ndim, 4)
    return np.frombuffer(data, np.uint8, offset=4 + 4 * ndim).reshape(shape)


def load_set(directory, prefix):
    x = load_idx(directory, prefix + "-images-idx3-ubyte").reshape(-1, 784).astype(np.float32)
    x /= np.float32(255)
    x -= MEAN
    x /= STD
    return x, load_idx(directory, prefix + "-labels-idx1-ubyte").astype(np.int64)


class Batch:
    """Buffers for one batch size, so that the loop allocates nothing large."""

    def __init__(self, m, width):
        self.x, self.y = np.empty((m, width), np.float32), np.empty((m, CLASSES), np.float32)
        self.h, self.dh = np.empty((m, HIDDEN), np.float32), np.empty((m, HIDDEN), np.float32)
        self.z = np.empty((m, CLASSES), np.float32)


def dense(x, w, b, out):
    np.matmul(x, w, out=out)
    out += b
    return out


def update(p, v, g, lr):
    v *= MOMENTUM
    g *= lr
    v -= g
    p += v


def train_batch(t, net, velocity, lr):
    """One step of momentum SGD; returns the summed loss."""
    w1, b1, w2, b2 = net
    np.maximum(dense(t.x, w1, b1, t.h), 0, out=t.h)
    logp = dense(t.h, w2, b2, t.z)
    logp -= logp.max(axis=1, keepdims=True)
    logp -= np.log(np.exp(logp).sum(axis=1, keepdims=True))
    loss = -(logp * t.y).sum()
    dz = np.exp(logp)
    dz -= t.y
    dz /= np.float32(len(dz))
    np.matmul(dz, w2.T, out=t.dh)
    t.dh *= t.h > 0
    gradients = (t.x.T @ t.dh, t.dh.sum(axis=0), t.h.T @ dz, dz.sum(axis=0))
    for p, v, g in zip(net, velocity, gradients):
        update(p, v, g, lr)
    return loss


def accuracy(net, x, labels):
    w1, b1, w2, b2 = net
    h = x @ w1
    h += b1
    z = np.maximum(h, 0, out=h) @ w2
    z += b2
    return (z.argmax(axis=1) == labels).mean()


def train(args):
    x, labels = load_set(args.data, "train")
    test_x, test_labels = load_set(args.data, "t10k")
    y = (labels[:, None] == np.arange(CLASSES)).astype(np.float32)
    width, n = x.shape[1], len(x)
    net = [uniform(args.seed, 0, (width, HIDDEN), width**-0.5), np.zeros(HIDDEN, np.float32),
           uniform(args.seed, 1, (HIDDEN, CLASSES), HIDDEN**-0.5), np.zeros(CLASSES, np.float32)]
    velocity = [np.zeros_like(p) for p in net]
    batches = {m: Batch(m, width) for m in (args.batch, n % args.batch) if m}
    print("epoch    loss  accuracy  seconds")
    for epoch in range(args.epochs):
        start = time.perf_counter()
        order = permutation(args.seed, 2 + epoch, n)
        lr = np.float32(args.lr * (1 - epoch / args.epochs))
        total = np.float32(0)
        for first in range(0, n, args.batch):
            index = order[first:first + args.batch]
            t = batches[len(index)]
            np.take(x, index, axis=0, out=t.x, mode="clip")
            np.take(y, index, axis=0, out=t.y, mode="clip")
            total += train_batch(t, net, velocity, lr)
        hit = accuracy(net, test_x, test_labels)
        print(f"{epoch + 1:5d}  {total / n:.5f}   {100 * hit:5.2f} %  {time.perf_counter() - start:7.3f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default="/usr/share/datasets/fashion-mnist", help="folder of the IDX files (%(default)s)")
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--lr", type=float, default=0.035, help="first learning rate; it falls linearly (%(default)s)")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    print(f"NumPy {np.__version__}")
    train(args)


if __name__ == "__main__":
    sys.exit(main())
