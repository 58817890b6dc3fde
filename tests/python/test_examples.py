# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The Python programs of examples/ run, and say what they should. One that exits with 77 lacks something and says what."""
import os
import re
import subprocess
import sys

from tap import Skip, cases, main

EXAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples")
DATA = os.environ.get("NDOCK_FASHION_DATA", "/usr/share/datasets/fashion-mnist")


def run(name, *options, **environment):
    """What the example prints."""
    done = subprocess.run([sys.executable, os.path.join(EXAMPLES, name), *options], text=True, timeout=550,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env={**os.environ, **environment})
    if done.returncode == 77:
        raise Skip(done.stdout.strip())
    assert done.returncode == 0, f"{name} exits with {done.returncode}: {done.stdout}"
    return done.stdout


def first_epoch(text):
    """(loss, accuracy in percent)"""
    epoch = re.search(r"^ +1 +([0-9.]+) +([0-9.]+) %", text, re.MULTILINE)
    assert epoch, text
    return float(epoch[1]), float(epoch[2])


def test_fashion_as_the_c_program():
    if not any(os.path.exists(f"{DATA}/train-images-idx3-ubyte{end}") for end in ("", ".gz")):
        raise Skip(f"no {DATA} (Debian: dataset-fashion-mnist)")
    loss, accuracy = first_epoch(run("fashion.py", "--device", "cpu", "--epochs", "1", "--data", DATA))
    assert loss < 0.6 and accuracy > 80, (loss, accuracy)
    if not os.path.exists("examples/fashion"):
        raise Skip("no C program beside to compare with")
    saved = f"/tmp/ndock-test-examples-{os.getpid()}"
    try:
        twin = subprocess.run(["examples/fashion", "--device", "cpu", "--epochs", "1", "--data", DATA, "--save", saved],
                              check=True, text=True, stdout=subprocess.PIPE).stdout
    finally:
        if os.path.exists(saved):
            os.unlink(saved)
    want = first_epoch(twin)[0]
    assert abs(loss - want) < 1e-3, f"loss {loss}, of the C program {want}: sums in another order differ by 1e-4"


@cases("cpu", "sim:0")
def test_einops_images(device):
    assert "WRONG" not in run("einops_images.py", "--device", device)


def test_numba_stream():
    assert "200 of 200" in run("numba_stream.py")


if __name__ == "__main__":
    main(globals())
