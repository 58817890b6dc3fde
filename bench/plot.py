#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Draws what bench/sweep.py measured, as SVG and with nothing but Python: nanoseconds an element against elements, both logarithmic, a
panel for each operation, ndock's line thick, with rings where it has steps (bench/sweep.py says what these are).

    bench/plot.py SWEEP.json OUT.svg"""
import json
import math
import sys

from sweep import steps

WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 300, 220, 46, 24, 34
COLOURS = {"ndock": "#c0392b", "numpy": "#2c3e50", "torch": "#d68910"}


def panel(name, contenders, x0):
    """The elements of one operation's drawing, whose left edge is at x0."""
    points = {who: [(math.log2(n), math.log10(s / n * 1e9)) for n, s in rows] for who, rows in contenders.items()}
    every = [p for rows in points.values() for p in rows]
    low, high = math.floor(min(y for _, y in every)), math.ceil(max(y for _, y in every))
    most = max(max(x for x, _ in every), 1)

    def at(x, y):
        return x0 + LEFT + x / most * (WIDTH - LEFT - 18), TOP + (high - y) / max(high - low, 1) * (HEIGHT - TOP - BOTTOM)
    out = [f'<text x="{x0 + WIDTH / 2}" y="15" text-anchor="middle" font-weight="bold">{name}</text>']
    for y in range(low, high + 1):
        (a, b), (c, _) = at(0, y), at(most, y)
        out.append(f'<path d="M{a:.1f} {b:.1f}H{c:.1f}" stroke="#ddd"/>'
                   f'<text x="{a - 4:.1f}" y="{b + 4:.1f}" text-anchor="end">{10.0 ** y:g}</text>')
    for x in range(0, int(most) + 1, 4):
        a, b = at(x, low)
        out.append(f'<text x="{a:.1f}" y="{b + 14:.1f}" text-anchor="middle">2^{x}</text>')
    for who, rows in points.items():
        line = "L".join("{:.1f} {:.1f}".format(*at(*p)) for p in rows)
        out.append(f'<path d="M{line}" fill="none" stroke="{COLOURS.get(who, "#777")}" stroke-width="{2.2 if who == "ndock" else 1.2}"/>')
    for n in steps(contenders.get("ndock", [])):
        x, y = at(*next(p for p in points["ndock"] if p[0] == math.log2(n)))
        out.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="none" stroke="{COLOURS["ndock"]}"/>')
    return out


def drawing(report):
    rows = {name: c for name, c in report["rows"].items() if c}
    names = sorted({who for c in rows.values() for who in c})
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH * len(rows)}" height="{HEIGHT + 16}" font-family="sans-serif" font-size="10">',
           '<rect width="100%" height="100%" fill="white"/>']
    for i, (name, contenders) in enumerate(rows.items()):
        out += panel(name, contenders, i * WIDTH)
    for i, who in enumerate(names):
        out.append(f'<text x="{LEFT + 150 * i}" y="{HEIGHT + 10}" fill="{COLOURS.get(who, "#777")}">{who}, ns an element</text>')
    return "\n".join(out + ["</svg>", ""])


def main():
    with open(sys.argv[1]) as f:
        report = json.load(f)
    with open(sys.argv[2], "w") as f:
        f.write(drawing(report))


if __name__ == "__main__":
    main()
