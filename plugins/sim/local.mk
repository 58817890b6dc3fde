# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The simulated device: what an outsider would write, against <ndock/plugin.h> and its own <ndock/sim.h> alone.
plugin_LTLIBRARIES += %reldir%/ndock-sim.la
%canon_reldir%_ndock_sim_la_SOURCES = \
  %reldir%/branch.c %reldir%/capture.c %reldir%/checker.c %reldir%/code.c %reldir%/control.c %reldir%/copy.c %reldir%/entry.c %reldir%/exec.c \
  %reldir%/event.c %reldir%/fault.c %reldir%/fused.c %reldir%/map.c %reldir%/memory.c %reldir%/overlap.c \
  %reldir%/plugin.c %reldir%/pool.c %reldir%/queue.c %reldir%/run.c %reldir%/stream.c \
  %reldir%/checker.h %reldir%/comm.h %reldir%/graph.h %reldir%/simulator.h
%canon_reldir%_ndock_sim_la_SOURCES += %reldir%/comm.c %reldir%/comm_call.c %reldir%/comm_round.c %reldir%/comm_run.c %reldir%/settings.c
%canon_reldir%_ndock_sim_la_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/%reldir%
%canon_reldir%_ndock_sim_la_CFLAGS = $(AM_CFLAGS)
%canon_reldir%_ndock_sim_la_LIBADD = -lpthread
%canon_reldir%_ndock_sim_la_LDFLAGS = -module -avoid-version -shared
if HAVE_VERSION_SCRIPT
%canon_reldir%_ndock_sim_la_LDFLAGS += -Wl,--version-script=$(srcdir)/%reldir%/plugin.map -Wl,-z,nodelete -Wl,-z,relro,-z,now
if !HAVE_SANITIZER
%canon_reldir%_ndock_sim_la_LDFLAGS += -Wl,-z,defs
endif
endif
EXTRA_DIST += %reldir%/plugin.map
