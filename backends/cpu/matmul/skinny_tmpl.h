/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Kernels for products with few rows, which read b once and in place: packing it would cost more
 * than the product. The includer defines MM_NAME, MM_SCALAR and MM_T as for matmul/kernel_tmpl.h;
 * complex products do without these kernels. */
#define MM_FN(name) CPU_CAT(mm_##name, MM_NAME)
#define MM_V CPU_CAT(mm_v, MM_SCALAR)
#define MM_SET CPU_CAT(mm_set, MM_SCALAR)
#define MM_FMA CPU_CAT(mm_fma, MM_SCALAR)
#define MM_LANES ((int)(MM_BYTES / sizeof(MM_T)))
#define MM_DOT_LANES ((int)(MM_DOT_BYTES / sizeof(MM_T)))
#define MM_DOT_VECTORS (MM_DOT_BYTES / MM_BYTES)
#define MM_DEEP 4   /* rows of b at a time */
#define MM_DEEPER 8 /* for one row */
#define MM_WIDE 2   /* vectors across at a time */

/* wide vectors of each of m rows, over deep rows of b. */
static inline __attribute__((always_inline)) void MM_FN(sweep_step)(int64_t m, int deep,
                                                                    const MM_T *a, int64_t lda,
                                                                    const MM_T *b, int64_t ldb,
                                                                    MM_T *c, int64_t ldc, int first,
                                                                    const int wide)
{
    MM_V x[MM_DEEP][MM_WIDE];
#pragma GCC unroll 4
    for (int d = 0; d < deep; d++)
#pragma GCC unroll 2
        for (int w = 0; w < wide; w++)
            memcpy(&x[d][w], b + d * ldb + w * MM_LANES, MM_BYTES);
    for (int64_t i = 0; i < m; i++) {
        MM_V s[MM_WIDE];
#pragma GCC unroll 2
        for (int w = 0; w < wide; w++) {
            s[w] = MM_SET(0);
            if (!first)
                memcpy(&s[w], c + i * ldc + w * MM_LANES, MM_BYTES);
        }
#pragma GCC unroll 4
        for (int d = 0; d < deep; d++) {
            MM_V f = MM_SET(a[d * lda + i]);
#pragma GCC unroll 2
            for (int w = 0; w < wide; w++)
                s[w] = MM_FMA(f, x[d][w], s[w]);
        }
#pragma GCC unroll 2
        for (int w = 0; w < wide; w++)
            memcpy(c + i * ldc + w * MM_LANES, &s[w], MM_BYTES);
    }
}

/* Rows of b from k on, deep of them, over all n columns. The last columns go through a padded copy.
 */
static inline __attribute__((always_inline)) void MM_FN(sweep_rows)(int64_t m, int64_t n, int deep,
                                                                    const MM_T *a, const MM_T *b,
                                                                    int64_t ldb, MM_T *c,
                                                                    int64_t ldc, int first)
{
    int64_t j = 0;
    for (; j + MM_WIDE * MM_LANES <= n; j += MM_WIDE * MM_LANES) {
#pragma GCC unroll 4
        for (int d = 0; d < deep; d++)
            __builtin_prefetch(b + (d + deep) * ldb + j);
        MM_FN(sweep_step)(m, deep, a, m, b + j, ldb, c + j, ldc, first, MM_WIDE);
    }
    for (; j < n; j += MM_LANES) {
        _Alignas(MM_BYTES) MM_T rest[MM_DEEP * MM_LANES] = {0};
        int64_t lanes = n - j < MM_LANES ? n - j : MM_LANES;
        for (int d = 0; d < deep; d++)
            memcpy(rest + d * MM_LANES, b + d * ldb + j, (size_t)lanes * sizeof *rest);
        MM_FN(sweep_step)(m, deep, a, m, rest, MM_LANES, c + j, ldc, first, 1);
    }
}

