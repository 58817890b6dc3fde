#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Train a 784-128-10 network on Fashion-MNIST: fashion.c's network, data, weights, batch order and arithmetic, in Python. With
--ranks, one of several processes that train together, started by `ndock run -n N` or mpirun: each has a part of every batch."""
import argparse
import os
import sys
import time
from typing import Any

import ndock as nd

MEAN, STD = 0.2860, 0.3530  # of the training pixels divided by 255
PIXELS, HIDDEN, CLASSES = 784, 128, 10
MOMENTUM = 0.9
BUCKET_BYTES = 64 << 10  # the second layer's gradients have 5 KB, the first one's 400


def random_key(seed, stream):
    """The stream-th sequence of the seed: 0 and 1 make the weights, 2 + epoch the order of images."""
    return nd.random.Key(seed, stream << 64)


def load_idx(folder, name):
    path = os.path.join(folder, name + "-ubyte")
    return nd.load(path + ".gz" if os.path.exists(path + ".gz") else path)


def load_set(folder, name):
    """Normalised images, float32 (n, 784), and labels, uint8 (n,)."""
    pixels, labels = load_idx(folder, name + "-images-idx3"), load_idx(folder, name + "-labels-idx1")
    if labels.size == 0 or pixels.size != labels.size * PIXELS:
        sys.exit(f"{folder}: the {name} set's images are not as many as its labels, or not 28x28")
    x = nd.astype(nd.reshape(pixels, (-1, PIXELS)), nd.float32)
    x /= 255
    x -= MEAN
    x /= STD
    return x, labels


def uniform(seed, stream, rows, columns):
    limit = rows**-0.5
    return nd.random.uniform(-limit, limit, (rows, columns), key=random_key(seed, stream), dtype=nd.float32)


def zeros_like(arrays):
    return [nd.zeros_like(a) for a in arrays]


def forward(net, x):
    w1, b1, w2, b2 = net
    h = nd.matmul(x, w1, bias=b1, epilogue="relu")
    return h, nd.matmul(h, w2, bias=b2)


def accuracy(net, x, labels):
    """How many labels are right, a float32 array without axes."""
    predicted = nd.argmax(forward(net, x)[1], axis=1)
    return nd.mean(nd.astype(predicted == nd.astype(labels, predicted.dtype), nd.float32))


def update(p, v, gradient, lr):
    v *= MOMENTUM
    gradient *= -lr
    v += gradient
    p += v


def train_batch(net, velocity, x, y, lr):
    """One step of gradient descent with momentum; the summed loss, an array that nobody has waited for."""
    h, z = forward(net, x)
    logp = nd.log_softmax(z, axis=1)
    loss = nd.sum(logp * y)
    dz = nd.exp(logp, out=z)
    dz -= y
    dz /= x.shape[0]
    dh = nd.where(h > 0, dz @ nd.matrix_transpose(net[2]), 0.0)
    for w, b, inputs, gradient in ((0, 1, x, dh), (2, 3, h, dz)):
        nd.matmul(nd.matrix_transpose(inputs), gradient, alpha=-lr, beta=MOMENTUM, out=velocity[w])  # v = 0.9*v - lr*x'g
        net[w] += velocity[w]
        update(net[b], velocity[b], nd.sum(gradient, axis=0), lr)
    return loss


class GraphedStep:
    """The step of a whole batch as a graph: gathers the images whose numbers are in index, and trains on them."""

    def __init__(self, batch, step, renew=False):
        self.index = nd.zeros(batch, dtype=nd.int64)
        self.step = lambda lr: step(lr, self.index)
        self.renew = renew
        self.graph: Any = None
        self.stream = nd.Stream()

    def capture(self, lr):
        """The learning rate is a part of what is captured; the second graph takes the place of the first, whose parameters change
        where they can (renew: where its exchanges cannot)."""
        if not self.graph:  # a rate of 0 changes nothing; what a stream needs for its first calls cannot be made in a capture
            self.stream.wait_stream(nd.current_stream())
            with self.stream:
                self.step(0.0)
            nd.current_stream().wait_stream(self.stream)
        with nd.graph(stream=self.stream) as made:
            self.loss = self.step(lr)
        if self.graph and not self.renew:
            self.graph.update(made)
        else:
            self.graph = made

    def __call__(self, index):
        self.index[:] = index
        self.graph.launch()
        return self.loss


def alone(net, velocity, x, y, batch):
    return GraphedStep(batch, lambda lr, index: train_batch(net, velocity, nd.take(x, index, axis=0), nd.take(y, index, axis=0), lr))


def best_of(function, rounds=200, enough=0.25):
    times: list[float] = []
    while len(times) < rounds and sum(times) < enough:
        nd.synchronize()
        start = time.perf_counter()
        function()
        nd.synchronize()
        times.append(time.perf_counter() - start)
    return min(times) * 1e6


def compare_steps(args, x, y):
    """How long a step of a network of its own takes without a graph and with one."""
    net = [uniform(args.seed, 0, PIXELS, HIDDEN), nd.zeros(HIDDEN, dtype=nd.float32),
           uniform(args.seed, 1, HIDDEN, CLASSES), nd.zeros(CLASSES, dtype=nd.float32)]
    graphed = alone(net, zeros_like(net), x, y, args.batch)
    eager = best_of(lambda: graphed.step(args.lr))
    graphed.capture(args.lr)
    print(f"a step of {args.batch} images, {graphed.graph.nodes} operations: {eager:.1f} us eager, "
          f"{best_of(graphed.graph.launch):.1f} us as a graph")


def train_batch_together(comm, net, velocity, x, y, lr, batch):
    """The same of this rank's part of a batch: gradients are summed over the ranks before they are used."""
    h, z = forward(net, x)
    logp = nd.log_softmax(z, axis=1)
    loss = nd.sum(logp * y)
    dz = nd.exp(logp, out=z)
    dz -= y
    dz /= batch
    buckets = nd.parallel.Buckets(comm, "sum", bucket_bytes=BUCKET_BYTES)
    buckets.add(nd.sum(dz, axis=0))
    buckets.add(nd.matrix_transpose(h) @ dz)  # on its way while the first layer's gradients are computed
    dh = nd.where(h > 0, dz @ nd.matrix_transpose(net[2]), 0.0)
    buckets.add(nd.sum(dh, axis=0))
    buckets.add(nd.matrix_transpose(x) @ dh)
    for p, v, gradient in zip(reversed(net), reversed(velocity), buckets.results()):
        update(p, v, gradient, lr)
    return loss


