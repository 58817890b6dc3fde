# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The loader, with a plug-in of the required functions alone and its broken twins.
mock_ldflags = -module -avoid-version -shared -rpath /nowhere
mocks = %reldir%/ndock-tier0.la %reldir%/ndock-noentry.la %reldir%/ndock-abi.la %reldir%/ndock-short.la \
  %reldir%/ndock-noread.la %reldir%/ndock-refuses.la %reldir%/ndock-nodevice.la %reldir%/ndock-openfails.la \
  %reldir%/ndock-tier1.la %reldir%/ndock-upward.la %reldir%/ndock-whole.la %reldir%/ndock-both.la
check_LTLIBRARIES += $(mocks)
%canon_reldir%_ndock_tier0_la_SOURCES = %reldir%/tier0.c
%canon_reldir%_ndock_tier0_la_LDFLAGS = $(mock_ldflags)
%canon_reldir%_ndock_tier1_la_SOURCES = %reldir%/tier1.c
%canon_reldir%_ndock_tier1_la_LDFLAGS = $(mock_ldflags)
%canon_reldir%_ndock_upward_la_SOURCES = %reldir%/tier1.c
%canon_reldir%_ndock_upward_la_CPPFLAGS = $(AM_CPPFLAGS) -DTIER1_NAME='"upward"' -DTIER1_NEEDS=NDP_NEEDS_NO_NEGATIVE
%canon_reldir%_ndock_upward_la_LDFLAGS = $(mock_ldflags)
%canon_reldir%_ndock_whole_la_SOURCES = %reldir%/tier1.c
%canon_reldir%_ndock_whole_la_CPPFLAGS = $(AM_CPPFLAGS) -DTIER1_NAME='"whole"' -DTIER1_NEEDS=NDP_NEEDS_NO_BROADCAST
%canon_reldir%_ndock_whole_la_LDFLAGS = $(mock_ldflags)
%canon_reldir%_ndock_both_la_SOURCES = %reldir%/tier1.c
%canon_reldir%_ndock_both_la_CPPFLAGS = $(AM_CPPFLAGS) -DTIER1_NAME='"both"' -DTIER1_NEEDS='(NDP_NEEDS_NO_NEGATIVE|NDP_NEEDS_NO_BROADCAST)'
%canon_reldir%_ndock_both_la_LDFLAGS = $(mock_ldflags)
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
TESTS += %reldir%/loader.t %reldir%/staged.sh %reldir%/derived.sh %reldir%/linked.sh
TESTS += %reldir%/property.sh
EXTRA_DIST += %reldir%/property.sh
%canon_reldir%_loader_t_SOURCES = %reldir%/loader.c %reldir%/sandbox.h
%canon_reldir%_loader_t_LDADD = $(test_ldadd)
EXTRA_DIST += %reldir%/staged.sh %reldir%/derived.sh %reldir%/linked.sh

# Built of tier0.c with one difference each.
more_mocks = %reldir%/ndock-mock00.la %reldir%/ndock-crashes.la %reldir%/ndock-exits.la %reldir%/ndock-hangs.la \
  %reldir%/ndock-liar.la %reldir%/ndock-many.la %reldir%/ndock-misnamed.la %reldir%/ndock-nonote.la \
  %reldir%/ndock-old.la %reldir%/ndock-new.la %reldir%/ndock-twina.la %reldir%/ndock-twinb.la %reldir%/ndock-changes.la
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

%canon_reldir%_ndock_changes_la_SOURCES = %reldir%/changes.c
%canon_reldir%_ndock_changes_la_LDFLAGS = $(mock_ldflags)

loader_tests = %reldir%/note.t %reldir%/scan.t %reldir%/order.t %reldir%/trial.t %reldir%/secure.t
loader_tests += %reldir%/needs.t %reldir%/own.t %reldir%/race.t %reldir%/replaced.t
check_PROGRAMS += $(loader_tests)
TESTS += $(loader_tests)
%canon_reldir%_note_t_SOURCES = %reldir%/note.c
%canon_reldir%_note_t_LDADD = $(core_ldadd)
%canon_reldir%_scan_t_SOURCES = %reldir%/scan.c %reldir%/sandbox.h
%canon_reldir%_scan_t_LDADD = $(test_ldadd)
%canon_reldir%_order_t_SOURCES = %reldir%/order.c %reldir%/sandbox.h
%canon_reldir%_order_t_LDADD = $(core_ldadd)
%canon_reldir%_trial_t_SOURCES = %reldir%/trial.c %reldir%/sandbox.h
%canon_reldir%_trial_t_LDADD = $(test_ldadd) -lm
%canon_reldir%_secure_t_SOURCES = %reldir%/secure.c %reldir%/sandbox.h
%canon_reldir%_secure_t_LDADD = $(core_ldadd)

# Kernels with every kind of need, for one thread and for many at once; a plug-in whose file is replaced.
check_LTLIBRARIES += %reldir%/ndock-needy.la %reldir%/ndock-ours.la %reldir%/ndock-oursold.la %reldir%/ndock-replaces.la
noinst_HEADERS += %reldir%/needy.h
%canon_reldir%_ndock_needy_la_SOURCES = %reldir%/needy.c
%canon_reldir%_ndock_needy_la_LDFLAGS = $(mock_ldflags)
%canon_reldir%_ndock_replaces_la_SOURCES = %reldir%/tier0.c
%canon_reldir%_ndock_replaces_la_CPPFLAGS = $(AM_CPPFLAGS) -DMOCK_REPLACED -DMOCK_NAME='"replaces"'
%canon_reldir%_ndock_replaces_la_LDFLAGS = $(mock_ldflags)
%canon_reldir%_needs_t_SOURCES = %reldir%/needs.c %reldir%/sandbox.h
%canon_reldir%_needs_t_LDADD = $(test_ldadd)
%canon_reldir%_race_t_SOURCES = %reldir%/race.c %reldir%/sandbox.h
%canon_reldir%_race_t_LDADD = $(test_ldadd) -lpthread
%canon_reldir%_replaced_t_SOURCES = %reldir%/replaced.c %reldir%/sandbox.h
%canon_reldir%_replaced_t_LDADD = $(test_ldadd)
%canon_reldir%_ndock_ours_la_SOURCES = %reldir%/tier0.c
%canon_reldir%_ndock_ours_la_CPPFLAGS = $(AM_CPPFLAGS) -DMOCK_TRACED -DMOCK_NAME='"sim"' -DMOCK_VERSION='"$(PACKAGE_VERSION)"'
%canon_reldir%_ndock_ours_la_LDFLAGS = $(mock_ldflags)
%canon_reldir%_ndock_oursold_la_SOURCES = %reldir%/tier0.c
%canon_reldir%_ndock_oursold_la_CPPFLAGS = $(AM_CPPFLAGS) -DMOCK_TRACED -DMOCK_NAME='"sim"' -DMOCK_VERSION='"$(PACKAGE_VERSION).1"'
%canon_reldir%_ndock_oursold_la_LDFLAGS = $(mock_ldflags)
%canon_reldir%_own_t_SOURCES = %reldir%/own.c %reldir%/sandbox.h
%canon_reldir%_own_t_LDADD = $(core_ldadd) -lpthread

check_PROGRAMS += %reldir%/places.t
TESTS += %reldir%/places.t
%canon_reldir%_places_t_SOURCES = %reldir%/places.c %reldir%/sandbox.h
%canon_reldir%_places_t_LDADD = $(core_ldadd)
