/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * out = epilogue(alpha * a@b + beta * out + bias): IN is the operands' dtype, R the result's, C
 * what is computed in. Tiles go through local memory; `blocks` is for devices whose local memory is
 * ordinary memory, where a work-item takes a strip of a row from it directly. */
#define TILE 32 /* rows and columns of a group's tile */
#define SLAB 16 /* of k at a time */
#define PER 4   /* rows and columns of a work-item, TILE/8 */
#define STRIP 16

struct product {
    struct walk batch; /* strides: a, b, out, bias */
    long m, n, k;
    long a_row, a_col, b_row, b_col, out_row, out_col, bias_row, bias_col;
    long a, b, out, bias; /* offsets in bytes */
    ulong alpha_f64, beta_f64;
    float alpha_f32, beta_f32;
    uint epilogue, has_bias, has_beta, zero;
};
typedef CAT(computed_, C) value;

#if C_KIND == KIND_COMPLEX
#define ZERO {0, 0}
static inline value multiply_add(value a, value b, value s)
{
    s.re += a.re * b.re - a.im * b.im;
    s.im += a.re * b.im + a.im * b.re;
    return s;
}
static inline value plus(value a, value b)
{
    a.re += b.re;
    a.im += b.im;
    return a;
}
#if C_BITS == 128
typedef double factor;
#else
typedef float factor;
#endif
static inline value times(factor x, value a)
{
    a.re *= x;
    a.im *= x;
    return a;
}
#else
#define ZERO 0
#if C_KIND == KIND_FLOAT && defined(FP_FAST_FMAF)
#define multiply_add(a, b, s) fma(a, b, s)
#else
#define multiply_add(a, b, s) ((value)((s) + (a) * (b)))
#endif
#define plus(a, b) ((value)((a) + (b)))
#define times(x, a) ((value)((x) * (a)))
typedef value factor;
#endif

static inline value load_operand(bytes p, long i)
{
#if C_KIND == KIND_COMPLEX
    return CAT(load_, IN)(p, i);
#else
    return (value)CAT(load_, IN)(p, i);
#endif
}
static inline value load_result(bytes p, long i)
{
#if C_KIND == KIND_COMPLEX
    return CAT(load_, R)(p, i);
#else
    return (value)CAT(load_, R)(p, i);
#endif
}
static inline factor factor_of(ulong bits, float x)
{
#if C_KIND & (KIND_INT | KIND_UINT)
    return (factor)(long)x;
#elif C_BITS == (C_KIND == KIND_COMPLEX ? 128 : 64)
    return as_double(bits);
#else
    return x;
#endif
}
static inline value epilogue(uint which, value x)
{
#if C_KIND == KIND_FLOAT
    switch (which) {
    case 1:
        return nd_relu(x);
    case 2:
        return nd_gelu(x);
    case 3:
        return nd_gelu_tanh(x);
    case 4:
        return nd_sigmoid(x);
    case 5:
        return nd_silu(x);
    case 6:
        return nd_tanh(x);
    }
#endif
    return x;
}

/* Where the matrices of one step of the batch begin, in elements. */
static inline void put(const struct product *p, bytes out, bytes bias, const long *at, long i,
                       long j, value x)
{
    long where = at[2] + i * p->out_row + j * p->out_col;
    x = times(factor_of(p->alpha_f64, p->alpha_f32), x);
    if (p->has_beta)
        x = plus(x, times(factor_of(p->beta_f64, p->beta_f32), load_result(out + p->out, where)));
    if (p->has_bias)
        x = plus(x, load_result(bias + p->bias, at[3] + i * p->bias_row + j * p->bias_col));
    x = epilogue(p->epilogue, x);
#if C_KIND == KIND_COMPLEX
    CAT(store_, R)(out + p->out, where, x);
#else
    CAT(store_, R)(out + p->out, where, (CAT(computed_, R))x);
#endif
}

