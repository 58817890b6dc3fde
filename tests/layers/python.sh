#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The folders of python/src/: none uses one that is above it, and no file or function is too large; nor is a function of core/ too long.
. "$srcdir/tests/tap.sh"

python_src() { "${PYTHON:-python3}" -B "$srcdir/tests/layers/folders.py" "$@" --top "$srcdir" --build .; }
check 'no folder includes a header of a higher one' python_src includes
if [ -n "$(find python/src -name '*.o' 2>/dev/null | head -1)" ]; then
    check 'no folder uses a function or variable of a higher one' python_src calls
else
    skip 'no folder uses a function or variable of a higher one' 'the package was not built'
fi
check 'no file has more than 350 lines, no function a complexity above 15' python_src sizes
check 'no function has more than 60 lines, in core/ neither' python_src lengths
finish
