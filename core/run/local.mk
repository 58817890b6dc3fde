# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Running one operation on one device: kernels looked up, packed, derived, staged; settings of arithmetic; code of programs.
core_run_sources = %reldir%/code.c %reldir%/custom.c %reldir%/derive.c %reldir%/dispatch.c %reldir%/dispatch.h \
  %reldir%/fallback.c %reldir%/fallback.h %reldir%/math.c %reldir%/op_form.c %reldir%/stage.c %reldir%/warmup.c \
  %reldir%/workspace.c %reldir%/workspace_host.c
