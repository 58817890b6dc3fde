# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The data model: dtypes, scalars, shapes, promotion, the table of operations.
core_model_sources = %reldir%/dtype.c %reldir%/model.h %reldir%/op.c %reldir%/promote.c %reldir%/scalar.c %reldir%/shape.c
