# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The OpenMP CPU plug-in. Files of cpu_isa_sources are compiled once per SIMD level; the rest once.
cpu_isa_sources = \
  %reldir%/conv/conv_isa.c %reldir%/copy/copy_isa.c \
  %reldir%/elementwise/elementwise_complex_isa.c %reldir%/elementwise/elementwise_isa.c \
  %reldir%/linalg/leaf_isa.c \
  %reldir%/fft/fft_f32_isa.c %reldir%/fft/fft_f64_isa.c \
  %reldir%/matmul/matmul_isa.c \
  %reldir%/norm/norm_isa.c %reldir%/norm/single_isa.c \
  %reldir%/pool/pool_isa.c \
  %reldir%/program/chain_isa.c \
  %reldir%/attention/rows_isa.c \
  %reldir%/quant/quant_isa.c \
  %reldir%/random/random_isa.c %reldir%/random/sampler_isa.c \
  %reldir%/reduce/reduce_isa.c \
  %reldir%/index/search_isa.c %reldir%/index/select_isa.c \
  %reldir%/sort/sort_isa.c
cpu_cppflags = $(AM_CPPFLAGS) -I$(top_srcdir)/%reldir% -DCPU_ISA_HIGHEST=$(ND_CPU_ISA_HIGHEST) -DCPU_HAS_AMX=$(ND_AMX) $(ND_CPU_CALLS)
cpu_cflags = $(AM_CFLAGS) $(OPENMP_CFLAGS) $(ND_KERNEL_CFLAGS)

noinst_LTLIBRARIES += %reldir%/libcpu-baseline.la
%canon_reldir%_libcpu_baseline_la_SOURCES = $(cpu_isa_sources)
%canon_reldir%_libcpu_baseline_la_CPPFLAGS = $(cpu_cppflags) -DCPU_ISA_SUFFIX=baseline -DCPU_ISA_LEVEL=0
%canon_reldir%_libcpu_baseline_la_CFLAGS = $(cpu_cflags)
cpu_variants = %reldir%/libcpu-baseline.la

if HAVE_AVX2_VARIANT
noinst_LTLIBRARIES += %reldir%/libcpu-avx2.la
%canon_reldir%_libcpu_avx2_la_SOURCES = $(cpu_isa_sources)
%canon_reldir%_libcpu_avx2_la_CPPFLAGS = $(cpu_cppflags) -DCPU_ISA_SUFFIX=avx2 -DCPU_ISA_LEVEL=1
%canon_reldir%_libcpu_avx2_la_CFLAGS = $(cpu_cflags) $(ND_AVX2_CFLAGS)
cpu_variants += %reldir%/libcpu-avx2.la
endif
cpu_avx512_cppflags = $(cpu_cppflags) -DCPU_ISA_SUFFIX=avx512 -DCPU_ISA_LEVEL=2
cpu_avx512_cflags = $(cpu_cflags) $(ND_AVX512_CFLAGS)
if HAVE_AVX512_VARIANT
noinst_LTLIBRARIES += %reldir%/libcpu-avx512.la
%canon_reldir%_libcpu_avx512_la_SOURCES = $(cpu_isa_sources)
%canon_reldir%_libcpu_avx512_la_CPPFLAGS = $(cpu_avx512_cppflags)
%canon_reldir%_libcpu_avx512_la_CFLAGS = $(cpu_avx512_cflags)
cpu_variants += %reldir%/libcpu-avx512.la

# What has sums of integer products, for processors with AVX-512 VNNI.
noinst_LTLIBRARIES += %reldir%/libcpu-avx512vnni.la
%canon_reldir%_libcpu_avx512vnni_la_SOURCES = %reldir%/quant/quant_isa.c
%canon_reldir%_libcpu_avx512vnni_la_CPPFLAGS = $(cpu_cppflags) -DCPU_ISA_SUFFIX=avx512vnni -DCPU_ISA_LEVEL=2
%canon_reldir%_libcpu_avx512vnni_la_CFLAGS = $(cpu_avx512_cflags) -mavx512vnni
cpu_variants += %reldir%/libcpu-avx512vnni.la
endif

# What the tiles of AMX compute.
if HAVE_AMX
noinst_LTLIBRARIES += %reldir%/libcpu-amx.la
%canon_reldir%_libcpu_amx_la_SOURCES = %reldir%/conv/pairs_amx.c
%canon_reldir%_libcpu_amx_la_CPPFLAGS = $(cpu_cppflags)
%canon_reldir%_libcpu_amx_la_CFLAGS = $(cpu_cflags) $(ND_AMX_CFLAGS)
cpu_variants += %reldir%/libcpu-amx.la
endif

