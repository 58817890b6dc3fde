# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# What a change costs: kept patches, each of which adds one thing as a contributor would, `frobnicate`. `make check` sees that they still
# apply and touch as many files as CONTRIBUTING.md says; check-change builds a copy of the sources with each of them, or with those that
# CHANGE names (elementwise reduction class dtype), and tries it.
CHANGE = $(change_kinds)
CHANGE_CFLAGS = -O1 -fno-tree-vectorize
change_kinds = elementwise reduction class dtype
TESTS += %reldir%/applies.sh
EXTRA_DIST += %reldir%/applies.sh %reldir%/count.sh %reldir%/change.sh $(change_kinds:%=%reldir%/%.patch) %reldir%/elementwise.py %reldir%/reduction.py %reldir%/class.sh %reldir%/dtype.py
check-change:
	$(AM_V_at)MAKE='$(MAKE)' CC='$(CC)' PYTHON='$(PYTHON)' CFLAGS='$(CHANGE_CFLAGS)' $(SHELL) $(srcdir)/%reldir%/change.sh $(abs_srcdir) $(CHANGE)
.PHONY: check-change
