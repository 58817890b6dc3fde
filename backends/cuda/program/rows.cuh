/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What the generated kernels of programs of rows call. Who is merged with whom is as in
 * reduce_row() of reduce.cu, so the bits are those of reductions by themselves. */
#ifndef NDOCK_CUDA_PROGRAM_ROWS_CUH
#define NDOCK_CUDA_PROGRAM_ROWS_CUH
#include "program/pair.cuh"
#include "reduce/ops.cuh"

/* An item of V elements of a row, from and to memory. */
template <int V, class T>
static __device__ __forceinline__ void rows_load(T *to, const T *row, uint32_t item, bool whole,
                                                 int64_t step)
{
    if (whole) {
        program_load(*(T(*)[V])to, row + (uint64_t)item * V, true, V);
        return;
    }
#pragma unroll
    for (int k = 0; k < V; k++)
        to[k] = row[(int64_t)((uint64_t)item * V + k) * step];
}
template <int V, class T>
static __device__ __forceinline__ void rows_store(T *row, const T *from, uint32_t item, bool whole,
                                                  int64_t step)
{
    if (whole) {
        program_store(row + (uint64_t)item * V, *(const T(*)[V])from, true, V);
        return;
    }
#pragma unroll
    for (int k = 0; k < V; k++)
        row[(int64_t)((uint64_t)item * V + k) * step] = from[k];
}

/* A lane's items of a row to shared memory, which are there after rows_staged(): copies that no
 * register waits for, where they are 16 bytes or parts of that. */
template <int NBYTES> static __device__ __forceinline__ void rows_copy(void *to, const void *from)
{
#if __CUDA_ARCH__ >= 800
    const uint32_t at = (uint32_t)__cvta_generic_to_shared(to);
    if (NBYTES == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at), "l"(from) : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(at), "l"(from), "n"(NBYTES)
                     : "memory");
#else
    memcpy(to, from, NBYTES);
#endif
}
template <int V, class T>
static __device__ __forceinline__ void rows_stage(T *to, const T *row, uint32_t lane,
                                                  uint32_t lanes, uint32_t items, bool whole,
                                                  int64_t step)
{
    enum { nbytes = V * sizeof(T), unit = nbytes < 16 ? nbytes : 16 };
    if (whole && nbytes >= 4) {
#pragma unroll 2
        for (uint32_t i = lane; i < items; i += lanes)
#pragma unroll
            for (int at = 0; at < nbytes; at += unit)
                rows_copy < unit<4 ? 4 : unit>((char *)(to + (uint64_t)i * V) + at,
                                               (const char *)(row + (uint64_t)i * V) + at);
        return;
    }
#pragma unroll 1
    for (uint32_t i = lane; i < items; i += lanes) {
        T item[V];
        rows_load<V>(item, row, i, false, step);
        rows_store<V>(to, item, i, true, 1);
    }
}
static __device__ __forceinline__ void rows_staged(void)
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

/* The bits of an element as what a reduction takes. */
template <class T, class S> static __device__ __forceinline__ T rows_bits(S x)
{
    T r;
    static_assert(sizeof r == sizeof x, "an element of the same size");
    memcpy(&r, &x, sizeof r);
    return r;
}

/* ---- reductions ---- */
/* The state of another lane of a warp. */
template <class S> static __device__ __forceinline__ S rows_other(S s, int distance)
{
    union {
        S state;
        uint32_t word[sizeof(S) / 4];
    } u = {s};
#pragma unroll
    for (int i = 0; i < (int)(sizeof(S) / 4); i++)
        u.word[i] = __shfl_xor_sync(0xffffffffu, u.word[i], distance);
    return u.state;
}

/* Merges with the state of the lane whose number differs in the bit distance, as the lower of the two
 * does in reduce.cu. */
template <class OP>
static __device__ __forceinline__ typename OP::state rows_meet(typename OP::state s, int distance,
                                                               const reduce_params &p)
{
    const typename OP::state other = rows_other(s, distance);
    if (OP::commutes)
        return OP::merge(s, other, p);
    const bool upper = threadIdx.x & distance;
    return OP::merge(upper ? other : s, upper ? s : other, p);
}

/* The states of a group of lanes, a power of two up to a warp or 256, merged; every lane gets it. The
 * next merge has the other slot: who writes to this one again has seen that one's barrier, so all
 * have read. */
