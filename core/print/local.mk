# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Arrays as text.
core_print_sources = %reldir%/print.c %reldir%/print.h %reldir%/print_number.c
