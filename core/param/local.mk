# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Parameters: the environment's, and those of plug-ins.
core_param_sources = %reldir%/param.def %reldir%/param.h %reldir%/param.c %reldir%/plugin.c %reldir%/names.c
