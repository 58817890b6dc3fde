# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Speed, ours and peers' side by side in one run: `make bench` on a machine with a GPU.
EXTRA_DIST += %reldir%/attention.py %reldir%/busy.py %reldir%/cpu.py %reldir%/shapes.py %reldir%/exchange.py %reldir%/comm.py %reldir%/comm_models.py %reldir%/comm_overlap.py %reldir%/comm_register.py %reldir%/python_small.py %reldir%/fft.py %reldir%/fuse.py %reldir%/linalg.py %reldir%/stats.py %reldir%/kernels.py %reldir%/gpu.py %reldir%/gpu_fft.py %reldir%/gpu_linalg.py %reldir%/gpu_stats.py %reldir%/gpu_timing.py %reldir%/gpu_graph.py %reldir%/gpu_speed.py %reldir%/sweep.py %reldir%/ulp.py %reldir%/plot.py %reldir%/nn.py %reldir%/norms.py %reldir%/windows.py %reldir%/conv.py %reldir%/conv_engines.py %reldir%/quant.py %reldir%/narrow.py %reldir%/page.py %reldir%/others.py %reldir%/ndock_ctypes.py %reldir%/overlap.sh %reldir%/small_add.sh
check_PROGRAMS += %reldir%/overlap
TESTS += %reldir%/overlap.sh
%canon_reldir%_overlap_SOURCES = %reldir%/overlap.c
%canon_reldir%_overlap_LDADD = libndock.la
# Instructions of the small add from C, by callgrind.
EXTRA_PROGRAMS += %reldir%/small_add
%canon_reldir%_small_add_SOURCES = %reldir%/small_add.c
%canon_reldir%_small_add_LDADD = libndock.la
CLEANFILES += %reldir%/small_add
bench-small-add: %reldir%/small_add backends/cpu/ndock-cpu.la
	$(AM_V_at)NDOCK_PLUGIN_PATH='$(bench_plugin_path)' $(LIBTOOL) --mode=execute $(SHELL) $(srcdir)/%reldir%/small_add.sh %reldir%/small_add
if HAVE_CUDA
EXTRA_PROGRAMS += %reldir%/launch
%canon_reldir%_launch_SOURCES = %reldir%/launch.c
%canon_reldir%_launch_CPPFLAGS = $(AM_CPPFLAGS) $(ND_CUDA_CPPFLAGS)
%canon_reldir%_launch_LDADD = libndock.la
bench: %reldir%/launch %reldir%/overlap all
	$(AM_V_at)NDOCK_PLUGIN_PATH='$(bench_plugin_path)' %reldir%/launch
	$(AM_V_at)NDOCK_PLUGIN_PATH='$(bench_plugin_path)' %reldir%/overlap
	$(AM_V_at)test -z '$(PYTHON_SUFFIX)' || $(MAKE) $(AM_MAKEFLAGS) bench-python
	$(AM_V_at)NDOCK_PLUGIN_PATH='$(bench_plugin_path)' $(PYTHON) $(srcdir)/%reldir%/gpu.py --lib $(abs_builddir)/.libs/libndock.so $(BENCH_FLAGS)
else
bench:
	@echo 'bench: this tree was configured without CUDA (no nvcc); nothing is compared' >&2; exit 1
endif
# Small work from Python, on whatever devices there are.
bench-python: all
	$(AM_V_at)NDOCK_PLUGIN_PATH='$(bench_plugin_path)' $(python_test_env) $(PYTHON) $(srcdir)/%reldir%/python_small.py $(BENCH_PYTHON_FLAGS)
# What exchanges of arrays cost, on whatever devices and with whatever libraries there are.
bench-exchange: all
	$(AM_V_at)NDOCK_PLUGIN_PATH='$(bench_plugin_path):$(test_plugin_path)' $(python_test_env) $(PYTHON) $(srcdir)/%reldir%/exchange.py
# Fourier transforms: of the CPU beside SciPy's, and of a GPU beside cuFFT, PyTorch and CuPy.
bench-fft: all
	$(AM_V_at)for n in 1 2; do echo "$$n threads"; \
	  NDOCK_NUM_THREADS=$$n NDOCK_PLUGIN_PATH='$(bench_plugin_path)' $(python_test_env) $(PYTHON) $(srcdir)/%reldir%/fft.py --workers $$n; done
# Statistics, searches and einsum of the CPU beside NumPy.
bench-statistics: all
	$(AM_V_at)for n in 1 2; do \
	  NDOCK_PLUGIN_PATH='$(bench_plugin_path)' $(python_test_env) $(PYTHON) $(srcdir)/%reldir%/stats.py --threads $$n $(BENCH_FLAGS); done
# Every kind of work of the CPU beside NumPy, numexpr and PyTorch, with one thread and with all.
bench-cpu: all
	$(AM_V_at)NDOCK_PLUGIN_PATH='$(bench_plugin_path)' $(python_test_env) $(PYTHON) $(srcdir)/%reldir%/cpu.py $(BENCH_FLAGS)
