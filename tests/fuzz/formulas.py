#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Texts of kernels by formula, made of tokens and broken ones: parameters, formulas read to trees, and sources in each language.
Whatever the text, the answer is a tree or a text, or one of the errors that say so. formulas.py [--seconds N] [--seed N]."""
import random
import sys
import time

import ndock as nd
from ndock import _kernel_parse as parse
from ndock import _kernel_types as types

TOKENS = ["x", "y", "z", "i", "n", "_ind", "T", "int", "float", "double", "unsigned", "bool", "size_t", "1", "2.5f", "0x7fu", "1e3", ".5",
          "1e", "0x", "9" * 40, "+", "-", "*", "/", "%", "<<", ">>", "<", "<=", "==", "!=", "&&", "||", "&", "|", "^", "!", "~", "?", ":",
          "=", "+=", "<<=", "++", "--", "(", ")", "[", "]", "{", "}", ";", ",", ".", "if", "else", "for", "while", "do", "break", "continue",
          "return", "sin(", "pow(x,", "x.size()", "raw", "out", "//\n", "/*", "*/", "\"", "'", "\\", "#", "\n", "\0", "é", "float32", "in"]
SEEDS = ["z = x * y + 1", "z = x > 0 ? x : y", "for (int i = 0; i < 3; i++) { z += x[i]; }", "if (x < y) z = x; else { z = y; z *= 2.0f; }",
         "float t = (float)x; z = sin(t) + pow(t, 2.0f)", "float32 x, raw T y", "T x, T y"]


def text_of(rng):
    """A seed with changes, tokens, or one token many times, which parsers that recurse must bound."""
    way = rng.randrange(8)
    if way == 0:
        return rng.choice(TOKENS) * rng.choice([10, 1000, 20000])
    if way < 4:
        return " ".join(rng.choice(TOKENS) for _ in range(rng.randrange(24)))
    text = list(rng.choice(SEEDS))
    for _ in range(1 + rng.randrange(4)):
        at = rng.randrange(len(text) + 1)
        text[at:at + rng.randrange(3)] = [rng.choice(TOKENS)]
    return "".join(text)


def answers(call, text, *errors):
    """The call returns, or raises one of the errors."""
    try:
        call()
    except errors:
        return None
    except BaseException as e:  # noqa: B902  (it is told with its text)
        return f"{type(e).__name__}: {e} for {text[:200]!r} of {len(text)}"
    return None


def one(rng):
    text = text_of(rng)
    said = [answers(lambda: parse.statements(text, {"T": "float32"}), text, parse.NotUnderstood),
            answers(lambda: parse.expression(text, {"T": "float32"}), text, parse.NotUnderstood),
            answers(lambda: types.parameters(text, "elementwise"), text, ValueError, TypeError),
            answers(lambda: types.parameters(text, "reduction"), text, ValueError, TypeError),
            answers(lambda: nd.ElementwiseKernel("T x, T y", "T z", text, "fuzzed"), text, ValueError, TypeError)]
    return [s for s in said if s]


def option(name, otherwise):
    return int(sys.argv[sys.argv.index(name) + 1]) if name in sys.argv else otherwise


def main():
    seconds, seed = option("--seconds", 0), option("--seed", 1)
    rng, end, made, bad = random.Random(seed), time.monotonic() + seconds, 0, []
    while (time.monotonic() < end if seconds else made < 2000) and len(bad) < 5:
        bad += one(rng)
        made += 1
    for line in bad:
        print("#", line)
    print(f"{'not ' if bad else ''}ok 1 - {made} texts of kernels by formula, seed {seed}: all are read or refused\n1..1")
    return bool(bad)


sys.exit(main())
