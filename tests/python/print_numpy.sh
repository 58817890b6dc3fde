#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# nd_format writes arrays as NumPy does, character for character.
if test -z "${PYTHON-}" || ! $PYTHON -c 'import numpy' 2>/dev/null; then
  echo '1..0 # SKIP no Python with NumPy (set PYTHON)'
  exit 0
fi
if nm -D .libs/libndock.so 2>/dev/null | grep -Eq ' U __(asan|tsan|ubsan)_'; then
  echo '1..0 # SKIP a library built with a sanitizer cannot be loaded into Python'
  exit 0
fi
exec $PYTHON "${srcdir:-.}/tests/python/compare_print.py" .libs/libndock.so ${NDOCK_TEST_SLICE:+30}
