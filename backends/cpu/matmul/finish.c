/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The last step of a tile: from its sums to the elements of out. */
#include "matmul/matmul.h"

/* A row of f32 sums times the scales. */
static void scale_row(const mm_plan *p, int64_t item, int64_t i, int64_t j0, int64_t n, float *sums)
{
    const float *x = (const float *)mm_at(p, &p->scales[0], item, i, j0);
    const float *y = (const float *)mm_at(p, &p->scales[1], item, i, j0);
    const int64_t step_x = p->scales[0].column, step_y = p->scales[1].column;
    for (int64_t j = 0; j < n; j++)
        sums[j] *= x[j * step_x] * y[j * step_y];
}

void mm_finish(const mm_plan *p, int64_t item, int64_t i0, int64_t j0, int64_t m, int64_t n,
               char *sums, char *row)
{
    const mm_kernels *k = p->k;
    char *old = p->scale.f_beta != 0 ? row : NULL;
    char *bias = p->has_bias ? row + p->tile_n * k->element : NULL;
    for (int64_t i = i0; i < i0 + m; i++, sums += p->pitch * k->element) {
        char *out = mm_at(p, &p->out, item, i, j0);
        if (old)
            k->load[p->out.dtype](out, 0, p->out.column, 1, n, old);
        if (bias)
            k->load[p->bias.dtype](mm_at(p, &p->bias, item, i, j0), 0, p->bias.column, 1, n, bias);
        if (p->scaled)
            scale_row(p, item, i, j0, n, (float *)sums);
        k->combine(sums, n * k->parts, &p->scale, old, bias);
        if (p->epilogue_loop)
            p->epilogue_loop((char *const[]){sums, sums}, n);
        k->save[p->out.dtype](sums, n, out, p->out.column);
    }
}
