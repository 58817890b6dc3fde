/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * argmin and argmax. Elements are mapped to integer keys whose order is the wanted one (the largest
 * key wins, NaN has the largest, both zeros the same), so that one comparison decides. The includer
 * defines T, OP, IS_MAX, KEY (the key type, i32 or i64) and for floating T IS_FLOAT and BITS.
 * Planes: best key (a KEY), position. */
CPU_INLINE KEY FN(key)(T x)
{
#ifdef IS_FLOAT
    /* Masks, since with branches the compiler would thread the cases apart and not vectorise. */
    const int sign = 8 * (int)sizeof(KEY) - 1;
    const KEY largest = (KEY)(((BITS)1 << sign) - 1);
    KEY u, is_nan = -(KEY)(x != x), is_nonzero = -(KEY)(x != 0);
    memcpy(&u, &x, sizeof u);
    u = (u ^ ((u >> sign) & largest)) & is_nonzero;
    u = IS_MAX ? u : ~u;
    return (u & ~is_nan) | (largest & is_nan);
#else
    return IS_MAX ? x : ~x;
#endif
}

/* Of equal keys the lower position wins. */
CPU_INLINE void FN(join)(KEY *best, int64_t *at, KEY key, int64_t pos)
{
    int better = (key > *best) | ((key == *best) & (pos < *at));
    *at = better ? pos : *at;
    *best = better ? key : *best;
}

/* The best element of a run, or NaN where there is one. */
CPU_INLINE T FN(best_of)(const T *x, int64_t n, int far)
{
    T one = x[0];
    int64_t i = 0;
#ifdef IS_FLOAT
    BITS nan;
    if (n >= BEST_STEP) {
        one = BEST(x, n, far, &nan);
        return nan ? (T)NAN : one;
    }
#endif
    (void)far;
    for (; i < n; i++)
        one = FN(key)(x[i]) > FN(key)(one) ? x[i] : one;
    return one;
}

/* Where an element with the key of `one` is met first; it is there. Whole steps first, since a loop
 * that may stop early does not vectorise. */
#ifdef IS_FLOAT
typedef T FN(elements) __attribute__((vector_size(32), aligned(4), may_alias));
typedef KEY FN(places) __attribute__((vector_size(32)));
CPU_INLINE int64_t FN(steps_before)(const T *x, int64_t n, T one)
{
    enum { LANES = 32 / (int)sizeof(T), STEP = 4 * LANES };
    int64_t i = 0;
#ifdef __AVX2__
    __m256i all;
#else
    int64_t parts[4];
#endif
    for (; i + STEP <= n; i += STEP) {
        FN(places) met = *(const FN(elements) *)(x + i) == one;
        for (int v = LANES; v < STEP; v += LANES)
            met |= *(const FN(elements) *)(x + i + v) == one;
#ifdef __AVX2__
        memcpy(&all, &met, sizeof all);
        if (!_mm256_testz_si256(all, all))
            break;
#else
        memcpy(parts, &met, sizeof parts);
        if (parts[0] | parts[1] | parts[2] | parts[3])
            break;
#endif
    }
    return i;
}
#else
CPU_INLINE int64_t FN(steps_before)(const T *x, int64_t n, T one)
{
    enum { STEP = 32 };
    int64_t i = 0;
    for (; i + STEP <= n; i += STEP) {
        KEY met = 0;
        for (int64_t j = 0; j < STEP; j++)
            met |= x[i + j] == one;
        if (met)
            break;
    }
    return i;
}
#endif
CPU_INLINE int64_t FN(position)(const T *x, int64_t n, T one)
{
    const KEY key = FN(key)(one);
    int64_t i = key == FN(key)(x[0]) ? 0 : FN(steps_before)(x, n, one);
#ifdef IS_FLOAT
    if (one == one) { /* NaN is equal to none, and both zeros are equal, as keys are */
        while (x[i] != one)
            i++;
        return i;
    }
    i = 0;
#endif
    while (FN(key)(x[i]) != key)
        i++;
    return i;
}

/* The best key of few elements, and where it is first: both loops become vectors, which is less than to
 * stop early. */
