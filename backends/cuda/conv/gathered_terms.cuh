/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The gradient for the weight of f32 by products that gather: terms are pixels of the grid, columns taps of channels
 * of the image, of which a tile has three runs of one tap each. */
#ifndef NDOCK_CUDA_CONV_GATHERED_TERMS_CUH
#define NDOCK_CUDA_CONV_GATHERED_TERMS_CUH
#include "conv/gathered.cuh"

/* Where the grid has a pixel, of its first channel. */
WINDOW_FN int64_t gather_grid(const cuda_convolving &p, const gather_pixel &at)
{
    return at.n * p.grid_stride[0] + at.h * p.grid_stride[3] + at.w * p.grid_stride[4];
}

/* Tap and first channel of a tile's runs. */
template <class P> struct gather_runs {
    enum { RUNS = 3, RUN = P::N / RUNS };
    int32_t tap[RUNS], channel[RUNS];

    WINDOW_MEMBER gather_runs(const cuda_convolving &p, int32_t n0)
    {
#pragma unroll
        for (int h = 0; h < RUNS; h++) {
            tap[h] = (int32_t)cuda_quotient((uint32_t)(n0 + h * RUN), p.by_ci);
            channel[h] = n0 + h * RUN - tap[h] * p.ci;
        }
    }
    /* Whether a window has the tap of run h, and where. */
    WINDOW_MEMBER bool meets(const cuda_convolving &p, const gather_pixel &at, int h,
                             int64_t *offset) const
    {
        return gather_meets(p, at, tap[h], offset) && tap[h] < p.kernel[1] * p.kernel[2];
    }
};

/* Pixels lie side by side: eight threads have eight of them. */
template <class P> struct gather_terms {
    enum { APART = GATHER_THREADS / 8, ROWS = P::M / APART };
    const cuda_convolving &p;
    int32_t m, term, end;
    const float *grid, *image;
    const gather_runs<P> runs;

    WINDOW_MEMBER gather_terms(const cuda_convolving &params, int32_t m0, int32_t n0, int32_t begin,
                               int32_t to)
        : p(params), m(m0 + (int32_t)threadIdx.x / 8), term(begin + (int32_t)threadIdx.x % 8),
          end(to), runs(params, n0)
    {
        grid = (const float *)p.grid + m * p.grid_stride[1];
        image = (const float *)p.image;
    }
    WINDOW_MEMBER void fetch(int32_t piece, mma_address to)
    {
        const int32_t first = (int32_t)threadIdx.x / 8, k = (int32_t)threadIdx.x % 8;
#pragma unroll
        for (int j = 0; j < GATHER_K / 8; j++) {
            const int32_t t = term + piece * GATHER_K + j * 8;
            const gather_pixel at = gather_pixel_of(p, t < end ? t : 0);
            const float *y = grid + gather_grid(p, at);
            const mma_address left = to + ((k + 8 * j) * P::LEFT + first) * 4;
#pragma unroll
            for (int i = 0; i < ROWS; i++) {
                const bool there = t < end && m + i * APART < p.m;
                mma_fetch_word(left + i * APART * 4,
                               there ? y + i * APART * p.grid_stride[1] : image, there);
            }
            fetch_image(at, t < end,
                        to + (GATHER_K * P::LEFT + (k + 8 * j) * P::RIGHT + first) * 4);
        }
    }
    WINDOW_MEMBER void fetch_image(const gather_pixel &at, bool there, mma_address to)
    {
#pragma unroll
        for (int h = 0; h < runs.RUNS; h++) {
            int64_t offset;
            const bool inside = runs.meets(p, at, h, &offset) && there;
            const int32_t channel = runs.channel[h] + (int32_t)threadIdx.x / 8;
            const float *x = image + (inside ? offset + channel * p.image_stride[1] : 0);
#pragma unroll
            for (int i = 0; i < runs.RUN / APART; i++, x += inside ? APART * p.image_stride[1] : 0)
                mma_fetch_word(to + (h * runs.RUN + i * APART) * 4, x, inside);
        }
    }
};

