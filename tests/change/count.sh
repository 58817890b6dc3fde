# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# shellcheck shell=sh
# How many files a kept patch touches, and how many the table of CONTRIBUTING.md says: files_of and stated SOURCES KIND. Sourced.
files_of() { grep -c '^diff --git ' "$1/tests/change/$2.patch"; }
stated() { sed -n "s/^|.*\`tests\/change\/$2\.patch\`.*| *\([0-9]*\) *|\$/\1/p" "$1/CONTRIBUTING.md"; }
