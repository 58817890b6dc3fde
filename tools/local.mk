# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The command: public API only, and what of the library stands alone: its JSON reader, its growing text.
bin_PROGRAMS += %reldir%/ndock
%canon_reldir%_ndock_SOURCES = core/base/json.h core/base/json.c core/base/text.h core/base/text.c core/plugin/note.h core/plugin/note.c \
  core/plugin/note_fit.c core/base/store.h core/base/sha256.c core/plugin/hook/slots.c
%canon_reldir%_ndock_SOURCES += %reldir%/tool.h %reldir%/ndock.c %reldir%/file.c %reldir%/list.c %reldir%/json.c %reldir%/elf.h \
  %reldir%/elf.c %reldir%/elf_find.c
%canon_reldir%_ndock_SOURCES += %reldir%/info/doctor.c %reldir%/info/hardware.c %reldir%/info/offline.c \
  %reldir%/info/params.c %reldir%/info/suggest.c %reldir%/info/info.c %reldir%/info/ops.c %reldir%/info/memory.c %reldir%/info/transports.c
%canon_reldir%_ndock_SOURCES += %reldir%/cache/cache.h %reldir%/cache/cache.c %reldir%/cache/read.c
%canon_reldir%_ndock_SOURCES += %reldir%/mem/mem.h %reldir%/mem/mem.c %reldir%/mem/read.c %reldir%/mem/sum.c \
  %reldir%/mem/time.c %reldir%/mem/axis.c %reldir%/mem/chart.c %reldir%/mem/draw.c
%canon_reldir%_ndock_SOURCES += %reldir%/conform/conform.h %reldir%/conform/conform.c %reldir%/conform/case.c \
  %reldir%/conform/child.c %reldir%/conform/groups.c %reldir%/conform/print.c %reldir%/conform/static.c \
  %reldir%/conform/expect.c %reldir%/conform/judge.c %reldir%/conform/report.c %reldir%/conform/html.c \
  %reldir%/conform/cert.c
%canon_reldir%_ndock_SOURCES += %reldir%/graph/graph.h %reldir%/graph/graph.c %reldir%/graph/read.c %reldir%/graph/draw.c
%canon_reldir%_ndock_SOURCES += %reldir%/new_plugin/new_plugin.h %reldir%/new_plugin/new_plugin.c \
  %reldir%/new_plugin/files.c
%canon_reldir%_ndock_SOURCES += %reldir%/replay/replay.h %reldir%/replay/replay.c %reldir%/replay/line.c \
  %reldir%/replay/call.c %reldir%/replay/record.c
%canon_reldir%_ndock_SOURCES += %reldir%/run/run.h %reldir%/run/run.c %reldir%/run/output.c
# The programs of the kit and the templates, which are looked for beside the command first.
%canon_reldir%_ndock_CPPFLAGS = $(AM_CPPFLAGS) -DND_KITDIR='"$(pkglibexecdir)"' -DND_TEMPLATESDIR='"$(templatesdir)"'
%canon_reldir%_ndock_LDADD = libndock.la -lm

# Not for users: libndock starts it when it sees a plug-in for the first time.
pkglibexec_PROGRAMS += %reldir%/ndock-probe
%canon_reldir%_ndock_probe_SOURCES = %reldir%/probe.c %reldir%/probe_state.c %reldir%/probe_state.h
%canon_reldir%_ndock_probe_LDADD = libndock.la

include tools/templates/local.mk
