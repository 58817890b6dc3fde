/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Sorting, searching and sets. NaN sorts last (first when descending); complex by real part, then
 * imaginary. */
#ifndef NDOCK_SORTING_H
#define NDOCK_SORTING_H
#include <ndock/base.h>

ND_BEGIN_DECLS

typedef struct {
    uint32_t size;
    nd_dtype zero_dtype; /* 0 */
    nd_stream *stream;
    int32_t axis;       /* may be negative; NULL options: the last */
    int32_t descending; /* equal elements keep their order in both directions */
} nd_sort_opts;
ND_API ND_MUST_USE nd_status nd_sort(const nd_array *a, const nd_sort_opts *opts, nd_array **out);
ND_API ND_MUST_USE nd_status nd_sort_into(const nd_array *a, const nd_sort_opts *opts,
                                          const nd_array *dst);
/* i64 positions; always stable. */
ND_API ND_MUST_USE nd_status nd_argsort(const nd_array *a, const nd_sort_opts *opts,
                                        nd_array **out);
ND_API ND_MUST_USE nd_status nd_argsort_into(const nd_array *a, const nd_sort_opts *opts,
                                             const nd_array *dst);
/* The k largest (smallest: nonzero smallest) along axis, in order, and their i64 positions; of
 * equal ones the first. NaN counts as largest. indices may be NULL. */
ND_API ND_MUST_USE nd_status nd_topk(const nd_array *a, int64_t k, int axis, int smallest,
                                     nd_array **values, nd_array **indices);
/* Positions (i64, shape of values) at which values would be inserted into the ascending 1-d sorted;
 * right: after equal ones. sorter (or NULL): indices that sort it. */
ND_API ND_MUST_USE nd_status nd_searchsorted(const nd_array *sorted, const nd_array *values,
                                             int right, const nd_array *sorter, nd_array **out);

/* Distinct values of the flattened array, ascending, NaNs each distinct. Any of the outputs may be
 * NULL. indices: first position of each; inverse, of a's shape: where each element is in values;
 * counts. i64 each. Wait for one count. */
ND_API ND_MUST_USE nd_status nd_unique_all(const nd_array *a, nd_array **values, nd_array **indices,
                                           nd_array **inverse, nd_array **counts);
ND_API ND_MUST_USE nd_status nd_unique_counts(const nd_array *a, nd_array **values,
                                              nd_array **counts);
ND_API ND_MUST_USE nd_status nd_unique_inverse(const nd_array *a, nd_array **values,
                                               nd_array **inverse);
ND_API ND_MUST_USE nd_status nd_unique_values(const nd_array *a, nd_array **values);
/* bool, of a's shape: whether each element is in test (invert: is not). NaN is in nothing. */
ND_API ND_MUST_USE nd_status nd_isin(const nd_array *a, const nd_array *test, int invert,
                                     nd_array **out);

/* Along axis the kth element of the sorted order (kth may be negative) is in its place, none that
 * is larger before it, none that is smaller after it; argpartition: i64 positions that do so. The
 * order of the others is nobody's to rely on: devices that have no such operation sort. */
ND_API ND_MUST_USE nd_status nd_partition(const nd_array *a, int64_t kth, int axis, nd_array **out);
ND_API ND_MUST_USE nd_status nd_argpartition(const nd_array *a, int64_t kth, int axis,
                                             nd_array **out);
/* i64 positions along axis that sort by the last of n >= 1 keys, all of one shape; of equal ones by
 * the key before, and so on; then by position. */
ND_API ND_MUST_USE nd_status nd_lexsort(int n, const nd_array *const *keys, int axis,
                                        nd_array **out);

/* As nd_unique_all, of the slices along axis, in lexicographic order: values has fewer of them,
 * inverse and counts one dimension. Takes one stable sort for each element of a slice. */
ND_API ND_MUST_USE nd_status nd_unique_axis(const nd_array *a, int axis, nd_array **values,
                                            nd_array **indices, nd_array **inverse,
                                            nd_array **counts);
/* Sets, of the flattened arrays' distinct values, ascending, in the promoted dtype: those in both,
 * with the first position of each in a and in b (i64; indices may be NULL); in either; in a and not
 * in b; in one of them alone. Wait for counts. */
ND_API ND_MUST_USE nd_status nd_intersect1d(const nd_array *a, const nd_array *b, nd_array **values,
                                            nd_array **indices_a, nd_array **indices_b);
ND_API ND_MUST_USE nd_status nd_union1d(const nd_array *a, const nd_array *b, nd_array **out);
ND_API ND_MUST_USE nd_status nd_setdiff1d(const nd_array *a, const nd_array *b, nd_array **out);
ND_API ND_MUST_USE nd_status nd_setxor1d(const nd_array *a, const nd_array *b, nd_array **out);

ND_END_DECLS
#endif
