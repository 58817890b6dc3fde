#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# abidiff.sh compare|update LIBRARY STORED.gz HEADERS: what the library exports, and the public structs, against how they
# were stored. Added functions are fine; anything else that changed is a failure, until `update` stores it on purpose.
# abidw knows headers by their names without folders, so that what core/graph/graph.h defines would count as public for the
# sake of include/ndock/graph.h: structs that the public headers name and do not define are left out of the comparison.
mode=$1 library=$2 stored=$3 headers=$4
known='--headers-dir'
if ! command -v abidw >/dev/null 2>&1 || ! command -v abidiff >/dev/null 2>&1; then
    echo "abidiff: skipped: abidw and abidiff are not installed (package abigail-tools)"
    exit 0
fi
scratch=$(mktemp -d "${TMPDIR:-/tmp}/ndock-abi.XXXXXX") || exit 1
trap 'rm -rf "$scratch"' EXIT

abidw --no-corpus-path --no-comp-dir-path --no-elf-needed --no-parameter-names --no-show-locs --no-write-default-sizes \
    --exported-interfaces-only --drop-private-types "$known" "$headers" --out-file "$scratch/new.abi" "$library" || exit 1
if [ "$mode" = update ]; then
    gzip -9n <"$scratch/new.abi" >"$stored"
    exit
fi
gzip -dc "$stored" >"$scratch/old.abi" || exit 1
cat "$headers"/*.h >"$scratch/headers" || exit 1
sed -n 's/^typedef struct \(nd_[a-z_]*\) nd_[a-z_]*;.*/\1/p' "$scratch/headers" | sort -u | while read -r name; do
    grep -q "^struct $name {" "$scratch/headers" || printf '[suppress_type]\n  type_kind = struct\n  name = %s\n' "$name"
done >"$scratch/opaque"
if abidiff --suppressions "$scratch/opaque" --no-added-syms --no-architecture "$scratch/old.abi" "$scratch/new.abi" >"$scratch/report"; then
    echo "abidiff: $library: nothing was taken away or changed"
    exit 0
fi
cat "$scratch/report"
echo "abidiff: $library changed what programs rely on; if that is meant, say so in CHANGELOG.md and run: make update-abi"
exit 1
