#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""savez, savez_compressed, load of .npz and of mapped .npy, against NumPy and zipfile in both directions."""
import gc
import io
import os
import struct
import tempfile
import threading
import zipfile

import ndock as nd
from arrays import ALL, DEVICES, host, np, pair, same
from tap import cases, main, raises

folder = tempfile.TemporaryDirectory()
PATH = os.path.join(folder.name, "file.npz")
NPY = os.path.join(folder.name, "file.npy")
SAVE = [(nd.savez, np.savez), (nd.savez_compressed, np.savez_compressed)]


def npy(x):
    f = io.BytesIO()
    np.save(f, x)
    return f.getvalue()


def archive(members, method=zipfile.ZIP_STORED):
    with zipfile.ZipFile(PATH, "w", method) as z:
        for name, data in members:
            z.writestr(name, data)
    with open(PATH, "rb") as f:
        return bytearray(f.read())


def put(data, path=PATH):
    with open(path, "wb") as f:
        f.write(data)


@cases(*DEVICES)
def test_both_directions(device):
    rng = np.random.default_rng(5)
    for ours, theirs in SAVE:
        want, arrays = {}, {}
        for dtype in ALL:
            for shape in [(), (3, 4), (0, 2), (2, 1, 3)]:
                for order in "CF":
                    x, y = pair(rng, dtype, shape, device)
                    name = f"{dtype}{len(want)}"
                    want[name] = np.asarray(x, order=order)
                    arrays[name] = y.T if order == "F" and len(shape) == 2 else y
                    if order == "F" and len(shape) == 2:
                        want[name] = want[name].T
        ours(PATH, **arrays)
        with np.load(PATH) as read:
            assert read.files == list(want)
            for name, x in want.items():
                assert read[name].dtype == x.dtype and read[name].shape == x.shape
                np.testing.assert_array_equal(read[name], x)
        theirs(PATH, **want)
        with nd.load(PATH, device=device) as read:
            assert list(read) == list(want)
            for name, x in want.items():
                same(read[name], x)
        with zipfile.ZipFile(PATH) as z:
            assert z.testzip() is None


def test_names_and_the_mapping():
    for ours, theirs in SAVE:
        for save in (ours, theirs):
            save(PATH[:-4], np.arange(2), [[1.5]], b=np.ones(3), **{"a/b": np.zeros(1), "ä": np.zeros(2)})
            f, g = nd.load(PATH), np.load(PATH)
            assert f.files == g.files and set(f) == {"arr_0", "arr_1", "b", "a/b", "ä"} and len(f) == 5
            assert "b" in f and "b.npy" in f and "c" not in f and 3 not in f
            for name, x in f.items():
                same(x, g[name])
            same(f["b.npy"], np.ones(3))
            same(f.get("nothing", nd.zeros(1)), np.zeros(1))
            with raises(KeyError, "'c'", "arr_0"):
                f["c"]
            with raises(TypeError, "int"):
                f[0]
            assert "arr_0" in repr(f)
            f.close()
            with raises(ValueError, "closed"):
                f["b"]
    nd.savez(PATH)
    assert nd.load(PATH).files == [] == np.load(PATH).files
    with raises(ValueError, "arr_0"):
        nd.savez(PATH, [1], arr_0=[2])
    with raises(ValueError, '".."'):
        nd.savez(PATH, **{"../x": [1]})
    with raises(ValueError, "NUL"):
        nd.savez(PATH, **{"a\0": [1]})


def test_equal_arrays_make_equal_files():
    for ours, _ in SAVE:
        contents = []
        for _ in range(2):
            ours(PATH, a=np.arange(1000))
            with open(PATH, "rb") as f:
                contents.append(f.read())
        assert contents[0] == contents[1]


def test_bfloat16():
    x = nd.asarray([1.5, 2.5], dtype=nd.bfloat16)
    nd.savez(PATH, x=x)
    with raises(TypeError, "dtype=..."):
        nd.load(PATH)["x"]
    back = nd.load(PATH, dtype=nd.bfloat16)["x"]
    assert back.dtype == nd.bfloat16 and nd.all(back == x)


def test_streams_comments_and_other_members():
    class Pipe(io.RawIOBase):
        def __init__(self):
            super().__init__()
            self.data = b""

        def writable(self):
            return True

        def write(self, b):
            self.data += bytes(b)
            return len(b)

    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        pipe = Pipe()
        with zipfile.ZipFile(pipe, "w", method) as z:
            z.comment = b"about PK\x05\x06 it" * 100
            z.writestr("folder/", b"")
            z.writestr("text.txt", b"hello")
            with z.open("x.npy", "w", force_zip64=True) as f:
                f.write(npy(np.arange(5)))
        put(pipe.data)
        f = nd.load(PATH)
        assert f.files == ["text.txt", "x"]
        same(f["x"], np.arange(5))
        with raises(ValueError, "text.txt", "not a .npy"):
            f["text.txt"]
    for method, word in ((zipfile.ZIP_BZIP2, "method 12"), (zipfile.ZIP_LZMA, "method 14")):
        archive([("x.npy", npy(np.arange(5)))], method)
        with raises(ValueError, word):
            nd.load(PATH)["x"]


def test_many_members():
    n = 70000  # beyond 65,535 the end record is zip64's
    x = nd.asarray(np.arange(2, dtype="u1"))
    nd.savez(PATH, **{f"a{i}": x for i in range(n)})
    with zipfile.ZipFile(PATH) as z:
        assert len(z.namelist()) == n
    f = nd.load(PATH)
    assert len(f) == n
    same(f[f"a{n - 1}"], np.arange(2, dtype="u1"))
    for count in (65535, 65536):
        archive([(f"a{i}.npy", b"") for i in range(count)])
        assert len(nd.load(PATH)) == count


