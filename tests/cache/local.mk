# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The caches. Programs look inside, so they link core/libcore.la; stub libraries and mock plug-ins are built here.
cache_tests = %reldir%/sha256.t %reldir%/plan.t %reldir%/kernel.t %reldir%/kernel_race.t %reldir%/workspace.t \
  %reldir%/library.t %reldir%/visible.t %reldir%/streams.t %reldir%/warmup.t %reldir%/available.t
cache_tests += %reldir%/store_room.t %reldir%/durable.t %reldir%/trusted.t %reldir%/kernel_damage.t %reldir%/kernel_place.t
check_PROGRAMS += $(cache_tests)
TESTS += $(cache_tests)
%canon_reldir%_sha256_t_SOURCES = %reldir%/sha256.c
%canon_reldir%_sha256_t_LDADD = $(core_ldadd)
%canon_reldir%_plan_t_SOURCES = %reldir%/plan.c
%canon_reldir%_plan_t_LDADD = $(core_ldadd) -lpthread
%canon_reldir%_kernel_t_SOURCES = %reldir%/kernel.c %reldir%/kernel_folder.h %reldir%/kernels.h
%canon_reldir%_kernel_t_LDADD = $(core_ldadd)
%canon_reldir%_kernel_damage_t_SOURCES = %reldir%/kernel_damage.c %reldir%/kernel_folder.h %reldir%/kernels.h
%canon_reldir%_kernel_damage_t_LDADD = $(core_ldadd)
%canon_reldir%_kernel_place_t_SOURCES = %reldir%/kernel_place.c %reldir%/kernel_folder.h %reldir%/kernels.h
%canon_reldir%_kernel_place_t_LDADD = $(core_ldadd)
%canon_reldir%_kernel_race_t_SOURCES = %reldir%/kernel_race.c %reldir%/kernels.h
%canon_reldir%_kernel_race_t_LDADD = $(core_ldadd) -lpthread
%canon_reldir%_store_room_t_SOURCES = %reldir%/store_room.c %reldir%/kernels.h
%canon_reldir%_store_room_t_LDADD = $(core_ldadd) -ldl
%canon_reldir%_workspace_t_SOURCES = %reldir%/workspace.c
%canon_reldir%_workspace_t_LDADD = $(core_ldadd) -lpthread
%canon_reldir%_library_t_SOURCES = %reldir%/library.c
%canon_reldir%_library_t_LDADD = $(core_ldadd)
%canon_reldir%_visible_t_SOURCES = %reldir%/visible.c
%canon_reldir%_visible_t_LDADD = $(core_ldadd)
%canon_reldir%_streams_t_SOURCES = %reldir%/streams.c
%canon_reldir%_streams_t_LDADD = $(core_ldadd)
%canon_reldir%_warmup_t_SOURCES = %reldir%/warmup.c
%canon_reldir%_warmup_t_LDADD = $(core_ldadd)
%canon_reldir%_durable_t_SOURCES = %reldir%/durable.c %reldir%/kernels.h
%canon_reldir%_durable_t_LDADD = $(core_ldadd) -ldl -lpthread
%canon_reldir%_trusted_t_SOURCES = %reldir%/trusted.c %reldir%/kernels.h
%canon_reldir%_trusted_t_LDADD = $(core_ldadd) -lpthread
%canon_reldir%_available_t_SOURCES = %reldir%/available.c %reldir%/served.h
%canon_reldir%_available_t_LDADD = $(test_ldadd)

# Libraries in two versions, one of them without what is required.
check_LTLIBRARIES += %reldir%/stub13.la %reldir%/stub12.la
%canon_reldir%_stub13_la_SOURCES = %reldir%/stub.c
%canon_reldir%_stub13_la_CPPFLAGS = $(AM_CPPFLAGS) -DSTUB_VERSION=13 -DSTUB_WITHOUT_ADD
%canon_reldir%_stub13_la_LDFLAGS = $(mock_ldflags)
%canon_reldir%_stub12_la_SOURCES = %reldir%/stub.c
%canon_reldir%_stub12_la_CPPFLAGS = $(AM_CPPFLAGS) -DSTUB_VERSION=12
%canon_reldir%_stub12_la_LDFLAGS = $(mock_ldflags)

# The plug-in of tests/loader in ways that only its count of devices can go wrong, and one that uses the services.
check_LTLIBRARIES += %reldir%/ndock-nolibrary.la %reldir%/ndock-olddriver.la %reldir%/ndock-served.la
%canon_reldir%_ndock_nolibrary_la_SOURCES = tests/loader/tier0.c
%canon_reldir%_ndock_nolibrary_la_CPPFLAGS = $(AM_CPPFLAGS) -DMOCK_NO_LIBRARY -DMOCK_NAME='"nolibrary"'
%canon_reldir%_ndock_nolibrary_la_LDFLAGS = $(mock_ldflags)
%canon_reldir%_ndock_olddriver_la_SOURCES = tests/loader/tier0.c
%canon_reldir%_ndock_olddriver_la_CPPFLAGS = $(AM_CPPFLAGS) -DMOCK_OLD_DRIVER -DMOCK_NAME='"olddriver"'
%canon_reldir%_ndock_olddriver_la_LDFLAGS = $(mock_ldflags)
%canon_reldir%_ndock_served_la_SOURCES = %reldir%/served.c %reldir%/served.h
%canon_reldir%_ndock_served_la_LDFLAGS = $(mock_ldflags)
