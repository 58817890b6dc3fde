# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Unit tests: one program per source file of core/. Those that look inside link core/libcore.la instead of the library.
io_tests = %reldir%/bool_bytes.t %reldir%/csv.t %reldir%/decimal.t %reldir%/gguf.t %reldir%/npy.t %reldir%/npy_map.t %reldir%/npz.t %reldir%/idx.t %reldir%/safetensors.t %reldir%/file.t
check_PROGRAMS += $(io_tests)
TESTS += $(io_tests)
%canon_reldir%_bool_bytes_t_SOURCES = %reldir%/bool_bytes.c %reldir%/io_files.h
%canon_reldir%_bool_bytes_t_LDADD = $(test_ldadd)
%canon_reldir%_npy_t_SOURCES = %reldir%/npy.c %reldir%/io_files.h
%canon_reldir%_npy_t_LDADD = $(test_ldadd)
%canon_reldir%_csv_t_SOURCES = %reldir%/csv.c %reldir%/io_files.h
%canon_reldir%_csv_t_LDADD = $(test_ldadd)
%canon_reldir%_decimal_t_SOURCES = %reldir%/decimal.c
%canon_reldir%_decimal_t_LDADD = $(core_ldadd) -lm
%canon_reldir%_gguf_t_SOURCES = %reldir%/gguf.c %reldir%/io_files.h
%canon_reldir%_gguf_t_LDADD = $(test_ldadd) -lm
%canon_reldir%_npy_map_t_SOURCES = %reldir%/npy_map.c %reldir%/io_files.h
%canon_reldir%_npy_map_t_LDADD = $(test_ldadd)
%canon_reldir%_npz_t_SOURCES = %reldir%/npz.c %reldir%/io_files.h
%canon_reldir%_npz_t_LDADD = $(test_ldadd)
%canon_reldir%_idx_t_SOURCES = %reldir%/idx.c %reldir%/io_files.h
%canon_reldir%_idx_t_LDADD = $(test_ldadd)
%canon_reldir%_safetensors_t_SOURCES = %reldir%/safetensors.c %reldir%/io_files.h
%canon_reldir%_safetensors_t_LDADD = $(test_ldadd)
%canon_reldir%_file_t_SOURCES = %reldir%/file.c %reldir%/io_files.h
%canon_reldir%_file_t_LDADD = $(test_ldadd)

# Formulas of the public headers, on plain libm.
check_PROGRAMS += %reldir%/complex_formulas.t
TESTS += %reldir%/complex_formulas.t
EXTRA_DIST += tests/data/complex_golden.inc tests/data/complex_golden.py
%canon_reldir%_complex_formulas_t_SOURCES = %reldir%/complex_formulas.c
%canon_reldir%_complex_formulas_t_CFLAGS = $(AM_CFLAGS) -ffp-contract=off
%canon_reldir%_complex_formulas_t_LDADD = -lm

# Special functions through the library, by golden vectors.
check_PROGRAMS += %reldir%/special.t
TESTS += %reldir%/special.t
EXTRA_DIST += tests/data/special_fits.py tests/data/special_golden.inc tests/data/special_golden.py
%canon_reldir%_special_t_SOURCES = %reldir%/special.c
%canon_reldir%_special_t_LDADD = $(test_ldadd) -lm

# Rows by class and kind, and facts for plug-ins, from the tables.
check_PROGRAMS += %reldir%/op_expand.t %reldir%/plugin_facts.t
TESTS += %reldir%/op_expand.t %reldir%/plugin_facts.t
%canon_reldir%_op_expand_t_SOURCES = %reldir%/op_expand.c
%canon_reldir%_op_expand_t_LDADD = $(test_ldadd)
%canon_reldir%_plugin_facts_t_SOURCES = %reldir%/plugin_facts.c
%canon_reldir%_plugin_facts_t_LDADD = $(test_ldadd)

# The promises to programs and plug-ins: the binary interface, and the symbols.
check_PROGRAMS += %reldir%/abi.t
TESTS += %reldir%/abi.t %reldir%/symbols.sh
EXTRA_DIST += %reldir%/symbols.sh tests/data/abi-0.lst
%canon_reldir%_abi_t_SOURCES = %reldir%/abi.c %reldir%/abi_rows.inc

