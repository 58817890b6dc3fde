# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Communicators.
core_collective_sources = %reldir%/check.c %reldir%/collective.h %reldir%/collectives.c %reldir%/comm.c %reldir%/derive.c \
  %reldir%/exchange.c %reldir%/group.c %reldir%/store.c %reldir%/store_client.c %reldir%/work.c %reldir%/world.c
