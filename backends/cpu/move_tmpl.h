/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Moves of elements of one size, whatever they mean. Included with MOVE_T, an unsigned type of any
 * alignment, MOVE_SIZE its bytes, and MOVE_BITS its bits where register tiles exist for it. */
#define MOVE_FN(name) CPU_CAT(name, MOVE_SIZE)

static inline void MOVE_FN(move_row)(char *restrict dst, int64_t dst_step, const char *restrict src,
                                     int64_t src_step, int64_t n)
{
    MOVE_T *restrict d = (MOVE_T *)dst;
    const MOVE_T *restrict s = (const MOVE_T *)src;
    const MOVE_T first = *s;
    if (dst_step != MOVE_SIZE)
        for (int64_t i = 0; i < n; i++)
            *(MOVE_T *)(dst + i * dst_step) = *(const MOVE_T *)(src + i * src_step);
    else if (src_step == MOVE_SIZE)
        move_run(dst, src, n * MOVE_SIZE);
    else if (src_step == 0)
        for (int64_t i = 0; i < n; i++)
            d[i] = first;
    else if (src_step == 2 * MOVE_SIZE) /* steps known when compiling become shuffles */
        for (int64_t i = 0; i < n; i++)
            d[i] = s[2 * i];
    else if (src_step == -MOVE_SIZE)
        for (int64_t i = 0; i < n; i++)
            d[i] = s[-i];
    else
        for (int64_t i = 0; i < n; i++)
            d[i] = *(const MOVE_T *)(src + i * src_step);
}

static void MOVE_FN(move_rows)(const cpu_block *b)
{
    for (int64_t r = 0; b->cols > 0 && r < b->rows; r++)
        MOVE_FN(move_row)(b->dst + r * b->dst_row, b->dst_col, b->src + r * b->src_row, b->src_col,
                          b->cols);
}

/* The part [row, rows) x [col, cols) of a transposition, element by element. */
static void MOVE_FN(transpose_rest)(const cpu_block *b, int64_t row, int64_t rows, int64_t col,
                                    int64_t cols)
{
    for (int64_t r = row; r < rows; r++)
        for (int64_t c = col; c < cols; c++)
            *(MOVE_T *)(b->dst + r * b->dst_row + c * MOVE_SIZE) =
                *(const MOVE_T *)(b->src + r * MOVE_SIZE + c * b->src_col);
}

#if defined(MOVE_BITS) && defined(MOVE_LANES)
/* One lane of 16 bytes holds MOVE_TILE elements. A register takes the same lane of MOVE_LANES source
 * runs, MOVE_TILE apart, so that after log2(MOVE_TILE) rounds of interleaving within lanes each
 * register is MOVE_LANES*MOVE_TILE neighbours of one destination row. */
#define MOVE_TILE (16 / MOVE_SIZE)
static inline void MOVE_FN(transpose_tile)(char *dst, int64_t dst_row, const char *src,
                                           int64_t src_col)
{
    move_vector v[MOVE_TILE], w[MOVE_TILE];
    for (int i = 0; i < MOVE_TILE; i++)
        v[i] = move_load(src + i * src_col, MOVE_TILE * src_col);
    for (int step = 1; step < MOVE_TILE; step *= 2) {
        for (int i = 0; i < MOVE_TILE / 2; i++) {
            w[2 * i] = MOVE_ZIP_LOW(MOVE_BITS, v[i], v[i + MOVE_TILE / 2]);
            w[2 * i + 1] = MOVE_ZIP_HIGH(MOVE_BITS, v[i], v[i + MOVE_TILE / 2]);
        }
        memcpy(v, w, sizeof v);
    }
    for (int i = 0; i < MOVE_TILE; i++)
        move_store(dst + i * dst_row, v[i]);
}

static void MOVE_FN(transpose)(const cpu_block *b)
{
    int64_t wide = MOVE_LANES * MOVE_TILE;
    int64_t rows = b->rows - b->rows % MOVE_TILE, cols = b->cols - b->cols % wide;
    for (int64_t c = 0; c < cols; c += wide)
        for (int64_t r = 0; r < rows; r += MOVE_TILE)
            MOVE_FN(transpose_tile)(b->dst + r * b->dst_row + c * MOVE_SIZE, b->dst_row,
                                    b->src + r * MOVE_SIZE + c * b->src_col, b->src_col);
    MOVE_FN(transpose_rest)(b, 0, rows, cols, b->cols);
    MOVE_FN(transpose_rest)(b, rows, b->rows, 0, b->cols);
}
#undef MOVE_TILE
#else
static void MOVE_FN(transpose)(const cpu_block *b)
{
    MOVE_FN(transpose_rest)(b, 0, b->rows, 0, b->cols);
}
#endif
#undef MOVE_FN
#undef MOVE_T
#undef MOVE_SIZE
#undef MOVE_BITS
