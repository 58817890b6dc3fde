# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The caching allocator alone, over a mock of a device.
memory_tests = \
  %reldir%/blocks.t \
  %reldir%/conf.t \
  %reldir%/conf_plugin.t \
  %reldir%/conf_pytorch.t \
  %reldir%/crowd.t \
  %reldir%/expandable.t \
  %reldir%/ladder.t \
  %reldir%/pools.t \
  %reldir%/property.t \
  %reldir%/streams.t \
  %reldir%/threads.t
check_PROGRAMS += $(memory_tests)
TESTS += $(memory_tests)
%canon_reldir%_blocks_t_SOURCES = %reldir%/blocks.c %reldir%/mock.h %reldir%/audit.h
%canon_reldir%_blocks_t_LDADD = $(core_ldadd) -lpthread
%canon_reldir%_conf_t_SOURCES = %reldir%/conf.c %reldir%/mock.h %reldir%/audit.h
%canon_reldir%_conf_t_LDADD = $(core_ldadd) -lpthread
%canon_reldir%_conf_plugin_t_SOURCES = %reldir%/conf_plugin.c
%canon_reldir%_conf_plugin_t_LDADD = $(core_ldadd) -lpthread
%canon_reldir%_conf_pytorch_t_SOURCES = %reldir%/conf_pytorch.c
%canon_reldir%_conf_pytorch_t_LDADD = $(core_ldadd) -lpthread
%canon_reldir%_crowd_t_SOURCES = %reldir%/crowd.c
%canon_reldir%_crowd_t_LDADD = $(test_ldadd) -lpthread
%canon_reldir%_expandable_t_SOURCES = %reldir%/expandable.c %reldir%/mock.h %reldir%/audit.h
%canon_reldir%_expandable_t_LDADD = $(core_ldadd) -lpthread
%canon_reldir%_ladder_t_SOURCES = %reldir%/ladder.c %reldir%/mock.h %reldir%/audit.h
%canon_reldir%_ladder_t_LDADD = $(core_ldadd) -lpthread
%canon_reldir%_pools_t_SOURCES = %reldir%/pools.c %reldir%/mock.h %reldir%/audit.h
%canon_reldir%_pools_t_LDADD = $(core_ldadd) -lpthread
%canon_reldir%_property_t_SOURCES = %reldir%/property.c %reldir%/mock.h %reldir%/audit.h
%canon_reldir%_property_t_LDADD = $(core_ldadd) -lpthread
%canon_reldir%_streams_t_SOURCES = %reldir%/streams.c %reldir%/mock.h %reldir%/audit.h
%canon_reldir%_streams_t_LDADD = $(core_ldadd) -lpthread
%canon_reldir%_threads_t_SOURCES = %reldir%/threads.c %reldir%/mock.h %reldir%/audit.h
%canon_reldir%_threads_t_LDADD = $(core_ldadd) -lpthread

check_PROGRAMS += %reldir%/speed.t
TESTS += %reldir%/speed.t
%canon_reldir%_speed_t_SOURCES = %reldir%/speed.c
%canon_reldir%_speed_t_LDADD = $(core_ldadd) -lpthread

# C4 and C27 at their full length.
CROWD_SECONDS = 600
check-memory-long: %reldir%/property.t %reldir%/crowd.t
	NDOCK_MEMORY_OPS=1000000 %reldir%/property.t
	NDOCK_PLUGIN_PATH='$(test_plugin_path)' NDOCK_CROWD_SECONDS=$(CROWD_SECONDS) %reldir%/crowd.t
.PHONY: check-memory-long
