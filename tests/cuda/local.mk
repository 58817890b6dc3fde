# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The CUDA plug-in: what it says without a driver, on stub libraries, and its host side on a GPU; the latter skip where there is none
# (.ci/run counts them by the lines "gpu_tests += " and "TESTS += ").
cuda_tests = %reldir%/arithmetic.t %reldir%/attention_calls.t %reldir%/norm_calls.t %reldir%/driver.t %reldir%/unsound.t %reldir%/locking.t %reldir%/compile.t \
  %reldir%/program.t %reldir%/walk.t %reldir%/warmup.t %reldir%/fft_layouts.t %reldir%/linalg_calls.t %reldir%/linalg_errors.t %reldir%/ipc.t %reldir%/nccl.t %reldir%/pool_calls.t %reldir%/conv_calls.t %reldir%/order_calls.t %reldir%/scan_calls.t %reldir%/select_calls.t %reldir%/graph_calls.t %reldir%/math.t %reldir%/leading.t $(gpu_tests)
gpu_tests =
gpu_tests += %reldir%/capture_ops.t
gpu_tests += %reldir%/code.t
gpu_tests += %reldir%/context.t
gpu_tests += %reldir%/copies.t
gpu_tests += %reldir%/fft.t
gpu_tests += %reldir%/graph.t
gpu_tests += %reldir%/graph_cond.t
gpu_tests += %reldir%/graph_memory.t
gpu_tests += %reldir%/graph_replay.t
gpu_tests += %reldir%/graph_threads.t
gpu_tests += %reldir%/graph_values.t
gpu_tests += %reldir%/large.t
gpu_tests += %reldir%/linalg.t
gpu_tests += %reldir%/memory.t
gpu_tests += %reldir%/modes.t
gpu_tests += %reldir%/one_plan.t
gpu_tests += %reldir%/peer.t
gpu_tests += %reldir%/random.t
gpu_tests += %reldir%/streams.t
TESTS += %reldir%/conform.sh %reldir%/fashion.sh %reldir%/fuse.sh %reldir%/sanitizer_runner.sh
EXTRA_DIST += %reldir%/assembled.sh %reldir%/ptx.py %reldir%/ptx_kernels.py %reldir%/fuse.sh %reldir%/program.c %reldir%/conform.sh %reldir%/device.sh %reldir%/fashion.sh
EXTRA_DIST += %reldir%/stub_driver.c %reldir%/stub_memory.c %reldir%/stub_nvml.c %reldir%/gpu.h %reldir%/path.h
EXTRA_DIST += %reldir%/stub_cufft.c %reldir%/stub_fft.c %reldir%/fft_layouts.c %reldir%/fft.c
EXTRA_DIST += %reldir%/linalg.c %reldir%/emulate.cc %reldir%/emulate.h %reldir%/fibre.h %reldir%/linalg_calls.c %reldir%/linalg_errors.c %reldir%/stub_cusolver.c %reldir%/stub_cusolver.h %reldir%/stub_cusolver_svd.c %reldir%/stub_linalg.cc
EXTRA_DIST += %reldir%/stub_linalg_kernels.h %reldir%/attention_calls.c %reldir%/attention_lab.h %reldir%/norm_calls.c %reldir%/neural_lab.h %reldir%/emulate_warp.cc %reldir%/emulate_warp.h %reldir%/emulate_wide.h %reldir%/stub_neural.cc
EXTRA_DIST += %reldir%/conv_calls.c %reldir%/forms.h %reldir%/stub_conv.cc %reldir%/stub_conv_wide.cc %reldir%/stub_conv_kernels.h %reldir%/stub_cudnn.c
EXTRA_DIST += %reldir%/scan_calls.c %reldir%/stub_scan.cc %reldir%/select_calls.c %reldir%/stub_select.cc %reldir%/emulate_mma.h %reldir%/emulate_types.h %reldir%/pool_calls.c %reldir%/stub_pool.cc %reldir%/stub_pool_kernels.h
EXTRA_DIST += %reldir%/order_calls.c %reldir%/stub_order.cc %reldir%/stub_fourier.cc %reldir%/graph_calls.c %reldir%/stub_graph.c
EXTRA_DIST += %reldir%/math.cc %reldir%/leading.cc %reldir%/stub_blaslt.c %reldir%/stub_device.c %reldir%/stubs.h
EXTRA_DIST += %reldir%/sanitizer_runner.sh %reldir%/sanitizer.sh %reldir%/arithmetic.c %reldir%/peer.c %reldir%/unsound.c %reldir%/locking.c %reldir%/compile.c
EXTRA_DIST += %reldir%/ipc.c %reldir%/nccl.c %reldir%/stub_nccl.c %reldir%/stub_share.c
EXTRA_DIST += %reldir%/walk.c %reldir%/warmup.c %reldir%/stub_nvrtc.c
EXTRA_DIST += %reldir%/driver.c %reldir%/code.c %reldir%/context.c %reldir%/copies.c %reldir%/graph.c %reldir%/large.c %reldir%/memory.c %reldir%/modes.c %reldir%/random.c %reldir%/streams.c
if HAVE_CUDA
# One after the other: some look at how much of the GPU's memory is in use.
%reldir%/fuse.log: %reldir%/conform.log
%reldir%/fashion.log: %reldir%/fuse.log
%reldir%/capture_ops.log: %reldir%/fashion.log
%reldir%/code.log: %reldir%/capture_ops.log
%reldir%/context.log: %reldir%/code.log
%reldir%/copies.log: %reldir%/context.log
%reldir%/fft.log: %reldir%/copies.log
%reldir%/graph.log: %reldir%/fft.log
%reldir%/graph_cond.log: %reldir%/graph.log
%reldir%/graph_memory.log: %reldir%/graph_cond.log
%reldir%/graph_replay.log: %reldir%/graph_memory.log
%reldir%/graph_threads.log: %reldir%/graph_replay.log
%reldir%/graph_values.log: %reldir%/graph_threads.log
%reldir%/large.log: %reldir%/graph_values.log
%reldir%/linalg.log: %reldir%/large.log
%reldir%/memory.log: %reldir%/linalg.log
%reldir%/modes.log: %reldir%/memory.log
%reldir%/one_plan.log: %reldir%/modes.log
%reldir%/peer.log: %reldir%/one_plan.log
%reldir%/random.log: %reldir%/peer.log
%reldir%/streams.log: %reldir%/random.log
check_PROGRAMS += $(cuda_tests)
TESTS += $(cuda_tests) %reldir%/assembled.sh
%reldir%/assembled.log: %reldir%/program.t
check_LTLIBRARIES += %reldir%/libblasltstub.la %reldir%/libcudastub.la %reldir%/libcudnnstub.la %reldir%/libcufftstub.la %reldir%/libcusolverstub.la %reldir%/libncclstub.la %reldir%/libnvmlstub.la %reldir%/libnvrtcstub.la
endif
%canon_reldir%_libcudastub_la_SOURCES = %reldir%/emulate.cc %reldir%/emulate.h %reldir%/fibre.h %reldir%/emulate_warp.cc %reldir%/emulate_warp.h %reldir%/emulate_wide.h %reldir%/stub_device.c %reldir%/stub_driver.c %reldir%/stub_fft.c %reldir%/stub_graph.c \
  %reldir%/stub_scan.cc %reldir%/stub_select.cc %reldir%/emulate_mma.h %reldir%/emulate_types.h %reldir%/stub_linalg.cc %reldir%/stub_linalg_kernels.h %reldir%/stub_memory.c %reldir%/stub_share.c %reldir%/stub_conv.cc %reldir%/stub_conv_wide.cc %reldir%/stub_conv_kernels.h %reldir%/stub_pool.cc %reldir%/stub_pool_kernels.h %reldir%/stub_neural.cc %reldir%/stub_order.cc %reldir%/stub_fourier.cc
