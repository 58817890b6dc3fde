/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * From memory to cells and back. Where lanes, or elements, lie one after the other, vectors are
 * loaded and turned; anything else goes element by element. */

enum { PART = sizeof(FFT_REAL) };
enum { FEW_AT_ONCE = FFT_BYTES > 16 }; /* two or three lanes are as fast one by one */

/* How the elements of an io lie. */
typedef struct {
    char *base;     /* of the part that comes first */
    int exchanged;  /* im comes before re */
    int together;   /* re and im of an element lie side by side */
    int64_t across; /* bytes from lane to lane, 0 if they differ */
} lie;

static lie lie_of(const cpu_fft_io *io)
{
    lie l = {.base = io->re};
    l.exchanged = io->re && io->re == io->im + PART;
    l.together = io->re && io->im && (l.exchanged || io->im == io->re + PART);
    if (l.exchanged)
        l.base = io->im;
    if (io->lanes < 2)
        return l;
    l.across = io->lane[1] - io->lane[0];
    for (int i = 1; i < io->lanes; i++)
        if (io->lane[i] - io->lane[i - 1] != l.across)
            l.across = 0;
    return l;
}

/* ---- loads ---- */
static void load_parts(FFT_REAL *to, const char *from, const cpu_fft_io *io, int64_t begin,
                       int64_t n)
{
    for (int64_t j = begin; j < n; j++, to += 2 * LANES)
        for (int l = 0; l < LANES; l++)
            to[l] =
                from && l < io->lanes ? *(const FFT_REAL *)(from + io->lane[l] + j * io->step) : 0;
}

static void load_each(cell *to, const cpu_fft_io *io, int64_t begin, int64_t n)
{
    load_parts((FFT_REAL *)(to + begin), io->re, io, begin, n);
    load_parts((FFT_REAL *)(to + begin) + LANES, io->im, io, begin, n);
}

/* Up to LANES elements that lie side by side, both parts together: fewer than that are followed by
 * zeros. */
INLINE void load_few(const char *from, int64_t n, vec both[2])
{
    if (n == LANES / 2) { /* of a known size, without a call */
        both[0] = load_vec(from);
        both[1] = all(0);
        return;
    }
    both[0] = load_first(from, 2 * n);
    both[1] = load_first(from + FFT_BYTES, 2 * n - LANES);
}

INLINE void store_few(char *to, int64_t n, const vec both[2])
{
    if (n == LANES / 2) {
        store_vec(to, both[0]);
        return;
    }
    store_first(to, 2 * n, both[0]);
    store_first(to + FFT_BYTES, 2 * n - LANES, both[1]);
}

/* Lanes side by side, elements with both parts together. */
static void load_across(cell *to, const lie *l, const cpu_fft_io *io, int64_t n)
{
    const char *from = l->base + io->lane[0];
    for (int64_t j = 0; j < n; j++, from += io->step) {
        vec a = load_vec(from), b = load_vec(from + FFT_BYTES);
        vec even = SHUFFLE(a, b, EVEN), odd = SHUFFLE(a, b, ODD);
        to[j] = l->exchanged ? (cell){odd, even} : (cell){even, odd};
    }
}

/* Lanes of each part side by side. */
static void load_apart(cell *to, const cpu_fft_io *io, int64_t n)
{
    const char *re = io->re ? io->re + io->lane[0] : NULL;
    const char *im = io->im ? io->im + io->lane[0] : NULL;
    for (int64_t j = 0; j < n; j++) {
        to[j].r = re ? load_vec(re + j * io->step) : all(0);
        to[j].i = im ? load_vec(im + j * io->step) : all(0);
    }
}

/* The same of fewer lanes than a vector has. */
static void load_few_across(cell *to, const lie *l, const cpu_fft_io *io, int64_t n)
{
    const char *from = l->base + io->lane[0];
    for (int64_t j = 0; j < n; j++, from += io->step) {
        vec both[2];
        load_few(from, io->lanes, both);
        vec even = SHUFFLE(both[0], both[1], EVEN), odd = SHUFFLE(both[0], both[1], ODD);
        to[j] = l->exchanged ? (cell){odd, even} : (cell){even, odd};
    }
}

static void load_few_apart(cell *to, const cpu_fft_io *io, int64_t n)
{
    const char *re = io->re ? io->re + io->lane[0] : NULL;
    const char *im = io->im ? io->im + io->lane[0] : NULL;
    for (int64_t j = 0; j < n; j++) {
        to[j].r = re ? load_first(re + j * io->step, io->lanes) : all(0);
        to[j].i = im ? load_first(im + j * io->step, io->lanes) : all(0);
    }
}