/* Channels lie side by side, in vectors of four: LANES threads have the rows of a pixel, or a run of channels. */
template <class P> struct gather_terms_beside {
    const cuda_convolving &p;
    int32_t m0, begin, end;
    const gather_runs<P> runs;

    WINDOW_MEMBER gather_terms_beside(const cuda_convolving &params, int32_t m, int32_t n0,
                                      int32_t from, int32_t to)
        : p(params), m0(m), begin(from), end(to), runs(params, n0)
    {
    }
    WINDOW_MEMBER void fetch(int32_t piece, mma_address to)
    {
        fetch_grid(begin + piece * GATHER_K, to);
        fetch_image(begin + piece * GATHER_K, to + GATHER_K * P::LEFT * 4);
    }
    WINDOW_MEMBER void fetch_grid(int32_t first, mma_address to)
    {
        enum { LANES = P::M / 4, APART = GATHER_THREADS / LANES };
        const int32_t k = (int32_t)threadIdx.x / LANES, four = (int32_t)threadIdx.x % LANES * 4;
        const float *grid = (const float *)p.grid + m0 + four;
#pragma unroll
        for (int j = 0; j < GATHER_K / APART; j++) {
            const int32_t t = first + k + j * APART;
            const bool there = t < end && m0 + four < p.m;
            const gather_pixel at = gather_pixel_of(p, there ? t : 0);
            mma_fetch(to + ((k + APART * j) * P::LEFT + four) * 4,
                      there ? grid + gather_grid(p, at) : (const float *)p.image, there);
        }
    }
    WINDOW_MEMBER void fetch_image(int32_t first, mma_address to)
    {
        enum { RUN = gather_runs<P>::RUN, LANES = RUN / 4, APART = GATHER_THREADS / LANES };
        const int32_t k = (int32_t)threadIdx.x / LANES, four = (int32_t)threadIdx.x % LANES * 4;
#pragma unroll
        for (int j = 0; j < GATHER_K / APART; j++) {
            const int32_t t = first + k + j * APART;
            const gather_pixel at = gather_pixel_of(p, t < end ? t : 0);
#pragma unroll
            for (int h = 0; h < runs.RUNS; h++) {
                int64_t offset;
                const bool inside = runs.meets(p, at, h, &offset) && t < end;
                mma_fetch(to + ((k + APART * j) * P::RIGHT + h * RUN + four) * 4,
                          (const float *)p.image + (inside ? offset + runs.channel[h] + four : 0),
                          inside);
            }
        }
    }
};

/* A sum of terms from `begin` on from its definition. */
struct gather_sum {
    const cuda_convolving &p;
    int32_t begin, end;

    WINDOW_MEMBER float operator()(int32_t m, int32_t n) const
    {
        const int32_t tap = (int32_t)cuda_quotient((uint32_t)n, p.by_ci), channel = n - tap * p.ci;
        float sum = 0;
        if (m >= p.m || n >= p.n)
            return 0;
        for (int32_t t = begin; t < end; t++) {
            const gather_pixel at = gather_pixel_of(p, t);
            int64_t offset;
            float x = 0;
            if (gather_meets(p, at, tap, &offset))
                x = ((const float *)p.image)[offset + channel * p.image_stride[1]];
            sum = neural_fma(((const float *)p.grid)[gather_grid(p, at) + m * p.grid_stride[1]], x,
                             sum);
        }
        return sum;
    }
};

/* blockIdx.y counts splits of the terms, and tiles of rows in each. Columns are sums of channels of each tap, as the
 * kernel that adds the splits up reads them; channels are whole fours, so columns are. */
template <class P, class L> WINDOW_FN void gathered_gradient(const cuda_convolving &p)
{
    CONV_SHARED(memory);
    const int32_t split = (int32_t)cuda_quotient(blockIdx.y, p.tiles_m);
    const int32_t m0 = (int32_t)(blockIdx.y - (uint32_t)split * p.tiles_m.value) * P::M;
    const int32_t n0 = (int32_t)blockIdx.x * P::N;
    const int32_t begin = (int32_t)(split * p.part);
    const int32_t end = (int32_t)(begin + p.part < p.k ? begin + p.part : p.k);
    gather_sums sum = {};
    L loader(p, m0, n0, begin, end);
    gather_all<P>(loader, (float *)memory, (end - begin + GATHER_K - 1) / GATHER_K, sum);
    const gather_sum of = {p, begin, end};
    float *to = (float *)p.partial + split * p.m * p.n;
#pragma unroll
    for (int i = 0; i < GATHER_ROWS / 4; i++)
#pragma unroll
        for (int j = 0; j < GATHER_COLUMNS / 4; j++) {
            const int32_t m = m0 + gather_row<P>(i), n = n0 + gather_column<P>(j);
            const gather_square x = gather_square_of(sum, i, j, of, m, n);
#pragma unroll
            for (int a = 0; a < 4; a++)
                if (m + a < p.m && n < p.n)
                    neural_store<float, 4>(to + (m + a) * p.n + n, 0, x.x[a]);
        }
}

#endif
