#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# fashion_cut.sh FROM TO: the first 6,000 and 1,000 images of Fashion-MNIST, with their labels, in a new folder TO: a tenth of an
# epoch's work, for slices of the tests. The format is that of IDX files: magic number, extents (32 bits, the highest byte first), bytes.
set -e
from=$1 to=$2
mkdir -p "$to"
# cut NAME COUNT-IN-OCTAL HEADER REST BYTES: REST of the header stands behind the count.
cut_file() {
    file=$from/$1
    { printf '\000\000\010\00'"$3"'\000\000'"$2$4"
      { if [ -e "$file.gz" ]; then zcat "$file.gz"; else cat "$file"; fi; } 2>/dev/null | tail -c +$((5 + 4 * $3)) | head -c "$5"
    } >"$to/$1"
}
sides='\000\000\000\034\000\000\000\034'
cut_file train-images-idx3-ubyte '\027\160' 3 "$sides" $((6000 * 784))
cut_file train-labels-idx1-ubyte '\027\160' 1 '' 6000
cut_file t10k-images-idx3-ubyte '\003\350' 3 "$sides" $((1000 * 784))
cut_file t10k-labels-idx1-ubyte '\003\350' 1 '' 1000
