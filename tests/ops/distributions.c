/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Every distribution against its distribution function, in tables that tests/data/random_cdf.py
 * made: Kolmogorov's distance at the tables' edges, and chi-square of their cells. Keys and neighbours
 * are independent, calls follow each other. RANDOM_DRAWS says how many numbers (10^5), NDOCK_DEVICE
 * which device. Keys are fixed, so what passes once passes always. */
#include <math.h>
#include "tests/ops/values.h"

typedef struct {
    double x, below; /* an edge, and the probability of what is below it */
} edge;

typedef struct {
    nd_distribution id;
    const char *label;
    double param[4];
    int n_params, n;
    const edge *edges;
} table;

#define UNPACK(...) __VA_ARGS__
#define CDF(name, params, n_params, ...)                 \
    {ND_DRAW_##name,                                     \
     #name #params,                                      \
     {UNPACK params},                                    \
     n_params,                                           \
     sizeof((const edge[]){__VA_ARGS__}) / sizeof(edge), \
     (const edge[]){__VA_ARGS__}},
static const table tables[] = {
#include "tests/data/random_cdf.inc"
};
enum { TABLES = sizeof tables / sizeof tables[0], MOST_CELLS = 256 };

static int64_t draws = 100000;

static nd_status draw(const table *t, nd_dtype dtype, int64_t n, const nd_random_key *key,
                      nd_array **out)
{
    nd_arg params[4];
    for (int i = 0; i < t->n_params; i++)
        params[i] = nd_scalar_arg(nd_float(t->param[i]));
    return nd_random_draw(t->id, params, t->n_params, NULL, dtype, 1, &n, key, out);
}

/* The values as f64, to be freed; the program ends where there are none. */
static double *values(const table *t, nd_dtype dtype, int64_t n, const nd_random_key *key)
{
    nd_array *a = NULL, *wide = NULL;
    double *v = malloc((size_t)n * sizeof *v);
    if (!v || draw(t, dtype, n, key, &a) != ND_OK || nd_astype(a, ND_F64, &wide) != ND_OK ||
        nd_to_host(wide, v, (size_t)n * sizeof *v) != ND_OK)
        bail(nd_last_error()->message);
    nd_release(a);
    nd_release(wide);
    return v;
}

/* ---- the distribution function ---- */

