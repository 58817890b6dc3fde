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
%canon_reldir%_loader_t_SOURCES = %reldir%/loader.c %reldir%/sandbox.h
%canon_reldir%_loader_t_LDADD = $(test_ldadd)
EXTRA_DIST += %reldir%/staged.sh %reldir%/derived.sh

# Built of tier0.c with one difference each.
more_mocks = %reldir%/ndock-mock00.la %reldir%/ndock-crashes.la %reldir%/ndock-exits.la %reldir%/ndock-hangs.la \
  %reldir%/ndock-liar.la %reldir%/ndock-many.la %reldir%/ndock-misnamed.la %reldir%/ndock-nonote.la \
  %reldir%/ndock-old.la %reldir%/ndock-new.la %reldir%/ndock-twina.la %reldir%/ndock-twinb.la
check_LTLIBRARIES += $(more_mocks)
%canon_reldir%_ndock_mock00_la_SOURCES = %reldir%/tier0.c
%canon_reldir%_ndock_mock00_la_CPPFLAGS = $(AM_CPPFLAGS) -DMOCK_TRACED -DMOCK_NAME='"mock00"'
%canon_reldir%_ndock_mock00_la_LDFLAGS = $(mock_ldflags)
%canon_reldir%_ndock_crashes_la_SOURCES = %reldir%/tier0.c
%canon_reldir%_ndock_crashes_la_CPPFLAGS = $(AM_CPPFLAGS) -DMOCK_CRASHES -DMOCK_NAME='"crashes"'
%canon_reldir%_ndock_crashes_la_LDFLAGS = $(mock_ldflags)
%canon_reldir%_ndock_exits_la_SOURCES = %reldir%/tier0.c
%canon_reldir%_ndock_exits_la_CPPFLAGS = $(AM_CPPFLAGS) -DMOCK_EXITS -DMOCK_NAME='"exits"'
%canon_reldir%_ndock_exits_la_LDFLAGS = $(mock_ldflags)
%canon_reldir%_ndock_hangs_la_SOURCES = %reldir%/tier0.c
%canon_reldir%_ndock_hangs_la_CPPFLAGS = $(AM_CPPFLAGS) -DMOCK_HANG -DMOCK_NAME='"hangs"'
%canon_reldir%_ndock_hangs_la_LDFLAGS = $(mock_ldflags)
%canon_reldir%_ndock_liar_la_SOURCES = %reldir%/tier0.c
%canon_reldir%_ndock_liar_la_CPPFLAGS = $(AM_CPPFLAGS) -DMOCK_SIZE=0x40000000 -DMOCK_NAME='"liar"'
%canon_reldir%_ndock_liar_la_LDFLAGS = $(mock_ldflags)
%canon_reldir%_ndock_many_la_SOURCES = %reldir%/tier0.c
%canon_reldir%_ndock_many_la_CPPFLAGS = $(AM_CPPFLAGS) -DMOCK_MANY -DMOCK_NAME='"many"'
%canon_reldir%_ndock_many_la_LDFLAGS = $(mock_ldflags)
%canon_reldir%_ndock_misnamed_la_SOURCES = %reldir%/tier0.c
%canon_reldir%_ndock_misnamed_la_CPPFLAGS = $(AM_CPPFLAGS) -DMOCK_NOTE_NAME='"somebody"' -DMOCK_NAME='"misnamed"'
%canon_reldir%_ndock_misnamed_la_LDFLAGS = $(mock_ldflags)
%canon_reldir%_ndock_nonote_la_SOURCES = %reldir%/tier0.c
%canon_reldir%_ndock_nonote_la_CPPFLAGS = $(AM_CPPFLAGS) -DMOCK_NO_NOTE -DMOCK_TRACED -DMOCK_NAME='"nonote"'
%canon_reldir%_ndock_nonote_la_LDFLAGS = $(mock_ldflags)
%canon_reldir%_ndock_old_la_SOURCES = %reldir%/tier0.c
%canon_reldir%_ndock_old_la_CPPFLAGS = $(AM_CPPFLAGS) -DMOCK_TRACED -DMOCK_NAME='"versions"' -DMOCK_VERSION='"1.9"'
%canon_reldir%_ndock_old_la_LDFLAGS = $(mock_ldflags)
%canon_reldir%_ndock_new_la_SOURCES = %reldir%/tier0.c
%canon_reldir%_ndock_new_la_CPPFLAGS = $(AM_CPPFLAGS) -DMOCK_TRACED -DMOCK_NAME='"versions"' -DMOCK_VERSION='"1.10"'
%canon_reldir%_ndock_new_la_LDFLAGS = $(mock_ldflags)
%canon_reldir%_ndock_twina_la_SOURCES = %reldir%/tier0.c
%canon_reldir%_ndock_twina_la_CPPFLAGS = $(AM_CPPFLAGS) -DMOCK_TRACED -DMOCK_NAME='"twina"' -DMOCK_PRIORITY=50 -DMOCK_UNIQUE_ID='"0000:3b:00.%u"'
%canon_reldir%_ndock_twina_la_LDFLAGS = $(mock_ldflags)
%canon_reldir%_ndock_twinb_la_SOURCES = %reldir%/tier0.c
%canon_reldir%_ndock_twinb_la_CPPFLAGS = $(AM_CPPFLAGS) -DMOCK_TRACED -DMOCK_NAME='"twinb"' -DMOCK_PRIORITY=60 -DMOCK_UNIQUE_ID='"3B:00.%X"'
%canon_reldir%_ndock_twinb_la_LDFLAGS = $(mock_ldflags)

loader_tests = %reldir%/note.t %reldir%/scan.t %reldir%/order.t %reldir%/trial.t %reldir%/secure.t
check_PROGRAMS += $(loader_tests)
TESTS += $(loader_tests)
%canon_reldir%_note_t_SOURCES = %reldir%/note.c
%canon_reldir%_note_t_LDADD = $(core_ldadd)
%canon_reldir%_scan_t_SOURCES = %reldir%/scan.c %reldir%/sandbox.h
%canon_reldir%_scan_t_LDADD = $(test_ldadd)
%canon_reldir%_order_t_SOURCES = %reldir%/order.c %reldir%/sandbox.h
%canon_reldir%_order_t_LDADD = $(core_ldadd)
%canon_reldir%_trial_t_SOURCES = %reldir%/trial.c %reldir%/sandbox.h
%canon_reldir%_trial_t_LDADD = $(test_ldadd)
%canon_reldir%_secure_t_SOURCES = %reldir%/secure.c %reldir%/sandbox.h
%canon_reldir%_secure_t_LDADD = $(core_ldadd)
