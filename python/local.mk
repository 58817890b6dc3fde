# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The Python package. Where it is built, the folder python/ of the build tree holds the whole package: PYTHONPATH may name it.
python_sources = %reldir%/src/py.h %reldir%/src/elementwise.def %reldir%/src/module.c %reldir%/src/error.c \
  %reldir%/src/convert.c %reldir%/src/dtype.c %reldir%/src/device.c %reldir%/src/array.c %reldir%/src/number.c \
  %reldir%/src/elementwise.c %reldir%/src/create.c
python_modules = %reldir%/ndock/__init__.py %reldir%/ndock/_creation.py %reldir%/ndock/py.typed
EXTRA_DIST += $(python_sources) $(python_modules)

if HAVE_PYTHON_HEADERS
pkgpyexec_LTLIBRARIES = %reldir%/_ndock.la
pkgpyexecdir = $(pyexecdir)/ndock
%canon_reldir%__ndock_la_SOURCES = $(python_sources)
%canon_reldir%__ndock_la_CPPFLAGS = $(AM_CPPFLAGS) $(PYTHON_CPPFLAGS)
%canon_reldir%__ndock_la_LDFLAGS = -module -avoid-version -shared -shrext $(PYTHON_SUFFIX) -export-symbols-regex PyInit__ndock
%canon_reldir%__ndock_la_LIBADD = libndock.la

# The package as it would be installed, by links.
all-local: %reldir%/package.stamp
%reldir%/package.stamp: %reldir%/_ndock.la $(python_modules)
	$(AM_V_GEN)$(MKDIR_P) %reldir%/ndock && \
	for f in $(python_modules); do \
	  $(MKDIR_P) "`dirname $$f`" && { test $$f -ef $(abs_srcdir)/$$f || $(LN_S) -f $(abs_srcdir)/$$f $$f; } || exit 1; \
	done && \
	$(LN_S) -f $(abs_builddir)/%reldir%/.libs/_ndock$(PYTHON_SUFFIX) %reldir%/ndock/_ndock$(PYTHON_SUFFIX) && touch $@
CLEANFILES += %reldir%/package.stamp %reldir%/ndock/_ndock$(PYTHON_SUFFIX)
clean-local:
	rm -rf %reldir%/ndock/__pycache__ %reldir%/ndock/*/__pycache__
	for f in $(python_modules); do if test -h $$f; then rm -f $$f; fi; done

# Python needs no file of libtool's.
install-exec-hook:
	rm -f '$(DESTDIR)$(pkgpyexecdir)/_ndock.la'
# By hand, since Automake would put the modules of all folders into one.
python_below = sed 's,^.*%reldir%/ndock/,,'
install-data-local:
	@for f in $(python_modules); do \
	  to="$(DESTDIR)$(pkgpyexecdir)/`echo $$f | $(python_below)`"; \
	  $(MKDIR_P) "`dirname "$$to"`" && $(INSTALL_DATA) $(srcdir)/$$f "$$to" || exit 1; \
	done
uninstall-hook:
	rm -f '$(DESTDIR)$(pkgpyexecdir)/_ndock$(PYTHON_SUFFIX)'
	@for f in $(python_modules); do rm -f "$(DESTDIR)$(pkgpyexecdir)/`echo $$f | $(python_below)`"; done
	rm -rf '$(DESTDIR)$(pkgpyexecdir)/__pycache__' '$(DESTDIR)$(pkgpyexecdir)'/*/__pycache__
	@for d in '$(DESTDIR)$(pkgpyexecdir)'/*/ '$(DESTDIR)$(pkgpyexecdir)'; do \
	  if test -d "$$d"; then rmdir "$$d" 2>/dev/null; fi; \
	done; :
endif
