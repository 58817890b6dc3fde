/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * take, gather, scatter and searchsorted. A bad index is left out (it reads 0) and told in the
 * stream's status word by whoever claims that first. */
#define ERR_INDEX 5 /* NDP_ERR_INDEX */
struct indexing {
    struct walk walk; /* strides: out, table or source, index, position in the index's C order */
    long out, table, index, status; /* offsets in bytes */
    long extent, axis_stride, line, out_line, source_line, index_line, position_line;
    ulong scalar[2];
    uint op, has_status, is_scalar, right;
};

static inline int is_bad(long index, long extent)
{
    return index < -extent || index >= extent;
}
static void report(bytes status, const struct indexing *x, long position, long value)
{
    global long *words = (global long *)(status + x->status);
    if (!x->has_status ||
        atomic_cmpxchg((volatile global int *)(status + x->status), 0, ERR_INDEX) != 0)
        return;
    words[1] = (long)x->op;
    words[2] = position;
    words[3] = value;
    words[4] = x->extent;
}

#if GATHERS
kernel void gather(bytes out, bytes table, bytes index, bytes status, struct indexing x)
{
    long at[OPERANDS];
    ELEMENT value = 0;
    ulong i = get_global_id(0);
    if (i >= x.walk.n)
        return;
    locate(&x.walk, i, at, 4);
    long position = ((global long *)(index + x.index))[at[2]];
    if (is_bad(position, x.extent))
        report(status, &x, at[3], position);
    else
        value = ((global ELEMENT *)(table + x.table))[at[1] + (position < 0 ? position + x.extent
                                                                         : position) *
                                                                  x.axis_stride];
    ((global ELEMENT *)(out + x.out))[at[0]] = value;
}
#endif

#if SCATTERS
/* Lines along the axis are apart from each other; along one the order is C order. */
kernel void scatter(bytes out, bytes source, bytes index, bytes status, struct indexing x)
{
    long at[OPERANDS];
    if (get_global_id(0) >= x.walk.n)
        return;
    locate(&x.walk, get_global_id(0), at, 4);
    for (long i = 0; i < x.line; i++) {
        long position = ((global long *)(index + x.index))[at[2] + i * x.index_line];
        if (is_bad(position, x.extent)) {
            report(status, &x, at[3] + i * x.position_line, position);
            continue;
        }
        long to = at[0] + (position < 0 ? position + x.extent : position) * x.out_line;
        CAT(computed_, T) value = x.is_scalar
                                      ? CAT(scalar_, T)(x.scalar[0], x.scalar[1])
                                      : CAT(load_, T)(source + x.table, at[1] + i * x.source_line);
#ifdef OP
        value = OP(CAT(load_, T)(out + x.out, to), value);
#endif
        CAT(store_, T)(out + x.out, to, value);
    }
}
#endif

#if SEARCHES
/* NaN sorts last. */
static inline int before(CAT(computed_, T) a, CAT(computed_, T) b)
{
    return a < b || (b != b && a == a);
}
kernel void search(bytes out, bytes sorted, bytes values, struct indexing x)
{
    long at[OPERANDS], low = 0, high = x.extent;
    if (get_global_id(0) >= x.walk.n)
        return;
    locate(&x.walk, get_global_id(0), at, 3);
    CAT(computed_, T) v = x.is_scalar ? CAT(scalar_, T)(x.scalar[0], x.scalar[1])
                                      : CAT(load_, T)(values + x.index, at[2]);
    while (low < high) {
        long middle = low + (high - low) / 2;
        CAT(computed_, T) s = CAT(load_, T)(sorted + x.table, middle * x.axis_stride);
        if (x.right ? !before(v, s) : before(s, v))
            low = middle + 1;
        else
            high = middle;
    }
    ((global long *)(out + x.out))[at[0]] = low;
}
#endif
