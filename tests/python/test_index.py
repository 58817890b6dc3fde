# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reading and assigning by index: random keys against NumPy, and the rules written out by hand."""
import os
import random
import subprocess
import sys

import ndock as nd
from devices import DEVICES
from tap import Skip, cases, main, raises

try:
    import numpy as np
except ImportError:
    np = None

EACH = cases(*DEVICES)


def need_numpy():
    if np is None:
        raise Skip("no NumPy to compare with")


def asarray(x, device):
    return nd.asarray(np.array(x, order="C"), device=device)


class Keys:
    """Random keys, each as a pair: NumPy's and ours on a device."""

    def __init__(self, seed, device):
        self.r, self.device = random.Random(seed), device

    def pair(self, a):
        return a, asarray(a, self.device)

    def slice(self, n):
        def bound():
            return self.r.choice([None, self.r.randint(-n - 2, n + 2)])
        step = self.r.choice([None, 1, 1, 2, 3, -1, -2, -3])
        return slice(bound(), bound(), step)

    def ints(self, n, shape):
        values = [self.r.randint(-n, n - 1) for _ in range(int(np.prod(shape, dtype=int)))]
        dtype = self.r.choice(["int64", "int64", "int32", "int8"])
        a = np.array(values, dtype=dtype).reshape(shape)
        if self.r.random() < .3 and a.ndim:
            return a.tolist() if a.size else a, a.tolist() if a.size else asarray(a, self.device)
        return self.pair(a)

    def mask(self, shape):
        p = self.r.choice([0, .3, .5, 1])
        a = np.array([self.r.random() < p for _ in range(int(np.prod(shape, dtype=int)))],
                     dtype=bool).reshape(shape)
        return self.pair(a)

    def key(self, shape):
        """Entries for some of the axes, left to right; one ellipsis at most."""
        r, axis, ours, theirs = self.r, 0, [], []
        common = tuple(r.randint(0 if r.random() < .1 else 1, 3) for _ in range(r.randint(0, 2)))
        ellipsis = r.random() < .3
        advanced = r.random() < .7

        def put(pair):
            theirs.append(pair[0])
            ours.append(pair[1])

        left = r.randint(0, len(shape))
        while left > 0 or r.random() < .3:
            what = r.random()
            if ellipsis and r.random() < .3:
                ellipsis = False
                put((..., ...))
                axis = len(shape) - left
            elif what < .12:
                put((None, None))
            elif advanced and what < .17:
                truth = r.random() < .7
                put(r.choice([(truth, truth), (np.bool_(truth), asarray(np.array(truth), self.device))]))
            elif left == 0:
                break
            elif what < .35 and shape[axis]:
                i = r.randint(-shape[axis], shape[axis] - 1)
                put(r.choice([(i, i), (np.int32(i), np.int32(i)),
                              (np.array(i), asarray(np.array(i), self.device))]))
                axis, left = axis + 1, left - 1
            elif what < .6 or not advanced or not shape[axis]:
                s = self.slice(shape[axis])
                put((s, s))
                axis, left = axis + 1, left - 1
            elif what < .7:
                n = r.randint(1, left)
                put(self.mask(shape[axis:axis + n]))
                axis, left = axis + n, left - n
            else:
                some = common[r.randint(0, len(common)):] if common else ()
                some = tuple(1 if r.random() < .1 else n for n in some)
                put(self.ints(shape[axis], some))
                axis, left = axis + 1, left - 1
        if len(ours) == 1 and r.random() < .5 and not isinstance(ours[0], tuple):
            return theirs[0], ours[0]
        return tuple(theirs), tuple(ours)

    def base(self):
        """A NumPy array and ours, of one of several layouts."""
        r = self.r
        shape = tuple(r.choice([1, 2, 3, 4, 5, 0 if r.random() < .1 else 2])
                      for _ in range(r.randint(0, 4)))
        a = np.arange(int(np.prod(shape, dtype=int)), dtype=r.choice(["int64", "float32", "uint8", "complex64"]))
        a, x = self.pair(a.reshape(shape))
        layout = r.randint(0, 3)
        if layout == 1:
            return a.T, x.transpose()
        if layout == 2:
            flip = tuple(slice(None, None, r.choice([1, -1, 2])) for _ in shape)
            return a[flip], x[flip]
        return a, x


def show(key):
    return repr(key).replace("\n", " ")