/* Of lanes anywhere, from byte `at` on, as many elements with both parts together as are turned at
 * once. */
#if FFT_BYTES == 32
enum { AT_ONCE = LANES / 2 };
INLINE void load_some(cell *to, const lie *l, const cpu_fft_io *io, int64_t at)
{
    vec x[LANES];
#pragma GCC unroll 16
    for (int k = 0; k < LANES; k++)
        x[k] = load_vec(l->base + io->lane[k] + at);
    cells_of_pairs(x, to);
    if (l->exchanged)
        for (int k = 0; k < AT_ONCE; k++)
            to[k] = (cell){to[k].i, to[k].r};
}
INLINE void store_some(const cell *from, const lie *l, const cpu_fft_io *io, int64_t at)
{
    const FFT_REAL sr = (FFT_REAL)io->scale[0], si = (FFT_REAL)io->scale[1];
    cell c[AT_ONCE];
    vec x[LANES];
#pragma GCC unroll 16
    for (int k = 0; k < AT_ONCE; k++) {
        const vec re = sr * from[k].r, im = si * from[k].i;
        c[k] = l->exchanged ? (cell){im, re} : (cell){re, im};
    }
    pairs_of_cells(c, x);
#pragma GCC unroll 16
    for (int k = 0; k < LANES; k++)
        store_vec(l->base + io->lane[k] + at, x[k]);
}
#else
enum { AT_ONCE = LANES };
INLINE void load_some(cell *to, const lie *l, const cpu_fft_io *io, int64_t at)
{
    vec even[LANES], odd[LANES];
#pragma GCC unroll 16
    for (int k = 0; k < LANES; k++) {
        const char *from = l->base + io->lane[k] + at;
        vec a = load_vec(from), b = load_vec(from + FFT_BYTES);
        even[k] = SHUFFLE(a, b, EVEN);
        odd[k] = SHUFFLE(a, b, ODD);
    }
    turn_square(even);
    turn_square(odd);
#pragma GCC unroll 16
    for (int k = 0; k < LANES; k++)
        to[k] = l->exchanged ? (cell){odd[k], even[k]} : (cell){even[k], odd[k]};
}
INLINE void store_some(const cell *from, const lie *l, const cpu_fft_io *io, int64_t at)
{
    const FFT_REAL sr = (FFT_REAL)io->scale[0], si = (FFT_REAL)io->scale[1];
    vec even[LANES], odd[LANES];
#pragma GCC unroll 16
    for (int k = 0; k < LANES; k++) {
        vec re = sr * from[k].r, im = si * from[k].i;
        even[k] = l->exchanged ? im : re;
        odd[k] = l->exchanged ? re : im;
    }
    turn_square(even);
    turn_square(odd);
#pragma GCC unroll 16
    for (int k = 0; k < LANES; k++) {
        char *to = l->base + io->lane[k] + at;
        store_vec(to, SHUFFLE(even[k], odd[k], LOW));
        store_vec(to + FFT_BYTES, SHUFFLE(even[k], odd[k], HIGH));
    }
}
#endif

/* Elements side by side with both parts together, lanes anywhere. */
static void load_along(cell *to, const lie *l, const cpu_fft_io *io, int64_t n)
{
    int64_t j = 0;
    vec even[LANES], odd[LANES];
    for (; j + AT_ONCE <= n; j += AT_ONCE)
        load_some(to + j, l, io, j * 2 * PART);
    if (j == n)
        return;
    for (int k = 0; k < LANES; k++) {
        vec both[2];
        load_few(l->base + io->lane[k] + j * 2 * PART, n - j, both);
        even[k] = SHUFFLE(both[0], both[1], EVEN);
        odd[k] = SHUFFLE(both[0], both[1], ODD);
    }
    turn_square(even);
    turn_square(odd);
    for (int k = 0; k < n - j; k++)
        to[j + k] = l->exchanged ? (cell){odd[k], even[k]} : (cell){even[k], odd[k]};
}

static void load(void *cells, const cpu_fft_io *io, int64_t n)
{
    const lie l = lie_of(io);
    const int full = io->lanes == LANES, some = full || FEW_AT_ONCE;
    if (some && l.together && l.across == 2 * PART)
        (full ? load_across : load_few_across)(cells, &l, io, n);
    else if (some && !l.together && l.across == PART)
        (full ? load_apart : load_few_apart)(cells, io, n);
    else if (l.together && io->step == 2 * PART && io->lanes == LANES)
        load_along(cells, &l, io, n);
    else
        load_each(cells, io, 0, n);
}

