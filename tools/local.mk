# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The command: public API only, and what of the library stands alone: its JSON reader, its growing text.
bin_PROGRAMS += %reldir%/ndock
%canon_reldir%_ndock_SOURCES = core/io/json.h core/io/json.c core/text.h core/text.c
%canon_reldir%_ndock_SOURCES += %reldir%/tool.h %reldir%/ndock.c %reldir%/file.c %reldir%/json.c
%canon_reldir%_ndock_SOURCES += %reldir%/elf.h %reldir%/elf.c %reldir%/elf_find.c
%canon_reldir%_ndock_SOURCES += %reldir%/info_doctor.c %reldir%/info_hardware.c %reldir%/info_offline.c
%canon_reldir%_ndock_SOURCES += %reldir%/info_params.c %reldir%/info_suggest.c
%canon_reldir%_ndock_SOURCES += %reldir%/info.c %reldir%/info_ops.c %reldir%/info_memory.c
%canon_reldir%_ndock_SOURCES += %reldir%/mem.h %reldir%/mem.c %reldir%/mem_read.c %reldir%/mem_sum.c \
  %reldir%/mem_time.c %reldir%/mem_axis.c %reldir%/mem_chart.c %reldir%/mem_draw.c
%canon_reldir%_ndock_SOURCES += %reldir%/conform.h %reldir%/conform.c %reldir%/conform_case.c %reldir%/conform_child.c \
  %reldir%/conform_groups.c %reldir%/conform_print.c %reldir%/conform_static.c %reldir%/conform_expect.c \
  %reldir%/conform_judge.c %reldir%/conform_report.c %reldir%/conform_html.c %reldir%/conform_cert.c \
  core/note.h core/note.c core/note_fit.c core/cache/cache.h core/cache/sha256.c
%canon_reldir%_ndock_SOURCES += %reldir%/new_plugin.h %reldir%/new_plugin.c %reldir%/new_plugin_files.c
# The programs of the kit and the templates, which are looked for beside the command first.
%canon_reldir%_ndock_CPPFLAGS = $(AM_CPPFLAGS) -DND_KITDIR='"$(pkglibexecdir)"' -DND_TEMPLATESDIR='"$(templatesdir)"'
%canon_reldir%_ndock_SOURCES += %reldir%/replay.h %reldir%/replay.c %reldir%/replay_line.c %reldir%/replay_call.c
%canon_reldir%_ndock_SOURCES += %reldir%/replay_record.c core/hook/slots.c
%canon_reldir%_ndock_LDADD = libndock.la -lm

# Not for users: libndock starts it when it sees a plug-in for the first time.
pkglibexec_PROGRAMS += %reldir%/ndock-probe
%canon_reldir%_ndock_probe_SOURCES = %reldir%/probe.c
%canon_reldir%_ndock_probe_LDADD = libndock.la

include tools/templates/local.mk
