/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Quicksort of one kind of key. The includer sets K, its type, K_MAX, the greatest one, V, a vector
 * of QUICK(LANES) of them, and QUICK(name), and has QUICK(leaf)(keys, n), which sorts up to
 * QUICK(LEAF) keys, QUICK(few)(keys), which sorts QUICK(FEW) keys, QUICK(read)(from), and
 * QUICK(deal)(x, valid, pivot, &left, &right): of the lanes of x that are valid the keys below the
 * pivot to `left` on, the others to before `right`. Between these there is room for as many keys as
 * are yet to be dealt out, so what a store leaves beyond its own is written over later, or is the
 * same. */
enum { QUICK(GROUP) = QUICK(LEAF) / 2, QUICK(VECTORS) = QUICK(GROUP) / QUICK(LANES) };

#define DEAL(x, valid) QUICK(deal)(x, valid, pivot, &left, &right)

/* Keys below the pivot to the front, the others behind them; how many are below. More than a leaf
 * of keys. A group of vectors at either end is set aside, so that the keys of the next group, from
 * the end with less room, fit wherever they belong. */
static int64_t QUICK(partition)(K *keys, int64_t n, K pivot)
{
    const unsigned all = (unsigned)((UINT64_C(1) << QUICK(LANES)) - 1);
    const int rest = (int)(n % QUICK(GROUP));
    K *left = keys, *right = keys + n, *from = keys + rest, *end = right - QUICK(GROUP);
    K some[QUICK(GROUP)];
    V first[QUICK(VECTORS)], last[QUICK(VECTORS)], x[QUICK(VECTORS)];
    memcpy(some, keys, (size_t)rest * sizeof *some);
    for (int i = 0; i < QUICK(VECTORS); i++) {
        first[i] = QUICK(read)(from + i * QUICK(LANES));
        last[i] = QUICK(read)(end + i * QUICK(LANES));
    }
    for (from += QUICK(GROUP); from < end;) {
        const int64_t back =
            (right - end < from - left) * QUICK(GROUP); /* no branch: it is random */
        const K *next = back ? end - QUICK(GROUP) : from;
        end -= back;
        from += QUICK(GROUP) - back;
#pragma GCC unroll 8
        for (int i = 0; i < QUICK(VECTORS); i++)
            x[i] = QUICK(read)(next + i * QUICK(LANES));
#pragma GCC unroll 8
        for (int i = 0; i < QUICK(VECTORS); i++)
            DEAL(x[i], all);
    }
    for (int i = 0; i < rest; i += QUICK(LANES))
        DEAL(QUICK(read)(some + i), rest - i < QUICK(LANES) ? (1u << (rest - i)) - 1 : all);
    for (int i = 0; i < QUICK(VECTORS); i++)
        DEAL(first[i], all);
    for (int i = 0; i < QUICK(VECTORS); i++)
        DEAL(last[i], all);
    return left - keys;
}
#undef DEAL

/* The middle one of three keys, for short runs, whose halves cost less than a better pivot. */
static K QUICK(pivot_of_three)(const K *x, int64_t n)
{
    const K a = x[n / 4], b = x[n / 2], c = x[3 * n / 4];
    const K low = a < b ? a : b, high = a < b ? b : a, least = high < c ? high : c;
    return low < least ? least : low;
}

/* The middle one of keys from all over the run. */
static K QUICK(pivot)(const K *x, int64_t n)
{
    if (n < 512)
        return QUICK(pivot_of_three)(x, n);
    K some[64];
    const int most = QUICK(LEAF) - 1;
    const int count = n < 2048 ? QUICK(FEW) : n < 65536 || most < 63 ? 31 : 63;
    const uint64_t step = (uint64_t)(n / count);
    for (int i = 0; i < count; i++) { /* not at even distances, which data may have as well */
        const uint64_t within = (uint32_t)i * 2654435761u * step >> 32;
        some[i] = x[(uint64_t)i * step + within];
    }
    if (count > QUICK(FEW))
        QUICK(leaf)(some, count);
    else
        QUICK(few)(some);
    return some[count / 2];
}

static void QUICK(sift)(K *x, int64_t at, int64_t n)
{
    for (int64_t child; (child = 2 * at + 1) < n; at = child) {
        child += child + 1 < n && x[child] < x[child + 1];
        if (x[at] >= x[child])
            return;
        K key = x[at];
        x[at] = x[child];
        x[child] = key;
    }
}

/* Where pivots were bad over and over. */
static void QUICK(heap)(K *x, int64_t n)
{
    for (int64_t at = n / 2; at-- > 0;)
        QUICK(sift)(x, at, n);
    for (int64_t last = n; last-- > 1;) {
        K key = x[0];
        x[0] = x[last];
        x[last] = key;
        QUICK(sift)(x, 0, last);
    }
}

static void QUICK(sort)(K *keys, int64_t n, int depth)
{
    while (n > QUICK(LEAF)) {
        if (depth-- == 0) {
            QUICK(heap)(keys, n);
            return;
        }
        const K pivot = QUICK(pivot)(keys, n);
        int64_t below = QUICK(partition)(keys, n, pivot);
        if (below > 0)
            QUICK(sort)(keys, below, depth);
        else /* the pivot is the least key: those like it are at their place */
            below = pivot == K_MAX ? n : QUICK(partition)(keys, n, QUICK(next)(pivot));
        keys += below;
        n -= below;
    }
    if (n > 0)
        QUICK(leaf)(keys, n);
}

/* Sorts n keys. */
static void QUICK(keys)(void *keys, int64_t n)
{
    const K *x = keys;
    int depth = 4;
    int64_t sorted = 1;
    while (sorted < n && x[sorted - 1] <= x[sorted])
        sorted++;
    if (sorted >= n)
        return;
    for (int64_t left = n; left > 1; left /= 2)
        depth += 2;
    quick_order_prepare();
    QUICK(sort)(keys, n, depth);
}
#undef K
#undef K_MAX
#undef QUICK
#undef V
