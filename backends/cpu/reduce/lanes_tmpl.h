/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The two folds of a family whose lanes are plain accumulators. The includer defines T, the types
 * FN(acc) of one accumulator and FN(lanes) of CPU_LANES, STATE and STATE_BYTES, and
 *   FN(get)(lanes, j), FN(put)(lanes, j, acc)
 *   FN(zero)()                 nothing folded yet
 *   FN(step)(acc, x)           one more element
 *   FN(both)(acc, acc)         two accumulators into one
 *   FN(settle)(acc)            after every four steps at most
 *   FN(flush)(acc, s, cap)     into the state at s
 *   FN(init), FN(merge)        as in cpu_reducer
 * and ANY_ORDER where neither the order of elements nor how many are folded between two flushes
 * changes a bit: flushes of floating extremes take longer than many rows do.
 * Every loop runs over neighbouring columns with nothing but scalars inside: any compiler that
 * vectorises at all vectorises these, and no width changes what is added to what. */

/* Four rows of n columns, from row 0 on apart elements from one to the next, into lanes. */
CPU_INLINE void FN(lanes4)(FN(lanes) *restrict a, const T *restrict x, int64_t n, int64_t apart)
{
    for (int64_t j = 0; j < n; j++) {
        FN(acc) v = FN(get)(a, j);
        v = FN(step)(FN(step)(v, x[j]), x[apart + j]);
        v = FN(step)(FN(step)(v, x[2 * apart + j]), x[3 * apart + j]);
        FN(put)(a, j, FN(settle)(v));
    }
}

CPU_INLINE void FN(lanes1)(FN(lanes) *restrict a, const T *restrict x, int64_t n)
{
    for (int64_t j = 0; j < n; j++)
        FN(put)(a, j, FN(settle)(FN(step)(FN(get)(a, j), x[j])));
}

CPU_INLINE void FN(halve)(FN(lanes) * a, int64_t h)
{
    for (int64_t j = 0; j < h; j++)
        FN(put)(a, j, FN(both)(FN(get)(a, j), FN(get)(a, j + h)));
}

/* A dense run as rows of LANES columns; a short one as one row of as many columns as it needs. Four
 * rows at a time are the fastest in a cache, but no order in which processors prefetch memory well.
 * The lanes add up the same elements in the same order either way. */
static void FN(inner)(const cpu_fold *f, const void *src, int64_t n)
{
    const T *x = src;
    FN(lanes) a;
    int64_t width = CPU_LANES;
    while (width / 2 >= n && width > 2)
        width /= 2;
    for (int64_t j = 0; j < width; j++)
        FN(put)(&a, j, FN(zero)());
    for (; n >= 4 * CPU_LANES && !f->far; n -= 4 * CPU_LANES, x += 4 * CPU_LANES)
        FN(lanes4)(&a, x, CPU_LANES, CPU_LANES);
    for (; n >= CPU_LANES; n -= CPU_LANES, x += CPU_LANES) {
        if (f->far)
            ahead(x, CPU_LANES * (int)sizeof *x);
        FN(lanes1)(&a, x, CPU_LANES);
    }
    FN(lanes1)(&a, x, n);
    if (width == CPU_LANES) {
        FN(halve)(&a, CPU_LANES / 2); /* constants make vectors of these */
        FN(halve)(&a, CPU_LANES / 4);
        width = CPU_LANES / 4;
    }
    for (int64_t h = width / 2; h >= f->comps; h /= 2)
        FN(halve)(&a, h);
    for (int64_t c = 0; c < f->comps; c++)
        FN(flush)(FN(get)(&a, c), (STATE *)f->state + c, f->cap);
}

static void FN(sweep)(const cpu_fold *f, const void *const *rows, int nrows, int64_t n)
{
    STATE *restrict s = f->state;
    int64_t cap = f->cap;
    int r = 0;
#ifdef ANY_ORDER
    for (; r + CPU_SWEEP_ROWS <= nrows; r += CPU_SWEEP_ROWS) {
        const T *x[CPU_SWEEP_ROWS];
        memcpy(x, rows + r, sizeof x);
        CPU_INDEPENDENT
        for (int64_t j = 0; j < n; j++) {
            FN(acc) v = FN(zero)();
            CPU_UNROLL_ROWS
            for (int i = 0; i < CPU_SWEEP_ROWS; i++)
                v = FN(step)(v, x[i][j]);
            FN(flush)(FN(settle)(v), s + j, cap);
        }
    }
#endif
    for (; r + 4 <= nrows; r += 4) {
        const T *restrict x0 = rows[r], *restrict x1 = rows[r + 1];
        const T *restrict x2 = rows[r + 2], *restrict x3 = rows[r + 3];
        CPU_INDEPENDENT
        for (int64_t j = 0; j < n; j++) {
            FN(acc) v = FN(step)(FN(step)(FN(zero)(), x0[j]), x1[j]);
            FN(flush)(FN(settle)(FN(step)(FN(step)(v, x2[j]), x3[j])), s + j, cap);
        }
    }
    for (; r < nrows; r++) {
        const T *restrict x = rows[r];
        CPU_INDEPENDENT
        for (int64_t j = 0; j < n; j++)
            FN(flush)(FN(settle)(FN(step)(FN(zero)(), x[j])), s + j, cap);
    }
}

static const cpu_reducer FN(reducer) = {
    .state_bytes = STATE_BYTES,
    .init = FN(init),
    .inner = FN(inner),
    .sweep = FN(sweep),
    .merge = FN(merge),
};
#undef STATE_BYTES
#undef ANY_ORDER
#undef OP