%canon_reldir%_libcudastub_la_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/backends/cuda $(ND_CUDA_CPPFLAGS)
%canon_reldir%_libcudastub_la_CXXFLAGS = -std=c++17 -Wall -Wextra -Wno-unknown-pragmas -fno-exceptions -fno-rtti
%canon_reldir%_libcudastub_la_LDFLAGS = $(mock_ldflags)
%canon_reldir%_libcusolverstub_la_SOURCES = %reldir%/stub_cusolver.c %reldir%/stub_cusolver.h %reldir%/stub_cusolver_svd.c
%canon_reldir%_libcusolverstub_la_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/backends/cuda
%canon_reldir%_libcusolverstub_la_LDFLAGS = $(mock_ldflags)
%canon_reldir%_libcusolverstub_la_LIBADD = -lm
%canon_reldir%_libcudnnstub_la_SOURCES = %reldir%/stub_cudnn.c
%canon_reldir%_libcudnnstub_la_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/backends/cuda $(ND_CUDA_CPPFLAGS)
%canon_reldir%_libcudnnstub_la_LDFLAGS = $(mock_ldflags)
%canon_reldir%_libblasltstub_la_SOURCES = %reldir%/stub_blaslt.c
%canon_reldir%_libblasltstub_la_CPPFLAGS = $(AM_CPPFLAGS) $(ND_CUDA_CPPFLAGS)
%canon_reldir%_libblasltstub_la_LDFLAGS = $(mock_ldflags)
%canon_reldir%_libcufftstub_la_SOURCES = %reldir%/stub_cufft.c
%canon_reldir%_libcufftstub_la_LDFLAGS = $(mock_ldflags)
%canon_reldir%_libcufftstub_la_LIBADD = -lm
%canon_reldir%_libncclstub_la_SOURCES = %reldir%/stub_nccl.c
%canon_reldir%_libncclstub_la_LDFLAGS = $(mock_ldflags)
%canon_reldir%_libncclstub_la_LIBADD = -lpthread
%canon_reldir%_libnvmlstub_la_SOURCES = %reldir%/stub_nvml.c
%canon_reldir%_libnvmlstub_la_LDFLAGS = $(mock_ldflags)
%canon_reldir%_libnvrtcstub_la_SOURCES = %reldir%/stub_nvrtc.c
%canon_reldir%_libnvrtcstub_la_LDFLAGS = $(mock_ldflags)
%canon_reldir%_attention_calls_t_SOURCES = %reldir%/attention_calls.c
%canon_reldir%_attention_calls_t_LDADD = $(core_ldadd) -ldl -lm -lpthread
%canon_reldir%_norm_calls_t_SOURCES = %reldir%/norm_calls.c
%canon_reldir%_norm_calls_t_LDADD = $(test_ldadd) -ldl -lm
%canon_reldir%_math_t_SOURCES = %reldir%/math.cc
%canon_reldir%_math_t_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/backends/cuda
%canon_reldir%_math_t_CXXFLAGS = -std=c++17 -Wall -Wextra -Wno-unknown-pragmas -Wno-unused-function -ffp-contract=off -O2
%canon_reldir%_math_t_LDADD = -lm
%canon_reldir%_leading_t_SOURCES = %reldir%/leading.cc %reldir%/emulate.cc
%canon_reldir%_leading_t_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/backends/cuda
%canon_reldir%_leading_t_CXXFLAGS = -std=c++17 -Wall -Wextra -Wno-unknown-pragmas -Wno-unused-function -O2
%canon_reldir%_arithmetic_t_SOURCES = %reldir%/arithmetic.c
%canon_reldir%_arithmetic_t_LDADD = $(test_ldadd) -ldl -lpthread
%canon_reldir%_driver_t_SOURCES = %reldir%/driver.c
%canon_reldir%_driver_t_LDADD = $(test_ldadd) -ldl
%canon_reldir%_unsound_t_SOURCES = %reldir%/unsound.c
%canon_reldir%_unsound_t_LDADD = $(test_ldadd) -ldl
%canon_reldir%_locking_t_SOURCES = %reldir%/locking.c
%canon_reldir%_locking_t_LDADD = $(test_ldadd) -ldl
%canon_reldir%_compile_t_SOURCES = %reldir%/compile.c
%canon_reldir%_compile_t_LDADD = $(test_ldadd) -ldl
%canon_reldir%_program_t_SOURCES = %reldir%/program.c backends/cuda/program/prune.c backends/cuda/program/source.c \
  backends/cuda/program/ptx.c backends/cuda/program/ptx_elements.c backends/cuda/program/ptx_flat.c backends/cuda/program/ptx_row_values.c backends/cuda/program/ptx_row_walk.c backends/cuda/program/ptx_rows.c backends/cuda/program/ptx_strided.c backends/cuda/program/source_pairs.c backends/cuda/program/source_rows.c backends/cuda/program/text.c backends/cuda/program/walks.c backends/cuda/reduce/keys.c