# Whether the kernels for AVX-512 compile, on an x86-64 that need not have it, in a seventh of the time that fast code would take.
check-avx512:
	@for file in $(cpu_isa_sources); do \
	  echo "  CHECK   $$file"; \
	  $(CC) $(DEFS) $(DEFAULT_INCLUDES) $(INCLUDES) $(cpu_avx512_cppflags) $(CPPFLAGS) $(cpu_avx512_cflags) $(CFLAGS) -O0 -w -c -o /dev/null \
	    "$(srcdir)/$$file" || exit 1; \
	done
	@echo "  CHECK   for AVX-512 VNNI"
	@$(CC) $(DEFS) $(DEFAULT_INCLUDES) $(INCLUDES) $(cpu_avx512_cppflags) $(CPPFLAGS) $(cpu_avx512_cflags) -mavx512vnni $(CFLAGS) -O0 -w -c -o /dev/null \
	  "$(srcdir)/%reldir%/quant/quant_isa.c"
.PHONY: check-avx512

plugin_LTLIBRARIES += %reldir%/ndock-cpu.la
%canon_reldir%_ndock_cpu_la_SOURCES = \
  %reldir%/classes.def %reldir%/op.c %reldir%/plugin.c \
  %reldir%/comm/collective.c %reldir%/comm/comm.h %reldir%/comm/message.c %reldir%/comm/segment.c \
  %reldir%/conv/beside.c %reldir%/conv/beside_tmpl.h %reldir%/conv/conv.c %reldir%/conv/conv.h %reldir%/conv/depthwise.c %reldir%/conv/direct.c %reldir%/conv/direct.h %reldir%/conv/direct_tmpl.h %reldir%/conv/grid.c %reldir%/conv/pack_avx2.h %reldir%/conv/pack_tmpl.h %reldir%/conv/pairs.c %reldir%/conv/pairs.h %reldir%/conv/pairs_conv.c %reldir%/conv/pairs_pack.c %reldir%/conv/pairs_sums.h %reldir%/conv/pairs_weight.c %reldir%/conv/plan.c %reldir%/conv/plane.c %reldir%/conv/plane.h %reldir%/conv/plane_pack.c %reldir%/conv/pointwise.c %reldir%/conv/plane_tmpl.h %reldir%/conv/dot_tmpl.h %reldir%/conv/weight_beside.c %reldir%/conv/weight_direct.c %reldir%/conv/weight_plane.c \
  %reldir%/conv/tap_tmpl.h %reldir%/conv/turn_avx2.h %reldir%/conv/turn_tmpl.h %reldir%/conv/weight.c %reldir%/conv/weight.h %reldir%/conv/weight_pack.c %reldir%/conv/widen.c \
  %reldir%/copy/cast.h %reldir%/copy/cast_loop_tmpl.h %reldir%/copy/cast_tmpl.h %reldir%/copy/copy.c %reldir%/copy/copy.h \
  %reldir%/copy/iota.c %reldir%/copy/move_tmpl.h %reldir%/copy/second_tmpl.h %reldir%/copy/tiles.c \
  %reldir%/elementwise/divide.h %reldir%/elementwise/arith_tmpl.h %reldir%/elementwise/divide_tmpl.h %reldir%/elementwise/blocks.c %reldir%/elementwise/blocks.h %reldir%/elementwise/elementwise.c %reldir%/elementwise/elementwise.h %reldir%/elementwise/loops.h \
  %reldir%/elementwise/functions.h %reldir%/elementwise/lanes.h %reldir%/elementwise/loops_tmpl.h \
  %reldir%/fft/fft.c %reldir%/fft/fft.h %reldir%/fft/fftw.c %reldir%/fft/fftw.h %reldir%/host/choice.h %reldir%/fft/lanes_tmpl.h %reldir%/fft/line.c %reldir%/fft/line.h \
  %reldir%/fft/line_tmpl.h %reldir%/fft/node_tmpl.h %reldir%/fft/odd_tmpl.h %reldir%/fft/pass_tmpl.h %reldir%/fft/plan.c %reldir%/fft/real_tmpl.h \
  %reldir%/fft/roots.c %reldir%/fft/shape.c %reldir%/fft/vector_tmpl.h \
  %reldir%/compiler/compiler.c %reldir%/compiler/compiler.h %reldir%/compiler/object.c %reldir%/compiler/source.c \
  %reldir%/host/bell.h %reldir%/host/code.c %reldir%/host/cpu.h %reldir%/host/host.c %reldir%/host/isa.c %reldir%/host/memory.c \
  %reldir%/host/ahead.h %reldir%/host/grain.h %reldir%/host/params.c %reldir%/host/quota.c %reldir%/host/quota.h %reldir%/host/scalar.c %reldir%/host/slots.h %reldir%/host/threads.c \
  %reldir%/index/count.c %reldir%/index/count_tmpl.h %reldir%/index/index.c %reldir%/index/index.h %reldir%/index/plan.c %reldir%/index/scatter.c %reldir%/index/scatter_loop_tmpl.h \
  %reldir%/index/eights.h %reldir%/index/scatter_tmpl.h %reldir%/index/search.c %reldir%/index/search.h %reldir%/index/search_tmpl.h %reldir%/index/select.c %reldir%/index/select.h \
  %reldir%/index/select_tmpl.h %reldir%/index/take.c %reldir%/index/take_tmpl.h \
  %reldir%/linalg/batch.c %reldir%/linalg/eigen.c %reldir%/linalg/factor.c %reldir%/linalg/iterate_tmpl.h \
  %reldir%/linalg/lapack.c %reldir%/linalg/lapack.h %reldir%/linalg/lapack_calls.h \
  %reldir%/linalg/lapack_eigen.c %reldir%/linalg/lapack_factor.c %reldir%/linalg/lapack_svd.c \
  %reldir%/linalg/leaf_tmpl.h %reldir%/linalg/linalg.h %reldir%/linalg/own.c %reldir%/linalg/product.c %reldir%/linalg/reduce.c \
  %reldir%/linalg/scalar_tmpl.h %reldir%/linalg/solve.c %reldir%/linalg/spectral.h %reldir%/linalg/spectral_tmpl.h \
  %reldir%/linalg/svd.c %reldir%/linalg/triangular.c %reldir%/linalg/undef.h \
  %reldir%/math/approx.h %reldir%/math/double.h %reldir%/math/exp.h %reldir%/math/half.h %reldir%/math/philox.h %reldir%/math/pow.h \
  %reldir%/math/rint.h %reldir%/math/single.h %reldir%/math/vmath.h \
  %reldir%/matmul/blas.c %reldir%/matmul/convert_tmpl.h %reldir%/matmul/finish.c %reldir%/matmul/kernel_tmpl.h %reldir%/matmul/matmul.c \
  %reldir%/matmul/matmul.h %reldir%/matmul/plan.c %reldir%/matmul/pairs.h %reldir%/matmul/pairs_tmpl.h %reldir%/matmul/simd.h %reldir%/matmul/skinny.c \
  %reldir%/matmul/skinny_tmpl.h \
  %reldir%/attention/attention.c %reldir%/attention/attention.h %reldir%/attention/blocks.c %reldir%/attention/gradient.c \
  %reldir%/attention/rows_tmpl.h %reldir%/neural/dropout.c %reldir%/neural/entropy.c %reldir%/neural/rope.c \
  %reldir%/norm/grad.c %reldir%/norm/grad.h %reldir%/norm/grad_tiles.c %reldir%/norm/lines.h %reldir%/norm/norm.c %reldir%/norm/norm.h %reldir%/norm/plan.h %reldir%/norm/rows.c \
  %reldir%/norm/columns.c %reldir%/norm/single.c %reldir%/norm/single.h %reldir%/norm/columns_grad.c %reldir%/norm/given.c %reldir%/norm/single_grad.c %reldir%/norm/single_grad.h %reldir%/norm/single_weights.c %reldir%/norm/single_rows.h %reldir%/norm/single_tmpl.h %reldir%/norm/softmax.c %reldir%/norm/tiles.c %reldir%/norm/weights.c \
  %reldir%/program/chain.h %reldir%/program/chain_tmpl.h %reldir%/program/compile.c %reldir%/program/link.c %reldir%/program/program.h %reldir%/program/rows.c %reldir%/program/run.c %reldir%/program/scalars.c \
  %reldir%/pool/backward.c %reldir%/pool/forward.c %reldir%/pool/frame.c %reldir%/pool/plan.h %reldir%/pool/pool.c %reldir%/pool/pool.h %reldir%/pool/resample.c %reldir%/pool/row_tmpl.h \
  %reldir%/pool/unfold.c \
  %reldir%/quant/activate.h %reldir%/quant/encode.c %reldir%/quant/format_tmpl.h %reldir%/quant/lanes.h %reldir%/quant/quant.c %reldir%/quant/quant.h \
  %reldir%/quant/dot_striped_tmpl.h %reldir%/quant/dot_vnni_tmpl.h %reldir%/quant/unpack_avx2.h %reldir%/quant/unpack_vnni.h \
  %reldir%/random/random.c %reldir%/random/random.h %reldir%/random/sampler.c %reldir%/random/sampler.h \
  %reldir%/reduce/arg_tmpl.h %reldir%/reduce/finish.c %reldir%/reduce/lanes_tmpl.h %reldir%/reduce/logsumexp_tmpl.h \
  %reldir%/reduce/minmax_tmpl.h %reldir%/reduce/plan.c %reldir%/reduce/plan.h %reldir%/reduce/prod_tmpl.h %reldir%/reduce/reduce.c %reldir%/reduce/reduce.h \
  %reldir%/reduce/scan.c %reldir%/reduce/scan_loops.h %reldir%/reduce/scan_tmpl.h %reldir%/reduce/sum_tmpl.h %reldir%/reduce/type_tmpl.h \
  %reldir%/reduce/var_tmpl.h \
  %reldir%/sort/elements.c %reldir%/sort/keys_tmpl.h %reldir%/sort/lanes.c %reldir%/sort/network_tmpl.h %reldir%/sort/part.h \
  %reldir%/sort/part_tmpl.h %reldir%/sort/parts.c %reldir%/sort/positions.c %reldir%/sort/quick.h %reldir%/sort/quick_32.h \
  %reldir%/sort/quick_64.h %reldir%/sort/quick_512.h %reldir%/sort/quick_512_tmpl.h \
  %reldir%/sort/quick_merge.h %reldir%/sort/quick_order.h %reldir%/sort/quick_tmpl.h %reldir%/sort/row.c %reldir%/sort/select.c %reldir%/sort/select.h \
  %reldir%/sort/sort.c %reldir%/sort/sort.h %reldir%/sort/sort_tmpl.h %reldir%/sort/topk.c \
  %reldir%/walk/blocks.c %reldir%/walk/blocks.h %reldir%/walk/load_tmpl.h %reldir%/walk/tile.c %reldir%/walk/tile.h %reldir%/walk/tile_tmpl.h %reldir%/walk/walk.h
