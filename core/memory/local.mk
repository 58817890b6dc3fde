# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The memory of devices: part of core_sources in core/local.mk, which includes this.
core_memory_sources = \
  %reldir%/memory.h \
  %reldir%/hooks.c \
  %reldir%/maker.c \
  %reldir%/calls.c \
  %reldir%/trace.c \
  %reldir%/plain.h \
  %reldir%/plain.c \
  %reldir%/stat.c \
  %reldir%/uses.c \
  %reldir%/single.c \
  %reldir%/ordered.c \
  %reldir%/debug.h \
  %reldir%/debug_fill.c \
  %reldir%/debug.c \
  %reldir%/pluggable.c \
  %reldir%/pinned.h \
  %reldir%/pinned.c \
  %reldir%/registered.c \
  %reldir%/pickle.h \
  %reldir%/pickle.c \
  %reldir%/snapshot.c \
  %reldir%/usage.c \
  %reldir%/caching.h \
  %reldir%/tree.h \
  %reldir%/tree.c \
  %reldir%/block.c \
  %reldir%/caching.c \
  %reldir%/callback.c \
  %reldir%/conf.h \
  %reldir%/conf.c \
  %reldir%/conf_keys.c \
  %reldir%/conf_plugin.c \
  %reldir%/conf_pytorch.c \
  %reldir%/expandable.c \
  %reldir%/ladder.c \
  %reldir%/lane.c \
  %reldir%/layout.c \
  %reldir%/magazine.c \
  %reldir%/order.c \
  %reldir%/pool.c \
  %reldir%/release.c \
  %reldir%/segment.c \
  %reldir%/stats.c
