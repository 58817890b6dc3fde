/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Products of few rows of a with rows of blocks, bound by the reading of these. There are as many blocks of
 * threads as fit at once. Each rounds a's rows to 8 bits into shared memory, while the first blocks are on their
 * way; then each warp takes pairs of rows in turns, whose pieces come through shared memory, several at once. */
#ifndef NDOCK_CUDA_QUANT_FEW_CUH
#define NDOCK_CUDA_QUANT_FEW_CUH
#include "quant/round.cuh"
#include "quant/unit.cuh"

/* ---- a's rows in shared memory ---- */

/* Units of a row, as many as there are, take turns: piece k of 16 codes of the i-th group of unit u is at place
 * (i*pieces + k)*units + u, so that threads of a warp read one line. Behind the codes are d and the sum of
 * codes of each unit's part of each of its groups. */
struct few_sum {
    float d;
    int sum;
};
template <typename F> struct few_row {
    using U = unit<F>;
    static constexpr int elements = 16 * U::groups * U::pieces; /* of a unit */
    const unsigned char *codes;
    int units;
    __device__ __forceinline__ few_row() : codes(nullptr), units(0) {}
    __device__ __forceinline__ few_row(const unsigned char *at, int64_t n)
        : codes(at), units((int)(n / elements))
    {
    }
    __device__ __forceinline__ int4 *piece(int u, int group, int k) const
    {
        return (int4 *)codes + (group * U::pieces + k) * units + u;
    }
    __device__ __forceinline__ few_sum *sum(int u, int group) const
    {
        return (few_sum *)((int4 *)codes + U::groups * U::pieces * units) + group * units + u;
    }
};

/* Four codes of a thread, as bytes of a word, to where they belong: elements i, a multiple of 4, and on. */
template <typename F>
static __device__ __forceinline__ void few_place(const few_row<F> &row, int i, unsigned codes,
                                                 float d, int sum, bool inside)
{
    using U = unit<F>;
    const int g = i / 32, h = i / 16 % 2, word = i / 4 % 4;
    const bool halves = U::pieces == 1;
    const int u = halves ? g / 8 * 4 + g / 4 % 2 * 2 + h : g / U::groups, group = g % U::groups;
    for (int k = 1; k < (halves ? 4 : 8); k *= 2)
        sum += __shfl_xor_sync(~0u, sum, k);
    int at = word, k = halves ? 0 : h;
    if (U::mixed) {
        const unsigned other = __shfl_xor_sync(~0u, codes, 4);
        codes = h ? __byte_perm(other, codes, 0x7362) : __byte_perm(codes, other, 0x5140);
        k = word / 2;
        at = word % 2 * 2 + h;
    }
    if (!inside)
        return;
    ((unsigned *)row.piece(u, group, k))[at] = codes;
    if (i % (halves ? 16 : 32) == 0)
        *row.sum(u, group) = few_sum{d, sum};
}

/* A thread rounds four elements, eight threads a group of 32. */
template <typename F>
static __device__ __forceinline__ void few_round(const quant_params &p, int64_t m,
                                                 const few_row<F> &row)
{
    for (int first = threadIdx.x / 32 * 128; first < p.n; first += QUANT_THREADS * 4) {
        const int i = first + threadIdx.x % 32 * 4;
        const bool inside = i < p.n;
        float x[4] = {};
        if (inside)
            load_four(p.a, p.dtype, m * p.n + i, x);
        float most = fmaxf(fmaxf(fabsf(x[0]), fabsf(x[1])), fmaxf(fabsf(x[2]), fabsf(x[3])));
        int bad = 0;
        for (int k = 0; k < 4; k++)
            bad |= !(fabsf(x[k]) < INFINITY);
        for (int k = 4; k > 0; k /= 2) {
            most = fmaxf(most, __shfl_xor_sync(~0u, most, k));
            bad |= __shfl_xor_sync(~0u, bad, k);
        }
        const float d = bad ? NAN : most / 127, inverse = d > 0 ? 1 / d : 0;
        unsigned codes = 0;
        int sum = 0;
        for (int k = 0; k < 4; k++) {
            const int code = code_of(x[k] * inverse);
            codes |= (unsigned)(code & 255) << 8 * k;
            sum += code;
        }
        few_place<F>(row, i, codes, d, sum, inside);
    }
}

