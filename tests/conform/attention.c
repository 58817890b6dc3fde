/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Conformance: attention and its gradients against their definitions over the whole matrix of
 * scores, with masks, causal, grouped heads and dropout. */
#include <math.h>
#include "tests/conform/conform.h"

enum { Q, K, V, G, OPERANDS };

typedef struct {
    mirror in[OPERANDS], mask;
    nd_dtype dtype;
    int64_t b, h, hk, m, n, d, e;
    nd_attention_opts o;
    nd_array *out, *lse, *grad[3];
    long double *weight, *size, *kept; /* (b, h, m, n); size: of the products in each score */
} attention;

static const view_wish tame = {.tame = true};

static long double number(const mirror *m, int64_t i)
{
    return mirror_cell(m, m->ndim, m->shape, i).re;
}

static long double at(const attention *a, int which, int64_t b, int64_t h, int64_t i, int64_t c)
{
    const int64_t *shape = a->in[which].shape;
    return number(&a->in[which], ((b * shape[1] + h) * shape[2] + i) * shape[3] + c);
}

/* Small numbers, so that weights do not all end in one key: what the mirror holds, over 8. */
static bool make_small(mirror *m, nd_dtype dtype, const int64_t *shape)
{
    float *x = malloc((size_t)(shape[0] * shape[1] * shape[2] * shape[3] + 1) * sizeof *x);
    nd_layout layout = {.size = sizeof layout, .dtype = ND_F32, .ndim = 4, .shape = shape};
    nd_array *wide = NULL, *r = NULL;
    for (int64_t i = 0; i < shape[0] * shape[1] * shape[2] * shape[3]; i++)
        x[i] = (float)(random_below(257) - 128) / 64;
    bool made = good(nd_from_host(&layout, x, run.device, &wide), "from_host") &&
                good(nd_astype(wide, dtype, &r), "astype");
    free(x);
    nd_release(wide);
    *m = (mirror){.array = r, .dtype = dtype, .ndim = 4};
    if (!made)
        return false;
    m->size = 1;
    for (int d = 3; d >= 0; d--) {
        m->shape[d] = shape[d];
        m->stride[d] = m->size;
        m->size *= shape[d];
    }
    m->base = fetch(r);
    return m->base != NULL;
}

static bool make(attention *a, nd_dtype dtype)
{
    static const int32_t causal[3] = {ND_CAUSAL_NONE, ND_CAUSAL_FIRST, ND_CAUSAL_LAST};
    memset(a, 0, sizeof *a);
    a->dtype = dtype;
    a->b = random_below(8) ? 1 + random_below(2) : 0;
    a->hk = 1 + random_below(2);
    a->h = a->hk * (1 + random_below(3));
    a->m = 1 + random_below(random_below(6) ? 6 : 90);
    a->n = 1 + random_below(random_below(6) ? 6 : 140);
    a->d = 1 + random_below(12);
    a->e = 1 + random_below(12);
    const int64_t q[4] = {a->b, a->h, a->m, a->d}, k[4] = {a->b, a->hk, a->n, a->d},
                  v[4] = {a->b, a->hk, a->n, a->e}, g[4] = {a->b, a->h, a->m, a->e},
                  mask[4] = {a->b, 1, a->m, a->n};
    a->o = (nd_attention_opts){.size = sizeof a->o, .causal = causal[random_below(3)]};
    if (random_below(3) == 0)
        a->o.scale = 0.5;
    if (random_below(4) == 0) {
        a->o.dropout = 0.25;
        a->o.key = (nd_random_key){random_bits(), {random_bits(), 3}};
    }
    bool made = make_small(&a->in[Q], dtype, q) && make_small(&a->in[K], dtype, k) &&
                make_small(&a->in[V], dtype, v) && make_small(&a->in[G], dtype, g);
    if (made && random_below(2)) {
        const bool added = random_below(2);
        made = added ? make_small(&a->mask, dtype, mask)
                     : mirror_shaped(&a->mask, ND_BOOL, 4, mask, &tame);
        a->o.mask = a->mask.array;
    }
    return made;
}

static bool is_kept(const attention *a, int64_t i)
{
    const uint64_t low = a->o.key.counter[0] + (uint64_t)(i / 4),
                   high = a->o.key.counter[1] + (low < a->o.key.counter[0]);
    const uint32_t counter[4] = {(uint32_t)low, (uint32_t)(low >> 32), (uint32_t)high,
                                 (uint32_t)(high >> 32)},
                   seed[2] = {(uint32_t)a->o.key.key, (uint32_t)(a->o.key.key >> 32)};
    uint32_t word[4];
    nd_philox4x32(counter, seed, word);
    return word[i % 4] >= (uint32_t)(a->o.dropout * 0x1p32);
}

