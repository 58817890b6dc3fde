#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which engines cuDNN has for a convolution, in the order of its heuristics: time, work area, notes, and how far they are from float64.

    bench/conv_engines.py [--only WORD] [--most 12]

Needs PyTorch with CUDA, whose libcudnn is asked through the backend API. A line: the mode of heuristics that named the engine, its number, microseconds,
MiB of work area, its numerical notes, whether three runs gave the same bits, and the largest error in units of the rounding of the sum of the
terms' sizes times the square root of their number, which is the bound of `op.def`: first of numbers of one size, then beside an element a thousand
times as large. A star marks what ndock allows. Engines of f32 that narrow operands or have tensor cores are left out."""
import argparse
import ctypes

import torch

F = torch.nn.functional
NOTES = {0: "tensor cores", 1: "narrowed operands", 2: "narrowed sums", 3: "fourier", 4: "not deterministic", 5: "winograd", 6: "winograd 4x4", 7: "winograd 6x6",
         8: "winograd 13x13"}
MODES = {"instant": 0, "A": 3, "B": 1, "fallback": 2}
CONVOLUTION, ENGINE, CONFIG, HEURISTICS, PLAN, GRAPH, PACK, TENSOR = 1, 2, 3, 4, 5, 15, 16, 17
HANDLE, DATA_TYPE, INT64, FLOAT, POINTER, CONV_MODE, HEUR_MODE, NOTE, DESCRIPTOR = 0, 1, 3, 4, 6, 7, 8, 11, 15
OPERATIONS = {"result": (10, (704, 703, 705, 702, 700, 701)), "input": (12, (710, 709, 711, 708, 706, 707)), "weight": (11, (716, 715, 717, 714, 712, 713))}

# name, what, dtype, channels last, images, channels, extents, results, kernel, stride, padding, groups
CASES = (
    ("64x56 k3", "input", "float32", False, 32, 64, (56, 56), 64, 3, 1, 1, 1),
    ("64x56 k3", "input", "float32", True, 32, 64, (56, 56), 64, 3, 1, 1, 1),
    ("64x56 k3", "result", "float32", False, 32, 64, (56, 56), 64, 3, 1, 1, 1),
    ("64x56 k3", "weight", "float32", False, 32, 64, (56, 56), 64, 3, 1, 1, 1),
    ("512x14 k3", "result", "float32", False, 32, 512, (14, 14), 512, 3, 1, 1, 1),
    ("512x14 k3", "result", "float32", True, 32, 512, (14, 14), 512, 3, 1, 1, 1),
    ("512x14 k3", "input", "float32", False, 32, 512, (14, 14), 512, 3, 1, 1, 1),
    ("3x224 k7 s2", "weight", "float32", False, 32, 3, (224, 224), 64, 7, 2, 3, 1),
    ("3x224 k7 s2", "result", "bfloat16", False, 32, 3, (224, 224), 64, 7, 2, 3, 1),
    ("256x56 k1 s2", "result", "float32", False, 32, 256, (56, 56), 512, 1, 2, 0, 1),
    ("3d 32x16x56 k3", "result", "bfloat16", False, 4, 32, (16, 56, 56), 32, 3, 1, 1, 1),
    ("3d 32x16x56 k3", "result", "float32", False, 4, 32, (16, 56, 56), 32, 3, 1, 1, 1),
)


class Library:
    """The functions of the backend API that are used; a status that is not 0 is False."""

    def __init__(self):
        torch.backends.cudnn.version()
        self.c = ctypes.CDLL("libcudnn.so.9")
        self.handle = ctypes.c_void_p()
        assert self.c.cudnnCreate(ctypes.byref(self.handle)) == 0
        self.c.cudnnSetStream(self.handle, ctypes.c_void_p(torch.cuda.current_stream().cuda_stream))

    def make(self, kind):
        d = ctypes.c_void_p()
        assert self.c.cudnnBackendCreateDescriptor(kind, ctypes.byref(d)) == 0
        return d

    def put(self, d, name, kind, *values):
        form = {INT64: ctypes.c_int64, FLOAT: ctypes.c_float, DESCRIPTOR: ctypes.c_void_p, HANDLE: ctypes.c_void_p, POINTER: ctypes.c_void_p}.get(kind, ctypes.c_int)
        return self.c.cudnnBackendSetAttribute(d, name, kind, ctypes.c_int64(len(values)), (form * len(values))(*[getattr(v, "value", v) for v in values])) == 0

    def get(self, d, name, kind, room, array):
        n = ctypes.c_int64()
        return n.value if self.c.cudnnBackendGetAttribute(d, name, kind, ctypes.c_int64(room), ctypes.byref(n), array) == 0 else -1

    def finish(self, d):
        return self.c.cudnnBackendFinalize(d) == 0


class Case:
    def __init__(self, lib, row):
        self.lib, (self.name, self.what, self.dtype, self.last, n, c, extents, o, k, self.stride, self.padding, self.groups) = lib, row
        d = len(extents)
        torch.manual_seed(1)
        self.form = {2: torch.channels_last, 3: torch.channels_last_3d}[d] if self.last else torch.contiguous_format
        self.f = {2: F.conv2d, 3: F.conv3d}[d]
        t = getattr(torch, self.dtype)
        self.x = torch.randn((n, c, *extents), device="cuda").to(t).contiguous(memory_format=self.form)
        self.w = torch.randn((o, c // self.groups, *(k,) * d), device="cuda").to(t).contiguous(memory_format=self.form)
        self.y = torch.randn_like(self.f(self.x, self.w, stride=self.stride, padding=self.padding, groups=self.groups)).contiguous(memory_format=self.form)
        self.terms = {"result": c // self.groups * k ** d, "input": o // self.groups * k ** d, "weight": n * self.y[0, 0].numel()}[self.what]

    def by_torch(self, x, w, y):
        if self.what == "result":
            return self.f(x, w, stride=self.stride, padding=self.padding, groups=self.groups)
        mask = [self.what == "input", self.what == "weight", False]
        d = x.ndim - 2
        r = torch.ops.aten.convolution_backward(y, x, w, None, [self.stride] * d, [self.padding] * d, [1] * d, False, [0] * d, self.groups, mask)
        return r[0 if mask[0] else 1]

    def made(self):
        return {"result": self.y, "input": self.x, "weight": self.w}[self.what]

    def graph(self):
        lib, kind = self.lib, OPERATIONS[self.what]
        parts = []
        for i, t in enumerate((self.x, self.w, self.y)):
            e = lib.make(TENSOR)
            type_ = {"float32": 0, "bfloat16": 9, "float16": 2}[self.dtype]
            assert lib.put(e, 906, INT64, i + 1) and lib.put(e, 901, DATA_TYPE, type_) and lib.put(e, 900, INT64, 16)
            assert lib.put(e, 902, INT64, *t.shape) and lib.put(e, 903, INT64, *t.stride()) and lib.finish(e)
            parts.append(e)
        c, d = lib.make(CONVOLUTION), self.x.ndim - 2
        assert lib.put(c, 106, INT64, d) and lib.put(c, 100, DATA_TYPE, 0) and lib.put(c, 101, CONV_MODE, 1)
        for name, v in ((105, self.padding), (104, self.padding), (102, 1), (103, self.stride)):
            assert lib.put(c, name, INT64, *[v] * d)
        assert lib.finish(c)
        op = lib.make(kind[0])
        for name, part in zip(kind[1][:4], (*parts, c)):
            assert lib.put(op, name, DESCRIPTOR, part)
        assert lib.put(op, kind[1][4], FLOAT, 1.0) and lib.put(op, kind[1][5], FLOAT, 0.0) and lib.finish(op)
        g = lib.make(GRAPH)
        assert lib.put(g, 801, DESCRIPTOR, op) and lib.put(g, 800, HANDLE, lib.handle) and lib.finish(g)
        return g

    def configs(self, graph, mode):
        lib, h = self.lib, self.lib.make(HEURISTICS)
        lib.put(h, 201, DESCRIPTOR, graph)
        if not lib.put(h, 200, HEUR_MODE, MODES[mode]) or not lib.finish(h):
            return []
        array = (ctypes.c_void_p * 64)(*[lib.make(CONFIG).value for _ in range(64)])
        return [ctypes.c_void_p(array[i]) for i in range(max(0, lib.get(h, 202, DESCRIPTOR, 64, array)))]

    def facts(self, config):
        lib = self.lib
        engine = (ctypes.c_void_p * 1)(lib.make(ENGINE).value)
        number, notes = ctypes.c_int64(-1), (ctypes.c_int * 16)()
        lib.get(config, 300, DESCRIPTOR, 1, engine)
        e = ctypes.c_void_p(engine[0])
        lib.get(e, 1301, INT64, 1, ctypes.byref(number))
        n = lib.get(e, 1303, NOTE, 16, notes)
        return number.value, [notes[i] for i in range(max(n, 0))]

    def plan(self, config):
        lib, p, size = self.lib, self.lib.make(PLAN), ctypes.c_int64()
        if lib.put(p, 400, HANDLE, lib.handle) and lib.put(p, 401, DESCRIPTOR, config) and lib.finish(p) and lib.get(p, 402, INT64, 1, ctypes.byref(size)) == 1:
            return p, size.value
        return None, 0

    def run(self, plan, nbytes, x, w, y):
        lib = self.lib
        room = torch.empty(max(nbytes, 16), dtype=torch.uint8, device="cuda")
        pack = lib.make(PACK)
        lib.put(pack, 1000, INT64, 1, 2, 3)
        lib.put(pack, 1001, POINTER, x.data_ptr(), w.data_ptr(), y.data_ptr())
        lib.put(pack, 1003, POINTER, room.data_ptr())
        return pack, room, lib.finish(pack) and (lambda: lib.c.cudnnBackendExecute(lib.handle, plan, pack))

    def error(self, got, x, w, y):
        a = [t.double() for t in (x, w, y)]
        want, size = self.by_torch(*a), self.by_torch(*[t.abs() for t in a])
        unit = {"float32": 2.0 ** -24, "bfloat16": 2.0 ** -8, "float16": 2.0 ** -11}[self.dtype]
        return ((got.double() - want).abs() / (unit * size * self.terms ** 0.5).clamp(min=1e-30)).max().item()

    def operands(self, spike):
        t = [self.x.clone(), self.w.clone(), self.y.clone()]
        if spike:
            i = 2 if self.what != "result" else 0
            t[i][:, :, *(s // 2 for s in t[i].shape[2:])] *= 1000.0
        return t

    def trial(self, config):
        plan, nbytes = self.plan(config)
        if plan is None or nbytes > 4 << 30:
            return f"no plan ({nbytes >> 20} MiB)"
        errors, same, us = [], True, 0
        for spike in (False, True):
            t = self.operands(spike)
            out = t[{"input": 0, "weight": 1, "result": 2}[self.what]]
            pack, room, call = self.run(plan, nbytes, *t)
            if not call or call() != 0:
                return "does not run"
            first = out.clone()
            for _ in range(2):
                call()
                same &= bool(torch.equal(first, out))
            errors.append(self.error(out, *self.operands(spike)))
            if not spike:
                us = least(call)
        return f"{us:8.1f} us {nbytes >> 20:5d} MiB  {'same' if same else 'DIFFERENT'} bits  error {errors[0]:.4f} {errors[1]:.4g}"


def least(call, turns=12):
    best = 1e9
    for _ in range(turns):
        a, b = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        a.record()
        for _ in range(4):
            call()
        b.record()
        b.synchronize()
        best = min(best, a.elapsed_time(b) * 250)
    return best


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="")
    parser.add_argument("--most", type=int, default=12)
    options = parser.parse_args()
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False
    lib = Library()
    print(f"# cuDNN {torch.backends.cudnn.version()}, {torch.cuda.get_device_name()}", flush=True)
    for row in CASES:
        title = f"{row[0]} {row[1]} {row[2]} {'last' if row[3] else 'first'}"
        if options.only not in title:
            continue
        try:
            case = Case(lib, row)
            print(f"{title}: PyTorch {least(lambda: case.by_torch(case.x, case.w, case.y)):.1f} us", flush=True)
            graph = case.graph()
            for mode in MODES:
                shown = 0
                for config in case.configs(graph, mode):
                    number, notes = case.facts(config)
                    if shown == options.most or (row[2] == "float32" and (0 in notes or 1 in notes)):
                        continue
                    shown += 1
                    allowed = not any(n in (2, 3, 4, 5, 6, 7, 8) or (row[2] == "float32" and n in (0, 1)) for n in notes)
                    names = ", ".join(NOTES.get(n, str(n)) for n in notes)
                    print(f"  {mode:8} engine {number:3d}{'*' if allowed else ' '} {case.trial(config)}  [{names}]", flush=True)
        except Exception as error:
            print(f"{title} ended: {type(error).__name__}: {error}", flush=True)
        torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
