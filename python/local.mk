# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The Python package. Where it is built, the folder python/ of the build tree holds the whole package: PYTHONPATH may name it.
python_sources = %reldir%/src/py.h %reldir%/src/elementwise.def %reldir%/src/module.c %reldir%/src/error.c \
  %reldir%/src/convert.c %reldir%/src/dtype.c %reldir%/src/device.c %reldir%/src/array.c %reldir%/src/number.c \
  %reldir%/src/elementwise.c %reldir%/src/create.c \
  %reldir%/src/needle.h %reldir%/src/needle.c %reldir%/src/needle_math.c %reldir%/src/needle_copy.c
python_modules = %reldir%/ndock/__init__.py %reldir%/ndock/_creation.py %reldir%/ndock/py.typed \
  %reldir%/ndock/needle.py %reldir%/ndock/_needle_array.py %reldir%/ndock/_needle_device.py
EXTRA_DIST += $(python_sources) $(python_modules)

if HAVE_PYTHON_HEADERS
python_LTLIBRARIES = %reldir%/_ndock.la
pythondir = $(pyexecdir)/ndock
dist_python_DATA = $(python_modules)
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
endif
