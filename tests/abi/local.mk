# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# conform-abi, which `ndock conform` runs: checks of one plug-in file below the library. Installed headers alone, no libndock.
pkglibexec_PROGRAMS += %reldir%/conform-abi
%canon_reldir%_conform_abi_SOURCES = %reldir%/abi.h %reldir%/bytes.c %reldir%/comm.c %reldir%/events.c %reldir%/flight.c %reldir%/slots.def %reldir%/gate.c \
  %reldir%/groups.c %reldir%/host.c %reldir%/hosts.c %reldir%/load.c %reldir%/load.h %reldir%/main.c %reldir%/map.c %reldir%/map.h \
  %reldir%/memory.c %reldir%/observe.c %reldir%/own.c %reldir%/plug.c %reldir%/process.c %reldir%/report.c %reldir%/run.c \
  %reldir%/service.c %reldir%/speed.c %reldir%/streams.c %reldir%/streams.h %reldir%/threads.c
%canon_reldir%_conform_abi_CPPFLAGS = -I$(top_builddir)/include -I$(top_srcdir)/include -D_GNU_SOURCE \
  -DABI_PLUGINDIR='"$(plugindir)"'
%canon_reldir%_conform_abi_LDADD = -ldl -lm -lpthread
TESTS += %reldir%/run.sh
EXTRA_DIST += %reldir%/run.sh
