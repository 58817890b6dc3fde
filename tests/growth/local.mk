# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# How the ABI grows: mocks from one source with shorter and longer tables, on this core and on hosts of other sizes.
check_LTLIBRARIES += %reldir%/ndock-old.la %reldir%/ndock-new.la
%canon_reldir%_ndock_old_la_SOURCES = %reldir%/mock.c
%canon_reldir%_ndock_old_la_CPPFLAGS = $(AM_CPPFLAGS) -DGROWTH_OLD
%canon_reldir%_ndock_old_la_LDFLAGS = $(mock_ldflags)
%canon_reldir%_ndock_new_la_SOURCES = %reldir%/mock.c
%canon_reldir%_ndock_new_la_CPPFLAGS = $(AM_CPPFLAGS) -DGROWTH_NEW
%canon_reldir%_ndock_new_la_LDFLAGS = $(mock_ldflags)
check_PROGRAMS += %reldir%/growth.t
TESTS += %reldir%/growth.t
noinst_HEADERS += %reldir%/guard.h
%canon_reldir%_growth_t_SOURCES = %reldir%/growth.c %reldir%/loader_1.c
%canon_reldir%_growth_t_LDADD = $(core_ldadd)
