/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Moves of elements of one size, whatever they mean. Included with MOVE_T, an unsigned type of any
 * alignment, MOVE_SIZE its bytes, and MOVE_BITS its bits where register tiles exist for it. */
#define MOVE_FN(name) CPU_CAT(name, MOVE_SIZE)
#if defined(__AVX512F__) && (MOVE_SIZE == 4 || MOVE_SIZE == 8)
#define MOVE_SECOND
#include "copy/second_tmpl.h"
#endif

/* Neighbours (step 1 or -1) or every second one (2 or -2) to every second element of the
 * destination, as into the parts of complex numbers; those between are not touched, since another
 * thread may write them. The step is known when compiling. */
static inline __attribute__((always_inline)) void MOVE_FN(move_spread)(MOVE_T *restrict d,
                                                                       const MOVE_T *restrict s,
                                                                       const int step, int64_t n)
{
    int64_t i = 0;
#ifdef MOVE_SECOND
    i = MOVE_FN(spread_registers)(d, s, step, n);
#endif
    for (; i + 4 <= n; i += 4)
        for (int64_t k = i; k < i + 4; k++)
            d[2 * k] = s[step * k];
    for (; i < n; i++)
        d[2 * i] = s[step * i];
}

/* Every second element, from the first on (step 2) or backwards (-2), one after the other. */
static inline __attribute__((always_inline)) void MOVE_FN(move_gather)(MOVE_T *restrict d,
                                                                       const MOVE_T *restrict s,
                                                                       const int step, int64_t n)
{
    int64_t i = 0;
#ifdef MOVE_SECOND
    i = MOVE_FN(gather_registers)(d, s, step, n);
#endif
    for (; i < n; i++) /* the step becomes shuffles */
        d[i] = s[step * i];
}

/* move_spread by the step in bytes. Returns 0, and moves nothing, where the step is none of these. */
static inline int MOVE_FN(moved_spread)(char *dst, const char *src, int64_t src_step, int64_t n)
{
    MOVE_T *d = (MOVE_T *)dst;
    const MOVE_T *s = (const MOVE_T *)src;
    if (src_step == MOVE_SIZE)
        MOVE_FN(move_spread)(d, s, 1, n);
    else if (src_step == -MOVE_SIZE)
        MOVE_FN(move_spread)(d, s, -1, n);
    else if (src_step == 2 * MOVE_SIZE)
        MOVE_FN(move_spread)(d, s, 2, n);
    else if (src_step == -2 * MOVE_SIZE)
        MOVE_FN(move_spread)(d, s, -2, n);
    else
        return 0;
    return 1;
}

static inline void MOVE_FN(move_row)(char *restrict dst, int64_t dst_step, const char *restrict src,
                                     int64_t src_step, int64_t n)
{
    MOVE_T *restrict d = (MOVE_T *)dst;
    const MOVE_T *restrict s = (const MOVE_T *)src;
    const MOVE_T first = *s;
    if (dst_step != MOVE_SIZE && src_step == 0)
        for (int64_t i = 0; i < n; i++, dst += dst_step)
            *(MOVE_T *)dst = first;
    else if (dst_step == 2 * MOVE_SIZE && MOVE_FN(moved_spread)(dst, src, src_step, n))
        return;
    else if (dst_step != MOVE_SIZE)
        for (int64_t i = 0; i < n; i++)
            *(MOVE_T *)(dst + i * dst_step) = *(const MOVE_T *)(src + i * src_step);
    else if (src_step == MOVE_SIZE)
        move_run(dst, src, n * MOVE_SIZE);
    else if (src_step == 0)
        for (int64_t i = 0; i < n; i++)
            d[i] = first;
    else if (src_step == 2 * MOVE_SIZE)
        MOVE_FN(move_gather)(d, s, 2, n);
    else if (src_step == -MOVE_SIZE)
        for (int64_t i = 0; i < n; i++)
            d[i] = s[-i];
    else if (src_step == -2 * MOVE_SIZE)
        MOVE_FN(move_gather)(d, s, -2, n);
    else
        for (int64_t i = 0; i < n; i++)
            d[i] = *(const MOVE_T *)(src + i * src_step);
}

