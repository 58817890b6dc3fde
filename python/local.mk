# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The Python package. Where it is built, the folder python/ of the build tree holds the whole package: PYTHONPATH may name it.
include python/files.mk
python_tools = %reldir%/pyproject.toml %reldir%/tools/backend.py %reldir%/tools/stubs.py %reldir%/tools/wheel.py
EXTRA_DIST += $(python_sources) $(python_modules) $(python_tools)

if HAVE_PYTHON_HEADERS
pkgpyexec_LTLIBRARIES = %reldir%/_ndock.la
pkgpyexecdir = $(pyexecdir)/ndock
%canon_reldir%__ndock_la_SOURCES = $(python_sources)
%canon_reldir%__ndock_la_CPPFLAGS = $(AM_CPPFLAGS) $(PYTHON_CPPFLAGS)
%canon_reldir%__ndock_la_LDFLAGS = -module -avoid-version -shared -shrext $(PYTHON_SUFFIX) -export-symbols-regex PyInit__ndock
%canon_reldir%__ndock_la_LIBADD = libndock.la

# The package as it would be installed, by links.
all-local: %reldir%/package.stamp
%reldir%/package.stamp: %reldir%/_ndock.la $(python_modules) %reldir%/tools/stubs.py include/ndock/op.def
	$(AM_V_GEN)$(MKDIR_P) %reldir%/ndock && \
	for f in $(python_modules); do \
	  $(MKDIR_P) "`dirname $$f`" && { test $$f -ef $(abs_srcdir)/$$f || $(LN_S) -f $(abs_srcdir)/$$f $$f; } || exit 1; \
	done && \
	$(LN_S) -f $(abs_builddir)/%reldir%/.libs/_ndock$(PYTHON_SUFFIX) %reldir%/ndock/_ndock$(PYTHON_SUFFIX) && \
	env $(PYTHON_SANITIZED) LD_LIBRARY_PATH=$(abs_builddir)/.libs \
	  $(PYTHON) -B $(srcdir)/%reldir%/tools/stubs.py %reldir%/.libs/_ndock$(PYTHON_SUFFIX) \
	  $(top_srcdir)/include/ndock/op.def $(srcdir)/%reldir%/ndock/_methods.py >%reldir%/ndock/_ndock.pyi && touch $@
