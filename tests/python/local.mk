# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Comparisons with NumPy.
check_PROGRAMS += %reldir%/io_copy
TESTS += %reldir%/io_numpy.sh
EXTRA_DIST += %reldir%/io_numpy.sh %reldir%/io_numpy.py
%canon_reldir%_io_copy_SOURCES = %reldir%/io_copy.c
%canon_reldir%_io_copy_LDADD = $(test_ldadd)

TESTS += %reldir%/print_numpy.sh
EXTRA_DIST += %reldir%/print_numpy.sh %reldir%/print_numpy.py

# The package's own tests, on the package as it lies in the build tree.
python_test_env = env PYTHONPATH=$(abs_top_builddir)/python:$(abs_top_srcdir)/%reldir% LD_LIBRARY_PATH=$(abs_top_builddir)/.libs
python_tests = %reldir%/test_operators.py \
  %reldir%/test_needle.py %reldir%/test_needle_backend.py
python_tests += %reldir%/test_examples.py
EXTRA_DIST += %reldir%/tap.py $(python_tests)
if HAVE_PYTHON_HEADERS
TESTS += $(python_tests)
endif
