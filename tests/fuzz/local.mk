# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Fuzzing of what reads files. In make check each target runs its seeds and a few thousand fixed
# mutations; `make check-fuzz` runs each for FUZZ_SLICE seconds on others every time, FUZZ_JOBS side by side, best in the tree of
# a sanitizer; `make fuzz` (clang) runs each under libFuzzer for FUZZ_SECONDS, in _fuzz/.
fuzz_programs = %reldir%/npy.t %reldir%/csv.t %reldir%/gguf.t %reldir%/npz.t %reldir%/idx.t %reldir%/safetensors.t \
  %reldir%/view.t %reldir%/name.t %reldir%/cai.t
check_PROGRAMS += $(fuzz_programs)
TESTS += $(fuzz_programs)
fuzz_sources = %reldir%/fuzz.h %reldir%/replay.c tests/tap.h
fuzz_seeds = $(AM_CPPFLAGS) -DFUZZ_SEEDS='"$(abs_srcdir)/%reldir%/seeds/

%canon_reldir%_npy_t_SOURCES = %reldir%/fuzz_npy.c $(fuzz_sources)
%canon_reldir%_npy_t_CPPFLAGS = $(fuzz_seeds)npy"'
%canon_reldir%_npy_t_LDADD = $(test_ldadd)
%canon_reldir%_npz_t_SOURCES = %reldir%/fuzz_npz.c $(fuzz_sources)
%canon_reldir%_npz_t_CPPFLAGS = $(fuzz_seeds)npz"'
%canon_reldir%_npz_t_LDADD = $(test_ldadd)
%canon_reldir%_gguf_t_SOURCES = %reldir%/fuzz_gguf.c $(fuzz_sources)
%canon_reldir%_gguf_t_CPPFLAGS = $(fuzz_seeds)gguf"'
%canon_reldir%_gguf_t_LDADD = $(test_ldadd)
%canon_reldir%_csv_t_SOURCES = %reldir%/fuzz_csv.c $(fuzz_sources)
%canon_reldir%_csv_t_CPPFLAGS = $(fuzz_seeds)csv"'
%canon_reldir%_csv_t_LDADD = $(test_ldadd)
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

# Tools that read files, and parts of the core that do: with the objects they are made of.
fuzz_tool_sources = tools/mem/read.c tools/mem/sum.c tools/mem/time.c tools/mem/axis.c tools/mem/chart.c tools/mem/draw.c \
  tools/info/suggest.c tools/json.c tools/file.c tools/list.c \
  tools/replay/replay.c tools/replay/line.c tools/replay/call.c tools/replay/record.c tools/graph/read.c tools/graph/draw.c
fuzz_programs += %reldir%/mem.t %reldir%/suggest.t %reldir%/trace.t %reldir%/conf.t %reldir%/store.t %reldir%/rules.t
%canon_reldir%_mem_t_SOURCES = %reldir%/fuzz_mem.c tools/mem/mem.h tools/mem/read.c tools/mem/sum.c tools/mem/time.c \
  tools/mem/axis.c tools/mem/chart.c tools/mem/draw.c tools/json.c tools/file.c $(fuzz_sources)
%canon_reldir%_mem_t_CPPFLAGS = $(fuzz_seeds)mem"'
%canon_reldir%_mem_t_LDADD = $(core_ldadd)
%canon_reldir%_suggest_t_SOURCES = %reldir%/fuzz_suggest.c tools/tool.h tools/info/suggest.c tools/json.c tools/mem/sum.c tools/file.c $(fuzz_sources)
%canon_reldir%_suggest_t_CPPFLAGS = $(fuzz_seeds)suggest"'
%canon_reldir%_suggest_t_LDADD = $(core_ldadd)
%canon_reldir%_trace_t_SOURCES = %reldir%/fuzz_trace.c tools/tool.h tools/replay/replay.h tools/replay/replay.c \
  tools/replay/line.c tools/replay/call.c tools/replay/record.c tools/list.c tools/file.c $(fuzz_sources)
