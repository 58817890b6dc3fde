# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The CUDA plug-in: the host side in C, kernels as fat binaries inside it. configure writes a rule for each row of modules.def.
cuda_host_sources = \
  %reldir%/classes.def %reldir%/op.c %reldir%/plugin.c \
  %reldir%/comm/board.c %reldir%/comm/board.h %reldir%/comm/call.c %reldir%/comm/comm.c %reldir%/comm/comm.h %reldir%/comm/group.c %reldir%/comm/keeper.c %reldir%/comm/nccl.c \
  %reldir%/comm/nccl.def %reldir%/comm/round.c %reldir%/comm/team.c \
  %reldir%/conv/conv.c %reldir%/conv/conv.h %reldir%/conv/cudnn.c %reldir%/conv/cudnn.def %reldir%/conv/cudnn.h \
  %reldir%/conv/cudnn_inexact.def %reldir%/conv/cudnn_names.h %reldir%/conv/cudnn_plan.c %reldir%/conv/diagonal.c %reldir%/conv/few.c %reldir%/conv/gathered.c %reldir%/conv/grouped.c %reldir%/conv/plan.h %reldir%/conv/short.c %reldir%/conv/terms_wide.c %reldir%/conv/thin.c %reldir%/conv/pointwise.c %reldir%/conv/pointwise.h %reldir%/conv/unfolded.c %reldir%/conv/unfolded.h \
  %reldir%/copy/cast.c %reldir%/copy/cast.h %reldir%/copy/iota.c %reldir%/copy/iota.h %reldir%/copy/move.c \
  %reldir%/copy/move.h \
  %reldir%/elementwise/elementwise.c %reldir%/elementwise/elementwise.h \
  %reldir%/fft/cufft.c %reldir%/fft/cufft.def %reldir%/fft/cufft.h %reldir%/fft/fft.c %reldir%/fft/fft.h \
  %reldir%/host/assemble.c %reldir%/host/assemble.h %reldir%/host/backend.h %reldir%/host/block.c %reldir%/host/compose.c %reldir%/host/code.c %reldir%/host/device.c %reldir%/host/driver.c \
  %reldir%/host/driver.def %reldir%/host/driver.h %reldir%/host/dtype_word.h %reldir%/host/fault.c %reldir%/host/graph.c %reldir%/host/host.c %reldir%/host/ipc.c %reldir%/host/kernel.c %reldir%/host/memory.c %reldir%/host/nodes.c %reldir%/host/patch.c \
  %reldir%/host/module.c %reldir%/host/modules.def %reldir%/host/nvml.c %reldir%/host/nvrtc.c %reldir%/host/nvrtc_known.c %reldir%/host/nvrtc.h \
  %reldir%/host/peer.c %reldir%/host/pinned.c %reldir%/host/pinned_conf.c \
  %reldir%/host/pointer.c %reldir%/host/pool.c %reldir%/host/ring.c %reldir%/host/scalar.c %reldir%/host/stream.c \
  %reldir%/host/team.c %reldir%/host/transfer.c %reldir%/host/vmm.c \
  %reldir%/index/gather.c %reldir%/index/gather.h %reldir%/index/histogram.c %reldir%/index/histogram.h %reldir%/index/scatter.c %reldir%/index/scatter.h %reldir%/index/search.c \
  %reldir%/index/search.h %reldir%/index/select.c %reldir%/index/select.h \
  %reldir%/linalg/cholesky.c %reldir%/linalg/eigen.c %reldir%/linalg/factor.c %reldir%/linalg/factor.h %reldir%/linalg/large.h \
  %reldir%/linalg/linalg.c %reldir%/linalg/linalg.h %reldir%/linalg/lu.c %reldir%/linalg/qr.c %reldir%/linalg/small.h %reldir%/linalg/solve.c %reldir%/linalg/solver.c %reldir%/linalg/solver.def %reldir%/linalg/solver.h \
  %reldir%/linalg/solver_run.c %reldir%/linalg/solver_table.h %reldir%/linalg/svd.c \
  %reldir%/linalg/svd.h %reldir%/linalg/svd_cluster.c %reldir%/linalg/svd_double.c \
  %reldir%/matmul/blaslt.c %reldir%/matmul/blaslt.def %reldir%/matmul/blaslt.h %reldir%/matmul/matmul.c \
  %reldir%/matmul/matmul.h %reldir%/matmul/plan.c %reldir%/matmul/bytes.c %reldir%/matmul/plan.h \
  %reldir%/neural/attention.c %reldir%/neural/attention.h %reldir%/neural/flash.c %reldir%/neural/flash_grad.c %reldir%/neural/flash_widths.h %reldir%/neural/flash_split.c %reldir%/neural/flash.h %reldir%/neural/neural.c %reldir%/neural/neural.h %reldir%/neural/tiled.c %reldir%/neural/tiled.h %reldir%/neural/tripled_wide.h \
  %reldir%/neural/batch_norm.c %reldir%/neural/batch_norm.h %reldir%/neural/group.c %reldir%/neural/group.h %reldir%/neural/group_call.h %reldir%/neural/group_plan.c %reldir%/neural/group_resident.c %reldir%/neural/norm_grad.c \
  %reldir%/norm/norm.c %reldir%/norm/norm.h \
  %reldir%/pool/frame.c %reldir%/pool/frame.h %reldir%/pool/pool.c %reldir%/pool/pool_call.h %reldir%/pool/pool_grad.c %reldir%/pool/pool.h %reldir%/pool/resample.c %reldir%/pool/unfold.c \
  %reldir%/program/kernel.h %reldir%/program/program.c %reldir%/program/program.h %reldir%/program/prune.c %reldir%/program/ptx.c %reldir%/program/ptx.h %reldir%/program/ptx_elements.c %reldir%/program/ptx_flat.c %reldir%/program/ptx_row_values.c %reldir%/program/ptx_row_walk.c %reldir%/program/ptx_rows.c %reldir%/program/ptx_rows.h %reldir%/program/ptx_strided.c %reldir%/program/rows.c \
  %reldir%/program/source.c %reldir%/program/source.h %reldir%/program/source_pairs.c %reldir%/program/source_rows.c %reldir%/program/source_rows.h %reldir%/program/text.c %reldir%/program/walks.c %reldir%/program/walks.h \
  %reldir%/program/text.def %reldir%/program/text.h \
  %reldir%/quant/quant.c %reldir%/quant/quant.h \
  %reldir%/random/random.c %reldir%/random/random.h %reldir%/random/random_class.h %reldir%/random/sampler.c \
  %reldir%/reduce/keys.c %reldir%/reduce/keys.h %reldir%/reduce/reduce.c %reldir%/reduce/reduce.h %reldir%/reduce/scan.c %reldir%/reduce/scan.h \
  %reldir%/sort/cub.h %reldir%/sort/order.c %reldir%/sort/order.h %reldir%/sort/small.h %reldir%/sort/plan.c %reldir%/sort/plan.h %reldir%/sort/sort.c %reldir%/sort/sort.h %reldir%/sort/topk.c \
  %reldir%/walk/divisor.h %reldir%/walk/lines.h %reldir%/walk/plan.c %reldir%/walk/plan.h %reldir%/walk/walk.h
