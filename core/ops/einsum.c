/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Sums of products by index notation: views of the operands, and pairs of them contracted by matrix
 * products in the order of opt_einsum's greedy rule (Smith and Gray, JOSS 3(26), 2018): the pair
 * first whose product is smallest beside what it takes the place of.
 *
 * A label is a letter, or a dimension that an ellipsis stands for. Labels of a term are in the order
 * of its array's axes. */
#include "core/ops/einsum.h"

/* ---- terms ---- */

static bool has(const nd_term *t, int label)
{
    return t->mask[label / 64] >> (label % 64) & 1;
}

void nd__term_labels(nd_term *t, int n, const int *labels)
{
    t->n = n;
    t->mask[0] = t->mask[1] = 0;
    for (int i = 0; i < n; i++) {
        t->labels[i] = labels[i];
        t->mask[labels[i] / 64] |= UINT64_C(1) << (labels[i] % 64);
    }
}

static double size_of(const nd_contraction *e, uint64_t low, uint64_t high)
{
    double size = 1;
    for (int i = 0; i < ND_LABELS; i++)
        if ((i < 64 ? low >> i : high >> (i - 64)) & 1)
            size *= (double)e->extent[i];
    return size;
}

/* The labels that are needed beside the terms a and b (b may be a): of the result, and of others. */
static void needed_beside(const nd_contraction *e, int a, int b, uint64_t *mask)
{
    mask[0] = e->result.mask[0];
    mask[1] = e->result.mask[1];
    for (int i = 0; i < e->n; i++)
        if (i != a && i != b) {
            mask[0] |= e->term[i].mask[0];
            mask[1] |= e->term[i].mask[1];
        }
}

/* Sums over the labels of a term that nobody else needs. */
static nd_status sum_alone(nd_contraction *e, int which)
{
    nd_term *t = &e->term[which];
    uint64_t needed[2];
    int32_t axes[ND_MAX_NDIM];
    int kept[ND_MAX_NDIM], n = 0, n_kept = 0;
    needed_beside(e, which, which, needed);
    for (int i = 0; i < t->n; i++)
        if (needed[t->labels[i] / 64] >> (t->labels[i] % 64) & 1)
            kept[n_kept++] = t->labels[i];
        else
            axes[n++] = i;
    if (n == 0)
        return ND_OK;
    const nd_reduce_opts o = {.size = sizeof o, .dtype = e->dtype, .axes = axes, .naxes = n};
    nd_steps s = {.status = ND_OK};
    nd_array *r = NULL, *product = NULL;
    if (axes[0] == n_kept || axes[n - 1] == n - 1)
        product = nd__einsum_sum(e, &s, t->array, n_kept, axes[0] != n_kept);
    ND_RETURN_IF(nd__steps_end(&s, "einsum", product, &r));
    if (!r)
        ND_RETURN_IF(nd_sum(t->array, &o, &r));
    nd_release(t->array);
    t->array = r;
    nd__term_labels(t, n_kept, kept);
    return ND_OK;
}

/* ---- one pair ---- */

/* The axes of a term in a new order, as a view; the term's own array, which nobody else need
 * release, where that is its order. */
static nd_array *permuted(nd_steps *s, const nd_term *t, int n, const int *labels)
{
    int32_t axes[ND_MAX_NDIM];
    nd_array *r;
    if (n == t->n && memcmp(labels, t->labels, (size_t)n * sizeof *labels) == 0)
        return t->array;
    for (int i = 0; i < n; i++)
        for (int k = 0; k < t->n; k++)
            if (t->labels[k] == labels[i])
                axes[i] = k;
    ND_STEP(s, r, nd_permute(t->array, n, axes, &r));
    return r;
}

/* The labels of term t of a group, those with the largest stride first, so that they merge where
 * they can. */
static int in_order(const nd_term *t, const bool *of_group, int *labels)
{
    int n = 0;
    uint64_t stride[ND_MAX_NDIM];
    for (int i = 0; i < t->n; i++) {
        if (!of_group[t->labels[i]])
            continue;
        const uint64_t own = nd__magnitude(t->array->stride[i]);
        int at = n++;
        for (; at > 0 && stride[at - 1] < own; at--) {
            stride[at] = stride[at - 1];
            labels[at] = labels[at - 1];
        }
        stride[at] = own;
        labels[at] = t->labels[i];
    }
    return n;
}

/* Groups of labels of a pair, and their product as a matrix product. */
typedef struct {
    int batch[ND_MAX_NDIM], rows[ND_MAX_NDIM], columns[ND_MAX_NDIM], depth[ND_MAX_NDIM];
    int n_batch, n_rows, n_columns, n_depth;
} groups;

