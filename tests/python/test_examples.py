# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The Python programs of examples/ run, and say what they should. One that exits with 77 lacks something and says what."""
import os
import re
import struct
import subprocess
import sys
import tempfile

import ndock as nd
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
    with tempfile.TemporaryDirectory() as folder:
        data, most, least = DATA, 0.6, 80
        if not os.environ.get("NDOCK_TEST_LONG"):  # a tenth of the images
            data, most, least = f"{folder}/cut", 1.1, 70
            subprocess.run(["sh", os.path.join(EXAMPLES, "..", "tests", "fashion_cut.sh"), DATA, data], check=True)
        loss, accuracy = first_epoch(run("fashion.py", "--device", "cpu", "--epochs", "1", "--data", data))
        assert loss < most and accuracy > least, (loss, accuracy)
        if not os.path.exists("examples/fashion"):
            raise Skip("no C program beside to compare with")
        twin = subprocess.run(["examples/fashion", "--device", "cpu", "--epochs", "1", "--data", data, "--save", f"{folder}/saved"],
                              check=True, text=True, stdout=subprocess.PIPE).stdout
    want = first_epoch(twin)[0]
    assert abs(loss - want) < 1e-3, f"loss {loss}, of the C program {want}: sums in another order differ by 1e-4"


def few_images(source, target, n):
    """The first n images of each IDX file, uncompressed."""
    os.mkdir(target)
    for name in ("train-images-idx3", "train-labels-idx1", "t10k-images-idx3", "t10k-labels-idx1"):
        with open(f"{source}/{name}-ubyte", "rb") as f:
            raw = f.read()
        head, item = 4 + 4 * raw[3], 784 if raw[3] == 3 else 1
        with open(f"{target}/{name}-ubyte", "wb") as f:
            f.write(raw[:4] + struct.pack(">I", n) + raw[8:head + n * item])


def test_fashion_of_two_ranks():
    """Two processes train as one does, with the same bits in every run and with the step as a graph; and the C program's two."""
    if not any(os.path.exists(f"{DATA}/train-images-idx3-ubyte{end}") for end in ("", ".gz")):
        raise Skip(f"no {DATA} (Debian: dataset-fashion-mnist)")
    if not os.path.exists("tools/ndock"):
        raise Skip("no command ndock beside to start ranks with")
    script = [sys.executable, os.path.join(EXAMPLES, "fashion.py")]
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["sh", os.path.join(EXAMPLES, "..", "tests", "fashion_cut.sh"), DATA, f"{folder}/cut"], check=True)
        few_images(f"{folder}/cut", f"{folder}/few", 200 if os.environ.get("NDOCK_TEST_SLICE") else 600)

        def train(name, ranks, program, *more):
            options = ["--device", "cpu", "--epochs", "1", "--batch", "50", "--data", f"{folder}/few", "--save", f"{folder}/{name}", *more]
            start = ["tools/ndock", "run", "-n", str(ranks)] if ranks > 1 else []
            done = subprocess.run([*start, *program, *options, *(["--ranks"] if ranks > 1 else [])], text=True, timeout=550,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env={**os.environ, "NDOCK_NUM_THREADS": "1"})
            assert done.returncode == 0, done.stdout
            text = "".join(line[4:] if ranks > 1 else line for line in done.stdout.splitlines(True) if ranks == 1 or line.startswith("[0]"))
            with open(f"{folder}/{name}", "rb") as f:
                return (*first_epoch(text), f.read())

        one, two = train("one", 1, script), train("two", 2, script)
        assert abs(two[0] - one[0]) < 1e-4 and abs(two[1] - one[1]) < 0.6, (one[:2], two[:2])
        assert train("graph", 2, script, "--graph")[2] == two[2], "another run of the same ranks, its step as a graph, has other bits"
        if not os.path.exists("examples/fashion"):
            raise Skip("no C program beside to compare with")
        c = train("c", 2, ["examples/fashion"])
        assert abs(c[0] - one[0]) < 1e-3, f"loss {c[0]} of the C program's ranks, {one[0]} of one: sums in another order differ by 1e-4"
        assert train("c again", 2, ["examples/fashion"])[2] == c[2], "another run of the C program's ranks has other bits"


def test_convnet_as_the_c_program():
    """The same weights, batches and what is dropped: the loss of 120 images to rounding."""
    if not any(os.path.exists(f"{DATA}/train-images-idx3-ubyte{end}") for end in ("", ".gz")):
        raise Skip(f"no {DATA} (Debian: dataset-fashion-mnist)")
    with tempfile.TemporaryDirectory() as folder:
        data = f"{folder}/cut"
        subprocess.run(["sh", os.path.join(EXAMPLES, "..", "tests", "fashion_cut.sh"), DATA, data], check=True)
        options = ("--device", "cpu", "--epochs", "1", "--limit", "120", "--batch", "20", "--data", data)
        loss, accuracy = first_epoch(run("convnet.py", *options))
        assert loss < 2.5 and accuracy > 10, (loss, accuracy)
        if not os.path.exists("examples/convnet"):
            raise Skip("no C program beside to compare with")
        want = first_epoch(subprocess.run(["examples/convnet", *options], check=True, text=True, stdout=subprocess.PIPE).stdout)
    assert abs(loss - want[0]) < 1e-5 and abs(accuracy - want[1]) < 0.5, (loss, accuracy, want)


