#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Kernels of expressions that the driver assembles, run by a small machine for PTX, beside the same in NumPy: it needs no GPU.
"$PYTHON" -c 'import numpy' 2>/dev/null || { echo "1..0 # SKIP NumPy is not installed"; exit 0; }
exec "$PYTHON" -B "$srcdir/tests/cuda/ptx_kernels.py" tests/cuda/program.t