/* As sweep_rows for one row of c, with the factors kept in registers. */
static inline __attribute__((always_inline)) int64_t MM_FN(sweep_one)(int64_t n, const int deep,
                                                                      const MM_T *a, const MM_T *b,
                                                                      int64_t ldb, MM_T *c,
                                                                      int first)
{
    MM_V f[MM_DEEPER];
    int64_t j = 0;
#pragma GCC unroll 8
    for (int d = 0; d < deep; d++)
        f[d] = MM_SET(a[d]);
    for (; j + MM_WIDE * MM_LANES <= n; j += MM_WIDE * MM_LANES) {
        MM_V s[MM_WIDE], x;
#pragma GCC unroll 2
        for (int w = 0; w < MM_WIDE; w++)
            s[w] = MM_SET(0);
        if (!first)
#pragma GCC unroll 2
            for (int w = 0; w < MM_WIDE; w++)
                memcpy(&s[w], c + j + w * MM_LANES, MM_BYTES);
#pragma GCC unroll 8
        for (int d = 0; d < deep; d++) {
#pragma GCC unroll 2
            for (int w = 0; w < MM_WIDE; w++) {
                memcpy(&x, b + d * ldb + j + w * MM_LANES, MM_BYTES);
                s[w] = MM_FMA(f[d], x, s[w]);
            }
        }
#pragma GCC unroll 2
        for (int w = 0; w < MM_WIDE; w++)
            memcpy(c + j + w * MM_LANES, &s[w], MM_BYTES);
    }
    return j;
}

/* c (m, n) continues, or starts, the chains of a (kc, m) dense and b (kc, n) of unit column stride.
 * Rows of c have room up to a whole vector. */
static void MM_FN(sweep)(int64_t m, int64_t n, int64_t kc, const void *a_, const void *b_,
                         int64_t ldb, void *c, int64_t ldc, int first)
{
    const MM_T *a = a_, *b = b_;
    int64_t k = 0;
    for (; m == 1 && k + MM_DEEPER <= kc; k += MM_DEEPER) {
        int64_t j = MM_FN(sweep_one)(n, MM_DEEPER, a + k, b + k * ldb, ldb, c, first && k == 0);
        for (int d = 0; j < n && d < MM_DEEPER; d++)
            MM_FN(sweep_rows)
        (1, n - j, 1, a + k + d, b + (k + d) * ldb + j, ldb, (MM_T *)c + j, ldc,
         first && k + d == 0);
    }
    for (; k + MM_DEEP <= kc; k += MM_DEEP)
        MM_FN(sweep_rows)(m, n, MM_DEEP, a + k * m, b + k * ldb, ldb, c, ldc, first && k == 0);
    for (; k < kc; k++)
        MM_FN(sweep_rows)(m, n, 1, a + k * m, b + k * ldb, ldb, c, ldc, first && k == 0);
}

/* Of two vectors of which each element is used once, what lies further on than processors look by
 * themselves is asked for; it may be nothing, so that these are numbers and not pointers. */
static inline __attribute__((always_inline)) void MM_FN(ahead)(const MM_T *a, const MM_T *b)
{
#pragma GCC unroll 8
    for (int i = 0; i < MM_DOT_BYTES; i += 64) {
        __builtin_prefetch((const void *)((uintptr_t)a + MM_DOT_AHEAD + (uintptr_t)i));
        __builtin_prefetch((const void *)((uintptr_t)b + MM_DOT_AHEAD + (uintptr_t)i));
    }
}

/* The inner products of rows rows of a and columns columns of b, over kc; all of unit stride along
 * k. Lane l of a sum is the chain over k = l, l + MM_DOT_LANES, ... whatever the width of vectors.
 */
