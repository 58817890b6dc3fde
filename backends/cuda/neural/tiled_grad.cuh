/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Gradients of attention of f32 by tiles of registers of a kind T (tiled.cuh, tripled.cuh). A block has rows of its own, queries or keys
 * (KEYS), and goes over those of the other side, OTHERS at a time; weights are computed again from logsumexp.
 * Both kinds are the same but for names, as in flash_grad_rows.cuh: with the own operands x0, x1 (queries q, g;
 * keys k, v) and the others y0, y1,
 *     s = x0 y0T,  w = exp(scale*s - logsumexp),  dp = x1 y1T,  ds = w*(dp - delta)*scale,
 * the gradient of x0 is ds*y0, and that of values w*y1. Weights, and then ds, lie in shared memory, where those of a
 * warp, or of warps that have the same rows, are their own. Weights that dropout takes have their signs changed.
 *
 * Kinds of tiles that do it ONCE make the gradients of queries with those of keys, in five products in place of seven: each
 * block adds its part of a step's gradients when its turn comes, blocks of earlier keys first. A block waits only for blocks
 * that began before it, so waits end. All blocks go through queries from the last ones, which all of them see, to the first. */
#ifndef NDOCK_CUDA_TILED_GRAD_CUH
#define NDOCK_CUDA_TILED_GRAD_CUH
#include "neural/flash_weight.cuh"
#include "neural/tripled_part.cuh"

