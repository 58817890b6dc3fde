#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention, rotary embedding, dropout, embedding and mixtures of experts against their definitions in float64; masks, causal with
different lengths, grouped heads, rows that see nothing, empty batches, views, dropout by an own Philox; finite differences; the
same bits for every number of threads and on every device; errors."""
import math
import os
import subprocess
import sys

import ndock as nd
from arrays import DEVICES, np
from tap import cases, main, raises
from test_nn_norms import FLOATS, difference, given, near


def philox(seed, block):
    """Philox 4x32-10 of Salmon et al.: the four words of a block."""
    x, k = [block >> 32 * i & 0xffffffff for i in range(4)], [seed & 0xffffffff, seed >> 32]
    for _ in range(10):
        a, b = 0xD2511F53 * x[0], 0xCD9E8D57 * x[2]
        x = [b >> 32 ^ x[1] ^ k[0], b & 0xffffffff, a >> 32 ^ x[3] ^ k[1], a & 0xffffffff]
        k = [(k[0] + 0x9E3779B9) & 0xffffffff, (k[1] + 0xBB67AE85) & 0xffffffff]
    return x


def kept(shape, p, key):
    """Which elements dropout keeps."""
    n = int(np.prod(shape, dtype=int))
    words = [w for b in range((n + 3) // 4) for w in philox(key.seed, key.position + b)]
    return np.asarray([w >= int(p * 2 ** 32) for w in words[:n]], dtype=bool).reshape(shape)


def seen(shape, causal, m, n):
    """Which keys a query may see."""
    if not causal:
        return np.ones(shape, dtype=bool)
    shift = n - m if causal == "last" else 0
    return np.broadcast_to(np.arange(n)[None, :] <= np.arange(m)[:, None] + shift, shape)


def weights_of(q, k, mask, causal, scale):
    """The weights of (b, h, m, n), and logsumexp."""
    group = q.shape[1] // k.shape[1] if k.shape[1] else 1
    s = np.einsum("bhid,bhjd->bhij", q, np.repeat(k, group, 1)) * scale
    allowed = seen(s.shape, causal, q.shape[2], k.shape[2])
    if mask is not None and mask.dtype == bool:
        allowed = allowed & np.broadcast_to(mask, s.shape)
    elif mask is not None:
        s = s + mask
    s = np.where(allowed, s, -np.inf)
    top = s.max(-1, keepdims=True, initial=-np.inf)
    e = np.exp(s - np.where(np.isfinite(top), top, 0))
    total = e.sum(-1, keepdims=True)
    with np.errstate(divide="ignore"):
        return e / np.where(total == 0, 1, total), np.where(np.isfinite(top), top, 0)[..., 0] + np.log(total[..., 0])


def attention(q, k, v, mask=None, causal=False, scale=None, keep=None):
    group = q.shape[1] // k.shape[1] if k.shape[1] else 1
    p, lse = weights_of(q, k, mask, causal, scale or 1 / math.sqrt(q.shape[3]))
    if keep is not None:
        p = p * keep
    return np.einsum("bhij,bhje->bhie", p, np.repeat(v, group, 1)), lse


def attention_grad(g, q, k, v, mask=None, causal=False, scale=None, keep=None):
    """The derivatives, by the chain rule over whole matrices."""
    group = q.shape[1] // k.shape[1]
    scale = scale or 1 / math.sqrt(q.shape[3])
    p, _ = weights_of(q, k, mask, causal, scale)
    keys, values = np.repeat(k, group, 1), np.repeat(v, group, 1)
    keep = 1.0 if keep is None else keep
    dv = np.einsum("bhij,bhie->bhje", p * keep, g)
    dp = np.einsum("bhie,bhje->bhij", g, values) * keep
    ds = p * (dp - (p * dp).sum(-1, keepdims=True)) * scale
    dq = np.einsum("bhij,bhjd->bhid", ds, keys)
    dk = np.einsum("bhij,bhid->bhjd", ds, q)

    def heads(x):
        return x.reshape(x.shape[0], k.shape[1], group, *x.shape[2:]).sum(2)
    return dq, heads(dk), heads(dv)


# b, h, hk, m, n, d, e
GEOMETRIES = [(1, 1, 1, 3, 5, 4, 4), (2, 4, 2, 7, 7, 8, 3), (1, 6, 1, 70, 130, 16, 16), (2, 2, 2, 65, 1, 5, 9), (1, 2, 1, 1, 200, 64, 64),
              (1, 1, 1, 130, 64, 3, 2), (1, 2, 2, 5, 6, 300, 7)]


def operands(rng, geometry, dtype, device):
    b, h, hk, m, n, d, e = geometry
    return [given(rng, s, dtype, device) for s in ((b, h, m, d), (b, hk, n, d), (b, hk, n, e), (b, h, m, e))]


@cases(*[(device, dtype) for device in DEVICES for dtype in FLOATS])
def test_attention(device, dtype):
    rng = np.random.default_rng(1)
    for geometry in GEOMETRIES:
        b, h, hk, m, n, d, e = geometry
        (q, q64), (k, k64), (v, v64), (g, g64) = operands(rng, geometry, dtype, device)
        bias, bias64 = given(rng, (b, 1, m, n), dtype, device)
        holes = rng.random((m, n)) < 0.7
        for causal, mask, mask64 in ((False, None, None), (True, None, None), ("last", None, None), (False, bias, bias64),
                                     ("last", nd.asarray(holes, device=device), holes)):
            out, lse = nd.nn.attention_with_logsumexp(q, k, v, mask, 0.0, causal)
            want, logs = attention(q64, k64, v64, mask64, causal)
            near(out, want, dtype, 2)
            assert np.array_equal(np.isinf(np.asarray(lse.tolist())), np.isinf(logs))
            finite = np.isfinite(logs)
            assert np.max(np.abs(np.asarray(lse.tolist())[finite] - logs[finite]), initial=0) < (1e-11 if dtype == "float64" else 1e-4)
            grads = nd.nn.scaled_dot_product_attention_grad(g, q, k, v, out, lse, mask, 0.0, causal)
            for got, right in zip(grads, attention_grad(g64, q64, k64, v64, mask64, causal)):
                near(got, right, dtype, 4 * (1 + np.max(np.abs(right))))


def sizes_of(q, k, v, g, causal):
    """Sizes of the terms that the result and its gradients are sums of, to which errors of f32 are compared as by ndock conform."""
    scale = 1 / math.sqrt(q.shape[3])
    p, _ = weights_of(q, k, None, causal, scale)
    score = 1 + np.einsum("bhid,bhjd->bhij", abs(q), abs(k)) * scale
    dp = np.einsum("bhie,bhje->bhij", abs(g), abs(v))
    ds = p * (dp + (p * dp * score).sum(-1, keepdims=True)) * score * scale
    return [np.einsum("bhij,bhje->bhie", p * score, abs(v)), np.einsum("bhij,bhjd->bhid", ds, abs(k)),
            np.einsum("bhij,bhid->bhjd", ds, abs(q)), np.einsum("bhij,bhie->bhje", p * score, abs(g))]


# b, h, m, n, d; what is added to values, of which sums do not cancel then
LONG = [(1, 2, 130, 300, 64, 0), (1, 1, 70, 1500, 64, 3), (1, 1, 100, 260, 50, 0), (1, 2, 150, 200, 128, 0), (1, 1, 60, 90, 101, 1), (1, 1, 140, 130, 256, 0)]


@cases(*DEVICES)
def test_errors_of_f32(device):
    rng = np.random.default_rng(11)
    for *geometry, shift in LONG:
        b, h, m, n, d = geometry
        values = [rng.normal(size=(b, h, rows, d)).astype(np.float32) for rows in (m, n, n, m)]
        values[2] += shift
        q64, k64, v64, g64 = (x.astype(np.float64) for x in values)
        q, k, v, g = (nd.asarray(x, device=device) for x in values)
        for causal in (False, "last"):
            out, lse = nd.nn.attention_with_logsumexp(q, k, v, None, 0.0, causal)
            got = [out, *nd.nn.scaled_dot_product_attention_grad(g, q, k, v, out, lse, None, 0.0, causal)]
            want = [attention(q64, k64, v64, None, causal)[0], *attention_grad(g64, q64, k64, v64, None, causal)]
            for i, (r, w, size) in enumerate(zip(got, want, sizes_of(q64, k64, v64, g64, causal))):
                error = np.max(np.abs(np.asarray(r.tolist()) - w) / (size * 2.0 ** -23 + 1e-300))
                assert error < (32 if i else 16), (geometry, causal, i, error)


def same_numbers(got, want):
    """Infinities and NaN where they are wanted, and else numbers that are near."""
    got = np.asarray(got.tolist()).reshape(want.shape)
    assert np.array_equal(np.isnan(got), np.isnan(want)) and np.array_equal(np.isinf(got), np.isinf(want)), (got, want)
    finite = np.isfinite(want)
    assert np.array_equal(got[~finite & ~np.isnan(want)], want[~finite & ~np.isnan(want)])
    assert np.all(np.abs(got[finite] - want[finite]) <= 1e-5 * np.max(np.abs(want[finite]), initial=1))


@cases(*DEVICES)
def test_infinities_of_f32(device):
    """A key of which each query's product is -inf has no weight; values that are infinite, or so large that what they are rounded to may be, give what sums of products do."""
    rng = np.random.default_rng(12)
    for d in (64, 128, 256):
        q, k, v = (rng.normal(size=(1, 1, rows, d)).astype(np.float32) for rows in (70, 90, 90))
        q[..., 1] = np.abs(q[..., 1]) + 1
        k[0, 0, 5, 1] = -np.inf
        v[0, 0, 5] = 2
        v[0, 0, 40, 3], v[0, 0, 40, 4], v[0, 0, 41, 4], v[0, 0, 42, 7] = np.inf, np.inf, -np.inf, 3.4028e38
        v[0, 0, 60, 9] = np.nan
        with np.errstate(invalid="ignore", over="ignore"):
            want = attention(*(x.astype(np.float64) for x in (q, k, v)))[0]
            got = nd.nn.scaled_dot_product_attention(*(nd.asarray(x, device=device) for x in (q, k, v)))
            same_numbers(got[..., :7], want[..., :7])
            same_numbers(got[..., 8:], want[..., 8:])
        large = np.asarray(got[..., 7].tolist())
        assert np.all(np.abs(large - want[..., 7]) <= 1e-5 * np.abs(want[..., 7]))


