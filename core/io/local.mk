# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The file formats; included by core/local.mk. %D% is not used, since the list goes into its sources.
core_io_sources = core/io/file.h core/io/file.c core/io/elements.h core/io/elements.c \
  core/io/json.h core/io/json.c core/io/npy_header.h core/io/npy_header.c core/io/npy.c \
  core/io/zlib.h core/io/zlib.c core/io/idx.c \
  core/io/safetensors.h core/io/safetensors.c core/io/safetensors_save.c
