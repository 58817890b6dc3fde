/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The gradient for the weight of f32 by products of warpgroups, for compute capability 9.0: three products of TF32 for
 * one, as gathered_product.cuh has them, of which warpgroups multiply near twice as many as warps do.
 *
 * A block sums a tile of CONV_WIDE_ROWS channels of the grid and CONV_WIDE_COLUMNS channels of the image of one tap.
 * Terms are pixels, CONV_WIDE_TERMS of them a step. Two warpgroups read: the grid's elements are copied as they are, of the
 * image's they make both parts, since what products read from shared memory is TF32 already. Two warpgroups of 64 rows each
 * multiply, and make the parts of the grid's elements in registers. Gates tell who may read or write a stage of shared
 * memory.
 *
 * All steps of all tiles are in one line, of which each block has an equal share, so that no processor waits for others:
 * a tile's sum has as many parts as blocks have steps of it. */
#ifndef NDOCK_CUDA_CONV_TERMS_WIDE_CUH
#define NDOCK_CUDA_CONV_TERMS_WIDE_CUH
#include "conv/gathered_terms.cuh"
#include "neural/wide_tile.cuh"

enum {
    TERMS_SLAB = CONV_WIDE_COLUMNS * WGMMA_ROW, /* bytes: of the high parts, the low ones follow */
    TERMS_PIECES = CONV_WIDE_COLUMNS / 8,       /* of a warp's sums */
    TERMS_GROUPS = 2,                           /* that multiply */
    TERMS_WARPS = 2 * WGMMA_THREADS / 32,       /* that read, or multiply */
    TERMS_LINE = CONV_WIDE_ROWS / 8,            /* elements of a line of a thread that reads */
    TERMS_ACROSS = CONV_WIDE_ROWS + 8 /* from a term's rows of the grid to the next one's */
};

/* A block's share of the line of steps, tile by tile. */
struct terms_share {
    const cuda_convolving &p;
    int32_t steps, at, end;

    WINDOW_MEMBER explicit terms_share(const cuda_convolving &params)
        : p(params), steps(((int32_t)p.k + CONV_WIDE_TERMS - 1) / CONV_WIDE_TERMS)
    {
        const int64_t tiles = (int64_t)p.tiles_m.value * (p.n / CONV_WIDE_COLUMNS);
        at = (int32_t)(blockIdx.x * p.part);
        end = (int32_t)(at + p.part < tiles * steps ? at + p.part : tiles * steps);
    }
    /* f(tile, its first step here, the one after its last here). */
    template <class F> WINDOW_MEMBER void each(F f)
    {
        while (at < end) {
            const int32_t tile = at / steps, first = at - tile * steps;
            const int32_t last = first + end - at < steps ? first + end - at : steps;
            f(tile, first, last);
            at += last - first;
        }
    }
};
WINDOW_FN int32_t terms_row_of(const cuda_convolving &p, int32_t tile)
{
    return tile % (int32_t)p.tiles_m.value * CONV_WIDE_ROWS;
}
WINDOW_FN int32_t terms_column_of(const cuda_convolving &p, int32_t tile)
{
    return tile / (int32_t)p.tiles_m.value * CONV_WIDE_COLUMNS;
}

/* Stages and their gates: `full` when operands are there, `free` when they have been multiplied. */
struct terms_memory {
    char *stages;
    mma_address at, gates;

    WINDOW_MEMBER explicit terms_memory(char *memory)
    {
        const mma_address begin = mma_address_of(memory);
        at = wide_begin(begin);
        stages = memory + (at - begin);
        gates = at + CONV_WIDE_STAGES * CONV_WIDE_STAGE;
    }
    WINDOW_MEMBER mma_address full(int32_t step) const
    {
        return gates + (mma_address)(step % CONV_WIDE_STAGES * 8);
    }
    WINDOW_MEMBER mma_address free(int32_t step) const { return full(step) + CONV_WIDE_STAGES * 8; }
    WINDOW_MEMBER int parity(int32_t step) const { return step / CONV_WIDE_STAGES & 1; }
    WINDOW_MEMBER int32_t stage(int32_t step) const
    {
        return step % CONV_WIDE_STAGES * CONV_WIDE_STAGE;
    }
    WINDOW_MEMBER void set() const
    {
        if (threadIdx.x == 0)
            for (int i = 0; i < CONV_WIDE_STAGES; i++) {
                wgmma_gate_set(full(i), TERMS_WARPS + 2 * WGMMA_THREADS); /* and copies */
                wgmma_gate_set(free(i), TERMS_WARPS);
            }
        __syncthreads();
    }
    /* By each thread of a warp, for all of it. */
    WINDOW_MEMBER void arrive(mma_address gate) const
    {
        __syncwarp();
        if (threadIdx.x % 32 == 0)
            wgmma_gate_arrive(gate);
    }
};

