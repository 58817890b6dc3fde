/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Running sums of dense neighbouring lines in one reading. A block goes down a strip of lines, tile by
 * tile: each thread has some rows of a vector of lines, and reads those of the next tile before it sums
 * the present ones. Nothing is handed from block to block, and the order in which states are merged
 * follows from the width of the strip alone. */
#ifndef NDOCK_CUDA_SCAN_STRIP_CUH
#define NDOCK_CUDA_SCAN_STRIP_CUH

enum { STRIP_WARPS = SCAN_STRIP_THREADS / 32, STRIP_ROWS = SCAN_STRIP_ROWS };

/* The thread's rows from `row` on of its lines, which begin at `line`; beyond the end zeros. */
template <class T, int V>
LINE_FN void strip_load(const scan_params &p, const T *line, uint64_t row,
                        cuda_vector<T, V> (&v)[STRIP_ROWS])
{
#pragma unroll
    for (int k = 0; k < STRIP_ROWS; k++) {
        v[k] = {};
        if (row + k < p.n)
            v[k] = *(const cuda_vector<T, V> *)(line + (int64_t)(row + k) * p.in_step);
    }
}

/* The states of V lines over the thread's rows become those of the rows of the warp that lie in front;
 * the last threads of the warp leave the whole warp's in `sums`. */
template <class OP, int V>
LINE_FN void strip_warp(const scan_params &p, typename OP::state (&s)[V], typename OP::state *sums)
{
    const int lane = (int)threadIdx.x % 32;
#pragma unroll
    for (int c = 0; c < V; c++) {
        for (int h = p.beside; h < 32; h *= 2) {
            typename OP::state below = state_shuffle_up(s[c], h);
            s[c] = lane >= h ? OP::merge(below, s[c]) : s[c];
        }
        if (lane >= 32 - p.beside)
            sums[(lane & (p.beside - 1)) * V + c] = s[c];
        if (p.beside < 32)
            s[c] = state_shuffle_up(s[c], p.beside);
        s[c] = lane >= p.beside ? s[c] : OP::zero();
    }
}

/* Of each line the sums of the warps become what lies in front of each; a thread keeps the whole. */
template <class OP, int LINES>
LINE_FN void strip_block(typename OP::state (*sums)[LINES], int lines, typename OP::state &carry)
{
    const int line = (int)threadIdx.x;
    __syncthreads();
    if (line < lines)
#pragma unroll
        for (int w = 0; w < STRIP_WARPS; w++) {
            typename OP::state of_warp = sums[w][line];
            sums[w][line] = carry;
            carry = OP::merge(carry, of_warp);
        }
    __syncthreads();
}

/* The thread's rows, each with what lies in front of it. */
template <class OP, int V>
LINE_FN void strip_store(const scan_params &p, typename OP::result *line, uint64_t row,
                         const cuda_vector<typename OP::element, V> (&v)[STRIP_ROWS],
                         typename OP::state (&s)[V])
{
    typedef cuda_vector<typename OP::result, V> vector;
#pragma unroll
    for (int k = 0; k < STRIP_ROWS; k++) {
        vector r;
#pragma unroll
        for (int c = 0; c < V; c++) {
            s[c] = OP::merge(s[c], OP::one(v[k].at[c]));
            r.at[c] = OP::value(s[c]);
        }
        if (row + k < p.n)
            *(vector *)(line + (int64_t)(row + k) * p.out_step) = r;
    }
}

template <class OP> LINE_FN void scan_strip(const scan_params &p)
{
    typedef typename OP::state S;
    typedef typename OP::element T;
    const int bytes = (int)sizeof(T), V = bytes <= 4 ? 4 : 16 / bytes, warp = (int)threadIdx.x / 32;
    __shared__ S sums[STRIP_WARPS][32 * V];
    const uint32_t place = threadIdx.x & (uint32_t)(p.beside - 1);
    const uint32_t tile = SCAN_STRIP_THREADS / (uint32_t)p.beside * STRIP_ROWS;
    const uint64_t first = ((uint64_t)blockIdx.x * (uint32_t)p.beside + place) * V;
    const bool has = first < p.lines;
    int64_t from, to;
    line_offsets(p.dim, p.ndim, has ? first : 0, &from, &to);
    S carry = OP::zero();
    cuda_vector<T, V> next[STRIP_ROWS];
    /* A thread without lines stands behind the last row: it neither reads nor stores. */
    uint64_t row = has ? threadIdx.x / (uint32_t)p.beside * STRIP_ROWS : p.n;
    strip_load<T, V>(p, (const T *)p.in + from, row, next);
    for (uint64_t begin = 0; begin < p.n; begin += tile, row += tile) {
        cuda_vector<T, V> now[STRIP_ROWS];
        S s[V];
#pragma unroll
        for (int k = 0; k < STRIP_ROWS; k++)
            now[k] = next[k];
        strip_load<T, V>(p, (const T *)p.in + from, row + tile, next);
#pragma unroll
        for (int c = 0; c < V; c++) {
            s[c] = OP::one(now[0].at[c]);
#pragma unroll
            for (int k = 1; k < STRIP_ROWS; k++)
                s[c] = OP::merge(s[c], OP::one(now[k].at[c]));
        }
        strip_warp<OP, V>(p, s, sums[warp]);
        strip_block<OP, 32 * V>(sums, p.beside * V, carry);
#pragma unroll
        for (int c = 0; c < V; c++)
            s[c] = OP::merge(sums[warp][place * V + c], s[c]);
        strip_store<OP, V>(p, (typename OP::result *)p.out + to, row, now, s);
    }
}

#endif
