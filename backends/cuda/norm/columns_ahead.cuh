/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * softmax of long rows of f32 side by side, as columns.cuh has it, by clusters of sixteen blocks: three
 * tiles are in shared memory, one that arrives, one that is summed, one whose sums are on their way from
 * block to block or whose results are written. Sums of exponentials are taken without the largest
 * element first, so that a tile waits for one join: e^x = e^r 2^n is added to a double as it is, which
 * holds it for |x| < 700. Tiles of columns beyond that, or with a NaN, are computed by two joins. */
#ifndef NDOCK_CUDA_NORM_COLUMNS_AHEAD_CUH
#define NDOCK_CUDA_NORM_COLUMNS_AHEAD_CUH
#include "norm/columns.cuh"

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
/* e^r and n of x = r + n ln 2 where |r| <= ln 2/2; magic: 1.5*2^23 and what is to be added to n in the
 * low bits of t. */
LINE_FN float ahead_split(float x, float magic, float *t)
{
    *t = __fmaf_rn(x, 1.44269504f, magic);
    const float n = *t - magic;
    return fit_exp_near(__fmaf_rn(n, 0x1.05c610p-29f, __fmaf_rn(n, -0x1.62e430p-1f, x)));
}
LINE_FN double ahead_add(double sum, float x)
{
    float t;
    const float e = ahead_split(cm_clamp(x, -700.0f, 700.0f), 12582912.0f, &t);
    return fma((double)e, __hiloint2double((int)((__float_as_uint(t) << 20) + (1023u << 20)), 0),
               sum);
}
/* Whether a column's sum has all that counts of it: then no element has reached 700, and those below
 * -700 are nothing beside it. */
LINE_FN bool ahead_is_whole(double sum)
{
    return sum > 0x1p-900 && sum < 0x1p1000;
}
/* What makes results of a column's elements: 2^k is the sum's power of two, and high + low is 2^-60 of
 * 2^k/sum, so that e^x 2^(60 - k) is a normal number wherever the result is not zero. */
struct ahead_quotient {
    float least, magic, high, low;
    LINE_MEMBER void set(double sum)
    {
        const int k = (__double2hiint(sum) >> 20) - 1023;
        const double last = __hiloint2double((1023 - 60 + k) << 20, 0) / sum;
        high = (float)last;
        low = (float)(last - (double)high);
        least = (float)k * 0.693147181f - 125.0f;
        magic = 12582912.0f + (float)(60 - k);
    }
    LINE_MEMBER float of(float x) const
    {
        float t, e = ahead_split(fmaxf(x, least), magic, &t);
        e = __uint_as_float(__float_as_uint(e) + (__float_as_uint(t) << 23));
        return __fmaf_rn(e, high, e * low);
    }
};

