# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Changes the code one line at a time and looks whether the tests see it; `make check-mutation` runs it.

Each change of the tables (`*.txt` beside this file, whose format read_table() describes) is made in a copy of the tree, which is
built again through ccache. The tests named with the change run first, then those of wider areas; the first failure kills the
change. Verdicts go to results.jsonl in the work folder as they are found, under a key made of the change and of the file that it
changes, so that a run goes on where an earlier one stopped. Workers, of one run or of several at once, each lock a copy of the
tree and the change they work on.
"""
import argparse
import fcntl
import hashlib
import json
import os
import pathlib
import shlex
import shutil
import signal
import subprocess
import sys
import time

KILLED, SURVIVED, EQUIVALENT, BROKEN = "killed", "survived", "equivalent", "does not compile"
WRONG = "table is wrong"
HERE = pathlib.Path(__file__).resolve().parent
MODULES = ["-f", "Makefile", "-f", str(HERE / "modules.mk"), "mutation-modules"]  # goals of make: what tests open by name


class Change:
    """One line of one file that is replaced: `old` is found once after the text `after`."""

    def __init__(self, name, path, line):
        self.name, self.path, self.line = name, path, line
        self.after, self.old, self.new, self.tests, self.reason = "", None, None, [], ""

    def text(self, source):
        """The changed source; ValueError where the table does not fit it."""
        start = source.find(self.after)
        if start < 0:
            raise ValueError(f"{self.path} has no {self.after!r}")
        at = source.find(self.old, start)
        if at < 0:
            raise ValueError(f"{self.path} has no {self.old!r}" + (f" after {self.after!r}" if self.after else ""))
        if not self.after and source.find(self.old, at + 1) >= 0:
            raise ValueError(f"{self.path} has {self.old!r} more than once: name with '@' what it comes after")
        return source[:at] + self.new + source[at + len(self.old):]

    def sources(self, top):
        """What the named tests are made of, as far as one file of their name tells."""
        files = [top / "tests" / test for test in self.tests]
        files = [f for test in files for f in (test, test.with_suffix(".c")) if f.is_file()]
        return hashlib.sha256(b"".join(f.read_bytes() for f in files)).hexdigest()

    def key(self, source):
        """Changes when the verdict may: with the file, the change, its tests, or what is said of it."""
        told = json.dumps([source, self.path, self.after, self.old, self.new, self.tests, self.reason])
        return hashlib.sha256(told.encode()).hexdigest()


def read_table(path):
    """A change is a line "# NAME FILE", then "@ TEXT" (optional: where to begin), "- OLD", "+ NEW" (may be empty), "t TEST ..."
    (programs and scripts under tests/), and, for one that no test can see, "= WHY". Other lines must be blank or begin with ";"."""
    changes = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        mark, rest = line[:1], line[2:]
        if mark == "#":
            name, _, file = rest.partition(" ")
            changes.append(Change(name, file.strip(), f"{path.name}:{number}"))
        elif mark == "@":
            changes[-1].after = rest
        elif mark == "-":
            changes[-1].old = rest
        elif mark == "+":
            changes[-1].new = rest
        elif mark == "t":
            changes[-1].tests += rest.split()
        elif mark == "=":
            changes[-1].reason = rest
        elif mark.strip() and mark != ";":
            raise SystemExit(f"{path}:{number}: a line begins with one of # @ - + t = ;, not {line!r}")
    for change in changes:
        if change.old is None or change.new is None or not change.tests:
            raise SystemExit(f"{change.line}: {change.name} needs '-', '+' and 't' lines")
    return changes


def locked(path):
    """The open file when nobody else holds its lock, else None."""
    file = open(path, "a")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        return None
    return file


def run(command, folder, seconds, **more):
    """(status, output) of a command in a group of its own; status None when the time was over and the group was killed."""
    environment = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")}
    process = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               start_new_session=True, env=environment | more)
    try:
        output, _ = process.communicate(timeout=seconds)
        return process.returncode, output.decode(errors="replace")
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, _ = process.communicate()
        return None, output.decode(errors="replace")


def sources_of(top):
    """Every file of the source tree: nothing of git, and no build folder (this program's own lies in one)."""
    for folder, folders, files in os.walk(top):
        folders[:] = [d for d in folders if d not in (".git", "autom4te.cache", "__pycache__") and
                      not os.path.exists(os.path.join(folder, d, "config.status"))]
        for name in files:
            yield os.path.relpath(os.path.join(folder, name), top)


class Copy:
    """A copy of the tree with a build of its own, for one worker at a time."""

    def __init__(self, options, number):
        self.options, self.top = options, options.work / f"copy{number}"
        self.source, self.build = self.top / "tree", self.top / "build"
        self.tests = options.all_tests.split()

    def refresh(self):
        """Makes the copy equal to the tree, with the old times where the bytes are the same, and builds it."""
        wanted = set(sources_of(self.options.top))
        for path in wanted:
            self.write(path, (self.options.top / path).read_bytes())
            shutil.copymode(self.options.top / path, self.source / path)
        for path in set(sources_of(self.source)) - wanted:
            (self.source / path).unlink()
        self.build.mkdir(exist_ok=True)
        if not (self.build / "config.status").exists():
            arguments = self.options.configure + ["-q", "--disable-werror"]
            self.must(run(["../tree/configure", *arguments], self.build, 3600), "configure")
        self.must(run(["make", "-s", *MODULES, "all"], self.build, 7200), "make")

    @staticmethod
    def must(result, what):
        if result[0] != 0:
            raise SystemExit(f"the copy without a change: {what} fails:\n{result[1][-3000:]}")

    def write(self, path, data):
        """A symbolic link of the tree becomes a file."""
        target = self.source / path
        if target.exists() and target.read_bytes() == data:
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)

    def log_of(self, test):
        return str(pathlib.PurePosixPath(test).with_suffix(".log"))

    def build_for(self, path, test):
        """Builds what the test uses and a change of that file reaches. The rule of a program names the library; the plug-ins, the
        command and the package are opened by name."""
        goals = [] if test.endswith(".t") and path.startswith("core/") else ["all"]
        goals += MODULES if path.startswith(("plugins/", "tests/", "include/")) else []
        goals += [test] if test.endswith(".t") else []
        return run(["make", "-s", *goals], self.build, 3600)

    def fails(self, test):
        """None where the test passes, else its first failure in words."""
        log = self.log_of(test)
        for name in (log, str(pathlib.PurePosixPath(log).with_suffix(".trs"))):
            (self.build / name).unlink(missing_ok=True)
        status, output = run(["make", "-s", log], self.build, self.options.seconds, XDG_STATE_HOME=str(self.top / "state"),
                             XDG_CACHE_HOME=str(self.top / "cache"))
        if status is None:
            return "TIMEOUT"
        trs = (self.build / log).with_suffix(".trs")
        results = trs.read_text(errors="replace") if trs.exists() else ":global-test-result: NONE"
        if ":global-test-result: PASS" in results or ":global-test-result: SKIP" in results:
            return None
        bad = [line for line in output.splitlines() if line.startswith(("FAIL:", "ERROR:", "XPASS:"))]
        return bad[0].partition(" ")[2] if bad else f"{test}: {output[-200:].strip() or 'no result'}"


