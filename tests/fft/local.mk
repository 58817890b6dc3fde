# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Fourier transforms: accuracy against twice the precision; plans.
fft_tests = %reldir%/accuracy.t %reldir%/one_plan.t %reldir%/plans.t %reldir%/signal.t
check_PROGRAMS += $(fft_tests)
TESTS += $(fft_tests)
noinst_HEADERS += %reldir%/exact.h
EXTRA_DIST += %reldir%/golden.inc %reldir%/golden.py
%canon_reldir%_accuracy_t_SOURCES = %reldir%/accuracy.c
%canon_reldir%_accuracy_t_LDADD = $(test_ldadd) -lm
%canon_reldir%_one_plan_t_SOURCES = %reldir%/one_plan.c
%canon_reldir%_one_plan_t_LDADD = $(test_ldadd) -lpthread
%canon_reldir%_plans_t_SOURCES = %reldir%/plans.c
%canon_reldir%_plans_t_LDADD = $(test_ldadd) -lpthread
%canon_reldir%_signal_t_SOURCES = %reldir%/signal.c
%canon_reldir%_signal_t_LDADD = $(test_ldadd) -lm

# Every length up to 2,048, and longer ones.
check-fft-long: %reldir%/accuracy.t
	$(AM_V_at)NDOCK_PLUGIN_PATH='$(test_plugin_path)' NDOCK_TEST_LONG=1 ./%reldir%/accuracy.t
.PHONY: check-fft-long
