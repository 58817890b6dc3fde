/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Stable sorting of dense rows: positions of short runs are sorted by one work-item each, and runs
 * merged in pairs, where an element's place is its own rank plus that in the other run, found by
 * bisection. */
#define RUN 16
struct sorting {
    ulong rows, n, k, width;
    long in, from, to, values, positions; /* offsets in bytes */
    uint descending, zero;
};

/* NaN sorts last; complex numbers with a NaN behind those without, as NumPy does. */
#if T_KIND == KIND_COMPLEX
static inline int ascends(CAT(computed_, T) a, CAT(computed_, T) b)
{
    int a_nan = (a.re != a.re) * 2 + (a.im != a.im), b_nan = (b.re != b.re) * 2 + (b.im != b.im);
    if (a_nan != b_nan)
        return a_nan < b_nan;
    if (a_nan == 0)
        return a.re < b.re || (a.re == b.re && a.im < b.im);
    return a_nan == 1 ? a.re < b.re : a_nan == 2 && a.im < b.im;
}
#else
static inline int ascends(CAT(computed_, T) a, CAT(computed_, T) b)
{
    return a < b || (b != b && a == a);
}
#endif
#define before(a, b) (s.descending ? ascends(b, a) : ascends(a, b))
#define ELEMENT(i) CAT(load_, T)(in + s.in, (long)(i))

kernel void runs(bytes in, bytes from, bytes to, struct sorting s)
{
    ulong per_row = (s.n + RUN - 1) / RUN, job = get_global_id(0);
    if (job >= s.rows * per_row)
        return;
    ulong base = job / per_row * s.n, begin = job % per_row * RUN;
    ulong n = min((ulong)RUN, s.n - begin);
    global ulong *order = (global ulong *)(to + s.to) + base + begin;
    for (ulong i = 0; i < n; i++) {
        CAT(computed_, T) x = ELEMENT(base + begin + i);
        ulong j = i;
        for (; j > 0 && before(x, ELEMENT(base + order[j - 1])); j--)
            order[j] = order[j - 1];
        order[j] = begin + i;
    }
}

kernel void merge(bytes in, bytes from, bytes to, struct sorting s)
{
    ulong i = get_global_id(0);
    if (i >= s.rows * s.n)
        return;
    ulong base = i / s.n * s.n, x = i - base, begin = x / (2 * s.width) * (2 * s.width);
    ulong middle = min(begin + s.width, s.n), end = min(begin + 2 * s.width, s.n);
    global ulong *order = (global ulong *)(from + s.from) + base;
    int left = x < middle;
    ulong low = left ? middle : begin, high = left ? end : middle, first = low;
    ulong position = order[x];
    CAT(computed_, T) mine = ELEMENT(base + position);
    while (low < high) {
        ulong m = low + (high - low) / 2;
        CAT(computed_, T) other = ELEMENT(base + order[m]);
        if (left ? before(other, mine) : !before(mine, other))
            low = m + 1;
        else
            high = m;
    }
    ulong place = begin + (x - (left ? begin : middle)) + (low - first);
    ((global ulong *)(to + s.to))[base + place] = position;
}

kernel void emit(bytes in, bytes from, bytes values, bytes positions, struct sorting s)
{
    ulong i = get_global_id(0);
    if (i >= s.rows * s.k)
        return;
    ulong base = i / s.k * s.n;
    ulong position = ((global ulong *)(from + s.from))[base + i % s.k];
#if VALUES
    CAT(store_, T)(values + s.values, (long)i, ELEMENT(base + position));
#endif
#if POSITIONS
    ((global long *)(positions + s.positions))[i] = (long)position;
#endif
}