template <class T, bool KEYS> struct tiled_grad : T {
    typedef T base;
    typedef typename base::products products;
    using base::HELD;
    using base::OTHERS;
    using base::OWNED;
    using base::p;
    using base::PITCH;
    using base::ROWS;
    enum { ONCE = KEYS && T::ONCE, SLOPES = ONCE ? ROWS * T::WEIGHT_PITCH : T::WEIGHTS };
    int b, h, kh, first, begin, per_head, steps; /* h: the first of the heads that share the keys */
    int heads;                                   /* so many do */
    float *own, *others, *weights;
    float *shifts; /* shifts and deltas of the step's queries, of keys */
    float shift[KEYS ? 1 : HELD], delta[KEYS ? 1 : HELD];
    typename base::sums y[KEYS ? 2 : 1];

    __device__ __forceinline__ explicit tiled_grad(const attention_params &params) : base(params)
    {
        MMA_SHARED(memory);
        const int all = (int)(KEYS ? p.key_heads : p.heads),
                  group = (int)p.heads / (int)p.key_heads;
        const attention_place place(p, (int)blockIdx.x, (int)p.batch * all);
        first = (KEYS ? place.at : p.row_blocks - 1 - place.at) * ROWS; /* the longest first */
        b = place.head / all;
        h = KEYS ? place.head % all * group : place.head % all;
        kh = h / group;
        set_steps(KEYS ? group : 1);
        own = (float *)memory;
        others = own + 2 * ROWS * PITCH;
        weights = others + 2 * OTHERS * PITCH;
        shifts = weights + SLOPES;
#pragma unroll
        for (int o = 0; o < (KEYS ? 2 : 1); o++)
            base::clear(y[o]);
    }
    /* Queries from the first that sees a key of the block, or keys up to the last that is seen. */
    __device__ __forceinline__ void set_steps(int group)
    {
        int64_t from = 0, to = KEYS ? p.m : p.n;
        if (KEYS && p.causal && first - p.diagonal > 0)
            from = (first - p.diagonal) / OTHERS * OTHERS;
        if (!KEYS)
            to = base::seen_by((first + ROWS < p.m ? first + ROWS : (int)p.m) - 1);
        begin = (int)(from < to ? from : 0);
        per_head = from < to ? (int)((to - from + OTHERS - 1) / OTHERS) : 0;
        heads = group;
        steps = per_head * heads;
    }
    __device__ __forceinline__ int head_of(int step) const
    {
        return h + step % heads;
    }
    __device__ __forceinline__ int from_of(int step) const
    {
        return begin + (per_head - 1 - step / heads) * OTHERS;
    }

    /* ---- operands ---- */
    __device__ __forceinline__ void fetch_own() const
    {
        base::template fetch<ROWS>(
            own, KEYS ? base::source(p.k, b, kh, p.d) : base::source(p.q, b, h, p.d), first,
            (int)p.rows);
        base::template fetch<ROWS>(
            own + ROWS * PITCH, KEYS ? base::source(p.v, b, kh, p.e) : base::source(p.g, b, h, p.e),
            first, (int)p.rows);
    }
    /* Operand 0 or 1 of the other side, of keys with shifts, or deltas, of its queries. */
    __device__ __forceinline__ void fetch_others(int which, int step) const
    {
        if (step < steps) {
            const int head = head_of(step), from = from_of(step);
            const tiled_source of =
                which == 0 ? KEYS ? base::source(p.q, b, head, p.d) : base::source(p.k, b, kh, p.d)
                : KEYS ? base::source(p.g, b, head, p.e)
                           : base::source(p.v, b, kh, p.e);
            base::template fetch<OTHERS>(others + which * OTHERS * PITCH, of, from,
                                         (int)(KEYS ? p.m : p.n));
            if (KEYS && (int)threadIdx.x < OTHERS)
                fetch_sum(which, head, from + (int)threadIdx.x);
        }
        mma_commit();
    }
    __device__ __forceinline__ void fetch_sum(int which, int head, int i) const
    {
        const attention_view &v = which == 0 ? p.lse : p.delta;
        const float *row = (const float *)v.at + b * v.stride[0] + head * v.stride[1];
        const bool inside = i < p.m;
        mma_fetch_word(mma_address_of(shifts + which * OTHERS + threadIdx.x),
                       inside ? row + i * v.stride[2] : (const float *)v.at, inside);
    }
    /* What is taken from scores, so that weights of queries that see nothing are 0. */
    __device__ __forceinline__ static float shift_of(float lse)
    {
        return lse > TILED_NOTHING || lse != lse ? lse : -TILED_NOTHING;
    }
    __device__ __forceinline__ void hold_sums()
    {
        const int64_t *l = p.lse.stride, *d = p.delta.stride;
#pragma unroll
        for (int i = 0; i < (KEYS ? 0 : HELD); i++) {
            const int row = first + base::row_of(i);
            const bool inside = row < p.m;
            shift[i] = shift_of(inside ? ((const float *)p.lse.at)[b * l[0] + h * l[1] + row * l[2]]
                                       : 0.0f);
            delta[i] =
                inside ? ((const float *)p.delta.at)[b * d[0] + h * d[1] + row * d[2]] : 0.0f;
        }
    }

    /* ---- one step ---- */
    /* The first query that sees key j. */
    __device__ __forceinline__ int first_that_sees(int j) const
    {
        const int64_t i = p.causal ? j - p.diagonal : 0;
        return j >= p.n || i > INT32_MAX ? INT32_MAX : i > 0 ? (int)i : 0;
    }
    __device__ __forceinline__ void hide(products &s, int from) const
    {
        const int last = from + OTHERS - 1;
        if (KEYS ? last < p.m && (first + ROWS <= p.n && first_that_sees(first + ROWS - 1) <= from)
                 : last < base::seen_by(first))
            return;
#pragma unroll
        for (int i = 0; i < HELD; i++) {
            const int row = first + base::row_of(i),
                      bound = (KEYS ? first_that_sees(row) : base::seen_by(row)) - from -
                              base::other_of(0),
                      there = KEYS ? (int)p.m - from - base::other_of(0) : 0;
#pragma unroll
            for (int k = 0; k < OWNED; k++)
                if (KEYS ? base::apart(k) < bound || base::apart(k) >= there
                         : base::apart(k) >= bound)
                    s[i][k] = TILED_NOTHING;
        }
    }
    /* Weights from products, where add() finds them, too. */
    __device__ __forceinline__ void weigh(products &s, int head, int from) const
    {
        base::multiply_by(s, (float)p.scale);
        if (p.mask_kind)
            base::edit(s, weights, [&](float &score, int row, int other) {
                base::mask(score, b, head, KEYS ? from + other : first + row,
                           KEYS ? first + row : from + other);
            });
        hide(s, from);
#pragma unroll
        for (int k = 0; k < OWNED; k++) {
            const float by = KEYS ? shift_of(shifts[base::other_of(k)]) : 0.0f;
#pragma unroll
            for (int i = 0; i < HELD; i++)
                s[i][k] = neural_exp(s[i][k] - (KEYS ? by : shift[i]));
        }
        if (p.least)
            base::edit(s, weights, [&](float &weight, int row, int other) {
                const int i = KEYS ? from + other : first + row,
                          j = KEYS ? first + row : from + other;
                if (!flash_is_kept(p, b, head, i, j))
                    weight = -weight;
            });
        base::put(weights, s);
    }
    /* Gradients of scores from those of weights, and from weights w. */
    __device__ __forceinline__ void derive(products &s, const products &w) const
    {
        const float keep = p.least ? 1.0f / (float)p.keep : 1.0f;
#pragma unroll
        for (int k = 0; k < OWNED; k++) {
            const float of = KEYS ? shifts[OTHERS + base::other_of(k)] : 0.0f;
#pragma unroll
            for (int i = 0; i < HELD; i++) {
                const float dp = (int)__float_as_uint(w[i][k]) < 0 ? 0.0f : s[i][k] * keep;
                s[i][k] = fabsf(w[i][k]) * (dp - (KEYS ? of : delta[i])) * (float)p.scale;
            }
        }
    }
    __device__ __forceinline__ void add_values(const products &w)
    {
        const float *const rows = others + OTHERS * PITCH;
        if (p.least)
            base::template add<true>(y[KEYS], w, weights, rows);
        else
            base::template add<false>(y[KEYS], w, weights, rows);
    }
    /* ---- gradients of queries, of kinds that do it once ---- */
    __device__ __forceinline__ uint32_t *turn_of(int step) const
    {
        return (uint32_t *)p.turns + ((int64_t)b * p.heads + head_of(step)) * p.tiles +
               from_of(step) / OTHERS;
    }
    __device__ __forceinline__ void await_turn(int step) const
    {
        if (ONCE && first > 0 && threadIdx.x == 0)
            mma_turn_await(turn_of(step), (uint32_t)(first / ROWS));
    }
    /* After all threads have met. */
    __device__ __forceinline__ void pass_turn(int step) const
    {
        if (ONCE && step >= 0 && threadIdx.x == 0)
            mma_turn_pass(turn_of(step), (uint32_t)(first / ROWS) + 1);
    }
    __device__ __forceinline__ float *queries_of(int head, int from) const
    {
        const int64_t *stride = p.out[0].stride;
        return (float *)p.out[0].at + b * stride[0] + head * stride[1] + from * stride[2];
    }
    __device__ __forceinline__ void add_queries(int step) const
    {
        if constexpr (ONCE) {
            const int from = from_of(step), rows = (int)p.m - from;
            float *const to = queries_of(head_of(step), from);
            tripled_part<T> part(p);
            part.begin(to, rows, first > 0);
            part.add(weights, own, base::rough || base::large);
            part.write(to, rows);
        }
    }
    /* Zeros of queries that see nothing, which no step has. */
    __device__ __forceinline__ void clear_unseen() const
    {
        const int64_t rows = per_head > 0 ? begin : p.m, *stride = p.out[0].stride;
        for (int k = 0; k < heads; k++)
            for (int64_t i = threadIdx.x; i < rows * p.d; i += base::THREADS)
                queries_of(h + k, 0)[i / p.d * stride[2] + i % p.d * stride[3]] = 0;
    }

    __device__ __forceinline__ void step(int number)
    {
        const int head = head_of(number), from = from_of(number);
        products w, s;
        mma_wait<0>();
        if (number == 0)
            base::template look_own<2 * ROWS>(own);
        base::template look<2 * OTHERS>(others);
        base::arrive();
        pass_turn(number - 1);
        if (number == 0)
            hold_sums();
        base::multiply(w, own, others, weights);
        weigh(w, head, from);
        base::meet(); /* weights are there, and products are read */
        if (KEYS) {
            add_values(w);
            base::meet();
        }
        base::multiply(s, own + ROWS * PITCH, others + OTHERS * PITCH, weights);
        derive(s, w);
        if constexpr (ONCE)
            base::show(weights, s);
        else
            base::put(weights, s);
        base::gather(s); /* the second operand is free */
        fetch_others(1, number + 1);
        base::template add<false>(y[0], s, weights, others);
        await_turn(number);
        __syncthreads();
        fetch_others(0, number + 1);
        add_queries(number);
    }
    __device__ __forceinline__ void write(const attention_view &to, int which, int head,
                                          int64_t columns, float by) const
    {
#pragma unroll
        for (int i = 0; i < HELD; i++) {
            const int row = first + base::row_of(i);
            if (row < p.rows)
                base::write((float *)to.at + b * to.stride[0] + head * to.stride[1] +
                                row * to.stride[2],
                            to.stride[3], columns, y[which][i], by);
        }
    }
    __device__ __forceinline__ void run()
    {
        if (steps > 0)
            fetch_own();
        fetch_others(0, 0);
        fetch_others(1, 0);
        for (int i = 0; i < steps; i++)
            step(i);
        mma_wait<0>();
        if (ONCE) {
            __syncthreads();
            pass_turn(steps - 1);
        }
        if (ONCE && first == 0)
            clear_unseen();
        write(p.out[KEYS ? 1 : 0], 0, KEYS ? kh : h, p.d, 1.0f);
        if (KEYS)
            write(p.out[2], KEYS, kh, p.e, p.least ? 1.0f / (float)p.keep : 1.0f);
    }
};

#endif
