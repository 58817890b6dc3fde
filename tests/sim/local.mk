# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The simulated device through its C table alone, without the core.
sim_tests = %reldir%/device.t %reldir%/order.t %reldir%/fault.t %reldir%/race.t %reldir%/capture.t
check_PROGRAMS += $(sim_tests)
TESTS += $(sim_tests)
noinst_HEADERS += %reldir%/harness.h
sim_ldadd = -ldl -lpthread -lm
%canon_reldir%_device_t_SOURCES = %reldir%/device.c
%canon_reldir%_device_t_LDADD = $(sim_ldadd)
%canon_reldir%_order_t_SOURCES = %reldir%/order.c
%canon_reldir%_order_t_LDADD = $(sim_ldadd)
%canon_reldir%_fault_t_SOURCES = %reldir%/fault.c
%canon_reldir%_fault_t_LDADD = $(sim_ldadd)
%canon_reldir%_race_t_SOURCES = %reldir%/race.c
%canon_reldir%_race_t_LDADD = $(sim_ldadd)
%canon_reldir%_capture_t_SOURCES = %reldir%/capture.c
%canon_reldir%_capture_t_LDADD = $(sim_ldadd)