@cases(*[(d, 6000 if d == "cpu" else 600) for d in DEVICES])
def test_get_as_numpy(device, count):
    need_numpy()
    keys = Keys(1, device)
    compared = refused = 0
    for i in range(count):
        a, x = keys.base()
        theirs, ours = keys.key(a.shape)
        try:
            want = np.asarray(a[theirs])
        except IndexError:
            refused += 1
            with raises(IndexError):
                x[ours]
            continue
        got = x[ours]
        what = f"case {i}: shape {a.shape} strides {x.strides} key {show(theirs)}"
        assert got.shape == want.shape, f"{what}: {got.shape} not {want.shape}"
        assert got.dtype == want.dtype, what
        assert got.tolist() == want.tolist(), f"{what}: {got.tolist()} not {want.tolist()}"
        compared += 1
    assert compared > count * .6, (compared, refused)


@cases(*[(d, 6000 if d == "cpu" else 600) for d in DEVICES])
def test_set_as_numpy(device, count):
    need_numpy()
    keys = Keys(2, device)
    r = keys.r
    compared = refused = 0
    for i in range(count):
        a, x = keys.base()
        a = np.array(a)
        theirs, ours = keys.key(a.shape)
        try:
            shape = np.asarray(a[theirs]).shape
        except IndexError:
            refused += 1
            with raises(IndexError):
                x[ours] = 1
            continue
        kind = r.randint(0, 4)
        if kind == 0:
            value = mine = r.choice([7, 7.5, True])
        else:
            some = tuple(1 if r.random() < .2 else n for n in shape[r.randint(0, len(shape)):])
            value = np.array([r.randint(0, 99) for _ in range(int(np.prod(some, dtype=int)))],
                             dtype=r.choice([a.dtype, np.dtype("int16")])).reshape(some)
            if kind == 1 and value.size:
                mine = value.tolist()
            elif kind == 2:
                mine = value
            else:
                mine = asarray(value, device)
        a[theirs] = value
        x[ours] = mine
        what = f"case {i}: shape {a.shape} key {show(theirs)} value {show(value)}"
        assert x.tolist() == a.tolist(), f"{what}: {x.tolist()} not {a.tolist()}"
        compared += 1
    assert compared > count * .6, (compared, refused)


def same(ours, theirs):
    assert ours.dtype == theirs.dtype and ours.shape == theirs.shape and ours.tolist() == theirs.tolist()


@EACH
def test_masks_of_all_sizes(device):
    """Small selections are made in one pass, in room for all elements, larger ones after a count."""
    need_numpy()
    rng = np.random.default_rng(5)
    for dtype in ("bool", "int16", "float32", "complex128"):
        for shape in ((1,), (16,), (64,), (65,), (256,), (257,), (4096,), (4097,), (9, 0), (3, 5), (40, 13), (2, 3, 7)):
            a = rng.integers(0, 2, shape).astype(dtype)
            x = asarray(a, device)
            for chosen in (0, .5, 1):
                rows, all_of = rng.random(shape[:1]) < chosen, rng.random(shape) < chosen
                for mask in (rows, all_of):
                    same(x[asarray(mask, device)], a[mask])
                    same(x[asarray(mask, device), ...], a[mask])
                same(x[::-1][asarray(rows, device)], a[::-1][rows])


@EACH
def test_masks_of_elements_of_every_size(device):
    """Vectors of 8 and 16 elements, what is left behind them, and blocks: x[mask] beside a list of Python's."""
    rng = random.Random(7)
    for dtype in (nd.int8, nd.float16, nd.float32, nd.int64, nd.complex128):
        for n in (*range(1, 36), 100, 4096, 4097) + ((70001,) if dtype in (nd.float32, nd.int64) else ()):
            values = [rng.randrange(-100, 100) for _ in range(n)]
            for share in (0.1, 0.5, 1):
                chosen = [rng.random() < share for _ in range(n)]
                x, mask = nd.asarray(values, dtype=dtype, device=device), nd.asarray(chosen, device=device)
                want = [v for v, c in zip(values, chosen) if c]
                assert x[mask].tolist() == want, (dtype, n, share)
                assert x[::-1][mask].tolist() == [v for v, c in zip(values[::-1], chosen) if c], (dtype, n, share)


