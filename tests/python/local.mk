# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Comparisons with NumPy.
check_PROGRAMS += %reldir%/io_copy
TESTS += %reldir%/io_numpy.sh
EXTRA_DIST += %reldir%/io_numpy.sh %reldir%/io_numpy.py
%canon_reldir%_io_copy_SOURCES = %reldir%/io_copy.c
%canon_reldir%_io_copy_LDADD = $(test_ldadd)

TESTS += %reldir%/print_numpy.sh
EXTRA_DIST += %reldir%/print_numpy.sh %reldir%/print_numpy.py
