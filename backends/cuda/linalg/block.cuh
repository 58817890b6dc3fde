/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * A block and its matrix, which lies in shared memory column by column: who has which element, and
 * what the warps of a block do alone. */
#ifndef NDOCK_CUDA_LINALG_BLOCK_CUH
#define NDOCK_CUDA_LINALG_BLOCK_CUH
#include "linalg/factor.cuh"
#include "linalg/shuffle.cuh"

template <int N> struct lin_parts {
    static constexpr int count = N;
};

LIN_FN int lin_warp()
{
    return (int)(threadIdx.x >> 5);
}
LIN_FN int lin_warps()
{
    return (int)(blockDim.x >> 5);
}
LIN_FN int lin_lane()
{
    return (int)(threadIdx.x & 31);
}

/* Calls f(i, j) for each element of a matrix, a warp a line in the direction in which the view's
 * elements are nearer. */
template <class F> LIN_FN void lin_block_each(const lin_side &s, int rows, int columns, F f)
{
    const int64_t down = s.row < 0 ? -s.row : s.row, across = s.column < 0 ? -s.column : s.column;
    if (across <= down) {
        for (int i = lin_warp(); i < rows; i += lin_warps())
            for (int j = lin_lane(); j < columns; j += 32)
                f(i, j);
    } else {
        for (int j = lin_warp(); j < columns; j += lin_warps())
            for (int i = lin_lane(); i < rows; i += 32)
                f(i, j);
    }
}

template <class T>
LIN_FN void lin_block_load(const lin_side &s, int64_t item, int rows, int columns, int part,
                           bool conj, T *to, int pitch)
{
    const T *from = lin_item<const T>(s, item);
    lin_block_each(s, rows, columns, [&](int i, int j) {
        T e = lin_make<T>(0, 0);
        if (lin_is_kept(part, i, j))
            e = from[i * s.row + j * s.column];
        to[j * pitch + i] = conj ? lin_conj(e) : e;
    });
}

template <class T>
LIN_FN void lin_block_store(const lin_side &s, int64_t item, int rows, int columns, int part,
                            const T *from, int pitch)
{
    T *to = lin_item<T>(s, item);
    lin_block_each(s, rows, columns, [&](int i, int j) {
        to[i * s.row + j * s.column] =
            lin_is_kept(part, i, j) ? from[j * pitch + i] : lin_make<T>(0, 0);
    });
}

/* Sum of x over the lanes, the same bits for each of them. */
template <class T> LIN_FN T lin_warp_sum(T x)
{
    for (int apart = 16; apart > 0; apart /= 2)
        x = lin_plus(x, lin_shuffle_xor(x, apart));
    return x;
}
template <class R> LIN_FN R lin_warp_most(R x) /* NaN where there is one */
{
    for (int apart = 16; apart > 0; apart /= 2) {
        const R other = lin_shuffle_xor(x, apart);
        x = other > x || other != other ? other : x;
    }
    return x;
}

/* The 2-norm of rows `first` to n of x by a warp, as lin_norm_of. */
template <class T> LIN_FN LIN_R lin_warp_norm(int first, int n, const T *x)
{
    typedef LIN_R R;
    R sum = 0, most = 0;
    for (int i = first + lin_lane(); i < n; i += 32)
        sum += lin_square(x[i]);
    sum = lin_warp_sum(sum);
    if (sum > lin_limits<R>::tiny / lin_limits<R>::eps && sum < lin_limits<R>::huge)
        return lin_root(sum);
    for (int i = first + lin_lane(); i < n; i += 32) {
        const R size = lin_size(x[i]);
        most = size > most || size != size ? size : most;
    }
    most = lin_warp_most(most);
    if (!(most > 0) || most > lin_limits<R>::huge)
        return most;
    sum = 0;
    for (int i = first + lin_lane(); i < n; i += 32)
        sum += lin_square(lin_over(x[i], most));
    return most * lin_root(lin_warp_sum(sum));
}

