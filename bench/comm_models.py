# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What comm_overlap.py trains, here and by PyTorch: a network by hand, the same as a module, and gradients on their way."""
import ndock as nd

WIDTH, ROWS = 4096, 8192


class Exchanged:
    """What waits for an exchange on a stream that the program has chosen."""

    def __init__(self, result, stream):
        self.result, self.stream = result, stream

    def wait(self):
        nd.current_stream(self.result.device).wait_stream(self.stream)
        return self.result


class BucketsOn(nd.parallel.Buckets):
    """Buckets of one gradient each, on a stream, in place or not."""

    __slots__ = ("_stream", "_in_place")

    def __init__(self, comm, stream, in_place=False):
        super().__init__(comm)
        self._stream, self._in_place = stream, in_place

    def add(self, gradient):
        part = gradient.reshape((-1,))
        self._stream.wait_stream(nd.current_stream(part.device))
        with self._stream:
            result = self._comm.all_reduce(part, "avg", out=part if self._in_place else None)
        self._under_way.append((Exchanged(result, self._stream), [(gradient.size, gradient.shape)], [part]))


class There:
    """PyTorch's gradients as they are made, exchanged in place."""

    def __init__(self, peer, group=None):
        self.dist, self.group, self.works = peer[1], group, []

    def add(self, g):
        self.works.append(self.dist.all_reduce(g, op=self.dist.ReduceOp.AVG, async_op=True, group=self.group))

    def wait(self):
        for w in self.works:
            w.wait()


def urgent_group(peer):
    options = peer[1].ProcessGroupNCCL.Options()
    options.is_high_priority_stream = True
    return peer[1].new_group(pg_options=options)


class Network:
    """Products with relu between them, and their gradients by hand."""

    def __init__(self, comm, n_layers):
        self.x = nd.random.normal(size=(ROWS, WIDTH), dtype=nd.float32, device=comm.device).astype(nd.bfloat16)
        self.w = [(nd.random.normal(size=(WIDTH, WIDTH), dtype=nd.float32, device=comm.device) * WIDTH**-0.5).astype(nd.bfloat16)
                  for _ in range(n_layers)]

    def step(self, each, inputs_first=False, pieces=1):
        """each: takes the gradients, those of the last layer first, each in so many pieces."""
        h = [self.x]
        for w in self.w:
            h.append(nd.relu(h[-1] @ w))
        g = h[-1]
        for i in reversed(range(len(self.w))):
            before = g @ nd.matrix_transpose(self.w[i]) if i and inputs_first else None
            for k in range(pieces):
                each(nd.matrix_transpose(h[i][:, k * WIDTH // pieces:(k + 1) * WIDTH // pieces]) @ g)
            if i:
                g = nd.where(h[i] > 0, g @ nd.matrix_transpose(self.w[i]) if before is None else before, 0.0)

    def update(self, grads):
        """A step so small that the weights stay as they are."""
        for w, g in zip(reversed(self.w), grads):
            w -= g * 1e-30


class ModuleThere:
    """The same network as PyTorch's module, alone and in its DistributedDataParallel, and by hand."""

    def __init__(self, torch, n_layers):
        linear = [torch.nn.Linear(WIDTH, WIDTH, bias=False, device="cuda", dtype=torch.bfloat16) for _ in range(n_layers)]
        self.torch = torch
        self.alone = torch.nn.Sequential(*[m for one in linear for m in (one, torch.nn.ReLU())])
        self.together = torch.nn.parallel.DistributedDataParallel(self.alone, gradient_as_bucket_view=True, static_graph=True)
        self.optimizer = torch.optim.SGD(self.alone.parameters(), lr=1e-30)
        self.x = torch.randn(ROWS, WIDTH, device="cuda").bfloat16()
        self.w = [(torch.randn(WIDTH, WIDTH, device="cuda") * WIDTH**-0.5).bfloat16() for _ in range(n_layers)]

    def by_hand(self, each):
        h = [self.x]
        with self.torch.no_grad():
            for w in self.w:
                h.append(self.torch.relu(h[-1] @ w))
            g = h[-1]
            for i in reversed(range(len(self.w))):
                each(h[i].T @ g)
                if i:
                    g = self.torch.where(h[i] > 0, g @ self.w[i].T, 0.0)

    def by_module(self, m):
        for p in m.parameters():
            p.grad = None
        out = m(self.x)
        out.backward(out.detach())

    def trained(self, m):
        self.by_module(m)
        self.optimizer.step()
