#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutions and their gradients: ndock from Python beside PyTorch, in one run, a line for each geometry, dtype and layout.

    bench/conv.py [--device cuda:0|cpu] [--only WORD] [--seconds 0.05] [--dtypes "float32 bfloat16"] [--layouts "first last"] [--deterministic]

A line has, for the result, the gradient for the input and that for the weight, ndock's least time in microseconds and in brackets PyTorch's
over it (above 1, ndock is faster); both take turns. f32 is computed without TF32 on both sides; PyTorch may take Fourier's and Winograd's
transforms, whose errors are larger, and engines whose bits change from run to run (not with --deterministic), ndock does not.
"last" means channels last, of image, result and weight. What fails says so and the rest goes on. On the CPU threads of both sleep between
turns; with --seconds below 0.03 a turn is a call or two, which mostly show how threads wake."""
import ndock as nd
from nn import Bench, arguments, torch

# name, images, channels, extents, results, kernel, options; of as many axes as there are extents
ROWS = (
    ("64x56 k3", 32, 64, (56, 56), 64, (3, 3), {"padding": 1}),
    ("512x14 k3", 32, 512, (14, 14), 512, (3, 3), {"padding": 1}),
    ("128x56 k3 s2", 32, 128, (56, 56), 128, (3, 3), {"padding": 1, "stride": 2}),
    ("3x224 k7 s2", 32, 3, (224, 224), 64, (7, 7), {"padding": 3, "stride": 2}),
    ("256x56 k1", 32, 256, (56, 56), 64, (1, 1), {}),
    ("1024x14 k1", 32, 1024, (14, 14), 256, (1, 1), {}),
    ("256x56 k1 s2", 32, 256, (56, 56), 512, (1, 1), {"stride": 2}),
    ("depthwise 64x112", 32, 64, (112, 112), 64, (3, 3), {"padding": 1, "groups": 64}),
    ("depthwise 384x28 s2", 32, 384, (28, 28), 384, (3, 3), {"padding": 1, "stride": 2, "groups": 384}),
    ("groups 32, 256x56", 32, 256, (56, 56), 256, (3, 3), {"padding": 1, "groups": 32}),
    ("groups 64, 256x56", 32, 256, (56, 56), 256, (3, 3), {"padding": 1, "groups": 64}),
    ("1d 64x4096 k9", 32, 64, (4096,), 64, (9,), {"padding": 4}),
    ("3d 32x16x56 k3", 4, 32, (16, 56, 56), 32, (3, 3, 3), {"padding": 1}),
    ("transposed 64x56 k4 s2", 32, 64, (56, 56), 64, (4, 4), {"padding": 1, "stride": 2}),
)
SMALL = {"64x56 k3", "512x14 k3", "256x56 k1", "depthwise 64x112", "depthwise 384x28 s2", "3x224 k7 s2", "groups 32, 256x56", "1d 64x4096 k9"}


def last_of(array):
    """The same array, channels innermost in memory."""
    d = array.ndim
    turned = nd.permute_dims(array, (0, *range(2, d), 1)).copy()
    return nd.permute_dims(turned, (0, d - 1, *range(1, d - 1)))


class Line:
    def __init__(self, b, row, dtype, layout):
        name, n, c, extents, o, kernel, options = row
        self.b, self.options, self.transposed = b, options, name.startswith("transposed")
        n = 1 if b.device.startswith("cpu") else n
        groups = options.get("groups", 1)
        shape = (n, c, *extents)
        weight = (c, o, *kernel) if self.transposed else (o, c // groups, *kernel)
        self.x, self.t = b.pair(shape, dtype)
        self.w, self.v = b.pair(weight, dtype)
        if layout == "last":
            self.x, self.w = last_of(self.x), last_of(self.w)
            if b.peer:
                form = {4: torch.channels_last, 5: torch.channels_last_3d}[len(shape)]
                self.t, self.v = self.t.to(memory_format=form), self.v.to(memory_format=form)
        self.y = self.ours()
        self.y = last_of(self.y) if layout == "last" else self.y

    def ours(self):
        d = self.x.ndim - 2
        f = getattr(nd.nn, f"conv_transpose{d}d" if self.transposed else f"conv{d}d")
        return f(self.x, self.w, **self.options)

    def theirs(self, x=None, w=None):
        F, d = torch.nn.functional, self.t.ndim - 2
        f = getattr(F, f"conv_transpose{d}d" if self.transposed else f"conv{d}d")
        return f(self.t if x is None else x, self.v if w is None else w, **self.options)

    def backward(self, of):
        """PyTorch's backward pass for the input (0) or the weight (1) alone."""
        if not self.b.peer:
            return None
        x, w = self.t.detach(), self.v.detach()
        (x, w)[of].requires_grad_()
        y = self.theirs(x, w)
        g = torch.ones_like(y)
        return lambda: torch.autograd.grad(y, (x, w)[of], g, retain_graph=True)

    def cases(self):
        """ndock's call and PyTorch's, of the result and both gradients."""
        d = self.x.ndim - 2
        yield self.ours, (self.theirs if self.b.peer else None)
        if self.transposed:  # its gradient for the input is a convolution
            return
        yield (lambda: getattr(nd.nn, f"conv{d}d_input")(self.x.shape, self.w, self.y, **self.options)), self.backward(0)
        yield (lambda: getattr(nd.nn, f"conv{d}d_weight")(self.x, self.w.shape, self.y, **self.options)), self.backward(1)

    def text(self):
        parts = []
        for ours, theirs in self.cases():
            try:
                t = self.b.least([ours] + ([theirs] if theirs else []))
                parts.append(f"{t[0] * 1e6:9.1f}" + (f" ({t[1] / t[0]:.2f})" if theirs else ""))
            except Exception as error:
                parts.append(f" failed: {type(error).__name__}: {str(error)[:60]}")
        return " ".join(parts)


def main():
    parser = arguments(0.05, "float32 bfloat16")
    parser.add_argument("--layouts", default="first last")
    parser.add_argument("--deterministic", action="store_true")
    options = parser.parse_args()
    if torch:
        torch.backends.cudnn.deterministic = options.deterministic
        torch.backends.cudnn.benchmark = torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False
    b = Bench(options.device, options.seconds, "")
    print(f"# {options.device}; PyTorch {torch.__version__ if torch else 'is not there'}; us (PyTorch's time over it): result, input, weight")
    for row in ROWS:
        for dtype in options.dtypes.split():
            for layout in options.layouts.split():
                name = f"{row[0]} {dtype} {layout}"
                if options.only not in name or (layout == "last" and len(row[3]) == 1) or (options.device == "cpu" and row[0] not in SMALL):
                    continue
                try:
                    print(f"{name:40}{Line(b, row, dtype, layout).text()}", flush=True)
                except Exception as error:
                    print(f"{name:40} failed: {type(error).__name__}: {str(error)[:90]}", flush=True)


if __name__ == "__main__":
    main()
