# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The graph of core/: which file includes which header and which file calls which, read from the sources and the built objects.

`make graph` prints it as text: what each layer of layers.txt uses, the references that climb from a layer to a higher one, and the
circles of files, and of folders, that need each other. What a layer tells those above it by the rows of
core/lib/lifecycle.def (functions nd__on_...) is listed apart. With --dot it is a graph of the layers for Graphviz. References are counted once for each
pair of files, whatever the number of symbols. A header belongs to the files that define what it declares, so includes and calls
are told apart.
"""
import argparse
import collections
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
EVENTS = "core/lib/lifecycle.c"
LARGEST_CIRCLE = 8


def read_layers(path):
    """The names of the layers, which are folders of core/, from the lowest to the highest."""
    return [line for line in path.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]


def layer_of(path, layers):
    """The number of the layer in whose folder the file lies."""
    name = path.split("/")[1]
    if name not in layers:
        raise SystemExit(f"graph.py: {path} is in no layer of layers.txt")
    return layers.index(name)


def includes(top, files):
    """{(file, header)} for the headers of core/ that files include by their path from the top."""
    found = set()
    for file in files:
        for header in re.findall(r'^#include "(core/[^"]+)"', (top / file).read_text(encoding="utf-8"), re.M):
            found.add((file, header))
    return found


def objects(build, files):
    """{file: object}: of each source the object that libtool made of it."""
    built = {}
    for file in files:
        path = pathlib.Path(file)
        candidates = sorted((build / path.parent).glob(f".libs/*la-{path.stem}.o")) or sorted((build / path.parent).glob(f"*la-{path.stem}.o"))
        if path.suffix == ".c" and candidates:
            built[file] = candidates[0]
    return built


def symbols(paths):
    """{object: what it defines for others, and what it needs of them}, by one nm for all of them."""
    out = subprocess.run(["nm", "-gA", *map(str, paths)], capture_output=True, text=True, check=True).stdout
    found = {str(path): (set(), set()) for path in paths}
    for line in out.splitlines():
        path, _, symbol = line.rpartition(":")
        kind, name = symbol.split()[-2:]
        if kind == "U":
            found[path][1].add(name)
        elif kind not in "wv":
            found[path][0].add(name)
    return found


def calls(built):
    """{(user, definer): [symbol, ...]} between files, and the same of events that are told to higher layers."""
    found = symbols(built.values()) if built else {}
    tables = {file: found[str(path)] for file, path in built.items()}
    home = {name: file for file, (defined, _) in tables.items() for name in defined}
    found, told = collections.defaultdict(list), collections.defaultdict(list)
    for file, (_, needed) in tables.items():
        for name in sorted(needed):
            if home.get(name, file) != file:
                event = home[name] == EVENTS and name.startswith("nd__on_")
                (told if event else found)[file, home[name]].append(name)
    return found, told


def circles(edges):
    """Sets of files of which each reaches each other, the largest first (Tarjan's algorithm, with a stack of its own)."""
    graph = collections.defaultdict(list)
    for a, b in edges:
        graph[a].append(b)
    index, low, on, stack, result = {}, {}, set(), [], []
    for root in list(graph):
        work = [] if root in index else [(root, iter(graph[root]))]
        while work:
            node, rest = work[-1]
            if node not in index:
                index[node] = low[node] = len(index)
                stack.append(node)
                on.add(node)
            for other in rest:
                if other not in index:
                    work.append((other, iter(graph[other])))
                    break
                if other in on:
                    low[node] = min(low[node], index[other])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    at = stack.index(node)
                    result.append(set(stack[at:]))
                    on -= result[-1]
                    del stack[at:]
    return sorted((c for c in result if len(c) > 1), key=len, reverse=True)


def folders(edges):
    """The references between folders."""
    pairs = {(a.rpartition("/")[0], b.rpartition("/")[0]) for a, b in edges}
    return [(a, b) for a, b in sorted(pairs) if a != b]


def print_text(files, included, called, told, layers):
    """The graph in words and tables; whether it breaks a rule."""
    names = layers
    at = {file: layer_of(file, layers) for file in files}
    print(f"core/: {len(files)} files, {len(included)} includes of its headers, {len(called)} pairs of files of which one calls the other\n")
    table = collections.Counter((at[a], at[b]) for a, b in called)
    print("calls   from \\ to" + "".join(f"{name:>9}" for name in names))
    for i, name in enumerate(names):
        cells = "".join(f"{table[i, j] or '':>9}" for j in range(len(names)))
        print(f"{sum(n == i for n in at.values()):4} files {name:>7}{cells}")
    climbing = {"include": sorted((a, b) for a, b in included if b in at and at[b] > at[a]),
                "call": sorted((a, b) for a, b in called if at[b] > at[a])}
    for kind, pairs in climbing.items():
        print(f"\n{len(pairs)} {kind}s climb")
        for a, b in pairs:
            what = ": " + ", ".join(called[a, b][:4]) if kind == "call" else ""
            print(f"  {names[at[a]]} {a} -> {names[at[b]]} {b}{what}")
    print(f"\n{len(told)} files tell higher layers what happens, by rows of core/lib/lifecycle.def")
    for (a, _), events in sorted(told.items()):
        print(f"  {names[at[a]]} {a}: {', '.join(events)}")
    edges = list(called) + list(included)
    found, around = circles(edges), circles(folders(edges))
    print(f"\n{len(found)} circles of files" + (f", of {', '.join(str(len(c)) for c in found)} files" if found else ""))
    for circle in found:
        print("  " + " ".join(sorted(circle)))
    print(f"\n{len(around)} circles of folders")
    for circle in around:
        print("  " + " ".join(sorted(circle)))
    return bool(any(climbing.values()) or any(len(c) > LARGEST_CIRCLE for c in found) or around)


def print_dot(files, called, layers):
    """Layers as boxes, with the number of calling pairs; what climbs is red."""
    at = {file: layer_of(file, layers) for file in files}
    table = collections.Counter((at[a], at[b]) for a, b in called if at[a] != at[b])
    print("digraph core {\n  rankdir=BT; node [shape=box, fontname=sans];")
    for i, name in enumerate(layers):
        print(f'  {name} [label="{name}\\n{sum(n == i for n in at.values())} files"];')
    for (a, b), n in sorted(table.items()):
        style = ', color=red, fontcolor=red, constraint=false' if b > a else ""
        print(f'  {layers[a]} -> {layers[b]} [label="{n}"{style}];')
    print("}")


def main():
    parser = argparse.ArgumentParser(description="The graph of core/, as text or for Graphviz.")
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("."), help="the build tree (the current folder)")
    parser.add_argument("--layers", type=pathlib.Path, default=HERE / "layers.txt", help="the table of layers")
    parser.add_argument("--dot", action="store_true", help="print DOT")
    parser.add_argument("--check", action="store_true", help="end with status 1 if anything climbs, folders are in a circle, or more than 8 files are")
    args = parser.parse_args()
    top = HERE.parent.parent
    files = sorted(str(p.relative_to(top)) for p in top.glob("core/*/**/*") if p.suffix in (".c", ".h"))
    layers = read_layers(args.layers)
    called, told = calls(objects(args.build, files))
    if args.dot:
        print_dot(files, called, layers)
        return 0
    wrong = print_text(files, includes(top, files), called, told, layers)
    return 1 if args.check and wrong else 0


sys.exit(main())