/* ---- warpgroups that read ---- */

/* A thread reads TERMS_LINE elements of one term, in every eighth row, of the image. Pixels side by side: a warp's threads
 * have terms side by side, and each warp a row of eight. Channels side by side: eight threads have eight rows of a term.
 * Of the grid it copies as many, by vectors where memory has whole ones: eight threads have the terms of a row, or rows of
 * a term. Either way a warp writes to all banks at once. Elements of the image are underway for two steps. */
template <bool BESIDE> struct terms_loader {
    typedef float line[TERMS_LINE];
    const cuda_convolving &p;
    const terms_memory &memory;
    int32_t thread, term, row, tap;
    const float *grid, *image; /* of the tile; of the image, at the thread's first row */

    WINDOW_MEMBER terms_loader(const cuda_convolving &params, const terms_memory &of)
        : p(params), memory(of), thread((int32_t)threadIdx.x % (32 * TERMS_WARPS))
    {
        const int32_t lane = thread % 32, warp = thread / 32;
        term = BESIDE ? warp * 4 + lane / 8 : lane;
        row = BESIDE ? lane % 8 : warp;
    }
    WINDOW_MEMBER void begin(int32_t tile)
    {
        const int32_t n = terms_column_of(p, tile);
        tap = (int32_t)cuda_quotient((uint32_t)n, p.by_ci);
        grid = (const float *)p.grid + terms_row_of(p, tile) * p.grid_stride[1];
        image = (const float *)p.image + (n - tap * p.ci + row) * p.image_stride[1];
    }
    WINDOW_MEMBER void read(line &x, int32_t step) const
    {
        const int32_t t = step * CONV_WIDE_TERMS + term;
        const int64_t apart = BESIDE ? 8 : 8 * p.image_stride[1];
        int64_t offset;
        const bool there =
            gather_meets(p, gather_pixel_of(p, t < p.k ? t : 0), tap, &offset) && t < p.k;
        const float *from = image + (there ? offset : 0);
#pragma unroll
        for (int j = 0; j < TERMS_LINE; j++, from += apart)
            x[j] = there ? *from : 0;
    }
    /* Both parts. */
    WINDOW_MEMBER void write(const line &x, int32_t stage) const
    {
        char *to = memory.stages + stage + wgmma_chunk(row, term / 4) + term % 4 * 4;
#pragma unroll
        for (int j = 0; j < TERMS_LINE; j++, to += WGMMA_ATOM) {
            uint32_t high, low;
            mma_split_tf32(x[j], &high, &low);
            *(uint32_t *)to = high;
            *(uint32_t *)(to + TERMS_SLAB) = low;
        }
    }
    WINDOW_MEMBER void copy_grid(int32_t step, int32_t stage) const
    {
        const mma_address to = memory.at + (mma_address)(stage + 2 * TERMS_SLAB);
        const int32_t t = step * CONV_WIDE_TERMS, eighth = thread / 8, four = thread % 8 * 4;
        if (BESIDE)
            copy_vectors(t + eighth, four, 32, to + (eighth * TERMS_ACROSS + four) * 4, 32 * 4);
        else if (p.whole)
            copy_vectors(t + four, eighth * p.grid_stride[1], 32 * p.grid_stride[1],
                         to + (eighth * CONV_WIDE_PITCH + four) * 4, 32 * CONV_WIDE_PITCH * 4);
        else
            copy_words(t + term, to + (row * CONV_WIDE_PITCH + term) * 4);
    }
    /* Of term t, from its element number `from` on and each time `apart` further. */
    WINDOW_MEMBER void copy_vectors(int32_t t, int64_t from, int64_t apart, mma_address to,
                                    int32_t nbytes) const
    {
        const bool there = t < p.k;
        const float *at = grid + from + gather_grid(p, gather_pixel_of(p, there ? t : 0));
#pragma unroll
        for (int j = 0; j < TERMS_LINE / 4; j++, at += apart)
            mma_fetch(to + j * nbytes, at, there);
    }
    WINDOW_MEMBER void copy_words(int32_t t, mma_address to) const
    {
        const bool there = t < p.k;
        const float *at =
            grid + row * p.grid_stride[1] + gather_grid(p, gather_pixel_of(p, there ? t : 0));
#pragma unroll
        for (int j = 0; j < TERMS_LINE; j++, at += 8 * p.grid_stride[1])
            mma_fetch_word(to + j * 8 * CONV_WIDE_PITCH * 4, at, there);
    }
    /* A step whose elements of the image are in x, and then the read of those two steps later. */
    WINDOW_MEMBER void step(line &x, int32_t step, int32_t last, int32_t done) const
    {
        if (done >= CONV_WIDE_STAGES)
            wgmma_gate_wait(memory.free(done), memory.parity(done - CONV_WIDE_STAGES));
        copy_grid(step, memory.stage(done));
        wgmma_gate_arrive_copied(memory.full(done));
        write(x, memory.stage(done));
        memory.arrive(memory.full(done));
        if (step + 2 < last)
            read(x, step + 2);
    }
};