%canon_reldir%_program_t_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/backends/cuda -Ibackends/cuda -DCUDA_SOURCE_DIR='"$(abs_top_srcdir)"' -DCUDA_FATBIN_DIR='"$(abs_top_builddir)/backends/cuda"'
%canon_reldir%_program_t_LDADD = -ldl -lpthread
%canon_reldir%_walk_t_SOURCES = %reldir%/walk.c backends/cuda/walk/plan.c
%canon_reldir%_walk_t_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/backends/cuda
%canon_reldir%_fft_layouts_t_SOURCES = %reldir%/fft_layouts.c
%canon_reldir%_fft_layouts_t_LDADD = $(test_ldadd) -ldl -lm -lpthread
%canon_reldir%_linalg_calls_t_SOURCES = %reldir%/linalg_calls.c
%canon_reldir%_linalg_calls_t_LDADD = $(test_ldadd) -ldl -lm
%canon_reldir%_linalg_errors_t_SOURCES = %reldir%/linalg_errors.c
%canon_reldir%_linalg_errors_t_LDADD = $(test_ldadd) -ldl -lm
%canon_reldir%_ipc_t_SOURCES = %reldir%/ipc.c
%canon_reldir%_ipc_t_LDADD = $(test_ldadd) -ldl
%canon_reldir%_nccl_t_SOURCES = %reldir%/nccl.c backends/cuda/comm/board.c backends/cuda/comm/board.h
%canon_reldir%_nccl_t_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/backends/cuda
%canon_reldir%_nccl_t_LDADD = $(test_ldadd) -ldl -lm -lpthread -lrt
%canon_reldir%_conv_calls_t_SOURCES = %reldir%/conv_calls.c %reldir%/forms.h
%canon_reldir%_conv_calls_t_CPPFLAGS = $(AM_CPPFLAGS) $(ND_CUDA_CPPFLAGS)
%canon_reldir%_conv_calls_t_LDADD = $(test_ldadd) -ldl -lm
%canon_reldir%_pool_calls_t_SOURCES = %reldir%/pool_calls.c %reldir%/forms.h
%canon_reldir%_pool_calls_t_LDADD = $(test_ldadd) -ldl -lm
%canon_reldir%_graph_calls_t_SOURCES = %reldir%/graph_calls.c
%canon_reldir%_graph_calls_t_LDADD = $(test_ldadd) -ldl
%canon_reldir%_order_calls_t_SOURCES = %reldir%/order_calls.c
%canon_reldir%_order_calls_t_LDADD = $(core_ldadd) -ldl -lm -lpthread
%canon_reldir%_scan_calls_t_SOURCES = %reldir%/scan_calls.c
%canon_reldir%_scan_calls_t_LDADD = $(test_ldadd) -ldl
%canon_reldir%_select_calls_t_SOURCES = %reldir%/select_calls.c
%canon_reldir%_select_calls_t_LDADD = $(test_ldadd) -ldl -lm
%canon_reldir%_warmup_t_SOURCES = %reldir%/warmup.c
%canon_reldir%_warmup_t_LDADD = $(test_ldadd) -ldl
%canon_reldir%_capture_ops_t_SOURCES = tests/stream/capture_ops.c
%canon_reldir%_capture_ops_t_CPPFLAGS = $(AM_CPPFLAGS) -DCAPTURE_ON_CUDA
%canon_reldir%_capture_ops_t_LDADD = $(core_ldadd) -lpthread
%canon_reldir%_one_plan_t_SOURCES = tests/fft/one_plan.c
%canon_reldir%_one_plan_t_CPPFLAGS = $(AM_CPPFLAGS) -DONE_PLAN_ON_CUDA
%canon_reldir%_one_plan_t_LDADD = $(test_ldadd) -lpthread
%canon_reldir%_graph_cond_t_SOURCES = tests/graph/cond.c
%canon_reldir%_graph_cond_t_CPPFLAGS = $(AM_CPPFLAGS) -DGRAPHS_ON_CUDA
%canon_reldir%_graph_cond_t_LDADD = $(test_ldadd) -lpthread
%canon_reldir%_graph_memory_t_SOURCES = tests/graph/memory.c
%canon_reldir%_graph_memory_t_CPPFLAGS = $(AM_CPPFLAGS) -DGRAPHS_ON_CUDA
%canon_reldir%_graph_memory_t_LDADD = $(test_ldadd) -lpthread
%canon_reldir%_graph_replay_t_SOURCES = tests/graph/replay.c
%canon_reldir%_graph_replay_t_CPPFLAGS = $(AM_CPPFLAGS) -DGRAPHS_ON_CUDA
%canon_reldir%_graph_replay_t_LDADD = $(test_ldadd) -lpthread
%canon_reldir%_graph_threads_t_SOURCES = tests/graph/threads.c
%canon_reldir%_graph_threads_t_CPPFLAGS = $(AM_CPPFLAGS) -DGRAPHS_ON_CUDA
%canon_reldir%_graph_threads_t_LDADD = $(test_ldadd) -lpthread
%canon_reldir%_graph_values_t_SOURCES = tests/graph/values.c
%canon_reldir%_graph_values_t_CPPFLAGS = $(AM_CPPFLAGS) -DGRAPHS_ON_CUDA
%canon_reldir%_graph_values_t_LDADD = $(test_ldadd) -lpthread
%canon_reldir%_code_t_SOURCES = %reldir%/code.c
%canon_reldir%_code_t_LDADD = $(test_ldadd)
%canon_reldir%_context_t_SOURCES = %reldir%/context.c
%canon_reldir%_context_t_CPPFLAGS = $(AM_CPPFLAGS) $(ND_CUDA_CPPFLAGS)
%canon_reldir%_context_t_LDADD = $(test_ldadd) -ldl
%canon_reldir%_copies_t_SOURCES = %reldir%/copies.c
%canon_reldir%_copies_t_LDADD = $(test_ldadd) -lpthread
%canon_reldir%_fft_t_SOURCES = %reldir%/fft.c
%canon_reldir%_fft_t_LDADD = $(test_ldadd) -lm -lpthread
%canon_reldir%_graph_t_SOURCES = %reldir%/graph.c
%canon_reldir%_graph_t_LDADD = $(test_ldadd)
%canon_reldir%_large_t_SOURCES = %reldir%/large.c
%canon_reldir%_large_t_LDADD = $(test_ldadd) -lm
%canon_reldir%_linalg_t_SOURCES = %reldir%/linalg.c
%canon_reldir%_linalg_t_LDADD = $(test_ldadd) -lm
%canon_reldir%_memory_t_SOURCES = %reldir%/memory.c
%canon_reldir%_memory_t_LDADD = $(test_ldadd)
%canon_reldir%_random_t_SOURCES = %reldir%/random.c
%canon_reldir%_random_t_LDADD = $(test_ldadd)
%canon_reldir%_streams_t_SOURCES = %reldir%/streams.c
%canon_reldir%_streams_t_LDADD = $(test_ldadd)
%canon_reldir%_modes_t_SOURCES = %reldir%/modes.c
%canon_reldir%_modes_t_LDADD = $(test_ldadd) -lm
%canon_reldir%_peer_t_SOURCES = %reldir%/peer.c
%canon_reldir%_peer_t_CPPFLAGS = $(AM_CPPFLAGS) $(ND_CUDA_CPPFLAGS)
%canon_reldir%_peer_t_LDADD = $(test_ldadd) -ldl

# NVIDIA's compute-sanitizer over the kernels, in slices; where there is a GPU.
.PHONY: check-cuda-sanitizer
check-cuda-sanitizer: all
	$(AM_V_at)$(MAKE) $(AM_MAKEFLAGS) tests/conform/conform.t
	$(AM_V_at)$(AM_TESTS_ENVIRONMENT) srcdir=$(srcdir) $(SHELL) $(srcdir)/%reldir%/sanitizer.sh
