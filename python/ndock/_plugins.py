# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Plug-ins that other Python packages bring: the entry points of the group `ndock.plugins`.

An entry point names the absolute path of the plug-in's shared library: a string or os.PathLike, or a function without
arguments that returns one. They are looked for once, when a device other than the CPU is first wanted."""
from __future__ import annotations

import os

from . import _ndock

failures: list[dict[str, str | int]] = []  # of entry points, in the form of nd.plugins()


def _load(entry: object) -> None:
    target = entry.load()  # type: ignore[attr-defined]
    path = target() if callable(target) else target
    _ndock._load_plugin(os.path.abspath(os.fspath(path)))


def discover() -> None:
    """Load them all; what one fails with is kept for nd.plugins(), and is no failure of the others."""
    from importlib.metadata import entry_points

    for entry in entry_points(group="ndock.plugins"):
        try:
            _load(entry)
        except Exception as e:
            # of a file that was looked at, the library has a report of its own
            if not isinstance(e, _ndock.Error):
                failures.append({"path": entry.value, "name": entry.name, "version": "", "state": "ENTRY_POINT",
                                 "reason": f"{type(e).__name__}: {e}", "source": "ndock.plugins", "devices": 0})
