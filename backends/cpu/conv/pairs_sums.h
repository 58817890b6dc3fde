/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Sums of pairs at each SIMD level, in the order of pairs.h, and what lays numbers in tiles. Included by conv_isa.c. */

/* Rows of sums whose chains are underway at once, and vectors of a tile's columns. */
enum {
    CV_PAIRS_LANES = MM_BYTES / 4,
    CV_PAIRS_VECTORS = CV_PAIRS_TILE / CV_PAIRS_LANES,
    CV_PAIRS_ROWS = CV_PAIRS_LANES == 16  ? 16
                    : CV_PAIRS_LANES == 8 ? 4
                                          : 2
};
typedef mm_v_f32 cv_pairs_chains[CV_PAIRS_ROWS][CV_PAIRS_VECTORS];

/* A step's numbers as floats: of a tile of a, the even numbers of each row, then the odd ones; of a tile of b, rows of
 * even numbers, then of odd ones. */
typedef struct {
    _Alignas(64) float a[2 * CV_PAIRS_TILE][2][CV_PAIRS_TILE];
    _Alignas(64) float b[2][2][CV_PAIRS_TILE][CV_PAIRS_TILE];
} cv_pairs_floats;

/* 16 pairs of numbers as floats: each has the bits of its upper half. */
static inline __attribute__((always_inline)) void cv_pairs_widen(const char *from, float *even,
                                                                 float *odd)
{
#pragma GCC unroll 4
    for (int v = 0; v < CV_PAIRS_VECTORS; v++) {
        mm_v_u32 pair;
        memcpy(&pair, from + v * MM_BYTES, sizeof pair);
        const mm_v_u32 first = pair << 16, second = pair & 0xffff0000u;
        memcpy(even + v * CV_PAIRS_LANES, &first, sizeof first);
        memcpy(odd + v * CV_PAIRS_LANES, &second, sizeof second);
    }
}

/* Where there is no instruction that adds a product and rounds once, exact products are added by two. */
static inline __attribute__((always_inline)) mm_v_f32 cv_pairs_add_product(mm_v_f32 x, mm_v_f32 y,
                                                                           mm_v_f32 sum, int exact)
{
#if CPU_ISA_LEVEL == 0 && !defined(__aarch64__)
    if (exact)
        return sum + x * y;
#endif
    (void)exact;
    return mm_fma_f32(x, y, sum);
}

/* The chains of some rows, whose even or odd numbers begin at a, by those of a tile of b, over n of them. By itself, so
 * that all chains stay in registers. */
static __attribute__((noinline)) void cv_pairs_chain(const float *a, float (*b)[CV_PAIRS_TILE],
                                                     int64_t n, int exact, cv_pairs_chains sum)
{
    cv_pairs_chains s;
#pragma GCC unroll 16
    for (int i = 0; i < CV_PAIRS_ROWS; i++)
#pragma GCC unroll 4
        for (int v = 0; v < CV_PAIRS_VECTORS; v++)
            s[i][v] = mm_set_f32(0);
#pragma GCC unroll 1
    for (int64_t k = 0; k < n; k++) {
        mm_v_f32 x[CV_PAIRS_VECTORS];
#pragma GCC unroll 4
        for (int v = 0; v < CV_PAIRS_VECTORS; v++)
            memcpy(&x[v], b[k] + v * CV_PAIRS_LANES, sizeof x[v]);
#pragma GCC unroll 16
        for (int i = 0; i < CV_PAIRS_ROWS; i++) {
            const mm_v_f32 y = mm_set_f32(a[2 * i * CV_PAIRS_TILE + k]);
#pragma GCC unroll 4
            for (int v = 0; v < CV_PAIRS_VECTORS; v++)
                s[i][v] = cv_pairs_add_product(y, x[v], s[i][v], exact);
        }
    }
#pragma GCC unroll 16
    for (int i = 0; i < CV_PAIRS_ROWS; i++)
#pragma GCC unroll 4
        for (int v = 0; v < CV_PAIRS_VECTORS; v++)
            sum[i][v] = s[i][v];
}

/* Both chains of some rows, added to the sums. */
static void cv_pairs_add(float (*a)[2][CV_PAIRS_TILE], float (*b)[CV_PAIRS_TILE][CV_PAIRS_TILE],
                         int64_t live, int exact, float *sum, int64_t pitch)
{
    cv_pairs_chains even, odd;
    cv_pairs_chain(a[0][0], b[0], (live + 1) / 2, exact, even);
    cv_pairs_chain(a[0][1], b[1], live / 2, exact, odd);
    for (int i = 0; i < CV_PAIRS_ROWS; i++)
        for (int v = 0; v < CV_PAIRS_VECTORS; v++) {
            mm_v_f32 before;
            float *to = sum + i * pitch + v * CV_PAIRS_LANES;
            memcpy(&before, to, sizeof before);
            before += even[i][v] + odd[i][v];
            memcpy(to, &before, sizeof before);
        }
}