/* The weights of one query; false: it sees no key. */
static bool expect_row(const attention *a, int64_t b, int64_t h, int64_t i, int64_t row)
{
    const long double scale = a->o.scale != 0 ? a->o.scale : 1 / sqrtl(a->d);
    const int64_t diagonal = a->o.causal == ND_CAUSAL_LAST ? a->n - a->m : 0;
    long double max = -INFINITY, sum = 0, *w = a->weight + row * a->n;
    for (int64_t j = 0; j < a->n; j++) {
        long double s = 0, size = 0;
        for (int64_t c = 0; c < a->d; c++) {
            const long double x = at(a, Q, b, h, i, c) * at(a, K, b, h / (a->h / a->hk), j, c);
            s += x;
            size += fabsl(x);
        }
        s *= scale;
        const int64_t place = (b * a->m + i) * a->n + j;
        if (a->mask.array && a->mask.dtype == ND_BOOL)
            s = mirror_cell(&a->mask, 4, a->mask.shape, place).i ? s : -INFINITY;
        else if (a->mask.array)
            s += number(&a->mask, place);
        if (a->o.causal && j > i + diagonal)
            s = -INFINITY;
        w[j] = s;
        a->size[row * a->n + j] = 1 + size * scale;
        a->kept[row * a->n + j] =
            is_kept(a, row * a->n + j) ? 1 / (1 - (long double)a->o.dropout) : 0;
        max = fmaxl(max, s);
    }
    for (int64_t j = 0; j < a->n; j++)
        sum += w[j] = max > -INFINITY ? expl(w[j] - max) : 0;
    for (int64_t j = 0; j < a->n; j++)
        w[j] /= sum > 0 ? sum : 1;
    return sum > 0;
}

static void compare(const attention *a, nd_op op, const char *what, const char *data, int64_t i,
                    long double want, long double size)
{
    char text[2][128];
    const cell got = cell_read(a->dtype, data + (size_t)i * nd_dtype_size(a->dtype)),
               w = cell_real(want);
    const long double bound =
        op_ulp(op, a->dtype) * 1.01L * cell_ulp(a->dtype, fmaxl(size, fabsl(want)));
    if (!cell_within(a->dtype, got, w, bound))
        fail_case("%s of %s: element %lld of %s is %s, not %s (bound %Lg; m %lld, n %lld)",
                  nd_op_get(op)->name, nd_dtype_name(a->dtype), (long long)i, what,
                  cell_text(got, text[0]), cell_text(w, text[1]), bound, (long long)a->m,
                  (long long)a->n);
}

static void check_forward(const attention *a, const char *data)
{
    for (int64_t row = 0; row < a->b * a->h * a->m && !failing(); row++) {
        const int64_t b = row / a->m / a->h, h = row / a->m % a->h;
        for (int64_t c = 0; c < a->e; c++) {
            long double want = 0, size = 0;
            for (int64_t j = 0; j < a->n; j++) {
                const int64_t k = row * a->n + j;
                const long double x =
                    a->weight[k] * a->kept[k] * at(a, V, b, h / (a->h / a->hk), j, c);
                want += x;
                size += fabsl(x) * a->size[k];
            }
            compare(a, ND_OP_attention, "the result", data, row * a->e + c, want, size);
        }
    }
}

/* The gradients of scores, and the sizes of their terms, in place of kept. */
static void score_gradients(const attention *a, long double *ds, long double *size)
{
    const long double scale = a->o.scale != 0 ? a->o.scale : 1 / sqrtl(a->d);
    for (int64_t row = 0; row < a->b * a->h * a->m; row++) {
        const int64_t b = row / a->m / a->h, h = row / a->m % a->h, i = row % a->m;
        long double delta = 0, all = 0;
        for (int64_t j = 0; j < a->n; j++) {
            const int64_t k = row * a->n + j;
            ds[k] = size[k] = 0;
            for (int64_t c = 0; c < a->e; c++) {
                const long double x = at(a, G, b, h, i, c) * at(a, V, b, h / (a->h / a->hk), j, c);
                ds[k] += x * a->kept[k];
                size[k] += fabsl(x) * a->kept[k];
            }
            delta += a->weight[k] * ds[k];
            all += a->weight[k] * size[k] * a->size[k];
        }
        for (int64_t k = row * a->n; k < (row + 1) * a->n; k++) {
            ds[k] = a->weight[k] * (ds[k] - delta) * scale;
            size[k] = a->weight[k] * (size[k] + all) * a->size[k] * scale;
        }
    }
}

