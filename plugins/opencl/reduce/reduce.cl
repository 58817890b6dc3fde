/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Reductions of T into R. A state is begun, fed with elements, joined with others of its kind, and
 * finished; the order of all that depends on the shape alone, so results do too. Sums are carried
 * in a wider type, or in two parts where there is none (Knuth's two-sum). */
#define SUM 0
#define PROD 1
#define EXTREME 2
#define POSITION 3
#define COUNT 4
#define VAR 5
#define LOGSUMEXP 6
#define IS_WHOLE (T_KIND == KIND_BOOL || T_KIND == KIND_INT || T_KIND == KIND_UINT)
struct reduction {
    struct walk outer, inner; /* strides: in, out */
    long in, out, states;     /* offsets in bytes */
    ulong items, chunk, correction_f64;
    uint chunks;
    float correction;
};

/* ---- the states ---- */
#if KIND == SUM
#if IS_WHOLE
typedef struct {
    ulong sum;
} state;
static inline void feed(state *s, CAT(computed_, T) x, ulong i)
{
    s->sum += (ulong)(long)x;
}
static inline void join_states(state *s, const state *t)
{
    s->sum += t->sum;
}
static inline CAT(computed_, R) finish(const state *s, ulong n, wide correction)
{
    return R_KIND == KIND_BOOL ? s->sum != 0 : (CAT(computed_, R))s->sum;
}
#else
/* The neutral element of sums is -0, so that a sum of negative zeros stays one; it shows in a sum
 * of nothing alone, which is +0. */
#define HAS_MINUS_ZERO 1
typedef struct {
    total re, im;
} state;
static inline void feed(state *s, CAT(computed_, T) x, ulong i)
{
#if IS_COMPLEX
    total_add(&s->re, x.re);
    total_add(&s->im, x.im);
#else
    total_add(&s->re, x);
#endif
}
static inline void join_states(state *s, const state *t)
{
    total_join(&s->re, &t->re);
    if (IS_COMPLEX)
        total_join(&s->im, &t->im);
}
static inline CAT(computed_, R) finish(const state *s, ulong n, wide correction)
{
    wide count = MEAN ? (wide)n : 1;
#if IS_COMPLEX
    CAT(computed_, R) z = {total_of(&s->re, n) / count, total_of(&s->im, n) / count};
    return z;
#else
    return (CAT(computed_, R))(total_of(&s->re, n) / count);
#endif
}
#endif

#elif KIND == PROD
#if IS_WHOLE
typedef struct {
    ulong missing; /* from the product, so that a state of zeros is a product of nothing */
} state;
static inline void feed(state *s, CAT(computed_, T) x, ulong i)
{
    s->missing = (1 - s->missing) * (ulong)(long)x;
    s->missing = 1 - s->missing;
}
static inline void join_states(state *s, const state *t)
{
    s->missing = 1 - (1 - s->missing) * (1 - t->missing);
}
static inline CAT(computed_, R) finish(const state *s, ulong n, wide correction)
{
    return R_KIND == KIND_BOOL ? s->missing != 1 : (CAT(computed_, R))(1 - s->missing);
}
#elif IS_COMPLEX
typedef struct {
    wide re, im;
    int any;
} state;
static inline void times(state *s, wide re, wide im)
{
    wide x = s->any ? s->re : 1, y = s->any ? s->im : 0;
    s->re = s->any ? x * re - y * im : re;
    s->im = s->any ? x * im + y * re : im;
    s->any = 1;
}
static inline void feed(state *s, CAT(computed_, T) x, ulong i)
{
    times(s, x.re, x.im);
}
static inline void join_states(state *s, const state *t)
{
    if (t->any)
        times(s, t->re, t->im);
}
static inline CAT(computed_, R) finish(const state *s, ulong n, wide correction)
{
    CAT(computed_, R) z = {s->any ? s->re : 1, s->any ? s->im : 0};
    return z;
}
#else
/* A product as fraction and exponent: no order of the factors overflows on the way. */
typedef struct {
    wide fraction;
    long exponent;
    int any;
} state;
static inline void times(state *s, wide x, long exponent)
{
    int e = 0, f = 0;
    x = frexp(x, &e);
    s->fraction = s->any ? frexp(s->fraction * x, &f) : x;
    s->exponent += exponent + e + f;
    s->any = 1;
}
static inline void feed(state *s, CAT(computed_, T) x, ulong i)
{
    times(s, x, 0);
}
static inline void join_states(state *s, const state *t)
{
    if (t->any)
        times(s, t->fraction, t->exponent);
}
static inline CAT(computed_, R) finish(const state *s, ulong n, wide correction)
{
    int exponent = (int)clamp(s->exponent, -10000l, 10000l);
    return s->any ? (CAT(computed_, R))ldexp(s->fraction, exponent) : 1;
}
#endif

#elif KIND == EXTREME
typedef struct {
    CAT(computed_, T) value;
    int any;
} state;
static inline void feed(state *s, CAT(computed_, T) x, ulong i)
{
    s->value = s->any ? OP(s->value, x) : x;
    s->any = 1;
}
static inline void join_states(state *s, const state *t)
{
    if (t->any)
        feed(s, t->value, 0);
}
static inline CAT(computed_, R) finish(const state *s, ulong n, wide correction)
{
    return s->value;
}

#elif KIND == POSITION
typedef struct {
    CAT(computed_, T) value;
    int any;
    ulong at;
} state;
/* The first NaN, else the first of the best. */
static inline void feed(state *s, CAT(computed_, T) x, ulong i)
{
    int better = x != x ? s->value == s->value : BETTER(x, s->value),
        same = x != x ? s->value != s->value : x == s->value;
    if (!s->any || better || (same && i < s->at)) {
        s->value = x;
        s->at = i;
    }
    s->any = 1;
}
static inline void join_states(state *s, const state *t)
{
    if (t->any)
        feed(s, t->value, t->at);
}
static inline CAT(computed_, R) finish(const state *s, ulong n, wide correction)
{
    return (CAT(computed_, R))s->at;
}

#elif KIND == COUNT
typedef struct {
    ulong count;
} state;
static inline void feed(state *s, CAT(computed_, T) x, ulong i)
{
#if IS_COMPLEX
    s->count += x.re != 0 || x.im != 0;
#else
    s->count += x != 0;
#endif
}
static inline void join_states(state *s, const state *t)
{
    s->count += t->count;
}
static inline CAT(computed_, R) finish(const state *s, ulong n, wide correction)
{
    return (CAT(computed_, R))(COUNTED(s->count, n));
}

#elif KIND == VAR
/* Means and squares of distances, joined by the formula of Chan, Golub and LeVeque (1983). All
 * are of differences from the row's first element, so that an offset of the data costs no bits. */
#define HAS_PIVOT 1
typedef struct {
    wide re, im, squares, pivot_re, pivot_im;
    ulong n;
} state;
static inline void pivot(state *s, CAT(computed_, T) x)
{
#if IS_COMPLEX
    s->pivot_re = x.re;
    s->pivot_im = x.im;
#else
    s->pivot_re = x;
#endif
}
static inline void join_states(state *s, const state *t)
{
    if (t->n == 0)
        return;
    if (s->n == 0) {
        *s = *t;
        return;
    }
    wide x = t->re - s->re, y = t->im - s->im, n = (wide)(s->n + t->n), w = (wide)t->n / n;
    s->squares += t->squares + (x * x + y * y) * ((wide)s->n * w);
    s->re += x * w;
    s->im += y * w;
    s->n += t->n;
}
static inline void feed(state *s, CAT(computed_, T) x, ulong i)
{
#if IS_COMPLEX
    wide re = (wide)x.re - s->pivot_re, im = (wide)x.im - s->pivot_im;
    state one = {re, im, (re - re) + (im - im), s->pivot_re, s->pivot_im, 1};
#else
    wide d = (wide)x - s->pivot_re;
    state one = {d, 0, d - d, s->pivot_re, 0, 1};
#endif
    join_states(s, &one);
}
static inline CAT(computed_, R) finish(const state *s, ulong n, wide correction)
{
    wide divisor = (wide)n - correction, v = divisor > 0 ? s->squares / divisor : NAN;
    return (CAT(computed_, R))(ROOT ? sqrt(v) : v);
}

#else
typedef struct {
    wide most, lost;
    total sum; /* of exp(x - most) */
    int any;
} state;
static inline void scale(state *s, wide most)
{
    wide by = s->most == most ? 1 : exp(s->most - most);
    s->sum.sum *= by;
    s->sum.lost *= by;
    s->most = most;
}
static inline void join_states(state *s, const state *t)
{
    state u = *t;
    if (!u.any)
        return;
    if (!s->any) {
        *s = u;
        return;
    }
    wide most = s->most != s->most || s->most > u.most ? s->most : u.most;
    scale(s, most);
    scale(&u, most);
    total_join(&s->sum, &u.sum);
}
static inline void feed(state *s, CAT(computed_, T) x, ulong i)
{
    state one = {x, 0, {1, 0}, 1};
    join_states(s, &one);
}
static inline CAT(computed_, R) finish(const state *s, ulong n, wide correction)
{
    if (!s->any)
        return -INFINITY;
    return (CAT(computed_, R))(isinf(s->most) ? s->most : s->most + log(total_value(&s->sum)));
}
#endif

static inline wide correction_of(const struct reduction *r)
{
#if HAVE_F64
    return as_double(r->correction_f64);
#else
    return r->correction;
#endif
}
static inline long item(const struct reduction *r, ulong i)
{
    long at[OPERANDS];
    if (r->inner.ndim == 1)
        return (long)i * r->inner.stride[0][0];
    locate(&r->inner, i, at, 1);
    return at[0];
}
/* A state that has been fed nothing, of the row at `at`. */
static inline state begin_row(const struct reduction *r, bytes in, long at)
{
    state s = {0};
#ifdef HAS_MINUS_ZERO
    s.re.sum = s.im.sum = (wide)-0.0f;
#endif
#ifdef HAS_PIVOT
    if (r->items > 0)
        pivot(&s, CAT(load_, T)(in + r->in, at));
#endif
    return s;
}
static inline void put(const struct reduction *r, bytes out, long at, const state *s)
{
    CAT(store_, R)(out + r->out, at, finish(s, r->items, correction_of(r)));
}

#if SCANS
/* What was fed so far, after each item; a row for each work-item. */
kernel void scan(bytes in, bytes out, struct reduction r)
{
    long at[OPERANDS];
    if (get_global_id(0) >= r.outer.n)
        return;
    locate(&r.outer, get_global_id(0), at, 2);
    state s = begin_row(&r, in, at[0]);
    for (ulong i = 0; i < r.items; i++) {
        feed(&s, CAT(load_, T)(in + r.in, at[0] + (long)i * r.inner.stride[0][0]), i);
        put(&r, out, at[1] + (long)i * r.inner.stride[1][0], &s);
    }
}
#else

/* A result for each work-item. */
kernel void rows(bytes in, bytes out, bytes states, struct reduction r)
{
    long at[OPERANDS];
    if (get_global_id(0) >= r.outer.n)
        return;
    locate(&r.outer, get_global_id(0), at, 2);
    state s = begin_row(&r, in, at[0]);
    for (ulong i = 0; i < r.items; i++)
        feed(&s, CAT(load_, T)(in + r.in, at[0] + item(&r, i)), i);
    put(&r, out, at[1], &s);
}

/* A chunk of a row for each group. */
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void groups(bytes in, bytes out,
                                                                      bytes states,
                                                                      struct reduction r)
{
    local state all[GROUP];
    long at[OPERANDS];
    uint lane = get_local_id(0);
    ulong row = get_group_id(0) / r.chunks, piece = get_group_id(0) % r.chunks;
    ulong begin = piece * r.chunk, end = min(begin + r.chunk, r.items);
    locate(&r.outer, row, at, 2);
    state s = begin_row(&r, in, at[0]);
    for (ulong i = begin + lane; i < end; i += GROUP)
        feed(&s, CAT(load_, T)(in + r.in, at[0] + item(&r, i)), i);
    all[lane] = s;
    for (uint half_way = GROUP / 2; half_way > 0; half_way /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lane < half_way) {
            state mine = all[lane], other = all[lane + half_way];
            join_states(&mine, &other);
            all[lane] = mine;
        }
    }
    if (lane == 0) {
        s = all[0];
        if (r.chunks == 1)
            put(&r, out, at[1], &s);
        else
            ((global state *)(states + r.states))[get_group_id(0)] = s;
    }
}

/* The chunks' states to results. */
kernel void join(bytes in, bytes out, bytes states, struct reduction r)
{
    long at[OPERANDS];
    ulong row = get_global_id(0);
    if (row >= r.outer.n)
        return;
    locate(&r.outer, row, at, 2);
    state s = begin_row(&r, in, at[0]);
    for (uint i = 0; i < r.chunks; i++) {
        state other = ((global state *)(states + r.states))[row * r.chunks + i];
        join_states(&s, &other);
    }
    put(&r, out, at[1], &s);
}
#endif
