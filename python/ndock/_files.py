# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arrays in files: .npy, .npz, IDX (also gzip), safetensors, GGUF, and raw bytes.

Paths are str, bytes or os.PathLike. Readers check every size against the file before they allocate; a malformed file is a
ValueError, a failed system call an OSError with errno in `native`. Writers write a temporary file beside the target and
rename it: the target is whole or untouched. All of them wait, and give the GIL away."""
from __future__ import annotations

from . import _ndock
from ._creation import asarray

TYPE_CHECKING = False
if TYPE_CHECKING:
    from os import PathLike

    from ._npz import NpzFile
    from ._quantized import QuantArray
    from .gguf import GgufFile
    from ._types import Any, Array, ArrayLike, DeviceLike, DTypeLike, Mapping, Optional, Sequence, Shape, Union

    Path = Union[str, bytes, PathLike[str], PathLike[bytes]]

__all__ = ["from_file", "load", "load_metadata", "save", "save_gguf", "savez", "savez_compressed"]

MAP_MODES = {"r": 0, "r+": 1, "c": 2}  # ND_MAP_*


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


def _save_archive(file: Path, args: Sequence[ArrayLike], kwds: dict[str, ArrayLike], level: int) -> None:
    """Names are arr_0, arr_1, ..., and those of the keywords; a path without ".npz" gets it."""
    arrays = {f"arr_{i}": x for i, x in enumerate(args)}
    both = arrays.keys() & kwds.keys()
    if both:
        raise ValueError(f"savez(): the keyword {min(both)!r} is the name of an array without a keyword; choose another")
    arrays.update(kwds)
    if isinstance(file, str) and not file.endswith(".npz"):
        file += ".npz"
    own = [x if isinstance(x, _ndock.Array) else asarray(x) for x in arrays.values()]
    _ndock._npz_save(file, tuple(arrays), own, level, False)


def savez(file: Path, /, *args: ArrayLike, **kwds: ArrayLike) -> None:
    """Write arrays as a .npz archive, each as a .npy member as it is: those of kwds under their names, those of args as
    arr_0, arr_1, ... A file that is a str without ".npz" at its end gets it. NumPy reads the archive.

    Errors: OSError for a failed system call, ValueError for two arrays of one name and names with "..".

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "x.npz")
    >>> nd.savez(path, nd.asarray([1, 2]), b=nd.ones(2))
    >>> with nd.load(path) as arrays:
    ...     print(arrays.files, arrays["b"])
    ['arr_0', 'b'] [1. 1.]
    """
    _save_archive(file, args, kwds, 0)


def savez_compressed(file: Path, /, *args: ArrayLike, **kwds: ArrayLike) -> None:
    """savez(file, *args, **kwds) with deflated members. NotImplementedError where zlib (libz.so.1) is missing, with what
    to install.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "x.npz")
    >>> nd.savez_compressed(path, zeros=nd.zeros(100000))
    >>> os.path.getsize(path) < 2000
    True
    """
    _save_archive(file, args, kwds, 6)


def _map(file: Path, mode: str, device: Optional[DeviceLike], dtype: Optional[DTypeLike]) -> Array:
    if mode not in MAP_MODES:
        raise ValueError(f"load(): mmap_mode {mode!r}; there are 'r' (read-only), 'r+' (writes go into the file) and 'c' "
                         "(writes stay in memory)")
    return _ndock._npy_map(file, MAP_MODES[mode], dtype, device)


def load(file: Path, /, *, device: Optional[DeviceLike] = None, dtype: Optional[DTypeLike] = None,
         names: Optional[Sequence[str]] = None,
         mmap_mode: Optional[str] = None) -> Union[Array, dict[str, Array], GgufFile, NpzFile]:
    """Read a file whose first bytes say what it is: .npy and IDX give an Array, safetensors a dict of them, .npz a mapping
    that reads each array when it is asked for, with files, close() and `with`, like NumPy's NpzFile; GGUF a mapping
    likewise, with metadata (gguf.GgufFile). dtype: what opaque
    elements (V2) of .npy are. names: only these arrays of a safetensors file (IndexError if one is missing).

    mmap_mode: a .npy file as the array's memory, mapped and not read: "r" read-only, "r+" writes go into the file, "c" they
    stay in memory. ValueError for what would have to be converted (another byte order) and on devices that do not use host
    memory.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "x.npy")
    >>> nd.save(path, nd.asarray([1, 2]))
    >>> nd.load(path)
    array([1, 2], dtype=int64, device='cpu:0')
    >>> nd.load(path, mmap_mode="r")
    array([1, 2], dtype=int64, device='cpu:0')
    """
    with open(file, "rb") as f:
        head = f.read(9)
    if mmap_mode is not None and head[:6] != b"\x93NUMPY":
        raise ValueError(f"load(): only .npy files can be mapped; {file!r} begins with {head!r}")
    if head[:6] == b"\x93NUMPY":
        if mmap_mode is not None:
            return _map(file, mmap_mode, device, dtype)
        return _ndock._npy_load(file, dtype, device)
    if head[:4] in (b"PK\3\4", b"PK\5\6"):
        from ._npz import NpzFile
        return NpzFile(file, device=device, dtype=dtype)
    if head[:2] in (b"\x1f\x8b", b"\0\0"):
        return _ndock._idx_load(file, device)
    if head[:4] == b"GGUF":
        from .gguf import GgufFile
        return GgufFile(file, device=device)
    if head[8:9] == b"{":
        return _ndock._safetensors_load(file, None if names is None else tuple(names), device)
    raise ValueError(f"load(): {file!r} is neither .npy, .npz, IDX, safetensors nor GGUF: it begins with {head!r}; from_file with a "
                     "dtype reads raw bytes")


def save_gguf(file: Path, tensors: Mapping[str, Union[Array, QuantArray]], /, *, metadata: Optional[Mapping[str, Any]] = None,
              types: Optional[Mapping[str, str]] = None, sync: bool = False) -> None:
    """Write Arrays and QuantArrays by name as a GGUF file: gguf.save, which says which dtypes and types there are.

    file: a path. tensors: arrays by name. metadata: values by key; types: how they are written, by key. sync: fsync file and folder
    before returning.
    Errors: OSError for a failed system call; ValueError, TypeError, OverflowError for what GGUF lacks.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "x.gguf")
    >>> nd.save_gguf(path, {"w": nd.ones((2, 3))}, metadata={"layers": 2})
    >>> nd.load(path)["w"].shape
    (2, 3)
    """
    from .gguf import save as write
    write(file, tensors, metadata=metadata, types=types, sync=sync)


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
              device: Optional[DeviceLike] = None) -> Union[Array, dict[str, Array], GgufFile, NpzFile]:
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