kernel __attribute__((reqd_work_group_size(8, 8, 1))) void tiles(bytes a, bytes b, bytes bias,
                                                                 bytes out, struct product p)
{
    local value as[SLAB][TILE + 1], bs[SLAB][TILE + 1];
    long at[OPERANDS], row = (long)get_group_id(1) * TILE, column = (long)get_group_id(0) * TILE;
    uint x = get_local_id(0), y = get_local_id(1), lane = y * 8 + x;
    value sum[PER][PER], none = ZERO;
    locate(&p.batch, get_group_id(2), at, 4);
    for (int i = 0; i < PER; i++)
        for (int j = 0; j < PER; j++)
            sum[i][j] = none;
    for (long first = 0; first < p.k; first += SLAB) {
        for (uint e = lane; e < SLAB * TILE; e += 64) {
            /* neighbours in memory by neighbouring work-items */
            uint ak = p.a_col == 1 ? e % SLAB : e / TILE, ai = p.a_col == 1 ? e / SLAB : e % TILE;
            as[ak][ai] = none;
            if (row + ai < p.m && first + ak < p.k)
                as[ak][ai] = load_operand(a + p.a, at[0] + (row + ai) * p.a_row +
                                                       (first + ak) * p.a_col);
        }
        for (uint e = lane; e < SLAB * TILE; e += 64) {
            uint bk = p.b_col == 1 ? e / TILE : e % SLAB, bj = p.b_col == 1 ? e % TILE : e / SLAB;
            bs[bk][bj] = none;
            if (column + bj < p.n && first + bk < p.k)
                bs[bk][bj] = load_operand(b + p.b, at[1] + (first + bk) * p.b_row +
                                                       (column + bj) * p.b_col);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = 0; k < SLAB; k++)
            for (int i = 0; i < PER; i++)
                for (int j = 0; j < PER; j++)
                    sum[i][j] = multiply_add(as[k][y * PER + i], bs[k][x * PER + j], sum[i][j]);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (int i = 0; i < PER; i++)
        for (int j = 0; j < PER; j++)
            if (row + y * PER + i < p.m && column + x * PER + j < p.n)
                put(&p, out, bias, at, row + y * PER + i, column + x * PER + j, sum[i][j]);
}

/* Rows PER, columns STRIP of the result for each work-item. */
kernel void blocks(bytes a, bytes b, bytes bias, bytes out, struct product p)
{
    long at[OPERANDS], strips = (p.n + STRIP - 1) / STRIP, bands = (p.m + PER - 1) / PER;
    long job = (long)get_global_id(0);
    value sum[PER][STRIP], none = ZERO;
    if ((ulong)job >= p.batch.n * (ulong)(strips * bands))
        return;
    long column = job % strips * STRIP, row = job / strips % bands * PER;
    long width = min((long)STRIP, p.n - column), height = min((long)PER, p.m - row);
    locate(&p.batch, (ulong)(job / strips / bands), at, 4);
    for (int i = 0; i < PER; i++)
        for (int j = 0; j < STRIP; j++)
            sum[i][j] = none;
    for (long k = 0; k < p.k; k++) {
        value strip[STRIP];
        long from = at[1] + k * p.b_row + column * p.b_col;
        if (width == STRIP && p.b_col == 1)
            for (int j = 0; j < STRIP; j++)
                strip[j] = load_operand(b + p.b, from + j);
        else
            for (int j = 0; j < STRIP; j++)
                strip[j] = load_operand(b + p.b, from + min((long)j, width - 1) * p.b_col);
        for (int i = 0; i < PER; i++) {
            long r = row + min((long)i, height - 1);
            value x = load_operand(a + p.a, at[0] + r * p.a_row + k * p.a_col);
            for (int j = 0; j < STRIP; j++)
                sum[i][j] = multiply_add(x, strip[j], sum[i][j]);
        }
    }
    for (int i = 0; i < height; i++)
        for (int j = 0; j < width; j++)
            put(&p, out, bias, at, row + i, column + j, sum[i][j]);
}
