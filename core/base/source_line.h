/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The line of source behind an address of this process. */
#ifndef NDOCK_CORE_SOURCE_LINE_H
#define NDOCK_CORE_SOURCE_LINE_H
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* "FILE:LINE" of the code at an address, where there is debug info and addr2line to
 * read it within seconds; false: it cannot be told. */
bool nd__source_line(const void *address, char *text, size_t n);
/* Where an address is in its file, which begins at base, as addr2line counts. */
uint64_t nd__file_address(const void *address, const void *base);

#endif
