/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Counts of integers of one dtype. The includer sets T, the values' type in memory, VALUE(x), the
 * integer that x is, and FN(name). A negative one is beyond every table as an unsigned one is. */

static void FN(count)(const void *values, int64_t m, uint64_t n, int64_t *to)
{
    const T *x = values;
    for (int64_t i = 0; i < m; i++) {
        const uint64_t v = (uint64_t)VALUE(x[i]);
        if (v < n)
            to[v]++;
    }
}

/* Neighbours are counted in tables of their own, so that runs of one value do not wait for each
 * other; the first of COUNT_TABLES tables is `to`, the others follow each other in `others`. */
static void FN(count_apart)(const void *values, int64_t m, uint64_t n, int64_t *to, int64_t *others)
{
    const T *x = values;
    int64_t i = 0, *const table[COUNT_TABLES] = {to, others, others + n, others + 2 * n};
    for (; i + COUNT_TABLES <= m; i += COUNT_TABLES)
        for (int k = 0; k < COUNT_TABLES; k++) {
            const uint64_t v = (uint64_t)VALUE(x[i + k]);
            if (v < n)
                table[k][v]++;
        }
    FN(count)(x + i, m - i, n, to);
}

/* In the order of the values, so that sums have the same bits whoever adds. */
static void FN(add)(const void *values, const double *weights, int64_t m, uint64_t n, double *to)
{
    const T *x = values;
    for (int64_t i = 0; i < m; i++) {
        const uint64_t v = (uint64_t)VALUE(x[i]);
        if (v < n)
            to[v] += weights[i];
    }
}
#undef T
#undef VALUE
#undef FN