nodist_%canon_reldir%_ndock_cpu_la_SOURCES = %reldir%/compiler/texts.c
%canon_reldir%_ndock_cpu_la_CPPFLAGS = $(cpu_cppflags)
%canon_reldir%_ndock_cpu_la_CFLAGS = $(cpu_cflags)
%canon_reldir%_ndock_cpu_la_LIBADD = $(cpu_variants) -lm -lrt
%canon_reldir%_ndock_cpu_la_LDFLAGS = -module -avoid-version -shared $(OPENMP_CFLAGS)
if HAVE_VERSION_SCRIPT
%canon_reldir%_ndock_cpu_la_LDFLAGS += -Wl,--version-script=$(srcdir)/%reldir%/plugin.map -Wl,-z,nodelete -Wl,-z,relro,-z,now
if !HAVE_SANITIZER
%canon_reldir%_ndock_cpu_la_LDFLAGS += -Wl,-z,defs
endif
endif
EXTRA_DIST += %reldir%/plugin.map

# What #include "ndock_kernel.h" stands for in the C of programs, as text.
cpu_kernel_header = %reldir%/math/half.h %reldir%/math/exp.h %reldir%/math/rint.h %reldir%/math/approx.h %reldir%/math/single.h \
  %reldir%/math/double.h %reldir%/math/vmath.h %reldir%/math/pow.h %reldir%/compiler/kernel_prelude.h
%reldir%/compiler/texts.c: $(cpu_kernel_header) %reldir%/compiler/embed.sh
	$(AM_V_GEN)$(MKDIR_P) %reldir%/compiler && (cd $(srcdir) && $(SHELL) %reldir%/compiler/embed.sh $(cpu_kernel_header)) >$@.tmp && mv $@.tmp $@
EXTRA_DIST += %reldir%/compiler/embed.sh %reldir%/compiler/kernel_prelude.h
CLEANFILES += %reldir%/compiler/texts.c