def test_hostile_archives():
    """Archives of zipfile with one number changed; each is a ValueError that says what is wrong."""
    x = npy(np.arange(6.0))
    data = archive([("a.npy", x), ("b.npy", x)])
    first = data.index(b"PK\1\2")
    second = data.index(b"PK\1\2", first + 4)

    def changed(at, form, value, *words, name="a"):
        bad = bytearray(data)
        struct.pack_into(form, bad, at, value)
        put(bad)
        with raises(ValueError, *words):
            nd.load(PATH)[name]
    changed(second + 42, "<I", 0, "another name")
    changed(first + 24, "<I", 2**31, "sizes")
    changed(first + 20, "<I", 2**31, "not within the file")
    changed(first + 16, "<I", 1, "checksum")
    changed(first + 8, "<H", 1, "encrypted")
    changed(len(data) - 6, "<I", first + 1, "directory")
    changed(len(data) - 12, "<H", 3, "counts of entries")
    changed(len(data) - 14, "<I", 2**31, "counts of entries")
    changed(first + 46, "1s", b"\0", "NUL")
    changed(first - 3, "<B", 255, "checksum", name="b")
    twice = bytearray(data)
    twice[second + 46] = ord("a")
    twice[twice.index(b"b.npy")] = ord("a")
    put(twice)
    with raises(ValueError, "same name"):
        nd.load(PATH)
    bomb = npy(np.zeros(1))[:-8].replace(b"(1,)", b"(1000000000000,)").replace(b" " * 12 + b"\n", b"\n")
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        archive([("a.npy", bomb + bytes(8000))], method)
        with raises(ValueError, "lack"):
            nd.load(PATH)["a"]
        archive([("a.npy", npy(np.zeros(3)) + bytes(10**6))], method)
        with raises(ValueError, "promises"):
            nd.load(PATH)["a"]
    data = archive([("a.npy", npy(np.zeros(100000)))], zipfile.ZIP_DEFLATED)
    first = data.index(b"PK\1\2")
    data[6] |= 8  # the member's own header says nothing then
    struct.pack_into("<I", data, first + 24, 2**31)
    put(data)
    with raises(ValueError, "cannot hold"):
        nd.load(PATH)["a"]


def test_random_damage():
    rng = np.random.default_rng(9)
    x, y = np.arange(40.0), np.zeros((10, 10))
    for _, theirs in SAVE:
        theirs(PATH, x=x, y=y)
        with open(PATH, "rb") as f:
            data = f.read()
        for _ in range(2000):
            bad = bytearray(data)
            for _ in range(rng.integers(1, 4)):
                bad[rng.integers(len(bad))] = rng.integers(256)
            put(bad if rng.integers(4) else bad[:rng.integers(len(bad))])
            try:
                f = nd.load(PATH)
                got = {name: f[name] for name in f.files}
            except (ValueError, TypeError):
                continue
            for want in (x, y):  # what passes the checksum is what was written
                assert any(g.shape == want.shape and np.array_equal(host(g), want) for g in got.values())


def test_threads_load_from_one_archive():
    want = {f"x{i}": np.full(1000, i) for i in range(8)}
    nd.savez_compressed(PATH, **want)
    f = nd.load(PATH)
    wrong = []

    def work():
        for _ in range(20):
            for name, x in want.items():
                if not np.array_equal(host(f[name]), x):
                    wrong.append(name)
    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_mapped_files():
    rng = np.random.default_rng(6)
    for dtype in ALL:
        for shape in [(), (3, 4), (0, 2), (2, 3, 4)]:
            for order in "CF":
                x = np.asarray(pair(rng, dtype, shape, "cpu")[0], order=order)
                np.save(NPY, x)
                for mode in ("r", "c", "r+"):
                    y = nd.load(NPY, mmap_mode=mode)
                    same(y, x)
                    want = np.load(NPY, mmap_mode=mode) if x.size else x
                    if x.size and x.ndim:
                        assert tuple(s * x.itemsize for s in y.strides) == want.strides
    np.save(NPY, np.arange(6.0))
    y = nd.load(NPY, mmap_mode="r")
    with raises(ValueError, "read-only"):
        y[0] = 1
    y = nd.load(NPY, mmap_mode="c")
    y[0] = 7
    assert np.load(NPY)[0] == 0 and float(y[0]) == 7
    y = nd.load(NPY, mmap_mode="r+")
    y[1:3] += 10
    view = y[2:]
    del y
    gc.collect()
    assert view[0].item() == 12
    np.testing.assert_array_equal(np.load(NPY), [0, 11, 12, 3, 4, 5])
    x = np.asarray(view)
    del view
    gc.collect()
    x[1] = -1  # the file stays mapped as long as somebody sees its memory
    assert np.load(NPY)[3] == -1


def test_files_that_cannot_be_mapped():
    np.save(NPY, np.arange(6.0).astype(">f8"))
    with raises(ValueError, "byte order", "mmap_mode"):
        nd.load(NPY, mmap_mode="r")
    np.save(NPY, np.arange(6.0))
    with raises(ValueError, "'w+'", "'r+'"):
        nd.load(NPY, mmap_mode="w+")
    with open(NPY, "rb") as f:
        data = f.read()
    put(data[:-1], NPY)
    with raises(ValueError, "lack 1"):
        nd.load(NPY, mmap_mode="r")
    put(data, NPY)
    with raises(ValueError, "sim:0", "host memory"):
        nd.load(NPY, mmap_mode="r", device="sim:0")
    nd.savez(PATH, x=np.arange(3))
    with raises(ValueError, "only .npy"):
        nd.load(PATH, mmap_mode="r")


if __name__ == "__main__":
    main(globals())
