/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Eigenvalues of Hermitian matrices of 17 to 32 rows by Jacobi's rotations, in registers: lane i has
 * row i of the matrix and of the vectors. Neighbours meet, first (0, 1), (2, 3) ..., then (1, 2),
 * (3, 4) ..., and change places when they have met, so that after 32 such rounds each pair has met
 * once (Luk and Park, SIAM Journal on Scientific and Statistical Computing 10, 1989, show that this
 * order converges as the others do), and which registers meet is known to the compiler. */
#ifndef NDOCK_CUDA_LINALG_ROWS_CUH
#define NDOCK_CUDA_LINALG_ROWS_CUH
#include "linalg/eigen.cuh"
#include "linalg/shuffle.cuh"

/* Rows beyond the matrix's have an eigenvalue larger than all of a matrix whose largest element is
 * about one, so that they are last. */
enum { LIN_ROWS = 32, LIN_BEYOND = 4096 };

/* A rotation of columns, as lin_rotation has it. */
template <class T> struct alignas(16) lin_turn {
    LIN_R half, s;
    T u;
};

template <class T, bool VECTORS> struct lin_rows {
    T a[LIN_ROWS], v[VECTORS ? LIN_ROWS : 1];
    LIN_R own; /* the element of the diagonal; that in a is out of date */
};

/* x[at], by lane. */
template <class T> LIN_FN T lin_chosen(const T *x, int at)
{
    T half[LIN_ROWS / 2];
    LIN_UNROLL
    for (int i = 0; i < LIN_ROWS / 2; i++)
        half[i] = at & 1 ? x[2 * i + 1] : x[2 * i];
    LIN_UNROLL
    for (int bit = 1; bit < 5; bit++)
        LIN_UNROLL
    for (int i = 0; i < LIN_ROWS / 2 >> bit; i++)
        half[i] = at >> bit & 1 ? half[2 * i + 1] : half[2 * i];
    return half[0];
}

/* The rotation of columns p and q, which are lanes `lane` and `other`; it goes to *turn for all. g:
 * the factor of this lane's row, which moves to the other lane. */
template <class T>
LIN_FN bool lin_rows_meet(int lane, int other, LIN_R least_square, T met, LIN_R *own,
                          lin_turn<T> *turn, T *g)
{
    const int p = lane < other ? lane : other, q = lane < other ? other : lane;
    lin_rotation<T> r;
    const T apq = lin_shuffle(met, p);
    const LIN_R app = lin_shuffle(*own, p), aqq = lin_shuffle(*own, q), size = lin_magnitude(apq);
    const bool turned = p != q && lin_square(apq) > least_square;
    r.half = r.s = 0;
    r.u = lin_make<T>(1, 0);
    r.app = app;
    r.aqq = aqq;
    if (turned)
        lin_rotation_of(app, aqq, apq, size, &r);
    *own = lane == p ? r.aqq : r.app;
    *turn = {r.half, r.s, r.u};
    *g = lane == p ? lin_make<T>(-lin_re(r.u), lin_im(r.u)) : r.u;
    return turned;
}

/* Columns FIRST and FIRST + 1, FIRST + 2 and FIRST + 3 ... */
template <int FIRST, class T> LIN_FN void lin_rows_turn_columns(const lin_turn<T> *turns, T *x)
{
    LIN_UNROLL
    for (int p = FIRST; p + 1 < LIN_ROWS; p += 2) {
        const lin_turn<T> t = turns[p / 2];
        const T e = x[p], f = x[p + 1];
        const T down = lin_plus(lin_scaled(e, t.half), lin_conj(t.u), f),
                up = lin_minus(lin_scaled(f, t.half), t.u, e);
        x[p + 1] = lin_plus(e, lin_scaled(down, -t.s));
        x[p] = lin_plus(f, lin_scaled(up, -t.s));
    }
}

