# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Comparisons with NumPy.
check_PROGRAMS += %reldir%/io_copy
TESTS += %reldir%/io_numpy.sh
EXTRA_DIST += %reldir%/io_numpy.sh %reldir%/compare_io.py
%canon_reldir%_io_copy_SOURCES = %reldir%/io_copy.c
%canon_reldir%_io_copy_LDADD = $(test_ldadd)

TESTS += %reldir%/print_numpy.sh
EXTRA_DIST += %reldir%/print_numpy.sh %reldir%/compare_print.py

# The package's own tests, on the package as it lies in the build tree.
python_test_env = env $(PYTHON_SANITIZED) PYTHONPATH=$(abs_top_builddir)/python:$(abs_top_srcdir)/%reldir% LD_LIBRARY_PATH=$(abs_top_builddir)/.libs CPU_ISA_HIGHEST='$(ND_CPU_ISA_HIGHEST)'
python_tests = \
  %reldir%/test_array.py \
  %reldir%/test_asarray.py \
  %reldir%/test_buffer.py \
  %reldir%/test_calculus.py \
  %reldir%/test_cai.py \
  %reldir%/test_comm.py \
  %reldir%/test_peer.py \
  %reldir%/test_custom.py \
  %reldir%/test_decompositions.py \
  %reldir%/test_device.py \
  %reldir%/test_docs.py \
  %reldir%/test_distributions.py \
  %reldir%/test_dlpack.py \
  %reldir%/test_editing.py \
  %reldir%/test_einsum.py \
  %reldir%/test_reduce_shapes.py \
  %reldir%/test_examples.py \
  %reldir%/test_faults.py \
  %reldir%/test_fft.py \
  %reldir%/test_files.py \
  %reldir%/test_histogram.py \
  %reldir%/test_idioms.py \
  %reldir%/test_format.py %reldir%/test_fp8.py \
  %reldir%/test_graph.py \
  %reldir%/test_fuse.py \
  %reldir%/test_fuse_words.py \
  %reldir%/test_gguf.py \
  %reldir%/test_hostile.py \
  %reldir%/test_index.py \
  %reldir%/test_kernel_cache.py \
  %reldir%/test_kernel_reductions.py \
  %reldir%/test_kernel_sources.py \
  %reldir%/test_kernels.py \
  %reldir%/test_leaks.py \
  %reldir%/test_lifecycle.py \
  %reldir%/test_linalg.py \
  %reldir%/test_linalg_errors.py \
  %reldir%/test_products.py \
  %reldir%/test_linalg_refused.py \
  %reldir%/test_log.py \
  %reldir%/test_long_lines.py \
  %reldir%/test_manipulation.py \
  %reldir%/test_math.py \
  %reldir%/test_memory.py \
  %reldir%/test_modules.py \
  %reldir%/test_matrix.py \
  %reldir%/test_namespace.py \
  %reldir%/test_needle.py \
  %reldir%/test_needle_backend.py \
  %reldir%/test_nn.py \
  %reldir%/test_norms.py \
  %reldir%/test_npz.py \
  %reldir%/test_numpy_protocols.py \
  %reldir%/test_nn_attention.py \
  %reldir%/test_nn_candle.py \
  %reldir%/test_nn_direct.py \
  %reldir%/test_nn_pairs.py \
  %reldir%/test_nn_gradients.py \
  %reldir%/test_nn_losses.py \
  %reldir%/test_nn_norms.py \
  %reldir%/test_nn_parts.py \
  %reldir%/test_operators.py \
  %reldir%/test_package.py \
  %reldir%/test_paths.py \
  %reldir%/test_pickle.py \
  %reldir%/test_quantile.py \
  %reldir%/test_quantized.py \
  %reldir%/test_random.py \
  %reldir%/test_readme.py \
  %reldir%/test_selection.py \
  %reldir%/test_signal.py \
  %reldir%/test_sorting.py \
  %reldir%/test_special.py \
  %reldir%/test_special_cases.py \
  %reldir%/test_stacking.py \
  %reldir%/test_statistics.py \
  %reldir%/test_stream.py \
  %reldir%/test_text_files.py \
  %reldir%/test_threads.py \
  %reldir%/test_tiles.py \
  %reldir%/test_wait.py
EXTRA_DIST += $(python_tests) \
  %reldir%/arrays.py %reldir%/devices.py %reldir%/golden_expm.py %reldir%/in_use.py %reldir%/ranks.py %reldir%/kernels.py %reldir%/simulator.py %reldir%/tap.py %reldir%/typed.py %reldir%/wheel.sh
# Expected values of what candle's tests compute, and what made them.
EXTRA_DIST += tests/data/candle_golden.json tests/data/candle_golden.py
if HAVE_PYTHON_HEADERS
TESTS += $(python_tests)
endif

# The official array API suite, on demand; ARRAY_API_TESTS names its folder, else it is cloned.
EXTRA_DIST += %reldir%/array_api.sh %reldir%/array_api_xfails.txt
array_api_script = $(abs_top_srcdir)/%reldir%/array_api.sh
check-array-api: all
	$(AM_V_at)NDOCK_PLUGIN_PATH='$(test_plugin_path)' PYTHON='$(PYTHON)' $(python_test_env) $(SHELL) $(array_api_script)
.PHONY: check-array-api

# Errors of more and larger matrices than in make check, beside LAPACK's.
check-linalg-long: all
	$(AM_V_at)NDOCK_TEST_LONG=1 NDOCK_PLUGIN_PATH='$(test_plugin_path)' $(python_test_env) $(PYTHON) $(srcdir)/%reldir%/test_linalg_errors.py
.PHONY: check-linalg-long

# 10,000 random geometries of each function of windows, forward by the definition and gradients.
check-nn-long: all
	$(AM_V_at)NN_COUNT=10000 NDOCK_PLUGIN_PATH='$(test_plugin_path)' $(python_test_env) $(PYTHON) $(srcdir)/%reldir%/test_nn_gradients.py
	$(AM_V_at)for name in conv max_pool avg_pool upsample unfold fold; do \
	  NDOCK_PLUGIN_PATH='$(test_plugin_path)' NDOCK_CONFORM_DIR='$(abs_builddir)/tests/conform:$(abs_builddir)/tests/abi' \
	  tools/ndock conform --group D --filter "D.$$name*" --count 10000 backends/cpu/.libs/ndock-cpu.so || exit 1; \
	done
.PHONY: check-nn-long

# 10^6 round trips of each exchange, of which make check does a slice.
check-exchange: all
	$(AM_V_at)for t in test_cai test_dlpack; do \
	  ROUND_TRIPS=1000000 NDOCK_PLUGIN_PATH='$(test_plugin_path)' $(python_test_env) \
	    $(PYTHON) $(srcdir)/%reldir%/$$t.py round_trips || exit 1; \
	done
.PHONY: check-exchange
