# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Fuzzing of what reads files. In make check each target runs its seeds and a few thousand fixed
# mutations; `make fuzz` (clang) runs each under libFuzzer for FUZZ_SECONDS, in _fuzz/.
fuzz_programs = %reldir%/npy.t %reldir%/idx.t %reldir%/safetensors.t \
  %reldir%/view.t %reldir%/name.t %reldir%/cai.t
check_PROGRAMS += $(fuzz_programs)
TESTS += $(fuzz_programs)
fuzz_sources = %reldir%/fuzz.h %reldir%/replay.c tests/tap.h
fuzz_seeds = $(AM_CPPFLAGS) -DFUZZ_SEEDS='"$(abs_srcdir)/%reldir%/seeds/

%canon_reldir%_npy_t_SOURCES = %reldir%/fuzz_npy.c $(fuzz_sources)
%canon_reldir%_npy_t_CPPFLAGS = $(fuzz_seeds)npy"'
%canon_reldir%_npy_t_LDADD = $(test_ldadd)
%canon_reldir%_idx_t_SOURCES = %reldir%/fuzz_idx.c $(fuzz_sources)
%canon_reldir%_idx_t_CPPFLAGS = $(fuzz_seeds)idx"'
%canon_reldir%_idx_t_LDADD = $(test_ldadd)
%canon_reldir%_safetensors_t_SOURCES = %reldir%/fuzz_safetensors.c $(fuzz_sources)
%canon_reldir%_safetensors_t_CPPFLAGS = $(fuzz_seeds)safetensors"'
%canon_reldir%_safetensors_t_LDADD = $(test_ldadd)
%canon_reldir%_view_t_SOURCES = %reldir%/fuzz_view.c $(fuzz_sources)
%canon_reldir%_view_t_CPPFLAGS = $(fuzz_seeds)view"'
%canon_reldir%_view_t_LDADD = $(test_ldadd)
%canon_reldir%_name_t_SOURCES = %reldir%/fuzz_name.c $(fuzz_sources)
%canon_reldir%_name_t_CPPFLAGS = $(fuzz_seeds)name"'
%canon_reldir%_name_t_LDADD = $(test_ldadd)
%canon_reldir%_cai_t_SOURCES = %reldir%/fuzz_cai.c $(fuzz_sources)
%canon_reldir%_cai_t_CPPFLAGS = $(fuzz_seeds)cai"'
%canon_reldir%_cai_t_LDADD = $(test_ldadd)

fuzz_programs += %reldir%/elf.t
%canon_reldir%_elf_t_SOURCES = %reldir%/fuzz_elf.c tools/elf.c tools/elf.h $(fuzz_sources)
%canon_reldir%_elf_t_CPPFLAGS = $(fuzz_seeds)elf"'
EXTRA_DIST += %reldir%/seeds/elf/gnu_hash %reldir%/seeds/elf/sysv_hash

fuzz_programs += %reldir%/note.t
%canon_reldir%_note_t_SOURCES = %reldir%/fuzz_note.c $(fuzz_sources)
%canon_reldir%_note_t_CPPFLAGS = $(fuzz_seeds)note"'
%canon_reldir%_note_t_LDADD = $(core_ldadd)

FUZZ_SECONDS = 600
FUZZ_TARGETS = npy idx safetensors view name cai
FUZZ_TARGETS += elf
FUZZ_TARGETS += note
fuzz: all
	$(AM_V_at)FUZZ_CC='$(FUZZ_CC)' FUZZ_FLAGS='$(AM_CPPFLAGS)' FUZZ_SECONDS='$(FUZZ_SECONDS)' \
	  FUZZ_TARGETS='$(FUZZ_TARGETS)' NDOCK_PLUGIN_PATH='$(test_plugin_path)' \
	  $(SHELL) $(srcdir)/%reldir%/fuzz.sh $(srcdir) $(core_sources) tools/elf.c
.PHONY: fuzz

EXTRA_DIST += %reldir%/fuzz.sh \
  %reldir%/seeds/npy/big_endian %reldir%/seeds/npy/empty %reldir%/seeds/npy/fortran \
  %reldir%/seeds/npy/matrix %reldir%/seeds/npy/opaque %reldir%/seeds/npy/scalar \
  %reldir%/seeds/npy/structured %reldir%/seeds/npy/version2 %reldir%/seeds/npy/version3 \
  %reldir%/seeds/idx/f32 %reldir%/seeds/idx/gzip %reldir%/seeds/idx/i16 \
  %reldir%/seeds/idx/members %reldir%/seeds/idx/rank10 %reldir%/seeds/idx/ratio \
  %reldir%/seeds/idx/scalar %reldir%/seeds/idx/stored %reldir%/seeds/idx/u8 \
  %reldir%/seeds/safetensors/empty %reldir%/seeds/safetensors/escapes \
  %reldir%/seeds/safetensors/overlap %reldir%/seeds/safetensors/scalar \
  %reldir%/seeds/safetensors/two %reldir%/seeds/safetensors/unknown \
  %reldir%/seeds/view/broadcast %reldir%/seeds/view/diagonal %reldir%/seeds/view/reshape \
  %reldir%/seeds/view/slice %reldir%/seeds/view/strided %reldir%/seeds/view/wild \
  %reldir%/seeds/cai/address %reldir%/seeds/cai/bf16 %reldir%/seeds/cai/dense \
  %reldir%/seeds/cai/masked %reldir%/seeds/cai/negative %reldir%/seeds/cai/overflow \
  %reldir%/seeds/cai/stream %reldir%/seeds/cai/transposed \
  %reldir%/seeds/name/auto %reldir%/seeds/name/bf16 %reldir%/seeds/name/cpu \
  %reldir%/seeds/name/cpu0 %reldir%/seeds/name/dtype %reldir%/seeds/name/far %reldir%/seeds/name/op \
  %reldir%/seeds/note/whole %reldir%/seeds/note/alone %reldir%/seeds/note/padded \
  %reldir%/seeds/note/two %reldir%/seeds/note/abi %reldir%/seeds/note/machine \
  %reldir%/seeds/note/bits32 %reldir%/seeds/note/big_endian %reldir%/seeds/note/absent \
  %reldir%/seeds/note/text %reldir%/seeds/note/cut
