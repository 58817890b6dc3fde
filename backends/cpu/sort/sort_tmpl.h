/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Stable sorts of one kind of element. The includer sets E, ELEMENT(name), BEFORE(x, y) (x must
 * come before y), and KEY(x), the unsigned key, for elements that can be sorted by radix. */

static void ELEMENT(insertion)(E *a, int64_t n)
{
    for (int64_t i = 1; i < n; i++) {
        E x = a[i];
        int64_t j = i;
        for (; j > 0 && BEFORE(x, a[j - 1]); j--)
            a[j] = a[j - 1];
        a[j] = x;
    }
}

/* Which side gives the next element is chosen without a branch: for random data it cannot be
 * predicted. */
static void ELEMENT(merge)(const E *x, int64_t nx, const E *y, int64_t ny, E *out, int64_t n)
{
    const E *x_end = x + nx, *y_end = y + ny, *out_end = out + n;
    while (x < x_end && y < y_end && out < out_end) {
        int from_y = BEFORE(*y, *x);
        *out++ = *(from_y ? y : x);
        y += from_y;
        x += !from_y;
    }
    for (; x < x_end && out < out_end; x++)
        *out++ = *x;
    for (; y < y_end && out < out_end; y++)
        *out++ = *y;
}

#define RUN 16
typedef struct {
    E *from, *to;
    int64_t n, width;
} ELEMENT(merge_job);

static void ELEMENT(sort_runs)(void *ctx, int64_t begin, int64_t end)
{
    ELEMENT(merge_job) *w = ctx;
    for (int64_t r = begin * RUN; r < w->n && r < end * RUN; r += RUN)
        ELEMENT(insertion)(w->from + r, w->n - r < RUN ? w->n - r : RUN);
}

static void ELEMENT(merge_runs)(void *ctx, int64_t begin, int64_t end)
{
    ELEMENT(merge_job) *w = ctx;
    for (int64_t r = begin; r < end; r++) {
        int64_t at = r * 2 * w->width, left = w->n - at;
        int64_t nx = left < w->width ? left : w->width, ny = left - nx;
        ny = ny < w->width ? ny : w->width;
        ELEMENT(merge)(w->from + at, nx, w->from + at + nx, ny, w->to + at, nx + ny);
    }
}

static E *ELEMENT(merge_sort)(E *a, E *b, int64_t n)
{
    ELEMENT(merge_job) w = {a, b, n, RUN};
    cpu_parallel((n + RUN - 1) / RUN, 1024, ELEMENT(sort_runs), &w);
    for (; w.width < n; w.width *= 2) {
        int64_t pairs = (n + 2 * w.width - 1) / (2 * w.width);
        cpu_parallel(pairs, 1 + 8192 / w.width, ELEMENT(merge_runs), &w);
        E *to = w.to;
        w.to = w.from;
        w.from = to;
    }
    return w.from;
}
#undef RUN

static int ELEMENT(is_sorted)(const E *a, int64_t n)
{
    for (int64_t i = 1; i < n; i++)
        if (BEFORE(a[i], a[i - 1]))
            return 0;
    return 1;
}

#ifdef KEY
typedef struct {
    const E *from;
    E *to;
    int64_t n, grain, *counts;
    int shift;
    uint32_t mask;
} ELEMENT(radix_job);

static void ELEMENT(histogram)(void *ctx, int64_t begin, int64_t end)
{
    const ELEMENT(radix_job) w = *(const ELEMENT(radix_job) *)ctx;
    int64_t *count = w.counts + begin / w.grain * SORT_DIGITS;
    memset(count, 0, ((size_t)w.mask + 1) * sizeof *count);
    for (int64_t i = begin; i < end; i++)
        count[(uint32_t)(KEY(w.from[i]) >> w.shift) & w.mask]++;
}

static void ELEMENT(deal)(void *ctx, int64_t begin, int64_t end)
{
    const ELEMENT(radix_job) w =
        *(const ELEMENT(radix_job) *)ctx; /* not reloaded after each store */
    int64_t *restrict next = w.counts + begin / w.grain * SORT_DIGITS;
    const E *from = w.from;
    E *restrict to = w.to;
    for (int64_t i = begin; i < end; i++) {
        E x = from[i];
        to[next[(uint32_t)(KEY(x) >> w.shift) & w.mask]++] = x;
    }
}

/* Least significant digit first; each pass counts a digit by chunk, and deals the chunks out in
 * parallel. */
static E *ELEMENT(radix_sort)(E *a, E *b, int64_t n, int low, int bits, int64_t *counts)
{
    int widest = n < 4096 ? 8 : 11, passes = (bits + widest - 1) / widest;
    int width = passes ? (bits + passes - 1) / passes : 0;
    ELEMENT(radix_job) w = {a, b, n, sort_grain(n), counts, low, (1u << width) - 1};
    for (; passes > 0; passes--, w.shift += width) {
        cpu_parallel(n, w.grain, ELEMENT(histogram), &w);
        if (!sort_counts_to_starts(counts, (n + w.grain - 1) / w.grain, (int64_t)w.mask + 1, n))
            continue;
        cpu_parallel(n, w.grain, ELEMENT(deal), &w);
        E *to = w.to;
        w.to = (E *)w.from;
        w.from = to;
    }
    return (E *)w.from;
}
#undef KEY
#define RADIX_OR_MERGE(a, b, n, low, bits, counts)    \
    ((n) <= SORT_SMALL ? ELEMENT(merge_sort)(a, b, n) \
                       : ELEMENT(radix_sort)(a, b, n, low, bits, counts))
#else
#define RADIX_OR_MERGE(a, b, n, low, bits, counts) \
    ((void)(low), (void)(bits), (void)(counts), ELEMENT(merge_sort)(a, b, n))
#endif

void *ELEMENT(sort)(void *a, void *b, int64_t n, int low, int bits, int64_t *counts)
{
    if (ELEMENT(is_sorted)(a, n))
        return a;
    return RADIX_OR_MERGE((E *)a, (E *)b, n, low, bits, counts);
}
#undef RADIX_OR_MERGE
#undef E
#undef ELEMENT
#undef BEFORE
