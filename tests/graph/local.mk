# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Graphs through the public API, on the simulated device and, recorded and played, on the CPU.
graph_tests =
graph_tests += %reldir%/replay.t
graph_tests += %reldir%/memory.t
graph_tests += %reldir%/values.t
graph_tests += %reldir%/threads.t
graph_tests += %reldir%/cond.t
check_PROGRAMS += $(graph_tests)
TESTS += $(graph_tests)
noinst_HEADERS += %reldir%/lab.h
%canon_reldir%_replay_t_SOURCES = %reldir%/replay.c
%canon_reldir%_replay_t_LDADD = $(test_ldadd) -lpthread
%canon_reldir%_memory_t_SOURCES = %reldir%/memory.c
%canon_reldir%_memory_t_LDADD = $(test_ldadd) -lpthread
%canon_reldir%_values_t_SOURCES = %reldir%/values.c
%canon_reldir%_values_t_LDADD = $(test_ldadd) -lpthread
%canon_reldir%_threads_t_SOURCES = %reldir%/threads.c
%canon_reldir%_threads_t_LDADD = $(test_ldadd) -lpthread
%canon_reldir%_cond_t_SOURCES = %reldir%/cond.c
%canon_reldir%_cond_t_LDADD = $(test_ldadd) -lpthread