cuda_kernel_sources = \
  %reldir%/conv/conv.cu %reldir%/conv/depthwise.cu %reldir%/conv/terms_wide.cu %reldir%/conv/windows.cu \
  %reldir%/copy/cast.cu %reldir%/copy/iota.cu %reldir%/copy/move.cu \
  %reldir%/elementwise/elementwise.cu \
  %reldir%/fft/fft.cu \
  %reldir%/index/gather.cu %reldir%/index/histogram.cu %reldir%/index/scatter.cu %reldir%/index/search.cu %reldir%/index/select.cu \
  %reldir%/linalg/block.cu %reldir%/linalg/cluster.cu %reldir%/linalg/large.cu %reldir%/linalg/small.cu \
  %reldir%/matmul/matmul.cu \
  %reldir%/neural/attention.cu %reldir%/neural/attention_delta.cu %reldir%/neural/batch_norm.cu %reldir%/neural/entropy.cu %reldir%/neural/entropy_long.cu %reldir%/neural/flash.cu %reldir%/neural/flash_grad.cu %reldir%/neural/group.cu %reldir%/neural/flash_wide.cu %reldir%/neural/flash_wide_grad.cu %reldir%/neural/norm_grad.cu %reldir%/neural/rope.cu %reldir%/neural/tiled.cu %reldir%/neural/tripled_wide.cu \
  %reldir%/norm/norm.cu \
  %reldir%/pool/pool.cu %reldir%/pool/pool_grad.cu %reldir%/pool/resample.cu %reldir%/pool/unfold.cu \
  %reldir%/quant/quant.cu \
  %reldir%/random/random.cu %reldir%/random/sampler.cu \
  %reldir%/reduce/reduce.cu %reldir%/reduce/scan.cu \
  %reldir%/sort/cub.cu %reldir%/sort/order.cu %reldir%/sort/sort.cu
