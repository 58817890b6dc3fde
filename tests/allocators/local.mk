# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Device memory beside the caching allocator. The backends stand on a mock instead of a device: what
# the library asks of nd__device_hooks and nd__mem_* comes from tests/allocators/mock.h.
allocators_wrap = -Wl,--wrap=nd__device_hooks,--wrap=nd__mem_write,--wrap=nd__mem_read
allocators_tests = %reldir%/single.t %reldir%/debug.t %reldir%/pluggable.t %reldir%/pinned.t
check_PROGRAMS += $(allocators_tests)
TESTS += $(allocators_tests)
%canon_reldir%_single_t_SOURCES = %reldir%/single.c %reldir%/mock.h
%canon_reldir%_single_t_LDADD = $(core_ldadd) -lpthread
%canon_reldir%_single_t_LDFLAGS = $(allocators_wrap)
%canon_reldir%_debug_t_SOURCES = %reldir%/debug.c %reldir%/mock.h
%canon_reldir%_debug_t_LDADD = $(core_ldadd) -lpthread
%canon_reldir%_debug_t_LDFLAGS = $(allocators_wrap)
%canon_reldir%_pluggable_t_SOURCES = %reldir%/pluggable.c %reldir%/mock.h
%canon_reldir%_pluggable_t_LDADD = $(core_ldadd) -lpthread
%canon_reldir%_pluggable_t_LDFLAGS = $(allocators_wrap)
# An allocator written for PyTorch, as a shared object of its own.
check_LTLIBRARIES += %reldir%/pair.la
%canon_reldir%_pair_la_SOURCES = %reldir%/pair.c
%canon_reldir%_pair_la_LDFLAGS = -module -avoid-version -shared -rpath /nowhere
%canon_reldir%_pinned_t_SOURCES = %reldir%/pinned.c %reldir%/mock.h
%canon_reldir%_pinned_t_LDADD = $(core_ldadd) -lpthread
%canon_reldir%_pinned_t_LDFLAGS = $(allocators_wrap)

# The same through the library alone, on the plug-ins of this build tree.
check_PROGRAMS += %reldir%/whole
TESTS += %reldir%/whole.sh
EXTRA_DIST += %reldir%/whole.sh
%canon_reldir%_whole_SOURCES = %reldir%/whole.c
%canon_reldir%_whole_LDADD = $(test_ldadd)

# Snapshots and pictures, judged by Python. check-kills: 200 times kill -9.
check_PROGRAMS += %reldir%/snapshot
TESTS += %reldir%/snapshot.sh
EXTRA_DIST += %reldir%/snapshot.sh %reldir%/judge.py %reldir%/training.py
%canon_reldir%_snapshot_SOURCES = %reldir%/snapshot.c %reldir%/mock.h
%canon_reldir%_snapshot_LDADD = $(core_ldadd) -lpthread
%canon_reldir%_snapshot_LDFLAGS = $(allocators_wrap)
check-kills: check-kill-save $(check_PROGRAMS) tools/ndock
	$(AM_V_at)$(AM_TESTS_ENVIRONMENT) srcdir=$(srcdir) NDOCK_KILLS=200 $(SHELL) $(srcdir)/%reldir%/snapshot.sh
.PHONY: check-kills

check_PROGRAMS += %reldir%/upstream.t
TESTS += %reldir%/upstream.t
%canon_reldir%_upstream_t_SOURCES = %reldir%/upstream.c
%canon_reldir%_upstream_t_LDADD = $(test_ldadd)

check_PROGRAMS += %reldir%/ordered.t
TESTS += %reldir%/ordered.t
%canon_reldir%_ordered_t_SOURCES = %reldir%/ordered.c
%canon_reldir%_ordered_t_LDADD = $(test_ldadd)

check_PROGRAMS += %reldir%/registered.t
TESTS += %reldir%/registered.t
%canon_reldir%_registered_t_SOURCES = %reldir%/registered.c
%canon_reldir%_registered_t_LDADD = $(test_ldadd)
