#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# embed.sh FILE...: prints C that has each file's text as ocl_text_NAME, NAME without folder and suffix. In place of a line
# #include <ndock/X> stands the text of X, which lies beside the file.
echo '/* Made by embed.sh. */'
echo '#include "host/opencl.h"'
for file do
    name=${file##*/}
    echo "const char ocl_text_${name%.*}[] ="
    awk -v folder="${file%/*}" -v first="$file" '
        function put(file,    line) {
            while ((getline line < file) > 0) {
                if (line ~ /^#include <ndock\//) {
                    gsub(/^#include <ndock\/|>$/, "", line)
                    put(folder "/" line)
                } else {
                    print line
                }
            }
            close(file)
        }
        BEGIN { put(first) }' </dev/null |
        sed 's/\\/\\\\/g; s/"/\\"/g; s/^/    "/; s/$/\\n"/'
    echo '    "";'
done
