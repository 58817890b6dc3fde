# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Communicators: every collective against one rank's own sums, semantics and faults on the simulator, random programs.
comm_tests =
comm_tests += %reldir%/local.t
comm_tests += %reldir%/semantics.t
comm_tests += %reldir%/faults.t
comm_tests += %reldir%/programs.t
check_PROGRAMS += $(comm_tests)
TESTS += $(comm_tests) %reldir%/derived.sh
EXTRA_DIST += %reldir%/derived.sh
noinst_HEADERS += %reldir%/matrix.h %reldir%/team.h
%canon_reldir%_local_t_SOURCES = %reldir%/local.c
%canon_reldir%_local_t_LDADD = $(test_ldadd) -lm
%canon_reldir%_semantics_t_SOURCES = %reldir%/semantics.c
%canon_reldir%_semantics_t_LDADD = $(test_ldadd) -lpthread
%canon_reldir%_faults_t_SOURCES = %reldir%/faults.c
%canon_reldir%_faults_t_LDADD = $(test_ldadd) -lpthread
%canon_reldir%_programs_t_SOURCES = %reldir%/programs.c
%canon_reldir%_programs_t_LDADD = $(test_ldadd)
tests/comm/derived.log: %reldir%/local.t
