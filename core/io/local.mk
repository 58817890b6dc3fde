# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The file formats: part of core_sources in core/local.mk, which includes this.
core_io_sources = %reldir%/file.h %reldir%/file.c %reldir%/elements.h %reldir%/elements.c \
  %reldir%/json.h %reldir%/json.c %reldir%/npy_header.h %reldir%/npy_header.c %reldir%/npy.c \
  %reldir%/zlib.h %reldir%/zlib.c %reldir%/idx.c \
  %reldir%/safetensors.h %reldir%/safetensors_header.c %reldir%/safetensors.c \
  %reldir%/safetensors_save.c