/* ---- stores ---- */
static void store_parts(const FFT_REAL *from, char *to, FFT_REAL scale, const cpu_fft_io *io,
                        int64_t begin, int64_t n)
{
    for (int64_t j = begin; j < n && to; j++, from += 2 * LANES)
        for (int l = 0; l < io->lanes; l++)
            *(FFT_REAL *)(to + io->lane[l] + j * io->step) = scale * from[l];
}

static void store_each(const cell *from, const cpu_fft_io *io, int64_t begin, int64_t n)
{
    const FFT_REAL *part = (const FFT_REAL *)(from + begin);
    store_parts(part, io->re, (FFT_REAL)io->scale[0], io, begin, n);
    store_parts(part + LANES, io->im, (FFT_REAL)io->scale[1], io, begin, n);
}

static void store_across(const cell *from, const lie *l, const cpu_fft_io *io, int64_t n)
{
    const FFT_REAL sr = (FFT_REAL)io->scale[0], si = (FFT_REAL)io->scale[1];
    char *to = l->base + io->lane[0];
    for (int64_t j = 0; j < n; j++, to += io->step) {
        vec re = sr * from[j].r, im = si * from[j].i;
        vec even = l->exchanged ? im : re, odd = l->exchanged ? re : im;
        store_vec(to, SHUFFLE(even, odd, LOW));
        store_vec(to + FFT_BYTES, SHUFFLE(even, odd, HIGH));
    }
}

static void store_apart(const cell *from, const cpu_fft_io *io, int64_t n)
{
    const FFT_REAL sr = (FFT_REAL)io->scale[0], si = (FFT_REAL)io->scale[1];
    for (int64_t j = 0; j < n; j++) {
        if (io->re)
            store_vec(io->re + io->lane[0] + j * io->step, sr * from[j].r);
        if (io->im)
            store_vec(io->im + io->lane[0] + j * io->step, si * from[j].i);
    }
}

/* The same of fewer lanes than a vector has. */
static void store_few_across(const cell *from, const lie *l, const cpu_fft_io *io, int64_t n)
{
    const FFT_REAL sr = (FFT_REAL)io->scale[0], si = (FFT_REAL)io->scale[1];
    char *to = l->base + io->lane[0];
    for (int64_t j = 0; j < n; j++, to += io->step) {
        vec re = sr * from[j].r, im = si * from[j].i;
        vec even = l->exchanged ? im : re, odd = l->exchanged ? re : im;
        const vec both[2] = {SHUFFLE(even, odd, LOW), SHUFFLE(even, odd, HIGH)};
        store_few(to, io->lanes, both);
    }
}

static void store_few_apart(const cell *from, const cpu_fft_io *io, int64_t n)
{
    const FFT_REAL sr = (FFT_REAL)io->scale[0], si = (FFT_REAL)io->scale[1];
    for (int64_t j = 0; j < n; j++) {
        if (io->re)
            store_first(io->re + io->lane[0] + j * io->step, io->lanes, sr * from[j].r);
        if (io->im)
            store_first(io->im + io->lane[0] + j * io->step, io->lanes, si * from[j].i);
    }
}

static void store_along(const cell *from, const lie *l, const cpu_fft_io *io, int64_t n)
{
    const FFT_REAL sr = (FFT_REAL)io->scale[0], si = (FFT_REAL)io->scale[1];
    int64_t j = 0;
    vec even[LANES], odd[LANES];
    for (; j + AT_ONCE <= n; j += AT_ONCE)
        store_some(from + j, l, io, j * 2 * PART);
    if (j == n)
        return;
    for (int k = 0; k < LANES; k++) {
        const int inside = k < n - j;
        vec re = inside ? sr * from[j + k].r : all(0), im = inside ? si * from[j + k].i : all(0);
        even[k] = l->exchanged ? im : re;
        odd[k] = l->exchanged ? re : im;
    }
    turn_square(even);
    turn_square(odd);
    for (int k = 0; k < LANES; k++) {
        const vec both[2] = {SHUFFLE(even[k], odd[k], LOW), SHUFFLE(even[k], odd[k], HIGH)};
        store_few(l->base + io->lane[k] + j * 2 * PART, n - j, both);
    }
}

static void store(const void *cells, const cpu_fft_io *io, int64_t n)
{
    const lie l = lie_of(io);
    const int full = io->lanes == LANES, some = full || FEW_AT_ONCE;
    if (some && l.together && l.across == 2 * PART)
        (full ? store_across : store_few_across)(cells, &l, io, n);
    else if (some && !l.together && l.across == PART)
        (full ? store_apart : store_few_apart)(cells, io, n);
    else if (l.together && io->step == 2 * PART && io->lanes == LANES)
        store_along(cells, &l, io, n);
    else
        store_each(cells, io, 0, n);
}
