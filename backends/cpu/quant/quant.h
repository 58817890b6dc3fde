/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Quantised blocks on the CPU: loops over rows, built once per SIMD level, and what quantises. */
#ifndef NDOCK_CPU_QUANT_H
#define NDOCK_CPU_QUANT_H
#include "host/cpu.h"

/* Formats are cut into spans of 256 elements: one block, or up to eight. */
enum { QUANT_SPAN = 256, QUANT_HALVES = QUANT_SPAN / 16, QUANT_LANES = 16 };

/* A row of activations: 8-bit codes; for each 32 elements group_d; for each 16 the sum of codes, `total`, and d times it; for
 * each lane of a span the d of its group over the format's `times`; for each two codes the format's `less` times their sum. Of whole spans; what is beyond
 * the row is zero. Of paired formats, each two blocks, 64 elements, have the first halves of both first, then the second
 * ones: what the low and the high bits of the blocks' bytes meet; `less` is that of each four that are summed as
 * integers. For avx512vnni each four blocks are ordered that way, and `less` has integers of 32 bits: what sums begin at.
 * Where codes of formats of large blocks are, lane_place and striped_place say. */
typedef struct {
    const int8_t *code;
    const float *d, *group_d, *sum;
    const int16_t *less, *total;
} quant_row;
typedef struct {
    int8_t *code;
    float *d, *group_d, *sum;
    int16_t *less, *total;
} quant_made;

/* How a row's codes are ordered, and what a span's 16 lanes sum: products of four elements, as they come; of eight, two
 * each of a block's low and high nibbles; of 16 of a group in blocks of 256, those whose place among the 32 has the
 * same bit 3; the same with a step for each half of a group; the same two in the order of two rows of blocks at once. */
enum {
    QUANT_PLAIN,
    QUANT_PAIRED,
    QUANT_LANED,
    QUANT_STEPPED,
    QUANT_STRIPED_LANED,
    QUANT_STRIPED_STEPPED
};

/* Rows of blocks, n elements each. */
typedef struct {
    const unsigned char *data;
    int64_t rows, row_bytes, n;
} quant_blocks;

typedef struct {
    /* n elements (whole blocks) to floats of dtype. */
    void (*dequantize)(const unsigned char *blocks, int64_t n, int32_t dtype, void *out);
    /* Products of rows of blocks with `rows` rows of activations: out[r*rows + i]. */
    void (*dot)(const quant_blocks *w, const quant_row *x, int rows, float *out);
    /* What codes are stored as more than they are: dot may take them as they are stored. */
    int less, order;
    int times; /* sums of products come out this many times as large as they are */
} quant_format;

enum { QUANT_FORMATS = 21 }; /* above the ids of quant.def */
typedef struct {
    quant_format format[QUANT_FORMATS];
    /* n floats of dtype as f32. */
    void (*load)(const void *in, int32_t dtype, int64_t n, float *out);
    void (*store)(const float *in, int32_t dtype, int64_t n, void *out);
    /* A row of n floats into what the format wants. */
    void (*activate)(const float *in, int64_t n, const quant_format *of, quant_made *x);
} quant_table;
CPU_ISA_DECLARE_VNNI(extern const quant_table, quant_table_of);

/* encode.c: a block by ggml's reference algorithm; NULL: the format is not written. */
typedef void quant_encode(const float *x, unsigned char *block);
quant_encode *quant_encoder(int32_t format);
/* Elements and bytes of a block. */
int quant_block(int32_t format);
int quant_nbytes(int32_t format);
#endif
