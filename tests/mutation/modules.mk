# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Read after the Makefile: what tests open by name, beside what `all` makes.
mutation-modules: $(check_LTLIBRARIES)
.PHONY: mutation-modules
