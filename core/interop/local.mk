# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Exchange with other libraries: part of core_sources in core/local.mk, which includes this.
core_interop_sources = \
  %reldir%/interop.h %reldir%/dlpack.h \
  %reldir%/sharing.c \
  %reldir%/foreign.c \
  %reldir%/pointer.c \
  %reldir%/typestr.c \
  %reldir%/settings.c \
  %reldir%/cai_export.c \
  %reldir%/cai_import.c \
  %reldir%/dlpack_export.c \
  %reldir%/dlpack_import.c
