# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The README's commands on bare machines (chroots), `make install`, and the tests again: takes an hour and needs root or sudo.
#   make check-fresh [RELEASE='bookworm trixie noble'] [WHO='root user'] [FRESH_FLAGS=--slice]
EXTRA_DIST += %reldir%/fresh.sh %reldir%/base.sh %reldir%/machine.sh %reldir%/elsewhere.sh %reldir%/traps.env
RELEASE = bookworm trixie noble
WHO = root user
check-fresh:
	$(AM_V_at)set --; for r in $(RELEASE); do set -- "$$@" --release $$r; done; for w in $(WHO); do set -- "$$@" --as $$w; done; \
	  bash $(srcdir)/%reldir%/fresh.sh "$$@" $(FRESH_FLAGS)
.PHONY: check-fresh
