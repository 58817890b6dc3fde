/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What copy.c asks of the loops that copy_isa.c builds once per SIMD level. */
#ifndef NDOCK_CPU_COPY_H
#define NDOCK_CPU_COPY_H
#include "cpu.h"

/* A block of rows x cols elements; steps are in bytes. Element (r, c) of the destination comes from
 * src + r*src_row + c*src_col. */
typedef struct {
    char *dst;
    const char *src;
    int64_t rows, cols, dst_row, dst_col, src_row, src_col;
} cpu_block;

/* n dense elements. */
typedef void cpu_cast_fn(void *dst, const void *src, int64_t n);

#define CPU_MOVE_SIZES 5 /* element sizes 1, 2, 4, 8, 16, by their base-2 logarithm */

typedef struct {
    /* Row by row, any steps. */
    void (*rows[CPU_MOVE_SIZES])(const cpu_block *);
    /* For src_row and dst_col of one element: tiles are transposed in registers. */
    void (*transpose[CPU_MOVE_SIZES])(const cpu_block *);
    /* Dense bytes around the cache, ordered before later stores of the same thread only by a fence,
     * which the caller sets once at its end. */
    void (*stream)(char *dst, const char *src, int64_t nbytes);
    /* Repeats a pattern of 16 bytes, given twice; with nontemporal, as stream does. */
    void (*fill)(char *dst, int64_t nbytes, const char *pattern, int nontemporal);
    void (*fence)(void);
    /* By dtype of source, then of destination. */
    cpu_cast_fn *const *cast[NDP_DTYPE_END];
} cpu_copy_loops;

CPU_ISA_DECLARE(extern const cpu_copy_loops, cpu_copy_table);

#endif
