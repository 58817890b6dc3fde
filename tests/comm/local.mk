# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Communicators: every collective against one rank's own sums, semantics and faults on the simulator, random programs.
comm_tests =
comm_tests += %reldir%/local.t
comm_tests += %reldir%/semantics.t
comm_tests += %reldir%/faults.t
comm_tests += %reldir%/programs.t
comm_tests += %reldir%/processes.t
comm_tests += %reldir%/process_faults.t
comm_tests += %reldir%/arrived.t
comm_tests += %reldir%/store.t
comm_tests += %reldir%/board.t
check_PROGRAMS += $(comm_tests)
TESTS += $(comm_tests) %reldir%/derived.sh %reldir%/mpi.sh %reldir%/run.sh
EXTRA_DIST += %reldir%/derived.sh %reldir%/mpi.sh %reldir%/run.sh
noinst_HEADERS += %reldir%/matrix.h %reldir%/team.h
%canon_reldir%_local_t_SOURCES = %reldir%/local.c
%canon_reldir%_local_t_LDADD = $(test_ldadd) -lm
%canon_reldir%_semantics_t_SOURCES = %reldir%/semantics.c
%canon_reldir%_semantics_t_LDADD = $(test_ldadd) -lpthread
%canon_reldir%_faults_t_SOURCES = %reldir%/faults.c
%canon_reldir%_faults_t_LDADD = $(test_ldadd) -lpthread
%canon_reldir%_programs_t_SOURCES = %reldir%/programs.c
%canon_reldir%_programs_t_LDADD = $(test_ldadd)
%canon_reldir%_processes_t_SOURCES = %reldir%/processes.c
%canon_reldir%_processes_t_LDADD = $(test_ldadd) -lm
%canon_reldir%_process_faults_t_SOURCES = %reldir%/process_faults.c
%canon_reldir%_process_faults_t_LDADD = $(test_ldadd)
%canon_reldir%_arrived_t_SOURCES = %reldir%/arrived.c
%canon_reldir%_arrived_t_LDADD = $(test_ldadd) -lpthread
%canon_reldir%_store_t_SOURCES = %reldir%/store.c
%canon_reldir%_store_t_LDADD = $(core_ldadd) -lpthread
# The board needs nothing of CUDA, so that it is tested without.
%canon_reldir%_board_t_SOURCES = %reldir%/board.c backends/cuda/comm/board.c backends/cuda/comm/board.h
%canon_reldir%_board_t_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/backends/cuda
%canon_reldir%_board_t_LDADD = -lrt
tests/comm/mpi.log: %reldir%/processes.t tools/ndock$(EXEEXT)
tests/comm/run.log: %reldir%/processes.t tools/ndock$(EXEEXT)
tests/comm/derived.log: %reldir%/local.t
