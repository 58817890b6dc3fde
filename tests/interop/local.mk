# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Exchange with other libraries in C, on the simulated device: the CUDA Array Interface's rules and order, DLPack in
# stream order, addresses.
interop_tests = %reldir%/cai_order.t %reldir%/cai_rules.t %reldir%/dlpack_order.t
interop_tests += %reldir%/operands.t %reldir%/lent.t
check_PROGRAMS += $(interop_tests)
noinst_HEADERS += %reldir%/exchange.h
TESTS += $(interop_tests)
%canon_reldir%_cai_order_t_SOURCES = %reldir%/cai_order.c
%canon_reldir%_cai_order_t_LDADD = $(core_ldadd) -lpthread
%canon_reldir%_cai_rules_t_SOURCES = %reldir%/cai_rules.c
%canon_reldir%_cai_rules_t_LDADD = $(test_ldadd)
%canon_reldir%_dlpack_order_t_SOURCES = %reldir%/dlpack_order.c
%canon_reldir%_dlpack_order_t_LDADD = $(core_ldadd) -lpthread
%canon_reldir%_operands_t_SOURCES = %reldir%/operands.c
%canon_reldir%_operands_t_LDADD = $(core_ldadd) -lpthread
%canon_reldir%_lent_t_SOURCES = %reldir%/lent.c
%canon_reldir%_lent_t_LDADD = $(core_ldadd) -lpthread