static inline __attribute__((always_inline)) void MM_FN(dot_block)(
    const int rows, const int columns, int64_t kc, const MM_T *a, int64_t lda, const MM_T *b,
    int64_t ldb, MM_T *sums, int64_t column_sums, int first)
{
    MM_V s[2][4][MM_DOT_VECTORS], x[MM_DOT_VECTORS], y;
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 8
        for (int c = 0; c < columns; c++)
#pragma GCC unroll 8
            for (int v = 0; v < MM_DOT_VECTORS; v++) {
                s[r][c][v] = MM_SET(0);
                if (!first)
                    memcpy(&s[r][c][v], sums + c * column_sums + r * MM_DOT_LANES + v * MM_LANES,
                           MM_BYTES);
            }
    for (int64_t k = 0; k + MM_DOT_LANES <= kc; k += MM_DOT_LANES)
#pragma GCC unroll 8
        for (int c = 0; c < columns; c++) {
            if (rows == 1 && columns == 1)
                MM_FN(ahead)(a + k, b + k);
#pragma GCC unroll 8
            for (int v = 0; v < MM_DOT_VECTORS; v++)
                memcpy(&x[v], b + c * ldb + k + v * MM_LANES, MM_BYTES);
#pragma GCC unroll 8
            for (int r = 0; r < rows; r++)
#pragma GCC unroll 8
                for (int v = 0; v < MM_DOT_VECTORS; v++) {
                    memcpy(&y, a + r * lda + k + v * MM_LANES, MM_BYTES);
                    s[r][c][v] = MM_FMA(y, x[v], s[r][c][v]);
                }
        }
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 8
        for (int c = 0; c < columns; c++)
#pragma GCC unroll 8
            for (int v = 0; v < MM_DOT_VECTORS; v++)
                memcpy(sums + c * column_sums + r * MM_DOT_LANES + v * MM_LANES, &s[r][c][v],
                       MM_BYTES);
}

/* The rest of k, fewer than MM_DOT_LANES, through a padded copy. */
static void MM_FN(dot_rest)(int64_t m, int64_t n, int64_t kc, const MM_T *a, int64_t lda,
                            const MM_T *b, int64_t ldb, MM_T *sums)
{
    MM_T x[MM_DOT_LANES] = {0}, y[MM_DOT_LANES] = {0};
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < m; i++) {
            memcpy(x, a + i * lda, (size_t)kc * sizeof *x);
            memcpy(y, b + j * ldb, (size_t)kc * sizeof *y);
            MM_FN(dot_block)
            (1, 1, MM_DOT_LANES, x, 0, y, 0, sums + (j * m + i) * MM_DOT_LANES, 0, 0);
        }
}

/* The sum over lanes, by halves. */
static inline MM_T MM_FN(dot_total)(const MM_T *sums)
{
    MM_T lanes[MM_DOT_LANES];
    memcpy(lanes, sums, sizeof lanes);
    for (int half = MM_DOT_LANES / 2; half > 0; half /= 2)
        for (int l = 0; l < half; l++)
            lanes[l] += lanes[l + half];
    return lanes[0];
}

/* dot_block and dot_rest of one row from the first k to the last, and the totals. tail: the rest of
 * a, padded; kept: all ones where it has elements. What follows a column of b is read, too. */
static inline __attribute__((always_inline)) void MM_FN(dot_short)(
    const int columns, int64_t whole, int64_t rest, const MM_T *a, const MM_T *tail,
    const mm_bytes *kept, const MM_T *b, int64_t ldb, MM_T *c)
{
    MM_V s[4][MM_DOT_VECTORS], x, y;
#pragma GCC unroll 4
    for (int i = 0; i < columns; i++)
#pragma GCC unroll 8
        for (int v = 0; v < MM_DOT_VECTORS; v++)
            s[i][v] = MM_SET(0);
    for (int64_t k = 0; k < whole; k += MM_DOT_LANES)
#pragma GCC unroll 8
        for (int v = 0; v < MM_DOT_VECTORS; v++) {
            memcpy(&x, a + k + v * MM_LANES, MM_BYTES);
#pragma GCC unroll 4
            for (int i = 0; i < columns; i++) {
                const MM_T *from = b + i * ldb + k + v * MM_LANES;
                if (v * MM_BYTES % 64 == 0) /* once a cache line */
                    __builtin_prefetch((const void *)((uintptr_t)from + MM_SIDE_AHEAD));
                memcpy(&y, from, MM_BYTES);
                s[i][v] = MM_FMA(x, y, s[i][v]);
            }
        }
    if (rest > 0)
#pragma GCC unroll 8
        for (int v = 0; v < MM_DOT_VECTORS; v++) {
            memcpy(&x, tail + v * MM_LANES, MM_BYTES);
#pragma GCC unroll 4
            for (int i = 0; i < columns; i++) {
                memcpy(&y, b + i * ldb + whole + v * MM_LANES, MM_BYTES);
                y = (MM_V)((mm_bytes)y & kept[v]);
                s[i][v] = MM_FMA(x, y, s[i][v]);
            }
        }
#pragma GCC unroll 4
    for (int i = 0; i < columns; i++)
        c[i] = MM_FN(dot_total)((const MM_T *)s[i]);
}

