/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Quicksort of one kind of key. The includer sets K, its type, K_MAX and QUICK(name), and has
 * QUICK(leaf)(from, n, to), which sorts up to QUICK(LEAF) keys, QUICK(eight)(keys), which sorts
 * eight, QUICK(deal) of QUICK(LANES) keys, and QUICK(prepare). */

/* Keys below the pivot to the left of `to`, the others to the right; how many are below. More than
 * a leaf of them. */
static int64_t QUICK(partition)(const K *from, int64_t n, K pivot, K *to)
{
    const unsigned all = (1u << QUICK(LANES)) - 1;
    K *left = to;
    int64_t i = n % QUICK(LANES);
    left += QUICK(deal)(from, (1u << i) - 1, pivot, left, n);
#pragma GCC unroll 2
    for (; i < n; i += QUICK(LANES))
        left += QUICK(deal)(from + i, all, pivot, left, n - i);
    return left - to;
}

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
    const int most = QUICK(LEAF) - 1, count = n < 2048 ? 8 : n < 65536 || most < 63 ? 31 : 63;
    const uint64_t step = (uint64_t)(n / count);
    for (int i = 0; i < count; i++) { /* not at even distances, which data may have as well */
        const uint64_t within = (uint32_t)i * 2654435761u * step >> 32;
        some[i] = x[(uint64_t)i * step + within];
    }
    if (count > 8)
        QUICK(leaf)(some, count, some);
    else
        QUICK(eight)(some);
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

/* Sorts n keys of `from` into `to`, which is `from` or `other`, both of which are used. */
static void QUICK(sort)(K *from, K *other, int64_t n, int depth, K *to)
{
    while (n > QUICK(LEAF)) {
        if (depth-- == 0) {
            QUICK(heap)(from, n);
            if (to != from)
                memcpy(to, from, (size_t)n * sizeof *to);
            return;
        }
        K pivot = QUICK(pivot)(from, n), *dealt = other;
        int64_t below = QUICK(partition)(from, n, pivot, dealt);
        if (below == 0) { /* the pivot is the least key: those like it are at their place */
            below = pivot == K_MAX ? n : QUICK(partition)(from, n, pivot + 1, dealt);
            for (int64_t i = 0; i < below; i++)
                to[i] = pivot;
        } else {
            QUICK(sort)(dealt, from, below, depth, to);
        }
        other = from + below;
        from = dealt + below;
        to += below;
        n -= below;
    }
    if (n > 0)
        QUICK(leaf)(from, n, to);
}

/* Sorts n keys; `spare` has room for as many. */
static void QUICK(keys)(void *keys, void *spare, int64_t n)
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
    QUICK(prepare)();
    QUICK(sort)(keys, spare, n, depth, keys);
}
#undef K
#undef K_MAX
#undef QUICK
