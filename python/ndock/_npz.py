# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""An opened .npz archive. Read when the first one is opened, since it brings collections.abc."""
from __future__ import annotations

from collections.abc import Iterator, Mapping

from . import _ndock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._files import Path
    from ._types import Any, Array, DeviceLike, DTypeLike, Optional

__all__ = ["NpzFile"]


class NpzFile(Mapping[str, "Array"]):
    """The arrays of a .npz archive by name, each read when it is asked for, and anew every time; what ndock.load gives for
    such a file. Names go with and without ".npy". Errors: KeyError names the arrays there are; ValueError for damaged
    members, and after close()."""

    def __init__(self, file: Path, *, device: Optional[DeviceLike] = None, dtype: Optional[DTypeLike] = None) -> None:
        self._archive: Any
        self.files: list[str]
        self._archive, names = _ndock._npz_open(file)
        self.files = list(names)
        self._path, self._device, self._dtype = file, device, dtype

    def __getitem__(self, name: str, /) -> Array:
        archive = self._archive
        if archive is None:
            raise ValueError(f"the archive {self._path!r} is closed")
        if not isinstance(name, str):
            raise TypeError(f"names of arrays are str, not {type(name).__name__}")
        if name not in self:
            raise KeyError(f"{self._path!r} has no array {name!r}; there are {', '.join(map(repr, self.files)) or 'none'}")
        return _ndock._npz_load(archive, name, self._dtype, self._device)

    def __contains__(self, name: object) -> bool:
        return name in self.files or (isinstance(name, str) and name.endswith(".npy") and name[:-4] in self.files)

    def __iter__(self) -> Iterator[str]:
        return iter(self.files)

    def __len__(self) -> int:
        return len(self.files)

    def close(self) -> None:
        """End the archive; arrays that were read stay."""
        self._archive = None

    def __enter__(self) -> NpzFile:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"NpzFile {self._path!r} with {', '.join(self.files[:5])}{', ...' if len(self) > 5 else ''}"