%canon_reldir%_trace_t_CPPFLAGS = $(fuzz_seeds)trace"'
%canon_reldir%_trace_t_LDADD = $(core_ldadd)
%canon_reldir%_conf_t_SOURCES = %reldir%/fuzz_conf.c $(fuzz_sources)
%canon_reldir%_conf_t_CPPFLAGS = $(fuzz_seeds)conf"'
%canon_reldir%_conf_t_LDADD = $(core_ldadd)
%canon_reldir%_store_t_SOURCES = %reldir%/fuzz_store.c $(fuzz_sources)
%canon_reldir%_store_t_CPPFLAGS = $(fuzz_seeds)store"'
%canon_reldir%_store_t_LDADD = $(core_ldadd)
%canon_reldir%_rules_t_SOURCES = %reldir%/fuzz_rules.c $(fuzz_sources)
%canon_reldir%_rules_t_CPPFLAGS = $(fuzz_seeds)rules"'
%canon_reldir%_rules_t_LDADD = $(core_ldadd)

# What was added since: expressions, graphs, quantised arrays, dumps of graphs, and where ranks meet.
fuzz_programs += %reldir%/expr.t %reldir%/graph.t %reldir%/quant.t %reldir%/show.t %reldir%/meeting.t
%canon_reldir%_expr_t_SOURCES = %reldir%/fuzz_expr.c $(fuzz_sources)
%canon_reldir%_expr_t_CPPFLAGS = $(fuzz_seeds)expr"'
%canon_reldir%_expr_t_LDADD = $(test_ldadd)
%canon_reldir%_graph_t_SOURCES = %reldir%/fuzz_graph.c $(fuzz_sources)
%canon_reldir%_graph_t_CPPFLAGS = $(fuzz_seeds)graph"'
%canon_reldir%_graph_t_LDADD = $(test_ldadd)
%canon_reldir%_quant_t_SOURCES = %reldir%/fuzz_quant.c $(fuzz_sources)
%canon_reldir%_quant_t_CPPFLAGS = $(fuzz_seeds)quant"'
%canon_reldir%_quant_t_LDADD = $(test_ldadd)
%canon_reldir%_show_t_SOURCES = %reldir%/fuzz_show.c tools/graph/graph.h tools/graph/read.c tools/graph/draw.c tools/tool.h \
  tools/json.c tools/file.c $(fuzz_sources)
%canon_reldir%_show_t_CPPFLAGS = $(fuzz_seeds)show"'
%canon_reldir%_show_t_LDADD = $(core_ldadd)
%canon_reldir%_meeting_t_SOURCES = %reldir%/fuzz_meeting.c $(fuzz_sources)
%canon_reldir%_meeting_t_CPPFLAGS = $(fuzz_seeds)meeting"'
%canon_reldir%_meeting_t_LDADD = $(core_ldadd)

FUZZ_SECONDS = 600
FUZZ_TARGETS = npy csv gguf npz idx safetensors view name cai elf note mem suggest trace conf store rules \
  expr graph quant show meeting
fuzz: all
	$(AM_V_at)FUZZ_CC='$(FUZZ_CC)' FUZZ_FLAGS='$(AM_CPPFLAGS)' FUZZ_SECONDS='$(FUZZ_SECONDS)' \
	  FUZZ_TARGETS='$(FUZZ_TARGETS)' NDOCK_PLUGIN_PATH='$(test_plugin_path)' \
	  $(SHELL) $(srcdir)/%reldir%/fuzz.sh $(srcdir) $(core_sources) tools/elf.c $(fuzz_tool_sources)
FUZZ_SLICE = 4
FUZZ_JOBS = 2
check-fuzz: all $(fuzz_programs)
	$(AM_V_at)printf '%s\n' $(fuzz_programs) | NDOCK_PLUGIN_PATH='$(test_plugin_path)' NDOCK_FUZZ_SECONDS='$(FUZZ_SLICE)' \
	  xargs -P '$(FUZZ_JOBS)' -I '{}' sh -c './{} >{}.out 2>&1 || { echo "FAIL: {}"; cat {}.out; exit 1; }; \
	  sed -n "s#^ok .* - \([0-9]* mutations\)#{}: \1#p" {}.out'
