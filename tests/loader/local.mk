# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The loader, with a plug-in of the required functions alone and its broken twins.
mock_ldflags = -module -avoid-version -shared -rpath /nowhere
mocks = %reldir%/ndock-tier0.la %reldir%/ndock-noentry.la %reldir%/ndock-abi.la %reldir%/ndock-short.la \
  %reldir%/ndock-noread.la %reldir%/ndock-refuses.la %reldir%/ndock-nodevice.la %reldir%/ndock-openfails.la \
  %reldir%/ndock-tier1.la
check_LTLIBRARIES += $(mocks)
%canon_reldir%_ndock_tier0_la_SOURCES = %reldir%/tier0.c
%canon_reldir%_ndock_tier0_la_LDFLAGS = $(mock_ldflags)
%canon_reldir%_ndock_tier1_la_SOURCES = %reldir%/tier1.c
%canon_reldir%_ndock_tier1_la_LDFLAGS = $(mock_ldflags)
%canon_reldir%_ndock_noentry_la_SOURCES = %reldir%/tier0.c
%canon_reldir%_ndock_noentry_la_CPPFLAGS = $(AM_CPPFLAGS) -DMOCK_NO_ENTRY
%canon_reldir%_ndock_noentry_la_LDFLAGS = $(mock_ldflags)
%canon_reldir%_ndock_abi_la_SOURCES = %reldir%/tier0.c
%canon_reldir%_ndock_abi_la_CPPFLAGS = $(AM_CPPFLAGS) -DMOCK_MINOR=99
%canon_reldir%_ndock_abi_la_LDFLAGS = $(mock_ldflags)
%canon_reldir%_ndock_short_la_SOURCES = %reldir%/tier0.c
%canon_reldir%_ndock_short_la_CPPFLAGS = $(AM_CPPFLAGS) -DMOCK_SIZE=64
%canon_reldir%_ndock_short_la_LDFLAGS = $(mock_ldflags)
%canon_reldir%_ndock_noread_la_SOURCES = %reldir%/tier0.c
%canon_reldir%_ndock_noread_la_CPPFLAGS = $(AM_CPPFLAGS) -DMOCK_NO_READ
%canon_reldir%_ndock_noread_la_LDFLAGS = $(mock_ldflags)
%canon_reldir%_ndock_refuses_la_SOURCES = %reldir%/tier0.c
%canon_reldir%_ndock_refuses_la_CPPFLAGS = $(AM_CPPFLAGS) -DMOCK_ENTRY_REFUSES
%canon_reldir%_ndock_refuses_la_LDFLAGS = $(mock_ldflags)
%canon_reldir%_ndock_nodevice_la_SOURCES = %reldir%/tier0.c
%canon_reldir%_ndock_nodevice_la_CPPFLAGS = $(AM_CPPFLAGS) -DMOCK_NO_DEVICE
%canon_reldir%_ndock_nodevice_la_LDFLAGS = $(mock_ldflags)
%canon_reldir%_ndock_openfails_la_SOURCES = %reldir%/tier0.c
%canon_reldir%_ndock_openfails_la_CPPFLAGS = $(AM_CPPFLAGS) -DMOCK_OPEN_FAILS -DMOCK_NAME='"openfails"'
%canon_reldir%_ndock_openfails_la_LDFLAGS = $(mock_ldflags)

check_PROGRAMS += %reldir%/loader.t
TESTS += %reldir%/loader.t %reldir%/staged.sh %reldir%/derived.sh
TESTS += %reldir%/property.sh
EXTRA_DIST += %reldir%/property.sh
%canon_reldir%_loader_t_SOURCES = %reldir%/loader.c
%canon_reldir%_loader_t_LDADD = $(test_ldadd)
EXTRA_DIST += %reldir%/staged.sh %reldir%/derived.sh
