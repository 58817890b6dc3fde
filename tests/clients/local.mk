# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# What other libraries' tests of array API arrays say of ours; for hours and the network, so no part of `make check`.
EXTRA_DIST += %reldir%/README.md %reldir%/requirements.txt %reldir%/clients.sh %reldir%/test_sklearn.py %reldir%/opt_einsum_arrays.py %reldir%/needle_ndock.py %reldir%/mpi4py_ranks.py \
  %reldir%/test_dask.py %reldir%/test_xarray_blocks.py %reldir%/requirements-blocks.txt \
  %reldir%/array_api_strict/__init__.py %reldir%/array_api_strict/_array_object.py
clients_script = $(abs_top_srcdir)/%reldir%/clients.sh
check-clients: all
	$(AM_V_at)NDOCK_PLUGIN_PATH='$(test_plugin_path)' PYTHON='$(PYTHON)' $(python_test_env) $(SHELL) $(clients_script) $(CLIENTS)
.PHONY: check-clients
