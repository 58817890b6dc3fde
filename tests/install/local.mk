# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# What a user of an installed ndock does. The same scripts run over the build tree in `make check` where that makes sense.
install_scripts = %reldir%/headers.sh %reldir%/pkgconfig.sh %reldir%/readme.sh %reldir%/cmake.sh %reldir%/python.sh \
  %reldir%/new_plugin.sh
install_scripts += %reldir%/conform.sh
install_scripts += %reldir%/opencl.sh
EXTRA_DIST += $(install_scripts) tests/tap.sh tests/totals.sh

# ND_INSTALLED says that the scripts are to use what `make install` put there, under DESTDIR if that is set. They make packages of
# others, for which variables of this make's command line are not meant: MAKEFLAGS has those after "--", and so has the environment.
installcheck-local:
	$(AM_V_at). '$(abs_top_srcdir)/tests/environment.sh'; MAKEFLAGS="$${MAKEFLAGS%% -- *}"; export MAKEFLAGS; unset AM_MAKEFLAGS; failed=; for script in $(install_scripts); do \
	  echo "# $$script"; \
	  ND_INSTALLED=yes CC='$(CC)' CXX='$(CXX)' CPPFLAGS='$(CPPFLAGS)' CFLAGS='$(AM_CFLAGS) $(CFLAGS)' LDFLAGS='$(LDFLAGS)' \
	  includedir='$(DESTDIR)$(includedir)' libdir='$(DESTDIR)$(libdir)' bindir='$(DESTDIR)$(bindir)' \
	  plugindir='$(DESTDIR)$(plugindir)' pkglibexecdir='$(DESTDIR)$(pkglibexecdir)' cmakedir='$(DESTDIR)$(cmakedir)' \
	  kitdir='$(DESTDIR)$(pkglibexecdir)' \
	  pyexecdir='$(DESTDIR)$(pyexecdir)' DESTDIR='$(DESTDIR)' PYTHON='$(PYTHON)' PYTHON_SUFFIX='$(PYTHON_SUFFIX)' \
	  PKG_CONFIG_PATH='$(DESTDIR)$(pkgconfigdir)' PKG_CONFIG_SYSROOT_DIR='$(DESTDIR)' srcdir='$(srcdir)' \
	  $(SHELL) $(srcdir)/$$script || failed=yes; \
	done; test -z "$$failed"

TESTS += %reldir%/readme.sh tests/unit/architecture.sh tests/unit/convnet.sh tests/unit/fashion.sh tests/unit/layers.sh
EXTRA_DIST += tests/unit/architecture.sh tests/unit/convnet.sh tests/unit/fashion.sh tests/unit/layers.sh

# The formulas of the public header alone, in the oldest languages they are promised for.
check_PROGRAMS += %reldir%/scalar_tmpl_c.t %reldir%/scalar_tmpl_cxx.t
TESTS += %reldir%/scalar_tmpl_c.t %reldir%/scalar_tmpl_cxx.t
%canon_reldir%_scalar_tmpl_c_t_SOURCES = %reldir%/scalar_tmpl_c.c %reldir%/scalar_tmpl_cases.h
%canon_reldir%_scalar_tmpl_c_t_CFLAGS = $(AM_CFLAGS) -std=c99 -pedantic -ffp-contract=off
%canon_reldir%_scalar_tmpl_c_t_LDADD = -lm
%canon_reldir%_scalar_tmpl_cxx_t_SOURCES = %reldir%/scalar_tmpl_cxx.cc %reldir%/scalar_tmpl_cases.h
%canon_reldir%_scalar_tmpl_cxx_t_CXXFLAGS = -std=c++17 -pedantic -Wall -Wextra -ffp-contract=off
%canon_reldir%_scalar_tmpl_cxx_t_LDADD = -lm

# plugins/mpi is one too; tests/comm/mpi.sh compiles it.
EXTRA_DIST += plugins/mpi/README.md plugins/mpi/configure.ac plugins/mpi/Makefile.am plugins/mpi/collective.c plugins/mpi/life.c \
  plugins/mpi/message.c plugins/mpi/plugin.c plugins/mpi/plugin.map plugins/mpi/ranks.h plugins/mpi/tests
# plugins/opencl is a project of its own, which opencl.sh builds.
EXTRA_DIST += plugins/opencl/README.md plugins/opencl/configure.ac plugins/opencl/Makefile.am plugins/opencl/embed.sh \
  plugins/opencl/classes.def plugins/opencl/op.c plugins/opencl/plugin.c plugins/opencl/plugin.map \
  plugins/opencl/copy/convert.cl \
  plugins/opencl/elementwise/elementwise.c plugins/opencl/elementwise/elementwise.cl plugins/opencl/fused/fused.c plugins/opencl/fused/fused.h plugins/opencl/fused/rows.c \
  plugins/opencl/host/code.c plugins/opencl/host/device.c plugins/opencl/host/event.c plugins/opencl/host/guard.c plugins/opencl/host/host.c plugins/opencl/host/host_function.c plugins/opencl/host/kernel.c \
  plugins/opencl/host/library.c plugins/opencl/host/library.def plugins/opencl/host/memory.c plugins/opencl/host/opencl.h \
  plugins/opencl/host/order.c plugins/opencl/host/program.c plugins/opencl/host/stream.c \
  plugins/opencl/index/index.c plugins/opencl/index/index.cl \
  plugins/opencl/math/complex.cl plugins/opencl/math/divide.cl plugins/opencl/math/scalar.cl plugins/opencl/math/trig.cl \
  plugins/opencl/matmul/clblast.c plugins/opencl/matmul/matmul.c plugins/opencl/matmul/matmul.cl plugins/opencl/matmul/product.h \
  plugins/opencl/norm/norm.c plugins/opencl/norm/norm.cl \
  plugins/opencl/random/random.c plugins/opencl/random/random.cl \
  plugins/opencl/reduce/reduce.c plugins/opencl/reduce/reduce.cl plugins/opencl/reduce/total.cl \
  plugins/opencl/sort/sort.c plugins/opencl/sort/sort.cl \
  plugins/opencl/walk/prelude.cl plugins/opencl/walk/shape.c \
  plugins/opencl/tests
