/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Kernels for products with few rows, which read b once and in place: packing it would cost more than
 * the product. The includer defines MM_NAME, MM_SCALAR and MM_T as for
 * matmul_kernel_tmpl.h; complex products do without these kernels. */
#define MM_FN(name) CPU_CAT(mm_##name, MM_NAME)
#define MM_V CPU_CAT(mm_v, MM_SCALAR)
#define MM_SET CPU_CAT(mm_set, MM_SCALAR)
#define MM_FMA CPU_CAT(mm_fma, MM_SCALAR)
#define MM_LANES ((int)(MM_BYTES / sizeof(MM_T)))
#define MM_DEEP 4 /* rows of b at a time */
#define MM_WIDE 2 /* vectors across at a time */

/* wide vectors of each of m rows, over deep rows of b. */
static inline __attribute__((always_inline)) void
MM_FN(sweep_step)(int64_t m, int deep, const MM_T *a, int64_t lda, const MM_T *b, int64_t ldb, MM_T *c,
                  int64_t ldc, int first, const int wide)
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

/* Rows of b from k on, deep of them, over all n columns. The last columns go through a padded copy. */
static inline __attribute__((always_inline)) void
MM_FN(sweep_rows)(int64_t m, int64_t n, int deep, const MM_T *a, const MM_T *b, int64_t ldb, MM_T *c,
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

/* c (m, n) continues, or starts, the chains of a (kc, m) dense and b (kc, n) of unit column stride.
 * Rows of c have room up to a whole vector. */
static void MM_FN(sweep)(int64_t m, int64_t n, int64_t kc, const void *a_, const void *b_, int64_t ldb,
                         void *c, int64_t ldc, int first)
{
    const MM_T *a = a_, *b = b_;
    int64_t k = 0;
    for (; k + MM_DEEP <= kc; k += MM_DEEP)
        MM_FN(sweep_rows)(m, n, MM_DEEP, a + k * m, b + k * ldb, ldb, c, ldc, first && k == 0);
    for (; k < kc; k++)
        MM_FN(sweep_rows)(m, n, 1, a + k * m, b + k * ldb, ldb, c, ldc, first && k == 0);
}

/* Rows rows of a (dense, lda apart) by one column of b of unit stride. Lane l of a row's sums is the
 * chain over k = l, l + MM_DOT_LANES, ... whatever the width of vectors. */
static inline __attribute__((always_inline)) void
MM_FN(dot_rows)(const int rows, int64_t kc, const MM_T *a, int64_t lda, const MM_T *b, MM_T *sums)
{
    enum { VECTORS = MM_DOT_LANES / (int)(MM_BYTES / sizeof(MM_T)) };
    MM_V s[2][VECTORS];
    memcpy(s, sums, (size_t)rows * sizeof s[0]);
    int64_t k = 0;
    for (; k + MM_DOT_LANES <= kc; k += MM_DOT_LANES)
#pragma GCC unroll 8
        for (int v = 0; v < VECTORS; v++) {
            MM_V x, y;
            memcpy(&x, b + k + v * MM_LANES, MM_BYTES);
#pragma GCC unroll 2
            for (int r = 0; r < rows; r++) {
                memcpy(&y, a + r * lda + k + v * MM_LANES, MM_BYTES);
                s[r][v] = MM_FMA(y, x, s[r][v]);
            }
        }
    memcpy(sums, s, (size_t)rows * sizeof s[0]);
    for (int r = 0; r < rows && k < kc; r++) {
        MM_T x[MM_DOT_LANES] = {0}, y[MM_DOT_LANES] = {0};
        memcpy(x, b + k, (size_t)(kc - k) * sizeof *x);
        memcpy(y, a + r * lda + k, (size_t)(kc - k) * sizeof *y);
        for (int v = 0; v < VECTORS; v++) {
            MM_V vx, vy, vs;
            memcpy(&vx, x + v * MM_LANES, MM_BYTES);
            memcpy(&vy, y + v * MM_LANES, MM_BYTES);
            memcpy(&vs, sums + r * MM_DOT_LANES + v * MM_LANES, MM_BYTES);
            vs = MM_FMA(vy, vx, vs);
            memcpy(sums + r * MM_DOT_LANES + v * MM_LANES, &vs, MM_BYTES);
        }
    }
}

/* c[i] = the sum over lanes, by halves. */
static inline void MM_FN(dot_total)(MM_T *lanes, MM_T *c)
{
    for (int half = MM_DOT_LANES / 2; half > 0; half /= 2)
        for (int l = 0; l < half; l++)
            lanes[l] += lanes[l + half];
    *c = lanes[0];
}

static void MM_FN(dot)(int64_t m, int64_t kc, const void *a_, int64_t lda, const void *b, void *sums_,
                       void *c, int64_t ldc)
{
    const MM_T *a = a_;
    MM_T *sums = sums_;
    int64_t i = 0;
    for (; i + 2 <= m; i += 2)
        MM_FN(dot_rows)(2, kc, a + i * lda, lda, b, sums + i * MM_DOT_LANES);
    if (i < m)
        MM_FN(dot_rows)(1, kc, a + i * lda, lda, b, sums + i * MM_DOT_LANES);
    for (i = 0; c && i < m; i++)
        MM_FN(dot_total)(sums + i * MM_DOT_LANES, (MM_T *)c + i * ldc);
}

#undef MM_FN
#undef MM_V
#undef MM_SET
#undef MM_FMA
#undef MM_LANES
#undef MM_DEEP
#undef MM_WIDE
#undef MM_NAME
