/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Random numbers of the distributions of distribution.def, and samples, by the explicit keys of
 * random.h. There is no hidden state: the same call gives the same array. A call uses the blocks of
 * its key from the counter on; nd_random_skip_draw moves past them, so that the next call follows. What
 * tries and refuses (the distributions that use ELEMENTS blocks) has a block for each element, and
 * more of them 2^96 blocks further on: one call for n elements gives what two for its parts give.
 *
 * Bits: gamma, beta, chisquare, truncated_normal and all counts are the same on every device. The
 * others are formulas of nd_random_uniform's or nd_random_normal's numbers, to the rounding of the
 * device's log, tan, exp, pow and sqrt; f16 and bf16 are computed in f32.
 *
 * dtype: floating for densities, any integer for counts (which saturate), these or bool for
 * bernoulli. Errors: ARGUMENT for a parameter outside of its domain, DTYPE, SHAPE, DEVICE, MEMORY. */
#ifndef NDOCK_DISTRIBUTION_H
#define NDOCK_DISTRIBUTION_H
#include <ndock/op.h>
#include <ndock/random.h>

ND_BEGIN_DECLS

typedef int32_t nd_distribution;
enum {
    ND_DRAW_NONE = 0,
#define ND_DISTRIBUTION(name, params, kind, blocks, parameters, rules, doc) ND_DRAW_##name,
#include <ndock/distribution.def>
    ND_DRAW_END
};
/* What values a distribution has. */
enum { ND_DRAW_REAL = 1, ND_DRAW_COUNT = 2, ND_DRAW_TRUTH = 3 };

typedef struct {
    nd_distribution id;
    int32_t n_params, kind, blocks;
    const char *name, *parameters, *rules, *doc; /* as in distribution.def */
} nd_distribution_info;

/* NULL for an unknown id. Lives as long as the process. */
ND_API const nd_distribution_info *nd_distribution_get(nd_distribution id);
/* Move the position past what size elements of dtype drawn from the distribution used. */
ND_API void nd_random_skip_draw(nd_random_key *key, nd_distribution id, int64_t size,
                                nd_dtype dtype);

/* A new array (device NULL: current), of parameters that are scalars or arrays of that device, which
 * broadcast to the shape. Arrays are checked, for which the host waits. An error names the function of
 * the distribution, and as its argument the parameter's place in the list. */
ND_API ND_MUST_USE nd_status nd_random_draw(nd_distribution id, const nd_arg *params, int n,
                                            nd_device *device, nd_dtype dtype, int ndim,
                                            const int64_t *shape, const nd_random_key *key,
                                            nd_array **out);
/* The same into an existing view. */
ND_API ND_MUST_USE nd_status nd_random_draw_into(nd_distribution id, const nd_arg *params, int n,
                                                 const nd_random_key *key, const nd_array *dst);

/* Continuous distributions with scalar parameters; distribution.def has the densities. */
ND_API ND_MUST_USE nd_status nd_random_exponential(nd_device *device, nd_dtype dtype, int ndim,
                                                   const int64_t *shape, const nd_random_key *key,
                                                   double scale, nd_array **out);
ND_API ND_MUST_USE nd_status nd_random_cauchy(nd_device *device, nd_dtype dtype, int ndim,
                                              const int64_t *shape, const nd_random_key *key,
                                              double loc, double scale, nd_array **out);
ND_API ND_MUST_USE nd_status nd_random_laplace(nd_device *device, nd_dtype dtype, int ndim,
                                               const int64_t *shape, const nd_random_key *key,
                                               double loc, double scale, nd_array **out);
ND_API ND_MUST_USE nd_status nd_random_logistic(nd_device *device, nd_dtype dtype, int ndim,
                                                const int64_t *shape, const nd_random_key *key,
                                                double loc, double scale, nd_array **out);
ND_API ND_MUST_USE nd_status nd_random_gumbel(nd_device *device, nd_dtype dtype, int ndim,
                                              const int64_t *shape, const nd_random_key *key,
                                              double loc, double scale, nd_array **out);
ND_API ND_MUST_USE nd_status nd_random_rayleigh(nd_device *device, nd_dtype dtype, int ndim,
                                                const int64_t *shape, const nd_random_key *key,
                                                double scale, nd_array **out);
ND_API ND_MUST_USE nd_status nd_random_weibull(nd_device *device, nd_dtype dtype, int ndim,
                                               const int64_t *shape, const nd_random_key *key,
                                               double a, nd_array **out);
ND_API ND_MUST_USE nd_status nd_random_pareto(nd_device *device, nd_dtype dtype, int ndim,
                                              const int64_t *shape, const nd_random_key *key,
                                              double a, nd_array **out);
ND_API ND_MUST_USE nd_status nd_random_triangular(nd_device *device, nd_dtype dtype, int ndim,
                                                  const int64_t *shape, const nd_random_key *key,
                                                  double left, double mode, double right,
                                                  nd_array **out);
ND_API ND_MUST_USE nd_status nd_random_lognormal(nd_device *device, nd_dtype dtype, int ndim,
                                                 const int64_t *shape, const nd_random_key *key,
                                                 double mean, double sigma, nd_array **out);
ND_API ND_MUST_USE nd_status nd_random_gamma(nd_device *device, nd_dtype dtype, int ndim,
                                             const int64_t *shape, const nd_random_key *key,
                                             double alpha, double scale, nd_array **out);
