/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What copy.c asks of the loops that copy_isa.c builds once per SIMD level. */
#ifndef NDOCK_CPU_COPY_H
#define NDOCK_CPU_COPY_H
#include "host/cpu.h"

/* A block of rows x cols elements; steps are in bytes. Element (r, c) of the destination comes from
 * src + r*src_row + c*src_col. */
typedef struct {
    char *dst;
    const char *src;
    int64_t rows, cols, dst_row, dst_col, src_row, src_col;
    const char *next; /* source of the block that comes after this one, to fetch ahead, or NULL */
} cpu_block;

/* n dense elements. */
typedef void cpu_cast_fn(void *dst, const void *src, int64_t n);

/* What a transposition beyond the caches takes at a time: runs of the source, of so many bytes at
 * most, in a strip whose pitch is an odd number of cache lines. */
#define CPU_COPY_STRIP_RUN 512
#define CPU_COPY_STRIP_COLS 256
#define CPU_COPY_STRIP_BYTES (72 << 10)
static inline int64_t cpu_copy_strip_pitch(int64_t run)
{
    return (((run < CPU_COPY_STRIP_RUN ? run : CPU_COPY_STRIP_RUN) + 63) / 64 | 1) * 64;
}
static inline int64_t cpu_copy_strip_cols(int64_t run)
{
    int64_t cols = CPU_COPY_STRIP_BYTES / cpu_copy_strip_pitch(run) / 64 * 64;
    return cols < CPU_COPY_STRIP_COLS ? cols : CPU_COPY_STRIP_COLS;
}

#define CPU_MOVE_SIZES 5 /* element sizes 1, 2, 4, 8, 16, by their base-2 logarithm */

typedef struct {
    /* Row by row, any steps. */
    void (*rows[CPU_MOVE_SIZES])(const cpu_block *b);
    /* For src_row and dst_col of one element: tiles are transposed in registers. */
    void (*transpose[CPU_MOVE_SIZES])(const cpu_block *b);
    /* The same for what exceeds the caches, written around them. */
    void (*transpose_stream[CPU_MOVE_SIZES])(const cpu_block *b);
    /* Dense bytes around the cache, ordered before later stores of the same thread only by a fence,
     * which the caller sets once at its end. */
    void (*stream)(char *dst, const char *src, int64_t nbytes);
    /* Repeats 16 bytes; with nontemporal, as stream does. They come in registers: bytes that were
     * stored in parts and are at once read whole have to wait for those stores. */
    void (*fill)(char *dst, int64_t nbytes, uint64_t low, uint64_t high, int nontemporal);
    void (*fence)(void);
    /* By dtype of source, then of destination. */
    cpu_cast_fn *const *cast[NDP_DTYPE_END];
} cpu_copy_loops;

CPU_ISA_DECLARE(extern const cpu_copy_loops, cpu_copy_table);

/* Fills from here on are written around the cache. Smaller ones stay there for those who want zeros to count in. */
#define CPU_FILL_STREAM_BYTES (16 << 20)

/* ---- copy/tiles.c ---- */
#define CPU_COPY_STREAM_BYTES \
    (8 << 20) /* destinations from here on are written around the cache \
               */
const cpu_copy_loops *cpu_copy_level(void);
/* Copies a source of out's shape; src_stride NULL: one element for all. */
void cpu_copy_strided(const ndp_view *out, int32_t src_dtype, const char *src,
                      const int64_t *src_stride);

/* ---- copy.c, for kernels that make values in batches ---- */
#define CPU_COPY_PUT_BYTES 4096
void cpu_copy_cast(int32_t src_dtype, int32_t dst_dtype, void *dst, const void *src, int64_t n);
/* Converts n values and writes them to the elements first, first + 1 ... of out in C order. At most
 * CPU_COPY_PUT_BYTES of destination. */
void cpu_copy_put(const ndp_view *out, int64_t first, int64_t n, int32_t dtype, const void *values);

#endif
