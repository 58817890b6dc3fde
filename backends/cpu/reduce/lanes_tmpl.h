/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The two folds of a family whose lanes are plain accumulators. The includer defines T, the types
 * FN(acc) of one accumulator and FN(lanes) of CPU_LANES, STATE and STATE_BYTES, and
 *   FN(get)(lanes, j), FN(put)(lanes, j, acc)
 *   FN(zero)()                 nothing folded yet
 *   FN(step)(acc, x)           one more element
 *   FN(both)(acc, acc)         two accumulators into one
 *   FN(settle)(acc)            after every four steps at most
 *   FN(flush)(acc, s, cap)     into the state at s
 *   FN(begin)(s, cap)          the state at s before anything is folded into it
 *   FN(merge)                  as in cpu_reducer
 * and RUN_OF_LANES(values, x, n, is_asked) where another function folds runs of two rows and more
 * into CPU_JOINED lanes, in the same order,
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

/* A dense run is folded as rows of CPU_LANES columns, a short one of CPU_FEW, whose sums are joined
 * sooner, a shorter one as one row of as many columns as it needs. Returns how many lanes the sums
 * were joined to. Four rows at a time are the fastest in a cache, but no order in which processors
 * prefetch memory well.
 * The lanes add up the same elements in the same order either way. */
CPU_INLINE int64_t FN(fold_lanes)(const cpu_fold *f, FN(lanes) *restrict a, const T *x, int64_t n)
{
    int64_t width = n < 2 * CPU_LANES ? CPU_FEW : CPU_LANES;
    while (width / 2 >= n && width > 2)
        width /= 2;
#ifdef RUN_OF_LANES
    if (width == CPU_LANES) {
        RUN_OF_LANES(a->v, x, n, f->far == CPU_FAR_ASKED);
        return CPU_JOINED;
    }
#endif
    for (int64_t j = 0; j < width; j++)
        FN(put)(a, j, FN(zero)());
    for (; width == CPU_FEW && n >= CPU_FEW; n -= CPU_FEW, x += CPU_FEW)
        FN(lanes1)(a, x, CPU_FEW);
    for (; n >= 4 * CPU_LANES && !f->far; n -= 4 * CPU_LANES, x += 4 * CPU_LANES)
        FN(lanes4)(a, x, CPU_LANES, CPU_LANES);
    for (; n >= CPU_LANES; n -= CPU_LANES, x += CPU_LANES) {
        if (f->far == CPU_FAR_ASKED)
            cpu_ask_ahead(x, CPU_LANES * (int)sizeof *x);
        FN(lanes1)(a, x, CPU_LANES);
    }
    FN(lanes1)(a, x, n);
    if (width == CPU_LANES) {
        FN(halve)(a, CPU_LANES / 2); /* constants make vectors of these */
        FN(halve)(a, CPU_FEW);
        width = CPU_FEW;
    }
    if (width == CPU_FEW) {
        FN(halve)(a, CPU_FEW / 2);
        FN(halve)(a, CPU_JOINED);
        width = CPU_JOINED;
    }
    return width;
}

#ifndef INNER
#define INNER FN(inner)
#endif
static void INNER(const cpu_fold *f, const void *src, int64_t n)
{
    FN(lanes) a;
    const int64_t width = FN(fold_lanes)(f, &a, src, n);
    for (int64_t h = width / 2; h >= f->comps; h /= 2)
        FN(halve)(&a, h);
    for (int64_t c = 0; c < f->comps; c++)
        FN(flush)(FN(get)(&a, c), (STATE *)f->state + c, f->cap);
}

/* Some rows' elements of column j into the state, which is a new one where this is the first sweep. */
CPU_INLINE void FN(into)(FN(acc) v, STATE *s, int64_t j, int64_t cap, int fresh)
{
    if (!fresh) {
        FN(flush)(FN(settle)(v), s + j, cap);
        return;
    }
    STATE state[2];
    FN(begin)(state, 1);
    FN(flush)(FN(settle)(v), state, 1);
    s[j] = state[0];
    if (STATE_BYTES > (int)sizeof(STATE))
        s[cap + j] = state[1];
}