@cases(*DEVICES)
def test_gradients_of_f32_in_turn(device):
    """Many blocks of keys, heads that share them, queries that see nothing; numbers beyond 2^127, which tensor cores do not multiply."""
    rng = np.random.default_rng(13)
    for d, large in ((64, False), (128, False), (256, False), (64, True), (256, True)):
        q, g = (rng.normal(size=(1, 4, 210, d)).astype(np.float32) for _ in range(2))
        k, v = (rng.normal(size=(1, 2, 140, d)).astype(np.float32) for _ in range(2))
        if large:
            k[0, 1, 100, 1], q[0, :, :, 1] = 1.5 * 2.0 ** 127, 0
        a = [nd.asarray(x, device=device) for x in (q, k, v)]
        out, lse = nd.nn.attention_with_logsumexp(*a, is_causal="last")
        grads = nd.nn.scaled_dot_product_attention_grad(nd.asarray(g, device=device), *a, out, lse, is_causal="last")
        again = nd.nn.scaled_dot_product_attention_grad(nd.asarray(g, device=device), *a, out, lse, is_causal="last")
        want = attention_grad(g.astype(np.float64), *(x.astype(np.float64) for x in (q, k, v)), None, "last")
        for got, other, right in zip(grads, again, want):
            assert nd.all(got == other)
            got = np.array(got.tolist())
            if large:
                got[..., 1] = right[..., 1] = 0
            assert np.max(np.abs(got - right)) <= 2.0 ** -18 * np.max(np.abs(right)), (d, large)
        assert not nd.any(grads[0][:, :, :70] != 0)
    none = nd.nn.scaled_dot_product_attention_grad(*(nd.asarray(x, device=device) for x in (g, q, k[:, :, :0], v[:, :, :0], np.zeros_like(q), np.full(q.shape[:3], -np.inf, np.float32))))
    assert none[0].shape == q.shape and not nd.any(none[0] != 0)


