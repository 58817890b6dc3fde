# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Graphs through the public API, on the simulated device and, recorded and played, on the CPU.
graph_tests =
graph_tests += %reldir%/replay.t
check_PROGRAMS += $(graph_tests)
TESTS += $(graph_tests)
noinst_HEADERS += %reldir%/lab.h
%canon_reldir%_replay_t_SOURCES = %reldir%/replay.c
%canon_reldir%_replay_t_LDADD = $(test_ldadd) -lpthread