template <class OP, int SLOT>
static __device__ __forceinline__ typename OP::state rows_merge(typename OP::state s, int lanes,
                                                                const reduce_params &p)
{
    enum { warps = CUDA_PROGRAM_THREADS / 32 };
    __shared__ typename OP::state of_warp[warps];
#pragma unroll
    for (int h = 16; h; h /= 2) {
        const typename OP::state met = rows_meet<OP>(s, h, p); /* by all lanes: without branches */
        s = h < lanes ? met : s;
    }
    if (lanes <= 32)
        return s;
    if (threadIdx.x % 32 == 0)
        of_warp[threadIdx.x / 32] = s;
    __syncthreads();
    s = of_warp[threadIdx.x % warps];
#pragma unroll
    for (int h = warps / 2; h; h /= 2)
        s = rows_meet<OP>(s, h, p);
    return s;
}

template <class OP, class T>
static __device__ __forceinline__ T rows_value(typename OP::state s, reduce_params p)
{
    alignas(16) unsigned char bytes[16];
    T r;
    p.out = (uint64_t)bytes;
    OP::store(p, 0, s);
    memcpy(&r, bytes, sizeof r);
    return r;
}

/* As in reduce.cu; the order of two states matters. */
template <class OP> struct rows_as : OP {
    static constexpr bool commutes = false;
};

/* Sums and means of elements of at most four bytes. The mean's division by a count is exact by its
 * reciprocal and what the product lacks: a quotient is more than 2^-32 ulp away from what lies
 * between two doubles, the error before the last rounding is less than 2^-51 ulp. */
template <class T> struct rows_sum : reduce_float<sum_float<T>> {
    static constexpr bool commutes = true;
    typedef reduce_float<sum_float<T>> as;
    template <int N, int V>
    LINE_FN void add(double &s, const T *x, int64_t a, int64_t b, const reduce_params &p)
    {
        if constexpr (sizeof(T) == 2 && N % 4 == 0) {
#pragma unroll
            for (int i = 0; i < N; i += 4) {
                const uint32_t w[2] = {pair_get(x + i), pair_get(x + i + 2)};
                const double even = (double)pair<T>::lo(w[0]) + (double)pair<T>::lo(w[1]);
                const double odd = (double)pair<T>::hi(w[0]) + (double)pair<T>::hi(w[1]);
                s += even + odd;
            }
        } else {
            as::template add<N, V>(s, x, a, b, p);
        }
    }
    LINE_FN void store(const reduce_params &p, int64_t at, double s)
    {
        if (p.inverse != 1) {
            const double q = s * p.inverse, rest = __fma_rn(-(double)p.count, q, s);
            s = fabs(rest) > 0 ? __fma_rn(rest, p.inverse, q) : q;
        }
        state_store((T *)p.out + at, s);
    }
};