@EACH
def test_nothing_is_behind_a_selection(device):
    x = nd.arange(64, device=device)[nd.arange(64, device=device) >= 62]
    assert x.shape == (2,) and nd.as_strided(x, (2,), (1,)).tolist() == [62, 63]
    with raises(IndexError, "storage of 2"):
        nd.as_strided(x, (3,), (1,))


@EACH
def test_basic_keys_are_views(device):
    x = nd.asarray([[0, 1, 2], [3, 4, 5]], device=device)
    for view in (x[0], x[:, 1:], x[...], x[None], x[1, 2], x[::-1]):
        view[...] = 9
    assert x.tolist() == [[9] * 3] * 2


@EACH
def test_arrays_and_masks_copy(device):
    x = nd.asarray([0, 1, 2], device=device)
    for copied in (x[[0, 1]], x[x >= 0], x[True], x[[True, False, True]]):
        copied[...] = 9
    assert x.tolist() == [0, 1, 2]


def test_errors_name_place_and_value():
    x = nd.asarray([[0, 1, 2], [3, 4, 5]], device="cpu")
    for key in (2, -3, (0, 3), [0, 2], ([0, 2], [0, 0]), ([0, 0], [1, 7]), 10**30):
        with raises(IndexError, "range"):
            x[key]
    with raises(IndexError, "index 7 at position 1 of index array 1"):
        x[[0, 0], [1, 7]]
    with raises(IndexError, "index 3 (entry 1) is out of range for axis 1 of extent 3"):
        x[0, 3]
    with raises(IndexError, "too many", "2 axes", "3"):
        x[0, 0, 0]
    with raises(IndexError, "one ellipsis"):
        x[..., ...]
    with raises(IndexError, "extent 2 where axis 1 of the array has 3"):
        x[:, [True, False]]
    with raises(IndexError, "integers or bool", "float64"):
        x[nd.asarray([1.0], device="cpu")]
    with raises(IndexError, "1.5"):
        x[1.5]
    with raises(IndexError, "'a'"):
        x["a"]
    with raises(IndexError, "broadcast", "(2,)", "(3,)"):
        x[[0, 1], [0, 1, 2]]
    with raises(ValueError):
        x[::0]


def test_failed_assignment_changes_nothing():
    x = nd.asarray([[0, 1, 2], [3, 4, 5]], device="cpu")
    for key, value in (([0, 9], 1), ((slice(None), [0, 5]), 1), (([0, 1], [0, 8]), 7)):
        with raises(IndexError):
            x[key] = value
    with raises(ValueError, "(2,)", "3"):
        x[0] = [1, 2]
    with raises(ValueError):
        x[x > 2] = [1, 2]
    with raises(OverflowError):
        x[0] = 2**70
    with raises(OverflowError):
        nd.asarray([1], dtype=nd.uint8, device="cpu")[...] = 256
    with raises(TypeError, "complex128", "imaginary"):
        nd.asarray([1.0], device="cpu")[0] = nd.asarray(1j, device="cpu")
    with raises(TypeError, "deleted"):
        del x[0]
    assert x.tolist() == [[0, 1, 2], [3, 4, 5]]


def test_I13_read_only_arrays_refuse_assignment():
    x = nd.asarray(memoryview(b"abc"), device="cpu")
    assert x.readonly
    for key in (0, [0], slice(None), x > 0):
        with raises(ValueError, "read-only"):
            x[key] = 1


def test_bad_indices_on_an_asynchronous_device_come_out_at_the_next_wait():
    for key in ([0, 9], ([0, 1], [0, 9]), ([0, -9], slice(None)), ([[0]], [[0, 3]])):
        x = nd.asarray([[0, 1, 2], [3, 4, 5]], device="sim:0")
        with raises(IndexError, "range"):
            x[key].tolist()
        with raises(IndexError, "range"):
            x[key] = 7
            x.tolist()
        assert set(sum(x.tolist(), [])) <= {0, 1, 2, 3, 4, 5, 7}  # good indices may have been written


@EACH
def test_augmented_assignment_through_an_index(device):
    x = nd.asarray([[0, 1, 2], [3, 4, 5]], device=device)
    x[0] += 10
    x[:, 1] *= 2
    x[[0, 1], [0, 2]] -= 1
    x[x > 20] //= 2
    assert x.tolist() == [[9, 11, 12], [3, 8, 4]]


