# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Expressions: several operations in one pass over memory.
core_fuse_sources = %reldir%/eager.c %reldir%/expr.c %reldir%/fuse.h %reldir%/loops.c %reldir%/lower.c %reldir%/plan.c %reldir%/product.c %reldir%/rows.c \
  %reldir%/run.c %reldir%/stage.c %reldir%/type.c
