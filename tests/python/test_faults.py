# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operations of many steps, any of which has no memory: they fail with MemoryError and nothing else, or are computed. Processes of
their own, in which one allocation in ten or in thirty fails (NDOCK_HOOK=fault), call them again and again."""
import os
import subprocess
import sys

from tap import cases, main

ROUNDS = 4 if os.environ.get("NDOCK_TEST_SLICE") else 12
CALLS = """
bincount(i); bincount(i, weights=w); histogram(v, bins='auto'); histogram(v, bins='fd'); histogram(v, bins='doane'); histogram(v, bins='scott')
histogram(v, weights=w); digitize(v, nd.sort(w)); histogram2d(v, w); diff(m, n=2); gradient(v, w); trapezoid(v, w); interp(w, nd.sort(w), w)
allclose(v, v); array_equal(v, v, equal_nan=True); insert(v, 3, 1.0); insert(v, i[:3], v[:3]); delete(v, i); einsum('ij,ij->i', m, m)
einsum('ii->i', d); einsum('ij,jk,kl->il', d, d, d); pad(m, 2, mode='reflect'); quantile(m, 0.3, axis=1); nanmedian(m); nanargmax(m, axis=0)
roots(v[:5]); convolve(v, w); unique(i); unique(m, axis=0); intersect1d(i, i); setxor1d(i, i); isin(i, i); cov(m); average(v, weights=w)
repeat(v, i); roll(m, 2); tile(m, (2, 2)); partition(v, 3); topk(v, 3); lexsort((v, w)); ravel_multi_index((i, i), (10, 10)); unravel_index(i, (3, 4))
fft.rfft2(m); fft.dctn(m); fft.dst(m, type=1); fft.dct(m, type=3); fft.dct(m, type=4)
linalg.inv(d); linalg.pinv(d); linalg.expm(d); linalg.lstsq(d, d); linalg.cond(d); linalg.matrix_power(d, 3); linalg.multi_dot([d, d, d])
nn.batch_norm(x, c, c, c, c); nn.group_norm(x, 3); nn.layer_norm(m, 7); nn.scaled_dot_product_attention(q, q, q, is_causal=True)
nn.interpolate(x, scale_factor=2); nn.unfold(x, 3); nn.cross_entropy(m, i[:6] % 7); nn.nll_loss(m, i[:6] % 7); nn.embedding(i % 6, m)
nn.ctc_loss(nd.log_softmax(nd.ones((7, 2, 5), dtype=nd.float32), axis=-1), nd.asarray([[1, 2], [2, 3]]), nd.asarray([7, 7]), nd.asarray([2, 2]))
r.choice(v, 5); r.choice(v, 5, replace=False); r.choice(9, 5, p=nd.ones(9) / 9); r.choice(9, 5, p=nd.ones(9) / 9, replace=False)
r.permutation(v); r.multinomial(9, nd.ones(4) / 4); r.multivariate_normal(nd.zeros(5), nd.eye(5)); r.dirichlet(w[:4] + 1); r.gamma(w + 1)
"""


def operands(nd):
    """Made without hurry: any of these may fail as well."""
    while True:
        try:
            r = nd.random.default_rng(1)
            return {"v": r.standard_normal(40, dtype=nd.float32), "m": r.standard_normal((6, 7), dtype=nd.float32), "d": r.standard_normal((5, 5)),
                    "i": r.integers(0, 9, 40), "w": r.random(40), "x": r.standard_normal((2, 3, 8, 8), dtype=nd.float32),
                    "c": r.random(3, dtype=nd.float32) + 1, "q": r.standard_normal((1, 2, 9, 8), dtype=nd.float32), "r": r, "nd": nd}
        except MemoryError:
            continue


def child():
    import ndock as nd
    nd.set_default_device("cpu")
    names, done, failed = operands(nd), 0, 0
    for call in CALLS.replace("\n", ";").split(";"):
        call = call.strip()
        if not call:
            continue
        print(call, flush=True)  # the last one is where the process ended
        code = compile(call if call.startswith("r.") else "nd." + call, call, "eval")
        for _ in range(ROUNDS):
            try:
                eval(code, names)
                done += 1
            except MemoryError:
                failed += 1
    print(f"computed {done > 100}, failed {failed > 30}")


def last_line(**more):
    """How the child ended, and what it said last."""
    p = subprocess.run([sys.executable, "-B", __file__, "--child"], env=dict(os.environ, **more), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                       text=True, errors="replace")
    return p.returncode, (p.stdout.strip().splitlines() or [""])[-1]


@cases((0.1, 1), (0.1, 2), (0.03, 3), (0.03, 4))
def test_some_allocations_fail(chance, seed):
    end = last_line(NDOCK_HOOK="fault", NDOCK_HOOK_SEED=str(seed), NDOCK_HOOK_FAULT=f"cpu/alloc:*:{chance}=MEMORY", NDOCK_NO_CACHE="1", NDOCK_LOG="off")
    assert end == (0, "computed True, failed True"), end


def test_every_call_is_one_that_can_succeed():
    end = last_line(NDOCK_HOOK="")
    assert end == (0, "computed True, failed False"), end


if __name__ == "__main__":
    if "--child" in sys.argv:
        child()
    else:
        main(globals())
