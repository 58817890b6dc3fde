/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * One long transform: its columns, its rows, and what else is done to a line of elements. Between
 * its columns and its rows it lies in blocks of LANES rows, in cells: element j of rows b*LANES and
 * up is cell b*n2 + j. */

/* The io of `lanes` neighbours of a line from element `at` on, whose next ones are `apart` elements
 * on. */
static cpu_fft_io part_of(const cpu_fft_io *line, int64_t at, int64_t lanes, int64_t apart)
{
    cpu_fft_io io = {.re = line->re, .im = line->im, .step = apart * line->step};
    io.lanes = (int32_t)(lanes < LANES ? lanes : LANES);
    io.scale[0] = line->scale[0];
    io.scale[1] = line->scale[1];
    for (int i = 0; i < io.lanes; i++)
        io.lane[i] = line->lane[0] + (at + i) * line->step;
    return io;
}

/* A column's cells, LANES of them at a time, become cells of LANES rows. */
static void turn_columns(cell *column, int64_t n1, int64_t n2, int64_t j, int64_t lanes, cell *rows)
{
    vec re[LANES], im[LANES];
    for (int64_t k = 0; k < n1; k += LANES) {
#pragma GCC unroll 16
        for (int i = 0; i < LANES; i++) {
            re[i] = column[k + i].r;
            im[i] = column[k + i].i;
        }
        turn_square(re);
        turn_square(im);
        cell *to = rows + k / LANES * n2 + j;
        for (int i = 0; i < lanes; i++)
            to[i] = (cell){re[i], im[i]};
    }
}

/* begin and end count vectors of columns. work: n1 cells, rounded up to a vector, and what the node
 * needs. */
static void run_columns(const cpu_fft_plan *plan, int32_t at, const cpu_fft_io *in, int64_t begin,
                        int64_t end, void *rows, void *work)
{
    const cpu_fft_node *node = &plan->shape.node[at];
    const int64_t n1 = plan->shape.node[node->first].n, n2 = node->n / n1;
    const int64_t rounded = (n1 + LANES - 1) / LANES * LANES;
    const cut_table t = cut_table_of(plan, node);
    cell *column = work;
    for (int64_t k = n1; k < rounded; k++)
        column[k] = (cell){all(0), all(0)};
    for (int64_t j = begin * LANES; j < end * LANES && j < n2; j += LANES) {
        const cpu_fft_io part = part_of(in, j, n2 - j, n2);
        load(column, &part, n1);
        run_cells(plan, node->first, column, column + rounded);
        for (int64_t k = 0; k < n1; k++) {
            cell w = cut_factors(&t, n2, k, j);
            column[k] = times(column[k], w.r, w.i);
        }
        turn_columns(column, n1, n2, j, part.lanes, rows);
    }
}

/* begin and end count blocks of rows. */
static void run_rows(const cpu_fft_plan *plan, int32_t at, void *rows, int64_t begin, int64_t end,
                     const cpu_fft_io *out, void *work)
{
    const cpu_fft_node *node = &plan->shape.node[at];
    const int64_t n1 = plan->shape.node[node->first].n, n2 = node->n / n1;
    for (int64_t b = begin; b < end; b++) {
        cell *block = (cell *)rows + b * n2;
        const cpu_fft_io part = part_of(out, b * LANES, n1 - b * LANES, n1);
        run_cells(plan, node->second, block, work);
        store(block, &part, n2);
    }
}

/* ---- lines as two dense arrays of their parts ---- */

/* Where element 0 of a line begins if its elements lie one after the other, both parts together;
 * else NULL. */
INLINE char *dense_line(const cpu_fft_io *line, int *exchanged)
{
    const lie l = lie_of(line);
    *exchanged = l.exchanged;
    return l.together && line->step == 2 * PART ? l.base + line->lane[0] : NULL;
}

/* A part whose elements lie one after the other; NULL: there is none, and zeros are read. */
static void load_dense(const char *part, const cpu_fft_io *line, int64_t begin, int64_t end,
                       FFT_REAL *to)
{
    const size_t nbytes = (size_t)(end - begin) * PART;
    if (part)
        memcpy(to + begin, part + line->lane[0] + begin * PART, nbytes);
    else
        memset(to + begin, 0, nbytes);
}

