/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * QR iterations on real tridiagonal and bidiagonal matrices, and the rotations that they leave to be
 * applied to vectors. After scalar_tmpl.h of a real dtype. */

#define LIN_MOST_SWEEPS 60 /* on average, for each value */

/* Columns [first, first + count] of z, rows apart by ldz, are rotated in pairs from the left:
 * column j and j + 1 become c z[j] + s z[j + 1] and c z[j + 1] - s z[j]. A strip of rows goes
 * through all sweeps, what two neighbouring pairs share in registers. */
#define LIN_STRIP 32
static void LIN_FN(rotate)(int64_t rows, void *z_, int64_t ldz, const lin_rotations *r)
{
    const LIN_R *cs = r->values;
    for (int64_t i = 0; i < rows; i += LIN_STRIP) {
        LIN_R *strip = (LIN_R *)z_ + i;
        const int w = rows - i < LIN_STRIP ? (int)(rows - i) : LIN_STRIP;
        for (int64_t k = 0; k < r->n_sweeps; k++) {
            const lin_sweep *sweep = &r->sweeps[k];
            LIN_R *column = strip + sweep->first * ldz, carry[LIN_STRIP];
            memcpy(carry, column, (size_t)w * sizeof *carry);
            for (int64_t j = 0; j < sweep->count; j++, column += ldz) {
                const LIN_R c = cs[2 * (sweep->at + j)], s = cs[2 * (sweep->at + j) + 1];
                const LIN_R *next = column + ldz;
                if (w == LIN_STRIP)
                    for (int p = 0; p < LIN_STRIP; p++) {
                        const LIN_R a = carry[p], b = next[p];
                        column[p] = c * a + s * b;
                        carry[p] = c * b - s * a;
                    }
                else
                    for (int p = 0; p < w; p++) {
                        const LIN_R a = carry[p], b = next[p];
                        column[p] = c * a + s * b;
                        carry[p] = c * b - s * a;
                    }
            }
            memcpy(column, carry, (size_t)w * sizeof *carry);
        }
    }
}

/* One pair of columns. */
static void LIN_FN(rotate_pair)(int64_t rows, LIN_R *a, LIN_R *b, LIN_R c, LIN_R s)
{
    for (int64_t i = 0; i < rows; i++) {
        const LIN_R x = a[i], y = b[i];
        a[i] = c * x + s * y;
        b[i] = c * y - s * x;
    }
}

/* c x + s z = the length, c z - s x = 0. */
static LIN_R LIN_FN(givens)(LIN_R x, LIN_R z, LIN_R *c, LIN_R *s)
{
    if (z == 0) {
        *c = 1;
        *s = 0;
        return x;
    }
    const LIN_R size = LIN_RFN(hypot)(x, z);
    *c = x / size;
    *s = z / size;
    return size;
}

static void LIN_FN(note)(lin_rotations *r, LIN_R c, LIN_R s)
{
    LIN_R *cs = (LIN_R *)r->values + 2 * r->n_rotations++;
    cs[0] = c;
    cs[1] = s;
}

/* One implicit QR step with Wilkinson's shift on rows low to high (Golub and Van Loan, algorithm
 * 8.3.2). */
static void LIN_FN(tridiagonal_step)(LIN_R *d, LIN_R *e, int64_t low, int64_t high,
                                     lin_rotations *r)
{
    const LIN_R half = (d[high - 1] - d[high]) / 2, last = e[high - 1];
    const LIN_R size = LIN_RFN(hypot)(half, last);
    const LIN_R shift = d[high] - last * (last / (half + (half < 0 ? -size : size)));
    LIN_R x = d[low] - shift, z = e[low];
    for (int64_t k = low; k < high; k++) {
        LIN_R c, s;
        const LIN_R length = LIN_FN(givens)(x, z, &c, &s);
        if (k > low)
            e[k - 1] = length;
        const LIN_R a = d[k], b = d[k + 1], f = e[k], turn = s * (b - a) + 2 * c * f;
        d[k] = a + s * turn; /* small rotations change little, and so round little */
        d[k + 1] = b - s * turn;
        e[k] = c * turn - f;
        if (k + 1 < high) {
            x = e[k];
            z = s * e[k + 1];
            e[k + 1] = c * e[k + 1];
        }
        if (r)
            LIN_FN(note)(r, c, s);
    }
}

