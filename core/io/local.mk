# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The file formats.
core_io_sources = %reldir%/crc32.c %reldir%/crc32.h %reldir%/elements.c %reldir%/elements.h %reldir%/idx.c %reldir%/npy.c %reldir%/npy.h %reldir%/npy_header.c \
  %reldir%/npy_header.h %reldir%/npy_map.c %reldir%/npz.c %reldir%/npz_save.c %reldir%/safetensors.c %reldir%/safetensors.h %reldir%/safetensors_header.c \
  %reldir%/safetensors_save.c %reldir%/zip.h %reldir%/zip_read.c \
  %reldir%/zip_write.c %reldir%/zlib.c %reldir%/zlib.h
