# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Exchange with other libraries.
core_interop_sources = %reldir%/cai_export.c %reldir%/cai_import.c %reldir%/dlpack.h %reldir%/dlpack_export.c \
  %reldir%/dlpack_import.c %reldir%/foreign.c %reldir%/interop.h %reldir%/ipc.c %reldir%/ipc_event.c %reldir%/lease.c %reldir%/lease.h %reldir%/peer.c %reldir%/pointer.c %reldir%/settings.c %reldir%/typestr.c
