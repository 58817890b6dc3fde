#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What candle's tests of its own kernels compute: the shapes and parameters there, expected values recomputed from the definitions by
tests/data/candle_golden.py, on each device in each floating dtype."""
import json
import os

import ndock as nd
from arrays import DEVICES, host, np
from tap import cases, main

GOLDEN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data", "candle_golden.json")
# Of the largest value: operands are rounded as well.
TOLERANCE = {"float64": 1e-14, "float32": 2e-6, "float16": 6e-3, "bfloat16": 5e-2}
F = nd.nn
CALLS = {
    "rms_norm": lambda x, scale, eps: F.rms_norm(x, x.shape[-1:], scale, eps),
    "layer_norm": lambda x, scale, bias, eps: F.layer_norm(x, x.shape[-1:], scale, bias, eps),
    "conv2d_input": lambda x, w, dy: F.conv2d_input(x.shape, w, dy),
    "conv2d_weight": lambda x, w, dy: F.conv2d_weight(x, w.shape, dy),
    "softmax": lambda x, axis: nd.softmax(x, axis=axis),
    "index_select": lambda x, indices: nd.take(x, nd.asarray(indices, device=x.device), axis=0),
    "index_add": lambda x, y, indices: nd.index_add(x, nd.asarray(indices, device=x.device), y, axis=0),
}
with open(GOLDEN) as f:
    ROWS = json.load(f)


def array(of):
    return np.array(of["values"]).reshape(of["shape"])


@cases(*[(name, device) for name in dict.fromkeys(row["name"] for row in ROWS) for device in DEVICES])
def test_kernels(name, device):
    for i, row in enumerate(ROWS):
        if row["name"] != name:
            continue
        want, call = array(row["result"]), CALLS.get(name) or getattr(F, name)
        for dtype, tolerance in TOLERANCE.items():
            operands = [nd.asarray(array(a), device=device).astype(getattr(nd, dtype)) for a in row["arrays"]]
            got = call(*operands, **row["options"])
            assert got.dtype.name == dtype and got.shape == want.shape, (i, got.dtype, got.shape)
            worst = np.abs(host(got.astype(nd.float64)) - want).max()
            assert worst <= tolerance * max(1.0, np.abs(want).max()), f"row {i} in {dtype}: {worst} off"


def test_there_is_every_family():
    assert len(ROWS) == 53 and len({row["name"] for row in ROWS}) == 16


if __name__ == "__main__":
    main(globals())
