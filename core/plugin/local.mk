# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Plug-ins: where they come from, what their files say, whether they are trusted, tried and loaded, and their devices.
core_plugin_sources = %reldir%/loader.c %reldir%/registry.c %reldir%/host.c %reldir%/note.h %reldir%/note.c \
  %reldir%/note_fit.c %reldir%/loader.h %reldir%/discover.c %reldir%/trust.c %reldir%/choose.c %reldir%/plugins.c \
  %reldir%/trial.c %reldir%/trial_run.c %reldir%/acl.c %reldir%/settings.c %reldir%/visible.c %reldir%/advice.c
