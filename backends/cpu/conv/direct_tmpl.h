/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Products of operands as they lie. The includer defines CV_NAME, f32 or f64, and CV_T, the type. */
#define CV_FN(name) CPU_CAT(cv_##name, CV_NAME)
#define CV_V CPU_CAT(mm_v, CV_NAME)
#define CV_SET CPU_CAT(mm_set, CV_NAME)
#define CV_FMA CPU_CAT(mm_fma, CV_NAME)
enum { CPU_CAT(cv_wide, CV_NAME) = MM_BYTES / (int)sizeof(CV_T) };
#define CV_LANES ((int)CPU_CAT(cv_wide, CV_NAME))

typedef CV_V CV_FN(anywhere) __attribute__((aligned(4), may_alias));

/* `rows` rows and `vectors` vectors of columns. Rows are addressed three at a time from a pointer that moves, which
 * all address forms of a processor reach; of `real` rows, where there are fewer, the last one stands for others. */
static inline __attribute__((always_inline)) void CV_FN(block_panel)(const cv_block *p,
                                                                     const int rows,
                                                                     const int vectors, int real,
                                                                     int64_t i, int64_t j)
{
    CV_V s[MM_ROWS][MM_ACROSS];
    const CV_T *a = (const CV_T *)p->a + i * p->row, *b = (const CV_T *)p->b + j;
    const int64_t row = p->row, last = (real - 1) * row;
#pragma GCC unroll 16
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++)
            s[r][v] = CV_SET(0);
    for (int64_t k = 0; k < p->steps; k++) {
        const CV_T *w = a + p->step[k].a, *x = b + p->step[k].b;
        CV_V bv[MM_ACROSS];
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++)
            bv[v] = *(const CV_FN(anywhere) *)(x + v * CV_LANES);
#pragma GCC unroll 16
        for (int r = 0; r < rows; r++) {
            const CV_V ar = CV_SET(rows > MM_FEW ? w[r % 3 * row] : w[r < real ? r * row : last]);
#pragma GCC unroll 4
            for (int v = 0; v < vectors; v++)
                s[r][v] = CV_FMA(ar, bv[v], s[r][v]);
            if (r % 3 == 2 && rows > MM_FEW) {
                w += 3 * row;
                __asm__("" : "+r"(w));
            }
        }
    }
#pragma GCC unroll 16
    for (int r = 0; r < rows; r++) {
        CV_T *to = (CV_T *)p->sum + (i + r) * p->pitch + j;
        if (r >= real)
            break;
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++) {
            CV_FN(anywhere) *at = (CV_FN(anywhere) *)(to + v * CV_LANES);
            CV_V x = s[r][v];
            if (p->add)
                x = *at + x;
            *at = x;
        }
    }
}

/* Asks for a share of the next panel of a's rows, while columns from j on are computed. */
static inline void CV_FN(block_fetch)(const cv_block *p, int64_t i, int64_t j)
{
    const int64_t columns = MM_ACROSS * CV_LANES, panels = (p->columns + columns - 1) / columns;
    const int64_t first = j / columns * p->steps / panels,
                  end = (j / columns + 1) * p->steps / panels;
    const CV_T *a = (const CV_T *)p->a + i * p->row;
    for (int64_t k = first; k < end; k += 8)
        for (int r = 0; r < MM_ROWS; r++)
            __builtin_prefetch(a + r * p->row + p->step[k].a, 0, 3);
}

/* The elements of a panel of rows that lie side by side, step by step: lines that are whole distances apart would compete
 * for few sets of the cache while columns pass. */
static void CV_FN(block_gather)(const cv_block *p, int64_t i, CV_T *to, cv_step *step)
{
    const CV_T *a = (const CV_T *)p->a + i;
    for (int64_t k = 0; k < p->steps; k++, to += MM_ROWS) {
        memcpy(to, a + p->step[k].a, MM_ROWS * sizeof *to);
        step[k] = (cv_step){k * MM_ROWS, p->step[k].b};
    }
}

static inline __attribute__((always_inline)) void CV_FN(block_rows)(const cv_block *p,
                                                                    const int rows, int real,
                                                                    int64_t i)
{
    const int64_t columns = MM_ACROSS * CV_LANES;
    const int fetches = rows == MM_ROWS && i + 2 * MM_ROWS <= p->rows;
    for (int64_t j = 0; j < p->columns; j += columns) {
        if (fetches)
            CV_FN(block_fetch)(p, i + MM_ROWS, j);
        if (p->columns - j <= CV_LANES)
            CV_FN(block_panel)(p, rows, 1, real, i, j);
        else
            CV_FN(block_panel)(p, rows, MM_ACROSS, real, i, j);
    }
}

/* The same of rows whose elements are gathered. */
static void CV_FN(block_gathered)(const cv_block *p, int64_t i)
{
    CV_T a[MM_MAX_DEPTH * MM_ROWS];
    cv_step step[MM_MAX_DEPTH];
    cv_block q = *p;
    CV_FN(block_gather)(p, i, a, step);
    q.a = a;
    q.step = step;
    q.rows = MM_ROWS;
    q.sum = (CV_T *)p->sum + i * p->pitch;
    CV_FN(block_rows)(&q, MM_ROWS, MM_ROWS, 0);
}

static void CV_FN(block)(const cv_block *p)
{
    const int gathers = p->row == 1 && p->columns > 2 * MM_ACROSS * CV_LANES;
    int64_t i = 0;
    for (; i + MM_ROWS <= p->rows; i += MM_ROWS)
        if (gathers)
            CV_FN(block_gathered)(p, i);
        else
            CV_FN(block_rows)(p, MM_ROWS, MM_ROWS, i);
    for (; i + 2 * MM_FEW <= p->rows; i += 2 * MM_FEW)
        CV_FN(block_rows)(p, 2 * MM_FEW, 2 * MM_FEW, i);
    for (; i < p->rows; i += MM_FEW)
        CV_FN(block_rows)
    (p, MM_FEW, (int)(p->rows - i < MM_FEW ? p->rows - i : MM_FEW), i);
}

#undef CV_LANES
#undef CV_FMA
#undef CV_SET
#undef CV_V
#undef CV_FN
#undef CV_NAME
#undef CV_T
