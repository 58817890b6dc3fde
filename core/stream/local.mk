# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Streams and events: what is queued, what waits, what is captured, what becomes of a fault, who uses which memory.
core_stream_sources = %reldir%/capture.c %reldir%/current.c %reldir%/event.c %reldir%/event_pool.c %reldir%/fault.c %reldir%/follow.c \
  %reldir%/hazard.c %reldir%/history.c %reldir%/history.h %reldir%/members.c %reldir%/order.c %reldir%/queue.c %reldir%/stream.c %reldir%/stream_end.c %reldir%/streams.h \
  %reldir%/tape.c %reldir%/tape.h %reldir%/wait.c