MOSTLYCLEANFILES += %reldir%/*.out
.PHONY: fuzz check-fuzz

# Calls of the Python package with hostile objects; in sanitizer builds (--enable-sanitizer) any bad access ends them.
EXTRA_DIST += %reldir%/objects.py %reldir%/hostile.py %reldir%/formulas.py
if HAVE_PYTHON_HEADERS
TESTS += %reldir%/objects.py %reldir%/formulas.py
endif
FUZZ_SEED = 1
fuzz-python: all
	$(AM_V_at)NDOCK_PLUGIN_PATH='$(test_plugin_path)' $(python_test_env) $(PYTHON) -B $(srcdir)/%reldir%/objects.py \
	  --seconds $(FUZZ_SECONDS) --seed $(FUZZ_SEED)
.PHONY: fuzz-python

EXTRA_DIST += tests/data/gguf_seeds.py
EXTRA_DIST += %reldir%/fuzz.sh \
  %reldir%/seeds/npy/big_endian %reldir%/seeds/npy/empty %reldir%/seeds/npy/fortran \
  %reldir%/seeds/npy/matrix %reldir%/seeds/npy/opaque %reldir%/seeds/npy/scalar \
  %reldir%/seeds/npy/structured %reldir%/seeds/npy/version2 %reldir%/seeds/npy/version3 \
  %reldir%/seeds/npz/deflated %reldir%/seeds/npz/descriptor %reldir%/seeds/npz/numpy \
  %reldir%/seeds/npz/own %reldir%/seeds/npz/stream %reldir%/seeds/npz/text \
  %reldir%/seeds/gguf/aligned %reldir%/seeds/gguf/blocks %reldir%/seeds/gguf/empty %reldir%/seeds/gguf/other \
  %reldir%/seeds/gguf/plain %reldir%/seeds/gguf/zero_and_huge \
  %reldir%/seeds/csv/blanks %reldir%/seeds/csv/columns %reldir%/seeds/csv/complex \
  %reldir%/seeds/csv/digits %reldir%/seeds/csv/format %reldir%/seeds/csv/integers \
  %reldir%/seeds/csv/plain %reldir%/seeds/csv/quotes \
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
EXTRA_DIST += \
  %reldir%/seeds/mem/empty %reldir%/seeds/mem/huge %reldir%/seeds/mem/whole %reldir%/seeds/suggest/empty \
  %reldir%/seeds/suggest/huge %reldir%/seeds/suggest/items %reldir%/seeds/suggest/version \
  %reldir%/seeds/expr/applied %reldir%/seeds/expr/bundle %reldir%/seeds/expr/reduced \
  %reldir%/seeds/graph/captured %reldir%/seeds/graph/rebound %reldir%/seeds/graph/split \
  %reldir%/seeds/quant/q4_0 %reldir%/seeds/quant/q6_K %reldir%/seeds/quant/q8_0 \
  %reldir%/seeds/show/empty %reldir%/seeds/show/whole %reldir%/seeds/show/wrong \
  %reldir%/seeds/meeting/get %reldir%/seeds/meeting/set %reldir%/seeds/meeting/stranger \
  %reldir%/seeds/conf/file \
  %reldir%/seeds/conf/folder %reldir%/seeds/conf/no_path %reldir%/seeds/conf/relative %reldir%/seeds/conf/two \
  %reldir%/seeds/store/cut %reldir%/seeds/store/no_code %reldir%/seeds/store/other_key \
  %reldir%/seeds/store/unsigned %reldir%/seeds/store/version %reldir%/seeds/store/whole \
  %reldir%/seeds/rules/every %reldir%/seeds/rules/from %reldir%/seeds/rules/list %reldir%/seeds/rules/nth \
  %reldir%/seeds/trace/allocate %reldir%/seeds/trace/compute %reldir%/seeds/trace/nbytes_wraps \
  %reldir%/seeds/trace/no_block %reldir%/seeds/trace/write_outside

# Random calls of the C API, by the table of tests/calls; in make check ten thousand of them.
check_PROGRAMS += %reldir%/calls.t
TESTS += %reldir%/calls.t
%canon_reldir%_calls_t_SOURCES = %reldir%/fuzz_calls.c %reldir%/fuzz_values.c %reldir%/fuzz_calls.h tests/calls/things.c tests/calls/things.h tests/calls/world.c tests/calls/calls.h tests/calls/world.h
nodist_%canon_reldir%_calls_t_SOURCES = tests/calls/calls.inc
%canon_reldir%_calls_t_LDADD = $(test_ldadd)
%reldir%/fuzz_calls.$(OBJEXT): tests/calls/calls.inc
fuzz-calls: %reldir%/calls.t
	NDOCK_PLUGIN_PATH='$(test_plugin_path)' %reldir%/calls.t --seconds $(FUZZ_SECONDS) --seed $(FUZZ_SEED)
.PHONY: fuzz-calls
