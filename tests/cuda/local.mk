# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Tests that need a CUDA device; without one they skip, with the reason.
cuda_tests = \
  %reldir%/modes.t
check_PROGRAMS += $(cuda_tests)
TESTS += $(cuda_tests)
%canon_reldir%_modes_t_SOURCES = %reldir%/modes.c
%canon_reldir%_modes_t_LDADD = $(test_ldadd) -lm
