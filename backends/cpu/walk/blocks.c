/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Blocks of an iteration space: which dimensions they span, and the walk over them. */
#include "walk/blocks.h"

/* The dimension besides the last in which an operand is dense, while it is not in the last; -1 if
 * there is none. */
static int transposed_dim(const cpu_blocks_operand *o, const int64_t *shape, int ndim)
{
    int found = -1;
    uint64_t last = ndp_magnitude(o->stride[ndim - 1]);
    if (last * (uint64_t)o->nbytes <= 64 || shape[ndim - 1] < 8)
        return -1;
    for (int d = ndim - 2; d >= 0; d--) {
        uint64_t s = ndp_magnitude(o->stride[d]);
        if (s != 0 && s * 8 <= last && shape[d] >= 8 &&
            (found < 0 || s < ndp_magnitude(o->stride[found])))
            found = d;
    }
    return found;
}

void cpu_blocks_choose(cpu_blocks *b, cpu_blocks_operand *operand, int n, const int64_t *shape,
                       int ndim)
{
    int tiled = -1;
    b->shape = shape;
    b->operand = operand;
    b->n = n;
    b->n_outer = 0;
    for (int k = 0; k < n && tiled < 0 && ndim > 1; k++)
        tiled = transposed_dim(&operand[k], shape, ndim);
    b->tiled = tiled >= 0;
    int row_dim = b->tiled ? tiled : ndim - 2;
    b->cols = ndim > 0 ? shape[ndim - 1] : 1;
    b->rows = row_dim >= 0 ? shape[row_dim] : 1;
    for (int d = ndim - 2; d >= 0; d--)
        if (d != row_dim)
            b->outer[b->n_outer++] = d;
    for (cpu_blocks_operand *o = operand; o < operand + n; o++) {
        o->col = ndim > 0 ? o->stride[ndim - 1] * o->nbytes : o->nbytes;
        o->row = row_dim >= 0 ? o->stride[row_dim] * o->nbytes : 0;
    }
}

int64_t cpu_blocks_cut(cpu_blocks *b, int64_t block_rows, int64_t block_cols)
{
    b->block_rows = b->rows < block_rows ? b->rows : block_rows;
    b->block_cols = b->cols < block_cols ? b->cols : block_cols;
    b->row_blocks = (b->rows + b->block_rows - 1) / b->block_rows;
    b->col_blocks = (b->cols + b->block_cols - 1) / b->block_cols;
    int64_t blocks = b->row_blocks * b->col_blocks;
    for (int i = 0; i < b->n_outer; i++)
        blocks *= b->shape[b->outer[i]];
    return blocks;
}

int cpu_blocks_streams(const cpu_blocks *b, int k, int n_in, int64_t size)
{
    const cpu_blocks_operand *out = &b->operand[k];
    if (out->col != out->nbytes || b->cols < 1024 || size * out->nbytes < CPU_BLOCKS_STREAM_BYTES)
        return 0;
    for (int i = 0; i < n_in; i++)
        if (b->operand[i].base == out->base)
            return 0;
    return 1;
}

/* A server of Intel's adds up 16 GB/s by itself and 29 if asked ahead. On AMD's asking costs a third of the
 * speed of sums of doubles, and a quarter of that of extremes. */
int cpu_blocks_asks(void)
{
#if defined(__x86_64__) && defined(__GNUC__)
    __builtin_cpu_init();
    return __builtin_cpu_is("amd") == 0;
#else
    return 1;
#endif
}

void cpu_blocks_seek(cpu_blocks_place *p, const cpu_blocks *b, char **at, int64_t i)
{
    int64_t per_outer = b->row_blocks * b->col_blocks, outer = i / per_outer;
    p->blocks = b;
    p->at = at;
    p->row_block = i % per_outer / b->col_blocks;
    p->col_block = i % b->col_blocks;
    for (int k = 0; k < b->n; k++)
        at[k] = b->operand[k].base;
    for (int j = 0; j < b->n_outer; j++) {
        int d = b->outer[j];
        p->index[j] = outer % b->shape[d];
        outer /= b->shape[d];
        for (int k = 0; k < b->n; k++)
            at[k] += p->index[j] * b->operand[k].stride[d] * b->operand[k].nbytes;
    }
}

void cpu_blocks_next_outer(cpu_blocks_place *p)
{
    const cpu_blocks *b = p->blocks;
    for (int i = 0; i < b->n_outer; i++) {
        int d = b->outer[i];
        int64_t step = ++p->index[i] < b->shape[d] ? 1 : 1 - b->shape[d];
        for (int k = 0; k < b->n; k++)
            p->at[k] += step * b->operand[k].stride[d] * b->operand[k].nbytes;
        if (step == 1)
            return;
        p->index[i] = 0;
    }
}
