# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What must hold of python/src/: the order of its folders, and the size of its files and functions.

python/files.mk names the folders from the lowest to the highest. `folders.py includes` lists each include of a folder by a lower
one, `folders.py calls` the same of functions and variables, read from the built objects, `folders.py sizes` the files and
functions that are too large, `folders.py lengths` the long functions, also of core/. Each prints what it finds, a line each, and exits with 1 where there is something.
"""
import argparse
import pathlib
import re
import subprocess
import sys

MOST_COMPLEX = 15  # decisions of a function: 1, and one for each if, for, while, case, && and ||, and ?:
MOST_LINES = 350
MOST_LINES_OF_FUNCTION = 60


def read_folders(top):
    """The names of the folders from the lowest to the highest."""
    folders = re.findall(r"^#   (\w+) +\S", (top / "python/files.mk").read_text(encoding="utf-8"), re.M)
    there = sorted(p.name for p in (top / "python/src").iterdir() if p.is_dir() and not p.name.startswith("."))
    if sorted(folders) != there:
        sys.exit(f"python/files.mk explains {sorted(folders)}, and there are {there}")
    return folders


def includes(top, folders):
    """Lines "file includes header" for the includes that climb. Beside sources lie folders of make, where one builds there."""
    for file in sorted(path for path in (top / "python/src").glob("*/*") if path.suffix in (".c", ".h", ".def")):
        for header in re.findall(r'^#include "python/src/([^"]+)"', file.read_text(encoding="utf-8"), re.M):
            if folders.index(header.split("/")[0]) > folders.index(file.parent.name):
                yield f"{file.parent.name}/{file.name} includes {header}"


def symbols(path):
    """What an object defines for others, and what it needs of them."""
    out = subprocess.run(["nm", "-g", str(path)], capture_output=True, text=True, check=True).stdout
    kinds = [line.split()[-2:] for line in out.splitlines()]
    return {name for kind, name in kinds if kind not in "Uwv"}, {name for kind, name in kinds if kind == "U"}


def source(top, path):
    """Of an object. Those of files that were moved may still lie in the build tree."""
    return top / "python/src" / path.parent.parent.name / (path.stem.split("-", 1)[1] + ".c")


def calls(top, build, folders):
    """Lines "object uses symbol of object" for the uses that climb."""
    found = {path: symbols(path) for path in sorted((build / "python/src").glob("*/.libs/*.o")) if source(top, path).exists()}
    if not found:
        sys.exit("no object was found")
    home = {name: path for path, (defined, _) in found.items() for name in defined}
    for path, (_, needed) in found.items():
        for name in sorted(needed & home.keys()):
            here, there = path.parent.parent.name, home[name].parent.parent.name
            if folders.index(there) > folders.index(here):
                yield f"{here}/{source(top, path).name} uses {name} of {there}/{source(top, home[name]).name}"


def functions(text):
    """(name, lines, body) of each function, the body without comments, text and what the preprocessor reads."""
    text = re.sub(r"/\*.*?\*/", lambda m: " " + "\n" * m.group().count("\n"), text, flags=re.S)
    text = re.sub(r'"(\\.|[^"\\\n])*"|\'(\\.|[^\'\\\n])+\'', '""', text)
    text = re.sub(r"^#(.*\\\n)*.*$", lambda m: "\n" * m.group().count("\n"), text, flags=re.M)
    for m in re.finditer(r"^\w[^;{}=]*?\b(\w+)\s*\([^;{}]*\)\n\{\n(.*?)^\}", text, re.M | re.S):
        yield m.group(1), m.group().count("\n") + 1, m.group(2)


def sizes(top):
    """Lines for files and functions that are too large."""
    for file in sorted((top / "python/src").glob("*/*.[ch]")):
        name, text = f"{file.parent.name}/{file.name}", file.read_text(encoding="utf-8")
        lines = text.count("\n")
        if lines > MOST_LINES:
            yield f"{name} has {lines} lines, more than {MOST_LINES}"
        for function, _, body in functions(text):
            complexity = 1 + len(re.findall(r"\b(?:if|for|while|case)\b|&&|\|\||\?", body))
            if complexity > MOST_COMPLEX:
                yield f"{name}: {function} has complexity {complexity}, more than {MOST_COMPLEX}"


def lengths(top):
    """Lines for functions that are too long, which begin with what they return."""
    for file in sorted(path for folder in ("core", "python/src") for path in (top / folder).glob("**/*.[ch]")):
        for function, lines, _ in functions(file.read_text(encoding="utf-8")):
            if lines > MOST_LINES_OF_FUNCTION:
                yield f"{file.relative_to(top)}: {function} has {lines} lines, more than {MOST_LINES_OF_FUNCTION}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["includes", "calls", "sizes", "lengths"])
    parser.add_argument("--top", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[2])
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("."))
    args = parser.parse_args()
    folders = read_folders(args.top)
    found = list({"includes": lambda: includes(args.top, folders), "calls": lambda: calls(args.top, args.build, folders),
                  "sizes": lambda: sizes(args.top), "lengths": lambda: lengths(args.top)}[args.what]())
    print("\n".join(found))
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
