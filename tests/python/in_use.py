# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What this process has in use, for tests that nothing is left behind."""
import ctypes
import gc
import os
import sys

# A sanitizer keeps freed blocks for a while, and Python's objects come from malloc there (PYTHONMALLOC), where
# sys.getallocatedblocks() sees none. Its own count of bytes in use is exact.
_sanitizer = getattr(ctypes.CDLL(None), "__sanitizer_get_current_allocated_bytes", None)
if _sanitizer:
    _sanitizer.restype = ctypes.c_size_t
_SMALLEST = 16  # bytes of a block of Python's allocator


def kilobytes():
    """Memory of the process."""
    if _sanitizer:
        return _sanitizer() // 1024
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 1024


def blocks_and_kilobytes():
    """Blocks of Python's allocator (under a sanitizer: as many as all bytes would be), and kilobytes of the process."""
    gc.collect()
    return _sanitizer() // _SMALLEST if _sanitizer else sys.getallocatedblocks(), kilobytes()
