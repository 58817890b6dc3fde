# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Tests speak TAP; see tests/tap.h. Without --ignore-exit a crash after the last "ok" is a failure.
TEST_EXTENSIONS = .t .sh
T_LOG_DRIVER = env AM_TAP_AWK='$(AWK)' $(SHELL) $(top_srcdir)/build-aux/tap-driver.sh
SH_LOG_DRIVER = $(T_LOG_DRIVER)
SH_LOG_COMPILER = $(SHELL)
# What the shell tests need to know; they find their sources by $srcdir and run at the top of the build tree.
AM_TESTS_ENVIRONMENT = CC='$(CC)'; CFLAGS='$(AM_CFLAGS) $(CFLAGS)'; LDFLAGS='$(LDFLAGS)'; PYTHON='$(PYTHON)'; \
  export CC CFLAGS LDFLAGS PYTHON;
include tests/install/local.mk