/* One gradient: the sum over pairs of a query and a key of by times the other operand's column. */
static void check_gradient(const attention *a, int which, const long double *by,
                           const long double *size, const char *data)
{
    const int other = which == Q ? K : which == K ? Q : G;
    const int64_t rows = which == Q ? a->m : a->n, group = a->h / a->hk;
    const int64_t heads = which == Q ? a->h : a->hk, width = which == V ? a->e : a->d;
    for (int64_t i = 0; i < a->b * heads * rows * width && !failing(); i++) {
        const int64_t c = i % width, row = i / width % rows, h = i / width / rows % heads,
                      b = i / width / rows / heads;
        long double want = 0, sizes = 0;
        for (int64_t one = which == Q ? h : h * group; one < (which == Q ? h + 1 : (h + 1) * group);
             one++)
            for (int64_t j = 0; j < (which == Q ? a->n : a->m); j++) {
                const int64_t query = which == Q ? row : j, key = which == Q ? j : row;
                const int64_t k = ((b * a->h + one) * a->m + query) * a->n + key;
                const long double x = at(a, other, b, which == Q ? one / group : one, j, c);
                want += by[k] * x;
                sizes += size[k] * fabsl(x);
            }
        compare(a, ND_OP_attention_grad,
                which == Q   ? "dq"
                : which == K ? "dk"
                             : "dv",
                data, i, want, sizes);
    }
}

static void check_gradients(const attention *a)
{
    const size_t n = (size_t)(a->b * a->h * a->m * a->n + 1);
    long double *ds = malloc(n * sizeof *ds), *size = malloc(n * sizeof *size);
    char *data[3] = {fetch(a->grad[0]), fetch(a->grad[1]), fetch(a->grad[2])};
    score_gradients(a, ds, size);
    for (int i = Q; i <= K; i++)
        if (data[i])
            check_gradient(a, i, ds, size, data[i]);
    for (size_t k = 0; k + 1 < n; k++) {
        ds[k] = a->weight[k] * a->kept[k];
        size[k] = ds[k] * a->size[k];
    }
    if (data[V])
        check_gradient(a, V, ds, size, data[V]);
    for (int i = 0; i < 3; i++)
        free(data[i]);
    free(ds);
    free(size);
}

static bool compute(attention *a, bool grad)
{
    if (!good(nd_scaled_dot_product_attention(a->in[Q].array, a->in[K].array, a->in[V].array, &a->o,
                                              &a->out, &a->lse),
              "attention"))
        return false;
    return !grad || good(nd_scaled_dot_product_attention_grad(
                             a->in[G].array, a->in[Q].array, a->in[K].array, a->in[V].array, a->out,
                             a->lse, &a->o, &a->grad[0], &a->grad[1], &a->grad[2]),
                         "attention_grad");
}

static void one_case(nd_dtype dtype, bool grad)
{
    attention a;
    if (make(&a, dtype) && compute(&a, grad)) {
        const size_t n = (size_t)(a.b * a.h * a.m * a.n + 1);
        a.weight = malloc(n * sizeof *a.weight);
        a.size = malloc(n * sizeof *a.size);
        a.kept = malloc(n * sizeof *a.kept);
        for (int64_t row = 0; row < a.b * a.h * a.m; row++)
            (void)expect_row(&a, row / a.m / a.h, row / a.m % a.h, row % a.m, row);
        if (grad) {
            check_gradients(&a);
        } else {
            char *data = fetch(a.out);
            if (data)
                check_forward(&a, data);
            free(data);
        }
    }
    free(a.weight);
    free(a.size);
    free(a.kept);
    nd_release(a.out);
    nd_release(a.lse);
    for (int i = 0; i < 3; i++)
        nd_release(a.grad[i]);
    for (int i = 0; i < OPERANDS; i++)
        mirror_release(&a.in[i]);
    mirror_release(&a.mask);
}

void conform_attention(void)
{
    static const nd_dtype floats[] = {ND_F32, ND_F64, ND_F16, ND_BF16};
    for (int grad = 0; grad < 2; grad++) {
        const char *name = grad ? "attention_grad" : "attention";
        if (!wanted(name))
            continue;
        begin_op(name);
        for (int i = 0; i < run.count && !failing(); i++)
            if (begin_case(i))
                one_case(floats[i % 4], grad);
        end_op();
    }
}
