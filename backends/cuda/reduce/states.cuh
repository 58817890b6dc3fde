/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * States of reductions and scans that move between the threads of a block, and results, rounded
 * once as they are stored. */
#ifndef NDOCK_CUDA_STATES_CUH
#define NDOCK_CUDA_STATES_CUH
#include "math/types.cuh"
#include "reduce/shuffle.cuh"

/* What makes states of a warp cheap to join, where their operation has something of the kind: level(), and
 * join() of two that it made. */
template <class OP, class = void> struct state_level {
    LINE_FN typename OP::state of(typename OP::state s, int) { return s; }
    template <class P>
    LINE_FN typename OP::state join(typename OP::state a, typename OP::state b, const P &p)
    {
        return OP::merge(a, b, p);
    }
};
template <class OP> struct state_level<OP, typename OP::levels> {
    LINE_FN typename OP::state of(typename OP::state s, int width) { return OP::level(s, width); }
    template <class P>
    LINE_FN typename OP::state join(typename OP::state a, typename OP::state b, const P &p)
    {
        return OP::join(a, b, p);
    }
};

/* Where an operation can measure the states of all chunks of a line from one value: centre() of one of them, and
 * from(), after which join() is enough. */
template <class OP, class = void> struct state_centre {
    LINE_FN double find(const typename OP::state &) { return 0.0; }
    LINE_FN typename OP::state from(typename OP::state s, double) { return s; }
    template <class P>
    LINE_FN typename OP::state join(typename OP::state a, typename OP::state b, const P &p)
    {
        return OP::merge(a, b, p);
    }
};
template <class OP> struct state_centre<OP, typename OP::centres> {
    LINE_FN double find(const typename OP::state &s) { return OP::centre(s); }
    LINE_FN typename OP::state from(typename OP::state s, double c) { return OP::from(s, c); }
    template <class P>
    LINE_FN typename OP::state join(typename OP::state a, typename OP::state b, const P &p)
    {
        return OP::join(a, b, p);
    }
};

/* Rounding a double once to what is stored: halves by way of a float rounded to odd (Boldo and
 * Melquiond, IEEE Trans. Comput. 2008). There is but one NaN. */
LINE_FN float state_round_odd(double v)
{
    float f = __double2float_rz(v);
    return (double)f == v ? f : __uint_as_float(__float_as_uint(f) | 1u);
}
LINE_FN double state_one_nan(double v)
{
    return v == v ? v : __longlong_as_double(0x7ff8000000000000ll);
}
LINE_FN void state_store(double *to, double v)
{
    *to = state_one_nan(v);
}
LINE_FN void state_store(float *to, double v)
{
    *to = v == v ? (float)v : __uint_as_float(0x7fc00000u);
}
LINE_FN void state_store(__half *to, double v)
{
    *to = v == v ? __float2half_rn(state_round_odd(v)) : __ushort_as_half(0x7e00);
}
LINE_FN void state_store(__nv_bfloat16 *to, double v)
{
    *to = v == v ? __float2bfloat16_rn(state_round_odd(v)) : __ushort_as_bfloat16(0x7fc0);
}

/* An integer as one of nbytes bytes, or as a bool. */
LINE_FN void state_store_int(void *base, int64_t at, int nbytes, int is_bool, uint64_t v)
{
    if (is_bool)
        ((uint8_t *)base)[at] = v != 0;
    else if (nbytes == 8)
        ((uint64_t *)base)[at] = v;
    else if (nbytes == 4)
        ((uint32_t *)base)[at] = (uint32_t)v;
    else if (nbytes == 2)
        ((uint16_t *)base)[at] = (uint16_t)v;
    else
        ((uint8_t *)base)[at] = (uint8_t)v;
}

#endif