@cases(*DEVICES)
def test_dropout_of_weights(device):
    rng = np.random.default_rng(2)
    for geometry in GEOMETRIES[:4]:
        b, h, hk, m, n, d, e = geometry
        (q, q64), (k, k64), (v, v64), (g, g64) = operands(rng, geometry, "float64", device)
        key = nd.random.Key(12345678901234, 3)
        keep = kept((b, h, m, n), 0.3, key) / 0.7
        out, lse = nd.nn.attention_with_logsumexp(q, k, v, None, 0.3, True, scale=0.5, dropout_key=key)
        near(out, attention(q64, k64, v64, None, True, 0.5, keep)[0], "float64", 2)
        grads = nd.nn.scaled_dot_product_attention_grad(g, q, k, v, out, lse, None, 0.3, True, scale=0.5, dropout_key=key)
        for got, right in zip(grads, attention_grad(g64, q64, k64, v64, None, True, 0.5, keep)):
            near(got, right, "float64", 4 * (1 + np.max(np.abs(right))))


@cases(*DEVICES)
def test_random_geometries(device):
    rng = np.random.default_rng(int(os.environ.get("NDOCK_TEST_SEED", "3")))
    for _ in range(12 if os.environ.get("NDOCK_TEST_SLICE") or device != "cpu" else 60):
        hk = int(rng.integers(1, 3))
        geometry = (int(rng.integers(0, 3)), hk * int(rng.integers(1, 4)), hk, *(int(i) for i in rng.integers(1, 90, 2)), *(int(i) for i in rng.integers(1, 20, 2)))
        (q, q64), (k, k64), (v, v64), (g, g64) = operands(rng, geometry, "float64", device)
        causal = (False, True, "last")[int(rng.integers(3))]
        out, lse = nd.nn.attention_with_logsumexp(q, k, v, is_causal=causal)
        want = attention(q64, k64, v64, None, causal)[0]
        near(out, want, "float64", 2)
        grads = nd.nn.scaled_dot_product_attention_grad(g, q, k, v, out, lse, is_causal=causal)
        for got, right in zip(grads, attention_grad(g64, q64, k64, v64, None, causal)):
            near(got, right, "float64", 4 * (1 + np.max(np.abs(right), initial=0)))


