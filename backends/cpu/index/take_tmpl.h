/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Inner loops of take and gather for elements of one size. The includer sets T, an unaliasing type
 * of that size, and FN(name). */

/* value[i] = table[at[i], i]: a lane of either, as strides say. */
static void FN(gather)(char *value, const char *table, const int64_t *at, const index_run *r)
{
    T *out = (T *)value;
    const T *from = (const T *)table;
    int64_t extent = r->extent, step = r->table_axis, lane = r->table, so = r->value, si = r->at;
    if (si == 1 && so == 1 && lane == 0 && step == 1)
        for (int64_t i = 0; i < r->n; i++)
            out[i] = from[index_wrap(at[i], extent)];
    else
        for (int64_t i = 0; i < r->n; i++)
            out[i * so] = from[index_wrap(at[i * si], extent) * step + i * lane];
}

static void FN(copy)(char *value, const char *table, const int64_t *at, const index_run *r)
{
    T *out = (T *)value;
    const T *from = (const T *)table;
    int64_t lane = r->table, so = r->value;
    (void)at;
    for (int64_t i = 0; i < r->n; i++)
        out[i * so] = from[i * lane];
}
#undef T
#undef FN
