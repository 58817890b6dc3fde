# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Math modes: what matrix products may trade for speed, and what really runs. TF32 is off unless it is asked for.

A setting is looked up for (plug-in, op), then (any plug-in, op), (plug-in, any op), and last for everything; at each
level a value of the thread (mode) hides the process's (set_mode). It counts when an operation is called.

    setting            values, the default first
    f32_matmul         ieee, tf32 (operands rounded to 10 bits of fraction), bf16x9
    f16_reduction      off, on: partial sums of a split k in float16
    f16_split_k        on, off: k may be split
    bf16_reduction     off, on
    bf16_split_k       on, off
    f16_accumulate     f32, f16: sums of float16 products
    f64_matmul         native, emulated
    fp8_fast           off, on: sums of float8 products may lose bits
    deterministic      off, on: the same bits run to run
    strict             off, on: a setting that the device lacks is an error
"""
from __future__ import annotations

from . import _ndock
from ._device import _Guard

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any, Sequence

    from ._device import DeviceLike

__all__ = ["allow_tf32", "effective_precision", "fp32_precision", "get_mode", "matmul_precision", "mode",
           "set_allow_tf32", "set_fp32_precision", "set_matmul_precision", "set_mode"]

_SETTINGS = ("f32_matmul", "f16_reduction", "f16_split_k", "bf16_reduction", "bf16_split_k", "f16_accumulate",
             "f64_matmul", "fp8_fast", "deterministic", "strict")
_VALUES = ("unset", "ieee", "tf32", "bf16x9", "off", "on", "f32", "f16", "native", "emulated")


def _number(what: str, names: tuple[str, ...], name: str | bool) -> int:
    if isinstance(name, bool):
        name = "on" if name else "off"
    if name not in names:
        raise ValueError(f"a {what} of the math modes is one of {', '.join(names)}, not {name!r}")
    return names.index(name)


def _key(setting: str, plugin: str | None, op: str | None) -> tuple[int, str | None, int]:
    return _number("setting", _SETTINGS, setting), plugin, 0 if op is None else _ndock._math_op(op)


class mode(_Guard):
    """mode(plugin=None, op=None, **settings): a context manager, or a decorator, with those settings for the calling
    thread, such as mode(f32_matmul="tf32") or mode("cuda", deterministic=True). Up to 32 settings deep. plugin: "cuda"
    say, None for any; op: "matmul" say. ValueError for an unknown setting, or a value that it has not.

    >>> with nd.math.mode():
    ...      x = nd.ones(2)
    """

    def __init__(self, plugin: str | None = None, op: str | None = None, **settings: str | bool) -> None:
        self._pushes = [(*_key(setting, plugin, op), _number("value", _VALUES, value))
                        for setting, value in settings.items()]

    def __enter__(self) -> mode:
        done = 0
        try:
            for push in self._pushes:
                _ndock._math_push(*push)
                done += 1
        except BaseException:
            for _ in range(done):
                _ndock._math_pop()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 where: TracebackType | None) -> None:
        for _ in self._pushes:
            _ndock._math_pop()


def set_mode(plugin: str | None = None, op: str | None = None, **settings: str | bool) -> None:
    """The same for the whole process, from now on; "unset" inherits again. ndock.StateError for values that contradict
    each other.

    plugin, op, settings: as of mode.

    >>> nd.math.set_mode(f32_matmul="unset")
    """
    for setting, value in settings.items():
        _ndock._math_set(*_key(setting, plugin, op), _number("value", _VALUES, value))


def get_mode(setting: str, plugin: str | None = None, op: str | None = None) -> str:
    """What counts for the calling thread there.

    plugin, op, setting: as of mode.

    >>> nd.math.get_mode("f32_matmul")
    'ieee'
    """
    return _VALUES[_ndock._math_get(*_key(setting, plugin, op))]


def set_allow_tf32(allow: bool, /) -> None:
    """f32_matmul for everything: "tf32" or "ieee".

    allow: True for TF32.

    >>> nd.math.set_allow_tf32(nd.math.allow_tf32())
    """
    _ndock._set_allow_tf32(allow)


def allow_tf32() -> bool:
    """Whether float32 products may round their operands to TF32.

    >>> nd.math.allow_tf32()
    False
    """
    allowed: bool = _ndock._allow_tf32()
    return allowed


def set_matmul_precision(precision: str, /) -> None:
    """As torch.set_float32_matmul_precision: "highest" is IEEE, "high" and "medium" are TF32.

    precision: one of those.

    >>> nd.math.set_matmul_precision(nd.math.matmul_precision())
    """
    _ndock._set_matmul_precision(precision)


def matmul_precision() -> str:
    """"high" where TF32 is allowed, else "highest".

    >>> nd.math.matmul_precision()
    'highest'
    """
    precision: str = _ndock._matmul_precision()
    return precision


def set_fp32_precision(name: str, precision: str, /) -> None:
    """As torch.backends' fp32_precision: name "", "cuda", "cuda.matmul" or ".matmul"; precision "ieee", "tf32",
    "bf16x9", or "none" to inherit.

    >>> nd.math.set_fp32_precision("", "none")
    """
    _ndock._set_fp32_precision(name, precision)


def fp32_precision(name: str = "", /) -> str:
    """What counts there.

    name: as of set_fp32_precision.

    >>> nd.math.fp32_precision()
    'ieee'
    """
    precision: str = _ndock._fp32_precision(name)
    return precision


def effective_precision(op: str, dtype: Any, device: DeviceLike = None, *, mnk: Sequence[int] | None = None) -> str:
    """What really runs for op ("matmul") in dtype on the device as the settings are now: "ieee", "tf32", "bf16x9",
    "f16 sums", "reduced sums", "fast sums" (of float8), "emulated". mnk: the extents of a product; None: any.

    >>> nd.math.effective_precision("matmul", nd.float32, device="cpu")
    'ieee'
    """
    text: str = _ndock._effective_precision(_ndock._math_op(op), dtype, device, None if mnk is None else tuple(mnk))
    return text