/* ---- pieces of rows of blocks ---- */

static __device__ __forceinline__ uint32_t few_address(const void *shared)
{
    return (uint32_t)__cvta_generic_to_shared(shared);
}

/* The pieces of a warp's pairs of rows one after another: those to fetch next. A piece is one unit for each
 * thread and each row. */
template <typename F, int STAGED, bool BULK> struct few_pieces {
    static constexpr int bytes = 32 / unit<F>::units * F::nbytes, pair = FEW_ROWS * bytes,
                         most = STAGED / pair;
    const quant_params &p;
    unsigned char *staged; /* the warp's */
    int64_t at, pairs, step, done;
    int place;
    uint32_t barriers;
    __device__ __forceinline__ void begin(uint64_t *room)
    {
#if __CUDA_ARCH__ >= 900
        barriers = few_address(room + threadIdx.x / 32 * most);
        if (threadIdx.x % 32 == 0) {
            for (int i = 0; i < most; i++)
                asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barriers + 8 * i)
                             : "memory");
            asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        }
        __syncwarp();
#endif
    }
    __device__ __forceinline__ void wait(int which, int parity)
    {
        if (!BULK) {
            copies_wait<most - 1>();
            return;
        }
#if __CUDA_ARCH__ >= 900
        int there = 0;
        while (!there)
            asm volatile("{\n.reg .pred p;\n"
                         "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
                         "selp.b32 %0, 1, 0, p;\n}"
                         : "=r"(there)
                         : "r"(barriers + 8 * which), "r"(parity)
                         : "memory");
#endif
    }
    __device__ __forceinline__ void fetch_bulk(void)
    {
#if __CUDA_ARCH__ >= 900
        if (at < pairs) {
            const int64_t left = p.row_bytes - done;
            const uint32_t n = left < bytes ? (uint32_t)left : bytes;
            if (threadIdx.x % 32 == 0) {
                const uint32_t bar = barriers + 8 * place;
                asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(bar),
                             "r"(n * FEW_ROWS)
                             : "memory");
                for (int r = 0; r < FEW_ROWS; r++) {
                    const int64_t row = at * FEW_ROWS + r < p.rows ? at * FEW_ROWS + r : p.rows - 1;
                    asm volatile(
                        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], "
                        "[%1], %2, [%3];" ::"r"(few_address(staged + place * pair + r * bytes)),
                        "l"((const unsigned char *)p.blocks + row * p.row_bytes + done), "r"(n),
                        "r"(bar)
                        : "memory");
                }
            }
            done += bytes;
            if (done >= p.row_bytes) {
                done = 0;
                at += step;
            }
        }
        place = place + 1 < most ? place + 1 : 0;
#endif
    }
    __device__ __forceinline__ few_pieces(const quant_params &params, unsigned char *mine)
        : p(params), staged(mine), at((int64_t)(threadIdx.x / 32) * gridDim.x + blockIdx.x),
          pairs((params.rows + FEW_ROWS - 1) / FEW_ROWS), step((int64_t)gridDim.x * QUANT_WARPS),
          done(0), place(0)
    {
    }
    __device__ __forceinline__ void fetch(void)
    {
        if (BULK) {
            fetch_bulk();
            return;
        }
        if (at < pairs) {
            const int64_t left = p.row_bytes - done;
#pragma unroll
            for (int r = 0; r < FEW_ROWS; r++) {
                const int64_t row = at * FEW_ROWS + r < p.rows ? at * FEW_ROWS + r : p.rows - 1;
                const unsigned char *from =
                    (const unsigned char *)p.blocks + row * p.row_bytes + done;
#pragma unroll
                for (int i = 0; i < bytes; i += 32 * 16) {
                    const int mine = i + threadIdx.x % 32 * 16;
                    if (mine < bytes && mine < left)
                        copy_16(staged + place * pair + r * bytes + mine, from + mine);
                }
            }
            done += bytes;
            if (done >= p.row_bytes) {
                done = 0;
                at += step;
            }
        }
        copies_end();
        place = place + 1 < most ? place + 1 : 0;
    }
};

/* ---- products ---- */

