# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# `ndock conform`: its runner on programs that stand in for the kit's, group A on files broken by the linker, group D on broken kernels.
check_LTLIBRARIES += %reldir%/ndock-opdefect.la
%canon_reldir%_ndock_opdefect_la_SOURCES = %reldir%/opdefect.c %reldir%/fused.c %reldir%/fused.h %reldir%/misread.c %reldir%/misread.h
%canon_reldir%_ndock_opdefect_la_LDFLAGS = $(mock_ldflags)
%canon_reldir%_ndock_opdefect_la_LIBADD = -lm
kit_tests = %reldir%/static.sh %reldir%/runner.sh %reldir%/operations.sh
TESTS += $(kit_tests)
EXTRA_DIST += $(kit_tests) %reldir%/static.c

# The whole kit on every plug-in of this tree, with its usual counts; certificates stay in the build tree.
check-conform: all
	$(AM_V_at)for plugin in cpu sim; do \
	  NDOCK_PLUGIN_PATH='$(test_plugin_path)' XDG_STATE_HOME='$(abs_builddir)/state' \
	  NDOCK_CONFORM_DIR='$(abs_builddir)/tests/conform:$(abs_builddir)/tests/abi' \
	  tools/ndock conform --strict --tier $$(test $$plugin = sim && echo 2 || echo 1) \
	    $$(ls -d */$$plugin/.libs/ndock-$$plugin.so) || exit 1; \
	done
.PHONY: check-conform
