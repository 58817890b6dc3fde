# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Streams, events, faults and the sync watch, on the simulated device, through the public API.
stream_tests =
stream_tests += %reldir%/devices.t
stream_tests += %reldir%/faults.t
stream_tests += %reldir%/events.t
stream_tests += %reldir%/watch.t
check_PROGRAMS += $(stream_tests)
TESTS += $(stream_tests)
noinst_HEADERS += %reldir%/lab.h
%canon_reldir%_devices_t_SOURCES = %reldir%/devices.c
%canon_reldir%_devices_t_LDADD = $(test_ldadd) -lpthread
%canon_reldir%_faults_t_SOURCES = %reldir%/faults.c
%canon_reldir%_faults_t_LDADD = $(core_ldadd) -lpthread
%canon_reldir%_events_t_SOURCES = %reldir%/events.c
%canon_reldir%_events_t_LDADD = $(test_ldadd) -lpthread
%canon_reldir%_watch_t_SOURCES = %reldir%/watch.c
%canon_reldir%_watch_t_LDADD = $(test_ldadd) -lpthread
