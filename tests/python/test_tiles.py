#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows and tiles, whole and not, against NumPy: triangles and choices by a mask that stands for many rows, sums with a row, a column or a
transposed matrix, copies with other axes innermost."""
import ndock as nd
from arrays import DEVICES, from_numpy, host, np, same
from tap import cases, main

rng = np.random.default_rng(21)
DTYPES = ("float32", "float64", "float16", "int8", "int32", "bool", "complex64", "complex128")
SIDES = ((64, 64), (130, 257), (1, 300), (300, 1), (37, 1024), (128, 200))


def numbers(dtype, *shape):
    x = rng.integers(-4, 5, shape)
    return (x + 1j * rng.integers(-4, 5, shape) if dtype.startswith("complex") else x).astype(dtype)


@cases(*DEVICES)
def test_triangles(device):
    for dtype in DTYPES:
        for m, n in SIDES:
            x = numbers(dtype, 2, m, n)
            a, turned = from_numpy(x, device), from_numpy(x.swapaxes(1, 2), device)
            for k in (0, 3, -5, 400):
                same(nd.tril(a, k=k), np.tril(x, k))
                same(nd.triu(a, k=k), np.triu(x, k))
                same(nd.triu(turned.mT, k=k), np.triu(x, k))


@cases(*DEVICES)
def test_triangles_leave_out_what_they_do_not_keep(device):
    x = np.full((130, 132), np.nan, "float32")
    x[np.tril_indices(130, 1, 132)] = 2
    assert host(nd.tril(from_numpy(x, device), k=1)).sum() == 2 * np.isfinite(x).sum()


@cases(*DEVICES)
def test_choices_by_few_masks(device):
    for dtype in ("float32", "float64", "float16", "int8", "complex128"):
        for m, n in SIDES:
            x, y = numbers(dtype, 17, m, n), numbers(dtype, 17, m, n)
            a, b = from_numpy(x, device), from_numpy(y, device)
            for mask in (rng.random((m, 1)) < 0.5, rng.random((1, n)) < 0.5, rng.random((m, n)) < 0.5, np.ones((m, 1), bool)):
                keep = from_numpy(mask, device)
                same(nd.where(keep, a, b), np.where(mask, x, y))
                same(nd.where(keep[:, :1], a[..., : n - 1], b[..., 1:]), np.where(mask[:, :1], x[..., :-1], y[..., 1:]))


@cases(*DEVICES)
def test_sums_with_a_row_or_column(device):
    for dtype in DTYPES:
        if dtype == "bool":
            continue
        for m, n in SIDES:
            x, y = numbers(dtype, 2, m, n), numbers(dtype, 2, m, n)
            a, b = from_numpy(x, device), from_numpy(y, device)
            same(a + b[:, :, :1], x + y[:, :, :1])
            same(b[:, :1] + a, y[:, :1] + x)
            same(a[:, None] * b[None, :, :, :1], x[:, None] * y[None, :, :, :1])
            same(a == b[:, :, :1], x == y[:, :, :1])
            same(a[..., 1:] + b[:, :, :1], x[..., 1:] + y[:, :, :1])


@cases(*DEVICES)
def test_sums_with_a_transposed_matrix(device):
    for dtype in DTYPES:
        if dtype == "bool":
            continue
        for m, n in SIDES:
            x, y, z = numbers(dtype, m, n), numbers(dtype, n, m), numbers(dtype, 3, m, n)
            a, b, c = from_numpy(x, device), from_numpy(y, device), from_numpy(z, device)
            same(a + b.T, x + y.T)
            same(b.T * a, y.T * x)
            same(a == b.T, x == y.T)
            same(c + b.T, z + y.T)
            same(nd.where(a == 1, b.T, a), np.where(x == 1, y.T, x))
            same(b.T + 1, y.T + np.ones((), dtype))


@cases(*DEVICES)
def test_copies_with_other_axes_innermost(device):
    for dtype in ("float32", "float64", "float16", "int8", "complex128"):
        for shape in ((3, 64, 5, 128), (64, 7, 12, 128), (65, 3, 33, 130), (16, 16, 64, 64)):
            x = numbers(dtype, *shape)
            a = from_numpy(x, device)
            for axes in ((3, 2, 1, 0), (0, 3, 1, 2), (2, 0, 3, 1), (1, 3, 0, 2), (3, 0, 2, 1)):
                same(nd.asarray(nd.permute_dims(a, axes), copy=True), x.transpose(axes))
            same(nd.asarray(nd.permute_dims(a[:, ::-1, :, 1:], (3, 2, 1, 0)), copy=True), x[:, ::-1, :, 1:].transpose(3, 2, 1, 0))


if __name__ == "__main__":
    main(globals())
