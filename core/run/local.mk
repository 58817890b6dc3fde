# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Running one operation on one device: kernels looked up, packed, derived, staged; settings of arithmetic; code of programs.
core_run_sources = %reldir%/callback.c %reldir%/code.c %reldir%/code.h %reldir%/derive.c %reldir%/dispatch.c %reldir%/dispatch.h \
  %reldir%/execute.c %reldir%/fallback.c %reldir%/fallback.h %reldir%/kernels.c %reldir%/launch.c %reldir%/math.c %reldir%/op_form.c \
  %reldir%/pack.c %reldir%/plan_device.c %reldir%/registered.c %reldir%/run.h %reldir%/stage.c %reldir%/warmup.c \
  %reldir%/workspace.c %reldir%/workspace.h %reldir%/workspace_host.c
