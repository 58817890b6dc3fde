/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Products with few rows: bound by reading b, so b is read once, in place, and never packed. */
#include "matmul/matmul.h"

enum { DOT_NEAR = 16384 }; /* bytes of a row that stay in the first cache for all columns */

/* Columns of b have unit stride: rows of b are swept, a few at a time, over sums that stay in the
 * cache. Adds up as the packed kernels do, to the bit. */
void mm_sweep_tile(const mm_plan *p, int64_t item, int64_t j, int64_t n, char *slot)
{
    const mm_kernels *k = p->k;
    const mm_scale one = {.f_alpha = 1, .u_alpha = 1};
    const int native = mm_is_native(k, p->b.dtype);
    const int64_t step = native ? p->kc : MM_SWEEP_ROWS;
    char *a = slot + p->slot_a, *sums = slot + p->slot_sums;
    for (int64_t d = 0; d < p->depth; d += p->kc) {
        int64_t kc = p->depth - d < p->kc ? p->depth - d : p->kc;
        char *chain = d == 0 ? sums : slot + p->slot_chain;
        k->load[p->a.dtype](mm_at(p, &p->a, item, 0, d), p->a.column, p->a.row, kc, p->m, a);
        for (int64_t e = 0; e < kc; e += step) {
            int64_t rows = kc - e < step ? kc - e : step, ldb = p->b.row;
            char *b = mm_at(p, &p->b, item, d + e, j);
            if (!native) {
                k->load[p->b.dtype](b, ldb, 1, rows, n, slot + p->slot_b);
                b = slot + p->slot_b;
                ldb = n;
            }
            k->sweep(p->m, n, rows, a + e * p->m * k->element, b, ldb, chain, p->pitch, e == 0);
        }
        for (int64_t i = 0; d > 0 && i < p->m; i++)
            k->combine(sums + i * p->pitch * k->element, n, &one, NULL,
                       chain + i * p->pitch * k->element);
    }
    mm_finish(p, item, 0, j, p->m, n, sums, slot + p->slot_row);
}

/* Rows of b have unit stride, or there is one column: inner products. */
void mm_dot_tile(const mm_plan *p, int64_t item, int64_t j, int64_t n, char *slot)
{
    const mm_kernels *k = p->k;
    const int native = mm_reads_in_place(p, &p->b, p->b.row);
    const int a_native = p->m == 1 && mm_reads_in_place(p, &p->a, p->a.column);
    const int64_t step = native ? n : MM_DOT_COLUMNS, sums_bytes = p->m * MM_DOT_BYTES;
    /* Chains go on from block to block, so that the result has the same bits without blocks. */
    const int whole = native && a_native && (n == 1 || p->depth * k->element <= DOT_NEAR);
    const int64_t deep = whole ? p->depth : p->kc;
    for (int64_t d = 0; d < p->depth; d += deep) {
        int64_t kc = p->depth - d < deep ? p->depth - d : deep;
        char *a = mm_at(p, &p->a, item, 0, d);
        if (!a_native) {
            k->load[p->a.dtype](a, p->a.row, p->a.column, p->m, kc, slot + p->slot_a);
            a = slot + p->slot_a;
        }
        for (int64_t i = 0; i < n; i += step) {
            int64_t columns = n - i < step ? n - i : step, ldb = p->b.column;
            char *b = mm_at(p, &p->b, item, d, j + i);
            char *totals = slot + p->slot_sums + i * k->element;
            if (!native) {
                k->load[p->b.dtype](b, ldb, p->b.row, columns, kc, slot + p->slot_b);
                b = slot + p->slot_b;
                ldb = kc;
            }
            k->dot(p->m, columns, kc, a, b, ldb, slot + p->slot_chain + i * sums_bytes, d == 0,
                   d + kc == p->depth ? totals : NULL, p->pitch);
        }
    }
    mm_finish(p, item, 0, j, p->m, n, slot + p->slot_sums, slot + p->slot_row);
}