static int64_t extent_of(const nd_contraction *e, int n, const int *labels)
{
    int64_t size = 1;
    for (int i = 0; i < n; i++)
        size *= e->extent[labels[i]];
    return size;
}

/* A term as (batch..., first, second), each of the two groups one axis; without a batch a group of
 * no labels is no axis, so that it is a vector. */
static nd_array *as_matrices(const nd_contraction *e, nd_steps *s, const nd_term *t,
                             const groups *g, int n_first, const int *first, int n_second,
                             const int *second)
{
    int labels[ND_MAX_NDIM], n = g->n_batch;
    int64_t shape[ND_MAX_NDIM];
    memcpy(labels, g->batch, (size_t)n * sizeof *labels);
    memcpy(labels + n, first, (size_t)n_first * sizeof *labels);
    memcpy(labels + n + n_first, second, (size_t)n_second * sizeof *labels);
    nd_array *view = permuted(s, t, n + n_first + n_second, labels);
    const bool vector = n == 0 && (n_first == 0 || n_second == 0);
    if (vector ? n_first + n_second == 1 : n_first == 1 && n_second == 1)
        return view;
    for (int i = 0; i < n; i++)
        shape[i] = e->extent[labels[i]];
    shape[n] = extent_of(e, n_first, first);
    shape[n + !vector] = extent_of(e, n_second, second) * (vector ? shape[n] : 1);
    return nd__step_reshape(s, view, n + 2 - vector, shape);
}

/* Whether the labels of a term in this order are one axis of a view. */
static bool merges(const nd_term *t, int n, const int *labels)
{
    int64_t stride = 0, extent = 1;
    for (int i = n - 1; i >= 0; i--)
        for (int k = 0; k < t->n; k++) {
            if (t->labels[k] != labels[i] || t->array->shape[k] == 1)
                continue;
            if (extent > 1 && t->array->stride[k] != stride * extent)
                return false;
            if (extent == 1)
                stride = t->array->stride[k];
            extent *= t->array->shape[k];
        }
    return true;
}

/* Both operands sum over the same labels in the same order: in a's, or in b's where that spares a
 * copy. */
static void order_depth(const nd_term *a, const nd_term *b, const bool *depth, groups *g)
{
    int other[ND_MAX_NDIM];
    g->n_depth = in_order(a, depth, g->depth);
    if (merges(a, g->n_depth, g->depth) && merges(b, g->n_depth, g->depth))
        return;
    (void)in_order(b, depth, other);
    if ((merges(a, g->n_depth, other) && merges(b, g->n_depth, other)) ||
        b->array->size > a->array->size)
        memcpy(g->depth, other, (size_t)g->n_depth * sizeof *other);
}

static void group(const nd_term *a, const nd_term *b, const uint64_t *needed, groups *g)
{
    bool batch[ND_LABELS] = {false}, rows[ND_LABELS] = {false}, columns[ND_LABELS] = {false},
         depth[ND_LABELS] = {false};
    for (int k = 0; k < a->n; k++) {
        const int i = a->labels[k];
        const bool kept = needed[i / 64] >> (i % 64) & 1, both = has(b, i);
        batch[i] = both && kept;
        depth[i] = both && !kept;
        rows[i] = !both;
    }
    for (int k = 0; k < b->n; k++)
        columns[b->labels[k]] = !has(a, b->labels[k]);
    g->n_batch = in_order(a, batch, g->batch);
    g->n_rows = in_order(a, rows, g->rows);
    g->n_columns = in_order(b, columns, g->columns);
    order_depth(a, b, depth, g);
}

/* Nothing is summed: the elementwise product of views with new axes. */
static nd_array *multiply(nd_steps *s, const nd_term *a, const nd_term *b, const groups *g)
{
    int labels[ND_MAX_NDIM];
    int32_t axes[ND_MAX_NDIM];
    nd_array *left, *right;
    memcpy(labels, g->batch, (size_t)g->n_batch * sizeof *labels);
    memcpy(labels + g->n_batch, g->rows, (size_t)g->n_rows * sizeof *labels);
    nd_array *view = permuted(s, a, g->n_batch + g->n_rows, labels);
    for (int i = 0; i < g->n_columns; i++)
        axes[i] = g->n_batch + g->n_rows + i;
    ND_STEP(s, left, nd_expand_dims(view, g->n_columns, axes, &left));
    memcpy(labels + g->n_batch, g->columns, (size_t)g->n_columns * sizeof *labels);
    view = permuted(s, b, g->n_batch + g->n_columns, labels);
    for (int i = 0; i < g->n_rows; i++)
        axes[i] = g->n_batch + i;
    ND_STEP(s, right, nd_expand_dims(view, g->n_rows, axes, &right));
    return nd__step2(s, ND_OP_multiply, left, right);
}

