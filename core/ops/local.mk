# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The operations, one file a class.
core_ops_sources = %reldir%/copy.c %reldir%/create.c %reldir%/custom.c %reldir%/custom.h %reldir%/custom_apply.c \
  %reldir%/elementwise.c %reldir%/fft.c %reldir%/fft_order.c %reldir%/gather.c %reldir%/host.c %reldir%/index.c %reldir%/index.h %reldir%/join.c %reldir%/matmul.c %reldir%/scaled_mm.c \
  %reldir%/norm.c %reldir%/op_register.c %reldir%/ops.h %reldir%/pad.c %reldir%/prepare.c %reldir%/prepare.h %reldir%/ramp.c \
  %reldir%/reduce.c %reldir%/reduce.h %reldir%/repeat.c %reldir%/roll.c %reldir%/scan.c %reldir%/scatter.c \
  %reldir%/search.c %reldir%/select.c %reldir%/set.c %reldir%/sort.c %reldir%/take.c %reldir%/transfer.c
core_ops_sources += %reldir%/compose.c %reldir%/distribution.c %reldir%/multivariate.c %reldir%/random.c %reldir%/random.h \
  %reldir%/samplers.c %reldir%/sampling.c %reldir%/sampling.h
core_ops_sources += %reldir%/bins.c %reldir%/bins.h %reldir%/bincount.c %reldir%/compare.c %reldir%/histogram.c %reldir%/nan.c \
  %reldir%/order_statistics.c %reldir%/quantile.c %reldir%/quantile.h %reldir%/rows.c %reldir%/rows.h %reldir%/split.c \
  %reldir%/stack.c %reldir%/statistics.c %reldir%/steps.c %reldir%/steps.h
core_ops_sources += %reldir%/blocks.c %reldir%/decompositions.c %reldir%/determinant.c %reldir%/eigen.c %reldir%/einsum.c \
  %reldir%/einsum.h %reldir%/einsum_parse.c %reldir%/einsum_sum.c %reldir%/factor.c %reldir%/linalg.c %reldir%/linalg.h %reldir%/norms.c \
  %reldir%/products.c %reldir%/solve.c %reldir%/svd.c
core_ops_sources += %reldir%/conv.c %reldir%/pool.c %reldir%/resample.c %reldir%/unfold.c %reldir%/window.c %reldir%/window.h
core_ops_sources += %reldir%/special.c %reldir%/convolve.c %reldir%/cosine.c %reldir%/turns.c %reldir%/turns.h
core_ops_sources += %reldir%/calculus.c %reldir%/diagonal.c %reldir%/edit.c %reldir%/extremes.c %reldir%/interp.c %reldir%/roots.c \
  %reldir%/partition.c %reldir%/positions.c %reldir%/set.h %reldir%/set_axis.c %reldir%/set_pairs.c %reldir%/windows.c
core_ops_sources += %reldir%/activation.c %reldir%/ctc.c %reldir%/padded.c
core_ops_sources += %reldir%/attention.c %reldir%/batch_norm.c %reldir%/cross_entropy.c %reldir%/embedding.c %reldir%/group_norm.c \
  %reldir%/losses.c %reldir%/neural.c %reldir%/neural.h %reldir%/norm_grad.c %reldir%/rope.c
core_ops_sources += %reldir%/qarray.c %reldir%/quant.c %reldir%/quant.h
