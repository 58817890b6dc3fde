/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Packing and the register-blocked kernel of one type of sums. The includer defines
 *   MM_NAME    f32 f64 c64 c128 u32 u64: suffix of what is defined here
 *   MM_SCALAR  the real type's name: f32 f64 u32 u64
 *   MM_T       that type
 *   MM_PARTS   1, or 2 for complex: a panel then holds, for each k, the real parts before the
 *              imaginary ones
 *   MM_STEPS(kc)  optional: lines of a panel that hold kc elements of each lane; pack_a and pack_b
 *              are not defined then */
#define MM_FN(name) CPU_CAT(mm_##name, MM_NAME)
#define MM_V CPU_CAT(mm_v, MM_SCALAR)
#define MM_SET CPU_CAT(mm_set, MM_SCALAR)
#define MM_FMA CPU_CAT(mm_fma, MM_SCALAR)
#define MM_FNMA CPU_CAT(mm_fnma, MM_SCALAR)
#define MM_LANES ((int)(MM_BYTES / sizeof(MM_T)))
#define MM_VECTORS (MM_ACROSS / MM_PARTS)
#define MM_COLUMNS (MM_VECTORS * MM_LANES)
#define MM_SQUARE ((int)(16 / sizeof(MM_T)))
#ifdef MM_TURN_WIDE
#define MM_GROUP 4
#else
#define MM_GROUP MM_SQUARE
#endif
#define MM_TRANSPOSE(square) (sizeof(MM_T) == 4 ? mm_transpose_4(square) : mm_transpose_2(square))

#ifndef MM_STEPS
#define MM_STEPS(kc) (kc)
#define MM_PLAIN
/* MM_GROUP lanes, stride apart, of kc scalars side by side, to kc groups of lanes, width apart. The lanes
 * after them are asked for on the way, whether there are any or not. */
static inline void MM_FN(transpose)(const MM_T *src, int64_t stride, int64_t kc, MM_T *dst,
                                    int width)
{
    int64_t k = 0;
#ifdef MM_TURN_WIDE
    for (; k + MM_LANES <= kc; k += MM_LANES) {
        const uintptr_t next = (uintptr_t)(src + k), apart = (uintptr_t)stride * sizeof *src;
        for (uintptr_t i = MM_GROUP; i < 2 * MM_GROUP; i++)
            __builtin_prefetch((const void *)(next + i * apart));
        MM_TURN_WIDE(sizeof(MM_T))(src + k, stride, dst + k * width, width);
    }
#endif
    for (; k + MM_SQUARE <= kc; k += MM_SQUARE)
        for (int l = 0; l < MM_GROUP; l += MM_SQUARE) {
            MM_T square[MM_SQUARE][MM_SQUARE];
            for (int i = 0; i < MM_SQUARE; i++)
                memcpy(square[i], src + (l + i) * stride + k, 16);
            MM_TRANSPOSE(square);
            for (int i = 0; i < MM_SQUARE; i++)
                memcpy(dst + (k + i) * width + l, square[i], 16);
        }
    for (; k < kc; k++)
        for (int i = 0; i < MM_GROUP; i++)
            dst[k * width + i] = src[i * stride + k];
}

static inline __attribute__((always_inline)) void MM_FN(pack)(const MM_T *src, int64_t stride_w,
                                                              int64_t stride_k, int64_t w,
                                                              int64_t kc, MM_T *dst,
                                                              const int width)
{
    const int64_t sw = stride_w * MM_PARTS, sk = stride_k * MM_PARTS;
    for (; w > 0; w -= width, src += width * sw, dst += width * kc * MM_PARTS) {
        int lanes = w < width ? (int)w : width;
        if (lanes < width)
            memset(dst, 0, (size_t)(width * kc) * MM_PARTS * sizeof *dst);
        if (stride_w == 1 && lanes == width && MM_PARTS == 1)
            for (int64_t k = 0; k < kc; k++)
                memcpy(dst + k * width, src + k * sk, (size_t)width * sizeof *dst);
        else if (stride_w == 1)
            for (int64_t k = 0; k < kc; k++)
                for (int p = 0; p < MM_PARTS; p++)
                    for (int i = 0; i < lanes; i++)
                        dst[(k * MM_PARTS + p) * width + i] = src[k * sk + i * MM_PARTS + p];
        else if (stride_k == 1 && lanes == width && MM_PARTS == 1)
            for (int i = 0; i < width; i += MM_GROUP) { /* the last group may overlap one before */
                int at = i + MM_GROUP < width ? i : width - MM_GROUP;
                MM_FN(transpose)(src + at * sw, sw, kc, dst + at, width);
            }
        else
            /* Lane by lane: the source may have a stride that maps all lanes to one set of the
             * cache, the panel fits the cache in any order. */
            for (int i = 0; i < lanes; i++)
                for (int64_t k = 0; k < kc; k++)
                    for (int p = 0; p < MM_PARTS; p++)
                        dst[(k * MM_PARTS + p) * width + i] = src[k * sk + i * sw + p];
    }
}