# The largest errors of elementwise functions: BENCH_FLAGS='--bits 22 --device cuda:0'.
bench-ulp: all
	$(AM_V_at)NDOCK_PLUGIN_PATH='$(bench_plugin_path)' $(python_test_env) $(PYTHON) $(srcdir)/%reldir%/ulp.py $(BENCH_FLAGS)
# A short job beside busy processes, and in a quota.
bench-busy: all
	$(AM_V_at)NDOCK_PLUGIN_PATH='$(bench_plugin_path)' $(python_test_env) $(PYTHON) $(srcdir)/%reldir%/busy.py $(BENCH_FLAGS)
# Kernels by formula: beside NumPy, and on a GPU beside CuPy.
bench-kernels: all
	$(AM_V_at)for device in cpu $(BENCH_DEVICES); do \
	  NDOCK_PLUGIN_PATH='$(bench_plugin_path)' $(python_test_env) $(PYTHON) $(srcdir)/%reldir%/kernels.py --device $$device $(BENCH_FLAGS); done
bench-gpu-fft: all
	$(AM_V_at)NDOCK_PLUGIN_PATH='$(bench_plugin_path)' $(python_test_env) $(PYTHON) $(srcdir)/%reldir%/gpu_fft.py
# Linear algebra of a GPU beside PyTorch and CuPy, nothing staged.
bench-gpu-linalg: all
	$(AM_V_at)NDOCK_FALLBACK=error NDOCK_PLUGIN_PATH='$(bench_plugin_path)' $(python_test_env) $(PYTHON) $(srcdir)/%reldir%/gpu_linalg.py $(BENCH_FLAGS)
# Statistics of a GPU beside PyTorch and CuPy.
bench-gpu-stats: all
	$(AM_V_at)NDOCK_PLUGIN_PATH='$(bench_plugin_path)' $(python_test_env) $(PYTHON) $(srcdir)/%reldir%/gpu_stats.py $(BENCH_FLAGS)
# The rows of speed.md on a GPU, nothing staged.
bench-gpu-speed: all
	$(AM_V_at)NDOCK_FALLBACK=error NDOCK_PLUGIN_PATH='$(bench_plugin_path)' $(python_test_env) $(PYTHON) $(srcdir)/%reldir%/gpu_speed.py $(BENCH_FLAGS)
# Cost against size, drawn: BENCH_FLAGS="--device cuda:0 --most 28".
bench-sweep: all
	$(AM_V_at)NDOCK_PLUGIN_PATH='$(bench_plugin_path)' $(python_test_env) $(PYTHON) $(srcdir)/%reldir%/sweep.py --json sweep.json $(BENCH_FLAGS)
	$(AM_V_at)$(PYTHON) $(srcdir)/%reldir%/plot.py sweep.json sweep.svg
# Neural operations beside PyTorch: BENCH_FLAGS="--device cuda:0".
bench-nn: all
	$(AM_V_at)NDOCK_PLUGIN_PATH='$(bench_plugin_path)' $(python_test_env) $(PYTHON) $(srcdir)/%reldir%/norms.py $(BENCH_FLAGS)
	$(AM_V_at)NDOCK_PLUGIN_PATH='$(bench_plugin_path)' $(python_test_env) $(PYTHON) $(srcdir)/%reldir%/nn.py $(BENCH_FLAGS)
# The same at one shape each, products of eight bits too, and which rows are short: BENCH_FLAGS="--device cuda:0".
bench-page: all
	$(AM_V_at)NDOCK_PLUGIN_PATH='$(bench_plugin_path)' $(python_test_env) $(PYTHON) $(srcdir)/%reldir%/page.py $(BENCH_FLAGS)
# Quantised products and dequantisation, beside PyTorch's products: BENCH_FLAGS='--device cpu' or a GPU.
bench-quant: all
	$(AM_V_at)NDOCK_PLUGIN_PATH='$(bench_plugin_path)' $(python_test_env) $(PYTHON) $(srcdir)/%reldir%/quant.py $(BENCH_FLAGS)
CLEANFILES += sweep.json sweep.svg
# Products of 8-bit matrices, beside PyTorch.
bench-narrow: all
	$(AM_V_at)NDOCK_PLUGIN_PATH='$(bench_plugin_path)' $(python_test_env) $(PYTHON) $(srcdir)/%reldir%/narrow.py $(BENCH_FLAGS)
bench_plugin_path = $(abs_builddir)/backends/cpu/.libs:$(abs_builddir)/backends/cuda/.libs
.PHONY: bench bench-busy bench-small-add bench-nn bench-python bench-exchange bench-fft bench-statistics bench-cpu bench-kernels bench-gpu-fft bench-gpu-linalg bench-gpu-stats bench-gpu-speed bench-quant bench-sweep bench-ulp bench-narrow bench-page
