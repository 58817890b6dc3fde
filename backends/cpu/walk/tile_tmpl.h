/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Tile copies of one element size. The includer defines TILE_T and TILE_FN(name); both are
 * undefined at the end. */

/* Four by four blocks, running along the source: its lines are far apart, often a power of two, so
 * that a cache keeps few of them and prefetches none by itself; each is used up before the next. */
static void TILE_FN(transpose)(char *to, const char *from, int64_t rows, int64_t cols,
                               int64_t to_row, int64_t from_col)
{
    const int64_t step = to_row / (int64_t)sizeof(TILE_T), line = 64 / (int64_t)sizeof(TILE_T);
    for (int64_t c = 0; c < cols; c += 4) {
        if (c + 8 < cols)
            for (int64_t j = 8; j < 12; j++)
                for (int64_t r = 0; r < rows; r += line)
                    __builtin_prefetch(from + (c + j) * from_col + r * (int64_t)sizeof(TILE_T));
        for (int64_t r = 0; r < rows; r += 4)
            for (int64_t j = 0; j < 4; j++) {
                const TILE_T *s = (const TILE_T *)(from + (c + j) * from_col) + r;
                TILE_T *d = (TILE_T *)(to + r * to_row) + c + j;
                TILE_T e0 = s[0], e1 = s[1], e2 = s[2], e3 = s[3];
                d[0] = e0, d[step] = e1, d[2 * step] = e2, d[3 * step] = e3;
            }
    }
}

/* Of n elements that run backwards on one side; steps known when compiling become shuffles. */
static void TILE_FN(turn)(TILE_T *restrict to, const TILE_T *restrict from, int64_t n, bool source)
{
    to -= source ? 0 : n - 1;
    from += source ? 0 : n - 1;
    for (int64_t i = 0; i < n; i++)
        to[i] = from[-i];
}

/* To every second element: the parts of complex numbers, say (copy/move_tmpl.h has the same by
 * registers, for rows). Four at a time: the loop's own instructions take as long as the stores. */
static void TILE_FN(spread)(TILE_T *restrict to, const TILE_T *restrict from, int64_t n)
{
    int64_t i = 0;
    for (; i + 4 <= n; i += 4) {
        const TILE_T e0 = from[i], e1 = from[i + 1], e2 = from[i + 2], e3 = from[i + 3];
        to[2 * i] = e0, to[2 * i + 2] = e1, to[2 * i + 4] = e2, to[2 * i + 6] = e3;
    }
    for (; i < n; i++)
        to[2 * i] = from[i];
}

static void TILE_FN(line)(char *to, const char *from, int64_t n, int64_t to_step, int64_t from_step)
{
    const int64_t unit = (int64_t)sizeof(TILE_T);
    TILE_T *d = (TILE_T *)to;
    const TILE_T *s = (const TILE_T *)from;
    if (to_step == unit && from_step == unit)
        memcpy(to, from, (size_t)(n * unit));
    else if (to_step == unit && from_step == 0)
        for (int64_t i = 0; i < n; i++)
            d[i] = *s;
    else if (to_step == unit && from_step == 2 * unit)
        for (int64_t i = 0; i < n; i++)
            d[i] = s[2 * i];
    else if (to_step == unit && from_step == -2 * unit)
        for (int64_t i = 0; i < n; i++)
            d[i] = s[-2 * i];
    else if ((to_step == unit && from_step == -unit) || (to_step == -unit && from_step == unit))
        TILE_FN(turn)(d, s, n, to_step == unit);
    else if (to_step == 2 * unit && from_step == unit)
        TILE_FN(spread)(d, s, n);
    else
        for (int64_t i = 0; i < n; i++)
            *(TILE_T *)(to + i * to_step) = *(const TILE_T *)(from + i * from_step);
}

/* to[r][c] = from[r][c] by strides in bytes. */
static void TILE_FN(copy)(char *to, const char *from, int64_t rows, int64_t cols,
                          const int64_t *to_step, const int64_t *from_step)
{
    const int64_t unit = (int64_t)sizeof(TILE_T);
    int64_t r = 0;
    if (to_step[1] == unit && from_step[0] == unit && rows >= 4 && cols >= 4) {
        int64_t rows4 = rows & ~(int64_t)3, cols4 = cols & ~(int64_t)3;
        TILE_FN(transpose)(to, from, rows4, cols4, to_step[0], from_step[1]);
        for (; cols4 < cols && r < rows4; r++)
            TILE_FN(line)
        (to + r * to_step[0] + cols4 * unit, from + r * unit + cols4 * from_step[1], cols - cols4,
         unit, from_step[1]);
        r = rows4;
    }
    for (; r < rows; r++)
        TILE_FN(line)(to + r * to_step[0], from + r * from_step[0], cols, to_step[1], from_step[1]);
}
#undef TILE_T
#undef TILE_FN