static void MM_FN(pack_a)(const void *src, int64_t stride_w, int64_t stride_k, int64_t w,
                          int64_t kc, void *dst)
{
    MM_FN(pack)(src, stride_w, stride_k, w, kc, dst, MM_ROWS);
}

static void MM_FN(pack_b)(const void *src, int64_t stride_w, int64_t stride_k, int64_t w,
                          int64_t kc, void *dst)
{
    MM_FN(pack)(src, stride_w, stride_k, w, kc, dst, MM_COLUMNS);
}

#endif /* MM_STEPS */

/* sums[row][part][column], rows ld scalars apart, of so many rows of a, row apart, and vectors of b
 * side by side, along k, a_step and b_step apart; panels of so many lines, or the operands as they
 * lie. add: to what is there. ahead: memory to ask for along k, or NULL, known when compiled. */
static inline __attribute__((always_inline)) void MM_FN(micro)(
    const int rows, const int vectors, int64_t kc, const MM_T *restrict a, int64_t row,
    int64_t a_step, const MM_T *restrict b, int64_t b_step, MM_T *restrict sums, int64_t ld,
    int add, const mm_ahead *ahead)
{
    const mm_ahead next = ahead ? *ahead : (mm_ahead){0};
    MM_V c[MM_ROWS][MM_PARTS][MM_VECTORS];
#pragma GCC unroll 64
    for (int i = 0; i < MM_ROWS * MM_PARTS * MM_VECTORS; i++)
        c[i / (MM_PARTS * MM_VECTORS)][i / MM_VECTORS % MM_PARTS][i % MM_VECTORS] = MM_SET(0);
    for (int64_t k = 0; k < kc; k++) {
        MM_V bv[MM_PARTS][MM_VECTORS];
        if (ahead) {
            __builtin_prefetch((const void *)(next.a + (uintptr_t)k * next.a_step), 0, 2);
            __builtin_prefetch((const void *)(next.b + (uintptr_t)k * next.b_step), 0, 2);
        }
#pragma GCC unroll 8
        for (int j = 0; j < MM_PARTS * MM_VECTORS; j++)
            if (j % MM_VECTORS < vectors)
                memcpy(&bv[j / MM_VECTORS][j % MM_VECTORS], b + j * MM_LANES, MM_BYTES);
#pragma GCC unroll 16
        for (int i = 0; i < rows; i++) {
            MM_V ar = MM_SET(a[i * row]);
#pragma GCC unroll 4
            for (int j = 0; j < vectors; j++)
                c[i][0][j] = MM_FMA(ar, bv[0][j], c[i][0][j]);
#if MM_PARTS == 2
            MM_V ai = MM_SET(a[(MM_ROWS + i) * row]);
#pragma GCC unroll 4
            for (int j = 0; j < vectors; j++) {
                c[i][1][j] = MM_FMA(ar, bv[1][j], c[i][1][j]);
                c[i][0][j] = MM_FNMA(ai, bv[1][j], c[i][0][j]);
                c[i][1][j] = MM_FMA(ai, bv[0][j], c[i][1][j]);
            }
#endif
        }
        a += a_step;
        b += b_step;
    }
#pragma GCC unroll 16
    for (int i = 0; i < rows; i++, sums += ld)
#pragma GCC unroll 8
        for (int j = 0; j < MM_PARTS * MM_VECTORS; j++) {
            if (j % MM_VECTORS >= vectors)
                continue;
            MM_V x = c[i][j / MM_VECTORS][j % MM_VECTORS], old;
            if (add) {
                memcpy(&old, sums + j * MM_LANES, MM_BYTES);
                x = old + x;
            }
            memcpy(sums + j * MM_LANES, &x, MM_BYTES);
        }
}

