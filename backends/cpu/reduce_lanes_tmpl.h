/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The two folds over lane accumulators. The includer defines T, LANES, FN(name), the type FN(acc), and
 *   FN(zero)(acc)              nothing folded yet
 *   FN(row)(acc, x)            LANES elements, one to each lane
 *   FN(halve)(acc, h)          lanes h..2h-1 into lanes 0..h-1
 *   FN(flush)(acc, f, j, n)    lanes 0..n-1 into the states j..
 *   FN(init), FN(merge)        as in cpu_reducer
 *   NEUTRAL                    an element that changes nothing, STATE_BYTES */
static inline void FN(part)(FN(acc) *a, const T *x, int64_t n)
{
    T padded[LANES];
    for (int l = 0; l < LANES; l++)
        padded[l] = NEUTRAL;
    for (int64_t l = 0; l < n; l++)
        padded[l] = x[l];
    FN(row)(a, padded);
}

static void FN(inner)(const cpu_fold *f, const void *src, int64_t n)
{
    const T *x = src;
    int64_t rest = n % LANES, rows = n / LANES;
    FN(acc) a;
    FN(zero)(&a);
    for (int64_t r = 0; r < rows; r++)
        FN(row)(&a, x + r * LANES);
    if (rest)
        FN(part)(&a, x + rows * LANES, rest);
    for (int h = LANES / 2; h >= f->comps; h /= 2)
        FN(halve)(&a, h);
    FN(flush)(&a, f, 0, (int)f->comps);
}

static void FN(sweep)(const cpu_fold *f, const void *const *rows, int nrows, int64_t n)
{
    int64_t j = 0;
    for (; j + LANES <= n; j += LANES) {
        FN(acc) a;
        FN(zero)(&a);
        for (int r = 0; r < nrows; r++)
            FN(row)(&a, (const T *)rows[r] + j);
        FN(flush)(&a, f, j, LANES);
    }
    if (j < n) {
        FN(acc) a;
        FN(zero)(&a);
        for (int r = 0; r < nrows; r++)
            FN(part)(&a, (const T *)rows[r] + j, n - j);
        FN(flush)(&a, f, j, (int)(n - j));
    }
}

static const cpu_reducer FN(reducer) = {
    .state_bytes = STATE_BYTES,
    .init = FN(init),
    .inner = FN(inner),
    .sweep = FN(sweep),
    .merge = FN(merge),
};
#undef NEUTRAL
#undef STATE_BYTES
#undef OP
