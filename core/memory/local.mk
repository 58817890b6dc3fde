# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
core_memory_sources = \
  %reldir%/memory.h \
  %reldir%/hooks.c
