#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# embed.sh FILE...: prints C that has the text of the files, one behind the other, as cpu_kernel_header[]. Includes of each other
# are left out; so is immintrin.h, by ND_KERNEL_TEXT, since compilers take long to read it.
printf '%s\n' '/* Made by embed.sh. */'
printf '%s\n' '#include "compiler/compiler.h"'
printf '%s\n' 'const char cpu_kernel_header[] ='
printf '%s\n' '    "#define ND_KERNEL_TEXT 1\n"'
cat "$@" | sed '/^#include "/d; s/\\/\\\\/g; s/"/\\"/g; s/^/    "/; s/$/\\n"/'
printf '%s\n' '    "";'