CPU_INLINE KEY FN(few)(const T *x, int64_t n, int64_t *where)
{
    KEY best = FN(key)(x[0]), at = (KEY)n;
    for (int64_t i = 1; i < n; i++) {
        const KEY k = FN(key)(x[i]);
        best = k > best ? k : best;
    }
    for (KEY i = 0; i < (KEY)n; i++) {
        const KEY here = FN(key)(x[i]) == best ? i : (KEY)n;
        at = here < at ? here : at;
    }
    *where = at;
    return best;
}

static void FN(inner)(const cpu_fold *f, const void *src, int64_t n)
{
    enum { BLOCK = 8192 / (int)sizeof(T) };
    const T *x = src;
    T one = x[0];
    KEY *best = f->state;
    int64_t *at = (int64_t *)f->state + f->cap, where = 0;
    if (n < 2 * CPU_LANES) {
        const KEY key = FN(few)(x, n, &where);
        FN(join)(best, at, key, f->pos + where * f->weight);
        return;
    }
    for (int64_t i = 0; i < n; i += BLOCK) {
        const T other = FN(best_of)(x + i, n - i < BLOCK ? n - i : BLOCK, f->far);
        if (i == 0 || FN(key)(other) > FN(key)(one)) {
            where = i;
            one = other;
        }
    }
    if (FN(key)(one) < *best)
        return;
    where += FN(position)(x + where, n - where, one);
    FN(join)(best, at, FN(key)(one), f->pos + where * f->weight);
}

/* The largest keys of a block of columns; only where they beat the states are rows looked at. Rows
 * come in order of position, so a later one wins by a larger key alone. */
CPU_INLINE void FN(block)(const cpu_fold *f, const void *const *rows, int nrows, int64_t j, int n)
{
    KEY most[CPU_LANES], *best = (KEY *)f->state + j, improved = 0;
    int64_t *at = (int64_t *)f->state + f->cap + j;
    for (int l = 0; l < n; l++)
        most[l] = FN(key)(((const T *)rows[0])[j + l]);
    for (int r = 1; r < nrows; r++) {
        const T *x = (const T *)rows[r] + j;
        for (int l = 0; l < n; l++) {
            KEY k = FN(key)(x[l]);
            most[l] = k > most[l] ? k : most[l];
        }
    }
    for (int l = 0; l < n; l++)
        improved |= most[l] > best[l];
    for (int l = 0; l < n && improved; l++) {
        int r = 0;
        if (most[l] <= best[l])
            continue;
        while (FN(key)(((const T *)rows[r])[j + l]) != most[l])
            r++;
        best[l] = most[l];
        at[l] = f->pos + r * f->weight;
    }
}

static void FN(sweep)(const cpu_fold *f, const void *const *rows, int nrows, int64_t n)
{
    int64_t j = 0;
    for (; j < n && f->done == 0; j++) {
        ((KEY *)f->state)[j] = FN(key)(((const T *)rows[0])[j]);
        ((int64_t *)f->state)[f->cap + j] = f->pos;
    }
    for (j = 0; j + CPU_LANES <= n; j += CPU_LANES)
        FN(block)(f, rows, nrows, j, CPU_LANES);
    if (j < n)
        FN(block)(f, rows, nrows, j, (int)(n - j));
}

static void FN(init)(const cpu_fold *f, int64_t n)
{
    for (int64_t j = 0; j < n; j++) {
        ((KEY *)f->state)[j] = (KEY)((uint64_t)1 << (8 * sizeof(KEY) - 1));
        ((int64_t *)f->state)[f->cap + j] = INT64_MAX;
    }
}

static void FN(merge)(const cpu_fold *f, const cpu_fold *from, int64_t n)
{
    KEY *s = f->state, *t = from->state;
    int64_t *at = (int64_t *)f->state + f->cap, *other = (int64_t *)from->state + from->cap;
    for (int64_t j = 0; j < n; j++)
        FN(join)(s + j, at + j, t[j], other[j]);
}

static const cpu_reducer FN(reducer) = {
    .state_bytes = 16,
    .init = FN(init),
    .inner = FN(inner),
    .sweep = FN(sweep),
    .merge = FN(merge),
};
#undef OP
#undef IS_MAX
