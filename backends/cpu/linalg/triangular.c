/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Triangular systems by halves: what is solved for one half is subtracted from the other's right
 * side in one product. */
#include "linalg/linalg.h"

typedef struct {
    const lin_context *x;
    lin_matrix a;
    int64_t n, k, b_row, b_column, chunk;
    char *b;
    int upper, unit;
} small;

static void solve_columns(void *ctx, int64_t begin, int64_t end)
{
    const small *s = ctx;
    s->x->leaf->triangular(s->n, end - begin, &s->a, s->upper, s->unit,
                           s->b + begin * s->b_column * s->x->size, s->b_row, s->b_column);
}

void lin_triangular(const lin_context *x, int64_t n, int64_t k, lin_matrix a, int upper, int unit,
                    char *b, int64_t b_row, int64_t b_column)
{
    if (n <= LIN_SMALL) {
        small s = {x, a, n, k, b_row, b_column, 0, b, upper, unit};
        const int64_t grain = 1 + MM_TASK_WORK / 4 / (n * n + 1);
        cpu_parallel(k, mm_round_up(grain, 64), solve_columns, &s);
        return;
    }
    const int64_t half = mm_round_up(n / 2, LIN_SMALL), rest = n - half;
    lin_matrix first = a, last = a, beside = a;
    last.data += (a.row + a.column) * half * x->size;
    char *b_last = b + half * b_row * x->size;
    const lin_matrix head = {b, b_row, b_column, 0}, tail = {b_last, b_row, b_column, 0};
    if (upper) {
        beside.data += a.column * half * x->size;
        lin_triangular(x, rest, k, last, upper, unit, b_last, b_row, b_column);
        lin_product(x, half, k, rest, beside, tail, b, b_row, b_column, LIN_SUBTRACT);
        lin_triangular(x, half, k, first, upper, unit, b, b_row, b_column);
    } else {
        beside.data += a.row * half * x->size;
        lin_triangular(x, half, k, first, upper, unit, b, b_row, b_column);
        lin_product(x, rest, k, half, beside, head, b_last, b_row, b_column, LIN_SUBTRACT);
        lin_triangular(x, rest, k, last, upper, unit, b_last, b_row, b_column);
    }
}
