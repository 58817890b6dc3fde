# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Operations with values worked out by hand; against NumPy they are tried in tests/python/.
ops_tests = %reldir%/everyday.t %reldir%/statistics.t
check_PROGRAMS += $(ops_tests)
noinst_HEADERS += %reldir%/values.h
TESTS += $(ops_tests)
%canon_reldir%_statistics_t_SOURCES = %reldir%/statistics.c
%canon_reldir%_statistics_t_LDADD = $(test_ldadd)
%canon_reldir%_everyday_t_SOURCES = %reldir%/everyday.c
%canon_reldir%_everyday_t_LDADD = $(test_ldadd)
