# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The memory of devices: allocator backends (caching/, plain/, pluggable/, pinned/), which of them serves a device (choose/), their
# settings (conf/) and accounts (report/).
core_memory_sources = %reldir%/backend.c %reldir%/callback.c %reldir%/calls.c %reldir%/device.c %reldir%/hooks.c \
  %reldir%/memory.h %reldir%/stat.c %reldir%/storage.h %reldir%/tree.c %reldir%/tree.h %reldir%/uses.c \
  %reldir%/caching/arena.c %reldir%/caching/block.c %reldir%/caching/caching.c %reldir%/caching/caching.h \
  %reldir%/caching/expandable.c %reldir%/caching/gate.c %reldir%/caching/grow.c %reldir%/caching/ladder.c \
  %reldir%/caching/magazine.c %reldir%/caching/order.c %reldir%/caching/pool.c %reldir%/caching/release.c \
  %reldir%/caching/report.c %reldir%/caching/reuse.c %reldir%/caching/segment.c %reldir%/caching/steal.c %reldir%/caching/stream_queue.c \
  %reldir%/caching/types.h %reldir%/choose/choose.c %reldir%/conf/conf.c %reldir%/conf/conf.h \
  %reldir%/conf/conf_divisions.c %reldir%/conf/conf_keys.c %reldir%/conf/conf_plugin.c %reldir%/conf/conf_pytorch.c \
  %reldir%/conf/conf_service.c %reldir%/conf/conf_waiting.c %reldir%/conf/settings.h %reldir%/pinned/pinned.c \
  %reldir%/pinned/pinned.h %reldir%/pinned/pool.c %reldir%/pinned/registered.c %reldir%/pinned/reserve.c \
  %reldir%/plain/debug.c %reldir%/plain/debug.h %reldir%/plain/debug_check.c %reldir%/plain/ordered.c \
  %reldir%/plain/plain.c %reldir%/plain/plain.h %reldir%/plain/segment.c %reldir%/plain/single.c \
  %reldir%/pluggable/allocator.c %reldir%/pluggable/hooks.c %reldir%/pluggable/pluggable.h %reldir%/report/pickle.c \
  %reldir%/report/pickle.h %reldir%/report/report.h %reldir%/report/shortage.c %reldir%/report/snapshot.c \
  %reldir%/report/trace.c