cuda_kernel_headers = \
  %reldir%/conv/beside.cuh %reldir%/conv/conv.cuh %reldir%/conv/conv.h %reldir%/conv/diagonal.cuh %reldir%/conv/diagonal_kept.cuh %reldir%/conv/gathered.cuh %reldir%/conv/gathered_product.cuh %reldir%/conv/gathered_terms.cuh %reldir%/conv/grouped.cuh %reldir%/conv/planes.cuh %reldir%/conv/short.cuh %reldir%/conv/terms_wide.cuh %reldir%/conv/thin.cuh %reldir%/conv/thin_product.cuh \
  %reldir%/copy/cast.h %reldir%/copy/convert.cuh %reldir%/copy/convert_f8.cuh %reldir%/copy/iota.h %reldir%/copy/move.h \
  %reldir%/elementwise/dense.cuh %reldir%/elementwise/elements.cuh %reldir%/elementwise/vector.cuh %reldir%/elementwise/elementwise.h \
  %reldir%/fft/fft.h \
  %reldir%/index/gather.h %reldir%/index/gather_far.cuh %reldir%/index/histogram.h %reldir%/index/scatter.h %reldir%/index/search.h %reldir%/index/select.h \
  %reldir%/index/status.cuh \
  %reldir%/linalg/block.cuh %reldir%/linalg/panel.cuh %reldir%/linalg/block_cholesky.cuh %reldir%/linalg/block_lu.cuh %reldir%/linalg/block_qr.cuh %reldir%/linalg/block_solve.cuh %reldir%/linalg/block_svd.cuh %reldir%/linalg/cluster_seats.cuh %reldir%/linalg/cluster_svd.cuh %reldir%/linalg/eigen.cuh %reldir%/linalg/eigh.cuh %reldir%/linalg/eigh_rows.cuh \
  %reldir%/linalg/factor.cuh %reldir%/linalg/lanes.cuh %reldir%/linalg/large.h %reldir%/linalg/scalar.cuh \
  %reldir%/linalg/rows.cuh %reldir%/linalg/shuffle.cuh %reldir%/linalg/small.h %reldir%/linalg/solve.cuh %reldir%/linalg/solve_columns.cuh %reldir%/linalg/svd.cuh %reldir%/linalg/types.cuh \
  %reldir%/math/angle.cuh %reldir%/math/core.cuh %reldir%/math/f32.cuh %reldir%/math/f64.cuh %reldir%/math/half.cuh \
  %reldir%/math/hw.cuh %reldir%/math/parts.cuh %reldir%/math/random.cuh %reldir%/math/scalar.cuh \
  %reldir%/math/scalar_complex.cuh %reldir%/math/scalar_float.cuh %reldir%/math/types.cuh \
  %reldir%/matmul/matmul.h %reldir%/matmul/vector.cuh \
  %reldir%/neural/attention.h %reldir%/neural/attention_place.cuh %reldir%/neural/entropy.cuh %reldir%/neural/entropy_tile.cuh %reldir%/neural/flash.cuh %reldir%/neural/flash_grad.cuh %reldir%/neural/flash_grad_rows.cuh %reldir%/neural/flash_join.cuh %reldir%/neural/flash_results.cuh %reldir%/neural/flash_rows.cuh %reldir%/neural/flash_weight.cuh %reldir%/neural/group.cuh %reldir%/neural/group_cells.cuh %reldir%/neural/group_columns.cuh %reldir%/neural/group_resident.cuh %reldir%/neural/group.h %reldir%/neural/flash_wide.cuh %reldir%/neural/flash_wide.def %reldir%/neural/flash_wide_feed.cuh %reldir%/neural/flash_wide_finish.cuh %reldir%/neural/flash_wide_grad.cuh %reldir%/neural/flash_wide_split.cuh %reldir%/neural/mma.cuh %reldir%/neural/neural.cuh %reldir%/neural/neural.h %reldir%/neural/norm_held.cuh %reldir%/neural/norm_weighed.cuh %reldir%/neural/row_sum.cuh %reldir%/neural/tile.cuh %reldir%/neural/tiled.cuh %reldir%/neural/tiled_block.cuh %reldir%/neural/tiled.def %reldir%/neural/tiled_forward.cuh %reldir%/neural/tiled_grad.cuh %reldir%/neural/tripled.cuh %reldir%/neural/tripled_part.cuh %reldir%/neural/tripled_wide.cuh %reldir%/neural/tripled_wide_block.cuh %reldir%/neural/tripled_wide_feed.cuh %reldir%/neural/tripled_wide.h %reldir%/neural/tripled_wide.def %reldir%/neural/wgmma.cuh %reldir%/neural/wide_tile.cuh %reldir%/neural/batch_norm.h \
  %reldir%/norm/columns.cuh %reldir%/norm/fit.cuh %reldir%/norm/norm.h \
  %reldir%/pool/back_strip.cuh %reldir%/pool/element.cuh %reldir%/pool/packed.cuh %reldir%/pool/pool.h %reldir%/pool/slide.cuh %reldir%/pool/slide_back.cuh %reldir%/pool/strip.cuh %reldir%/pool/table.cuh %reldir%/pool/taps.cuh %reldir%/pool/twice.cuh %reldir%/pool/window.cuh \
  %reldir%/program/frame.cuh %reldir%/program/half.cuh %reldir%/program/pair.cuh %reldir%/program/reduce_few.cuh %reldir%/program/rows.cuh %reldir%/program/undef.cuh \
  %reldir%/quant/format.cuh %reldir%/quant/few.cuh %reldir%/quant/round.cuh %reldir%/quant/rounded.cuh %reldir%/quant/staged.cuh %reldir%/quant/super.cuh %reldir%/quant/unit.cuh %reldir%/quant/quant.h \
  %reldir%/random/logarithm.cuh %reldir%/random/normal.cuh %reldir%/random/random.cuh %reldir%/random/random.h %reldir%/random/sampler.h \
  %reldir%/reduce/lse_rows.cuh %reldir%/reduce/ops.cuh %reldir%/reduce/reduce.h %reldir%/reduce/scan.h %reldir%/reduce/scan_pass.cuh %reldir%/reduce/scan_strip.cuh %reldir%/reduce/scan_warp.cuh %reldir%/reduce/shuffle.cuh %reldir%/reduce/states.cuh %reldir%/reduce/sums.cuh %reldir%/reduce/var.cuh \
  %reldir%/sort/cub.h %reldir%/sort/keys.cuh %reldir%/sort/leading.cuh %reldir%/sort/leading_runs.cuh %reldir%/sort/leading_sort.cuh %reldir%/sort/order.h %reldir%/sort/order_rows.cuh %reldir%/sort/place.cuh %reldir%/sort/rows.cuh %reldir%/sort/sort.h %reldir%/sort/topk_chunk.cuh %reldir%/sort/topk_keys.cuh %reldir%/sort/topk_long.cuh %reldir%/sort/topk_rows.cuh %reldir%/sort/words.cuh \
  %reldir%/walk/divisor.cuh %reldir%/walk/divisor.h %reldir%/walk/earlier.cuh %reldir%/walk/lines.cuh %reldir%/walk/lines.h %reldir%/walk/stage.cuh %reldir%/walk/walk.cuh \
  %reldir%/walk/walk.h