/* Calls f(lin_parts<N>()) for a number N of parts of 32 rows that n rows fit into. */
template <class F> LIN_FN void lin_by_parts(int n, F f)
{
    static_assert(LIN_BLOCK_ROWS == 128, "there are up to four parts");
    if (n <= 64)
        f(lin_parts<2>());
    else
        f(lin_parts<4>());
}

/* From each column c > j of a (m, n), from row `from(c)` > j on, column j times factor(c) is
 * subtracted: a warp has some columns, and column j in registers. */
template <int PARTS, class T, class ROWS, class FACTOR>
LIN_FN void lin_block_subtract(int j, int m, int n, T *a, int pitch, ROWS from, FACTOR factor)
{
    const int lane = lin_lane();
    T mine[PARTS];
    LIN_UNROLL
    for (int q = 0; q < PARTS; q++) {
        const int i = 32 * q + lane;
        mine[q] = i > j && i < m ? a[j * pitch + i] : lin_make<T>(0, 0);
    }
    for (int first = j + 1 + lin_warp(); first < n; first += LIN_AT_ONCE * lin_warps()) {
        T e[LIN_AT_ONCE][PARTS];
        LIN_UNROLL
        for (int k = 0; k < LIN_AT_ONCE; k++) {
            const int c = first + k * lin_warps(), least = c < n ? from(c) : m;
            LIN_UNROLL
            for (int q = 0; q < PARTS; q++)
                if (32 * q + lane >= least && 32 * q + lane < m)
                    e[k][q] = lin_minus(a[c * pitch + 32 * q + lane], mine[q], factor(c));
        }
        LIN_UNROLL
        for (int k = 0; k < LIN_AT_ONCE; k++) {
            const int c = first + k * lin_warps(), least = c < n ? from(c) : m;
            LIN_UNROLL
            for (int q = 0; q < PARTS; q++)
                if (32 * q + lane >= least && 32 * q + lane < m)
                    a[c * pitch + 32 * q + lane] = e[k][q];
        }
    }
}

/* ---- cholesky ---- */

/* What lin_cholesky_of is for a warp. */
template <int PARTS, class T> LIN_FN int lin_block_cholesky_of(int n, T *a, int pitch)
{
    for (int j = 0; j < n; j++) {
        T *column = a + j * pitch;
        const LIN_R pivot = lin_re(column[j]);
        if (!(pivot > 0))
            return pivot == pivot ? j + 1 : LIN_HAS_NAN;
        const LIN_R root = lin_root(pivot);
        __syncthreads();
        for (int i = j + (int)threadIdx.x; i < n; i += (int)blockDim.x)
            column[i] = i == j ? lin_make<T>(root, 0) : lin_over(column[i], root);
        __syncthreads();
        lin_block_subtract<PARTS>(
            j, n, n, a, pitch, [&](int c) { return c; },
            [&](int c) { return lin_conj(column[c]); });
        __syncthreads();
    }
    return 0;
}

template <class T>
LIN_FN void lin_block_fill(const lin_side &s, int64_t item, int rows, int columns, T value)
{
    T *to = lin_item<T>(s, item);
    lin_block_each(s, rows, columns, [&](int i, int j) { to[i * s.row + j * s.column] = value; });
}

template <class T> LIN_FN int lin_block_cholesky_item(const lin_small &p, int64_t item, char *room)
{
    const int n = p.m, pitch = LIN_PITCH(n);
    T *a = lin_carve<T>(room, n * pitch);
    lin_block_load(p.in[0], item, n, n, LIN_LOWER, false, a, pitch);
    __syncthreads();
    int failed = 0;
    lin_by_parts(n, [&](auto parts) {
        failed = lin_block_cholesky_of<decltype(parts)::count>(n, a, pitch);
    });
    __syncthreads();
    if (failed)
        lin_block_fill(p.out[0], item, n, n, lin_nan<T>());
    else
        lin_block_store(p.out[0], item, n, n, LIN_LOWER, a, pitch);
    return failed;
}

#endif