template <int FIRST, class T, bool VECTORS>
LIN_FN void lin_rows_round(LIN_R least_square, lin_rows<T, VECTORS> &x, lin_turn<T> *turns)
{
    const int lane = (int)(threadIdx.x & 31);
    int other = FIRST ? ((lane + 1) ^ 1) - 1 : lane ^ 1;
    if (other < 0 || other >= LIN_ROWS)
        other = lane;
    lin_turn<T> mine;
    T g;
    const bool turned =
        lin_rows_meet(lane, other, least_square, lin_chosen(x.a, other), &x.own, &mine, &g);
    if (lane < other)
        turns[lane / 2] = mine;
    __syncwarp();
    lin_rows_turn_columns<FIRST>(turns, x.a);
    if (VECTORS)
        lin_rows_turn_columns<FIRST>(turns, x.v);
    const int gone = turned ? other : -1;
    LIN_UNROLL
    for (int j = 0; j < LIN_ROWS; j++) {
        const T from = lin_shuffle(x.a[j], other);
        const T rest = lin_plus(lin_scaled(from, mine.half), g, x.a[j]);
        const T e = lin_plus(from, lin_scaled(rest, -mine.s));
        x.a[j] = j == gone ? lin_make<T>(0, 0) : e;
    }
    __syncwarp();
}

/* The largest square of an element above the diagonal, the same for every lane. Until two lanes have
 * met they keep their order, so that it is this element which they look at when they do. */
template <class T, bool VECTORS> LIN_FN LIN_R lin_rows_above(const lin_rows<T, VECTORS> &x)
{
    const int lane = (int)(threadIdx.x & 31);
    LIN_R most = 0;
    LIN_UNROLL
    for (int j = 0; j < LIN_ROWS; j++) {
        const LIN_R square = j > lane ? lin_square(x.a[j]) : 0;
        most = square > most ? square : most;
    }
    for (int apart = 16; apart > 0; apart /= 2) {
        const LIN_R there = lin_shuffle_xor(most, apart);
        most = there > most ? there : most;
    }
    return most;
}

/* a and v are stored with their values in order: value i in line[i], its vector in column i of v,
 * which may be NULL. */
template <class T, bool VECTORS>
LIN_FN void lin_rows_store(const lin_rows<T, VECTORS> &x, int n, T *v, int pitch, LIN_R *line,
                           int *order)
{
    const int lane = (int)(threadIdx.x & 31);
    int rank = 0;
    for (int j = 0; j < LIN_ROWS; j++) {
        const LIN_R there = lin_shuffle(x.own, j);
        rank += there < x.own || (there == x.own && j < lane);
    }
    order[lane] = rank;
    if (rank < n)
        line[rank] = x.own;
    __syncwarp();
    if (VECTORS && lane < n) {
        LIN_UNROLL
        for (int j = 0; j < LIN_ROWS; j++)
            if (order[j] < n)
                v[order[j] * pitch + lane] = x.v[j];
    }
    __syncwarp();
    order[lane] = lane;
    __syncwarp();
}

/* What lin_eigh_of does, for 17 to 32 rows; a's largest element is about one. Values go to line and
 * vectors to v, in order. */
template <bool VECTORS, class T>
LIN_FN bool lin_rows_eigh(int n, const T *a, T *v, int pitch, lin_turn<T> *turns, LIN_R *line,
                          int *order)
{
    const int lane = (int)(threadIdx.x & 31);
    const LIN_R least = lin_whole_norm(n, a, pitch, line) * (lin_limits<LIN_R>::eps / (4 * n));
    lin_rows<T, VECTORS> x;
    x.own = lane < n ? lin_re(a[lane * pitch + lane]) : (LIN_R)LIN_BEYOND;
    LIN_UNROLL
    for (int j = 0; j < LIN_ROWS; j++) {
        x.a[j] = lane < n && j < n ? a[j * pitch + lane] : lin_make<T>(0, 0);
        if (VECTORS)
            x.v[j] = lin_make<T>(j == lane, 0);
    }
    int sweep = 0;
    for (; sweep < LIN_SWEEPS && lin_rows_above(x) > least * least; sweep++)
        for (int round = 0; round < LIN_ROWS; round += 2) {
            lin_rows_round<0>(least * least, x, turns);
            lin_rows_round<1>(least * least, x, turns);
        }
    lin_rows_store(x, n, v, pitch, line, order);
    return sweep < LIN_SWEEPS;
}

#endif