enum { AHEAD_COLUMNS = NORM_AHEAD_LANES * 4 };
typedef columns_place<float, NORM_AHEAD_CLUSTER> ahead_place;
struct ahead_shared {
    columns_post<NORM_AHEAD_CLUSTER, AHEAD_COLUMNS, 4> sums;
    columns_post<NORM_AHEAD_CLUSTER, AHEAD_COLUMNS, 2> again;
    ahead_quotient quotient[2][AHEAD_COLUMNS]; /* a tile's while the last one's are still read */
};
/* The thread's vectors of a tile, each where it alone looks. */
LINE_FN void ahead_load(const ahead_place &at, float4 *stage)
{
#pragma unroll
    for (int k = 0; k < NORM_AHEAD_HELD; k++)
        if (at.line + k * at.lines < at.n)
            at.copy_one((ahead_place::vector *)stage + at.lane, at.line + k * at.lines);
}
LINE_FN void ahead_sum(const ahead_place &at, const float4 *stage, double (&sum)[4])
{
#pragma unroll
    for (int k = 0; k < NORM_AHEAD_HELD; k++)
        if (at.line + k * at.lines < at.n) {
            const float4 v = stage[k * NORM_COLUMN_THREADS + threadIdx.x];
            sum[0] = ahead_add(sum[0], v.x);
            sum[1] = ahead_add(sum[1], v.y);
            sum[2] = ahead_add(sum[2], v.z);
            sum[3] = ahead_add(sum[3], v.w);
        }
}
LINE_FN void ahead_write(const ahead_place &at, const float4 *stage, const ahead_quotient *column)
{
    const ahead_quotient q[4] = {column[0], column[1], column[2], column[3]};
#pragma unroll
    for (int k = 0; k < NORM_AHEAD_HELD; k++)
        if (at.line + k * at.lines < at.n) {
            const float4 v = stage[k * NORM_COLUMN_THREADS + threadIdx.x];
            const ahead_place::vector r = {
                {q[0].of(v.x), q[1].of(v.y), q[2].of(v.z), q[3].of(v.w)}};
            at.put(at.line + k * at.lines, r);
        }
}
/* A tile some of whose columns are not whole, as the other kernels compute it. */
LINE_FN void ahead_again(const ahead_place &at, float4 *stage, ahead_shared &s, int *turn)
{
    columns_staged<float, ahead_place> rows = {at, (ahead_place::vector *)stage + at.lane};
    float most[4];
    columns_most(rows, most);
    columns_softmax<float, false>(rows, most, s.again, *turn);
    *turn += 2;
}
LINE_FN void columns_ahead(const norm_params &p)
{
    extern __shared__ __align__(32) unsigned char norm_stage[];
    __shared__ ahead_shared s;
    const uint64_t step = gridDim.x / NORM_AHEAD_CLUSTER, first = blockIdx.x / NORM_AHEAD_CLUSTER;
    const int columns = p.width * 4, c = (int)threadIdx.x;
    const uint64_t all = (p.rows + columns - 1) / columns;
    const int tiles = first < all ? (int)((all - 1 - first) / step) + 1 : 0;
    auto stage = [&](int k) {
        return (float4 *)norm_stage + k % NORM_AHEAD_STAGES * NORM_AHEAD_HELD * NORM_COLUMN_THREADS;
    };
    auto load = [&](int k) {
        if (k < tiles)
            ahead_load(ahead_place(p, first + k * step), stage(k));
        stage_group();
    };
    s.sums.begin();
    s.again.begin();
    int turn = 0;
    for (int k = 0; k < NORM_AHEAD_STAGES - 1; k++)
        load(k);
    for (int k = 0; k <= tiles; k++) {
        bool whole = true;
        if (k < tiles) {
            const ahead_place at(p, first + k * step);
            double sum[4] = {0, 0, 0, 0};
            stage_wait_but<NORM_AHEAD_STAGES - 2>();
            ahead_sum(at, stage(k), sum);
            columns_say<fit_add>(sum, p.width, s.sums, k);
        }
        if (k > 0) {
            s.sums.wait(columns, k - 1);
            if (c < columns) {
                const double sum = columns_heard<fit_add>(c, s.sums, k - 1);
                whole = ahead_is_whole(sum);
                s.quotient[k & 1][c].set(sum);
            }
        }
        whole = __syncthreads_and(whole);
        if (k > 0) {
            const ahead_place at(p, first + (k - 1) * step);
            if (whole)
                ahead_write(at, stage(k - 1), s.quotient[k & 1] + at.lane * 4);
            else
                ahead_again(at, stage(k - 1), s, &turn);
        }
        load(k + NORM_AHEAD_STAGES - 1);
    }
    columns_cluster_sync(); /* nobody's shared memory goes while others send to it */
}
#define NORM_AHEAD(name) NORM_COLUMNS_KERNEL(name##_ahead, NORM_AHEAD_CLUSTER, columns_ahead)
#else
#define NORM_AHEAD(name)
#endif

#endif
