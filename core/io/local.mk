# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The file formats.
core_io_sources = %reldir%/elements.c %reldir%/elements.h %reldir%/idx.c %reldir%/npy.c %reldir%/npy_header.c \
  %reldir%/npy_header.h %reldir%/safetensors.c %reldir%/safetensors.h %reldir%/safetensors_header.c \
  %reldir%/safetensors_save.c %reldir%/zlib.c %reldir%/zlib.h