@cases("cpu", "sim:0")
def test_einops_images(device):
    assert "WRONG" not in run("einops_images.py", "--device", device)


@cases("cpu", "sim:0")
def test_fused(device):
    lines = run("fused.py", "--device", device, "--size", "4000", "--rounds", "1").splitlines()
    assert len(lines) == 8 and all(line.endswith("same values") for line in lines[1:]), lines


@cases("f16", "q8_0", "q4_K")
def test_generate(form):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.gguf")
        texts = [run("generate.py", *first, "--device", device, "--tokens", "12").splitlines()[-2]
                 for first, device in ((("--make", path, "--format", form), "cpu"), ((path,), "cpu"), ((path,), "sim:0"))]
        assert len(texts[0]) == len("Once upon a time") + 12 and texts[0] == texts[1] == texts[2], texts
        if not os.path.exists("examples/generate"):
            raise Skip("no C program beside to compare with")
        for more in ((), ("--sample", "--seed", "5", "--prompt", "It was")):
            ours = run("generate.py", path, "--device", "cpu", "--tokens", "24", *more).splitlines()[0]
            for device in ("cpu", "sim:0"):
                twin = subprocess.run(["examples/generate", "--device", device, "--tokens", "24", *more, path], check=True, text=True,
                                      stdout=subprocess.PIPE).stdout.splitlines()
                assert twin[0] == ours and twin[1].startswith(device), (twin, ours)


@cases("cpu", "sim:0")
def test_jit(device):
    with tempfile.TemporaryDirectory() as folder:
        for files in (2, 2):  # one kernel each of gcd and zeta, compiled once
            out = run("jit.py", "--device", device, "--size", "2000", NDOCK_KERNEL_CACHE_DIR=folder)
            assert f"{files} files" in out and "WRONG" not in out
    assert "WRONG" not in run("jit.py", "--device", device, "--size", "2000", NDOCK_CPU_CC="off")


@cases("cfunc", "numba", "triton")
def test_kernel_recipes(name):
    assert "WRONG" not in run("kernel_recipes.py", name)


def numbers(line):
    return [float(number) for number in re.findall(r"[0-9.]+(?:e-?[0-9]+)?", line)]


@cases("cpu", "sim:0")
def test_heat(device):
    """Finite differences are of second order."""
    lines = run("heat.py", "--device", device, "--cells", "128", "--peer").splitlines()
    early, late = (numbers(line)[4] for line in lines[-2:])
    assert 3.8 < early / late < 4.2, lines


@cases("cpu", "sim:0")
def test_denoise(device):
    """The noise is found, taken out, and as well as NumPy does."""
    ours, theirs = run("denoise.py", "--device", device, "--side", "128", "--noise", "0.5", "--peer").splitlines()
    added, found, before, after = numbers(ours)[2:6]
    assert abs(found / added - 1) < 0.04 and after > before + 8 and abs(after - numbers(theirs)[0]) < 0.02, (ours, theirs)


@cases("cpu", "sim:0")
def test_pca(device):
    """On 800 made images of rank 3: three components are all there is."""
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/train-images-idx3-ubyte", "wb") as f:
            f.write(struct.pack(">4i", 0x803, 800, 28, 28))
            f.write(bytes(17 * (i % 5 + 1) + 15 * (p % 7) * (i % 2) + 3 * (p % 11) * (i % 3) for i in range(800) for p in range(784)))
        text = run("pca.py", "--device", device, "--data", folder, "--images", "800", "--peer")
    shares = {int(line.split()[0]): float(line.split()[1]) for line in text.splitlines() if line.endswith("%")}
    assert shares[1] < 99 and shares[4] > 99.99 and shares[256] == 100, text


def test_numba_stream():
    assert "200 of 200" in run("numba_stream.py")


class StandIn:
    """numba.cuda, as far as the example uses it, on sim: its kernel runs on the stream that is current."""

    jit = staticmethod(lambda function: StandIn())
    is_available = staticmethod(lambda: True)
    select_device = staticmethod(lambda index: None)
    as_cuda_array = staticmethod(lambda a, sync: a)
    external_stream = staticmethod(lambda handle: handle)

    def __getitem__(self, launch):
        return self.kernel

    def kernel(self, x, y, factor):
        y += x * factor


@cases("", "    side.wait_stream(main)", "    main.wait_stream(side)")
def test_numba_stream_order_under_the_race_checker(left_out):
    """With a stand-in for Numba; without either of its waits there are races."""
    with open(os.path.join(EXAMPLES, "numba_stream.py")) as f:
        program = f.read()
    assert left_out in program
    names = {"__name__": "numba_stream"}
    nd.set_stream_check(True)
    try:
        exec(program.replace(left_out, "    pass") if left_out else program, names)
        side = nd.Stream("sim:0")
        totals = [names["round_trip"](StandIn(), StandIn(), side, 4096, factor) for factor in range(10)]
        got = [float(total) for total in totals]
        races = nd.stream_check_report()
    finally:
        nd.set_stream_check(False)
    if left_out:
        assert races, "no race was seen"
    else:
        assert not races, races
        assert got == [3.0 * 4096 + factor * 4096 * 4095 / 2 for factor in range(10)]


if __name__ == "__main__":
    main(globals())
