# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Streams, events, copies, faults and the sync watch through the public API, on the simulated device. Capture has no public
# API yet, so its test looks inside.
stream_tests =
stream_tests += %reldir%/devices.t
stream_tests += %reldir%/faults.t
stream_tests += %reldir%/lost.t
stream_tests += %reldir%/events.t
stream_tests += %reldir%/watch.t
stream_tests += %reldir%/streams.t
stream_tests += %reldir%/hazards.t
stream_tests += %reldir%/copies.t
stream_tests += %reldir%/edges.t
stream_tests += %reldir%/capture.t
check_PROGRAMS += $(stream_tests)
TESTS += $(stream_tests)
noinst_HEADERS += %reldir%/lab.h %reldir%/harness.h
%canon_reldir%_devices_t_SOURCES = %reldir%/devices.c
%canon_reldir%_devices_t_LDADD = $(test_ldadd) -lpthread
%canon_reldir%_faults_t_SOURCES = %reldir%/faults.c
%canon_reldir%_faults_t_LDADD = $(core_ldadd) -lpthread
%canon_reldir%_events_t_SOURCES = %reldir%/events.c
%canon_reldir%_events_t_LDADD = $(test_ldadd) -lpthread
%canon_reldir%_watch_t_SOURCES = %reldir%/watch.c
%canon_reldir%_watch_t_LDADD = $(test_ldadd) -lpthread
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
%canon_reldir%_lost_t_SOURCES = %reldir%/lost.c
%canon_reldir%_lost_t_LDADD = $(test_ldadd) -lpthread