/* rows x columns of sums into c, or added to it. ldc counts scalars. */
static inline __attribute__((always_inline)) void MM_FN(merge)(const MM_T *restrict sums, int rows,
                                                               int columns, MM_T *restrict c,
                                                               int64_t ldc, int add)
{
    for (int i = 0; i < rows; i++, c += ldc, sums += MM_COLUMNS * MM_PARTS)
        for (int p = 0; p < MM_PARTS; p++)
            for (int j = 0; j < columns; j++) {
                MM_T x = sums[p * MM_COLUMNS + j];
                MM_T *to = &c[j * MM_PARTS + p];
                *to = add ? *to + x : x;
            }
}

/* So many rows of a panel of a by one of b, of which one vector or all count. */
static inline __attribute__((always_inline)) void MM_FN(panel)(const int rows, int narrow,
                                                               int64_t kc, const MM_T *a,
                                                               const MM_T *b, MM_T *sums,
                                                               int64_t ld, int add)
{
    const int64_t a_step = MM_ROWS * MM_PARTS, b_step = MM_COLUMNS * MM_PARTS;
    if (narrow && MM_VECTORS > 1)
        MM_FN(micro)(rows, 1, MM_STEPS(kc), a, 1, a_step, b, b_step, sums, ld, add, NULL);
    else
        MM_FN(micro)(rows, MM_VECTORS, MM_STEPS(kc), a, 1, a_step, b, b_step, sums, ld, add, NULL);
}

/* A panel of a by one of b, of which so many rows and columns count; sums rows ld apart. */
static void MM_FN(panels)(int rows, int columns, int64_t kc, const MM_T *a, const MM_T *b,
                          MM_T *sums, int64_t ld, int add)
{
    const int narrow = columns <= MM_LANES;
    if (rows > 2 * MM_FEW || 2 * MM_FEW == MM_ROWS)
        MM_FN(panel)(MM_ROWS, narrow, kc, a, b, sums, ld, add);
    else if (rows > MM_FEW)
        MM_FN(panel)(2 * MM_FEW, narrow, kc, a, b, sums, ld, add);
    else
        MM_FN(panel)(MM_FEW, narrow, kc, a, b, sums, ld, add);
}

/* Whether so many rows and columns are what a kernel computes, so that its sums may go into c. */
static inline int MM_FN(is_whole)(int rows, int columns)
{
    const int fits = rows == MM_ROWS || (2 * MM_FEW < MM_ROWS && rows % MM_FEW == 0);
    return fits && (columns == MM_COLUMNS || columns == MM_LANES);
}

/* A whole panel of a by one of b, for which the sums at `to` are asked for first, and what comes next
 * along the way, evenly: a core waits where it asks for much at once. */
static void MM_FN(whole_panel)(int64_t kc, const MM_T *a, const MM_T *b, MM_T *to, int64_t ldc,
                               int add, const mm_ahead *ahead)
{
    for (int r = 0; r < MM_ROWS; r++)
        for (int l = 0; l < MM_COLUMNS * MM_PARTS * (int)sizeof(MM_T); l += 64)
            __builtin_prefetch((const char *)(to + r * ldc) + l, 1, 3);
    MM_FN(micro)
    (MM_ROWS, MM_VECTORS, MM_STEPS(kc), a, 1, MM_ROWS * MM_PARTS, b, MM_COLUMNS * MM_PARTS, to, ldc,
     add, ahead);
}

