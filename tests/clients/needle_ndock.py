# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A plug-in for pytest: needle's arrays are ndock's. The course's own backend is not imported, nor built."""
import sys
import types

import ndock.needle

for name in ("needle.backend_ndarray", "needle.backend_ndarray.ndarray"):
    sys.modules[name] = ndock.needle
sys.modules["mugrade"] = types.ModuleType("mugrade")  # hands in homework; the tests import it, and only its own submissions use it