/* Room for one more sweep of so many rotations. */
static void LIN_FN(begin_sweep)(lin_rotations *r, int64_t first, int64_t count)
{
    if (!r)
        return;
    if (r->n_sweeps == LIN_SWEEPS || r->n_rotations + count > r->most)
        r->apply(r);
    r->sweeps[r->n_sweeps++] = (lin_sweep){first, count, r->n_rotations};
}

/* Eigenvalues d (n) of the matrix with diagonal d and e (n - 1) beside it. Returns whether they
 * converge. */
static int LIN_FN(tridiagonal)(int64_t n, void *d_, void *e_, lin_rotations *r)
{
    LIN_R *d = d_, *e = e_;
    int64_t high = n - 1;
    for (int64_t sweeps = 0; high > 0; sweeps++) {
        int64_t low = high;
        while (low > 0 &&
               LIN_RFN(fabs)(e[low - 1]) >
                   LIN_EPS / 2 * (LIN_RFN(fabs)(d[low - 1]) + LIN_RFN(fabs)(d[low])) &&
               LIN_RFN(fabs)(e[low - 1]) > LIN_TINY)
            low--;
        if (low > 0)
            e[low - 1] = 0;
        if (low == high) {
            high--;
            continue;
        }
        if (sweeps > LIN_MOST_SWEEPS * n)
            return 0;
        LIN_FN(begin_sweep)(r, low, high - low);
        LIN_FN(tridiagonal_step)(d, e, low, high, r);
    }
    if (r)
        r->apply(r);
    return 1;
}

/* ---- bidiagonal: Golub and Reinsch, Numer. Math. 14 (1970), in the four cases of LINPACK's
 * xSVDC ---- */

/* d[high] is zero: e[high - 1] is rotated away upwards, with columns of v. */
static void LIN_FN(zero_end)(LIN_R *d, LIN_R *e, int64_t low, int64_t high, lin_rotations *v)
{
    LIN_R f = e[high - 1], c, s;
    e[high - 1] = 0;
    if (v)
        v->apply(v);
    for (int64_t j = high - 1; j >= low; j--) {
        d[j] = LIN_FN(givens)(d[j], f, &c, &s);
        if (j > low) {
            f = -s * e[j - 1];
            e[j - 1] = c * e[j - 1];
        }
        if (v)
            LIN_FN(rotate_pair)
        (v->rows, (LIN_R *)v->z + j * v->ldz, (LIN_R *)v->z + high * v->ldz, c, s);
    }
}

/* d[at] is zero: e[at] is rotated away downwards, with columns of u. */
static void LIN_FN(zero_inside)(LIN_R *d, LIN_R *e, int64_t at, int64_t high, lin_rotations *u)
{
    LIN_R f = e[at], c, s;
    e[at] = 0;
    if (u)
        u->apply(u);
    for (int64_t j = at + 1; j <= high; j++) {
        d[j] = LIN_FN(givens)(d[j], f, &c, &s);
        if (j < high) {
            f = -s * e[j];
            e[j] = c * e[j];
        }
        if (u)
            LIN_FN(rotate_pair)
        (u->rows, (LIN_R *)u->z + j * u->ldz, (LIN_R *)u->z + at * u->ldz, c, s);
    }
}

static LIN_R LIN_FN(bidiagonal_shift)(const LIN_R *d, const LIN_R *e, int64_t low, int64_t high,
                                      LIN_R scale)
{
    const LIN_R last = d[high] / scale, before = d[high - 1] / scale, beside = e[high - 1] / scale;
    const LIN_R b = ((before + last) * (before - last) + beside * beside) / 2;
    const LIN_R c = (last * beside) * (last * beside);
    (void)low;
    if (b == 0 && c == 0)
        return 0;
    const LIN_R root = LIN_RFN(sqrt)(b * b + c);
    return c / (b + (b < 0 ? -root : root));
}

