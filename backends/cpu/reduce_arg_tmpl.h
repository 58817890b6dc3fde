/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * argmin and argmax. Elements are mapped to integer keys whose order is the wanted one (the largest
 * key wins, NaN has the largest, both zeros the same), so that one comparison decides. The includer
 * defines T, OP, IS_MAX, KEY (the key type, i32 or i64) and for floating T IS_FLOAT and BITS.
 * Planes: best key, position. */
static inline KEY FN(key)(T x)
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
static inline void FN(join)(int64_t *s, int64_t cap, int64_t key, int64_t pos)
{
    int better = (key > s[0]) | ((key == s[0]) & (pos < s[cap]));
    s[cap] = better ? pos : s[cap];
    s[0] = better ? key : s[0];
}

/* Where key is met first. Found by blocks, since a loop that may stop early does not vectorise. */
static inline int64_t FN(position)(const T *x, KEY key)
{
    for (int64_t i = 0;; i++)
        if (FN(key)(x[i]) == key)
            return i;
}

static void FN(inner)(const cpu_fold *f, const void *src, int64_t n)
{
    enum { BLOCK = 256 };
    const T *x = src;
    KEY best = FN(key)(x[0]);
    int64_t *s = f->state, at = 0;
    for (int64_t i = 0; i < n; i += BLOCK) {
        KEY most = FN(key)(x[i]);
        int64_t m = n - i < BLOCK ? n - i : BLOCK;
        for (int64_t j = 0; j < m; j++) {
            KEY k = FN(key)(x[i + j]);
            most = k > most ? k : most;
        }
        at = most > best ? i : at;
        best = most > best ? most : best;
    }
    if (best < s[0])
        return;
    at += FN(position)(x + at, best);
    FN(join)(s, f->cap, best, f->pos + at * f->weight);
}

static void FN(sweep)(const cpu_fold *f, const void *const *rows, int nrows, int64_t n)
{
    int64_t *restrict best = f->state, *restrict at = (int64_t *)f->state + f->cap;
    for (int r = 0; r < nrows; r++) {
        /* Rows come in order of position: a later one wins by a larger key alone. */
        const T *restrict x = rows[r];
        int64_t pos = f->pos + r * f->weight;
        CPU_INDEPENDENT
        for (int64_t j = 0; j < n; j++) {
            int64_t k = FN(key)(x[j]);
            int better = (k > best[j]) | (at[j] > pos);
            at[j] = better ? pos : at[j];
            best[j] = better ? k : best[j];
        }
    }
}

static void FN(init)(const cpu_fold *f, int64_t n)
{
    int64_t *s = f->state;
    for (int64_t j = 0; j < n; j++) {
        s[j] = INT64_MIN;
        s[f->cap + j] = INT64_MAX;
    }
}

static void FN(merge)(const cpu_fold *f, const cpu_fold *from, int64_t n)
{
    int64_t *s = f->state, *t = from->state;
    for (int64_t j = 0; j < n; j++)
        FN(join)(s + j, f->cap, t[j], t[from->cap + j]);
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
