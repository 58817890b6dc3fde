# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The CUDA plug-in: what it says without a driver, on stub libraries, and its host side on a GPU; the latter skip where there is none.
cuda_tests =
cuda_tests += %reldir%/driver.t
cuda_tests += %reldir%/code.t
cuda_tests += %reldir%/context.t
cuda_tests += %reldir%/copies.t
cuda_tests += %reldir%/graph.t
cuda_tests += %reldir%/memory.t
cuda_tests += %reldir%/modes.t
cuda_tests += %reldir%/random.t
cuda_tests += %reldir%/streams.t
TESTS += %reldir%/conform.sh %reldir%/fashion.sh
EXTRA_DIST += %reldir%/conform.sh %reldir%/device.sh %reldir%/fashion.sh
EXTRA_DIST += %reldir%/stub_driver.c %reldir%/stub_nvml.c %reldir%/gpu.h
EXTRA_DIST += %reldir%/driver.c %reldir%/code.c %reldir%/context.c %reldir%/copies.c %reldir%/graph.c %reldir%/memory.c %reldir%/modes.c %reldir%/random.c %reldir%/streams.c
if HAVE_CUDA
check_PROGRAMS += $(cuda_tests)
TESTS += $(cuda_tests)
check_LTLIBRARIES += %reldir%/libcudastub.la %reldir%/libnvmlstub.la
endif
%canon_reldir%_libcudastub_la_SOURCES = %reldir%/stub_driver.c
%canon_reldir%_libcudastub_la_CPPFLAGS = $(AM_CPPFLAGS) $(ND_CUDA_CPPFLAGS)
%canon_reldir%_libcudastub_la_LDFLAGS = $(mock_ldflags)
%canon_reldir%_libnvmlstub_la_SOURCES = %reldir%/stub_nvml.c
%canon_reldir%_libnvmlstub_la_LDFLAGS = $(mock_ldflags)
%canon_reldir%_driver_t_SOURCES = %reldir%/driver.c
%canon_reldir%_driver_t_LDADD = $(test_ldadd) -ldl
%canon_reldir%_code_t_SOURCES = %reldir%/code.c
%canon_reldir%_code_t_LDADD = $(test_ldadd)
%canon_reldir%_context_t_SOURCES = %reldir%/context.c
%canon_reldir%_context_t_CPPFLAGS = $(AM_CPPFLAGS) $(ND_CUDA_CPPFLAGS)
%canon_reldir%_context_t_LDADD = $(test_ldadd) -ldl
%canon_reldir%_copies_t_SOURCES = %reldir%/copies.c
%canon_reldir%_copies_t_LDADD = $(test_ldadd) -lpthread
%canon_reldir%_graph_t_SOURCES = %reldir%/graph.c
%canon_reldir%_graph_t_LDADD = $(test_ldadd)
%canon_reldir%_memory_t_SOURCES = %reldir%/memory.c
%canon_reldir%_memory_t_LDADD = $(test_ldadd)
%canon_reldir%_random_t_SOURCES = %reldir%/random.c
%canon_reldir%_random_t_LDADD = $(test_ldadd)
%canon_reldir%_streams_t_SOURCES = %reldir%/streams.c
%canon_reldir%_streams_t_LDADD = $(test_ldadd)
%canon_reldir%_modes_t_SOURCES = %reldir%/modes.c
%canon_reldir%_modes_t_LDADD = $(test_ldadd) -lm
