# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# What ties the whole: forks, usage of memory.
core_lib_sources = %reldir%/lifecycle.c %reldir%/lifecycle.def %reldir%/params.c %reldir%/usage.c
