# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The OpenMP CPU plug-in. Files of cpu_isa_sources are compiled once per SIMD level; the rest once.
cpu_isa_sources = \
  %reldir%/copy_isa.c %reldir%/elementwise_complex_isa.c %reldir%/elementwise_isa.c \
  %reldir%/matmul_isa.c %reldir%/norm_isa.c %reldir%/random_isa.c %reldir%/reduce_isa.c \
  %reldir%/sort_isa.c
cpu_cppflags = $(AM_CPPFLAGS) -I$(top_srcdir)/%reldir%
cpu_cflags = $(AM_CFLAGS) $(OPENMP_CFLAGS) $(ND_KERNEL_CFLAGS)

noinst_LTLIBRARIES += %reldir%/libcpu-baseline.la
%canon_reldir%_libcpu_baseline_la_SOURCES = $(cpu_isa_sources)
%canon_reldir%_libcpu_baseline_la_CPPFLAGS = $(cpu_cppflags) -DCPU_ISA_SUFFIX=baseline -DCPU_ISA_LEVEL=0
%canon_reldir%_libcpu_baseline_la_CFLAGS = $(cpu_cflags)
cpu_variants = %reldir%/libcpu-baseline.la

if HAVE_X86_VARIANTS
noinst_LTLIBRARIES += %reldir%/libcpu-avx2.la %reldir%/libcpu-avx512.la
%canon_reldir%_libcpu_avx2_la_SOURCES = $(cpu_isa_sources)
%canon_reldir%_libcpu_avx2_la_CPPFLAGS = $(cpu_cppflags) -DCPU_ISA_SUFFIX=avx2 -DCPU_ISA_LEVEL=1
%canon_reldir%_libcpu_avx2_la_CFLAGS = $(cpu_cflags) $(ND_AVX2_CFLAGS)
%canon_reldir%_libcpu_avx512_la_SOURCES = $(cpu_isa_sources)
%canon_reldir%_libcpu_avx512_la_CPPFLAGS = $(cpu_cppflags) -DCPU_ISA_SUFFIX=avx512 -DCPU_ISA_LEVEL=2
%canon_reldir%_libcpu_avx512_la_CFLAGS = $(cpu_cflags) $(ND_AVX512_CFLAGS)
cpu_variants += %reldir%/libcpu-avx2.la %reldir%/libcpu-avx512.la
endif

plugin_LTLIBRARIES += %reldir%/ndock-cpu.la
%canon_reldir%_ndock_cpu_la_SOURCES = %reldir%/params.c \
  %reldir%/blas.c %reldir%/cast.h %reldir%/cast_loop_tmpl.h %reldir%/cast_tmpl.h %reldir%/code.c %reldir%/copy.c \
  %reldir%/copy.h %reldir%/copy_tiles.c %reldir%/cpu.h %reldir%/elementwise.c \
  %reldir%/elementwise.h %reldir%/elementwise_loops.h %reldir%/half.h %reldir%/index.c \
  %reldir%/index.h %reldir%/iota.c %reldir%/isa.c %reldir%/load_tmpl.h %reldir%/loops_tmpl.h \
  %reldir%/matmul.c %reldir%/matmul.h %reldir%/matmul_convert_tmpl.h %reldir%/matmul_kernel_tmpl.h \
  %reldir%/matmul_plan.c %reldir%/matmul_simd.h %reldir%/matmul_skinny.c \
  %reldir%/matmul_skinny_tmpl.h %reldir%/memory.c %reldir%/move_tmpl.h %reldir%/norm.c \
  %reldir%/norm.h %reldir%/norm_exp.h %reldir%/op.c %reldir%/philox.h %reldir%/plugin.c \
  %reldir%/random.c %reldir%/random.h %reldir%/reduce.c %reldir%/reduce.h \
  %reldir%/reduce_arg_tmpl.h %reldir%/reduce_finish.c %reldir%/reduce_lanes_tmpl.h \
  %reldir%/reduce_logsumexp_tmpl.h %reldir%/reduce_minmax_tmpl.h %reldir%/reduce_prod_tmpl.h \
  %reldir%/reduce_sum_tmpl.h %reldir%/reduce_type_tmpl.h %reldir%/reduce_var_tmpl.h \
  %reldir%/scalar.c %reldir%/scan.c %reldir%/scan_tmpl.h %reldir%/scatter.c \
  %reldir%/scatter_loop_tmpl.h %reldir%/scatter_tmpl.h %reldir%/search.c %reldir%/search_tmpl.h \
  %reldir%/select.c %reldir%/select_tmpl.h %reldir%/sort.c %reldir%/sort.h \
  %reldir%/sort_elements.c %reldir%/sort_keys_tmpl.h %reldir%/sort_lanes.c \
  %reldir%/sort_network_tmpl.h %reldir%/sort_tmpl.h %reldir%/take.c %reldir%/take_tmpl.h \
  %reldir%/threads.c %reldir%/tile.c %reldir%/tile.h %reldir%/tile_tmpl.h %reldir%/topk.c \
  %reldir%/vmath.h %reldir%/walk.h
%canon_reldir%_ndock_cpu_la_CPPFLAGS = $(cpu_cppflags)
%canon_reldir%_ndock_cpu_la_CFLAGS = $(cpu_cflags)
%canon_reldir%_ndock_cpu_la_LIBADD = $(cpu_variants) -lm
%canon_reldir%_ndock_cpu_la_LDFLAGS = -module -avoid-version -shared $(OPENMP_CFLAGS)
if HAVE_VERSION_SCRIPT
%canon_reldir%_ndock_cpu_la_LDFLAGS += -Wl,--version-script=$(srcdir)/%reldir%/plugin.map -Wl,-z,nodelete -Wl,-z,relro,-z,now
if !HAVE_SANITIZER
%canon_reldir%_ndock_cpu_la_LDFLAGS += -Wl,-z,defs
endif
endif
EXTRA_DIST += %reldir%/plugin.map
