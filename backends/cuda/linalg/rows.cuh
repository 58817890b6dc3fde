/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Eigenvalues of Hermitian matrices of up to ROWS rows, 8, 16 or 32, by Jacobi's rotations, in
 * registers: as many lanes have a row of the matrix and of the vectors each, and a warp has 32 / ROWS
 * matrices. Neighbours meet, first (0, 1), (2, 3) ..., then (1, 2), (3, 4) ..., and change places
 * when they have met, so that after ROWS such rounds each pair has met once (Luk and Park, SIAM Journal on Scientific and Statistical Computing 10, 1989, show that this
 * order converges as the others do), and which registers meet is known to the compiler. */
#ifndef NDOCK_CUDA_LINALG_ROWS_CUH
#define NDOCK_CUDA_LINALG_ROWS_CUH
#include "linalg/eigen.cuh"
#include "linalg/shuffle.cuh"

/* Rows beyond the matrix's have an eigenvalue larger than all of a matrix whose largest element is
 * about one, so that they are last. */
enum { LIN_BEYOND = 4096 };

/* A rotation of columns, as lin_rotation has it. */
template <class T> struct alignas(16) lin_turn {
    LIN_R half, s;
    T u;
};

template <class T, int ROWS, bool VECTORS> struct lin_rows {
    T a[ROWS], v[VECTORS ? ROWS : 1];
    LIN_R own; /* the element of the diagonal; that in a is out of date */
};

/* The lane's row, and the lane of row 0 of its matrix. */
template <int ROWS> LIN_FN int lin_own_row()
{
    return (int)(threadIdx.x & (ROWS - 1));
}
template <int ROWS> LIN_FN int lin_first_lane()
{
    return (int)(threadIdx.x & 31 & ~(ROWS - 1));
}

/* x[at], by lane. */
template <int ROWS, class T> LIN_FN T lin_chosen(const T *x, int at)
{
    T half[ROWS / 2];
    LIN_UNROLL
    for (int i = 0; i < ROWS / 2; i++)
        half[i] = at & 1 ? x[2 * i + 1] : x[2 * i];
    LIN_UNROLL
    for (int bit = 1; 1 << bit < ROWS; bit++)
        LIN_UNROLL
    for (int i = 0; i < ROWS / 2 >> bit; i++)
        half[i] = at >> bit & 1 ? half[2 * i + 1] : half[2 * i];
    return half[0];
}

/* The rotation of columns p and q, which are those of rows `row` and `other`; it goes to *turn for
 * all. g: the factor of this lane's row, which moves to the other lane. */
template <int ROWS, class T>
LIN_FN bool lin_rows_meet(int row, int other, LIN_R least_square, T met, LIN_R *own,
                          lin_turn<T> *turn, T *g)
{
    const int p = row < other ? row : other, q = row < other ? other : row;
    const int first = lin_first_lane<ROWS>();
    lin_rotation<T> r;
    const T apq = lin_shuffle(met, first + p);
    const LIN_R app = lin_shuffle(*own, first + p), aqq = lin_shuffle(*own, first + q),
                size = lin_magnitude(apq);
    const bool turned = p != q && lin_square(apq) > least_square;
    r.half = r.s = 0;
    r.u = lin_make<T>(1, 0);
    r.app = app;
    r.aqq = aqq;
    if (turned)
        lin_rotation_of(app, aqq, apq, size, lin_tangent(aqq - app, size), &r);
    *own = row == p ? r.aqq : r.app;
    *turn = {r.half, r.s, r.u};
    *g = row == p ? lin_make<T>(-lin_re(r.u), lin_im(r.u)) : r.u;
    return turned;
}

/* Columns FIRST and FIRST + 1, FIRST + 2 and FIRST + 3 ... */
template <int ROWS, int FIRST, class T>
LIN_FN void lin_rows_turn_columns(const lin_turn<T> *turns, T *x)
{
    LIN_UNROLL
    for (int p = FIRST; p + 1 < ROWS; p += 2) {
        const lin_turn<T> t = turns[p / 2];
        const T e = x[p], f = x[p + 1];
        const T down = lin_plus(lin_scaled(e, t.half), lin_conj(t.u), f),
                up = lin_minus(lin_scaled(f, t.half), t.u, e);
        x[p + 1] = lin_plus(e, lin_scaled(down, -t.s));
        x[p] = lin_plus(f, lin_scaled(up, -t.s));
    }
}

/* turns: a matrix's own. */
template <int FIRST, class T, int ROWS, bool VECTORS>
LIN_FN void lin_rows_round(LIN_R least_square, lin_rows<T, ROWS, VECTORS> &x, lin_turn<T> *turns)
{
    const int row = lin_own_row<ROWS>();
    int other = FIRST ? ((row + 1) ^ 1) - 1 : row ^ 1;
    if (other < 0 || other >= ROWS)
        other = row;
    lin_turn<T> mine;
    T g;
    const bool turned = lin_rows_meet<ROWS>(row, other, least_square, lin_chosen<ROWS>(x.a, other),
                                            &x.own, &mine, &g);
    if (row < other)
        turns[row / 2] = mine;
    __syncwarp();
    lin_rows_turn_columns<ROWS, FIRST>(turns, x.a);
    if (VECTORS)
        lin_rows_turn_columns<ROWS, FIRST>(turns, x.v);
    const int gone = turned ? other : -1, from_lane = lin_first_lane<ROWS>() + other;
    LIN_UNROLL
    for (int j = 0; j < ROWS; j++) {
        const T from = lin_shuffle(x.a[j], from_lane);
        const T rest = lin_plus(lin_scaled(from, mine.half), g, x.a[j]);
        const T e = lin_plus(from, lin_scaled(rest, -mine.s));
        x.a[j] = j == gone ? lin_make<T>(0, 0) : e;
    }
    __syncwarp();
}