def together(comm, net, velocity, x, y, batch):
    """The step of this rank's part of a whole batch as a graph, with the exchange of its gradients."""
    return GraphedStep(batch // comm.size, lambda lr, index: train_batch_together(
        comm, net, velocity, nd.take(x, index, axis=0), nd.take(y, index, axis=0), lr, batch), renew=True)


def train(args, comm):
    (x, labels), test = load_set(args.data, "train"), load_set(args.data, "t10k")
    n = x.shape[0]
    y = nd.astype(nd.expand_dims(labels, 1) == nd.arange(CLASSES, dtype=nd.uint8), nd.float32)
    net = [uniform(args.seed, 0, PIXELS, HIDDEN), nd.zeros(HIDDEN, dtype=nd.float32),
           uniform(args.seed, 1, HIDDEN, CLASSES), nd.zeros(CLASSES, dtype=nd.float32)]
    velocity = zeros_like(net)
    if comm:
        net = nd.parallel.replicate(comm, net)
    graphed: Any = None
    if args.graph and args.batch <= n and not comm:
        graphed = alone(net, velocity, x, y, args.batch)
        compare_steps(args, x, y)
    elif args.graph and args.batch <= n and args.batch % comm.size == 0:
        graphed = together(comm, net, velocity, x, y, args.batch)
    print("epoch    loss  accuracy  seconds")
    for epoch in range(args.epochs):
        start = time.perf_counter()
        order = nd.random.permutation(n, key=random_key(args.seed, 2 + epoch))
        lr = args.lr * (1 - epoch / args.epochs)
        total = nd.zeros((), dtype=nd.float32)
        if graphed:
            graphed.capture(lr)
        for first in range(0, n, args.batch):
            index = order[first:first + args.batch]
            part = nd.parallel.shard(comm, index) if comm else index
            if graphed and index.shape[0] == args.batch:
                total -= graphed(part)
            elif comm:
                total -= train_batch_together(comm, net, velocity, nd.take(x, part, axis=0), nd.take(y, part, axis=0), lr, index.shape[0])
            else:
                total -= train_batch(net, velocity, nd.take(x, index, axis=0), nd.take(y, index, axis=0), lr)
        if comm:
            total = comm.all_reduce(total)
        hit = accuracy(net, *test)
        print(f"{epoch + 1:5d}  {float(total) / n:.5f}   {100 * float(hit):5.2f} %  {time.perf_counter() - start:7.3f}",
              flush=True)
    return net


def options(text, lr):
    """A parser of the options that every training has; lr is the first learning rate where none is given."""
    parser = argparse.ArgumentParser(description=text)
    parser.add_argument("--data", default="/usr/share/datasets/fashion-mnist", help="folder of the IDX files (%(default)s)")
    parser.add_argument("--device", default="auto", help="cpu, cuda:0, ..., or auto, the best there is (%(default)s)")
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--lr", type=float, default=lr, help="first learning rate; it falls linearly (%(default)s)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--save", help="where the weights go, a safetensors file")
    return parser


def main():
    parser = options(__doc__, lr=0.035)
    parser.add_argument("--ranks", action="store_true", help="this is one of the processes of `ndock run -n N` or mpirun")
    parser.add_argument("--graph", action="store_true", help="run the step of a whole batch as a graph, and say what that gains")
    args = parser.parse_args()
    device = nd.Device(args.device)
    nd.set_default_device(device)
    comm = nd.comm.world(device) if args.ranks else None
    print(f"ndock {nd.__version__} on {device}" + (f", rank {comm.rank} of {comm.size} by {comm.transport}" if comm else ""))
    net = train(args, comm)
    if args.save and (not comm or comm.rank == 0):
        nd.save(args.save, dict(zip(("w1", "b1", "w2", "b2"), net)))


if __name__ == "__main__":
    main()