static nd_array *contract(const nd_contraction *e, nd_steps *s, const nd_term *a, const nd_term *b,
                          const groups *g, int n, const int *labels)
{
    int64_t shape[ND_MAX_NDIM];
    nd_array *product = NULL;
    if (g->n_depth == 0)
        return multiply(s, a, b, g);
    if (n == 0 && a->n == b->n &&
        memcmp(a->labels, b->labels, (size_t)a->n * sizeof *labels) == 0 &&
        nd__inner_product(a->array, b->array, &product, &s->status)) {
        nd__steps_keep(s, product);
        return product;
    }
    nd_array *left = as_matrices(e, s, a, g, g->n_rows, g->rows, g->n_depth, g->depth);
    nd_array *right = as_matrices(e, s, b, g, g->n_depth, g->depth, g->n_columns, g->columns);
    ND_STEP(s, product, nd_matmul(left, right, NULL, &product));
    if (product && product->ndim == n && g->n_rows <= 1 && g->n_columns <= 1)
        return product;
    for (int i = 0; i < n; i++)
        shape[i] = e->extent[labels[i]];
    return nd__step_reshape(s, product, n, shape);
}

static nd_status contract_pair(nd_contraction *e, int i, int k)
{
    uint64_t needed[2];
    groups g;
    nd_steps s = {.status = ND_OK};
    int labels[ND_MAX_NDIM], n;
    nd_term *a = &e->term[i], *b = &e->term[k];
    nd_array *product = NULL;
    needed_beside(e, i, k, needed);
    group(a, b, needed, &g);
    n = g.n_batch + g.n_rows + g.n_columns;
    if (n > ND_MAX_NDIM)
        return nd__fail(ND_ERR_SHAPE, "einsum", -1, "a product of two would have %d axes", n);
    memcpy(labels, g.batch, (size_t)g.n_batch * sizeof *labels);
    memcpy(labels + g.n_batch, g.rows, (size_t)g.n_rows * sizeof *labels);
    memcpy(labels + g.n_batch + g.n_rows, g.columns, (size_t)g.n_columns * sizeof *labels);
    nd_array *r = contract(e, &s, a, b, &g, n, labels);
    ND_RETURN_IF(nd__steps_end(&s, "einsum", r, &product));
    nd_release(a->array);
    nd_release(b->array);
    a->array = product;
    nd__term_labels(a, n, labels);
    e->term[k] = e->term[--e->n];
    return ND_OK;
}

/* ---- the order ---- */

/* What the product of two has more elements than both: the less the better. */
static double cost(const nd_contraction *e, int i, int k)
{
    uint64_t needed[2];
    const nd_term *a = &e->term[i], *b = &e->term[k];
    needed_beside(e, i, k, needed);
    const uint64_t low = (a->mask[0] | b->mask[0]) & needed[0],
                   high = (a->mask[1] | b->mask[1]) & needed[1];
    return size_of(e, low, high) - size_of(e, a->mask[0], a->mask[1]) -
           size_of(e, b->mask[0], b->mask[1]);
}

static bool share(const nd_term *a, const nd_term *b)
{
    return (a->mask[0] & b->mask[0]) || (a->mask[1] & b->mask[1]);
}

/* Pairs with a label in common come before those without one, of which the smallest two are taken. */
static void choose_pair(const nd_contraction *e, int *first, int *second)
{
    double best = 0;
    *first = -1;
    for (int pass = 0; pass < 2 && *first < 0; pass++)
        for (int i = 0; i < e->n; i++)
            for (int k = i + 1; k < e->n; k++) {
                if (pass == 0 && !share(&e->term[i], &e->term[k]))
                    continue;
                const double own = pass == 0
                                       ? cost(e, i, k)
                                       : size_of(e, e->term[i].mask[0], e->term[i].mask[1]) *
                                             size_of(e, e->term[k].mask[0], e->term[k].mask[1]);
                if (*first < 0 || own < best) {
                    best = own;
                    *first = i;
                    *second = k;
                }
            }
}

nd_status nd__einsum_contract(nd_contraction *e, nd_array **out)
{
    nd_steps s = {.status = ND_OK};
    for (int i = 0; i < e->n; i++)
        ND_RETURN_IF(sum_alone(e, i));
    while (e->n > 1) {
        int i = 0, k = 1;
        if (e->n > 2)
            choose_pair(e, &i, &k);
        ND_RETURN_IF(contract_pair(e, i, k));
    }
    nd_array *r = permuted(&s, &e->term[0], e->result.n, e->result.labels);
    return nd__steps_end(&s, "einsum", r, out);
}
