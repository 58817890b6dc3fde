# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# libndock. The archive libcore.la is what unit tests of internals link; the library is the same objects behind the symbol map.
include core/plugin/local.mk
include core/stream/local.mk
include core/param/local.mk
include core/io/local.mk
include core/interop/local.mk
include core/memory/local.mk
include core/cache/local.mk
include core/hook/local.mk
core_sources = %reldir%/core.h %reldir%/dispatch.h %reldir%/lock.h %reldir%/fork.h %reldir%/fork.c %reldir%/thread.c %reldir%/transfer.c \
  %reldir%/status.c %reldir%/log.c %reldir%/handles.h %reldir%/handles.c %reldir%/source_line.c %reldir%/text.h %reldir%/text.c %reldir%/dtype.c %reldir%/promote.c %reldir%/scalar.c \
  %reldir%/shape.c %reldir%/overlap.c %reldir%/memory.c %reldir%/array.c %reldir%/view.c %reldir%/op.c \
  %reldir%/code.c %reldir%/custom.c %reldir%/op_form.c %reldir%/device.c %reldir%/dispatch.c %reldir%/derive.c \
  %reldir%/stage.c %reldir%/copy.c %reldir%/elementwise.c %reldir%/reduce.c %reldir%/norm.c %reldir%/math.c \
  %reldir%/matmul.c %reldir%/create.c %reldir%/ramp.c %reldir%/indexing.c %reldir%/select.c %reldir%/sorting.c \
  %reldir%/set.c %reldir%/random.c %reldir%/manip.c %reldir%/print.h %reldir%/print.c %reldir%/print_number.c \
  %reldir%/fallback.h %reldir%/fallback.c
core_sources += $(core_plugin_sources) $(core_stream_sources) $(core_param_sources) $(core_memory_sources) \
  $(core_cache_sources) $(core_io_sources) $(core_interop_sources) $(core_hook_sources)

noinst_LTLIBRARIES += %reldir%/libcore.la
%canon_reldir%_libcore_la_SOURCES = $(core_sources)
%canon_reldir%_libcore_la_CPPFLAGS = $(AM_CPPFLAGS) -DND_PLUGINDIR='"$(plugindir)"' -DND_CONFDIR='"$(sysconfdir)/ndock/plugins.d"' \
  -DND_LIBDIR='"$(libdir)"' -DND_LIBEXECDIR='"$(pkglibexecdir)"'
%canon_reldir%_libcore_la_CFLAGS = $(AM_CFLAGS) -ftls-model=initial-exec

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