/* Many short rows are moved column by column, which takes fewer loops. */
static void MOVE_FN(move_rows)(const cpu_block *b)
{
    if (b->cols < 8 && b->rows > 4 * b->cols) {
        for (int64_t c = 0; c < b->cols; c++)
            MOVE_FN(move_row)
        (b->dst + c * b->dst_col, b->dst_row, b->src + c * b->src_col, b->src_row, b->rows);
        return;
    }
    for (int64_t r = 0; b->cols > 0 && r < b->rows; r++)
        MOVE_FN(move_row)
    (b->dst + r * b->dst_row, b->dst_col, b->src + r * b->src_row, b->src_col, b->cols);
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
/* One lane of 16 bytes holds MOVE_TILE elements. A register takes the same lane of MOVE_LANES
 * source runs, MOVE_TILE apart, so that after log2(MOVE_TILE) rounds of interleaving within lanes
 * each register is MOVE_LANES*MOVE_TILE neighbours of one destination row. */
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
            MOVE_FN(transpose_tile)
    (b->dst + r * b->dst_row + c * MOVE_SIZE, b->dst_row, b->src + r * MOVE_SIZE + c * b->src_col,
     b->src_col);
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

/* Transposes a source that is one stream of short runs, fetched ahead, and writes the result out.
 */
static void MOVE_FN(stream_dense)(const cpu_block *b, char *staged)
{
    enum { SLAB = 16 };
    int64_t row_bytes = b->cols * MOVE_SIZE;
    for (int64_t c = 0; c < b->cols; c += SLAB) {
        cpu_block part = {.dst = staged + c * MOVE_SIZE, .src = b->src + c * b->src_col};
        part.rows = b->rows;
        part.cols = b->cols - c < SLAB ? b->cols - c : SLAB;
        part.dst_row = row_bytes;
        part.src_col = b->src_col;
        for (int64_t i = 0; i < SLAB * b->src_col; i += LINE)
            __builtin_prefetch(part.src + 2 * SLAB * b->src_col + i);
        MOVE_FN(transpose)(&part);
    }
    for (int64_t r = 0; r < b->rows; r++)
        stream_row(b, r, staged + r * row_bytes, row_bytes, b->rows * MOVE_SIZE);
}

static void MOVE_FN(stream_strip)(const cpu_block *b)
{
    _Alignas(LINE) char strip[CPU_COPY_STRIP_BYTES], staged[CPU_COPY_STRIP_COLS * LINE];
    int64_t group = LINE / MOVE_SIZE, row_bytes = b->cols * MOVE_SIZE, run = b->rows * MOVE_SIZE;
    int64_t pitch = cpu_copy_strip_pitch(run);
    if (run <= 2 * LINE && b->src_col >= run && b->src_col <= 2 * run) {
        MOVE_FN(stream_dense)(b, strip);
        return;
    }
    fill_strip(strip, pitch, b, run);
    for (int64_t r = 0; r < b->rows; r += group) {
        int64_t rows = b->rows - r < group ? b->rows - r : group;
        cpu_block part = {.dst = staged, .src = strip + r * MOVE_SIZE, .rows = rows};
        part.cols = b->cols;
        part.dst_row = row_bytes;
        part.src_col = pitch;
        MOVE_FN(transpose)(&part);
        for (int64_t k = 0; k < rows; k++)
            stream_row(b, r + k, staged + k * row_bytes, row_bytes, run);
    }
}

static void MOVE_FN(transpose_stream)(const cpu_block *b)
{
    int64_t strip_rows = CPU_COPY_STRIP_RUN / MOVE_SIZE;
    int64_t strip_cols = cpu_copy_strip_cols(b->rows * MOVE_SIZE);
    for (int64_t r = 0; r < b->rows; r += strip_rows)
        for (int64_t c = 0; c < b->cols; c += strip_cols) {
            cpu_block part = *b;
            part.dst += r * b->dst_row + c * MOVE_SIZE;
            part.src += r * MOVE_SIZE + c * b->src_col;
            part.rows = b->rows - r < strip_rows ? b->rows - r : strip_rows;
            part.cols = b->cols - c < strip_cols ? b->cols - c : strip_cols;
            MOVE_FN(stream_strip)(&part);
        }
}
#undef MOVE_FN
#undef MOVE_T
#undef MOVE_SIZE
#undef MOVE_BITS
#undef MOVE_SECOND
