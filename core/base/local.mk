# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# What stands on nothing: status, text, locks, threads, the log, the environment, files, JSON, the store of files.
core_base_sources = %reldir%/base.h %reldir%/env.c %reldir%/env.h %reldir%/file.c %reldir%/file.h %reldir%/fork.h \
  %reldir%/json.c %reldir%/json.h %reldir%/lifecycle.h %reldir%/lock.h %reldir%/log.c %reldir%/param.def %reldir%/settings.c \
  %reldir%/settings.h %reldir%/sha256.c %reldir%/source_line.c %reldir%/source_line.h %reldir%/status.c %reldir%/store.c \
  %reldir%/store.h %reldir%/store_dir.c %reldir%/store_scan.c %reldir%/temporary.c %reldir%/temporary.h %reldir%/text.c %reldir%/text.h %reldir%/thread.c \
  %reldir%/thread.h %reldir%/version.c
