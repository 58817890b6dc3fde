/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Elementwise kernels: result R of the formula OP, in dtype T; or a copy, or a ramp. */
#ifndef IOTA
struct elementwise {
    struct walk walk;
    ulong scalar[3][2];
    long offset[4];
    uint scalars, zero;
};
#define INPUT(k, dtype)                                                               \
    (e.scalars >> (k)&1 ? CAT(scalar_, dtype)(e.scalar[k][0], e.scalar[k][1])         \
                        : CAT(load_, dtype)(p##k, at[(k) + 1]))

#if MOVES
#define VALUE convert_value(INPUT(0, T))
#elif N_IN == 1
#define VALUE OP(INPUT(0, T))
#elif N_IN == 2
#define VALUE OP(INPUT(0, T), INPUT(1, T))
#elif WHERE
#define VALUE OP(INPUT(0, bool), INPUT(1, T), INPUT(2, T))
#else
#define VALUE OP(INPUT(0, T), INPUT(1, T), INPUT(2, T))
#endif

#define BASES \
    out += e.offset[0], p0 += e.offset[1], p1 += e.offset[2], p2 += e.offset[3]

kernel void dense(bytes out, bytes p0, bytes p1, bytes p2, struct elementwise e)
{
    long i = (long)get_global_id(0), at[OPERANDS] = {i, i, i, i};
    if ((ulong)i >= e.walk.n)
        return;
    BASES;
    CAT(store_, R)(out, i, VALUE);
}

kernel void strided(bytes out, bytes p0, bytes p1, bytes p2, struct elementwise e)
{
    long at[OPERANDS];
    if (get_global_id(0) >= e.walk.n)
        return;
    BASES;
    locate(&e.walk, get_global_id(0), at, N_IN + 1);
    CAT(store_, R)(out, at[0], VALUE);
}
#else

struct ramp {
    ulong start[2], step[2], n;
    long offset, stride;
};
kernel void iota(bytes out, struct ramp r)
{
    long i = (long)get_global_id(0);
    if ((ulong)i >= r.n)
        return;
#if T_KIND == KIND_COMPLEX
    computed_c128 x = {as_double(r.start[0]) + (double)i * as_double(r.step[0]),
                       as_double(r.start[1]) + (double)i * as_double(r.step[1])};
#elif T_KIND == KIND_FLOAT
    double x = as_double(r.start[0]) + (double)i * as_double(r.step[0]);
#else
    CAT(computed_, T) x = (CAT(computed_, T))(r.start[0] + (ulong)i * r.step[0]);
#endif
    CAT(store_, R)(out + r.offset, i * r.stride, convert_value(x));
}
#endif
