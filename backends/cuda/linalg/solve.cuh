/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Systems of equations of small matrices, by one warp each. */
#ifndef NDOCK_CUDA_LINALG_SOLVE_CUH
#define NDOCK_CUDA_LINALG_SOLVE_CUH
#include <ndock/plugin.h>
#include "linalg/factor.cuh"
#include "linalg/shuffle.cuh"

/* A triangular matrix in shared memory, perhaps transposed or conjugated. */
template <class T> struct lin_triangle {
    const T *at;
    int down, across;
    bool conj, upper, unit;
    __device__ __forceinline__ T operator()(int i, int j) const
    {
        const T e = at[i * down + j * across];
        return conj ? lin_conj(e) : e;
    }
};

/* a x = b for b (n, k) in shared memory. */
template <class T> LIN_FN void lin_substitute(int n, int k, lin_triangle<T> a, T *b, int pitch)
{
    const lin_lanes l = lin_lanes_of(n);
    const T mine = l.lane < n && !a.unit ? a(l.lane, l.lane) : lin_make<T>(1, 0),
            inverse = lin_inverse(mine); /* each lane's pivot is another one */
    for (int step = 0; step < n; step++) {
        const int p = a.upper ? n - 1 - step : step;
        if (!a.unit) {
            const T pivot = lin_shuffle(mine, p), over = lin_shuffle(inverse, p);
            if (l.lane < k)
                b[l.lane * pitch + p] = lin_divided_by(b[l.lane * pitch + p], pivot, over);
            __syncwarp();
        }
        if (a.upper ? l.row < p : l.row > p && l.row < n) {
            const T e = a(l.row, p);
            for (int c = l.group; c < k; c += l.groups)
                b[c * pitch + l.row] = lin_minus(b[c * pitch + l.row], e, b[c * pitch + p]);
        }
        __syncwarp();
    }
}

/* Rows i and pivots[i] are exchanged, for i in order or back. A lane has a column. */
template <class T>
LIN_FN void lin_exchange(int n, int k, T *b, int pitch, const int *pivots, bool back)
{
    const int lane = (int)(threadIdx.x & 31);
    T *c = b + lane * pitch;
    for (int step = 0; step < n && lane < k; step++) {
        const int i = back ? n - 1 - step : step, other = pivots[i];
        const T t = c[i];
        c[i] = c[other];
        c[other] = t;
    }
    __syncwarp();
}

/* p l u x = b, or op of that. */
template <class T>
LIN_FN void lin_solve_factored(int n, int k, const T *lu, const int *pivots, int trans, T *b,
                               int pitch)
{
    const bool turned = trans != NDP_TRANS_N, conj = trans == NDP_TRANS_C;
    lin_triangle<T> l = {lu, 1, pitch, conj, false, true}, u = {lu, 1, pitch, conj, true, false};
    if (!turned) {
        lin_exchange(n, k, b, pitch, pivots, false);
        lin_substitute(n, k, l, b, pitch);
        lin_substitute(n, k, u, b, pitch);
        return;
    }
    l.down = u.down = pitch;
    l.across = u.across = 1;
    l.upper = true;
    u.upper = false;
    lin_substitute(n, k, u, b, pitch);
    lin_substitute(n, k, l, b, pitch);
    lin_exchange(n, k, b, pitch, pivots, true);
}

LIN_FN int lin_sides_at_once(int64_t k)
{
    const int64_t most = LIN_SMALL_SIDES;
    return (int)(k < most ? k : most);
}

/* Calls f(columns) for the right sides in shared memory, as many at once as have room, and stores
 * what it makes of them. */
template <class T, class F>
LIN_FN void lin_each_sides(const lin_small &p, const lin_side &in, int64_t item, T *b, int pitch,
                           F f)
{
    const lin_side &out = p.out[0];
    for (int64_t first = 0; first < p.k; first += LIN_SMALL_SIDES) {
        const int k = lin_sides_at_once(p.k - first);
        lin_load(in, lin_item<const T>(in, item) + first * in.column, p.m, k, LIN_ALL, false, b,
                 pitch);
        __syncwarp();
        f(k);
        lin_store(out, lin_item<T>(out, item) + first * out.column, p.m, k, LIN_ALL, b, pitch);
        __syncwarp();
    }
}

template <class T> LIN_FN T *lin_carve_sides(const lin_small &p, char *&room)
{
    return lin_carve<T>(room, lin_sides_at_once(p.k) * LIN_PITCH(p.m));
}

template <class T> LIN_FN int lin_solve_item(const lin_small &p, int64_t item, char *room)
{
    const int n = p.m, pitch = LIN_PITCH(n), lane = (int)(threadIdx.x & 31);
    T *a = lin_carve<T>(room, n * pitch), *b = lin_carve_sides<T>(p, room);
    int *pivots = lin_carve<int>(room, LIN_SMALL);
    lin_load(p.in[0], lin_item<const T>(p.in[0], item), n, n, LIN_ALL, false, a, pitch);
    if (p.packed && lane < n) { /* a pivot that is no row counts as its own */
        const int64_t given = lin_item<const int64_t>(p.in[1], item)[lane * p.in[1].row];
        pivots[lane] = given >= 0 && given < n ? (int)given : lane;
    }
    __syncwarp();
    if (!p.packed)
        lin_lu_of(n, n, a, pitch, pivots);
    const int failed = lin_zero_of(n, a, pitch);
    lin_each_sides(p, p.in[p.packed ? 2 : 1], item, b, pitch,
                   [&](int k) { lin_solve_factored(n, k, a, pivots, p.trans, b, pitch); });
    return failed;
}

template <class T> LIN_FN int lin_triangular_item(const lin_small &p, int64_t item, char *room)
{
    const int n = p.m, pitch = LIN_PITCH(n);
    T *a = lin_carve<T>(room, n * pitch), *b = lin_carve_sides<T>(p, room);
    const lin_triangle<T> t = {a, 1, pitch, false, p.upper != 0, p.unit != 0};
    lin_load(p.in[0], lin_item<const T>(p.in[0], item), n, n, p.upper ? LIN_UPPER : LIN_LOWER,
             p.conj != 0, a, pitch);
    __syncwarp();
    const int failed = p.unit ? 0 : lin_zero_of(n, a, pitch);
    lin_each_sides(p, p.in[1], item, b, pitch, [&](int k) { lin_substitute(n, k, t, b, pitch); });
    return failed;
}

#endif