# Threads and forks.
check_PROGRAMS += %reldir%/fork.t %reldir%/fork_locks.t %reldir%/threads.t
TESTS += %reldir%/fork.t %reldir%/fork_locks.t %reldir%/threads.t
%canon_reldir%_fork_t_SOURCES = %reldir%/fork.c
%canon_reldir%_fork_t_LDADD = $(test_ldadd)
%canon_reldir%_fork_locks_t_SOURCES = %reldir%/fork_locks.c
%canon_reldir%_fork_locks_t_LDADD = $(core_ldadd) -lpthread
%canon_reldir%_threads_t_SOURCES = %reldir%/threads.c
%canon_reldir%_threads_t_LDADD = $(test_ldadd) -lpthread

check_PROGRAMS += %reldir%/dlpack.t %reldir%/dlpack_views.t
TESTS += %reldir%/dlpack.t %reldir%/dlpack_views.t
%canon_reldir%_dlpack_t_SOURCES = %reldir%/dlpack.c
%canon_reldir%_dlpack_t_LDADD = $(test_ldadd)
%canon_reldir%_dlpack_views_t_SOURCES = %reldir%/dlpack_views.c
%canon_reldir%_dlpack_views_t_LDADD = $(test_ldadd)

check_PROGRAMS += %reldir%/promote.t
TESTS += %reldir%/promote.t
%canon_reldir%_promote_t_SOURCES = %reldir%/promote.c
%canon_reldir%_promote_t_LDADD = $(test_ldadd)

# kill -9 while saving.
check_PROGRAMS += %reldir%/kill_save
TESTS += %reldir%/kill_save.sh
EXTRA_DIST += %reldir%/kill_save.sh
%canon_reldir%_kill_save_SOURCES = %reldir%/kill_save.c
%canon_reldir%_kill_save_LDADD = $(test_ldadd)
check-kill-save: %reldir%/kill_save
	$(AM_V_at)NDOCK_KILLS=200 NDOCK_PLUGIN_PATH='$(test_plugin_path)' srcdir='$(srcdir)' $(SHELL) $(srcdir)/%reldir%/kill_save.sh
.PHONY: check-kill-save
check_PROGRAMS += %reldir%/stale_save.t
TESTS += %reldir%/stale_save.t
%canon_reldir%_stale_save_t_SOURCES = %reldir%/stale_save.c
%canon_reldir%_stale_save_t_LDADD = $(test_ldadd)

# The CPU plug-in's threads.
check_PROGRAMS += %reldir%/team.t
TESTS += %reldir%/team.t
%canon_reldir%_team_t_SOURCES = %reldir%/team.c
%canon_reldir%_team_t_CPPFLAGS = $(cpu_cppflags)
%canon_reldir%_team_t_LDADD = -lpthread

# Settings of arithmetic.
check_PROGRAMS += %reldir%/math.t
TESTS += %reldir%/math.t
%canon_reldir%_math_t_SOURCES = %reldir%/math.c
%canon_reldir%_math_t_LDADD = $(test_ldadd) -lpthread

# Operations and kernels of programs, and the example of them.
check_PROGRAMS += %reldir%/custom.t
TESTS += %reldir%/custom.t %reldir%/custom_op.sh %reldir%/jobs.sh
EXTRA_DIST += %reldir%/custom_op.sh %reldir%/jobs.sh
%canon_reldir%_custom_t_SOURCES = %reldir%/custom.c
%canon_reldir%_custom_t_LDADD = $(test_ldadd)
TESTS += tests/unit/abidiff.sh
EXTRA_DIST += tests/unit/abidiff.sh

# Messages.
check_PROGRAMS += %reldir%/log.t
TESTS += %reldir%/log.t
%canon_reldir%_log_t_SOURCES = %reldir%/log.c
%canon_reldir%_log_t_LDADD = $(test_ldadd)

# NDOCK_DEBUG=handles. -rdynamic: the functions of the test have names in the reports.
check_PROGRAMS += %reldir%/handles.t
TESTS += %reldir%/handles.t
%canon_reldir%_handles_t_SOURCES = %reldir%/handles.c
%canon_reldir%_handles_t_LDADD = $(test_ldadd)
# Its places are lines of source.
%canon_reldir%_handles_t_CFLAGS = $(AM_CFLAGS) -g
%canon_reldir%_handles_t_LDFLAGS = -Wl,--export-dynamic

# The man pages that are made from the headers.
TESTS += %reldir%/manpages.sh
EXTRA_DIST += %reldir%/manpages.sh

# What errors say, and the functions for small programs.
check_PROGRAMS += %reldir%/hints.t
TESTS += %reldir%/hints.t
%canon_reldir%_hints_t_SOURCES = %reldir%/hints.c
%canon_reldir%_hints_t_LDADD = $(test_ldadd)
