# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Tests speak TAP; see tests/tap.h. Without --ignore-exit a crash after the last "ok" is a failure.
# Each area has a fragment of its own. NDOCK_TEST_SLICE=1 leaves out repetitions that sanitizers would see nothing new in.
TEST_EXTENSIONS = .t .sh .py
T_LOG_DRIVER = env AM_TAP_AWK='$(AWK)' $(SHELL) $(top_srcdir)/build-aux/tap-driver.sh
SH_LOG_DRIVER = $(T_LOG_DRIVER)
SH_LOG_COMPILER = $(SHELL)
PY_LOG_DRIVER = $(T_LOG_DRIVER)
PY_LOG_COMPILER = $(python_test_env) $(PYTHON) -B
noinst_HEADERS = %reldir%/tap.h %reldir%/borrowed.h %reldir%/asleep.h

# Programs of tests use the library as anybody does, and the plug-ins of this build tree. Shell tests find their
# sources by $srcdir and run at the top of the build tree.
test_ldadd = libndock.la
core_ldadd = core/libcore.la -lm
test_plugin_path = $(abs_top_builddir)/backends/cpu/.libs:$(abs_top_builddir)/plugins/sim/.libs
# Tests see what they name, whatever the caller's environment says and whatever is installed: environment.sh.
AM_TESTS_ENVIRONMENT = . '$(abs_top_srcdir)/%reldir%/environment.sh'; \
  NDOCK_PLUGIN_PATH='$(test_plugin_path)'; NDOCK_PLUGIN_DIR='$(abs_top_builddir)/%reldir%/nothing-installed'; \
  NDOCK_KERNEL_CACHE_DIR='$(abs_top_builddir)/%reldir%/kernels'; CC='$(CC)'; CFLAGS='$(AM_CFLAGS) $(CFLAGS)'; \
  LDFLAGS='$(LDFLAGS)'; PYTHON='$(PYTHON)'; \
  export NDOCK_PLUGIN_PATH NDOCK_PLUGIN_DIR NDOCK_KERNEL_CACHE_DIR CC CFLAGS LDFLAGS PYTHON;
EXTRA_DIST += %reldir%/fashion_cut.sh %reldir%/environment.sh
# What the plug-ins compiled for tests: NDOCK_KERNEL_CACHE_DIR.
mostlyclean-local:
	-rm -rf %reldir%/kernels

include tests/unit/local.mk
include tests/calls/local.mk
include tests/memory/local.mk
include tests/ops/local.mk
include tests/allocators/local.mk
include tests/python/local.mk
include tests/loader/local.mk
include tests/hook/local.mk
include tests/growth/local.mk
include tests/sim/local.mk
include tests/stream/local.mk
include tests/graph/local.mk
include tests/interop/local.mk
include tests/comm/local.mk
include tests/cache/local.mk
include tests/cuda/local.mk
include tests/abi/local.mk
include tests/broken/local.mk
include tests/conform/local.mk
include tests/kit/local.mk
include tests/fft/local.mk
include tests/fuse/local.mk
include tests/fuzz/local.mk
include tests/tools/local.mk
include tests/mutation/local.mk
include tests/install/local.mk
include tests/fresh/local.mk
include tests/clients/local.mk
include tests/layers/local.mk
include tests/change/local.mk
