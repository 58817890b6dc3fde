/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Forward transforms of nodes over cells. in and out may be the same cells with the same step,
 * and else do not overlap; work has as many cells as the node says. */

typedef struct {
    const cell *in;
    cell *out;
    ptrdiff_t is, os;
    cell *work;
} place;

static void run_node(const cpu_fft_plan *plan, int at, const place *p);

static const FFT_REAL *table_of(const cpu_fft_plan *plan, const cpu_fft_node *node)
{
    return (const FFT_REAL *)plan->table + node->table;
}

static void run_leaf(const cpu_fft_plan *plan, const cpu_fft_node *node, const place *p)
{
    const FFT_REAL *table = table_of(plan, node);
    pass now = {.in = p->in, .is = p->is, .l1 = 1, .inner = node->n};
    if (node->passes == 0)
        *p->out = *p->in;
    for (int i = 0; i < node->passes; i++) {
        const int r = node->radix[i], last = i == node->passes - 1;
        now.inner /= r;
        now.out = last ? p->out : p->work + (i % 2) * node->n;
        now.os = last ? p->os : 1;
        now.twiddle = table;
        table += 2 * (r - 1) * (now.inner - 1);
        now.sums = table;
        table += r > 5 && r != 8 ? r - 1 : 0;
        run_pass(&now, r);
        now.in = now.out;
        now.is = 1;
        now.l1 *= r;
    }
}

/* What a cut's element of row k1, column j is multiplied by. */
typedef struct {
    const FFT_REAL *re, *im, *block_re, *block_im; /* block_re NULL: one table */
} cut_table;

static cut_table cut_table_of(const cpu_fft_plan *plan, const cpu_fft_node *node)
{
    const FFT_REAL *t = table_of(plan, node);
    const int64_t n1 = plan->shape.node[node->first].n, n2 = node->n / n1;
    const int64_t blocks = (n2 + CPU_FFT_BLOCK - 1) / CPU_FFT_BLOCK;
    if (node->n < CPU_FFT_TWO_TABLES)
        return (cut_table){.re = t, .im = t + node->n};
    const FFT_REAL *b = t + 2 * n1 * blocks;
    return (cut_table){t, t + n1 * blocks, b, b + n1 * CPU_FFT_BLOCK};
}

/* The factors of columns j to j + LANES - 1 of row k1, of which those past the block or the table
 * mean nothing. j is a multiple of LANES. */
INLINE cell cut_factors(const cut_table *t, int64_t n2, int64_t k1, int64_t j)
{
    const int64_t blocks = (n2 + CPU_FFT_BLOCK - 1) / CPU_FFT_BLOCK;
    if (!t->block_re)
        return (cell){load_vec(t->re + k1 * n2 + j), load_vec(t->im + k1 * n2 + j)};
    const int64_t a = k1 * blocks + j / CPU_FFT_BLOCK, b = k1 * CPU_FFT_BLOCK + j % CPU_FFT_BLOCK;
    cell inner = {load_vec(t->block_re + b), load_vec(t->block_im + b)};
    return times(inner, all(t->re[a]), all(t->im[a]));
}

/* The same for one column and all lanes. */
INLINE cell cut_factor(const cut_table *t, int64_t n2, int64_t k1, int64_t j)
{
    const int64_t blocks = (n2 + CPU_FFT_BLOCK - 1) / CPU_FFT_BLOCK;
    if (!t->block_re)
        return (cell){all(t->re[k1 * n2 + j]), all(t->im[k1 * n2 + j])};
    const int64_t a = k1 * blocks + j / CPU_FFT_BLOCK, b = k1 * CPU_FFT_BLOCK + j % CPU_FFT_BLOCK;
    cell inner = {all(t->block_re[b]), all(t->block_im[b])};
    return times(inner, all(t->re[a]), all(t->im[a]));
}

static void run_split(const cpu_fft_plan *plan, const cpu_fft_node *node, const place *p)
{
    const int64_t n1 = plan->shape.node[node->first].n, n2 = node->n / n1;
    const cut_table t = cut_table_of(plan, node);
    cell *rows = p->work, *column = rows + node->n, *work = column + n1;
    for (int64_t j = 0; j < n2; j++) {
        const place one = {p->in + j * p->is, column, n2 * p->is, 1, work};
        run_node(plan, node->first, &one);
        for (int64_t k = 0; k < n1; k++) {
            cell w = cut_factor(&t, n2, k, j);
            rows[k * n2 + j] = times(column[k], w.r, w.i);
        }
    }
    for (int64_t k = 0; k < n1; k++) {
        const place one = {rows + k * n2, p->out + k * p->os, 1, n1 * p->os, work};
        run_node(plan, node->second, &one);
    }
}

/* The convolution with the chirp exp(i pi j*j/n), whose transform is in the table. The second
 * transform is the inverse, by exchanged parts. */
static void run_chirp(const cpu_fft_plan *plan, const cpu_fft_node *node, const place *p)
{
    const int64_t n = node->n, m = plan->shape.node[node->first].n;
    const FFT_REAL *re = table_of(plan, node), *im = re + n, *sre = im + n, *sim = sre + m;
    cell *a = p->work;
    const place inner = {a, a, 1, 1, a + m};
    for (int64_t j = 0; j < n; j++)
        a[j] = times(p->in[j * p->is], all(re[j]), all(im[j]));
    memset(a + n, 0, (size_t)(m - n) * sizeof *a);
    run_node(plan, node->first, &inner);
    for (int64_t j = 0; j < m; j++) {
        cell x = times(a[j], all(sre[j]), all(sim[j]));
        a[j] = (cell){x.i, x.r};
    }
    run_node(plan, node->first, &inner);
    for (int64_t j = 0; j < n; j++) {
        cell x = {a[j].i, a[j].r};
        p->out[j * p->os] = times(x, all(re[j]), all(im[j]));
    }
}

static void run_node(const cpu_fft_plan *plan, int at, const place *p)
{
    const cpu_fft_node *node = &plan->shape.node[at];
    if (node->kind == CPU_FFT_LEAF)
        run_leaf(plan, node, p);
    else if (node->kind == CPU_FFT_SPLIT)
        run_split(plan, node, p);
    else
        run_chirp(plan, node, p);
}

static void run_cells(const cpu_fft_plan *plan, int32_t node, void *cells, void *work)
{
    const place p = {cells, cells, 1, 1, work};
    run_node(plan, node, &p);
}
