# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Expressions beside their operations called one by one; their cache, errors and threads.
fuse_tests = %reldir%/expr.t %reldir%/same_bits.t
check_PROGRAMS += $(fuse_tests)
TESTS += $(fuse_tests)
noinst_HEADERS += %reldir%/random_expr.h
%canon_reldir%_expr_t_SOURCES = %reldir%/expr.c
%canon_reldir%_expr_t_LDADD = $(test_ldadd) -lpthread
%canon_reldir%_same_bits_t_SOURCES = %reldir%/same_bits.c
%canon_reldir%_same_bits_t_LDADD = $(test_ldadd) -lm
