/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Random numbers from Philox 4x32-10 by explicit key and counter: the same call gives the same bits
 * on every device (normal: to rounding of log, sin, cos). There is no hidden state. plugin.h,
 * ndp_random, has the formulas. Source: Salmon et al., SC11. */
#ifndef NDOCK_RANDOM_H
#define NDOCK_RANDOM_H
#include <ndock/base.h>

ND_BEGIN_DECLS

typedef struct {
    uint64_t key;        /* the seed: one stream of numbers per key */
    uint64_t counter[2]; /* position in the stream, low and high half; every call uses the blocks
                            from here on */
} nd_random_key;

/* Move the position past what an array of size elements of dtype used, so that calls can follow
 * each other. */
ND_API void nd_random_skip(nd_random_key *key, int64_t size, nd_dtype dtype);
/* One block of the generator, for tests and hosts: out = Philox4x32-10(counter, key). */
ND_API void nd_philox4x32(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);

/* New arrays (device NULL: current). uniform, normal: floating dtypes; integers: low <= x < high,
 * all integer dtypes (u64: bit patterns), low == high only as INT64_MIN..: ND_ERR_ARGUMENT. */
ND_API ND_MUST_USE nd_status nd_random_uniform(nd_device *device, nd_dtype dtype, int ndim,
                                               const int64_t *shape, const nd_random_key *key,
                                               double low, double high, nd_array **out);
ND_API ND_MUST_USE nd_status nd_random_normal(nd_device *device, nd_dtype dtype, int ndim,
                                              const int64_t *shape, const nd_random_key *key,
                                              double mean, double std, nd_array **out);
ND_API ND_MUST_USE nd_status nd_random_integers(nd_device *device, nd_dtype dtype, int ndim,
                                                const int64_t *shape, const nd_random_key *key,
                                                int64_t low, int64_t high, nd_array **out);
/* A random permutation of 0 ... n-1 (i64): the stable argsort of n random u64. */
ND_API ND_MUST_USE nd_status nd_random_permutation(nd_device *device, int64_t n,
                                                   const nd_random_key *key, nd_array **out);
/* The same into an existing view. */
ND_API ND_MUST_USE nd_status nd_random_uniform_into(const nd_random_key *key, double low,
                                                    double high, const nd_array *dst);
ND_API ND_MUST_USE nd_status nd_random_normal_into(const nd_random_key *key, double mean,
                                                   double std, const nd_array *dst);
ND_API ND_MUST_USE nd_status nd_random_integers_into(const nd_random_key *key, int64_t low,
                                                     int64_t high, const nd_array *dst);

ND_END_DECLS
#endif
