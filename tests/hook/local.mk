# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# NDOCK_HOOK: check, trace and fault, on the CPU, the simulated device, and a mock with one defect at a time.
check_LTLIBRARIES += %reldir%/ndock-defect.la
%canon_reldir%_ndock_defect_la_SOURCES = %reldir%/defect.c
%canon_reldir%_ndock_defect_la_LDFLAGS = $(mock_ldflags)
%canon_reldir%_ndock_defect_la_LIBADD = -lm
hook_tests =
hook_tests += %reldir%/check.t
check_PROGRAMS += $(hook_tests)
TESTS += $(hook_tests)
noinst_HEADERS += %reldir%/child.h %reldir%/defect.h
%canon_reldir%_check_t_SOURCES = %reldir%/check.c
%canon_reldir%_check_t_LDADD = $(test_ldadd) -lpthread
hook_tests += %reldir%/fault.t
%canon_reldir%_fault_t_SOURCES = %reldir%/fault.c
%canon_reldir%_fault_t_LDADD = $(test_ldadd)
TESTS += %reldir%/trace.sh
EXTRA_DIST += %reldir%/trace.sh
