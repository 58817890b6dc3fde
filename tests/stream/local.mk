# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Streams, events, copies and faults through the public API, on the simulated device. Capture has no public API yet, so its
# test looks inside.
stream_tests = \
  %reldir%/streams.t \
  %reldir%/hazards.t \
  %reldir%/copies.t \
  %reldir%/edges.t \
  %reldir%/capture.t
check_PROGRAMS += $(stream_tests)
TESTS += $(stream_tests)
noinst_HEADERS += %reldir%/harness.h
%canon_reldir%_streams_t_SOURCES = %reldir%/streams.c
%canon_reldir%_streams_t_LDADD = $(test_ldadd) -lpthread
%canon_reldir%_hazards_t_SOURCES = %reldir%/hazards.c
%canon_reldir%_hazards_t_LDADD = $(test_ldadd)
%canon_reldir%_copies_t_SOURCES = %reldir%/copies.c
%canon_reldir%_copies_t_LDADD = $(test_ldadd)
%canon_reldir%_edges_t_SOURCES = %reldir%/edges.c
%canon_reldir%_edges_t_LDADD = $(test_ldadd)
%canon_reldir%_capture_t_SOURCES = %reldir%/capture.c
%canon_reldir%_capture_t_LDADD = $(core_ldadd) -lpthread
