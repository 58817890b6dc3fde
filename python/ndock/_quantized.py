# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Quantised arrays: rows of elements kept as blocks of bytes in one of ggml's formats (q4_0, q4_K ...)."""
from __future__ import annotations

from . import _ndock
from ._creation import asarray

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._types import Any, Array, ArrayLike, Device, DeviceLike, DTypeLike, Optional, Union

__all__ = ["QuantArray", "dequantize", "embedding_q", "matmul_q", "quantize"]


class QuantArray:
    """Quantised elements: an Array of blocks (uint8, the last axis whole blocks of bytes) with a format, one of q4_0, q4_1, q5_0,
    q5_1, q8_0, q8_1, q2_K, q3_K, q4_K, q5_K, q6_K and iq4_nl. The blocks are not copied. What quantize and files give.

    Attributes: blocks, format, shape (in elements), ndim, size, device, nbytes (of the blocks). q[key] is a view along all axes but
    the last, whose elements are in blocks. Errors: ValueError for an unknown format and for rows that are no whole blocks.

    >>> q = nd.quantize(nd.ones((3, 64)), "q8_0")
    >>> q, q[1:].shape, q.nbytes
    (QuantArray(shape=(3, 64), format='q8_0', device='cpu:0'), (2, 64), 204)
    """

    __slots__ = ("blocks", "format", "shape")

    def __init__(self, blocks: Array, format: str) -> None:
        block, nbytes = _ndock._quant_block(format)
        if blocks.dtype != _ndock.uint8 or blocks.ndim == 0 or blocks.shape[-1] % nbytes:
            raise ValueError(f"QuantArray(): blocks of {format} are uint8 with rows of whole blocks of {nbytes} bytes, not "
                             f"{blocks.dtype} of shape {blocks.shape}")
        self.blocks = blocks
        self.format = format
        self.shape: tuple[int, ...] = (*blocks.shape[:-1], blocks.shape[-1] // nbytes * block)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        n = 1
        for extent in self.shape:
            n *= extent
        return n

    @property
    def nbytes(self) -> int:
        return self.blocks.size

    @property
    def device(self) -> Device:
        return self.blocks.device

    def to_device(self, device: DeviceLike, /) -> QuantArray:
        """The same on the device; itself where it is there already."""
        moved = self.blocks.to_device(device)
        return self if moved is self.blocks else QuantArray(moved, self.format)

    def __getitem__(self, key: Any, /) -> QuantArray:
        keys = key if isinstance(key, tuple) else (key,)
        used = 0
        for i, k in enumerate(keys):
            if k is Ellipsis and i == len(keys) - 1:
                break
            if k is not None and not isinstance(k, (int, slice)):
                raise IndexError("quantised arrays are indexed by ints and slices; embedding_q takes rows")
            used += k is not None
        if used >= self.ndim:
            raise IndexError("quantised arrays are sliced along all but their last axis, whose elements are in blocks; dequantize "
                             "gives elements")
        return QuantArray(self.blocks[keys], self.format)

    def __len__(self) -> int:
        if self.ndim < 2:
            raise TypeError("len() of a single quantised row")
        return self.shape[0]

    def __repr__(self) -> str:
        return f"QuantArray(shape={self.shape}, format={self.format!r}, device={str(self.device)!r})"


def quantize(x: ArrayLike, /, format: str) -> QuantArray:
    """Quantise floats in "q4_0", "q8_0", "q4_K" or "q6_K", by the algorithms of ggml's reference implementation on x as float32.

    x: an array of floats whose last extent is a multiple of the format's block (32 elements; 256 for q4_K and q6_K).
    Errors: ValueError for a format that there is not or a last extent that does not fit, TypeError for other dtypes,
    NotImplementedError for formats that are only read.

    >>> nd.dequantize(nd.quantize(nd.asarray([[1.0, -127.0] * 16]), "q8_0"))[0, :3]
    array([   1., -127.,    1.], dtype=float32, device='cpu:0')
    """
    own = x if isinstance(x, _ndock.Array) else asarray(x)
    return QuantArray(_ndock._quantize(own, format), format.lower().replace("_k", "_K"))


def dequantize(q: QuantArray, /, *, dtype: Optional[DTypeLike] = None) -> Array:
    """The elements of a quantised array: scale*code, or scale*code + minimum, computed in float32 and, bit for bit, what the PyPI
    package gguf gives.

    q: a QuantArray. dtype: float32 (None), float16, bfloat16 or float64.

    >>> nd.dequantize(nd.quantize(nd.zeros(32), "q4_0"), dtype=nd.float16).dtype
    ndock.float16
    """
    return _ndock._dequantize(q.blocks, q.format, dtype)


def matmul_q(x: Array, w: QuantArray, /) -> Array:
    """x (..., n) times the transpose of the quantised matrix w (r, n): (..., r) of x's dtype, float32, float16 or bfloat16.

    Rows of x are rounded to 8 bits in blocks of 32, as ggml does, so that products are sums of integers; nothing of w is
    dequantised in memory. Errors: ValueError for shapes that do not fit, TypeError for other dtypes.

    >>> w = nd.quantize(nd.ones((2, 32)), "q8_0")
    >>> nd.matmul_q(nd.ones((1, 32), dtype=nd.float32), w)
    array([[31.998047, 31.998047]], dtype=float32, device='cpu:0')
    """
    return _ndock._matmul_q(x, w.blocks, w.format)


def embedding_q(w: QuantArray, indices: Union[Array, ArrayLike], /, *, dtype: Optional[DTypeLike] = None) -> Array:
    """Rows of the quantised matrix w by indices of any shape, dequantised: indices' shape with a row's elements at its end.
    dtype: as for dequantize. Errors: IndexError for indices out of range.

    >>> w = nd.quantize(nd.asarray([[0.0] * 32, [127.0] * 32]), "q8_0")
    >>> nd.embedding_q(w, [1, 0])[:, 0]
    array([127.,   0.], dtype=float32, device='cpu:0')
    """
    own = indices if isinstance(indices, _ndock.Array) else asarray(indices, device=w.device)
    return _ndock._embedding_q(w.blocks, w.format, own, dtype)
