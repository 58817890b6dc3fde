/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Rows of T normalised, dense: one work-item for each short row (LANES 1), or one group for each
 * row. All is reckoned in `wide`. */
#define SOFTMAX 0
#define LOG_SOFTMAX 1
#define LAYER_NORM 2
#define RMS_NORM 3
struct norm {
    ulong rows, items;
    long in, scale, bias, out; /* offsets in bytes */
    long scale_row, scale_item, bias_row, bias_item;
    ulong eps_f64;
    float eps;
    uint has_scale, has_bias, zero;
};
typedef struct {
    wide sum, lost;
} total;
static inline void total_add(total *t, wide x)
{
    wide s = t->sum + x, b = s - t->sum;
    t->lost += (t->sum - (s - b)) + (x - b);
    t->sum = s;
}
static inline wide total_value(total t)
{
    return t.lost == t.lost ? t.sum + t.lost : t.sum;
}
static inline wide larger(wide a, wide b)
{
    return a > b || a != a ? a : b;
}

/* Joins the lanes' values; all get the result. */
static inline wide all_sum(total mine, local total *box, uint lane, uint lanes)
{
    if (lanes == 1)
        return total_value(mine);
    barrier(CLK_LOCAL_MEM_FENCE);
    box[lane] = mine;
    for (uint step = lanes / 2; step > 0; step /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lane < step) {
            mine = box[lane];
            total other = box[lane + step];
            total_add(&mine, other.sum);
            mine.lost += other.lost;
            box[lane] = mine;
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    return total_value(box[0]);
}
static inline wide all_larger(wide mine, local total *box, uint lane, uint lanes)
{
    if (lanes == 1)
        return mine;
    barrier(CLK_LOCAL_MEM_FENCE);
    box[lane].sum = mine;
    for (uint step = lanes / 2; step > 0; step /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lane < step)
            box[lane].sum = larger(box[lane].sum, box[lane + step].sum);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    return box[0].sum;
}
/* exp(a - b), with what the difference lost in rounding. */
static inline wide exp_difference(wide a, wide b)
{
    wide d = a - b, t = d - a, lost = (a - (d - t)) - (b + t), e = exp(d);
    return lost == lost ? e + e * lost : e;
}
#define LOAD(i) ((wide)CAT(load_, T)(in + p->in, base + (long)(i)))
#define STORE(i, x) CAT(store_, T)(out + p->out, base + (long)(i), (CAT(computed_, T))(x))

#if KIND == SOFTMAX || KIND == LOG_SOFTMAX
static inline void one_row(bytes in, bytes scale, bytes bias, bytes out, const struct norm *p,
                           ulong row, local total *box, uint lane, uint lanes)
{
    long base = (long)(row * p->items);
    wide most = -INFINITY;
    total t = {lane == 0 ? -1 : 0, 0}; /* the sum less 1, which is all that log1p needs to know */
    for (ulong i = lane; i < p->items; i += lanes)
        most = larger(LOAD(i), most);
    most = all_larger(most, box, lane, lanes);
    for (ulong i = lane; i < p->items; i += lanes)
        total_add(&t, exp_difference(LOAD(i), most));
    wide rest = all_sum(t, box, lane, lanes), sum = 1 + rest, logarithm = log1p(rest);
    for (ulong i = lane; i < p->items; i += lanes) {
        wide x = LOAD(i) - most;
        STORE(i, KIND == SOFTMAX ? exp(x) / sum : x - logarithm);
    }
}
#else
static inline void one_row(bytes in, bytes scale, bytes bias, bytes out, const struct norm *p,
                           ulong row, local total *box, uint lane, uint lanes)
{
    long base = (long)(row * p->items);
    wide n = (wide)p->items, mean = 0;
    total t = {0, 0}, u = {0, 0};
#if HAVE_F64
    wide eps = as_double(p->eps_f64);
#else
    wide eps = p->eps;
#endif
    if (KIND == LAYER_NORM) {
        for (ulong i = lane; i < p->items; i += lanes)
            total_add(&t, LOAD(i));
        mean = all_sum(t, box, lane, lanes) / n;
    }
    for (ulong i = lane; i < p->items; i += lanes) {
        wide x = LOAD(i) - mean;
        total_add(&u, x * x);
    }
    wide root = sqrt(all_sum(u, box, lane, lanes) / n + eps);
    for (ulong i = lane; i < p->items; i += lanes) {
        wide y = (LOAD(i) - mean) / root;
        if (p->has_scale)
            y *= CAT(load_, T)(scale + p->scale,
                               (long)row * p->scale_row + (long)i * p->scale_item);
        if (p->has_bias)
            y += CAT(load_, T)(bias + p->bias, (long)row * p->bias_row + (long)i * p->bias_item);
        STORE(i, y);
    }
}
#endif

kernel void short_rows(bytes in, bytes scale, bytes bias, bytes out, struct norm p)
{
    if (get_global_id(0) < p.rows)
        one_row(in, scale, bias, out, &p, get_global_id(0), 0, 0, 1);
}
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
long_rows(bytes in, bytes scale, bytes bias, bytes out, struct norm p)
{
    local total box[GROUP];
    one_row(in, scale, bias, out, &p, get_group_id(0), box, get_local_id(0), GROUP);
}