@EACH
def test_duplicates_the_last_in_C_order_wins(device):
    x = nd.zeros(3, device=device)
    x[[0, 1, 0, 0]] = [1, 2, 3, 4]
    assert x.tolist() == [4, 2, 0]
    y = nd.zeros((2, 2), device=device)
    y[[0, 0], [1, 1]] = [5, 6]
    assert y.tolist() == [[0, 6], [0, 0]]


@EACH
def test_overlapping_source(device):
    x = nd.asarray(list(range(6)), device=device)
    x[1:] = x[:-1]
    assert x.tolist() == [0, 0, 1, 2, 3, 4]
    x[[0, 1, 2]] = x[[2, 1, 0]]
    x[x > 2] = x[0]
    assert x.tolist() == [1, 0, 0, 2, 1, 1]


def test_D4_values_of_another_device():
    host, device = nd.asarray([1, 2], device="cpu"), nd.asarray([3, 4], device="sim:0")
    device[...] = host
    assert device.tolist() == [1, 2]
    with raises(ValueError, "to_device('cpu:0')"):
        host[...] = device
    with raises(ValueError, "to_device('cpu:0')"):
        host[[0, 1]] = device


def test_steps_and_bounds_beyond_64_bits():
    x = nd.asarray([0, 1, 2])
    big = 10**30
    assert x[-big:big].tolist() == [0, 1, 2]
    assert x[:-big].tolist() == x[big:].tolist() == []
    assert x[::big].tolist() == [0] and x[::-big].tolist() == [2]
    assert x[big:-big:-1].tolist() == [2, 1, 0]
    assert x[-big::-1].tolist() == []


def test_many_axes():
    x = nd.zeros((1,) * 64)
    assert x[(0,) * 63].shape == (1,)
    assert x[(None, 0) * 32].shape == (1,) * 64
    with raises(ValueError):
        x[None]
    with raises(IndexError):
        x[([0],) + (None,) * 200]


@EACH
def test_a_mask_without_elements_fits_every_extent(device):
    """The standard: each extent of a mask is the axis's, or 0."""
    for shape, mask, want in [((1,), (0,), (0,)), ((3, 4), (0,), (0, 4)), ((3, 4), (0, 4), (0,)), ((3, 4), (3, 0), (0,)),
                              ((2, 3, 4), (2, 0), (0, 4)), ((0, 3), (0,), (0, 3))]:
        x, m = nd.ones(shape, device=device), nd.ones(mask, dtype=bool, device=device)
        assert x[m].shape == want
        x[m] = 5.0
        assert bool(nd.all(x == 1))
    with raises(IndexError, "5"):
        nd.ones((3, 4), device=device)[nd.ones((0, 5), dtype=bool, device=device)]


@cases(("counts_more", 1), ("counts_less", -1))
def test_a_count_of_a_plug_in_that_cannot_be(kind, beyond):
    """tests/hook/defect.c counts one more than there are, or less than none. Small selections, which are made in one pass,
    say of it what large ones do, whose count comes first, and so does nonzero."""
    cpu = os.environ.get("NDOCK_PLUGIN_PATH", "").split(":")[0]
    folder = cpu.replace("backends/cpu", "tests/hook")
    if not os.path.exists(folder + "/ndock-defect.so"):
        raise Skip("no build tree with tests/hook/ndock-defect.so")
    code = """import ndock as nd
for n in 8, 2000:
    x = nd.ones(n, dtype=nd.float32, device="defect:0")
    mask = nd.zeros(n, dtype=bool, device="defect:0")
    for call in lambda: x[mask], lambda: nd.nonzero(mask):
        try:
            call()
        except Exception as e:
            print(type(e).__name__, str(e))"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600,
                         env={**os.environ, "NDOCK_PLUGIN_PATH": f"{cpu}:{folder}", "NDOCK_DEFECT_KIND": kind})
    assert run.returncode == 0, run.stderr
    lines = run.stdout.splitlines()
    assert len(lines) == 4, run.stdout
    for line, n in zip(lines, (8, 8, 2000, 2000)):
        kind_of, _, message = line.partition(" ")
        assert kind_of == lines[0].split()[0], line
        assert f"defect:0 counted {-1 if beyond < 0 else n + 1} of {n}" in message, line
    assert lines[2] == lines[0].replace("of 8", "of 2000").replace("counted 9", "counted 2001"), run.stdout


if __name__ == "__main__":
    main(globals())