CLEANFILES += %reldir%/package.stamp %reldir%/ndock/_ndock$(PYTHON_SUFFIX) %reldir%/ndock/_ndock.pyi
clean-local:
	rm -rf %reldir%/ndock/__pycache__ %reldir%/ndock/*/__pycache__ %reldir%/wheel %reldir%/wheel-sim %reldir%/wheel-cuda %reldir%/mypy
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
	$(INSTALL_DATA) %reldir%/ndock/_ndock.pyi '$(DESTDIR)$(pkgpyexecdir)/_ndock.pyi'
uninstall-hook:
	rm -f '$(DESTDIR)$(pkgpyexecdir)/_ndock$(PYTHON_SUFFIX)' '$(DESTDIR)$(pkgpyexecdir)/_ndock.pyi'
	@for f in $(python_modules); do rm -f "$(DESTDIR)$(pkgpyexecdir)/`echo $$f | $(python_below)`"; done
	rm -rf '$(DESTDIR)$(pkgpyexecdir)/__pycache__' '$(DESTDIR)$(pkgpyexecdir)'/*/__pycache__
	@for d in '$(DESTDIR)$(pkgpyexecdir)'/*/ '$(DESTDIR)$(pkgpyexecdir)'; do \
	  if test -d "$$d"; then rmdir "$$d" 2>/dev/null; fi; \
	done; :

# `make wheel`: ndock with its library and the CPU plug-in, which find each other and libgomp from where they lie. A process that has a
# libgomp already uses that. `make wheel-cuda`: the CUDA plug-in alone. They are the same objects, linked once more. Each target has a
# folder of its own, for `make -j` makes them at once.
WHEEL_DIR = .
wheel_py = $(PYTHON) -B $(srcdir)/%reldir%/tools/wheel.py
wheel_flags = --top $(srcdir) --version $(PACKAGE_VERSION) --out '$(WHEEL_DIR)'
wheel_link = -rpath /nowhere -Wl,--enable-new-dtags,-rpath
wheel_strip = $(STRIP) --strip-unneeded -o
# What it carries alone: for `pip install ./python` nobody waits for tools, examples and the simulated device.
wheel: libndock.la backends/cpu/ndock-cpu.la %reldir%/package.stamp
	$(AM_V_at)rm -rf %reldir%/wheel && $(MKDIR_P) %reldir%/wheel '$(WHEEL_DIR)'
	$(AM_V_at)$(MAKE) -s $(AM_MAKEFLAGS) %reldir%/wheel/_ndock.la %reldir%/wheel/ndock-cpu.la
	$(AM_V_at)cd %reldir%/wheel && for f in _ndock$(PYTHON_SUFFIX) ndock-cpu.so; do $(wheel_strip) $$f .libs/$$f || exit 1; done && \
	  $(wheel_strip) libndock.so.0 $(abs_builddir)/.libs/libndock.so.0
	$(AM_V_at)bundle=`$(CC) -print-file-name=libgomp.so.1`; test -n '$(OPENMP_CFLAGS)' || bundle=; \
	$(wheel_py) core $(wheel_flags) --package %reldir%/ndock --extension %reldir%/wheel/_ndock$(PYTHON_SUFFIX) \
	  --library %reldir%/wheel/libndock.so.0 --plugin %reldir%/wheel/ndock-cpu.so --bundle $$bundle \
	  --headers $(srcdir)/include/ndock include/ndock
%reldir%/wheel/_ndock.la: %reldir%/_ndock.la
	$(%canon_reldir%__ndock_la_LINK) $(wheel_link),'$$ORIGIN/lib' $(%canon_reldir%__ndock_la_OBJECTS) -Wl,.libs/libndock.so
%reldir%/wheel/ndock-cpu.la: backends/cpu/ndock-cpu.la
	$(backends_cpu_ndock_cpu_la_LINK) $(wheel_link),'$$ORIGIN/../..' $(backends_cpu_ndock_cpu_la_OBJECTS) $(backends_cpu_ndock_cpu_la_LIBADD)

wheel-sim: all
	$(AM_V_at)$(MKDIR_P) %reldir%/$@ '$(WHEEL_DIR)' && $(wheel_strip) %reldir%/$@/ndock-sim.so plugins/sim/.libs/ndock-sim.so && \
	$(wheel_py) plugin $(wheel_flags) --name sim --plugin %reldir%/$@/ndock-sim.so
if HAVE_CUDA
wheel-cuda: all
	$(AM_V_at)$(MKDIR_P) %reldir%/$@ '$(WHEEL_DIR)' && $(wheel_strip) %reldir%/$@/ndock-cuda.so backends/cuda/.libs/ndock-cuda.so && \
	$(wheel_py) plugin $(wheel_flags) --name cuda`$(NVCC) --version | sed -n 's/.*release \([0-9]*\).*/\1/p'` --plugin %reldir%/$@/ndock-cuda.so
else
wheel-cuda:
	@echo 'wheel-cuda: this tree was configured without CUDA (no nvcc)' >&2; exit 1
endif
else
wheel wheel-sim wheel-cuda:
	@echo 'wheel: this tree was configured without the Python package' >&2; exit 1
endif

check-wheel: all
	$(AM_V_at)$(AM_TESTS_ENVIRONMENT) srcdir='$(srcdir)' VERSION='$(PACKAGE_VERSION)' MAKE='$(MAKE)' $(SHELL) $(srcdir)/tests/python/wheel.sh

MYPY = mypy
mypy = MYPYPATH=$(abs_builddir)/python $(MYPY) --cache-dir=$(abs_builddir)/%reldir%/mypy --config-file $(abs_srcdir)/%reldir%/pyproject.toml
check-mypy: all
	$(mypy) -p ndock
	$(mypy) $(srcdir)/tests/python/typed.py
	$(mypy) --allow-untyped-defs --allow-incomplete-defs --allow-untyped-calls --check-untyped-defs $(srcdir)/examples/fashion.py $(srcdir)/examples/convnet.py
.PHONY: wheel wheel-sim wheel-cuda check-wheel check-mypy
