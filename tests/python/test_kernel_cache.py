#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The cache of compiled kernels as Python and the command show it; and that no state of its folder breaks a run: files that were
cut, changed, or put there by others, folders that cannot be written or are full, many processes at once."""
import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile

import ndock as nd
from tap import Skip, cases, main

# One kernel, called; prints its result and what the cache says.
CHILD = """
import json, ndock as nd
f = nd.ElementwiseKernel("int64 x", "int64 y", "y = x * 3 + {salt}", "tripled")
r = f(nd.arange(5, device="cpu")).tolist()
print(json.dumps([r, nd.kernel_cache.info()]))
"""
TOP = os.path.dirname(os.environ["PYTHONPATH"].split(":")[0])


def start(folder, salt=1, **environment):
    env = {**os.environ, "NDOCK_KERNEL_CACHE_DIR": folder, **environment}
    return subprocess.Popen([sys.executable, "-c", CHILD.format(salt=salt)], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            text=True)


def finish(child, salt=1):
    out, err = child.communicate(timeout=600)
    assert child.returncode == 0, err
    result, info = json.loads(out)
    assert result == [salt, 3 + salt, 6 + salt, 9 + salt, 12 + salt], result
    return info


def run(folder, salt=1, **environment):
    return finish(start(folder, salt, **environment), salt)


FILLED = tempfile.TemporaryDirectory()


def fill(folder):
    """As one run leaves it, which a compiler is asked for once."""
    if not entries(FILLED.name):
        run(FILLED.name)
    shutil.copytree(FILLED.name, folder, dirs_exist_ok=True)


def entries(folder):
    return sorted(os.path.join(top, n) for top, _, names in os.walk(folder) for n in names)


def test_the_second_process_finds_it():
    with tempfile.TemporaryDirectory() as folder:
        first, second = run(folder), run(folder)
    assert (first["compiles"], first["stored"], first["disk_hits"]) == (1, 1, 0)
    assert (second["compiles"], second["stored"], second["disk_hits"]) == (0, 0, 1)
    assert first["dir"] == folder and first["writable"] and second["disk_entries"] == 1


def test_another_formula_compiler_or_option_is_another_entry():
    with tempfile.TemporaryDirectory() as folder:
        run(folder, 1)
        assert run(folder, 2)["compiles"] == 1
        gcc = shutil.which("gcc")
        if gcc and os.path.realpath(gcc) != "":
            assert run(folder, 1, NDOCK_CPU_CC=gcc)["compiles"] == 1
        assert len(entries(folder)) == 3


@cases("empty", "header", "half", "byte short", "flipped in the header", "flipped in the key", "flipped in the code", "longer", "noise",
       "another's")
def test_damaged_files_are_made_again(how):
    with tempfile.TemporaryDirectory() as folder:
        fill(folder)
        path, = entries(folder)
        with open(path, "rb") as f:
            whole = f.read()
        places = {"flipped in the header": 20, "flipped in the key": 200, "flipped in the code": len(whole) - 1000}
        made = {"empty": b"", "header": whole[:64], "half": whole[:len(whole) // 2], "byte short": whole[:-1], "longer": whole + b"x",
                "noise": os.urandom(5000), "another's": b"\x7fELF" + whole[4:]}.get(how)
        if how in places:
            changed = bytearray(whole)
            changed[places[how]] ^= 1
            made = bytes(changed)
        with open(path, "wb") as f:
            f.write(made)
        info = run(folder)
        assert (info["dropped"], info["compiles"], info["stored"]) == (1, 1, 1), info
        assert run(folder)["disk_hits"] == 1


def test_a_folder_or_pipe_in_the_place_of_a_file():
    with tempfile.TemporaryDirectory() as folder:
        fill(folder)
        path, = entries(folder)
        os.unlink(path)
        os.mkdir(path)
        assert run(folder)["compiles"] == 1
        os.rmdir(path)
        os.mkfifo(path)
        assert run(folder)["compiles"] == 1


def test_links_are_not_followed():
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as other:
        fill(folder)
        path, = entries(folder)
        moved = os.path.join(other, "moved")
        os.rename(path, moved)
        os.symlink(moved, path)
        info = run(folder)
        assert info["disk_hits"] == 0 and info["compiles"] == 1


def test_what_everybody_may_write_is_not_trusted():
    with tempfile.TemporaryDirectory() as folder:
        fill(folder)
        path, = entries(folder)
        os.chmod(path, 0o666)
        assert run(folder)["disk_hits"] == 0
        os.chmod(path, 0o600)
        os.chmod(folder, 0o777)
        info = run(folder)
        assert info["dir"] == "" and info["compiles"] == 1
        os.chmod(folder, 0o700)


def test_a_folder_of_another_user():
    if os.geteuid() != 0:
        raise Skip("only root can give folders away")
    with tempfile.TemporaryDirectory() as folder:
        fill(folder)
        os.chown(folder, 12345, 12345)
        assert run(folder)["dir"] == ""
        os.chown(folder, 0, 0)
        path, = entries(folder)
        os.chown(path, 12345, 12345)
        assert run(folder)["disk_hits"] == 0


def test_a_folder_that_cannot_be_made_or_read():
    with tempfile.TemporaryDirectory() as folder:
        plain = os.path.join(folder, "plain")
        with open(plain, "w"):
            pass
        for bad in (plain, os.path.join(plain, "below"), "/proc/no/such", "relative", ""):
            assert run(bad, HOME="/proc/none", XDG_CACHE_HOME="")["compiles"] == 1
        assert run(folder, NDOCK_KERNEL_CACHE="0")["dir"] == ""


def mounted(folder, options):
    if os.geteuid() != 0:
        raise Skip("only root mounts")
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder], capture_output=True, text=True)
    if made.returncode:
        raise Skip(f"tmpfs cannot be mounted: {made.stderr.strip()}")


def test_a_full_folder():
    with tempfile.TemporaryDirectory() as folder:
        mounted(folder, "size=8k,mode=0700")
        try:
            for _ in range(2):
                info = run(folder)
                assert (info["compiles"], info["stored"], info["disk_entries"]) == (1, 0, 0), info
            assert not [p for p in entries(folder) if ".tmp." not in p]
        finally:
            subprocess.run(["umount", "-l", folder], check=True)


def test_a_folder_that_cannot_be_written():
    with tempfile.TemporaryDirectory() as folder:
        if os.geteuid() == 0:
            mounted(folder, "size=4m,mode=0700")
        try:
            run(folder, 1)
            if os.geteuid() == 0:
                subprocess.run(["mount", "-o", "remount,ro", folder], check=True)
            else:
                for top, _, _ in os.walk(folder):
                    os.chmod(top, stat.S_IRUSR | stat.S_IXUSR)
            kept, new = run(folder, 1), run(folder, 2)
            assert (kept["disk_hits"], kept["compiles"]) == (1, 0)
            assert (new["compiles"], new["stored"], new["disk_entries"]) == (1, 0, 1)
        finally:
            if os.geteuid() == 0:
                subprocess.run(["umount", "-l", folder], check=True)
            else:
                for top, _, _ in os.walk(folder):
                    os.chmod(top, 0o700)


def test_no_folder_for_the_compiler_either():
    """Then operations compute the formula."""
    with tempfile.TemporaryDirectory() as folder:
        info = run(folder, TMPDIR="/proc/none")
        assert info["stored"] == 0
        info = run(folder, NDOCK_CPU_CC="off")
        assert (info["compiles"], info["stored"]) == (0, 0)
        assert run(folder, NDOCK_CPU_CC="/no/such/compiler")["compiles"] == 0
        assert run(folder, NDOCK_CPU_CC="false")["stored"] == 0  # a compiler that compiles nothing


def test_the_cap_holds():
    with tempfile.TemporaryDirectory() as folder:
        assert run(folder, NDOCK_KERNEL_CACHE_MAX_MB="0")["disk_entries"] == 0
        assert run(folder, NDOCK_KERNEL_CACHE_MAX_MB="1")["disk_bytes"] <= 1 << 20


def test_many_processes_at_once():
    """They want the same two kernels, while one of them clears the folder again and again."""
    clear = "import ndock as nd\nfor _ in range(300): nd.kernel_cache.clear()"
    with tempfile.TemporaryDirectory() as folder:
        janitor = subprocess.Popen([sys.executable, "-c", clear], env={**os.environ, "NDOCK_KERNEL_CACHE_DIR": folder})
        children = [(start(folder, salt), salt) for salt in (1, 2) * 4]
        for child, salt in children:
            finish(child, salt)
        assert janitor.wait(60) == 0
        assert not [p for p in entries(folder) if ".tmp." in p]
        fill(folder)
        assert run(folder)["disk_hits"] == 1


def test_info_and_clear():
    with tempfile.TemporaryDirectory() as folder:
        code = "import ndock as nd, json\nnd.kernel_cache.clear()\nprint(json.dumps([nd.kernel_cache.info(), nd.kernel_cache.dir, repr(nd.kernel_cache)]))"
        fill(folder)
        out = subprocess.run([sys.executable, "-c", code], env={**os.environ, "NDOCK_KERNEL_CACHE_DIR": folder}, capture_output=True, text=True)
        info, path, text = json.loads(out.stdout)
        assert info["disk_entries"] == info["disk_bytes"] == 0 and path == folder and folder in text


def command(folder, *words, code=0):
    tool = os.path.join(TOP, "tools/ndock")
    if not os.access(tool, os.X_OK):
        raise Skip("the command was not built")
    out = subprocess.run([tool, "cache", *words], env={**os.environ, "NDOCK_KERNEL_CACHE_DIR": folder}, capture_output=True, text=True)
    assert out.returncode == code, out.stderr
    return out.stdout if code == 0 else out.stderr


def test_the_command():
    with tempfile.TemporaryDirectory() as folder:
        empty = json.loads(command(folder, "--json"))
        assert (empty["entries"], empty["bytes"], empty["makers"]) == (0, 0, [])
        run(folder, 1)
        run(folder, 2)
        shown = json.loads(command(folder, "show", "--json"))
        assert shown["dir"] == folder and shown["entries"] == 2 and shown["damaged"] == 0 and shown["writable"]
        assert shown["bytes"] == sum(os.path.getsize(p) for p in entries(folder))
        assert shown["makers"][0]["entries"] == 2 and shown["makers"][0]["library"].startswith("ndock-cpu")
        listed = json.loads(command(folder, "--json", "list"))
        assert len(listed) == 2 and all(len(e["name"]) == 64 and e["compiler"] for e in listed)
        with open(entries(folder)[0], "r+b") as f:
            f.truncate(100)
        assert json.loads(command(folder, "--json"))["damaged"] == 1 and "DAMAGED" in command(folder, "list")
        assert "entries   2" in command(folder) and folder in command(folder)
        assert command(folder, "clear") == "2 entries removed\n" and not entries(folder)
        assert json.loads(command(folder, "clear", "--json"))["removed"] == 0
        assert "no \"shov\"" in command(folder, "shov", code=2) and "clear" in command(folder, "--help")


def test_warmup():
    made = nd.warmup(["add", "matmul"], ["float32", nd.int64], "cpu")
    assert made == {("add", "float32"): True, ("add", "int64"): True, ("matmul", "float32"): True, ("matmul", "int64"): True}
    assert nd.warmup("bitwise_and", "float32") == {("bitwise_and", "float32"): False}
    try:
        nd.warmup("no_such_op")
    except ValueError as e:
        assert "no_such_op" in str(e)
    else:
        raise AssertionError("it took any name")


if __name__ == "__main__":
    nd.set_default_device("cpu")
    main(globals())
