# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The command's own parts.
check_PROGRAMS += %reldir%/elf.t
TESTS += %reldir%/elf.t
%canon_reldir%_elf_t_SOURCES = %reldir%/elf.c tools/elf.c tools/elf.h tools/elf_find.c