class Runner:
    def __init__(self, options, copy):
        self.options, self.copy, self.good, self.sources = options, copy, {}, {}

    def source(self, change):
        """As the copy was made: the tree itself may be worked on meanwhile."""
        if change.path not in self.sources:
            self.sources[change.path] = (self.copy.source / change.path).read_text(encoding="utf-8")
        return self.sources[change.path]

    def good_unchanged(self, change, test):
        """Whether the test passes in the tree as it is, which is the condition for blaming a change; looked at once a run."""
        if test not in self.good:
            self.copy.write(change.path, self.source(change).encode())
            status, output = self.copy.build_for(change.path, test)
            failure = output[-300:] if status else self.copy.fails(test)
            self.good[test] = failure is None
            if failure:
                print(f"# {test} fails without a change: {failure}", flush=True)
        return self.good[test]

    def tests_of(self, change):
        """Named ones, then those of the same area, then, for a change that nothing saw, all."""
        names = [f"tests/{t}" for t in change.tests]
        if change.reason or self.options.narrow:
            return names
        area = change.path.split("/")[1]
        near = [t for t in self.copy.tests if f"/{area}/" in t]
        rest = sorted(self.copy.tests, key=lambda t: not t.endswith(".t"))
        return list(dict.fromkeys(names + near + rest))

    def first_failure(self, change, changed):
        """(test, failure) of the first test that sees the change; (None, output) where it does not compile; None for neither."""
        for test in self.tests_of(change):
            self.copy.write(change.path, changed.encode())
            status, output = self.copy.build_for(change.path, test)
            if status != 0:
                return None, " ".join(line for line in output.splitlines() if "error" in line)[:300]
            failure = self.copy.fails(test)
            if failure and self.good_unchanged(change, test):
                return test, failure
        return None

    def verdict(self, change):
        source = self.source(change)
        try:
            changed = change.text(source)
        except ValueError as error:
            return WRONG, str(error)
        first = f"tests/{change.tests[0]}"
        if not self.good_unchanged(change, first):
            return WRONG, f"{first} fails without a change"
        try:
            found = self.first_failure(change, changed)
        finally:
            self.copy.write(change.path, source.encode())
        if found and found[0] is None:
            return BROKEN, found[1]
        if found and change.reason:
            return WRONG, f"said to be equivalent, but {found[0]} sees it: {found[1]}"
        if found:
            return KILLED, found[1]
        return (EQUIVALENT, change.reason) if change.reason else (SURVIVED, "of the named tests" if self.options.narrow else "of all")