@cases(*DEVICES)
def test_what_sees_nothing(device):
    q = nd.ones((1, 2, 3, 4), device=device)
    out, lse = nd.nn.attention_with_logsumexp(q, q, q, nd.zeros((3, 3), dtype=nd.bool, device=device))
    assert not nd.any(out != 0) and nd.all(nd.isinf(lse))
    for r in nd.nn.scaled_dot_product_attention_grad(q, q, q, q, out, lse, nd.zeros((3, 3), dtype=nd.bool, device=device)):
        assert not nd.any(r != 0)
    assert nd.nn.scaled_dot_product_attention(nd.zeros((0, 2, 3, 4), device=device), nd.zeros((0, 1, 5, 4), device=device),
                                              nd.zeros((0, 1, 5, 6), device=device)).shape == (0, 2, 3, 6)
    none = nd.nn.scaled_dot_product_attention(q, q[:, :, :0], q[:, :, :0])
    assert none.shape == (1, 2, 3, 4) and not nd.any(none != 0)
    long = nd.nn.scaled_dot_product_attention(nd.ones((1, 1, 2, 2, 4), device=device), nd.ones((1, 1, 2, 3, 4), device=device),
                                              nd.ones((1, 1, 2, 3, 4), device=device))
    assert long.shape == (1, 1, 2, 2, 4)


def test_gradients_by_differences():
    rng = np.random.default_rng(4)
    x = [rng.normal(size=s) for s in ((1, 2, 3, 4), (1, 1, 5, 4), (1, 1, 5, 2))]
    g = rng.normal(size=(1, 2, 3, 2))
    a = [nd.asarray(z) for z in x]
    out, lse = nd.nn.attention_with_logsumexp(*a, is_causal="last")
    grads = nd.nn.scaled_dot_product_attention_grad(nd.asarray(g), *a, out, lse, is_causal="last")
    for i in range(3):
        def f(z):
            return np.asarray(nd.nn.scaled_dot_product_attention(*(nd.asarray(z) if j == i else a[j] for j in range(3)), is_causal="last").tolist())
        assert np.max(np.abs(difference(f, x[i], g) - np.asarray(grads[i].tolist()))) < 1e-7


