# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Tests speak TAP; see tests/tap.h. Without --ignore-exit a crash after the last "ok" is a failure.
TEST_EXTENSIONS = .t .sh
T_LOG_DRIVER = env AM_TAP_AWK='$(AWK)' $(SHELL) $(top_srcdir)/build-aux/tap-driver.sh
SH_LOG_DRIVER = $(T_LOG_DRIVER)
SH_LOG_COMPILER = $(SHELL)
<<<<<<< HEAD

# Programs of tests use the library as anybody does, and the plug-ins of this build tree.
test_ldadd = libndock.la
test_environment = NDOCK_PLUGIN_PATH='$(abs_top_builddir)/backends/cpu/.libs'
AM_TESTS_ENVIRONMENT = $(test_environment); PYTHON='$(PYTHON)'; export NDOCK_PLUGIN_PATH PYTHON;

io_tests = %reldir%/unit/npy.t %reldir%/unit/idx.t %reldir%/unit/safetensors.t %reldir%/unit/file.t
check_PROGRAMS += $(io_tests) %reldir%/python/io_copy
TESTS += $(io_tests) %reldir%/python/io_numpy.sh
EXTRA_DIST += %reldir%/python/io_numpy.sh %reldir%/python/io_numpy.py
io_test_sources = %reldir%/unit/io_files.h %reldir%/tap.h
%canon_reldir%_unit_npy_t_SOURCES = %reldir%/unit/npy.c $(io_test_sources)
%canon_reldir%_unit_npy_t_LDADD = $(test_ldadd)
%canon_reldir%_unit_idx_t_SOURCES = %reldir%/unit/idx.c $(io_test_sources)
%canon_reldir%_unit_idx_t_LDADD = $(test_ldadd)
%canon_reldir%_unit_safetensors_t_SOURCES = %reldir%/unit/safetensors.c $(io_test_sources)
%canon_reldir%_unit_safetensors_t_LDADD = $(test_ldadd)
%canon_reldir%_unit_file_t_SOURCES = %reldir%/unit/file.c $(io_test_sources)
%canon_reldir%_unit_file_t_LDADD = $(test_ldadd)
%canon_reldir%_python_io_copy_SOURCES = %reldir%/python/io_copy.c
%canon_reldir%_python_io_copy_LDADD = $(test_ldadd)
include tests/fuzz/local.mk
=======
# What the shell tests need to know; they find their sources by $srcdir and run at the top of the build tree.
AM_TESTS_ENVIRONMENT = CC='$(CC)'; CFLAGS='$(AM_CFLAGS) $(CFLAGS)'; LDFLAGS='$(LDFLAGS)'; PYTHON='$(PYTHON)'; \
  export CC CFLAGS LDFLAGS PYTHON;
include tests/install/local.mk
>>>>>>> w-j
