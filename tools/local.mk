# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The command: public API only, and the library's JSON reader and its growing text, which stand alone.
bin_PROGRAMS += %reldir%/ndock
%canon_reldir%_ndock_SOURCES = %reldir%/ndock.c %reldir%/info.c %reldir%/info_ops.c %reldir%/json.c %reldir%/tool.h \
  %reldir%/info_memory.c %reldir%/file.c %reldir%/mem.h %reldir%/mem.c %reldir%/mem_read.c %reldir%/mem_sum.c \
  %reldir%/mem_time.c %reldir%/mem_axis.c %reldir%/mem_chart.c %reldir%/mem_draw.c core/io/json.h core/io/json.c \
  core/text.h core/text.c
%canon_reldir%_ndock_LDADD = libndock.la -lm
# The templates are looked for beside the command first.
%canon_reldir%_ndock_SOURCES += %reldir%/new_plugin.h %reldir%/new_plugin.c %reldir%/new_plugin_files.c
%canon_reldir%_ndock_CPPFLAGS = $(AM_CPPFLAGS) -DND_TEMPLATESDIR='"$(templatesdir)"'
include tools/templates/local.mk