THREADS = """
import ndock as nd, hashlib
nd.set_default_device("cpu")
def normal(seed, shape):
    return nd.random.default_rng(seed).standard_normal(shape, dtype=nd.float32)
q, k, v, g = (normal(i, (2, 4, 150, 32)) for i in range(4))
out, lse = nd.nn.attention_with_logsumexp(q, k, v, is_causal=True)
all = [out, lse, *nd.nn.scaled_dot_product_attention_grad(g, q, k, v, out, lse, is_causal=True)]
all += nd.nn.layer_norm_grad(g, q, 32, q[0, 0, 0])
all += [nd.nn.cross_entropy(nd.reshape(q, (-1, 150)), nd.zeros((256,), dtype=nd.int64)), nd.nn.dropout(q, 0.1, key=nd.random.Key(1))]
print(hashlib.sha256(b"".join(bytes(memoryview(nd.asarray(a, copy=True))) for a in all)).hexdigest())
"""


def test_bits_do_not_depend_on_threads():
    digests = {n: subprocess.run([sys.executable, "-c", THREADS], env={**os.environ, "NDOCK_NUM_THREADS": n}, capture_output=True, text=True,
                                 check=True).stdout for n in ("1", "2", "5")}
    assert len(set(digests.values())) == 1, digests


# ---- rope ----

def turned(x, c, s, layout):
    """x (b, h, t, d), or (b, t, h, d) for "thd"."""
    r = np.zeros_like(x)
    half = x.shape[-1] // 2
    for i in np.ndindex(x.shape[:-1]):
        t = i[-2] if layout == "thd" else i[-1]
        for j in range(half):
            one, two = (2 * j, 2 * j + 1) if layout == "interleaved" else (j, j + half)
            cosine, sine = (c[i[0], t, j], s[i[0], t, j]) if c.ndim == 3 else (c[t, j], s[t, j])
            r[i + (one,)] = x[i + (one,)] * cosine - x[i + (two,)] * sine
            r[i + (two,)] = x[i + (one,)] * sine + x[i + (two,)] * cosine
    return r