/* Sums of one panel of a by one of b, of which so many rows and columns count. */
static inline __attribute__((always_inline)) void MM_FN(one_panel)(int rows, int columns,
                                                                   int64_t kc, const MM_T *a,
                                                                   const MM_T *b, MM_T *to,
                                                                   int64_t ldc, int add)
{
    if (MM_PARTS == 1 && MM_FN(is_whole)(rows, columns)) {
        MM_FN(panels)(rows, columns, kc, a, b, to, ldc, add);
        return;
    }
    _Alignas(64) MM_T sums[MM_ROWS * MM_PARTS * MM_COLUMNS];
    MM_FN(panels)(rows, columns, kc, a, b, sums, MM_COLUMNS * MM_PARTS, 0);
    MM_FN(merge)(sums, rows, columns, to, ldc * MM_PARTS, add);
}

static void MM_FN(block)(int64_t m, int64_t n, int64_t kc, const void *a, const void *b, void *c,
                         int64_t ldc, int add)
{
    for (int64_t j = 0; j < n; j += MM_COLUMNS)
        for (int64_t i = 0; i < m; i += MM_ROWS)
            MM_FN(one_panel)
    (m - i < MM_ROWS ? (int)(m - i) : MM_ROWS, n - j < MM_COLUMNS ? (int)(n - j) : MM_COLUMNS, kc,
     (const MM_T *)a + i * kc * MM_PARTS, (const MM_T *)b + j * kc * MM_PARTS,
     (MM_T *)c + (i * ldc + j) * MM_PARTS, ldc, add);
}

/* While a panel of b meets those of a, the next panel of b is fetched, a share with each; while a block
 * does, the next block of a. */
static void MM_FN(shared_block)(int64_t m, int64_t n, int64_t kc, const void *a, const void *b,
                                void *c, int64_t ldc, int add, const void *next_a,
                                const void *next_b)
{
    const int64_t line_a = MM_ROWS * MM_PARTS * (int64_t)sizeof(MM_T),
                  line_b = MM_COLUMNS * MM_PARTS * (int64_t)sizeof(MM_T), steps = MM_STEPS(kc);
    mm_ahead ahead = {.a_step = (uintptr_t)((line_a * MM_COLUMNS + n - 1) / n),
                      .b_step = (uintptr_t)((line_b * MM_ROWS + m - 1) / m)};
    ahead.a = (uintptr_t)next_a;
    for (int64_t j = 0; j < n; j += MM_COLUMNS) {
        const MM_T *y = (const MM_T *)b + j * kc * MM_PARTS;
        ahead.b =
            n - j > MM_COLUMNS ? (uintptr_t)(y + MM_COLUMNS * kc * MM_PARTS) : (uintptr_t)next_b;
        for (int64_t i = 0; i < m; i += MM_ROWS) {
            const int rows = m - i < MM_ROWS ? (int)(m - i) : MM_ROWS;
            const int columns = n - j < MM_COLUMNS ? (int)(n - j) : MM_COLUMNS;
            const MM_T *x = (const MM_T *)a + i * kc * MM_PARTS;
            MM_T *to = (MM_T *)c + (i * ldc + j) * MM_PARTS;
            if (MM_PARTS == 1 && rows == MM_ROWS && columns == MM_COLUMNS)
                MM_FN(whole_panel)(kc, x, y, to, ldc, add, &ahead);
            else
                MM_FN(one_panel)(rows, columns, kc, x, y, to, ldc, add);
            ahead.a += ahead.a_step * (uintptr_t)steps;
            ahead.b += ahead.b_step * (uintptr_t)steps;
        }
    }
}

#if MM_PARTS == 1 && defined MM_PLAIN
/* So many rows from row i on, all of whose columns there are, of operands as they lie. The last
 * blocks begin early enough to be whole: what they share with those before is computed twice, with
 * the same bits. */
