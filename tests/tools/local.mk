# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The command's own parts.
check_PROGRAMS += %reldir%/elf.t
TESTS += %reldir%/elf.t
%canon_reldir%_elf_t_SOURCES = %reldir%/elf.c tools/elf.c tools/elf.h tools/elf_find.c
# What `ndock info` says, and that every variable is in core/base/param.def and in ndock(7).
check_PROGRAMS += %reldir%/params.t %reldir%/fallbacks
TESTS += %reldir%/params.t %reldir%/info.sh %reldir%/graph.sh %reldir%/names.sh %reldir%/environment.sh
%canon_reldir%_params_t_SOURCES = %reldir%/params.c
%canon_reldir%_params_t_LDADD = $(test_ldadd)
%canon_reldir%_fallbacks_SOURCES = %reldir%/fallbacks.c
%canon_reldir%_fallbacks_LDADD = $(test_ldadd)
EXTRA_DIST += %reldir%/info.sh %reldir%/graph.sh %reldir%/names.sh %reldir%/environment.sh
