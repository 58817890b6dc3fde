#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Train a small convolutional network on Fashion-MNIST: convnet.c's network, data, weights, batch order and arithmetic, in Python.
With --peer the same network in PyTorch, from the same weights in the same order, on the same kind of device, and its time beside."""
import time
from typing import Any

import ndock as nd
from fashion import load_set, options

SIDE, CLASSES, CHANNELS, HIDDEN = 28, 10, (16, 32), 128
FLAT = CHANNELS[1] * 7 * 7
MOMENTUM, DROPPED = 0.9, 0.25
ORDERS, DROPS = 4, 1 << 20  # sequences of the seed: 0 to 3 make the weights


def random_key(seed, stream):
    """The stream-th sequence of the seed."""
    return nd.random.Key(seed, stream << 64)


def make_network(seed):
    """Parameters by name, each block's convolution, scale and shift first; and the running statistics of its batch norm."""
    def weights(stream, shape, fan_in):
        return nd.random.uniform(-fan_in**-0.5, fan_in**-0.5, shape, key=random_key(seed, stream), dtype=nd.float32)

    def full(n, value):
        return nd.full(n, value, dtype=nd.float32)
    first, second = CHANNELS
    net = {"conv1": weights(0, (first, 1, 3, 3), 9), "scale1": full(first, 1), "shift1": full(first, 0),
           "conv2": weights(1, (second, first, 3, 3), 9 * first), "scale2": full(second, 1), "shift2": full(second, 0),
           "w3": weights(2, (FLAT, HIDDEN), FLAT), "b3": full(HIDDEN, 0), "w4": weights(3, (HIDDEN, CLASSES), HIDDEN),
           "b4": full(CLASSES, 0)}
    return net, {f"{what}{i + 1}": full(n, what == "variance") for i, n in enumerate(CHANNELS) for what in ("mean", "variance")}


def block_forward(net, running, i, x, training):
    """(x, its convolution, what came out of the ReLU, where the pool found its results), and these."""
    convolved = nd.nn.conv2d(x, net[f"conv{i}"], padding="same")
    normal = nd.nn.batch_norm(convolved, running[f"mean{i}"], running[f"variance{i}"], net[f"scale{i}"], net[f"shift{i}"],
                              training=training)
    active = nd.relu(normal, out=normal)
    y, at = nd.nn.max_pool2d(active, 2, return_indices=True)
    return (x, convolved, active, at), y


def forward(net, running, x, key=None):
    """The scores, and what the gradients need. key: of what is dropped; None where nothing is, and running statistics count."""
    first, y = block_forward(net, running, 1, x, key is not None)
    second, y = block_forward(net, running, 2, y, key is not None)
    flat = nd.reshape(y, (-1, FLAT))
    if key:
        flat = nd.nn.dropout(flat, DROPPED, key=key)
    hidden = nd.matmul(flat, net["w3"], bias=net["b3"], epilogue="relu")
    return nd.matmul(hidden, net["w4"], bias=net["b4"]), (first, second, y.shape, flat, hidden)


def block_backward(net, i, block, dy, g):
    """Puts the gradients of the block's parameters into g, of that of its result."""
    x, convolved, active, at = block
    normal = nd.nn.activation_grad(nd.nn.max_pool_grad(dy, at, active.shape, 2), active, "relu")
    convolved, g[f"scale{i}"], g[f"shift{i}"] = nd.nn.batch_norm_grad(normal, convolved, None, None, net[f"scale{i}"], training=True)
    w = net[f"conv{i}"]
    g[f"conv{i}"] = nd.nn.conv2d_weight(x, w.shape, convolved, padding="same")
    return nd.nn.conv2d_input(x.shape, w, convolved, padding="same") if i > 1 else None


def backward(net, steps, dz, key):
    """The gradients by the parameters' names, of that of the scores."""
    first, second, shape, flat, hidden = steps
    g = {"w4": nd.matrix_transpose(hidden) @ dz, "b4": nd.sum(dz, axis=0)}
    dh = nd.nn.activation_grad(dz @ nd.matrix_transpose(net["w4"]), hidden, "relu")
    g["w3"], g["b3"] = nd.matrix_transpose(flat) @ dh, nd.sum(dh, axis=0)
    images = nd.reshape(nd.nn.dropout(dh @ nd.matrix_transpose(net["w3"]), DROPPED, key=key), shape)
    block_backward(net, 1, first, block_backward(net, 2, second, images, g), g)
    return g


def train_batch(net, running, velocity, x, y, key, lr):
    """One step of gradient descent with momentum; the summed loss, an array that nobody has waited for."""
    z, steps = forward(net, running, x, key)
    loss = nd.nn.cross_entropy(z, y)
    dz = nd.nn.cross_entropy_grad(nd.ones((), dtype=nd.float32), z, y)
    for name, gradient in backward(net, steps, dz, key).items():
        gradient *= -lr
        velocity[name] *= MOMENTUM
        velocity[name] += gradient
        net[name] += velocity[name]
    return loss * x.shape[0]


