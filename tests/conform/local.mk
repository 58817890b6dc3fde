# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The conformance suite: one program, a device by name; run on cpu here. NDOCK_CONFORM_COUNT cases an operation.
conform_sources = %reldir%/conform.h %reldir%/conform.c %reldir%/main.c %reldir%/kit.c %reldir%/cell.c %reldir%/view.c \
  %reldir%/oracle.c %reldir%/special.c %reldir%/special.h %reldir%/special_gamma.c \
  %reldir%/elementwise.c %reldir%/copy.c %reldir%/reduce.c %reldir%/accuracy.c %reldir%/fft.c %reldir%/groups.c %reldir%/norm.c %reldir%/neural.c %reldir%/attention.c \
  %reldir%/linalg.c %reldir%/matmul.c %reldir%/scaled_mm.c %reldir%/indexing.c %reldir%/sorting.c %reldir%/selection.c %reldir%/draws.c %reldir%/generator.h \
  %reldir%/samplers.c %reldir%/samplers.h %reldir%/random.c %reldir%/manip.c \
  %reldir%/views.c %reldir%/errors.c %reldir%/grid.h %reldir%/grid.c %reldir%/positions.h %reldir%/order.h \
  %reldir%/scatter.c %reldir%/select.c %reldir%/sets.c %reldir%/create.c %reldir%/assign.c \
  %reldir%/runtime_ops.c %reldir%/slice.c %reldir%/claims.c %reldir%/large.c %reldir%/bools.c %reldir%/ties.c %reldir%/zeros.c \
  %reldir%/into.h %reldir%/into.c %reldir%/into_table.c %reldir%/edges.c \
  %reldir%/works.h %reldir%/works.c %reldir%/growth.c %reldir%/together.c %reldir%/modes.c \
  %reldir%/contract.c %reldir%/conv.c %reldir%/pool.c %reldir%/training.c %reldir%/long_sums.c %reldir%/margins.c %reldir%/quant.c %reldir%/fused.c
check_PROGRAMS += %reldir%/conform.t
TESTS += %reldir%/conform.t
%canon_reldir%_conform_t_SOURCES = $(conform_sources)
%canon_reldir%_conform_t_LDADD = $(test_ldadd) -lm -lpthread

# The same program as `ndock conform` runs it, installed; see tools/conform/conform.c.
pkglibexec_PROGRAMS += %reldir%/conform-ops
%canon_reldir%_conform_ops_SOURCES = $(conform_sources)
%canon_reldir%_conform_ops_LDADD = $(test_ldadd) -lm -lpthread

# 10,000 random views a function, as long as that takes.
check-long: %reldir%/conform.t
	$(AM_V_at)NDOCK_PLUGIN_PATH='$(test_plugin_path)' ./%reldir%/conform.t --count 10000
.PHONY: check-long

# The same bits for every thread count and SIMD level.
check_PROGRAMS += %reldir%/bits
TESTS += %reldir%/bits.sh %reldir%/sim.sh %reldir%/into.sh
EXTRA_DIST += %reldir%/bits.sh %reldir%/sim.sh %reldir%/into.sh
%canon_reldir%_bits_SOURCES = %reldir%/bits.c
%canon_reldir%_bits_LDADD = $(test_ldadd)