/* Minima and maxima of the same: a NaN wins, +0 is above -0. Halves are compared two at a time. */
#if __CUDA_ARCH__ >= 800
#define ROWS_EXTREME(name, instruction)                             \
    LINE_FN uint32_t name(uint32_t a, uint32_t b)                   \
    {                                                               \
        uint32_t r;                                                 \
        asm(instruction " %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b)); \
        return r;                                                   \
    }
ROWS_EXTREME(rows_max_f16, "max.NaN.f16x2")
ROWS_EXTREME(rows_min_f16, "min.NaN.f16x2")
ROWS_EXTREME(rows_max_bf16, "max.NaN.bf16x2")
ROWS_EXTREME(rows_min_bf16, "min.NaN.bf16x2")
ROWS_EXTREME(rows_max_f32, "max.NaN.f32")
ROWS_EXTREME(rows_min_f32, "min.NaN.f32")

/* LEAST: the bits of what is below all, or above, in both halves. */
template <class T, uint32_t (*OF)(uint32_t, uint32_t), uint32_t LEAST> struct rows_extreme {
    static constexpr bool commutes = true;
    typedef T element;
    typedef uint32_t state;
    LINE_FN state zero() { return LEAST; }
    template <int N, int V>
    LINE_FN void add(state &s, const T *x, int64_t, int64_t, const reduce_params &)
    {
        enum { each = 4 / sizeof(T) };
        static_assert(N % each == 0, "whole words");
#pragma unroll
        for (int i = 0; i < N; i += each) {
            uint32_t word;
            memcpy(&word, x + i, sizeof word);
            s = OF(s, word);
        }
    }
    LINE_FN state merge(state a, state b, const reduce_params &)
    {
        return OF(a, b);
    }
    LINE_FN void store(const reduce_params &p, int64_t at, state s)
    {
        s = sizeof(T) == 2 ? OF(s, s >> 16) & 0xffff : s;
        const uint32_t size = s & (sizeof(T) == 2 ? 0x7fff : 0x7fffffff);
        const uint32_t bits = size > (uint32_t)p.nan_above ? (uint32_t)p.nan_bits : s;
        memcpy((T *)p.out + at, &bits, sizeof(T));
    }
};
#define ROWS_EXTREME_OF(T, dtype, op, LEAST) rows_extreme<T, rows_##op##_##dtype, LEAST>
#else
template <int NBYTES> struct rows_integer {
    typedef int16_t type;
};
template <> struct rows_integer<4> {
    typedef int32_t type;
};
#define ROWS_EXTREME_OF(T, dtype, op, LEAST) \
    rows_as<reduce_extreme<rows_integer<sizeof(T)>::type, int32_t, true>>
#endif

/* ---- quotients by one value of a row ---- */
/* The steps of a division, those for the divisor once. With both in range no step under- or
 * overflows, and what b*q lacks of a is exact.
 * Of bf16 the product with 1/b, rounded to nearest, is enough for whatever is divided. A quotient of
 * numbers of 8 bits is more than 2^-18 of it away from what lies between two such numbers, the
 * product 2^-23. Only a subnormal quotient can lie there; it is t with less than 2^-126 then, and the
 * product less than 2^-150 from it, so that it is rounded to t. Zeros, infinities and NaN are
 * multiplied as they are divided. */
struct rows_divisor {
    float b, y;
    float least;  /* of what is divided, but for bf16; where b is out of range, it leaves nothing */
    int32_t zero; /* 0, the bits of +0, where b is in range; else those of a NaN */
};
static __device__ __noinline__ float rows_divide(float a, float b)
{
    return a / b;
}
template <class T> struct rows_is_short {
    static constexpr bool value = false;
};
template <> struct rows_is_short<__nv_bfloat16> {
    static constexpr bool value = true;
};
template <class T> static __device__ __forceinline__ rows_divisor rows_divisor_of(T x)
{
    const float most = rows_is_short<T>::value ? 0x1p126f : 0x1p20f, b = cuda_widen(x);
    float y;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(b));
    y = __fmaf_rn(y, __fmaf_rn(-b, y, 1.0f), y);
    const bool fits = fabsf(b) >= 1 / most && fabsf(b) <= most;
    return {b, y, fits ? 0x1p-100f : __int_as_float(0x7f800000), fits ? 0 : 0x7fffffff};
}
/* Whether the quick steps serve, whose result is *r. Of zeros they give the sign of +0 alone, but for
 * bf16. */
template <class T>
static __device__ __forceinline__ bool rows_quotient_fits(float a, const rows_divisor &d, float *r)
{
    const float q = a * d.y;
    *r = rows_is_short<T>::value ? q : __fmaf_rn(d.y, __fmaf_rn(-d.b, q, a), q);
    if (rows_is_short<T>::value)
        return d.zero == 0;
    return ((fabsf(a) >= d.least) & (fabsf(a) <= 0x1p100f)) | (__float_as_int(a) == d.zero);
}
template <class T> static __device__ __forceinline__ T rows_quotient(T x, const rows_divisor &d)
{
    float r;
    if (!rows_quotient_fits<T>(cuda_widen(x), d, &r))
        r = rows_divide(cuda_widen(x), d.b);
    return cuda_narrow<T>(r);
}
template <class T>
static __device__ __forceinline__ uint32_t rows_quotients(uint32_t w, const rows_divisor &d)
{
    const float hi = pair<T>::hi(w), lo = pair<T>::lo(w);
    float r[2];
    const bool fits = rows_quotient_fits<T>(hi, d, &r[1]) & rows_quotient_fits<T>(lo, d, &r[0]);
    if (!fits) {
        r[1] = rows_divide(hi, d.b);
        r[0] = rows_divide(lo, d.b);
    }
    return pair<T>::of(r[1], r[0]);
}

#endif