/* How many edges are not above x. */
static int cell_of(const table *t, double x)
{
    int low = 0, high = t->n;
    while (low < high) {
        const int middle = (low + high) / 2;
        if (t->edges[middle].x <= x)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Chi-square of m degrees as a normal deviate: Wilson and Hilferty, PNAS 17 (1931). */
static double deviate(double chi, int m)
{
    const double v = 2.0 / (9.0 * m);
    return (cbrt(chi / m) - (1 - v)) / sqrt(v);
}

static void fit(const table *t, nd_dtype dtype)
{
    const nd_random_key key = {.key = 20240607 + (uint64_t)dtype, .counter = {123, 7}};
    double *v = values(t, dtype, draws, &key), chi = 0, distance = 0, n = (double)draws;
    int64_t count[MOST_CELLS] = {0}, sum = 0, bad = 0;
    int cells = 0;
    for (int64_t i = 0; i < draws; i++) {
        bad += !isfinite(v[i]);
        count[cell_of(t, v[i])]++;
    }
    for (int c = 0; c <= t->n; c++) {
        const double low = c ? t->edges[c - 1].below : 0, high = c < t->n ? t->edges[c].below : 1;
        const double want = n * (high - low);
        sum += count[c];
        distance = fmax(distance, fabs((double)sum / n - high));
        if (want >= 5) {
            chi += ((double)count[c] - want) * ((double)count[c] - want) / want;
            cells++;
        }
    }
    free(v);
    /* Kolmogorov's distance exceeds 2.2/sqrt(n) once in 8000 times. */
    const double d = distance * sqrt(n), z = cells > 1 ? deviate(chi, cells - 1) : 0;
    if (!ok(bad == 0 && d < 2.2 && z < 4, "%s of %s is distributed so", t->label,
            nd_dtype_name(dtype)))
        diag("%lld not finite, distance %.3g/sqrt(n), chi-square of %d cells at %.2f deviations",
             (long long)bad, d, cells, z);
}

static void fits(void)
{
    for (int i = 0; i < TABLES; i++) {
        const int real = nd_distribution_get(tables[i].id)->kind == ND_DRAW_REAL;
        fit(&tables[i], real ? ND_F64 : ND_I64);
        fit(&tables[i], real ? ND_F32 : ND_I32);
    }
}

/* ---- independence ---- */

/* Correlation of "below the middle edge", in its deviations under independence. */
static double correlation(const table *t, const double *a, const double *b, int64_t n)
{
    const edge *e = &t->edges[t->n / 2];
    const double p = e->below;
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += ((a[i] < e->x) - p) * ((b[i] < e->x) - p);
    return sum / (p * (1 - p)) / sqrt((double)n);
}

static void independence(void)
{
    const nd_random_key one = {.key = 41}, other = {.key = 42}, high = {.key = 41 + (1ull << 32)};
    for (int i = 0; i < TABLES; i++) {
        const table *t = &tables[i];
        const nd_dtype dtype = nd_distribution_get(t->id)->kind == ND_DRAW_REAL ? ND_F64 : ND_I64;
        double *a = values(t, dtype, draws, &one), *b = values(t, dtype, draws, &other),
               *c = values(t, dtype, draws, &high);
        const double keys = correlation(t, a, b, draws), far = correlation(t, a, c, draws),
                     next = correlation(t, a, a + 1, draws - 1),
                     pair = correlation(t, a, a + 2, draws - 2);
        if (!ok(fabs(keys) < 4.2 && fabs(far) < 4.2 && fabs(next) < 4.2 && fabs(pair) < 4.2,
                "%s: keys and neighbours are independent", t->label))
            diag("correlations in deviations: %.2f and %.2f of keys, %.2f and %.2f of neighbours",
                 keys, far, next, pair);
        free(a);
        free(b);
        free(c);
    }
}

/* ---- positions ---- */

/* What two calls give that follow each other is what one call gives. */
static void positions(void)
{
    enum { WHOLE = 1000, FIRST = 304 }; /* of whole blocks */
    const nd_random_key begin = {.key = 3, .counter = {UINT64_MAX - 100, 5}};
    for (int i = 0; i < TABLES; i++) {
        const table *t = &tables[i];
        const nd_dtype dtype = nd_distribution_get(t->id)->kind == ND_DRAW_REAL ? ND_F32 : ND_I64;
        nd_random_key next = begin;
        if (t->id == ND_DRAW_standard_t || t->id == ND_DRAW_negative_binomial)
            continue; /* two ranges of blocks, one after the other */
        nd_random_skip_draw(&next, t->id, FIRST, dtype);
        double *all = values(t, dtype, WHOLE, &begin), *a = values(t, dtype, FIRST, &begin),
               *b = values(t, dtype, WHOLE - FIRST, &next);
        ok(memcmp(all, a, FIRST * sizeof *a) == 0 &&
               memcmp(all + FIRST, b, (WHOLE - FIRST) * sizeof *b) == 0,
           "%s: two calls are one", t->label);
        free(all);
        free(a);
        free(b);
    }
}

/* ---- refusals ---- */

static void refused(nd_distribution id, nd_dtype dtype, const double *param, nd_status status,
                    const char *text)
{
    const nd_random_key key = {.key = 1};
    const table t = {.id = id,
                     .n_params = nd_distribution_get(id)->n_params,
                     .param = {param[0], param[1], param[2], param[3]}};
    nd_array *r = NULL;
    is_int(draw(&t, dtype, 3, &key, &r), status, text);
    has_text(nd_last_error()->message, text, "the message says why");
    ok(r == NULL, "and there is no result");
}

static void refusals(void)
{
    static const struct {
        nd_distribution id;
        double param[4];
        const char *text;
    } rows[] = {{ND_DRAW_exponential, {-1}, "scale is -1; it must be finite and not negative"},
                {ND_DRAW_exponential, {NAN}, "scale is nan"},
                {ND_DRAW_gamma, {-0.5, 1}, "shape is -0.5"},
                {ND_DRAW_gamma, {1, INFINITY}, "scale is inf"},
                {ND_DRAW_beta, {0, 1}, "a is 0; it must be finite and above 0"},
                {ND_DRAW_poisson, {-1}, "lam is -1; it must be between 0 and 2^53"},
                {ND_DRAW_poisson, {1e17}, "lam is 1e+17"},
                {ND_DRAW_binomial, {-1, 0.5}, "n is -1; it must be an integer from 0 to 2^53"},
                {ND_DRAW_binomial, {2.5, 0.5}, "n is 2.5"},
                {ND_DRAW_binomial, {2, 1.5}, "p is 1.5; it must be a probability"},
                {ND_DRAW_bernoulli, {-0.25}, "p is -0.25"},
                {ND_DRAW_geometric, {0}, "p is 0; it must be a probability above 0"},
                {ND_DRAW_hypergeometric, {3, 4, 8}, "nsample <= ngood + nbad"},
                {ND_DRAW_triangular, {0, 3, 2}, "left <= mode <= right"},
                {ND_DRAW_truncated_normal, {1, 0, 0, 1}, "low is above high"},
                {ND_DRAW_truncated_normal, {0, 1, 0, 0}, "scale is 0"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const int real = nd_distribution_get(rows[i].id)->kind == ND_DRAW_REAL;
        refused(rows[i].id, real ? ND_F32 : ND_I64, rows[i].param, ND_ERR_ARGUMENT, rows[i].text);
    }
    refused(ND_DRAW_poisson, ND_F32, (const double[4]){1}, ND_ERR_DTYPE,
            "ask for an integer dtype");
    refused(ND_DRAW_gamma, ND_I32, (const double[4]){1, 1}, ND_ERR_DTYPE,
            "ask for a floating dtype");
}

/* ---- parameters of arrays, views, sizes ---- */

static void parameters(void)
{
    const double lam[3] = {0, 5, 1e6};
    const int64_t shape[2] = {4, 3}, none[2] = {0, 3};
    const nd_random_key key = {.key = 11};
    nd_array *p = row_of(ND_F32, 3, lam), *r = NULL, *one = NULL, *part = NULL;
    double got[12], alone[12];
    nd_arg arg = nd_array_arg(p);
    ok(nd_random_draw(ND_DRAW_poisson, &arg, 1, NULL, ND_I64, 2, shape, &key, &r) == ND_OK,
       "a mean for each column");
    nd_array *wide = NULL;
    ok(nd_astype(r, ND_F64, &wide) == ND_OK && nd_to_host(wide, got, sizeof got) == ND_OK, "read");
    nd_release(wide);
    for (int c = 0; c < 3; c++) {
        nd_array *same = NULL;
        ok(nd_random_poisson(NULL, ND_F64, 2, shape, &key, 1, &same) == ND_ERR_DTYPE, "no floats");
        ok(nd_random_poisson(NULL, ND_I64, 2, shape, &key, lam[c], &same) == ND_OK &&
               nd_astype(same, ND_F64, &wide) == ND_OK &&
               nd_to_host(wide, alone, sizeof alone) == ND_OK,
           "the same mean for all");
        int equal = 1;
        for (int i = c; i < 12; i += 3)
            equal = equal && got[i] == alone[i];
        ok(equal, "column %d is as with that mean for all", c);
        nd_release(same);
        nd_release(wide);
    }
    ok(nd_random_draw(ND_DRAW_poisson, &arg, 1, NULL, ND_I64, 2, none, &key, &one) == ND_OK &&
           nd_size(one) == 0,
       "no rows");
    nd_release(one);
    ok(nd_random_gamma(NULL, ND_F32, 0, NULL, &key, 2, 1, &one) == ND_OK && nd_size(one) == 1,
       "no axes");
    nd_release(one);
    arg = nd_array_arg(r);
    is_int(nd_random_draw(ND_DRAW_poisson, &arg, 1, NULL, ND_I64, 1, shape, &key, &part),
           ND_ERR_SHAPE, "parameters of a larger shape");
    const double bad[3] = {1, -1, 2};
    nd_array *negative = row_of(ND_F64, 3, bad);
    arg = nd_array_arg(negative);
    is_int(nd_random_draw(ND_DRAW_poisson, &arg, 1, NULL, ND_I64, 2, shape, &key, &part),
           ND_ERR_ARGUMENT, "one element below 0");
    nd_release(negative);
    nd_release(p);
    nd_release(r);
}

int main(int argc, char **argv)
{
    static const tap_case cases[] = {{"fits", fits},
                                     {"independence", independence},
                                     {"positions", positions},
                                     {"refusals", refusals},
                                     {"parameters", parameters}};
    const char *text = getenv("RANDOM_DRAWS"), *device = getenv("NDOCK_DEVICE");
    nd_device *d = NULL;
    if (text)
        draws = strtoll(text, NULL, 10);
    if (device && (nd_device_get(device, &d) != ND_OK || nd_device_set_current(d) != ND_OK))
        bail(nd_last_error()->message);
    return tap_main(argc, argv, cases, sizeof cases / sizeof cases[0]);
}