EXTRA_DIST += $(cuda_kernel_sources) $(cuda_kernel_headers) %reldir%/plugin.map %reldir%/program/bodies.awk %reldir%/program/bodies.cu

AM_V_NVCC = $(AM_V_NVCC_@AM_V@)
AM_V_NVCC_ = $(AM_V_NVCC_@AM_DEFAULT_V@)
AM_V_NVCC_0 = @echo "  NVCC    " $@;
# What a file included when it was compiled, for the next make.
nvcc_depends = -MMD -MP -MT $@ -MF $@.d
nvcc_flags = -std=c++17 -O3 --fmad=false -I$(top_builddir)/include -I$(top_srcdir)/include -I$(top_srcdir) -I$(srcdir)/%reldir%
# CUB launches its kernels through the runtime library: an object, linked with that library's archive.
nvcc_object_flags = -std=c++17 -O3 -I$(srcdir)/%reldir% -DNDEBUG -DNVTX_DISABLE -DCCCL_DISABLE_NVTX \
  -Xcompiler -fPIC,-fvisibility=hidden,-fno-exceptions,-fno-rtti,-fno-threadsafe-statics
nvcc_object = $(AM_V_NVCC)$(MKDIR_P) $(@D) && $(NVCC) $(NVCCFLAGS) $(nvcc_object_flags) $(ND_CUDA_GENCODE) $(nvcc_depends) -c
nvcc_fatbin = $(AM_V_NVCC)$(MKDIR_P) $(@D) && $(NVCC) $(NVCCFLAGS) $(nvcc_flags) $(ND_CUDA_GENCODE) $(nvcc_depends) -fatbin
nvcc_fatbin_wide = $(AM_V_NVCC)$(MKDIR_P) $(@D) && $(NVCC) $(NVCCFLAGS) $(nvcc_flags) $(ND_CUDA_GENCODE_WIDE) $(nvcc_depends) -fatbin