static void store_dense(const FFT_REAL *from, double scale, const cpu_fft_io *line, int64_t begin,
                        int64_t end, char *part)
{
    const FFT_REAL s = (FFT_REAL)scale;
    FFT_REAL *to = part ? (FFT_REAL *)(part + line->lane[0]) : NULL;
    int64_t j = begin;
    for (; to && j + LANES <= end; j += LANES)
        store_vec(to + j, s * load_vec(from + j));
    for (; to && j < end; j++)
        to[j] = s * from[j];
}

static void load_line(const cpu_fft_io *line, int64_t begin, int64_t end, void *re, void *im)
{
    int exchanged;
    if (line->step == PART) {
        load_dense(line->re, line, begin, end, re);
        load_dense(line->im, line, begin, end, im);
        return;
    }
    const char *from = dense_line(line, &exchanged);
    FFT_REAL *first = exchanged ? im : re, *second = exchanged ? re : im;
    cell c;
    int64_t j = begin;
    for (; from && j + LANES <= end; j += LANES) {
        vec a = load_vec(from + j * 2 * PART), b = load_vec(from + j * 2 * PART + FFT_BYTES);
        store_vec(first + j, SHUFFLE(a, b, EVEN));
        store_vec(second + j, SHUFFLE(a, b, ODD));
    }
    for (; j < end; j += LANES) {
        const cpu_fft_io part = part_of(line, j, end - j, 0);
        const size_t nbytes = (size_t)part.lanes * PART;
        load(&c, &part, 1);
        memcpy((FFT_REAL *)re + j, &c.r, nbytes);
        memcpy((FFT_REAL *)im + j, &c.i, nbytes);
    }
}

static void store_line(const void *re, const void *im, int64_t begin, int64_t end,
                       const cpu_fft_io *line)
{
    int exchanged;
    if (line->step == PART) {
        store_dense(re, line->scale[0], line, begin, end, line->re);
        store_dense(im, line->scale[1], line, begin, end, line->im);
        return;
    }
    char *to = dense_line(line, &exchanged);
    const FFT_REAL *first = exchanged ? im : re, *second = exchanged ? re : im;
    const FFT_REAL s1 = (FFT_REAL)line->scale[exchanged], s2 = (FFT_REAL)line->scale[!exchanged];
    cell c = {all(0), all(0)};
    int64_t j = begin;
    for (; to && j + LANES <= end; j += LANES) {
        vec a = s1 * load_vec(first + j), b = s2 * load_vec(second + j);
        store_vec(to + j * 2 * PART, SHUFFLE(a, b, LOW));
        store_vec(to + j * 2 * PART + FFT_BYTES, SHUFFLE(a, b, HIGH));
    }
    for (; j < end; j += LANES) {
        const cpu_fft_io part = part_of(line, j, end - j, 0);
        const size_t nbytes = (size_t)part.lanes * PART;
        memcpy(&c.r, (const FFT_REAL *)re + j, nbytes);
        memcpy(&c.i, (const FFT_REAL *)im + j, nbytes);
        store(&c, &part, 1);
    }
}

/* Elements begin to end times numbers of a table. exchange: the parts change places then. */
static void multiply_line(void *re_, void *im_, const void *wr_, const void *wi_, int64_t begin,
                          int64_t end, int exchange)
{
    FFT_REAL *re = re_, *im = im_;
    const FFT_REAL *wr = wr_, *wi = wi_;
    int64_t j = begin;
    for (; j + LANES <= end; j += LANES) {
        const cell x = {load_vec(re + j), load_vec(im + j)};
        const cell y = times(x, load_vec(wr + j), load_vec(wi + j));
        store_vec(re + j, exchange ? y.i : y.r);
        store_vec(im + j, exchange ? y.r : y.i);
    }
    for (; j < end; j++) {
        FFT_REAL x = re[j] * wr[j] - im[j] * wi[j], y = re[j] * wi[j] + im[j] * wr[j];
        re[j] = exchange ? y : x;
        im[j] = exchange ? x : y;
    }
}
