/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Conformance: random numbers that are tried until accepted, against the algorithms of
 * samplers.c. */
#include "tests/conform/samplers.h"

/* ---- cases ---- */

enum { SETS = 8, PARAMS = 4 };

typedef struct {
    nd_op op;
    nd_distribution id;
    int params;
    long double (*value)(const place *at, const double *param);
    double slack; /* errors of f64 in its result, in units of the last place */
    double sets[SETS][PARAMS];
} subject;

static const subject subjects[] = {
    {ND_OP_random_gamma,
     ND_DRAW_gamma,
     2,
     sampler_gamma,
     64,
     {{1, 1}, {2.5, 3}, {0.5, 1}, {0.05, 1}, {1000, 0.5}, {1e6, 1e-6}, {0, 1}, {3, 0}}},
    {ND_OP_random_beta,
     ND_DRAW_beta,
     2,
     sampler_beta,
     64,
     {{1, 1}, {2, 5}, {0.25, 0.5}, {0.5, 8}, {100, 300}, {8, 8}, {0.9, 1.1}, {30, 0.5}}},
    {ND_OP_random_truncated,
     ND_DRAW_truncated_normal,
     4,
     sampler_truncated,
     64,
     {{-1, 1, 0, 1},
      {-2, 2, 0, 1},
      {1, 40, 0, 1},
      {8, 9, 0, 1},
      {-9, -3, 1, 0.5},
      {0.25, 40, 0, 1},
      {2, 2, 0, 1},
      {-INFINITY, INFINITY, 3, 2}}},
    {ND_OP_random_poisson,
     ND_DRAW_poisson,
     1,
     sampler_poisson,
     0,
     {{0}, {0.1}, {3}, {9.75}, {10}, {12.5}, {300}, {1e6}}},
    {ND_OP_random_binomial,
     ND_DRAW_binomial,
     2,
     sampler_binomial,
     0,
     {{0, 0.5}, {5, 0.3}, {20, 0.5}, {100, 0.75}, {1000, 0.25}, {1e6, 0.999}, {10, 1}, {40, 0}}},
    {ND_OP_random_geometric,
     ND_DRAW_geometric,
     1,
     sampler_geometric,
     0,
     {{1}, {0.5}, {0.3}, {0.9}, {0.01}, {1e-6}, {0.75}, {0.1}}},
    {ND_OP_random_hypergeometric,
     ND_DRAW_hypergeometric,
     3,
     sampler_hypergeometric,
     0,
     {{7, 5, 6},
      {100, 50, 20},
      {30, 1000, 400},
      {1000, 2000, 1800},
      {0, 4, 2},
      {6, 0, 3},
      {20, 20, 0},
      {15, 10, 20}}},
};

/* A call: for each column (the last axis) the number of its set of parameters. */
typedef struct {
    const subject *of;
    nd_dtype dtype;
    nd_random_key key;
    int columns, set[64]; /* 0 columns: one set for all */
    nd_array *arrays[PARAMS];
} drawing;

static nd_status draw_into(const drawing *d, const nd_array *dst)
{
    nd_arg args[PARAMS];
    for (int i = 0; i < d->of->params; i++)
        args[i] = d->columns ? nd_array_arg(d->arrays[i])
                             : nd_scalar_arg(nd_float(d->of->sets[d->set[0]][i]));
    return nd_random_draw_into(d->of->id, args, d->of->params, &d->key, dst);
}

static void make_parameters(drawing *d, const mirror *dst)
{
    const int last = dst->ndim ? (int)dst->shape[dst->ndim - 1] : 0;
    double v[64];
    const int64_t n = d->columns = last <= 64 && random_below(2) ? last : 0;
    for (int c = 0; c < (n ? n : 1); c++)
        d->set[c] = (int)random_below(SETS);
    for (int i = 0; n && i < d->of->params; i++) {
        const nd_layout layout = {.size = sizeof layout, .dtype = ND_F64, .ndim = 1, .shape = &n};
        nd_array *host = NULL;
        for (int c = 0; c < n; c++)
            v[c] = d->of->sets[d->set[c]][i];
        (void)good(nd_from_host(&layout, v, run.device, &host), "from_host");
        d->arrays[i] = host;
    }
}

/* The most that an element may be off. */
static long double most_off(const drawing *d, const double *param, long double x)
{
    const long double largest =
        fmaxl(fabsl(x), d->of->id == ND_DRAW_truncated_normal ? fabsl((long double)param[2]) : 0);
    long double slack = d->of->slack;
    if (d->of->id == ND_DRAW_gamma || d->of->id == ND_DRAW_beta)
        slack += 8 * fabsl(logl(fmaxl(x, 1e-300L))) +
                 8 * fabsl(logl(fmaxl(d->of->id == ND_DRAW_beta ? 1 - x : 1, 1e-300L)));
    return slack * cell_ulp(ND_F64, largest) + cell_ulp(d->dtype, x) * (d->dtype != ND_F64);
}

