# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""DEVICES: those on which a test that is the same for all of them runs: the CPU, a simulated device, and a GPU where the
machine has one, CUDA_VISIBLE_DEVICES does not hide it, and the build tree has its plug-in."""
import os

DEVICES = ("cpu", "sim:0")
_first = os.environ.get("NDOCK_PLUGIN_PATH", "").split(":")[0]
_folder = _first.replace("backends/cpu", "backends/cuda")
_hidden = os.environ.get("CUDA_VISIBLE_DEVICES") in ("", "-1")
if _folder != _first and os.path.exists(_folder + "/ndock-cuda.so") and os.path.exists("/dev/nvidiactl") and not _hidden:
    os.environ["NDOCK_PLUGIN_PATH"] += ":" + _folder
    DEVICES += ("cuda:0",)
