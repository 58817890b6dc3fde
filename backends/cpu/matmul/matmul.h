/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What the files of matmul share.
 *
 * Scheme (Goto and van de Geijn, ACM TOMS 34(3), 2008): blocks of both operands are packed into
 * panels, converted to the type of the sums on the way, and a kernel keeps a small block of sums in
 * registers while it runs down a pair of panels.
 *
 * One rule fixes every bit of a result, whatever the SIMD level, the tiling or the thread count: k
 * is cut into blocks by mm_block_depth; within a block an element is the chain of fused
 * multiply-adds from zero, k ascending; block sums are added in ascending order. */
#ifndef NDOCK_CPU_MATMUL_H
#define NDOCK_CPU_MATMUL_H
#include "elementwise/elementwise.h"

/* alpha and beta in the type of the sums. */
typedef struct {
    double f_alpha, f_beta;
    uint64_t u_alpha, u_beta;
} mm_scale;

/* Strides count elements; conversion is between the array's dtype and the type of the sums. */
typedef void (*mm_load_fn)(const void *src, int64_t outer_stride, int64_t stride, int64_t n_outer,
                           int64_t n, void *dst); /* dst dense (n_outer, n) */
typedef void (*mm_save_fn)(const void *src, int64_t n, void *dst, int64_t stride);

typedef void (*mm_pack_fn)(const void *src, int64_t stride_w, int64_t stride_k, int64_t w,
                           int64_t kc, void *dst);

/* Addresses of what comes next of a and b, and by how much they go on with each k: numbers, since they
 * may lie beyond the operands, where they are asked for in vain. */
typedef struct {
    uintptr_t a, a_step, b, b_step;
} mm_ahead;

/* Kernels of one type of sums at one SIMD level. */
typedef struct {
    int32_t rows, columns; /* of the block of sums held in registers: widths of the panels */
    int32_t dtype;         /* of the sums; NDP_U32 and NDP_U64 serve every integer */
    int32_t parts;         /* scalars in an element: 2 for complex */
    int32_t element;       /* bytes */
    int32_t reads;         /* another dtype that pack_a and pack_b read themselves; 0: none */
    /* Pack w lanes (rows of a, columns of b) by kc into panels, the last filled up with zeros. */
    mm_pack_fn pack_a, pack_b;
    /* c (m, n), unit column stride: set to a@b, or that added to it. */
    void (*block)(int64_t m, int64_t n, int64_t kc, const void *a, const void *b, void *c,
                  int64_t ldc, int add);
    /* The same of a part of operands that other blocks go on with: what comes next of them, and lies at
     * next_a and next_b after this block, is asked for on the way. */
    void (*shared_block)(int64_t m, int64_t n, int64_t kc, const void *a, const void *b, void *c,
                         int64_t ldc, int add, const void *next_a, const void *next_b);
    /* The same for at least rows by columns of a and b as they lie, b with unit column stride, in one
     * block of k; NULL for complex. plain_ahead asks for the operands of the next product on the way, which
     * lie without gaps at next_a and next_b. */
    void (*plain)(int64_t m, int64_t n, int64_t kc, const void *a, int64_t a_row, int64_t a_step,
                  const void *b, int64_t ldb, void *c, int64_t ldc);
    void (*plain_ahead)(int64_t m, int64_t n, int64_t kc, const void *a, int64_t a_row,
                        int64_t a_step, const void *b, int64_t ldb, void *c, int64_t ldc,
                        const void *next_a, const void *next_b);
    /* x = alpha*x [+ beta*old] [+ bias], over n scalars */
    void (*combine)(void *x, int64_t n, const mm_scale *scale, const void *old, const void *bias);
    /* For few rows; NULL for complex. sweep: c (m, n) continues, or starts, the chains of a (kc, m)
     * dense and b (kc, n) of unit column stride; rows of c have room up to a multiple of 64 bytes.
     * dot: sums (n, m, MM_DOT_BYTES) of the rows of a (m, kc) dense by columns of b (kc, n), ldb
     * apart and of unit stride along k, go on or start; c (m, n) not NULL: their totals. */
    void (*sweep)(int64_t m, int64_t n, int64_t kc, const void *a, const void *b, int64_t ldb,
                  void *c, int64_t ldc, int first);
    void (*dot)(int64_t m, int64_t n, int64_t kc, const void *a, const void *b, int64_t ldb,
                void *sums, int first, void *c, int64_t ldc);
    mm_load_fn load[NDP_DTYPE_END]; /* NULL: not an input of these kernels */
    mm_save_fn save[NDP_DTYPE_END];
} mm_kernels;

enum {
    MM_F32,
    MM_F64,
    MM_C64,
    MM_C128,
    MM_U32,
    MM_U64,
    MM_PAIRS_I8,
    MM_PAIRS_U8,
    MM_PAIRS_I16,
    MM_KINDS
};
typedef mm_kernels mm_level[MM_KINDS];
CPU_ISA_DECLARE(extern const mm_level, cpu_matmul_kernels);

