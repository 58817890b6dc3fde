# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The CUDA plug-in: the host side in C, kernels as fat binaries inside it. configure writes a rule for each row of modules.def.
cuda_host_sources = \
  %reldir%/backend.h %reldir%/classes.def %reldir%/copy.c %reldir%/graph.c %reldir%/nvml.c %reldir%/peer.c \
  %reldir%/pinned.c %reldir%/pool.c %reldir%/ring.c %reldir%/team.c %reldir%/vmm.c %reldir%/device.c %reldir%/driver.c \
  %reldir%/driver.def %reldir%/driver.h %reldir%/elementwise.c %reldir%/elementwise.h \
  %reldir%/index.h %reldir%/kernel.c %reldir%/memory.c %reldir%/module.c %reldir%/modules.def %reldir%/op.c \
  %reldir%/plugin.c %reldir%/scalar.c %reldir%/stream.c \
  %reldir%/cast.c %reldir%/cast.h %reldir%/iota.c %reldir%/iota.h %reldir%/move.c %reldir%/move.h \
  %reldir%/random.c %reldir%/random.h %reldir%/strided.c %reldir%/strided.h
cuda_kernel_sources = %reldir%/elementwise.cu %reldir%/cast.cu %reldir%/iota.cu %reldir%/move.cu %reldir%/random.cu
cuda_kernel_headers = %reldir%/elementwise.h %reldir%/index.cuh %reldir%/index.h %reldir%/math.cuh %reldir%/math_angle.cuh %reldir%/math_core.cuh \
  %reldir%/math_f64.cuh %reldir%/math_half.cuh %reldir%/math_hw.cuh %reldir%/math_parts.cuh %reldir%/math_random.cuh \
  %reldir%/scalar.cuh %reldir%/scalar_complex.cuh %reldir%/scalar_float.cuh \
  %reldir%/types.cuh \
  %reldir%/cast.h %reldir%/convert.cuh %reldir%/iota.h %reldir%/move.h %reldir%/random.cuh %reldir%/random.h \
  %reldir%/strided.cuh %reldir%/strided.h
EXTRA_DIST += $(cuda_kernel_sources) $(cuda_kernel_headers) %reldir%/plugin.map

AM_V_NVCC = $(AM_V_NVCC_@AM_V@)
AM_V_NVCC_ = $(AM_V_NVCC_@AM_DEFAULT_V@)
AM_V_NVCC_0 = @echo "  NVCC    " $@;
nvcc_flags = -std=c++17 -O3 --fmad=false -I$(top_builddir)/include -I$(top_srcdir)/include -I$(top_srcdir) -I$(srcdir)/%reldir%
nvcc_fatbin = $(AM_V_NVCC)$(MKDIR_P) %reldir% && $(NVCC) $(NVCCFLAGS) $(nvcc_flags) $(ND_CUDA_GENCODE) -fatbin

if HAVE_CUDA
plugin_LTLIBRARIES += %reldir%/ndock-cuda.la
%canon_reldir%_ndock_cuda_la_SOURCES = $(cuda_host_sources)
%canon_reldir%_ndock_cuda_la_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/%reldir% $(ND_CUDA_CPPFLAGS) \
  -DCUDA_FATBIN_DIR='"$(abs_top_builddir)/%reldir%"' -DCUDA_ARCH_LIST='"$(ND_CUDA_ARCH_LIST)"'
%canon_reldir%_ndock_cuda_la_CFLAGS = $(AM_CFLAGS)
%canon_reldir%_ndock_cuda_la_LIBADD = -lpthread
%canon_reldir%_ndock_cuda_la_LDFLAGS = -module -avoid-version -shared
if HAVE_VERSION_SCRIPT
%canon_reldir%_ndock_cuda_la_LDFLAGS += -Wl,--version-script=$(srcdir)/%reldir%/plugin.map -Wl,-z,nodelete -Wl,-z,relro,-z,now
if !HAVE_SANITIZER
%canon_reldir%_ndock_cuda_la_LDFLAGS += -Wl,-z,defs
endif
endif
CLEANFILES += @ND_CUDA_FATBINS@
endif
@ND_CUDA_RULES@