/* The next rows of a sweep; how many there are of them is a constant where this is inlined. */
CPU_INLINE void FN(few_rows)(const void *const *rows, int nrows, STATE *restrict s, int64_t n,
                             int64_t cap, int fresh)
{
    const T *restrict x0 = rows[0], *restrict x1 = rows[nrows > 1 ? 1 : 0];
    const T *restrict x2 = rows[nrows > 2 ? 2 : 0], *restrict x3 = rows[nrows > 3 ? 3 : 0];
    CPU_INDEPENDENT
    for (int64_t j = 0; j < n; j++) {
        FN(acc) v = FN(step)(FN(zero)(), x0[j]);
        if (nrows > 1)
            v = FN(step)(v, x1[j]);
        if (nrows > 2)
            v = FN(step)(v, x2[j]);
        if (nrows > 3)
            v = FN(step)(v, x3[j]);
        FN(into)(v, s, j, cap, fresh);
    }
}

#if defined(ANY_ORDER) && !defined(MANY_ROWS)
#define MANY_ROWS FN(many_rows)
CPU_INLINE void FN(many_rows)(const void *const *rows, STATE *restrict s, int64_t n, int64_t cap,
                              int fresh)
{
    const T *x[CPU_SWEEP_ROWS];
    memcpy(x, rows, sizeof x);
    CPU_INDEPENDENT
    for (int64_t j = 0; j < n; j++) {
        FN(acc) v = FN(zero)();
        CPU_UNROLL_ROWS
        for (int i = 0; i < CPU_SWEEP_ROWS; i++)
            v = FN(step)(v, x[i][j]);
        FN(into)(v, s, j, cap, fresh);
    }
}
#endif

CPU_INLINE void FN(next_rows)(const void *const *rows, int nrows, STATE *restrict s, int64_t n,
                              int64_t cap, int fresh)
{
#ifdef ANY_ORDER
    if (nrows >= CPU_SWEEP_ROWS)
        MANY_ROWS(rows, s, n, cap, fresh);
    else
#endif
        if (nrows >= 4)
        FN(few_rows)(rows, 4, s, n, cap, fresh);
    else if (nrows == 3)
        FN(few_rows)(rows, 3, s, n, cap, fresh);
    else if (nrows == 2)
        FN(few_rows)(rows, 2, s, n, cap, fresh);
    else
        FN(few_rows)(rows, 1, s, n, cap, fresh);
}

static void FN(sweep)(const cpu_fold *f, const void *const *rows, int nrows, int64_t n)
{
#ifdef ANY_ORDER
    const int most = CPU_SWEEP_ROWS;
#else
    const int most = 4;
#endif
    int r = 0;
    if (f->fresh) {
        FN(next_rows)(rows, nrows, f->state, n, f->cap, 1);
        r = nrows >= most ? most : nrows >= 4 ? 4 : nrows;
    }
    while (r < nrows) {
        FN(next_rows)(rows + r, nrows - r, f->state, n, f->cap, 0);
        r += nrows - r >= most ? most : nrows - r >= 4 ? 4 : nrows - r;
    }
}

static void FN(init)(const cpu_fold *f, int64_t n)
{
    STATE *s = f->state;
    for (int64_t j = 0; j < n; j++)
        FN(begin)(s + j, f->cap);
}

static const cpu_reducer FN(reducer) = {
    .state_bytes = STATE_BYTES,
    .init = FN(init),
    .inner = FN(inner),
    .sweep = FN(sweep),
    .merge = FN(merge),
    .begins = 1,
};
#undef STATE_BYTES
#undef INNER
#undef MANY_ROWS
#undef ANY_ORDER
#undef OP
