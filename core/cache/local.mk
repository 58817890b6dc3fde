# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The caches: part of core_sources in core/local.mk, which includes this.
core_cache_sources = %reldir%/cache.h %reldir%/plan.c %reldir%/plan_device.c %reldir%/sha256.c %reldir%/store.c %reldir%/store_scan.c \
  %reldir%/kernel.c %reldir%/kernel_host.c %reldir%/workspace.c %reldir%/workspace_host.c %reldir%/library.c %reldir%/warmup.c %reldir%/fork.c
