# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exchange with other libraries, without copies: the CUDA Array Interface, DLPack, addresses."""
from __future__ import annotations

from . import _ndock
from ._ndock import as_array, from_cai, from_dlpack
from ._sorting import _Fields, _field

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._types import Any, DeviceLike, Optional

__all__ = ["PointerInfo", "as_array", "cai_settings", "from_cai", "from_dlpack", "ptr_info"]

_POLICIES = ("stream", "none", "sync")  # from 1, as the library counts them


class PointerInfo(_Fields):
    """What is known of an address; addresses are 0 where the side does not see the memory.

    >>> nd.PointerInfo._fields[0]
    'device'
    """

    __slots__ = ()
    _fields = ("device", "managed", "host_accessible", "device_accessible", "device_address", "host_address", "base",
               "nbytes", "context")
    device = _field(0, "Whose memory it is, a Device.")
    managed = _field(1, "Whether it moves between host and device by itself.")
    host_accessible = _field(2, "Whether the host may touch it.")
    device_accessible = _field(3, "Whether the device may touch it.")
    device_address = _field(4, "The device's address.")
    host_address = _field(5, "The host's address.")
    base = _field(6, "Start of the allocation it lies in.")
    nbytes = _field(7, "Bytes of that; 0: unknown.")
    context = _field(8, "The driver's handle of the context; 0: none.")


def ptr_info(address: int, device: Optional[DeviceLike] = None) -> PointerInfo:
    """What `device`, or whichever device knows it, says of an address. ValueError for address 0.

    >>> nd.ptr_info(memoryview(nd.ones(2, device="cpu")).nbytes + (1 << 20)).managed
    False
    """
    return PointerInfo(_ndock._ptr_info(address, device))


def cai_settings(*, export: Optional[str] = None, sync: Optional[bool] = None,
                 check: Optional[bool] = None) -> dict[str, Any]:
    """Sets what is not None, for the whole process, and returns all settings as a dict.

    export: what `__cuda_array_interface__` says of pending work: "stream" names a stream that it
    lies behind (the default; NDOCK_CAI_EXPORT), "none" says nothing, "sync" waits and then says
    nothing, for consumers that ignore streams. sync: whether imports keep the order (True;
    NDOCK_CAI_SYNC). check: whether they are compared with the allocation that their address belongs
    to (False; NDOCK_CAI_CHECK).

    >>> nd.cai_settings()["export"]
    'stream'
    """
    if export is not None and export not in _POLICIES:
        raise ValueError(f"export is one of {', '.join(_POLICIES)}, not {export!r}")
    policy = _POLICIES.index(export) + 1 if export is not None else 0
    now = _ndock._cai_settings(policy, *(0 if on is None else 1 if on else 2 for on in (sync, check)))
    return {"export": _POLICIES[now[0] - 1], "sync": now[1] == 1, "check": now[2] == 1}
