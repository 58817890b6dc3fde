/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * argmin and argmax. Elements are mapped to integer keys whose order is the wanted one (the largest
 * key wins, NaN has the largest, both zeros the same), so that one comparison decides. The includer
 * defines T, IS_MAX, KEY (the key type, i32 or i64) and for floating T IS_FLOAT and BITS. Planes: best key, position. */
enum { FN(lanes) = 16 };

static inline KEY FN(key)(T x)
{
#ifdef IS_FLOAT
    const int sign = 8 * (int)sizeof(KEY) - 1;
    KEY u;
    memcpy(&u, &x, sizeof u);
    u ^= (u >> sign) & (KEY)(((BITS)1 << sign) - 1);
    u = x == 0 ? 0 : u;
    u = IS_MAX ? u : ~u;
    return x != x ? (KEY)(((BITS)1 << sign) - 1) : u;
#else
    return IS_MAX ? x : ~x;
#endif
}

/* Of equal keys the lower position wins. */
static inline void FN(join)(int64_t *s, int64_t cap, int64_t key, int64_t pos)
{
    int better = key > s[0] || (key == s[0] && pos < s[cap]);
    s[cap] = better ? pos : s[cap];
    s[0] = better ? key : s[0];
}

static void FN(inner)(const cpu_fold *f, const void *src, int64_t n)
{
    const T *x = src;
    KEY best = FN(key)(x[0]);
    for (int64_t i = 1; i < n; i++) {
        KEY k = FN(key)(x[i]);
        best = k > best ? k : best;
    }
    int64_t *s = f->state, i = 0;
    if (best < s[0])
        return;
    while (FN(key)(x[i]) != best)
        i++;
    FN(join)(s, f->cap, best, f->pos + i * f->weight);
}

static inline void FN(block)(const cpu_fold *f, const T *const *rows, int nrows, int64_t j, int n)
{
    KEY best[FN(lanes)], row[FN(lanes)];
    for (int l = 0; l < FN(lanes); l++) {
        best[l] = FN(key)(rows[0][l]);
        row[l] = 0;
    }
    for (int r = 1; r < nrows; r++)
        for (int l = 0; l < FN(lanes); l++) {
            KEY k = FN(key)(rows[r][l]);
            row[l] = k > best[l] ? (KEY)r : row[l];
            best[l] = k > best[l] ? k : best[l];
        }
    int64_t *s = (int64_t *)f->state + j;
    for (int l = 0; l < n; l++)
        FN(join)(s + l, f->cap, best[l], f->pos + row[l] * f->weight);
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

#define STATE_BYTES 16
#include "reduce_blocks_tmpl.h"
#undef IS_MAX