static void LIN_FN(bidiagonal_step)(LIN_R *d, LIN_R *e, int64_t low, int64_t high, lin_rotations *u,
                                    lin_rotations *v)
{
    LIN_R scale = 0, c, s;
    for (int64_t i = low; i <= high; i++) {
        scale = LIN_RFN(fmax)(scale, LIN_RFN(fabs)(d[i]));
        scale = i < high ? LIN_RFN(fmax)(scale, LIN_RFN(fabs)(e[i])) : scale;
    }
    const LIN_R first = d[low] / scale, last = d[high] / scale;
    LIN_R f = (first + last) * (first - last) + LIN_FN(bidiagonal_shift)(d, e, low, high, scale);
    LIN_R g = first * (e[low] / scale);
    LIN_FN(begin_sweep)(v, low, high - low);
    LIN_FN(begin_sweep)(u, low, high - low);
    for (int64_t j = low; j < high; j++) {
        const LIN_R above = LIN_FN(givens)(f, g, &c, &s);
        if (j > low)
            e[j - 1] = above;
        f = c * d[j] + s * e[j];
        e[j] = c * e[j] - s * d[j];
        g = s * d[j + 1];
        d[j + 1] = c * d[j + 1];
        if (v)
            LIN_FN(note)(v, c, s);
        d[j] = LIN_FN(givens)(f, g, &c, &s);
        f = c * e[j] + s * d[j + 1];
        d[j + 1] = c * d[j + 1] - s * e[j];
        if (j + 1 < high) {
            g = s * e[j + 1];
            e[j + 1] = c * e[j + 1];
        }
        if (u)
            LIN_FN(note)(u, c, s);
    }
    e[high - 1] = f;
}

/* Singular values d (n), which may be negative, of the matrix with diagonal d and e (n - 1) above
 * it; rotations of the columns of u and v, either NULL or both there. Returns whether they
 * converge. */
static int LIN_FN(bidiagonal)(int64_t n, void *d_, void *e_, lin_rotations *u, lin_rotations *v)
{
    LIN_R *d = d_, *e = e_;
    int64_t high = n - 1;
    for (int64_t sweeps = 0; high > 0;) {
        int64_t low = high, zero = -1;
        while (low > 0 &&
               LIN_RFN(fabs)(e[low - 1]) >
                   LIN_EPS / 2 * (LIN_RFN(fabs)(d[low - 1]) + LIN_RFN(fabs)(d[low])) &&
               LIN_RFN(fabs)(e[low - 1]) > LIN_TINY)
            low--;
        if (low > 0)
            e[low - 1] = 0;
        if (low == high) {
            high--;
            continue;
        }
        for (int64_t i = low; i <= high; i++)
            if (LIN_RFN(fabs)(d[i]) <= LIN_EPS / 2 *
                                           ((i > low ? LIN_RFN(fabs)(e[i - 1]) : 0) +
                                            (i < high ? LIN_RFN(fabs)(e[i]) : 0)))
                zero = i;
        if (sweeps++ > LIN_MOST_SWEEPS * n)
            return 0;
        if (zero >= 0)
            d[zero] = 0;
        if (zero == high)
            LIN_FN(zero_end)(d, e, low, high, v);
        else if (zero >= 0)
            LIN_FN(zero_inside)(d, e, zero, high, u);
        else
            LIN_FN(bidiagonal_step)(d, e, low, high, u, v);
    }
    if (u)
        u->apply(u);
    if (v)
        v->apply(v);
    return 1;
}
/* By merging: equal values stay in order. */
static void LIN_FN(merge)(int64_t n, const LIN_R *d, int by_magnitude, int64_t *order,
                          int64_t *room)
{
    const int64_t half = n / 2;
    int64_t i = 0, j = half, k = 0;
    if (n < 2)
        return;
    LIN_FN(merge)(half, d, by_magnitude, order, room);
    LIN_FN(merge)(n - half, d, by_magnitude, order + half, room);
    while (i < half && j < n) {
        const LIN_R a = d[order[i]], b = d[order[j]];
        const int second = by_magnitude ? LIN_RFN(fabs)(b) > LIN_RFN(fabs)(a) : b < a;
        room[k++] = order[second ? j++ : i++];
    }
    while (i < half)
        room[k++] = order[i++];
    memcpy(order, room, (size_t)k * sizeof *order);
}

/* order has room for 2 n. */
static void LIN_FN(sort)(int64_t n, const void *d, int by_magnitude, int64_t *order)
{
    for (int64_t i = 0; i < n; i++)
        order[i] = i;
    LIN_FN(merge)(n, d, by_magnitude, order, order + n);
}
#undef LIN_MOST_SWEEPS
#undef LIN_STRIP
