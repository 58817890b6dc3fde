#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The largest errors seen of elementwise functions, in units in the last place of the result: ndock's, NumPy's beside, and what op.def allows.

    bench/ulp.py [--device cpu] [--bits 20] [--only exp,pow] [--markdown]

float16 and bfloat16 are tried whole: every argument there is; float32 and float64 at 2^bits arguments, half of them of random bits (all
exponents, subnormal numbers too), half between -20 and 20, and pairs of such for powers. The expected values are NumPy's of longdouble, which has 64 bits of
mantissa on x86 and comes from the C library; bench/ulp.py refuses to judge where longdouble is no wider than float64. Results that are
NaN or infinite must be so in both, but for values within an ulp of the largest number. A figure above the bound makes the status 1."""
import argparse
import re
import sys
from pathlib import Path

import numpy as np
import ndock as nd

FUNCTIONS = {
    "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "log": np.log, "log2": np.log2, "log10": np.log10, "log1p": np.log1p, "sin": np.sin,
    "cos": np.cos, "tan": np.tan, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "sqrt": np.sqrt,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)), "silu": lambda x: x / (1 + np.exp(-x)), "pow": np.power,
}
OWN = ("sigmoid", "silu")  # NumPy has no such function
MANTISSA = {"float16": 10, "bfloat16": 7, "float32": 23, "float64": 52}
LEAST = {"float16": -14, "bfloat16": -126, "float32": -126, "float64": -1022}  # exponents of normal numbers
MOST = {"float16": 15, "bfloat16": 127, "float32": 127, "float64": 1023}
COLUMN = {"float16": 0, "bfloat16": 0, "float32": 1, "float64": 2}


def bounds():
    """{name: (half, single, double, complex)} as op.def has them."""
    text = (Path(__file__).parent.parent / "include/ndock/op.def").read_text()
    return {name: [float(x) for x in ulp.split(",")] for name, ulp in re.findall(r"(?m)^ND_OP\((\w+),[^\n]*?ULP\(([^)]*)\)", text)}


def arguments(dtype, bits, rng):
    """An array of ndock's and its values as longdouble."""
    if dtype in ("float16", "bfloat16"):
        raw = np.arange(1 << 16, dtype="uint16")
        wide = raw.view("float16") if dtype == "float16" else (raw.astype("uint32") << 16).view("float32")
        x = nd.asarray(wide) if dtype == "float16" else nd.astype(nd.asarray(wide), nd.bfloat16)
        return x, wide.astype("longdouble")
    word = {"float32": "uint32", "float64": "uint64"}[dtype]
    half = 1 << (bits - 1)
    random = rng.integers(0, np.iinfo(word).max, half, dtype=word, endpoint=True).view(dtype)
    x = np.concatenate([random, rng.uniform(-20, 20, half).astype(dtype)])
    return nd.asarray(x), x.astype("longdouble")


def errors(got, want, dtype):
    """Errors in ulps of the wanted values; infinite where only one side is a number."""
    exponent = np.frexp(np.where(np.isfinite(want) & (want != 0), want, 1))[1] - 1
    ulp = np.ldexp(np.longdouble(1), np.maximum(exponent, LEAST[dtype]) - MANTISSA[dtype])
    largest = np.ldexp(np.longdouble(2) - np.ldexp(np.longdouble(1), -MANTISSA[dtype]), MOST[dtype])
    edge = largest + np.ldexp(np.longdouble(1), MOST[dtype] - MANTISSA[dtype])
    out = np.abs(got - want) / ulp
    both = (np.isnan(got) & np.isnan(want)) | (got == want)
    over = np.isinf(got) & (np.abs(want) >= largest) & (np.sign(got) == np.sign(want))
    under = (np.abs(got) == largest) & (np.abs(want) <= edge)
    out = np.where(both | over, 0, out)
    return np.where(np.isnan(out) & ~both & ~under, np.inf, out)


def worst(name, dtype, o, rng):
    """ndock's largest error, NumPy's or None, and how many arguments were tried."""
    x, wide = arguments(dtype, o.bits, rng)
    inputs, wides = [x], [wide]
    if name == "pow":
        order = rng.permutation(len(wide))
        inputs, wides = [nd.abs(x), nd.take(x, nd.asarray(order))], [np.abs(wide), wide[order]]
        if dtype in ("float16", "bfloat16"):  # whole in the first of a pair
            exponent = nd.astype(nd.asarray(rng.uniform(-8, 8, len(wide)).astype("float32")), getattr(nd, dtype))
            inputs[1], wides[1] = exponent, np.asarray(nd.astype(exponent, nd.float64)).astype("longdouble")
    inputs = [nd.asarray(v, device=o.device) for v in inputs]
    want = FUNCTIONS[name](*wides)
    got = np.asarray(nd.asarray(nd.astype(getattr(nd, name)(*inputs), nd.float64), device="cpu")).astype("longdouble")
    mine, theirs = float(np.max(errors(got, want, dtype))), None
    if dtype != "bfloat16" and name not in OWN:
        other = FUNCTIONS[name](*(w.astype(dtype) for w in wides))
        theirs = float(np.max(errors(other.astype("longdouble"), want, dtype)))
    return mine, theirs, len(wide)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--device", default="cpu")
    p.add_argument("--bits", type=int, default=20)
    p.add_argument("--only", default=",".join(FUNCTIONS))
    p.add_argument("--dtypes", default=",".join(MANTISSA))
    p.add_argument("--markdown", action="store_true", help="the table as the docs have it")
    o = p.parse_args()
    if np.finfo("longdouble").nmant < 60:
        raise SystemExit("longdouble is no wider than float64 here: there is nothing to judge by")
    np.seterr(all="ignore")
    allowed, status, dtypes = bounds(), 0, o.dtypes.split(",")
    head = "| function | " + " | ".join(dtypes) + " |\n|---|" + "---|" * len(dtypes)
    print(head if o.markdown else f"# largest error in ulp of every float16 and bfloat16 and 2^{o.bits} others; (NumPy's); allowed")
    for name in o.only.split(","):
        cells = []
        for dtype in dtypes:
            mine, theirs, _ = worst(name, dtype, o, np.random.default_rng(18))
            bound = allowed[name][COLUMN[dtype]]
            status |= not mine <= bound
            beside = "" if theirs is None else f" ({theirs:.2f})" if theirs < 1e4 else " (large)"
            cells.append(f"{mine:.2f}{beside}; {bound:g}" + ("" if mine <= bound else " ABOVE"))
        print(f"| {name} | " + " | ".join(cells) + " |" if o.markdown else f"{name:8} " + "   ".join(f"{d} {c}" for d, c in zip(dtypes, cells)), flush=True)
    return status


if __name__ == "__main__":
    sys.exit(main())
