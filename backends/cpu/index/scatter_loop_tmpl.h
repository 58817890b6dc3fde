/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Inner loops of one kind of scatter for one dtype. The includer sets T, the element's type,
 * UPDATE(old, new) and FN(name); T stays defined. */

/* table[at[i], i] = UPDATE(it, value[i]) in order of i: along the axis the same element may come
 * again. */
static void FN(scatter)(char *table, const char *value, const int64_t *at, const index_run *r)
{
    T *to = (T *)table;
    const T *from = (const T *)value;
    int64_t extent = r->extent, step = r->table_axis, lane = r->table, sv = r->value, si = r->at;
    if (si == 1 && sv == 1 && lane == 0 && step == 1)
        for (int64_t i = 0; i < r->n; i++) {
            int64_t x = index_wrap(at[i], extent);
            to[x] = UPDATE(to[x], from[i]);
        }
    else if (si == 1 && sv == 0 && lane == 0 && step == 1) {
        const T value_of_all = *from;
        for (int64_t i = 0, n = r->n; i < n; i++) {
            int64_t x = index_wrap(at[i], extent);
            to[x] = UPDATE(to[x], value_of_all);
        }
    } else
        for (int64_t i = 0; i < r->n; i++) {
            int64_t x = index_wrap(at[i * si], extent) * step + i * lane;
            to[x] = UPDATE(to[x], from[i * sv]);
        }
}

/* A row at one index: distinct elements. */
static void FN(row)(char *table, const char *value, const int64_t *at, const index_run *r)
{
    T *to = (T *)table;
    const T *from = (const T *)value;
    int64_t lane = r->table, sv = r->value;
    (void)at;
    if (lane == 1 && sv == 1)
        for (int64_t i = 0; i < r->n; i++)
            to[i] = UPDATE(to[i], from[i]);
    else
        for (int64_t i = 0; i < r->n; i++)
            to[i * lane] = UPDATE(to[i * lane], from[i * sv]);
}
#undef UPDATE
#undef FN
