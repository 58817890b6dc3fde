/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Products of blocks by the kernels of matmul, added to or subtracted from what is there.
 *
 * The kernels want results with rows of unit stride; for columns of unit stride the product is
 * computed transposed. Signs and conjugates are changed in the packed operand. Cut and order of the
 * sums are matmul's, so the bits depend on neither threads nor SIMD level. */
#include "linalg/linalg.h"

#define TILE_A 960  /* bytes across a tile along the panels of a; as matmul's */
#define TILE_B 2048 /* and of b */
#define PACK_WORK (32 << 10)

int64_t lin_product_bytes(const lin_context *x, int64_t rows, int64_t columns, int64_t depth)
{
    const int64_t lanes = rows + columns + x->mm->rows + x->mm->columns + 64;
    return mm_round_up(lanes * (depth < MM_MAX_DEPTH ? depth : MM_MAX_DEPTH) * x->size + 64, 64);
}

typedef struct {
    const lin_context *x;
    int64_t m, n, kc; /* of the product as the kernel sees it */
    lin_matrix a, b;
    char *c, *packed_a, *packed_b;
    int64_t ldc, lanes, groups_a, tile_m, tile_n, tiles_n;
    int32_t add, negate;
} product;

static void change_signs(const product *p, int is_a, char *panel, int64_t w)
{
    const int all = is_a && p->negate, imaginary = is_a ? p->a.conj : p->b.conj;
    const int64_t width = is_a ? p->x->mm->rows : p->x->mm->columns;
    if (all || imaginary)
        p->x->leaf->negate(mm_round_up(w, width) * p->kc, width, panel, all, imaginary);
}

static void pack_groups(void *ctx, int64_t begin, int64_t end)
{
    const product *p = ctx;
    const mm_kernels *k = p->x->mm;
    for (int64_t g = begin; g < end; g++) {
        const int is_a = g < p->groups_a;
        const int64_t at = (is_a ? g : g - p->groups_a) * p->lanes, all = is_a ? p->m : p->n;
        const int64_t w = all - at < p->lanes ? all - at : p->lanes, size = p->x->size;
        char *panel = (is_a ? p->packed_a : p->packed_b) + at * p->kc * size;
        if (is_a)
            k->pack_a(p->a.data + at * p->a.row * size, p->a.row, p->a.column, w, p->kc, panel);
        else
            k->pack_b(p->b.data + at * p->b.column * size, p->b.column, p->b.row, w, p->kc, panel);
        change_signs(p, is_a, panel, w);
    }
}

static void multiply_tiles(void *ctx, int64_t begin, int64_t end)
{
    const product *p = ctx;
    const int64_t size = p->x->size;
    for (int64_t t = begin; t < end; t++) {
        const int64_t i = t / p->tiles_n * p->tile_m, j = t % p->tiles_n * p->tile_n;
        const int64_t m = p->m - i < p->tile_m ? p->m - i : p->tile_m;
        const int64_t n = p->n - j < p->tile_n ? p->n - j : p->tile_n;
        p->x->mm->block(m, n, p->kc, p->packed_a + i * p->kc * size, p->packed_b + j * p->kc * size,
                        p->c + (i * p->ldc + j) * size, p->ldc, p->add);
    }
}

static int64_t least_common(int64_t a, int64_t b)
{
    int64_t n = a;
    while (n % b)
        n += a;
    return n;
}

/* One block of the depth. */
static void multiply(product *p)
{
    const mm_kernels *k = p->x->mm;
    const int64_t size = p->x->size, step = least_common(k->rows, k->columns);
    p->lanes = mm_round_up((PACK_WORK + p->kc - 1) / p->kc, step);
    p->groups_a = (p->m + p->lanes - 1) / p->lanes;
    p->packed_b = p->packed_a + mm_round_up(mm_round_up(p->m, k->rows) * p->kc * size, 64);
    p->tile_m = mm_round_up(TILE_A / size, k->rows);
    p->tile_n = mm_round_up(TILE_B / size, k->columns);
    while (p->tile_n > k->columns && 4 * p->tile_m * p->tile_n > p->m * p->n)
        p->tile_n = mm_round_up(p->tile_n / 2, k->columns); /* enough tiles for the threads */
    p->tiles_n = (p->n + p->tile_n - 1) / p->tile_n;
    const int64_t work = p->tile_m * p->tile_n * p->kc;
    cpu_parallel(p->groups_a + (p->n + p->lanes - 1) / p->lanes, 1, pack_groups, p);
    cpu_parallel((p->m + p->tile_m - 1) / p->tile_m * p->tiles_n,
                 (MM_TASK_WORK / 4 + work - 1) / work, multiply_tiles, p);
}

void lin_product(const lin_context *x, int64_t m, int64_t n, int64_t k, lin_matrix a, lin_matrix b,
                 char *c, int64_t c_row, int64_t c_column, int how)
{
    product p = {.x = x, .m = m, .n = n, .a = a, .b = b, .c = c, .ldc = c_row};
    if (m == 0 || n == 0 || k == 0)
        return;
    if (c_column != 1 || (c_row == 1 && n == 1)) {
        p.m = n;
        p.n = m;
        p.a = lin_transposed(b);
        p.b = lin_transposed(a);
        p.ldc = c_column;
    }
    p.packed_a = x->work;
    p.negate = how == LIN_SUBTRACT;
    const int64_t depth = mm_block_depth(k);
    for (int64_t d = 0; d < k; d += depth) {
        p.kc = k - d < depth ? k - d : depth;
        p.add = how != LIN_SET || d > 0;
        multiply(&p);
        p.a.data += p.kc * p.a.column * x->size;
        p.b.data += p.kc * p.b.row * x->size;
    }
}