template <typename F, int M, int I> struct few_groups {
    /* What elements of groups I and on of a unit add. */
    static __device__ __forceinline__ void add(const unit<F> (&w)[FEW_ROWS],
                                               const few_row<F> (&x)[M], int u,
                                               float (&sum)[FEW_ROWS][M], float (&low)[FEW_ROWS][M])
    {
        using U = unit<F>;
#pragma unroll
        for (int m = 0; m < M; m++) {
            int4 codes[U::pieces];
#pragma unroll
            for (int k = 0; k < U::pieces; k++)
                codes[k] = *x[m].piece(u, I, k);
            const few_sum all = *x[m].sum(u, I);
#pragma unroll
            for (int r = 0; r < FEW_ROWS; r++) {
                const int dot = w[r].template part<I>(codes, all.sum);
                sum[r][m] = __fmaf_rn(all.d, (float)dot, sum[r][m]);
                if constexpr (F::has_min)
                    low[r][m] = __fmaf_rn(
                        all.d, (float)(w[r].template least<I>() * all.sum), low[r][m]);
            }
        }
        if constexpr (I + 1 < U::groups)
            few_groups<F, M, I + 1>::add(w, x, u, sum, low);
    }
};

template <typename F, int M, int STAGED = FEW_STAGED, bool BULK = false> struct few_rows {
    static __device__ __forceinline__ void unit_add(const unsigned char *piece, int64_t bytes,
                                                    const few_row<F> (&x)[M], int u,
                                                    float (&sum)[FEW_ROWS][M])
    {
        const int lane = threadIdx.x % 32;
        const unsigned char *block = piece + lane / unit<F>::units * F::nbytes;
        float all[FEW_ROWS][M] = {}, low[FEW_ROWS][M] = {};
        const unit<F> w[FEW_ROWS] = {unit<F>(block, lane % unit<F>::units),
                                     unit<F>(block + bytes, lane % unit<F>::units)};
        few_groups<F, M, 0>::add(w, x, u, all, low);
#pragma unroll
        for (int r = 0; r < FEW_ROWS; r++)
#pragma unroll
            for (int m = 0; m < M; m++) {
                sum[r][m] = __fmaf_rn(w[r].d, all[r][m], sum[r][m]);
                if constexpr (F::has_min)
                    sum[r][m] = __fmaf_rn(w[r].low, low[r][m], sum[r][m]);
            }
    }
    static __device__ __forceinline__ void finish(const quant_params &p, int64_t first, int64_t row,
                                                  float (&sum)[FEW_ROWS][M])
    {
#pragma unroll
        for (int r = 0; r < FEW_ROWS; r++)
#pragma unroll
            for (int m = 0; m < M; m++) {
                const float all = sum_of_warp(sum[r][m]);
                if (threadIdx.x % 32 == 0 && row + r < p.rows && first + m < p.m)
                    store(p.out, p.dtype, (first + m) * p.rows + row + r, all);
            }
    }
    static __device__ __forceinline__ void run(const quant_params &p)
    {
        extern __shared__ uint4 few_shared[];
        using pieces = few_pieces<F, STAGED, BULK>;
        const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
        const int64_t first = (int64_t)blockIdx.y * M;
        unsigned char *mine = (unsigned char *)few_shared + warp * STAGED,
                      *rounded = (unsigned char *)few_shared + QUANT_WARPS * STAGED;
        pieces next(p, mine);
        if (BULK)
            next.begin((uint64_t *)(rounded + M * p.rounded));
        for (int i = 0; i < pieces::most; i++)
            next.fetch();
        few_row<F> x[M];
        for (int m = 0; m < M; m++) {
            x[m] = few_row<F>(rounded + m * p.rounded, p.n);
            few_round(p, first + m < p.m ? first + m : p.m - 1, x[m]);
        }
        __syncthreads();
        int place = 0, parity = 0;
        const int64_t step = next.step, pairs = next.pairs;
        for (int64_t pair = (int64_t)warp * gridDim.x + blockIdx.x; pair < pairs; pair += step) {
            float sum[FEW_ROWS][M] = {};
            for (int u = lane; u - lane < x[0].units; u += 32) {
                next.wait(place, parity);
                if (u < x[0].units)
                    unit_add(mine + place * pieces::pair, pieces::bytes, x, u, sum);
                place = place + 1 < pieces::most ? place + 1 : 0;
                parity ^= place == 0;
                __syncwarp();
                next.fetch();
            }
            finish(p, first, pair * FEW_ROWS, sum);
        }
    }
};
#endif
