# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is kept of compiled kernels for the next time, and kernels made ready ahead of time."""
from __future__ import annotations

from . import _ndock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from ._types import Any, DeviceLike, DTypeLike, Optional, Union

__all__ = ["kernel_cache", "warmup"]


class KernelCache:
    """Kernels that were compiled at run time, in memory and in files that all processes of a user share: nd.kernel_cache.

    The folder is NDOCK_KERNEL_CACHE_DIR, else $XDG_CACHE_HOME/ndock/kernels, else ~/.cache/ndock/kernels; NDOCK_KERNEL_CACHE=0 keeps
    nothing in files; NDOCK_KERNEL_CACHE_MAX_MB (512) is the most that they take, the least recently used first to go. A file's checksum
    is looked at before anything of it is used; damaged ones are removed and made again. Folders and files of other users, or that
    everybody may write, are ignored. A folder that cannot be written, or is full, costs compiling again, and no error. The command
    `ndock cache` shows and clears the folder. Any thread may use any of it.

    >>> sorted(nd.kernel_cache.info())[:3]
    ['compiles', 'dir', 'disk_bytes']
    """

    __slots__ = ()

    @property
    def dir(self) -> str:
        """The folder; "" where kernels are kept in memory alone."""
        found: str = self.info()["dir"]
        return found

    def info(self) -> dict[str, Any]:
        """Numbers of this process: memory_hits, disk_hits, misses; compiles and, of these, failures; stored, dropped (found damaged),
        evicted; memory_entries, memory_bytes. Of the folder: dir, writable, disk_entries, disk_bytes, max_bytes."""
        found: dict[str, Any] = _ndock._kernel_cache_info()
        return found

    def clear(self) -> None:
        """Remove every kernel, in memory and in files; those in use stay usable. OSError names a file that cannot be removed."""
        _ndock._kernel_cache_clear()

    def __repr__(self) -> str:
        s = self.info()
        return f"<kernel cache {s['dir'] or 'in memory'}: {s['disk_entries']} files, {s['disk_bytes']} bytes>"


kernel_cache = KernelCache()


def warmup(ops: Union[str, Iterable[str]], dtypes: Union[DTypeLike, Iterable[DTypeLike]] = "float32",
           device: Optional[DeviceLike] = None) -> dict[tuple[str, str], bool]:
    """Look up, and so load or compile, the device's kernels for operations ahead of time: before timing, or before a stream
    is captured. Waits for what is compiled.

    ops: names of operations of ndock, as "add" or "matmul"; dtypes: a dtype or several; device: None is the current one.
    Returns, for each (name, dtype's name), whether the device has all kernels that calls need: where not, the CPU will serve
    some calls, or the operation is not defined for the dtype. Errors: ValueError for what is no operation.

    >>> nd.warmup(["add", "exp"], nd.float32, device="cpu")
    {('add', 'float32'): True, ('exp', 'float32'): True}
    """
    names = (ops,) if isinstance(ops, str) else tuple(ops)
    kinds = tuple(dtypes) if isinstance(dtypes, (list, tuple)) else (dtypes,)
    kinds = tuple([_ndock.result_type(d) for d in kinds])
    statuses = _ndock._warmup(names, kinds, device)
    pairs = [(n, d.name) for n in names for d in kinds]
    return {pair: status == 0 for pair, status in zip(pairs, statuses)}
