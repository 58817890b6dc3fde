# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# What stands on nothing: status, text, locks, threads, the log, files, JSON, the store of files, parameters.
core_base_sources = %reldir%/file.c %reldir%/file.h %reldir%/json.c %reldir%/json.h %reldir%/lock.h %reldir%/log.c \
  %reldir%/sha256.c %reldir%/source_line.c %reldir%/status.c %reldir%/store.c %reldir%/store_scan.c %reldir%/text.c \
  %reldir%/text.h %reldir%/thread.c %reldir%/param/names.c %reldir%/param/param.c %reldir%/param/param.def \
  %reldir%/param/param.h %reldir%/param/plugin.c
