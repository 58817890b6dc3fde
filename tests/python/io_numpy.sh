#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# What NumPy saves, ndock loads, and what ndock saves is what NumPy would have saved, byte for byte.
if test -z "${PYTHON-}" || ! $PYTHON -c 'import numpy' 2>/dev/null; then
  echo '1..0 # SKIP no Python with NumPy (set PYTHON)'
  exit 0
fi
exec $PYTHON "${srcdir:-.}/tests/python/compare_io.py" tests/python/io_copy
