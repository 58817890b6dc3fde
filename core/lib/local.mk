# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# What ties the whole: forks, usage of memory.
core_lib_sources = %reldir%/fork.c %reldir%/fork.h %reldir%/usage.c
