# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""I22: everybody's arrays to everybody: producers x consumers x dtype x layout x stream, of NumPy, CuPy, PyTorch, JAX and
Numba what is installed, and ndock on the CPU and, where there is one, on a CUDA device."""
import contextlib
import importlib
import itertools
import re

import devices  # noqa: F401  (puts the CUDA plug-in on the path where there is one)
import ndock as nd
from tap import Skip, cases, main

DTYPES = ["bool", "int8", "uint8", "int16", "int32", "int64", "float16", "float32", "float64", "complex64", "complex128"]
LAYOUTS = ["dense", "transposed", "sliced", "empty", "rank0", "one"]


def library(name):
    try:
        return importlib.import_module(name)
    except ImportError:
        raise Skip(f"no {name}") from None


def cuda():
    if not nd.is_available("cuda"):
        raise Skip("no CUDA device")
    return "cuda:0"


def values(dtype):
    """12 values that every dtype has exactly."""
    return [i % 2 == 0 for i in range(12)] if dtype == "bool" else [float(i) for i in range(12)]


def laid_out(x, layout):
    return {"dense": lambda: x, "transposed": lambda: x.T, "sliced": lambda: x[::2, 1:], "empty": lambda: x[:0],
            "rank0": lambda: x[1:2, 2:3].reshape(()), "one": lambda: x[1:2]}[layout]()


# ---- on the host: how each library makes, takes and shows an array ----
def make_ndock(dtype, device="cpu"):
    return nd.reshape(nd.asarray(values(dtype), dtype=getattr(nd, dtype), device=device), (3, 4))


def make_numpy(dtype):
    np = library("numpy")
    return np.array(values(dtype), dtype=dtype).reshape(3, 4)


def make_torch(dtype):
    torch = library("torch")
    return torch.tensor(values(dtype), dtype=getattr(torch, dtype)).reshape(3, 4)


def make_jax(dtype):
    jax = library("jax")
    jax.config.update("jax_enable_x64", True)
    with jax.default_device(jax.devices("cpu")[0]):
        return jax.numpy.array(values(dtype), dtype=dtype).reshape(3, 4)


MAKE = {"ndock": make_ndock, "numpy": make_numpy, "torch": make_torch, "jax": make_jax}


def take(consumer, x):
    if consumer == "ndock":
        return nd.from_dlpack(x)
    if consumer == "numpy":
        return library("numpy").from_dlpack(x)
    if consumer == "torch":
        return library("torch").from_dlpack(x)
    return library("jax").numpy.from_dlpack(x)


def shown(x):
    return x.tolist()


def older(name, *version):
    """Whether the library that is installed is older than that."""
    return tuple(int(part) for part in re.findall(r"\d+", library(name).__version__)[:len(version)]) < version


def refuses(producer, consumer, dtype, layout):
    """What others do not take, by their own documentation."""
    if dtype == "bool" and "numpy" in (producer, consumer) and older("numpy", 1, 25):
        return "NumPy before 1.25 exchanges no bool"
    if dtype == "bool" and "torch" in (producer, consumer) and older("torch", 2, 0):
        return "PyTorch before 2.0 exchanges no bool"
    if consumer == "jax" and layout in ("transposed", "sliced"):
        return "JAX takes dense arrays"
    if producer == "jax" and layout in ("transposed", "sliced"):
        return "JAX's are dense anyway"
    if "torch" in (producer, consumer) and dtype.startswith("uint") and dtype != "uint8":
        return "PyTorch has few unsigned types"
    return None


PAIRS = [p for p in itertools.product(MAKE, MAKE) if "ndock" in p]


@cases(*[(p, c, layout) for p, c in PAIRS for layout in LAYOUTS])
def test_host(producer, consumer, layout):
    done = 0
    for dtype in DTYPES:
        x = MAKE[producer](dtype)
        library(consumer)
        if refuses(producer, consumer, dtype, layout):
            continue
        v = laid_out(x, layout)
        got = take(consumer, v)
        assert shown(got) == shown(v), (dtype, got, v)
        assert tuple(got.shape) == tuple(v.shape)
        done += 1
    if not done:
        raise Skip(refuses(producer, consumer, DTYPES[0], layout) or "no dtype in common")


@cases("numpy", "torch")
def test_host_memory_is_shared_both_ways(other):
    x = MAKE[other]("float32")
    y = nd.from_dlpack(x)
    y[0, 0] = 42
    assert float(x[0, 0]) == 42
    mine = make_ndock("float32")
    theirs = take(other, mine)
    mine[0, 1] = 41
    assert float(theirs[0, 1]) == 41
    if other == "numpy" and older("numpy", 2, 2, 5):
        return  # what it imports is read-only, even from itself
    theirs[1, 1] = 43
    assert float(mine[1, 1]) == 43


def test_bfloat16_with_torch():
    torch = library("torch")
    x = nd.asarray([1.5, -2.25, 3.0], dtype=nd.bfloat16, device="cpu")
    t = torch.from_dlpack(x)
    assert t.dtype == torch.bfloat16 and t.tolist() == [1.5, -2.25, 3.0]
    assert nd.from_dlpack(t).dtype == nd.bfloat16


# ---- on a GPU ----
def make_cupy(dtype):
    cupy = library("cupy")
    return cupy.array(values(dtype), dtype=dtype).reshape(3, 4)


def make_torch_cuda(dtype):
    torch = library("torch")
    if not torch.cuda.is_available():
        raise Skip("this PyTorch has no CUDA")
    return make_torch(dtype).cuda()


def make_numba(dtype):
    numba_cuda = library("numba.cuda")
    return numba_cuda.to_device(make_numpy(dtype))


GPU = {"cupy": make_cupy, "torch": make_torch_cuda, "numba": make_numba}


def fetched(x):
    return x.get().tolist() if hasattr(x, "get") else x.copy_to_host().tolist() if hasattr(x, "copy_to_host") else x.tolist()


@cases(*itertools.product(GPU, ("dense", "transposed", "sliced", "empty"), ("cai", "dlpack"), ("default", "side")))
def test_gpu_in(producer, layout, interface, stream):
    device = cuda()
    for dtype in DTYPES:
        x = GPU[producer](dtype)
        if producer == "numba" and (interface == "dlpack" or layout == "empty"):
            raise Skip("Numba has no DLPack, and refuses to slice so")
        try:
            v = laid_out(x, layout)
        except AttributeError as e:  # Numba's transpose is a kernel, and some of its releases do not fit newer NumPys
            raise Skip(f"{producer} cannot: {e}") from None
        with nd.Stream(device) if stream == "side" else nd.Stream.default(device):
            got = nd.as_array(v) if interface == "cai" else nd.from_dlpack(v)
            assert (got + 0 if dtype != "bool" else got).tolist() == fetched(v), dtype


@cases(*itertools.product(("cupy", "torch", "numba"), ("dense", "transposed", "sliced", "empty"), ("cai", "dlpack"), ("default", "side")))
def test_gpu_out(consumer, layout, interface, stream):
    device = cuda()
    for dtype in DTYPES:
        x = make_ndock(dtype, device)
        with nd.Stream(device) if stream == "side" else nd.Stream.default(device):
            v = laid_out(x, layout)
            got = give(consumer, interface, v)
            assert fetched(got) == v.tolist(), dtype


def give(consumer, interface, v):
    if consumer == "cupy":
        cupy = library("cupy")
        return cupy.asarray(v) if interface == "cai" else cupy.from_dlpack(v)
    if consumer == "numba":
        if interface == "dlpack":
            raise Skip("Numba has no DLPack")
        return library("numba.cuda").as_cuda_array(v)
    torch = library("torch")
    if interface == "dlpack":
        return torch.from_dlpack(v)
    nd.cai_settings(export="sync")  # PyTorch ignores streams
    try:
        return torch.as_tensor(v, device="cuda")
    finally:
        nd.cai_settings(export="stream")


# ---- the document's two examples of streams, against other libraries ----
def late(device):
    """Some 30 ms of work on the current stream, which what is queued after it waits for."""
    big = nd.ones((4096, 4096), dtype=nd.float32, device=device)
    for _ in range(10):
        nd.matmul(big, big)


@cases("cupy", "numba")
def test_I5_gpu_producer_on_three_streams(consumer):
    device = cuda()
    library("numba.cuda" if consumer == "numba" else consumer)
    for _ in range(5):
        x = nd.zeros(3 << 16, dtype=nd.float32, device=device)
        seven, nine, fifteen, three = (nd.Stream(device) for _ in range(4))
        nd.synchronize(device)
        for i, stream in enumerate((seven, nine, fifteen)):
            with stream:
                late(device)
                x[i << 16:(i + 1) << 16] = i + 1
        with three:
            assert x.__cuda_array_interface__["stream"] == three.handle
            assert not three.query(), "the work was over before it was exported, so this shows nothing"
            got = give(consumer, "cai", x)
            host = got.get() if consumer == "cupy" else got.copy_to_host()
        assert [host[i << 16:(i + 1) << 16].tolist() for i in range(3)] == [[i + 1.0] * (1 << 16) for i in range(3)]


@cases("cupy", "numba")
def test_I9_I11_gpu_producer_on_a_stream_of_its_own(producer):
    device = cuda()
    peer = library("numba.cuda" if producer == "numba" else producer)
    np, n = library("numpy"), 1 << 16

    def write(y, value):
        if producer == "cupy":
            y.fill(value)
        else:
            y.copy_to_device(np.full(n, value, "float32"), stream=theirs)
    for _ in range(5):
        if producer == "cupy":  # which exports its current stream
            theirs = peer.cuda.Stream(non_blocking=True)
            with theirs:
                y = peer.zeros(n, dtype="float32")
        else:  # which exports the array's default stream
            theirs = peer.stream()
            y = peer.to_device(np.zeros(n, "float32"), stream=theirs)
        with theirs if producer == "cupy" else contextlib.nullcontext():
            with nd.Stream.from_external(y.__cuda_array_interface__["stream"], device):
                late(device)
            write(y, 5)
            ours = nd.Stream(device)
            with ours:
                got = nd.as_array(y)
                late(device)
                mapped = got + 1
            write(y, 9)  # behind our use, since their stream waits for it
            with ours:
                assert mapped.tolist() == [6.0] * n
            assert nd.as_array(y).tolist() == [9.0] * n


def test_gpu_capture():
    device = cuda()
    torch = library("torch")
    x = nd.ones(16, device=device)
    graph, side = torch.cuda.CUDAGraph(), torch.cuda.Stream()
    nd.synchronize(device)
    with torch.cuda.graph(graph, stream=side), nd.Stream.from_external(side.cuda_stream, device):
        y = torch.from_dlpack(x) * 2
    graph.replay()
    torch.cuda.synchronize()
    assert y.tolist() == [2.0] * 16


if __name__ == "__main__":
    main(globals())