template <bool BESIDE>
WINDOW_FN void terms_read(const cuda_convolving &p, const terms_memory &memory)
{
    terms_share share(p);
    terms_loader<BESIDE> loader(p, memory);
    int32_t done = 0;
    share.each([&](int32_t tile, int32_t first, int32_t last) {
        typename terms_loader<BESIDE>::line even, odd;
        loader.begin(tile);
        loader.read(even, first);
        if (first + 1 < last)
            loader.read(odd, first + 1);
        for (int32_t step = first; step < last; step += 2) {
            loader.step(even, step, last, done++);
            if (step + 1 < last)
                loader.step(odd, step + 1, last, done++);
        }
    });
}

/* ---- those that multiply ---- */

/* Sums of a step are added to those of the steps before by additions that round, since tensor cores cut off. BESIDE:
 * the grid lies in shared memory term by term, else row by row. */
template <bool BESIDE> struct terms_sums {
    enum { DEPTH = CONV_WIDE_TERMS / 8 };
    float sum[TERMS_PIECES][4], part[TERMS_PIECES][4];
    uint32_t high[DEPTH][4], low[DEPTH][4]; /* of the grid */
    int32_t row;                            /* of the tile, the first of this thread's two */

    WINDOW_MEMBER terms_sums()
    {
        const int32_t lane = (int32_t)threadIdx.x % 32, warp = (int32_t)threadIdx.x / 32;
        row = warp * 16 + lane / 4;
    }
    WINDOW_MEMBER void begin()
    {
#pragma unroll
        for (int j = 0; j < TERMS_PIECES; j++)
#pragma unroll
            for (int e = 0; e < 4; e++)
                sum[j][e] = 0;
    }
    WINDOW_MEMBER void load(const char *stage)
    {
        enum { DOWN = BESIDE ? 1 : CONV_WIDE_PITCH, ACROSS = BESIDE ? TERMS_ACROSS : 1 };
        const float *from = (const float *)(stage + 2 * TERMS_SLAB) + row * DOWN +
                            (int32_t)threadIdx.x % 4 * ACROSS;
#pragma unroll
        for (int k = 0; k < DEPTH; k++)
#pragma unroll
            for (int r = 0; r < 4; r++)
                mma_split_tf32(from[r % 2 * 8 * DOWN + (k * 8 + r / 2 * 4) * ACROSS], &high[k][r],
                               &low[k][r]);
    }
    /* low*high, high*low, high*high. */
    WINDOW_MEMBER void multiply(mma_address stage)
    {
        const uint64_t right = wgmma_operand(stage, 0), rest = wgmma_after(right, TERMS_SLAB);
        wgmma_settle(part);
        wgmma_begin();
#pragma unroll
        for (int k = 0; k < DEPTH; k++)
            wgmma_tf32<CONV_WIDE_COLUMNS>::held(part, low[k], wgmma_after(right, k * 32), k > 0);
#pragma unroll
        for (int k = 0; k < DEPTH; k++)
            wgmma_tf32<CONV_WIDE_COLUMNS>::held(part, high[k], wgmma_after(rest, k * 32), true);
#pragma unroll
        for (int k = 0; k < DEPTH; k++)
            wgmma_tf32<CONV_WIDE_COLUMNS>::held(part, high[k], wgmma_after(right, k * 32), true);
        wgmma_commit();
    }
    WINDOW_MEMBER void add()
    {
#pragma unroll
        for (int j = 0; j < TERMS_PIECES; j++)
#pragma unroll
            for (int e = 0; e < 4; e++)
                sum[j][e] += part[j][e];
    }
    /* To the place of a part of the sums; whether all are finite. */
    WINDOW_MEMBER bool save(float *to, int64_t n) const
    {
        bool finite = true;
#pragma unroll
        for (int j = 0; j < TERMS_PIECES; j++)
#pragma unroll
            for (int h = 0; h < 2; h++) {
                const float pair[2] = {sum[j][2 * h], sum[j][2 * h + 1]};
                finite = finite & (fabsf(pair[0]) < INFINITY) & (fabsf(pair[1]) < INFINITY);
                neural_store<float, 2>(to + 8 * h * n + 8 * j, 0, pair);
            }
        return finite;
    }
};