ND_API ND_MUST_USE nd_status nd_random_beta(nd_device *device, nd_dtype dtype, int ndim,
                                            const int64_t *shape, const nd_random_key *key,
                                            double a, double b, nd_array **out);
ND_API ND_MUST_USE nd_status nd_random_chisquare(nd_device *device, nd_dtype dtype, int ndim,
                                                 const int64_t *shape, const nd_random_key *key,
                                                 double df, nd_array **out);
ND_API ND_MUST_USE nd_status nd_random_standard_t(nd_device *device, nd_dtype dtype, int ndim,
                                                  const int64_t *shape, const nd_random_key *key,
                                                  double df, nd_array **out);
ND_API ND_MUST_USE nd_status nd_random_truncated_normal(nd_device *device, nd_dtype dtype, int ndim,
                                                        const int64_t *shape,
                                                        const nd_random_key *key, double low,
                                                        double high, double loc, double scale,
                                                        nd_array **out);

/* Counts, and 0 or 1, with scalar parameters. */
ND_API ND_MUST_USE nd_status nd_random_bernoulli(nd_device *device, nd_dtype dtype, int ndim,
                                                 const int64_t *shape, const nd_random_key *key,
                                                 double p, nd_array **out);
ND_API ND_MUST_USE nd_status nd_random_geometric(nd_device *device, nd_dtype dtype, int ndim,
                                                 const int64_t *shape, const nd_random_key *key,
                                                 double p, nd_array **out);
ND_API ND_MUST_USE nd_status nd_random_poisson(nd_device *device, nd_dtype dtype, int ndim,
                                               const int64_t *shape, const nd_random_key *key,
                                               double lam, nd_array **out);
ND_API ND_MUST_USE nd_status nd_random_binomial(nd_device *device, nd_dtype dtype, int ndim,
                                                const int64_t *shape, const nd_random_key *key,
                                                double n, double p, nd_array **out);
ND_API ND_MUST_USE nd_status nd_random_negative_binomial(nd_device *device, nd_dtype dtype,
                                                         int ndim, const int64_t *shape,
                                                         const nd_random_key *key, double n,
                                                         double p, nd_array **out);
ND_API ND_MUST_USE nd_status nd_random_hypergeometric(nd_device *device, nd_dtype dtype, int ndim,
                                                      const int64_t *shape,
                                                      const nd_random_key *key, double ngood,
                                                      double nbad, double nsample, nd_array **out);

/* ---- samples ---- */
/* Positions 0 ... n-1, i64. p (or NULL: all alike): n probabilities on the device; they are not
 * negative and add up to 1 within 1.5e-8 (3.5e-4 of f32, and 0.04 of shorter dtypes), for which the
 * host waits. replace nonzero: each draw is of all; else no position comes twice, in the order in
 * which they were drawn. Blocks: as nd_random_integers of i64 with replacement, as uniform of f64
 * with replacement and p, else as n elements of u64. The same on every device, but for p without
 * replacement, where two positions may be exchanged whose keys -log(u)/p differ by their rounding. */
ND_API ND_MUST_USE nd_status nd_random_choice(nd_device *device, int64_t n, const nd_array *p,
                                              int replace, int ndim, const int64_t *shape,
                                              const nd_random_key *key, nd_array **out);
/* i64 positions along the last axis of weights, with probabilities in their proportion; the axes
 * before it broadcast to the shape. Weights are finite, not negative, and not all zero, for which
 * the host waits. Blocks: as uniform of f64. Inversion in sums of integers, weights in units of
 * 2^-61 of their largest times their number: the same on every device. */
ND_API ND_MUST_USE nd_status nd_random_categorical(const nd_array *weights, int ndim,
                                                   const int64_t *shape, const nd_random_key *key,
                                                   nd_array **out);
/* How often each of p's k last-axis categories comes in n draws, i64 of shape + (k), one binomial a
 * category; p as the weights of nd_random_categorical. Blocks: one an element of the result. */
ND_API ND_MUST_USE nd_status nd_random_multinomial(int64_t n, const nd_array *p, int ndim,
                                                   const int64_t *shape, const nd_random_key *key,
                                                   nd_array **out);
/* Vectors of probabilities that add up to 1 along the last axis, of shape + (k), with density
 * of the product of x_i^(alpha_i - 1); alpha's axes before the last broadcast to the shape. dtype:
 * floating. Logarithms of gamma variates, softmax. Blocks: one an element of the result. */
ND_API ND_MUST_USE nd_status nd_random_dirichlet(const nd_array *alpha, nd_dtype dtype, int ndim,
                                                 const int64_t *shape, const nd_random_key *key,
                                                 nd_array **out);
/* mean + L z, of shape + (d), of cov = L L^T, whose lower triangle is read; mean (d), cov (d, d).
 * dtype: f32 or f64. ND_ERR_LINALG for a cov that is not positive definite. Blocks: as
 * nd_random_normal's of the result. */
ND_API ND_MUST_USE nd_status nd_random_multivariate_normal(const nd_array *mean,
                                                           const nd_array *cov, nd_dtype dtype,
                                                           int ndim, const int64_t *shape,
                                                           const nd_random_key *key,
                                                           nd_array **out);
/* A copy of a whose parts along the axis are in the order of nd_random_permutation. Blocks: its. */
ND_API ND_MUST_USE nd_status nd_random_shuffle(const nd_array *a, int axis,
                                               const nd_random_key *key, nd_array **out);

ND_END_DECLS
#endif