#define MM_MAX_DEPTH 256
#define MM_DOT_BYTES 64        /* of the partial sums of an inner product */
#define MM_DOT_AHEAD 4096      /* bytes that one inner product of long vectors asks for ahead */
#define MM_SIDE_AHEAD 2048     /* the same of each of four columns side by side */
#define MM_SWEEP_ROWS 16       /* of b, converted at a time */
#define MM_DOT_COLUMNS 4       /* of b, converted at a time */
#define MM_TASK_WORK (1 << 20) /* multiply-adds worth a task */
#define MM_MAX_PANEL 128       /* bytes across a panel that conversion goes through */

/* Depth of the blocks that k is cut into: as even as can be, at most MM_MAX_DEPTH. */
static inline int64_t mm_block_depth(int64_t k)
{
    int64_t blocks = (k + MM_MAX_DEPTH - 1) / MM_MAX_DEPTH;
    return blocks <= 1 ? k : ((k + blocks - 1) / blocks + 3) / 4 * 4;
}
static inline int64_t mm_round_up(int64_t n, int64_t step)
{
    return (n + step - 1) / step * step;
}

typedef struct {
    char *data;
    int64_t row, column;  /* strides */
    int64_t size;         /* of an element */
    const int64_t *batch; /* strides */
    int32_t dtype;
} mm_operand;

/* Tiles pack their operands; operands are packed beforehand, for all tiles; few rows:
 * matmul/skinny.c; small products, which are over before packing would pay. */
enum { MM_SEPARATE, MM_SHARED, MM_SWEEP, MM_DOT, MM_PLAIN };

/* A call and how it is computed. */
typedef struct {
    const mm_kernels *k;
    mm_operand a, b, out, bias;
    int64_t m, n, depth, kc;
    int64_t batch;
    const int64_t *batch_shape;
    int32_t n_batch, has_bias, epilogue;
    int32_t scaled;        /* sums are f32, and multiplied by both scales */
    mm_operand scales[2];  /* of the shape of out, by stride 0 */
    ew_loop epilogue_loop; /* NULL without one, and where the dtype has none */
    int32_t direct;        /* sums go straight into out */
    int32_t path;          /* MM_SEPARATE ... */
    mm_scale scale;
    int64_t tile_m, tile_n;
    int64_t pitch; /* of rows of sums, such that not all rows compete for one set of the cache */
    int64_t super_m, super_n; /* part of a product whose packed operands exist at a time */
    int64_t shared_a, shared_b, shared_bytes; /* scratch: once */
    /* scratch, once a thread: panels or rows of a and of b, sums, sums of one block of k, rows of
     * out and bias in the type of the sums */
    int64_t slot_a, slot_b, slot_sums, slot_chain, slot_row, slot_bytes;
} mm_plan;

/* Nothing to compute: the plan ends with the shapes. */
static inline int mm_is_empty(const mm_plan *p)
{
    return p->m == 0 || p->n == 0 || p->batch == 0;
}

/* Address of element (row, column) of product item. */
static inline char *mm_at(const mm_plan *p, const mm_operand *x, int64_t item, int64_t row,
                          int64_t column)
{
    int64_t offset = row * x->row + column * x->column;
    for (int d = p->n_batch - 1; d >= 0 && item > 0; d--) {
        offset += item % p->batch_shape[d] * x->batch[d];
        item /= p->batch_shape[d];
    }
    return x->data + offset * x->size;
}

/* ---- matmul/plan.c */
/* Kernels for sums of products of dtype stored as out_dtype, or NULL. */
const mm_kernels *mm_kernels_for(int32_t dtype, int32_t out_dtype);
/* dtype is stored as the sums are. */
int mm_is_native(const mm_kernels *k, int32_t dtype);
/* Whether x, whose elements along k are stride apart, needs no copy to be dense along k. */
int mm_reads_in_place(const mm_plan *p, const mm_operand *x, int64_t stride);
void mm_plan_call(mm_plan *p, const ndp_call *call);
/* The loop of an epilogue over sums, or NULL. */
ew_loop mm_epilogue_loop(const mm_kernels *k, int32_t epilogue);

/* ---- matmul/matmul.c */
/* Packs w lanes by kc, at most MM_MAX_DEPTH, by fn, pack_a or pack_b of k, whose panels have that
 * width; strides lead to the next lane and along k. Another dtype is converted first, a panel at a
 * time. */
void mm_pack(const mm_kernels *k, mm_pack_fn fn, int64_t width, const char *src, int32_t dtype,
             int64_t stride_w, int64_t stride_k, int64_t w, int64_t kc, char *dst);

/* ---- matmul/finish.c */
/* Sums (m, n), rows p->pitch apart, into out at (i, j): alpha, beta, bias and epilogue. */
void mm_finish(const mm_plan *p, int64_t item, int64_t i, int64_t j, int64_t m, int64_t n,
               char *sums, char *row);

/* ---- blas.c */
/* A BLAS was asked for, and takes the plan's operands. */
int mm_blas_serves(const mm_plan *p);
/* out = alpha*a@b + beta*out, of one product of the plan. */
void mm_blas_product(const mm_plan *p, const char *a, const char *b, char *out);

/* ---- matmul/skinny.c: all rows, and columns j to j + n, of a product, in a slot. */
void mm_sweep_tile(const mm_plan *p, int64_t item, int64_t j, int64_t n, char *slot);
void mm_dot_tile(const mm_plan *p, int64_t item, int64_t j, int64_t n, char *slot);
#endif