/* Sums that are no numbers, or infinite, once more by multiply-adds, as gather_apart() has them. */
WINDOW_FN void terms_again(const gather_sum &of, float *to, int32_t m, int32_t n)
{
#pragma unroll 1
    for (int k = 0; k < 4 * TERMS_PIECES; k++) {
        const int32_t row = k / 2 % 2 * 8, column = k / 4 * 8 + k % 2;
        float *at = to + row * of.p.n + column;
        if (!(fabsf(*at) < INFINITY))
            *at = of(m + row, n + column);
    }
}

/* Parts that no block has of a tile are zero. */
WINDOW_FN void terms_clear(const cuda_convolving &p, float *to, int32_t from)
{
    const float none[2] = {0, 0};
    for (int32_t part = from; part < p.splits; part++)
#pragma unroll
        for (int k = 0; k < 2 * TERMS_PIECES; k++)
            neural_store<float, 2>(to + part * p.m * p.n + k % 2 * 8 * p.n + k / 2 * 8, 0, none);
}

template <bool BESIDE>
WINDOW_FN void terms_multiply(const cuda_convolving &p, const terms_memory &memory)
{
    terms_share share(p);
    terms_sums<BESIDE> sums;
    int32_t done = 0;
    share.each([&](int32_t tile, int32_t first, int32_t last) {
        sums.begin();
        for (int32_t step = first; step < last; step++, done++) {
            wgmma_gate_wait(memory.full(done), memory.parity(done));
            sums.load(memory.stages + memory.stage(done));
            wgmma_publish(); /* what the gate told, by those who multiply: those who read have more to wait for */
            sums.multiply(memory.at + (mma_address)memory.stage(done));
            wgmma_wait<0>();
            wgmma_settle(sums.part);
            memory.arrive(memory.free(done));
            sums.add();
        }
        const int32_t part = (int32_t)blockIdx.x - (int32_t)(tile * (int64_t)share.steps / p.part);
        const int32_t m = terms_row_of(p, tile) + sums.row,
                      n = terms_column_of(p, tile) + (int32_t)threadIdx.x % 4 * 2;
        float *to = (float *)p.partial + m * p.n + n;
        const int64_t end = (int64_t)last * CONV_WIDE_TERMS;
        if (!sums.save(to + part * p.m * p.n, p.n))
            terms_again({p, first * CONV_WIDE_TERMS, (int32_t)(end < p.k ? end : p.k)},
                        to + part * p.m * p.n, m, n);
        if (last == share.steps)
            terms_clear(p, to, part + 1);
    });
}

template <bool BESIDE> WINDOW_FN void terms_wide(const cuda_convolving &p)
{
    MMA_SHARED(room);
    const terms_memory memory((char *)room);
    const int group = __shfl_sync(0xffffffffu, (int)threadIdx.x / WGMMA_THREADS, 0);
    memory.set();
    if (group < TERMS_GROUPS) {
        wgmma_take_registers<192>();
        terms_multiply<BESIDE>(p, memory);
    } else {
        wgmma_give_registers<64>();
        terms_read<BESIDE>(p, memory);
    }
}

#endif
