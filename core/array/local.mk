# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Arrays: storage, headers, views, overlap, and the handles that NDOCK_DEBUG=handles watches.
core_array_sources = %reldir%/array.c %reldir%/array.h %reldir%/captured.c %reldir%/handles.c %reldir%/handles.h %reldir%/overlap.c \
  %reldir%/sharing.c %reldir%/slice.c %reldir%/storage.c %reldir%/view.c