if HAVE_CUDA
plugin_LTLIBRARIES += %reldir%/ndock-cuda.la
%canon_reldir%_ndock_cuda_la_SOURCES = $(cuda_host_sources)
%canon_reldir%_ndock_cuda_la_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/%reldir% -I%reldir% $(ND_CUDA_CPPFLAGS) \
  -DCUDA_FATBIN_DIR='"$(abs_top_builddir)/%reldir%"' -DCUDA_SOURCE_DIR='"$(abs_top_srcdir)"' -DCUDA_ARCH_LIST='"$(ND_CUDA_ARCH_LIST)"'
%canon_reldir%_ndock_cuda_la_CFLAGS = $(AM_CFLAGS)
%canon_reldir%_ndock_cuda_la_LIBADD = -lm -lpthread -ldl -lrt
# The assembler reads the texts of text.def, which the compiler does not know of; their sums are part of kernels' keys.
%reldir%/program/ndock_cuda_la-text.lo %reldir%/program/tests_cuda_program_t-text.$(OBJEXT): %reldir%/program/sums.h
%reldir%/program/sums.h: $(cuda_kernel_headers) $(dist_ndockinclude_DATA) %reldir%/program/text.def %reldir%/program/text.c \
  %reldir%/program/bodies.cu %reldir%/program/bodies.awk %reldir%/program/ptx.c %reldir%/program/ptx_elements.c %reldir%/program/ptx_flat.c %reldir%/program/ptx_row_values.c %reldir%/program/ptx_row_walk.c %reldir%/program/ptx_rows.c %reldir%/program/ptx_strided.c
	$(AM_V_GEN)$(MKDIR_P) $(@D) && texts=`sed -n 's/^CUDA_TEXT(.*"\(.*\)")$$/\1/p' $(srcdir)/%reldir%/program/text.def` && \
	  (cd $(srcdir) && cksum $$texts include/ndock/op.def include/ndock/dtype.def %reldir%/program/text.c %reldir%/program/bodies.cu %reldir%/program/bodies.awk %reldir%/program/ptx*.c) >$@.list && \
	  awk '{ print "\"" $$1 "." $$2 " \"" }' $@.list >$@.new && rm -f $@.list && mv $@.new $@
CLEANFILES += %reldir%/program/sums.h
# What kernels are put together from at run time: for the least capability that ptx.h names.
%reldir%/program/ndock_cuda_la-ptx.lo %reldir%/program/tests_cuda_program_t-ptx.$(OBJEXT): %reldir%/program/bodies.txt
%reldir%/program/bodies.txt: %reldir%/program/bodies.cu %reldir%/program/bodies.awk $(cuda_kernel_headers) $(dist_ndockinclude_DATA)
	$(AM_V_NVCC)$(MKDIR_P) $(@D) && $(NVCC) `echo '$(NVCCFLAGS)' | sed 's/-Ofc=[a-z0-9]*//'` $(nvcc_flags) -ptx -rdc=true -arch=compute_80 \
	  -o %reldir%/program/bodies.ptx $(srcdir)/%reldir%/program/bodies.cu && \
	  awk -v INDEX=%reldir%/program/bodies.h -f $(srcdir)/%reldir%/program/bodies.awk %reldir%/program/bodies.ptx >$@.new && \
	  rm -f %reldir%/program/bodies.ptx && mv $@.new $@
CLEANFILES += %reldir%/program/bodies.txt %reldir%/program/bodies.h
EXTRA_%canon_reldir%_ndock_cuda_la_DEPENDENCIES = %reldir%/sort/cub.o
%canon_reldir%_ndock_cuda_la_LDFLAGS = -module -avoid-version -shared -Wl,%reldir%/sort/cub.o,$(ND_CUDART)
if HAVE_VERSION_SCRIPT
%canon_reldir%_ndock_cuda_la_LDFLAGS += -Wl,--version-script=$(srcdir)/%reldir%/plugin.map -Wl,-z,nodelete -Wl,-z,relro,-z,now
if !HAVE_SANITIZER
%canon_reldir%_ndock_cuda_la_LDFLAGS += -Wl,-z,defs
endif
endif
CLEANFILES += @ND_CUDA_FATBINS@ %reldir%/sort/cub.o %reldir%/*.d %reldir%/sort/cub.o.d
endif
@ND_CUDA_RULES@
