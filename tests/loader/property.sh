#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A plug-in's note is found behind .note.gnu.property, whose segment has another alignment (what Ubuntu's compiler makes of
# any file).
. "${srcdir:?}/tests/tap.sh"
file=$tap_dir/ndock-tier0.so
text='a note is read beside one whose segment is aligned to 8'
if $CC -shared -fPIC -Iinclude -I"$srcdir/include" -I"$srcdir" $CFLAGS -Wl,-z,ibt -Wl,-z,shstk -o "$file" \
  "$srcdir/tests/loader/tier0.c" 2>/dev/null && readelf -lW "$file" 2>/dev/null | grep -q 'NOTE.* 0x8$'; then
  chmod 755 "$tap_dir"
  said() { NDOCK_PLUGIN_PATH=$file tools/ndock info && NDOCK_PLUGIN_PATH=$file tools/ndock info | grep -q 'tier0 *LOADED'; }
  check "$text" said
else
  skip "$text" 'no such notes by this compiler and linker'
fi
finish