static bool check_drawing(const drawing *d, const dense *got)
{
    const nd_dtype_info *info = nd_dtype_get(d->dtype);
    const bool counts = info->kind != ND_KIND_FLOAT;
    for (int64_t i = 0; i < got->size; i++) {
        const double *p = d->of->sets[d->set[d->columns ? i % d->columns : 0]];
        const place at = {counter_of(&d->key) + (unsigned __int128)i, d->key.key};
        long double want = d->of->value(&at, p);
        cell c = dense_cell(got, i);
        char text[128];
        if (counts) /* saturates */
            want = fminl(want, ldexpl(1, 8 * (int)info->nbytes - (info->kind == ND_KIND_INT)) - 1);
        bool fine = counts ? (long double)c.i == want
                           : fabsl(c.re - want) <= most_off(d, p, want) ||
                                 (fabsl(want) > cell_max(d->dtype) && isinf(c.re));
        if (!fine) {
            fail_case("%s of %s (%g, %g, %g, %g): element %lld is %s, not %.21Lg",
                      nd_distribution_get(d->of->id)->name, nd_dtype_name(d->dtype), p[0], p[1],
                      p[2], p[3], (long long)i, cell_text(c, text), want);
            return false;
        }
    }
    return true;
}

static void drawing_case(const subject *of, int i)
{
    drawing d = {.of = of, .dtype = legal_dtype(of->op, i), .key = random_key()};
    view_wish wish = any_view;
    mirror dst = {0};
    nd_array *r = NULL;
    const char *name = nd_op_get(of->op)->name;
    wish.writable = true;
    if (!mirror_random(&dst, d.dtype, &wish)) {
        mirror_release(&dst);
        return;
    }
    make_parameters(&d, &dst);
    dense first = dense_new(d.dtype, dst.ndim, dst.shape);
    if (good(nd_empty(run.device, d.dtype, dst.ndim, dst.shape, &r), "empty") &&
        good(draw_into(&d, r), name)) {
        char *data = fetch(r);
        if (data)
            memcpy(first.data, data, (size_t)first.size * nd_dtype_size(d.dtype));
        free(data);
        if (check_drawing(&d, &first) && good(draw_into(&d, dst.array), "into") &&
            dense_is(&first, dst.array, "the same again, into a view") && !mirror_untouched(&dst))
            fail_case("%s wrote beside the destination", name);
    }
    for (int p = 0; p < PARAMS; p++)
        nd_release(d.arrays[p]);
    nd_release(r);
    dense_release(&first);
    mirror_release(&dst);
}

/* ---- log_gamma, which Dirichlet's vectors are made of ---- */

static void log_gamma_case(int i)
{
    enum { K = 3 };
    const double alphas[4][K] = {{1, 2, 3}, {0.1, 0.1, 0.1}, {0.01, 1, 50}, {1000, 500, 0.5}};
    const double *alpha = alphas[i % 4];
    const int64_t k = K, rows = random_below(40);
    const nd_layout layout = {.size = sizeof layout, .dtype = ND_F64, .ndim = 1, .shape = &k};
    const nd_random_key key = random_key();
    nd_array *a = NULL, *r = NULL;
    if (good(nd_from_host(&layout, alpha, run.device, &a), "from_host") &&
        good(nd_random_dirichlet(a, ND_F64, 1, &rows, &key, &r), "dirichlet")) {
        char *data = fetch(r);
        for (int64_t at = 0; data && at < rows * K && !failing(); at++) {
            long double sum = 0, own = 0;
            for (int64_t j = at / K * K; j < at / K * K + K; j++) {
                const place p = {counter_of(&key) + (unsigned __int128)j, key.key};
                const place q = {counter_of(&key) + (unsigned __int128)at, key.key};
                own = sampler_log_gamma(&q, alpha[at % K], 0);
                sum += expl(sampler_log_gamma(&p, alpha[j % K], 0) - own);
            }
            const double got = ((const double *)(const void *)data)[at];
            if (!(fabsl(got - 1 / sum) <= (1e-13L + 1e-15L * fabsl(own)) / sum + 1e-300L))
                fail_case("dirichlet: element %lld is %.17g, not %.17Lg", (long long)at, got,
                          1 / sum);
        }
        free(data);
    }
    nd_release(a);
    nd_release(r);
}

/* ---- the list ---- */

static const subject *current;

static void current_case(int i)
{
    drawing_case(current, i);
}

void conform_draws(void)
{
    for (size_t i = 0; i < sizeof subjects / sizeof *subjects; i++) {
        current = &subjects[i];
        run_cases(nd_op_get(current->op)->name, current_case);
    }
    run_cases("random_log_gamma", log_gamma_case);
}
