# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Streams and events: what is queued, what waits, what is captured, and what becomes of a fault.
core_stream_sources = %reldir%/streams.h %reldir%/watch.c %reldir%/stream.c %reldir%/stream_end.c %reldir%/event.c \
  %reldir%/event_pool.c %reldir%/fault.c %reldir%/queue.c %reldir%/capture.c %reldir%/hazard.c
