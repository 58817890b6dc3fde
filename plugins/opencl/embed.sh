#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# embed.sh FILE...: prints C that has each file's text as ocl_text_NAME, NAME without folder and suffix.
echo '/* Made by embed.sh. */'
echo '#include "host/opencl.h"'
for file do
    name=${file##*/}
    echo "const char ocl_text_${name%.*}[] ="
    sed 's/\\/\\\\/g; s/"/\\"/g; s/^/    "/; s/$/\\n"/' "$file"
    echo '    "";'
done
