# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Unit tests: one program per source file of core/. Those that look inside link core/libcore.la instead of the library.
io_tests = %reldir%/npy.t %reldir%/idx.t %reldir%/safetensors.t %reldir%/file.t
check_PROGRAMS += $(io_tests)
TESTS += $(io_tests)
%canon_reldir%_npy_t_SOURCES = %reldir%/npy.c %reldir%/io_files.h
%canon_reldir%_npy_t_LDADD = $(test_ldadd)
%canon_reldir%_idx_t_SOURCES = %reldir%/idx.c %reldir%/io_files.h
%canon_reldir%_idx_t_LDADD = $(test_ldadd)
%canon_reldir%_safetensors_t_SOURCES = %reldir%/safetensors.c %reldir%/io_files.h
%canon_reldir%_safetensors_t_LDADD = $(test_ldadd)
%canon_reldir%_file_t_SOURCES = %reldir%/file.c %reldir%/io_files.h
%canon_reldir%_file_t_LDADD = $(test_ldadd)
