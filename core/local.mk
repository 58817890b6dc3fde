# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# libndock. The archive libcore.la is what unit tests of internals link; the library is the same objects behind the symbol map.
# From the lowest layer to the highest: a file uses its own layer and those before it (tests/layers/).
include core/base/local.mk
include core/model/local.mk
include core/plugin/local.mk
include core/stream/local.mk
include core/memory/local.mk
include core/array/local.mk
include core/run/local.mk
include core/ops/local.mk
include core/fuse/local.mk
include core/print/local.mk
include core/io/local.mk
include core/interop/local.mk
include core/collective/local.mk
include core/graph/local.mk
include core/lib/local.mk
core_sources = $(core_base_sources) $(core_model_sources) $(core_plugin_sources) $(core_stream_sources) $(core_memory_sources) \
  $(core_array_sources) $(core_run_sources) $(core_ops_sources) $(core_fuse_sources) $(core_print_sources) $(core_io_sources) \
  $(core_interop_sources) $(core_collective_sources) $(core_graph_sources) $(core_lib_sources)

noinst_LTLIBRARIES += %reldir%/libcore.la
%canon_reldir%_libcore_la_SOURCES = $(core_sources)
%canon_reldir%_libcore_la_CPPFLAGS = $(AM_CPPFLAGS) -DND_PLUGINDIR='"$(plugindir)"' -DND_CONFDIR='"$(sysconfdir)/ndock/plugins.d"' \
  -DND_LIBDIR='"$(libdir)"' -DND_LIBEXECDIR='"$(pkglibexecdir)"'
%canon_reldir%_libcore_la_CFLAGS = $(AM_CFLAGS) $(ND_LIBRARY_CFLAGS) -ftls-model=initial-exec

# The rule for -version-info is in CONTRIBUTING.md.
lib_LTLIBRARIES += libndock.la
libndock_la_SOURCES =
libndock_la_LIBADD = %reldir%/libcore.la -lm
libndock_la_LDFLAGS = -version-info 0:0:0
libndock_la_DEPENDENCIES = %reldir%/libcore.la
if HAVE_VERSION_SCRIPT
libndock_la_LDFLAGS += -Wl,-Bsymbolic-functions,--version-script=$(srcdir)/%reldir%/libndock.map
libndock_la_DEPENDENCIES += %reldir%/libndock.map
endif
EXTRA_DIST += %reldir%/libndock.map