@cases(*[(device, layout) for device in DEVICES for layout in ("half", "interleaved", "thd")])
def test_rope(device, layout):
    rng = np.random.default_rng(5)
    for dtype in FLOATS:
        for b, h, t, d in ((2, 3, 4, 6), (1, 1, 1, 2), (1, 2, 5, 600), (0, 2, 3, 4)):
            x, x64 = given(rng, (b, t, h, d) if layout == "thd" else (b, h, t, d), dtype, device)
            for shape in ((t, d // 2), (b, t, d // 2)):
                (c, c64), (s, s64) = given(rng, shape, dtype, device), given(rng, shape, dtype, device)
                near(nd.nn.rope(x, c, s, layout=layout), turned(x64, c64, s64, layout), dtype, 4)
                near(nd.nn.rope_grad(x, c, s, layout=layout), turned(x64, c64, -s64, layout), dtype, 4)


# ---- dropout ----

@cases(*DEVICES)
def test_dropout(device):
    rng = np.random.default_rng(6)
    key = nd.random.Key(2 ** 63 + 12345, 2 ** 64 - 2)
    for dtype in FLOATS:
        for shape in ((5,), (3, 70), (2, 3, 50), (), (0, 4), (20000,)):
            x, x64 = given(rng, shape, dtype, device)
            got = nd.nn.dropout(x, 0.25, key=key)
            near(got, np.where(kept(shape, 0.25, key), x64 / 0.75, 0), dtype)
    ones = nd.ones((1000,), device=device)
    assert nd.nn.dropout(ones, 0.0).tolist() == ones.tolist()
    assert nd.nn.dropout(ones, 0.5, key=key).tolist() == nd.nn.dropout(nd.ones((1000,)), 0.5, key=key).tolist()


# ---- embedding, experts ----

@cases(*DEVICES)
def test_embedding(device):
    rng = np.random.default_rng(7)
    for dtype in FLOATS:
        w, w64 = given(rng, (6, 3), dtype, device)
        at = rng.integers(0, 6, (4, 5))
        indices = nd.asarray(at, device=device)
        near(nd.nn.embedding(indices, w), w64[at], dtype, 0)
        g, g64 = given(rng, (4, 5, 3), dtype, device)
        for padding in (None, 2, -1):
            want = np.zeros((6, 3))
            for i in np.ndindex(at.shape):
                if padding is None or at[i] != padding % 6:
                    want[at[i]] += g64[i]
            near(nd.nn.embedding_grad(g, indices, 6, padding), want, dtype, 4)
    with raises(IndexError):
        nd.nn.embedding(nd.asarray([6], device=device), nd.zeros((6, 3), device=device)).tolist()


@cases(*DEVICES)
def test_mixture_of_experts(device):
    rng = np.random.default_rng(8)
    for dtype in FLOATS:
        for tokens, top, experts, n, k in ((7, 2, 4, 5, 6), (1, 1, 3, 2, 2), (0, 2, 3, 4, 5), (9, 3, 3, 8, 16)):
            x, x64 = given(rng, (tokens, k), dtype, device)
            w, w64 = given(rng, (experts, n, k), dtype, device)
            s, s64 = given(rng, (tokens, top), dtype, device)
            e = rng.integers(0, experts, (tokens, top))
            for scales, by in ((None, np.ones((tokens, top))), (s, s64)):
                want = np.zeros((tokens, n))
                for t in range(tokens):
                    for i in range(top):
                        want[t] += by[t, i] * (w64[e[t, i]] @ x64[t])
                near(nd.nn.moe(x, w, nd.asarray(e, device=device), scales), want, dtype, 8 * math.sqrt(k))
    with raises(IndexError, "expert 4"):
        nd.nn.moe(nd.zeros((1, 2)), nd.zeros((4, 2, 2)), nd.asarray([[4]]))


def test_errors():
    x = nd.zeros((1, 2, 3, 4))
    with raises(ValueError, "do not fit"):
        nd.nn.scaled_dot_product_attention(x, nd.zeros((1, 2, 3, 5)), x)
    with raises(ValueError, "do not fit"):
        nd.nn.scaled_dot_product_attention(nd.zeros((1, 3, 3, 4)), x, x)
    with raises(TypeError, "int64"):
        nd.nn.scaled_dot_product_attention(x, x, nd.zeros((1, 2, 3, 4), dtype=nd.int64))
    with raises(ValueError, "key"):
        nd.nn.scaled_dot_product_attention(x, x, x, None, 0.5)
    with raises(ValueError, "dropout 1"):
        nd.nn.scaled_dot_product_attention(x, x, x, None, 1.0, dropout_key=nd.random.Key(1))
    with raises(ValueError, "is_causal"):
        nd.nn.scaled_dot_product_attention(x, x, x, None, 0.0, "middle")
    with raises(ValueError, "scaled_dot_product_attention"):
        nd.nn.scaled_dot_product_attention(x, x, x, nd.zeros((4, 4)))
    with raises(ValueError, "even"):
        nd.nn.rope(nd.zeros((1, 2, 3)), nd.zeros((2, 1)), nd.zeros((2, 1)))
    with raises(ValueError, "layout"):
        nd.nn.rope(x, nd.zeros((3, 2)), nd.zeros((3, 2)), layout="quarter")
    with raises(ValueError, "rope"):
        nd.nn.rope(x, nd.zeros((2, 2)), nd.zeros((3, 2)))
    with raises(ValueError, "[0, 1)"):
        nd.nn.dropout(x, 1.0, key=nd.random.Key(1))
    with raises(ValueError, "key"):
        nd.nn.dropout(x, 0.5)
    with raises(ValueError, "embedding_grad"):
        nd.nn.embedding_grad(nd.zeros((2, 3)), nd.asarray([0]), 3)
    with raises(TypeError, "float64"):
        nd.nn.embedding(nd.zeros((2,)), x)


if __name__ == "__main__":
    main(globals())