static void cv_pairs(const cv_pairs_block *p)
{
    cv_pairs_floats f;
    for (int i = 0; !p->add && i < p->m * CV_PAIRS_TILE; i++)
        memset(p->sum + i * p->pitch, 0, (size_t)p->n * CV_PAIRS_TILE * sizeof(float));
    for (int64_t k = 0; k < p->steps; k++) {
        for (int i = 0; i < p->m * CV_PAIRS_TILE; i++)
            cv_pairs_widen(p->a[i / CV_PAIRS_TILE] + i % CV_PAIRS_TILE * p->a_row + p->step[k].at,
                           f.a[i][0], f.a[i][1]);
        for (int j = 0; j < p->n; j++)
            for (int r = 0; r < CV_PAIRS_TILE; r++)
                cv_pairs_widen(p->b[j] + k * CV_PAIRS_BYTES + r * 64, f.b[j][0][r], f.b[j][1][r]);
        for (int j = 0; j < p->n; j++)
            for (int i = 0; i < p->m * CV_PAIRS_TILE; i += CV_PAIRS_ROWS)
                cv_pairs_add(f.a + i, f.b[j], p->step[k].live, p->exact,
                             p->sum + i * p->pitch + j * CV_PAIRS_TILE, p->pitch);
    }
}

/* Which exponents n numbers have. */
static cv_pairs_range cv_pairs_range_of(const uint16_t *x, int64_t n)
{
    uint16_t least = 0xffff, most = 0; /* of sizes less one, where zero is the largest; of sizes */
    for (int64_t i = 0; i < n; i++) {
        const uint16_t size = x[i] & 0x7fff, less = (uint16_t)(size - 1);
        least = less < least ? less : least;
        most = size > most ? size : most;
    }
    if (most == 0)
        return 0;
    return UINT64_C(1) << ((least + 1) >> 9) | UINT64_C(1) << (most >> 9);
}

/* Two rows of 16 numbers as pairs: of the lower halves of two vectors, or of the upper ones. */
#if CPU_ISA_LEVEL >= 1 && defined(__AVX2__)
static inline void cv_pairs_of_rows(const char *x_, const char *y_, char *to)
{
    const __m256i x = _mm256_loadu_si256((const __m256i *)(const void *)x_);
    const __m256i y = _mm256_loadu_si256((const __m256i *)(const void *)y_);
    const __m256i low = _mm256_unpacklo_epi16(x, y), high = _mm256_unpackhi_epi16(x, y);
    _mm256_storeu_si256((__m256i *)(void *)to, _mm256_permute2x128_si256(low, high, 0x20));
    _mm256_storeu_si256((__m256i *)(void *)(to + 32), _mm256_permute2x128_si256(low, high, 0x31));
}
#else
static inline void cv_pairs_of_rows(const char *x_, const char *y_, char *to)
{
    uint16_t x[CV_PAIRS_TILE], y[CV_PAIRS_TILE], both[2 * CV_PAIRS_TILE];
    memcpy(x, x_, sizeof x);
    memcpy(y, y_, sizeof y);
    for (int i = 0; i < CV_PAIRS_TILE; i++) {
        both[2 * i] = x[i];
        both[2 * i + 1] = y[i];
    }
    memcpy(to, both, sizeof both);
}
#endif

/* Tiles of b from 32 rows of numbers, the positions, which lie anywhere: of each two rows the pairs of 16 numbers in
 * one tile, and those of the next 16 in another, where n is 2. */
static void cv_pairs_join(const char *const row[CV_PAIRS_DEPTH], const int n, char *first,
                          char *second)
{
    for (int r = 0; r < CV_PAIRS_TILE; r++)
        cv_pairs_of_rows(row[2 * r], row[2 * r + 1], first + 64 * r);
    for (int r = 0; n == 2 && r < CV_PAIRS_TILE; r++)
        cv_pairs_of_rows(row[2 * r] + 32, row[2 * r + 1] + 32, second + 64 * r);
}

/* n rows of m sums each, `pitch` apart, rounded, to rows `step` apart. */
static void cv_pairs_save(const float *sum, int64_t pitch, int64_t n, int64_t m, uint16_t *to,
                          int64_t step)
{
    for (; n > 0; n--, sum += pitch, to += step) {
        int64_t i = 0;
        for (; i + 8 <= m; i += 8)
            for (int l = 0; l < 8; l++)
                to[i + l] = cpu_bf16_from_f32(sum[i + l]);
        for (; i < m; i++)
            to[i] = cpu_bf16_from_f32(sum[i]);
    }
}
