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

template <class T>
LIN_FN void lin_block_fill(const lin_side &s, int64_t item, int rows, int columns, T value)
{
    T *to = lin_item<T>(s, item);
    lin_block_each(s, rows, columns, [&](int i, int j) { to[i * s.row + j * s.column] = value; });
}

#endif
