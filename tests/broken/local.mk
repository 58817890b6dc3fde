# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The proof of the conformance kit: a plug-in broken in one way a check. The test builds them itself, with one call of the
# compiler each, as anybody would outside this tree.
TESTS += %reldir%/broken.sh %reldir%/conform.sh
EXTRA_DIST += %reldir%/broken.sh %reldir%/conform.sh %reldir%/breaks.def %reldir%/device.h %reldir%/event.c %reldir%/memory.c \
  %reldir%/comm.c %reldir%/plugin.map %reldir%/pool.c %reldir%/process.c %reldir%/queue.c %reldir%/stream.c %reldir%/table.c
