/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Copies between strided and dense two-dimensional tiles, for operands that a dense loop cannot
 * take as they lie. */
#ifndef NDOCK_CPU_TILE_H
#define NDOCK_CPU_TILE_H
#include <stdint.h>

/* rows x cols elements of nbytes (1, 2, 4, 8 or 16) each, from strides in bytes (any sign, or zero)
 * to C order without gaps, and back. */
void cpu_tile_pack(char *to, const char *from, int64_t rows, int64_t cols, int64_t row_bytes,
                   int64_t col_bytes, int64_t nbytes);
void cpu_tile_unpack(char *to, const char *from, int64_t rows, int64_t cols, int64_t row_bytes,
                     int64_t col_bytes, int64_t nbytes);
#endif
