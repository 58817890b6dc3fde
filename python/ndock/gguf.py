# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""GGUF files: named tensors, plain or quantised, and typed metadata."""
from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping

from . import _ndock
from ._quantized import QuantArray

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._files import Path
    from ._types import Any, Array, DeviceLike, Optional, Sequence, Union

__all__ = ["GgufFile", "save"]

# The numbers of types, and how struct packs them.
_TYPES = {"uint8": (0, "B"), "int8": (1, "b"), "uint16": (2, "H"), "int16": (3, "h"), "uint32": (4, "I"), "int32": (5, "i"),
          "float32": (6, "f"), "bool": (7, "?"), "str": (8, ""), "uint64": (10, "Q"), "int64": (11, "q"), "float64": (12, "d")}
_ARRAY = 9


class GgufFile(Mapping[str, "Union[Array, QuantArray]"]):
    """The tensors of a GGUF file by name: an Array for plain ones, a QuantArray for quantised ones; what ndock.load gives for such
    a file. On devices that use host memory they are the file itself, mapped and read-only.

    Attributes: metadata (a dict; arrays are lists), types (of metadata, "uint32", "str[]" ...), shapes (of tensors), formats (their
    dtypes or quantised formats). Errors: KeyError names tensors there are not; ValueError for a malformed file with the byte at
    fault, and after close()."""

    def __init__(self, file: Path, *, device: Optional[DeviceLike] = None) -> None:
        self._file: Any = _ndock._gguf_open(file)
        self.metadata: dict[str, Any]
        self.types: dict[str, str]
        self.metadata, self.types = _ndock._gguf_metadata(self._file)
        self.shapes: dict[str, tuple[int, ...]] = {}
        self.formats: dict[str, str] = {}
        self._quantised: set[str] = set()
        for name, shape, kind, quantised in _ndock._gguf_tensors(self._file):
            self.shapes[name], self.formats[name] = shape, kind
            if quantised:
                self._quantised.add(name)
        self._path, self._device = file, device

    def __getitem__(self, name: str, /) -> Union[Array, QuantArray]:
        if self._file is None:
            raise ValueError(f"the file {self._path!r} is closed")
        if name not in self.shapes:
            some = ", ".join(map(repr, list(self.shapes)[:8])) + (", ..." if len(self.shapes) > 8 else "")
            raise KeyError(f"{self._path!r} has no tensor {name!r}; there are {some or 'none'}")
        quantised = name in self._quantised
        array = _ndock._gguf_load(self._file, name, quantised, self._device)
        return QuantArray(array, self.formats[name]) if quantised else array

    def __iter__(self) -> Iterator[str]:
        return iter(self.shapes)

    def __len__(self) -> int:
        return len(self.shapes)

    def close(self) -> None:
        """End the file; arrays that were read stay."""
        self._file = None

    def __enter__(self) -> GgufFile:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"GgufFile {self._path!r} with {len(self)} tensors and {len(self.metadata)} keys"


def _type_of(value: Any) -> str:
    """The type in which a value of metadata is written where nothing else is said."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        for name, low, high in (("uint32", 0, 2**32), ("int32", -2**31, 2**31), ("uint64", 0, 2**64), ("int64", -2**63, 2**63)):
            if low <= value < high:
                return name
        raise OverflowError(f"save_gguf(): {value} takes more than 64 bits")
    if isinstance(value, float):
        return "float64"
    if isinstance(value, str):
        return "str"
    raise TypeError(f"save_gguf(): metadata are bool, int, float, str and lists of one of them, not {type(value).__name__}")


def _pack(kind: str, values: Sequence[Any]) -> bytes:
    if kind == "str":
        texts = [v.encode("utf-8", "surrogateescape") for v in values]
        return b"".join(struct.pack("<Q", len(t)) + t for t in texts)
    try:
        return struct.pack(f"<{len(values)}{_TYPES[kind][1]}", *values)
    except struct.error as e:
        raise ValueError(f"save_gguf(): a value of metadata is no {kind}: {e}") from None


def _pair(key: str, value: Any, kind: Optional[str]) -> tuple[str, int, int, int, bytes]:
    items = isinstance(value, (list, tuple))
    if kind is None:
        kinds = [_type_of(v) for v in value] if items else [_type_of(value)]
        ints = [k for k in ("int64", "uint64", "int32", "uint32") if k in kinds]
        mixed = {k for k in kinds if k not in ints}
        if len(mixed) + bool(ints) > 1:
            raise TypeError(f"save_gguf(): the list {key!r} has values of different types: {', '.join(sorted(set(kinds)))}")
        kind = mixed.pop() if mixed else ints[0] if ints else "uint32"
        if len(set(ints)) > 1:
            kind = "int64"
    elif kind.endswith("[]") != items or kind.removesuffix("[]") not in _TYPES:
        raise ValueError(f"save_gguf(): the type {kind!r} of {key!r} is not one of {', '.join(_TYPES)}, with [] for lists")
    kind = kind.removesuffix("[]")
    number = _TYPES[kind][0]
    if items:
        return key, _ARRAY, number, len(value), _pack(kind, value)
    if kind == "str":
        return key, number, 0, 1, value.encode("utf-8", "surrogateescape")
    return key, number, 0, 1, _pack(kind, [value])


def save(file: Path, tensors: Mapping[str, Union[Array, QuantArray]], /, *, metadata: Optional[Mapping[str, Any]] = None,
         types: Optional[Mapping[str, str]] = None, sync: bool = False) -> None:
    """Write tensors and metadata as GGUF version 3, in the order given.

    tensors: Arrays of float32, float16, bfloat16, float64 and int8 to int64, and QuantArrays, of at most four axes, by name.
    metadata: bool, int, float, str, and lists of one of them, by key; types: their types ("uint32", "float32", "str[]" ...; what
    GgufFile.types says) where they are not to be bool, the first of uint32, int32, uint64 and int64 that fits, float64, str.
    sync: fsync file and folder before returning. Also ndock.save_gguf.
    Errors: OSError for a failed system call; ValueError, TypeError, OverflowError for what GGUF lacks.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "x.gguf")
    >>> nd.save_gguf(path, {"w": nd.quantize(nd.ones((2, 32)), "q8_0"), "b": nd.ones(2)}, metadata={"general.name": "tiny"})
    >>> with nd.load(path) as f:
    ...     print(f.metadata, f.formats, f["b"])
    {'general.name': 'tiny'} {'w': 'q8_0', 'b': 'float64'} [1. 1.]
    """
    items = tuple((name, x.blocks, x.format) if isinstance(x, QuantArray) else (name, x, None) for name, x in tensors.items())
    kinds = types or {}
    pairs = tuple(_pair(key, value, kinds.get(key)) for key, value in (metadata or {}).items())
    _ndock._gguf_save(file, items, pairs, sync)
