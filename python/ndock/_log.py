# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The library's messages in Python's logging, as logger "ndock".

They are handed on by the main thread, as soon as it runs Python code. What is made at all NDOCK_LOG says (off error warn
info debug trace; warn), or set_log_level; what is shown, logging."""
from __future__ import annotations

from . import _ndock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["set_log_level"]

_LEVELS = ("off", "error", "warn", "info", "debug", "trace")
_NUMBERS = (60, 40, 30, 20, 10, 5)  # logging's


def _logger() -> Any:
    import logging  # here: few programs ever get a message, and it is slow to import

    return logging.getLogger("ndock")


def emit(level: int, message: str) -> None:
    """Called by the extension module."""
    _logger().log(_NUMBERS[level], message)


def set_log_level(level: str, /) -> None:
    """Which messages the library makes, in the whole process, and the logger "ndock" takes: "off", "error", "warn",
    "info", "debug" or "trace" (logging's 5), each with those before it. ValueError for another.

    level: one of those.

    >>> nd.set_log_level("warn")
    """
    if level not in _LEVELS:
        raise ValueError(f"a log level is one of {', '.join(_LEVELS)}, not {level!r}")
    number = _LEVELS.index(level)
    _ndock._set_log(number)
    _logger().setLevel(_NUMBERS[number])
