# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The file formats.
core_io_sources = %reldir%/crc32.c %reldir%/crc32.h %reldir%/csv_format.c %reldir%/csv_format.h %reldir%/csv_read.c \
  %reldir%/csv_save.c %reldir%/decimal.c %reldir%/decimal.h %reldir%/elements.c %reldir%/elements.h %reldir%/gguf.c %reldir%/gguf.h %reldir%/gguf_parse.c \
  %reldir%/gguf_save.c %reldir%/gguf_type.c %reldir%/gguf_value.c %reldir%/idx.c %reldir%/npy.c %reldir%/npy.h %reldir%/npy_header.c \
  %reldir%/npy_header.h %reldir%/npy_map.c %reldir%/npz.c %reldir%/npz_save.c %reldir%/number.h \
  %reldir%/number_read.c %reldir%/number_write.c %reldir%/safetensors.c %reldir%/safetensors.h %reldir%/safetensors_header.c \
  %reldir%/safetensors_save.c %reldir%/zip.h %reldir%/zip_read.c \
  %reldir%/zip_write.c %reldir%/zlib.c %reldir%/zlib.h