/* The largest of the lanes of a matrix. */
template <int ROWS, class R> LIN_FN R lin_rows_most(R x)
{
    for (int apart = ROWS / 2; apart > 0; apart /= 2) {
        const R there = lin_shuffle_xor(x, apart);
        x = there > x ? there : x;
    }
    return x;
}

/* Whether an element above the diagonal has a larger square, in the lane's matrix. Until two rows
 * have met they keep their order, so that it is this element which they look at when they do. */
template <class T, int ROWS, bool VECTORS>
LIN_FN bool lin_rows_open(const lin_rows<T, ROWS, VECTORS> &x, LIN_R least_square)
{
    const int row = lin_own_row<ROWS>();
    int larger = 0;
    LIN_UNROLL
    for (int j = 0; j < ROWS; j++)
        larger |= j > row && lin_square(x.a[j]) > least_square;
    return lin_rows_most<ROWS>(larger) != 0;
}

/* Sweeps until all matrices of the warp are diagonal but for rounding, or LIN_SWEEPS have been; how
 * many. */
template <class T, int ROWS, bool VECTORS>
LIN_FN int lin_rows_sweep(LIN_R least_square, lin_rows<T, ROWS, VECTORS> &x, lin_turn<T> *turns)
{
    int sweep = 0;
    for (; sweep < LIN_SWEEPS && lin_rows_most<32>((int)lin_rows_open(x, least_square)); sweep++)
        for (int round = 0; round < ROWS; round += 2) {
            lin_rows_round<0>(least_square, x, turns);
            lin_rows_round<1>(least_square, x, turns);
        }
    return sweep;
}

/* a and v are stored with their values in order: value i in line[i], its vector in column i of v,
 * which may be NULL. Of equal values the one is first whose row was before the sweeps, which turn the
 * order round, so that it does not matter how many there were for other matrices' sake. */
template <class T, int ROWS, bool VECTORS>
LIN_FN void lin_rows_store(const lin_rows<T, ROWS, VECTORS> &x, int n, int sweeps, T *v, int pitch,
                           LIN_R *line, int *order)
{
    const int row = lin_own_row<ROWS>(), first = lin_first_lane<ROWS>();
    int rank = 0;
    for (int j = 0; j < ROWS; j++) {
        const LIN_R there = lin_shuffle(x.own, first + j);
        const bool before = sweeps % 2 ? j > row : j < row;
        rank += there < x.own || (there == x.own && before);
    }
    order[row] = rank;
    if (rank < n)
        line[rank] = x.own;
    __syncwarp();
    if (VECTORS && row < n) {
        LIN_UNROLL
        for (int j = 0; j < ROWS; j++)
            if (order[j] < n)
                v[order[j] * pitch + row] = x.v[j];
    }
    __syncwarp();
}

/* The upper bound of what counts as zero, of a matrix whose rows are in x. */
template <class T, int ROWS, bool VECTORS>
LIN_FN LIN_R lin_rows_least(int n, const lin_rows<T, ROWS, VECTORS> &x)
{
    LIN_R sum = 0;
    if (lin_own_row<ROWS>() < n) {
        LIN_UNROLL
        for (int j = 0; j < ROWS; j++)
            sum += lin_square(x.a[j]);
    }
    for (int apart = ROWS / 2; apart > 0; apart /= 2)
        sum += lin_shuffle_xor(sum, apart);
    return lin_root(sum) * (lin_limits<LIN_R>::eps / (4 * n));
}

/* What lin_eigh_of does, for 17 to 32 rows; a's largest element is about one. Values go to line and
 * vectors to v, in order. */
template <bool VECTORS, class T>
LIN_FN bool lin_rows_eigh(int n, const T *a, T *v, int pitch, lin_turn<T> *turns, LIN_R *line,
                          int *order)
{
    const int lane = lin_own_row<LIN_SMALL>();
    lin_rows<T, LIN_SMALL, VECTORS> x;
    x.own = lane < n ? lin_re(a[lane * pitch + lane]) : (LIN_R)LIN_BEYOND;
    LIN_UNROLL
    for (int j = 0; j < LIN_SMALL; j++) {
        x.a[j] = lane < n && j < n ? a[j * pitch + lane] : lin_make<T>(0, 0);
        if (VECTORS)
            x.v[j] = lin_make<T>(j == lane, 0);
    }
    const LIN_R least = lin_rows_least(n, x);
    const int sweeps = lin_rows_sweep(least * least, x, turns);
    lin_rows_store(x, n, sweeps, v, pitch, line, order);
    order[lane] = lane;
    __syncwarp();
    return sweeps < LIN_SWEEPS;
}

#endif