def accuracy(net, running, x, labels):
    """The share of labels that are right, a thousand images at a time."""
    right = [nd.argmax(forward(net, running, x[i:i + 1000])[0], axis=1) == nd.astype(labels[i:i + 1000], nd.int64)
             for i in range(0, x.shape[0], 1000)]
    return float(nd.mean(nd.astype(nd.concat(right), nd.float32)))


def train(args):
    (x, labels), (test_x, test_labels) = load_set(args.data, "train"), load_set(args.data, "t10k")
    x, test_x = (nd.reshape(a, (-1, 1, SIDE, SIDE))[:args.limit] for a in (x, test_x))
    labels, test_labels = labels[:args.limit], test_labels[:args.limit]
    n, (net, running) = x.shape[0], make_network(args.seed)
    velocity = {name: nd.zeros_like(p) for name, p in net.items()}
    peer = Twin(args, net, (x, labels), (test_x, test_labels)) if args.peer else None
    batches = -(-n // args.batch)
    print("epoch    loss  accuracy  seconds")
    for epoch in range(args.epochs):
        start = time.perf_counter()
        order = nd.random.permutation(n, key=random_key(args.seed, ORDERS + epoch))
        lr = args.lr * (1 - epoch / args.epochs)
        total = nd.zeros((), dtype=nd.float32)
        for i in range(batches):
            index = order[i * args.batch:(i + 1) * args.batch]
            total += train_batch(net, running, velocity, nd.take(x, index, axis=0), nd.take(labels, index, axis=0),
                                 random_key(args.seed, DROPS + epoch * batches + i), lr)
        hit = accuracy(net, running, test_x, test_labels)
        print(f"{epoch + 1:5d}  {float(total) / n:.5f}   {100 * hit:5.2f} %  {time.perf_counter() - start:7.3f}", flush=True)
        if peer:
            print(peer.epoch(order, lr), flush=True)
    return {**net, **running}


class Twin:
    """The same in PyTorch; what it drops is its own."""

    def __init__(self, args, net, train_set, test_set):
        import torch
        from torch import nn
        self.torch, self.batch, cuda = torch, args.batch, str(nd.get_default_device()).startswith("cuda")
        self.device = "cuda" if cuda else "cpu"
        torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False

        def given(a):
            return torch.tensor(a.tolist()).to(self.device)

        def block(i, channels):
            made = nn.Conv2d(channels, CHANNELS[i - 1], 3, padding=1, bias=False)
            made.weight = nn.Parameter(given(net[f"conv{i}"]))
            return made, nn.BatchNorm2d(CHANNELS[i - 1]), nn.ReLU(), nn.MaxPool2d(2)

        def dense(w, b):
            made = nn.Linear(*net[w].shape)
            made.weight, made.bias = nn.Parameter(given(nd.matrix_transpose(net[w]))), nn.Parameter(given(net[b]))
            return made
        self.net = nn.Sequential(*block(1, 1), *block(2, CHANNELS[0]), nn.Flatten(), nn.Dropout(DROPPED), dense("w3", "b3"), nn.ReLU(),
                                 dense("w4", "b4")).to(self.device)
        self.sgd: Any = torch.optim.SGD(self.net.parameters(), lr=args.lr, momentum=MOMENTUM)
        (self.x, self.y), (self.test_x, self.test_y) = ((self.copied(x), self.copied(y).long()) for x, y in (train_set, test_set))

    def copied(self, a):
        return self.torch.from_dlpack(a.to_device("cpu")).clone().to(self.device)

    def epoch(self, order, lr):
        """The line of this epoch. A step is lr*(momentum*v + g), as ours is while lr stays."""
        torch, order = self.torch, self.copied(order)
        start, total = time.perf_counter(), torch.zeros((), device=self.device)
        for group in self.sgd.param_groups:
            group["lr"] = lr
        self.net.train()
        for index in order.split(self.batch):
            loss = torch.nn.functional.cross_entropy(self.net(self.x[index]), self.y[index])
            self.sgd.zero_grad()
            loss.backward()
            self.sgd.step()
            total += loss.detach() * len(index)
        self.net.eval()
        with torch.no_grad():
            hits = torch.cat([self.net(x).argmax(1) for x in self.test_x.split(1000)]) == self.test_y
        hit, loss = float(hits.float().mean()), float(total) / len(order)
        return f"       {loss:.5f}   {100 * hit:5.2f} %  {time.perf_counter() - start:7.3f}  PyTorch {torch.__version__}"


def main():
    parser = options(__doc__, lr=0.05)
    parser.add_argument("--limit", type=int, help="take the first images of both sets alone")
    parser.add_argument("--peer", action="store_true", help="PyTorch's epochs beside ours, where it is installed")
    args = parser.parse_args()
    device = nd.Device(args.device)
    nd.set_default_device(device)
    print(f"ndock {nd.__version__} on {device}")
    net = train(args)
    if args.save:
        nd.save(args.save, net)


if __name__ == "__main__":
    main()