class Results:
    """What is known, in the order it was found; the last line about a key counts."""

    def __init__(self, path):
        self.path = path

    def known(self):
        lines = self.path.read_text(encoding="utf-8").splitlines() if self.path.exists() else []
        return {entry["key"]: entry for entry in map(json.loads, lines)}

    def settled(self, key, narrow, tests):
        """Whether the verdict stands: that a change survived says nothing of tests that were changed since, nor, where the named
        tests alone were run, of all."""
        entry = self.known().get(key)
        return entry and (entry["verdict"] != SURVIVED or entry.get("tests") == tests and (narrow or not entry["narrow"]))

    def add(self, entry):
        with open(self.path, "a") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.write(json.dumps(entry) + "\n")


def work(options, changes, results):
    """Takes changes that nobody has done or is doing, until there are none."""
    number, lock = 0, None
    while not lock:
        (options.work / f"copy{number}").mkdir(exist_ok=True)
        lock = locked(options.work / f"copy{number}" / "lock")
        number += 1
    copy = Copy(options, number - 1)
    copy.refresh()
    runner = Runner(options, copy)
    for change in changes:
        claim = locked(options.work / f"{change.name}.lock")
        if not claim:
            continue
        key = change.key(runner.source(change))
        tests = change.sources(copy.source)
        if options.again or not results.settled(key, options.narrow, tests):
            begin = time.monotonic()
            verdict, detail = runner.verdict(change)
            results.add({"key": key, "name": change.name, "path": change.path, "verdict": verdict, "detail": detail,
                         "narrow": options.narrow, "tests": tests, "seconds": round(time.monotonic() - begin, 1)})
            print(f"{change.name} {change.path}: {verdict}: {detail}", flush=True)
        claim.close()
    lock.close()


def report(options, changes, known):
    """Counts, and every change that is not killed; the number of changes that call for work."""
    verdicts = {}
    for change in changes:
        entry = known.get(change.key((options.top / change.path).read_text(encoding="utf-8")))
        verdicts.setdefault(entry["verdict"] if entry else "not run", []).append((change, entry))
    for verdict in (EQUIVALENT, SURVIVED, BROKEN, WRONG):
        for change, entry in verdicts.get(verdict, []):
            print(f"{verdict}: {change.name} ({change.line}, {change.path}): - {change.old} + {change.new} | {entry['detail']}")
    print(f"{len(changes)} changes:", ", ".join(f"{len(found)} {verdict}" for verdict, found in sorted(verdicts.items())))
    return sum(len(verdicts.get(v, [])) for v in (SURVIVED, BROKEN, WRONG, "not run"))


def options_of():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--top", type=pathlib.Path, required=True, help="source tree")
    parser.add_argument("--work", type=pathlib.Path, required=True, help="folder for copies and results")
    parser.add_argument("--configure", type=shlex.split, default=[], help="arguments of configure")
    parser.add_argument("--all-tests", default="", help="the wider tests, as in TESTS of the Makefile")
    parser.add_argument("--jobs", type=int, default=1, help="workers")
    parser.add_argument("--seconds", type=int, default=300, help="a test that takes longer has failed")
    parser.add_argument("--narrow", action="store_true", help="named tests only")
    parser.add_argument("--again", action="store_true", help="also what is known")
    parser.add_argument("--report", action="store_true", help="tell what is known, run nothing")
    parser.add_argument("only", nargs="*", help="names of changes or of tables; none: all")
    options = parser.parse_args()
    options.top, options.work = options.top.resolve(), options.work.resolve()
    if (options.top / "config.status").exists():
        parser.error(f"{options.top} is built in itself; a copy of it could not be built elsewhere: use a build folder")
    return options


def main():
    options = options_of()
    options.work.mkdir(parents=True, exist_ok=True)
    tables = {path.stem: read_table(path) for path in sorted(HERE.glob("*.txt"))}
    changes = [c for stem, table in tables.items() for c in table if not options.only or {stem, c.name} & set(options.only)]
    names = [c.name for c in changes]
    if len(set(names)) != len(names):
        raise SystemExit(f"two changes have one name: {sorted(n for n in set(names) if names.count(n) > 1)}")
    results = Results(options.work / "results.jsonl")
    workers = []
    for _ in range(0 if options.report else options.jobs):
        pid = os.fork()
        if pid == 0:
            try:
                work(options, changes, results)
                os._exit(0)
            except BaseException as error:  # a worker must not go on as the parent
                print(error, file=sys.stderr, flush=True)
                os._exit(1)
        workers.append(pid)
    for pid in workers:
        os.waitpid(pid, 0)
    sys.exit(1 if report(options, changes, results.known()) else 0)


if __name__ == "__main__":
    main()