/* One row by columns that have one block of k: how many of them are done, all but those behind which
 * there is nothing to be read. */
static int64_t MM_FN(dot_row)(int64_t n, int64_t kc, const MM_T *a, const MM_T *b, int64_t ldb,
                              MM_T *c)
{
    const int64_t whole = kc / MM_DOT_LANES * MM_DOT_LANES, rest = kc - whole;
    const int64_t most = rest == 0 ? n : ldb >= MM_DOT_LANES ? n - 1 : 0;
    MM_T tail[MM_DOT_LANES] = {0};
    mm_bytes kept[MM_DOT_VECTORS];
    int64_t j = 0;
    memset(kept, 0, sizeof kept);
    memset(kept, 0xff, (size_t)rest * sizeof *tail);
    memcpy(tail, a + whole, (size_t)rest * sizeof *tail);
    for (; j + 4 <= most; j += 4)
        MM_FN(dot_short)(4, whole, rest, a, tail, kept, b + j * ldb, ldb, c + j);
    for (; j < most; j++)
        MM_FN(dot_short)(1, whole, rest, a, tail, kept, b + j * ldb, ldb, c + j);
    return j;
}

static void MM_FN(dot)(int64_t m, int64_t n, int64_t kc, const void *a_, const void *b_,
                       int64_t ldb, void *sums_, int first, void *c_, int64_t ldc)
{
    const MM_T *a = a_, *b = b_;
    MM_T *sums = sums_, *c = c_;
    const int64_t whole = kc / MM_DOT_LANES * MM_DOT_LANES, step = m * MM_DOT_LANES;
    const int64_t done = m == 1 && first && c ? MM_FN(dot_row)(n, kc, a, b, ldb, c) : 0;
    int64_t j = done;
    for (; j + 4 <= n; j += 4) {
        const MM_T *bj = b + j * ldb;
        int64_t i = 0;
        for (; i + 2 <= m; i += 2)
            for (int h = 0; h < 4; h += 2)
                MM_FN(dot_block)
        (2, 2, whole, a + i * kc, kc, bj + h * ldb, ldb, sums + (j + h) * step + i * MM_DOT_LANES,
         step, first);
        if (i < m)
            MM_FN(dot_block)
        (1, 4, whole, a + i * kc, kc, bj, ldb, sums + j * step + i * MM_DOT_LANES, step, first);
    }
    for (; j < n; j++)
        for (int64_t i = 0; i < m; i++)
            MM_FN(dot_block)
    (1, 1, whole, a + i * kc, kc, b + j * ldb, ldb, sums + j * step + i * MM_DOT_LANES, step,
     first);
    if (whole < kc && done < n)
        MM_FN(dot_rest)
    (m, n - done, kc - whole, a + whole, kc, b + done * ldb + whole, ldb, sums + done * step);
    for (int64_t i = 0; c && i < m; i++)
        for (j = done; j < n; j++)
            c[i * ldc + j] = MM_FN(dot_total)(sums + j * step + i * MM_DOT_LANES);
}

#undef MM_FN
#undef MM_V
#undef MM_SET
#undef MM_FMA
#undef MM_LANES
#undef MM_DOT_LANES
#undef MM_DOT_VECTORS
#undef MM_DEEP
#undef MM_DEEPER
#undef MM_WIDE
#undef MM_NAME