static inline __attribute__((always_inline)) void MM_FN(plain_rows)(
    const int rows, int64_t i, int64_t n, int64_t kc, const MM_T *a, int64_t a_row, int64_t a_step,
    const MM_T *b, int64_t ldb, MM_T *c, int64_t ldc, mm_ahead *next)
{
    const MM_T *x = a + i * a_row;
    MM_T *to = c + i * ldc;
    int64_t j = 0;
    for (; n - j > MM_LANES; j += MM_COLUMNS) {
        const int64_t at = j < n - MM_COLUMNS ? j : n - MM_COLUMNS;
        if (a_step == 1)
            MM_FN(micro)(rows, MM_VECTORS, kc, x, a_row, 1, b + at, ldb, to + at, ldc, 0, next);
        else
            MM_FN(micro)
        (rows, MM_VECTORS, kc, x, a_row, a_step, b + at, ldb, to + at, ldc, 0, next);
        if (next) {
            next->a += (uintptr_t)kc * next->a_step;
            next->b += (uintptr_t)kc * next->b_step;
        }
    }
    j = n - MM_LANES;
    if (n % MM_COLUMNS > 0 && n % MM_COLUMNS <= MM_LANES)
        MM_FN(micro)(rows, 1, kc, x, a_row, a_step, b + j, ldb, to + j, ldc, 0, NULL);
}

/* All rows; next is NULL or not, which is known when compiled. */
static inline __attribute__((always_inline)) void MM_FN(plain_all)(int64_t m, int64_t n, int64_t kc,
                                                                   const MM_T *a, int64_t a_row,
                                                                   int64_t a_step, const MM_T *b,
                                                                   int64_t ldb, MM_T *c,
                                                                   int64_t ldc, mm_ahead *next)
{
    int64_t i = 0;
    for (; m - i > 2 * MM_FEW; i += MM_ROWS)
        MM_FN(plain_rows)
    (MM_ROWS, i < m - MM_ROWS ? i : m - MM_ROWS, n, kc, a, a_row, a_step, b, ldb, c, ldc, next);
    if (m - i > MM_FEW)
        MM_FN(plain_rows)
    (2 * MM_FEW, m - 2 * MM_FEW, n, kc, a, a_row, a_step, b, ldb, c, ldc, next);
    else if (m > i)
        MM_FN(plain_rows)(MM_FEW, m - MM_FEW, n, kc, a, a_row, a_step, b, ldb, c, ldc, next);
}

static void MM_FN(plain)(int64_t m, int64_t n, int64_t kc, const void *a, int64_t a_row,
                         int64_t a_step, const void *b, int64_t ldb, void *c, int64_t ldc)
{
    MM_FN(plain_all)(m, n, kc, a, a_row, a_step, b, ldb, c, ldc, NULL);
}

/* Every block of MM_COLUMNS has kc steps, over which what comes next is asked for evenly. */
static void MM_FN(plain_ahead)(int64_t m, int64_t n, int64_t kc, const void *a, int64_t a_row,
                               int64_t a_step, const void *b, int64_t ldb, void *c, int64_t ldc,
                               const void *next_a, const void *next_b)
{
    const int64_t across = (n - MM_LANES + MM_COLUMNS - 1) / MM_COLUMNS,
                  steps = (m + MM_ROWS - 1) / MM_ROWS * across * kc,
                  line = (int64_t)sizeof(MM_T) * kc;
    mm_ahead next = {(uintptr_t)next_a, (uintptr_t)((m * line + steps - 1) / steps),
                     (uintptr_t)next_b, (uintptr_t)((n * line + steps - 1) / steps)};
    MM_FN(plain_all)(m, n, kc, a, a_row, a_step, b, ldb, c, ldc, &next);
}
#endif

static void MM_FN(combine)(void *x_, int64_t n, const mm_scale *scale, const void *old_,
                           const void *bias_)
{
    MM_T *x = x_;
    const MM_T *old = old_, *bias = bias_;
    const MM_T alpha = (MM_T)scale->MM_ALPHA, beta = (MM_T)scale->MM_BETA;
    if (alpha != 1)
        for (int64_t i = 0; i < n; i++)
            x[i] = alpha * x[i];
    for (int64_t i = 0; old && i < n; i++)
        x[i] += beta * old[i];
    for (int64_t i = 0; bias && i < n; i++)
        x[i] += bias[i];
}

#undef MM_FN
#undef MM_STEPS
#undef MM_PLAIN
#undef MM_V
#undef MM_SET
#undef MM_FMA
#undef MM_FNMA
#undef MM_LANES
#undef MM_VECTORS
#undef MM_COLUMNS
#undef MM_SQUARE
#undef MM_GROUP
#undef MM_TRANSPOSE
#undef MM_NAME
#undef MM_PARTS
