#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Every public function that writes into an array that is there is in the table of tests/conform/into_table.c: the names come from
# the headers, and those of op.def's elementwise operations, reductions and scans are expanded there.
: "${srcdir:=.}"
n=0 failed=0
table=$srcdir/tests/conform/into_table.c
names=$(sed -n 's/.*[ *(]nd_\([a-z0-9_]*_into\)(.*/\1/p' "$srcdir"/include/ndock/*.h | sort -u)
for name in $names assign fill; do
  n=$((n + 1))
  case $name in
  custom_apply_into) echo "ok $n - $name: programs' operations, in tests/unit/custom.c" && continue ;;
  comm_*_into) echo "ok $n - $name: an exchange of ranks, in tests/comm/semantics.c" && continue ;;
  expr_run_into) echo "ok $n - $name: several operations at once, in tests/fuse/expr.c" && continue ;;
  float_power_into) echo "ok $n - $name: pow in f64 whatever the operands are, in tests/unit/special.c" && continue ;;
  esac
  # SORTS(sort, ...) makes "sort_into" of its first word; rows of op.def of these classes are expanded.
  op=${name%_into}
  if grep -Eq "\"$name\"|[A-Z]+\\($op," "$table" ||
    grep -Eq "ND_OP\\($op, *(UNARY|BINARY|TERNARY|REDUCE|ARGREDUCE|SCAN)," "$srcdir/include/ndock/op.def"; then
    echo "ok $n - $name is in the table"
  else
    echo "not ok $n - $name is missing in tests/conform/into_table.c"
    failed=1
  fi
done
echo "1..$n"
exit $failed
