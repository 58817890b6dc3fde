# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# What a user of an installed ndock does. The same scripts run over the build tree in `make check` where that makes sense.
install_scripts = %reldir%/headers.sh %reldir%/pkgconfig.sh %reldir%/readme.sh %reldir%/cmake.sh
EXTRA_DIST += $(install_scripts) tests/tap.sh tests/totals.sh

# ND_INSTALLED says that the scripts are to use what `make install` put there, under DESTDIR if that is set.
installcheck-local:
	$(AM_V_at)failed=; for script in $(install_scripts); do \
	  echo "# $$script"; \
	  ND_INSTALLED=yes CC='$(CC)' CXX='$(CXX)' CPPFLAGS='$(CPPFLAGS)' CFLAGS='$(AM_CFLAGS) $(CFLAGS)' LDFLAGS='$(LDFLAGS)' \
	  includedir='$(DESTDIR)$(includedir)' libdir='$(DESTDIR)$(libdir)' bindir='$(DESTDIR)$(bindir)' \
	  plugindir='$(DESTDIR)$(plugindir)' cmakedir='$(DESTDIR)$(cmakedir)' \
	  PKG_CONFIG_PATH='$(DESTDIR)$(pkgconfigdir)' PKG_CONFIG_SYSROOT_DIR='$(DESTDIR)' srcdir='$(srcdir)' \
	  $(SHELL) $(srcdir)/$$script || failed=yes; \
	done; test -z "$$failed"

TESTS += %reldir%/readme.sh tests/unit/architecture.sh tests/unit/fashion.sh
EXTRA_DIST += tests/unit/architecture.sh tests/unit/fashion.sh
