/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * A warp and its matrix: which lane has which element, and the way between views and shared
 * memory, where matrices are column-major. */
#ifndef NDOCK_CUDA_LINALG_LANES_CUH
#define NDOCK_CUDA_LINALG_LANES_CUH
#include "linalg/scalar.cuh"
#include "linalg/small.h"

/* Dynamic shared memory, aligned for every dtype. The emulation of tests has its own. */
#ifndef LIN_SHARED
#define LIN_SHARED(name) extern __shared__ __align__(16) char name[]
#endif

/* What a lane has of a grid of `rows` rows: row `row`, if it is one of these, of each column
 * `group`, group + groups ... */
struct lin_lanes {
    int lane, row, group, groups;
};
LIN_FN lin_lanes lin_lanes_of(int rows)
{
    int shift = 0;
    while (1 << shift < rows && shift < 5)
        shift++;
    const int lane = (int)(threadIdx.x & 31);
    return {lane, lane & ((1 << shift) - 1), lane >> shift, 32 >> shift};
}

/* A part of the warp's shared memory. */
template <class T> LIN_FN T *lin_carve(char *&room, int elements)
{
    T *at = (T *)room;
    room += ((size_t)elements * sizeof(T) + 15) / 16 * 16;
    return at;
}

template <class T> LIN_FN T *lin_item(const lin_side &s, int64_t item)
{
    return (T *)s.at + item * s.batch;
}

LIN_FN bool lin_is_kept(int part, int i, int j)
{
    return part == LIN_ALL || (part == LIN_LOWER ? i >= j : i <= j);
}

/* Calls f(i, j) for each element of a matrix of at most 32 rows and columns, lanes beside each
 * other along the dimension in which the view's elements are nearer. */
template <class F> LIN_FN void lin_each(const lin_side &s, int rows, int columns, F f)
{
    const int64_t down = s.row < 0 ? -s.row : s.row, across = s.column < 0 ? -s.column : s.column;
    if (across <= down) {
        const lin_lanes l = lin_lanes_of(columns);
        for (int i = l.group; i < rows; i += l.groups)
            if (l.row < columns)
                f(i, l.row);
    } else {
        const lin_lanes l = lin_lanes_of(rows);
        for (int j = l.group; j < columns; j += l.groups)
            if (l.row < rows)
                f(l.row, j);
    }
}

template <class T>
LIN_FN void lin_load(const lin_side &s, const T *from, int rows, int columns, int part, bool conj,
                     T *to, int pitch)
{
    lin_each(s, rows, columns, [&](int i, int j) {
        T e = lin_make<T>(0, 0);
        if (lin_is_kept(part, i, j))
            e = from[i * s.row + j * s.column];
        to[j * pitch + i] = conj ? lin_conj(e) : e;
    });
}

template <class T>
LIN_FN void lin_store(const lin_side &s, T *to, int rows, int columns, int part, const T *from,
                      int pitch)
{
    lin_each(s, rows, columns, [&](int i, int j) {
        to[i * s.row + j * s.column] =
            lin_is_kept(part, i, j) ? from[j * pitch + i] : lin_make<T>(0, 0);
    });
}

template <class T>
LIN_FN void lin_store_all(const lin_side &s, T *to, int rows, int columns, T value)
{
    lin_each(s, rows, columns, [&](int i, int j) { to[i * s.row + j * s.column] = value; });
}

template <class T> LIN_FN T lin_nan()
{
    const LIN_R nan = (LIN_R)NAN;
    return lin_make<T>(nan, nan);
}

/* The largest magnitude of a part in a matrix in shared memory, of which `line` has room for one
 * number a column; infinity where an element is not finite. */
template <class T>
LIN_FN LIN_R lin_largest(const T *a, int pitch, int rows, int columns, LIN_R *line)
{
    const int lane = (int)(threadIdx.x & 31);
    LIN_R most = 0;
    if (lane < columns) {
        for (int i = 0; i < rows; i++) {
            const T e = a[lane * pitch + i];
            const LIN_R re = lin_abs(lin_re(e)), im = lin_abs(lin_im(e));
            const LIN_R larger = re >= im ? re : im; /* NaN fails the next comparison */
            most = larger <= lin_limits<LIN_R>::huge && re == re ? (larger > most ? larger : most)
                                                                 : (LIN_R)INFINITY;
        }
        line[lane] = most;
    }
    __syncwarp();
    most = 0;
    for (int j = 0; j < columns; j++)
        most = line[j] > most ? line[j] : most;
    __syncwarp();
    return most;
}

#endif
