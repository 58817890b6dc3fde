# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arrays in files: .npy, IDX (also gzip), safetensors, and raw bytes.

Paths are str, bytes or os.PathLike. Readers check every size against the file before they allocate; a malformed file is a
ValueError, a failed system call an OSError with errno in `native`. Writers write a temporary file beside the target and
rename it: the target is whole or untouched. All of them wait, and give the GIL away."""
from __future__ import annotations

from . import _ndock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from os import PathLike

    from ._types import Array, DeviceLike, DTypeLike, Optional, Sequence, Shape, Union

    Path = Union[str, bytes, PathLike[str], PathLike[bytes]]

__all__ = ["from_file", "load", "load_metadata", "save"]


def save(file: Path, x: Union[Array, dict[str, Array]], /, *, metadata: Optional[dict[str, str]] = None,
         sync: bool = False) -> None:
    """Write an Array as .npy (bfloat16 as V2, which NumPy reads as opaque), or a dict of them as safetensors, there with
    metadata. sync: fsync file and folder before returning.

    Errors: OSError for a failed system call, ValueError for a malformed file.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "x.npy")
    >>> nd.save(path, nd.asarray([1, 2]))
    >>> nd.load(path)
    array([1, 2], dtype=int64, device='cpu:0')
    """
    if isinstance(x, _ndock.Array):
        if metadata is not None:
            raise ValueError("save(): only safetensors files, of a dict of arrays, have metadata")
        _ndock._npy_save(file, x, sync)
    else:
        pairs = [text for pair in (metadata or {}).items() for text in pair]
        _ndock._safetensors_save(file, tuple(x), tuple(x.values()), tuple(pairs), sync)


def load(file: Path, /, *, device: Optional[DeviceLike] = None, dtype: Optional[DTypeLike] = None,
         names: Optional[Sequence[str]] = None) -> Union[Array, dict[str, Array]]:
    """Read a file whose first bytes say what it is: .npy and IDX give an Array, safetensors a dict of them. dtype: what a
    .npy file's opaque elements (V2) are. names: only these arrays of a safetensors file (IndexError if one is missing).

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "x.npy")
    >>> nd.save(path, nd.asarray([1, 2]))
    >>> nd.load(path)
    array([1, 2], dtype=int64, device='cpu:0')
    """
    with open(file, "rb") as f:
        head = f.read(9)
    if head[:6] == b"\x93NUMPY":
        return _ndock._npy_load(file, dtype, device)
    if head[:2] in (b"\x1f\x8b", b"\0\0"):
        return _ndock._idx_load(file, device)
    if head[8:9] == b"{":
        return _ndock._safetensors_load(file, None if names is None else tuple(names), device)
    raise ValueError(f"load(): {file!r} is neither .npy, IDX nor safetensors: it begins with {head!r}; from_file with a "
                     "dtype reads raw bytes")


def load_metadata(file: Path, key: str, /) -> Optional[str]:
    """The text that a safetensors file has for the key; None if there is none.

    Errors: OSError for a failed system call, ValueError for a malformed file.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "x.safetensors")
    >>> nd.save(path, {"w": nd.ones(2)}, metadata={"step": "7"})
    >>> nd.load_metadata(path, "step")
    '7'
    """
    return _ndock._safetensors_metadata(file, key)


def from_file(file: Path, /, dtype: Optional[DTypeLike] = None, shape: Optional[Shape] = None, *, offset: int = 0,
              device: Optional[DeviceLike] = None) -> Union[Array, dict[str, Array]]:
    """Without a dtype: load. With one: the file's raw bytes from offset on, in the host's byte order, dense in C order in
    that shape (by default one dimension up to the end). ValueError where they are too few.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "raw")
    >>> with open(path, "wb") as f:
    ...      n = f.write(bytes([1, 2, 3]))
    >>> nd.from_file(path, nd.uint8)
    array([1, 2, 3], dtype=uint8, device='cpu:0')
    """
    if dtype is None:
        if shape is not None or offset:
            raise ValueError("from_file(): shape and offset go with a dtype, for raw bytes")
        return load(file, device=device)
    own = _ndock.result_type(dtype)
    with open(file, "rb") as f:
        f.seek(offset)
        data = f.read()
    if shape is None:
        shape = (len(data) // own.itemsize,)
    return _ndock._from_bytes(data, own, shape, device)
