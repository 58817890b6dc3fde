/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What the files of attention share.
 *
 * Queries and keys are taken in blocks of AT_BLOCK; a block of scores lives in a slot of the scratch
 * memory and is never stored. Products run on the kernels of matmul. Where blocks begin, and the
 * order in which they are added, depend on the shapes alone, and so do the bits. */
#ifndef NDOCK_CPU_ATTENTION_H
#define NDOCK_CPU_ATTENTION_H
#include <stdatomic.h>
#include "matmul/matmul.h"

enum { AT_BLOCK = 64 };

/* Loops over n elements of one row of a block, of the type of the sums. */
typedef struct {
    /* The largest; NaN is none. */
    double (*max)(const void *x, int64_t n);
    /* x becomes exp(x - shift); their sum. */
    double (*exp)(void *x, int64_t n, double shift);
    void (*scale)(void *x, int64_t n, double factor);
    /* Scores x become weights exp(x - shift); d, gradients of weights, those of scores:
     * weight*(d - delta)*factor. */
    void (*grad)(void *x, void *d, int64_t n, double shift, double delta, double factor);
    /* x*scale + mask, scale before the mask; mask NULL: none. stride counts elements. */
    void (*add_mask)(void *x, const void *mask, int64_t stride, int64_t n);
    void (*hide)(void *x, int64_t from, int64_t n);                           /* -inf */
    void (*hide_by)(void *x, const uint8_t *seen, int64_t stride, int64_t n); /* where it is 0 */
    void (*drop)(void *x, const uint32_t *word, uint32_t least, int64_t n);   /* 0 below least */
    double (*get)(const void *x);
} at_rows;
CPU_ISA_DECLARE(extern const at_rows, cpu_attention_rows_f32);
CPU_ISA_DECLARE(extern const at_rows, cpu_attention_rows_f64);

/* One side of a product: lanes, and steps along the sums. Strides count elements. */
typedef struct {
    const char *data;
    int32_t dtype;
    int64_t lane, along;
} at_side;

typedef struct {
    const mm_kernels *k;
    const at_rows *rows;
    const ndp_attention *params;
    const ndp_view *q, *key, *v, *g, *lse, *o, *mask; /* g, lse, o, mask: NULL, or there */
    const ndp_view *out[3];
    int64_t batch, heads, key_heads, m, n, d, e;
    uint32_t least; /* words below it drop their weight */
    double keep;    /* 1 - dropout */
    /* Of a slot: scores, their gradients, two results, panels of a and of b. */
    int64_t slot_grads, slot_first, slot_second, slot_a, slot_b, slot_bytes, slots;
    char *memory;
    double *delta; /* of gradients: sums of g*o, (b, h, m) */
    atomic_uchar *busy;
} at_plan;

/* ---- blocks.c */
void at_plan_call(at_plan *p, const ndp_call *call);
/* Address of element (b, h, i, 0). */
char *at_row(const ndp_view *v, int64_t b, int64_t h, int64_t i);
/* Which key head a query head sees. */
static inline int64_t at_key_head(const at_plan *p, int64_t h)
{
    return h / (p->heads / p->key_heads);
}
/* c (m, n) = a b, or added to it. */
void at_product(const at_plan *p, char *slot, int64_t m, int64_t n, int64_t depth, const at_side *a,
                const at_side *b, char *c, int64_t ldc, int add);
/* Keys that queries before `end` may see. */
int64_t at_seen(const at_plan *p, int64_t end);
/* The block of scores of queries i to i + m and keys j to j + n, into the slot. */
void at_scores(const at_plan *p, char *slot, int64_t b, int64_t h, int64_t i, int64_t m, int64_t j,
               int64_t n);
/* Sets what is dropped of n elements of x, the weights (b, h, i, j...), to 0. */
void at_drop(const at_plan *p, void *x, int64_t b, int64_t h, int64_t i, int64_t j, int64_t n);
char *at_take(at_plan *p);
void at_give(at_plan *p, const char *slot);

/* ---- gradient.c */
/* Bytes of delta. */
int64_t at_delta_bytes(const at_plan *p);
void at_gradient(at_plan *p);
#endif
