#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ndock.random: the generator against its paper's known answers, keys, generators, threads, distributions."""
import os
import threading

import ndock as nd
from arrays import DEVICES, INTS, REALS, host, np, same
from tap import Skip, cases, main, raises


def test_known_answers_of_philox():
    """kat_vectors of Random123: philox4x32 10 with counter, key, result, as 32-bit words with the lowest first."""
    def wide(words):
        return sum(w << 32 * i for i, w in enumerate(words))
    for counter, key, want in [
            ((0, 0, 0, 0), (0, 0), (0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8)),
            ((0xffffffff,) * 4, (0xffffffff,) * 2, (0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd)),
            ((0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344), (0xa4093822, 0x299f31d0),
             (0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1))]:
        assert nd._ndock._philox(wide(key), wide(counter)) == wide(want)


def equal_everywhere(make):
    first, *others = (host(make(d)) for d in DEVICES)
    for other in others:
        np.testing.assert_array_equal(other, first)


def test_the_same_key_gives_the_same_bits_on_every_device():
    k = nd.random.key(42)
    for dtype in ("float32", "float64"):
        equal_everywhere(lambda d: nd.random.uniform(size=(5, 3), key=k, dtype=dtype, device=d))
    equal_everywhere(lambda d: nd.random.integers(-5, 9, (100,), key=k, device=d))
    equal_everywhere(lambda d: nd.random.permutation(100, key=k, device=d))


def test_a_generator_moves_on_and_a_key_does_not():
    g = nd.random.Generator(7)
    first, second = host(g.uniform(size=10)), host(g.uniform(size=10))
    assert not (first == second).any()
    k = nd.random.key(7)
    np.testing.assert_array_equal(host(nd.random.uniform(size=10, key=k)), first)
    np.testing.assert_array_equal(host(nd.random.uniform(size=10, key=k)), first)
    np.testing.assert_array_equal(host(nd.random.uniform(size=10, key=k.skip(10, "float64"))), second)
    g.key = k
    np.testing.assert_array_equal(host(g.uniform(size=(2, 5))).ravel(), first)
    # One call or two: the same stream, where blocks are used up.
    g.key = k
    np.testing.assert_array_equal(np.concatenate([host(g.uniform(size=4)), host(g.uniform(size=6))]), first)


def test_keys():
    k = nd.random.key(2**64 - 1, 2**128 - 1)
    assert (k.seed, k.position) == (2**64 - 1, 2**128 - 1) and repr(k) == f"Key(seed={2**64 - 1}, position={2**128 - 1})"
    assert k.skip(4, "float32").position == 0  # the counter wraps
    assert nd.random.key(1) == nd.random.Key(1) != nd.random.key(2) and hash(nd.random.key(1)) == hash(nd.random.Key(1))
    children = nd.random.key(1).split(3)
    assert len({c.seed for c in children}) == 3 and children == nd.random.key(1).split(3)
    for bad in (-1, 2**64):
        with raises(ValueError, "64 bits"):
            nd.random.key(bad)
    with raises(TypeError, "key(seed)"):
        nd.random.uniform(size=3, key=5)


def test_seed_repeats_the_threads_own_numbers():
    nd.random.seed(3)
    first = host(nd.random.normal(size=6))
    nd.random.seed(3)
    np.testing.assert_array_equal(host(nd.random.normal(size=6)), first)
    seen = []

    def other():
        seen.append(host(nd.random.normal(size=6)))
    nd.random.seed(3)
    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    assert not (seen[0] == first).any()  # it has a generator of its own, seeded by chance
    np.testing.assert_array_equal(host(nd.random.normal(size=6)), first)


def test_threads_share_a_generator_without_repeating_numbers():
    g = nd.random.Generator(1)
    seen = []

    def draw():
        for _ in range(50):
            seen.append(g._take(4, "float64").position)
    threads = [threading.Thread(target=draw) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(set(seen)) == 200


def test_a_forked_child_draws_other_numbers():
    if not hasattr(os, "fork"):
        raise Skip("no fork here")
    nd.random.seed(None)
    before = nd.random._thread.generator.key.seed
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        nd.random._key(None, 1, "float64")
        os.write(write, str(nd.random._thread.generator.key.seed).encode())
        os._exit(0)
    os.waitpid(child, 0)
    assert int(os.read(read, 100)) != before


@cases(*DEVICES)
def test_distributions(device):
    """Mean and variance within six standard errors, bounds kept."""
    n = 40000
    for dtype in REALS:
        x = host(nd.random.uniform(-1.0, 3.0, n, key=nd.random.key(5), dtype=dtype, device=device)).astype("float64")
        assert x.min() >= -1 and x.max() < 3.0 + (dtype == "float16") * 1e-3
        assert abs(x.mean() - 1) < 6 * (16 / 12 / n) ** 0.5
        x = host(nd.random.normal(2.0, 0.5, n, key=nd.random.key(6), dtype=dtype, device=device)).astype("float64")
        assert abs(x.mean() - 2) < 6 * 0.5 / n**0.5 and abs(x.std() - 0.5) < 6 * 0.5 / (2 * n) ** 0.5
    for dtype in INTS:
        x = nd.random.integers(3, 13, (n,), key=nd.random.key(7), dtype=dtype, device=device)
        assert x.dtype == dtype and x.shape == (n,)
        counts = np.bincount(host(x).astype("int64"), minlength=13)
        assert counts[:3].sum() == 0 and len(counts) == 13
        assert (abs(counts[3:] - n / 10) < 6 * (n * 0.09) ** 0.5).all()
    p = host(nd.random.permutation(1000, key=nd.random.key(8), device=device))
    np.testing.assert_array_equal(np.sort(p), np.arange(1000))


def test_shapes_and_errors():
    assert nd.random.uniform().shape == () and nd.random.normal(shape=(0, 2)).shape == (0, 2)
    assert nd.random.integers(5).dtype == nd.int64 and nd.random.uniform(size=2).dtype == nd.float64
    same(nd.random.permutation(0), np.arange(0))
    with raises(ValueError):
        nd.random.integers(5, 5)
    with raises(TypeError):
        nd.random.uniform(size=3, dtype="int32")
    with raises(TypeError):
        nd.random.integers(3, dtype="float32")
    with raises(ValueError):
        nd.random.uniform(size=(-1,))


if __name__ == "__main__":
    main(globals())
