# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Every public function by a table that is made from the headers: calls.inc.
EXTRA_DIST += %reldir%/prototypes.awk
noinst_HEADERS += %reldir%/calls.h %reldir%/things.h %reldir%/world.h
EXTRA_DIST += %reldir%/numbers.def %reldir%/pointers.def
%reldir%/calls.inc: $(srcdir)/%reldir%/prototypes.awk $(dist_ndockinclude_DATA) include/ndock/version.h
	$(AM_V_GEN)$(MKDIR_P) %reldir% && printf '#include <ndock/ndock.h>\n#include <ndock/comm.h>\n' >$@.c && \
	  $(CC) $(DEFS) $(AM_CPPFLAGS) $(CPPFLAGS) -E $@.c | $(AWK) -f $(srcdir)/%reldir%/prototypes.awk >$@.new && \
	  rm -f $@.c && mv $@.new $@
CLEANFILES += %reldir%/calls.inc
check_PROGRAMS += %reldir%/null.t
TESTS += %reldir%/null.t
%canon_reldir%_null_t_SOURCES = %reldir%/null.c %reldir%/things.c %reldir%/world.c
nodist_%canon_reldir%_null_t_SOURCES = %reldir%/calls.inc
%canon_reldir%_null_t_LDADD = $(test_ldadd)
%reldir%/null.$(OBJEXT) %reldir%/world.$(OBJEXT): %reldir%/calls.inc
