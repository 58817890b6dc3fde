# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Tests speak TAP; see tests/tap.h. Without --ignore-exit a crash after the last "ok" is a failure.
TEST_EXTENSIONS = .t .sh
T_LOG_DRIVER = env AM_TAP_AWK='$(AWK)' $(SHELL) $(top_srcdir)/build-aux/tap-driver.sh
SH_LOG_DRIVER = $(T_LOG_DRIVER)
SH_LOG_COMPILER = $(SHELL)
