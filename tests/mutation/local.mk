# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The code with one line changed at a time, and whether the tests see it. Hours; goes on where it stopped. MUTATIONS names tables
# or single changes; MUTATION_FLAGS=--report tells what is known, --narrow runs the named tests alone. See mutate.py.
EXTRA_DIST += %reldir%/mutate.py %reldir%/modules.mk
EXTRA_DIST += %reldir%/array.txt %reldir%/cache.txt %reldir%/interop.txt %reldir%/memory.txt %reldir%/plugin.txt %reldir%/stream.txt
MUTATION_JOBS = 1
check-mutation:
	$(AM_V_at)$(PYTHON) -B $(srcdir)/%reldir%/mutate.py --top '$(srcdir)' --work _mutation \
	  --configure "$$(./config.status --config)" --all-tests '$(TESTS)' --jobs $(MUTATION_JOBS) $(MUTATION_FLAGS) $(MUTATIONS)
.PHONY: check-mutation
