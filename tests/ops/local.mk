# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Operations with values worked out by hand; against NumPy they are tried in tests/python/.
ops_tests = %reldir%/distributions.t %reldir%/everyday.t %reldir%/fp8.t %reldir%/powers.t %reldir%/quant.t %reldir%/rows.t %reldir%/sorts.t %reldir%/statistics.t %reldir%/steps.t
check_PROGRAMS += $(ops_tests)
noinst_HEADERS += %reldir%/values.h
TESTS += $(ops_tests)
%canon_reldir%_distributions_t_SOURCES = %reldir%/distributions.c
%canon_reldir%_distributions_t_LDADD = $(test_ldadd) -lm
EXTRA_DIST += tests/data/random_cdf.inc tests/data/random_cdf.py
# 10^7 numbers of each distribution.
check-random-long: %reldir%/distributions.t
	$(AM_V_at)NDOCK_PLUGIN_PATH='$(test_plugin_path)' RANDOM_DRAWS=10000000 ./%reldir%/distributions.t
.PHONY: check-random-long
%canon_reldir%_sorts_t_SOURCES = %reldir%/sorts.c
%canon_reldir%_sorts_t_LDADD = $(test_ldadd)
%canon_reldir%_statistics_t_SOURCES = %reldir%/statistics.c
%canon_reldir%_statistics_t_LDADD = $(test_ldadd)
%canon_reldir%_rows_t_SOURCES = %reldir%/rows.c
%canon_reldir%_rows_t_LDADD = $(test_ldadd)
%canon_reldir%_steps_t_SOURCES = %reldir%/steps.c
%canon_reldir%_steps_t_LDADD = $(test_ldadd)
%canon_reldir%_everyday_t_SOURCES = %reldir%/everyday.c
%canon_reldir%_everyday_t_LDADD = $(test_ldadd)
%canon_reldir%_powers_t_SOURCES = %reldir%/powers.c
%canon_reldir%_powers_t_LDADD = $(test_ldadd) -lm
%canon_reldir%_quant_t_SOURCES = %reldir%/quant.c
%canon_reldir%_quant_t_LDADD = $(test_ldadd) -lm
%canon_reldir%_fp8_t_SOURCES = %reldir%/fp8.c
%canon_reldir%_fp8_t_LDADD = $(test_ldadd) -lm
EXTRA_DIST += tests/data/fp8_golden.inc tests/data/fp8_golden.py
EXTRA_DIST += tests/data/quant_golden.inc tests/data/quant_golden.py
