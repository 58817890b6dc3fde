# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Graphs: captures that are run again.
core_graph_sources = %reldir%/arguments.c %reldir%/compose.c %reldir%/cond.c %reldir%/contents.c %reldir%/graph.c %reldir%/graph.h %reldir%/keys.c %reldir%/launch.c \
  %reldir%/patch.c %reldir%/play.c %reldir%/recapture.c %reldir%/sharers.c %reldir%/text.c %reldir%/update.c
