/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Conformance: copies, every pair of dtypes, fills, and the way to the host and back. */
#include <math.h>
#include "tests/conform/conform.h"

/* A value converted as op copy says. */
static cell converted(nd_dtype to, cell c)
{
    int kind = cell_kind(to);
    bool number = c.kind == ND_KIND_FLOAT || c.kind == ND_KIND_COMPLEX;
    long double re = number ? c.re : (long double)c.i, im = c.kind == ND_KIND_COMPLEX ? c.im : 0;
    if (kind == ND_KIND_BOOL)
        return cell_bool(number ? re != 0 || im != 0 : c.i != 0);
    if (kind == ND_KIND_FLOAT)
        return cell_real(re);
    if (kind == ND_KIND_COMPLEX)
        return cell_complex(re, im);
    if (!number)
        return cell_wrap(to, c.i);
    int bits = 8 * (int)nd_dtype_size(to) - (kind == ND_KIND_INT);
    long double most = ldexpl(1, bits), t = truncl(re);
    if (isnan(re))
        return cell_int(0);
    if (t >= most)
        return cell_int(((__int128)1 << bits) - 1);
    long double least = kind == ND_KIND_INT ? -most : 0;
    return cell_int(t <= least ? (__int128)least : (__int128)t);
}

static void check_converted(const mirror *m, const nd_array *r)
{
    char *data = fetch(r), text[3][128];
    nd_dtype to = nd_dtype_of(r);
    bool same = to == m->dtype;
    for (int64_t i = 0; data && i < nd_size(r) && !failing(); i++) {
        const char *element = data + (size_t)i * nd_dtype_size(to);
        cell from = mirror_cell(m, nd_ndim(r), nd_shape(r), i), got = cell_read(to, element),
             want = converted(to, from);
        bool fits =
            same ? memcmp(element, mirror_at(m, nd_ndim(r), nd_shape(r), i), nd_dtype_size(to)) == 0
                 : cell_close(to, got, want, 0.5, true);
        if (!fits)
            fail_case("%s of %s to %s is %s, not %s", cell_text(from, text[0]),
                      nd_dtype_name(m->dtype), nd_dtype_name(to), cell_text(got, text[1]),
                      cell_text(want, text[2]));
    }
    free(data);
}

static bool allowed(nd_dtype from, nd_dtype to)
{
    return cell_kind(from) != ND_KIND_COMPLEX || cell_kind(to) == ND_KIND_COMPLEX || to == ND_BOOL;
}

static void cast_case(nd_dtype from, nd_dtype to)
{
    mirror m, dst = {0};
    nd_array *r = NULL;
    view_wish writable = {.writable = true};
    if (mirror_random(&m, from, &any_view) && good(nd_astype(m.array, to, &r), "astype")) {
        check_converted(&m, r);
        if (mirror_shaped(&dst, to, m.ndim, m.shape, &writable) &&
            (to != ND_BOOL || cell_kind(from) != ND_KIND_COMPLEX) &&
            good(nd_assign(m.array, dst.array), "assign")) {
            check_converted(&m, dst.array);
            if (!mirror_untouched(&dst))
                fail_case("assigning %s to %s wrote beside the destination", nd_dtype_name(from),
                          nd_dtype_name(to));
        }
    }
    nd_release(r);
    mirror_release(&m);
    mirror_release(&dst);
}

static void fill_case(nd_dtype dtype)
{
    mirror m;
    view_wish writable = any_view;
    nd_scalar value =
        cell_kind(dtype) == ND_KIND_BOOL ? nd_bool(1) : nd_int(random_below(cell_whole(dtype)));
    writable.writable = true;
    if (mirror_random(&m, dtype, &writable) && good(nd_fill(m.array, value), "fill")) {
        char *data = fetch(m.array);
        for (int64_t i = 0; data && i < m.size && !failing(); i++) {
            cell got = cell_read(dtype, data + (size_t)i * nd_dtype_size(dtype));
            long double number = got.kind == ND_KIND_FLOAT || got.kind == ND_KIND_COMPLEX
                                     ? got.re
                                     : (long double)got.i;
            if (number != (long double)value.v.i || got.im != 0)
                fail_case("fill of %s with %lld gives %Lg", nd_dtype_name(dtype),
                          (long long)value.v.i, number);
        }
        free(data);
        if (!mirror_untouched(&m))
            fail_case("fill of %s wrote beside its view", nd_dtype_name(dtype));
    }
    mirror_release(&m);
}

void conform_copy(void)
{
    if (wanted("copy")) {
        begin_op("copy");
        for (nd_dtype from = 1; from < ND_DTYPE_END; from++)
            for (nd_dtype to = 1; to < ND_DTYPE_END; to++)
                for (int i = 0; i < 1 + run.count / 30 && allowed(from, to) && !failing(); i++) {
                    if (begin_case((from * ND_DTYPE_END + to) * 10000 + i))
                        cast_case(from, to);
                }
        end_op();
    }
    if (wanted("fill")) {
        begin_op("fill");
        for (int i = 0; i < run.count && !failing(); i++) {
            if (begin_case(i))
                fill_case(1 + i % (ND_DTYPE_END - 1));
        }
        end_op();
    }
}
