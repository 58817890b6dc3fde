# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The CUDA plug-in: the host side in C, kernels as fat binaries inside it. configure writes a rule for each row of modules.def.
cuda_host_sources = \
  %reldir%/backend.h %reldir%/blaslt.c %reldir%/blaslt.def %reldir%/blaslt.h %reldir%/cast.c \
  %reldir%/cast.h %reldir%/classes.def %reldir%/code.c %reldir%/copy.c %reldir%/cub.h %reldir%/device.c \
  %reldir%/driver.c %reldir%/driver.def %reldir%/driver.h %reldir%/elementwise.c \
  %reldir%/elementwise.h %reldir%/gather.c %reldir%/gather.h %reldir%/graph.c %reldir%/index.h \
  %reldir%/iota.c %reldir%/iota.h %reldir%/kernel.c %reldir%/lines.h %reldir%/matmul.c \
  %reldir%/matmul.h %reldir%/matmul_plan.c %reldir%/matmul_plan.h %reldir%/memory.c %reldir%/pointer.c \
  %reldir%/module.c %reldir%/modules.def %reldir%/move.c %reldir%/move.h %reldir%/norm.c \
  %reldir%/norm.h %reldir%/nvml.c %reldir%/nvrtc.c %reldir%/nvrtc.h %reldir%/op.c %reldir%/peer.c %reldir%/pinned.c %reldir%/pinned_conf.c %reldir%/plugin.c \
  %reldir%/pool.c %reldir%/random.c %reldir%/random.h %reldir%/reduce.c %reldir%/reduce.h \
  %reldir%/ring.c %reldir%/scalar.c %reldir%/scan.c %reldir%/scan.h %reldir%/scatter.c \
  %reldir%/scatter.h %reldir%/search.c %reldir%/search.h %reldir%/select.c %reldir%/select.h \
  %reldir%/sort.c %reldir%/sort.h %reldir%/stream.c %reldir%/strided.c %reldir%/strided.h \
  %reldir%/team.c %reldir%/vmm.c %reldir%/walk.h
cuda_kernel_sources = \
  %reldir%/cast.cu %reldir%/cub.cu %reldir%/elementwise.cu %reldir%/gather.cu %reldir%/iota.cu \
  %reldir%/matmul.cu %reldir%/move.cu %reldir%/norm.cu %reldir%/random.cu %reldir%/reduce.cu \
  %reldir%/scan.cu %reldir%/scatter.cu %reldir%/search.cu %reldir%/select.cu %reldir%/sort.cu
cuda_kernel_headers = \
  %reldir%/cast.h %reldir%/convert.cuh %reldir%/cub.h %reldir%/elementwise.h %reldir%/gather.h \
  %reldir%/index.cuh %reldir%/index.h %reldir%/iota.h %reldir%/keys.cuh %reldir%/lines.cuh \
  %reldir%/lines.h %reldir%/math.cuh %reldir%/math_angle.cuh %reldir%/math_core.cuh \
  %reldir%/math_f64.cuh %reldir%/math_half.cuh %reldir%/math_hw.cuh %reldir%/math_parts.cuh \
  %reldir%/math_random.cuh %reldir%/matmul.h %reldir%/move.h %reldir%/norm.h \
  %reldir%/norm_fit.cuh %reldir%/random.cuh \
  %reldir%/random.h %reldir%/reduce.h %reldir%/reduce_ops.cuh %reldir%/scalar.cuh \
  %reldir%/scalar_complex.cuh %reldir%/scalar_float.cuh %reldir%/scan.h %reldir%/scatter.h \
  %reldir%/search.h %reldir%/select.h %reldir%/sort.h %reldir%/status.cuh %reldir%/strided.cuh \
  %reldir%/strided.h %reldir%/sums.cuh %reldir%/types.cuh %reldir%/walk.cuh %reldir%/walk.h
EXTRA_DIST += $(cuda_kernel_sources) $(cuda_kernel_headers) %reldir%/plugin.map

AM_V_NVCC = $(AM_V_NVCC_@AM_V@)
AM_V_NVCC_ = $(AM_V_NVCC_@AM_DEFAULT_V@)
AM_V_NVCC_0 = @echo "  NVCC    " $@;
# What a file included when it was compiled, for the next make.
nvcc_depends = -MMD -MP -MT $@ -MF $@.d
nvcc_flags = -std=c++17 -O3 --fmad=false -I$(top_builddir)/include -I$(top_srcdir)/include -I$(top_srcdir) -I$(srcdir)/%reldir%
# CUB launches its kernels through the runtime library: an object, linked with that library's archive.
nvcc_object_flags = -std=c++17 -O3 -DNDEBUG -DNVTX_DISABLE -DCCCL_DISABLE_NVTX \
  -Xcompiler -fPIC,-fvisibility=hidden,-fno-exceptions,-fno-rtti,-fno-threadsafe-statics
nvcc_object = $(AM_V_NVCC)$(MKDIR_P) %reldir% && $(NVCC) $(NVCCFLAGS) $(nvcc_object_flags) $(ND_CUDA_GENCODE) $(nvcc_depends) -c
nvcc_fatbin = $(AM_V_NVCC)$(MKDIR_P) %reldir% && $(NVCC) $(NVCCFLAGS) $(nvcc_flags) $(ND_CUDA_GENCODE) $(nvcc_depends) -fatbin

if HAVE_CUDA
plugin_LTLIBRARIES += %reldir%/ndock-cuda.la
%canon_reldir%_ndock_cuda_la_SOURCES = $(cuda_host_sources)
%canon_reldir%_ndock_cuda_la_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/%reldir% $(ND_CUDA_CPPFLAGS) \
  -DCUDA_FATBIN_DIR='"$(abs_top_builddir)/%reldir%"' -DCUDA_ARCH_LIST='"$(ND_CUDA_ARCH_LIST)"'
%canon_reldir%_ndock_cuda_la_CFLAGS = $(AM_CFLAGS)
%canon_reldir%_ndock_cuda_la_LIBADD = -lm -lpthread -ldl -lrt
EXTRA_%canon_reldir%_ndock_cuda_la_DEPENDENCIES = %reldir%/cub.o
%canon_reldir%_ndock_cuda_la_LDFLAGS = -module -avoid-version -shared -Wl,%reldir%/cub.o,$(ND_CUDART)
if HAVE_VERSION_SCRIPT
%canon_reldir%_ndock_cuda_la_LDFLAGS += -Wl,--version-script=$(srcdir)/%reldir%/plugin.map -Wl,-z,nodelete -Wl,-z,relro,-z,now
if !HAVE_SANITIZER
%canon_reldir%_ndock_cuda_la_LDFLAGS += -Wl,-z,defs
endif
endif
CLEANFILES += @ND_CUDA_FATBINS@ %reldir%/cub.o %reldir%/*.d
endif
@ND_CUDA_RULES@
