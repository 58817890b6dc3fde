/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Conformance: what random cases meet too seldom. A destination that is dense and lies within a
 * larger array is written to its end and no further, whatever its length; and the values for which
 * integer division has no result of its own. */
#include "tests/conform/grid.h"

enum { MARGIN = 8, LONGEST = 37 };

/* The operation into elements MARGIN to MARGIN + n of an array of nines. */
static void into_the_middle(const nd_op_info *info, int n_in, int64_t n)
{
    const int64_t length = n + 2 * MARGIN;
    const nd_dtype dtype = info->result == ND_RESULT_BOOL ? ND_BOOL : ND_F32;
    const nd_index range = nd_range(MARGIN, MARGIN + n, 1);
    const nd_apply_opts opts = {.size = sizeof opts, .dtype = ND_F32};
    dense before = dense_random(dtype, 1, &length, true);
    nd_array *whole = dense_array(&before), *dst = NULL, *in = NULL;
    if (whole && good(nd_full(run.device, ND_F32, 1, &n, nd_int(1), &in), "full") &&
        good(nd_slice(whole, &range, 1, &dst), "slice")) {
        const nd_arg args[2] = {nd_array_arg(in), nd_array_arg(in)};
        char *now =
            good(nd_apply_into(info->op, args, n_in, &opts, dst), info->name) ? fetch(whole) : NULL;
        const size_t item = nd_dtype_size(dtype);
        for (int64_t i = 0; now && i < length; i++)
            if ((i < MARGIN || i >= MARGIN + n) &&
                memcmp(now + (size_t)i * item, dense_at(&before, i), item) != 0) {
                fail_case("%s of %lld elements into the middle of an array changes element %lld, "
                          "%lld beside its destination",
                          info->name, (long long)n, (long long)i,
                          (long long)(i < MARGIN ? MARGIN - i : i - MARGIN - n + 1));
                break;
            }
        free(now);
    }
    nd_release(in);
    nd_release(dst);
    nd_release(whole);
    dense_release(&before);
}

static void margins(void)
{
    for (nd_op op = 1; op < ND_OP_END && !failing(); op++) {
        const nd_op_info *info = nd_op_get(op);
        const int n_in = info->op_class == ND_CLASS_UNARY    ? 1
                         : info->op_class == ND_CLASS_BINARY ? 2
                                                             : 0;
        const bool same = info->result == ND_RESULT_SAME || info->result == ND_RESULT_BOOL;
        if (n_in && same && (nd_op_dtypes(op) >> ND_F32 & 1) && begin_case(op))
            for (int64_t n = 1; n <= LONGEST && !failing(); n += 3)
                into_the_middle(info, n_in, n);
    }
}

/* By zero: 0, quotient and remainder. The least by -1 wraps to itself, and leaves nothing. */
static void divisions(void)
{
    static const nd_dtype dtypes[] = {ND_I8, ND_I16, ND_I32, ND_I64, ND_U8, ND_U16, ND_U32, ND_U64};
    enum { N = 16 }; /* zeros in every place of a vector */
    const int64_t n = N;
    for (size_t t = 0; t < sizeof dtypes / sizeof *dtypes; t++) {
        const bool has_sign = nd_dtype_get(dtypes[t])->kind == ND_KIND_INT;
        const int64_t least =
            has_sign ? -((int64_t)1 << (8 * nd_dtype_size(dtypes[t]) - 2)) * 2 : 0;
        dense a = dense_new(dtypes[t], 1, &n), b = a, quotient = a, rest = a;
        b = dense_new(dtypes[t], 1, &n);
        quotient = dense_new(dtypes[t], 1, &n);
        rest = dense_new(dtypes[t], 1, &n);
        for (int64_t i = 0; i < N; i++) {
            const bool wraps = has_sign && i % 4 == 3;
            dense_set(&a, i, wraps ? least : i % 2 ? 7 : 100);
            dense_set(&b, i, wraps ? -1 : 0);
            dense_set(&quotient, i, wraps ? least : 0);
        }
        nd_array *x = dense_array(&a), *y = dense_array(&b), *out = NULL;
        if (begin_case((int64_t)t) && x && y) {
            if (good(nd_floor_divide(x, y, &out), "floor_divide"))
                dense_is(&quotient, out, "floor_divide by zero, and of the least by -1");
            nd_release(out);
            out = NULL;
            if (good(nd_remainder(x, y, &out), "remainder"))
                dense_is(&rest, out, "remainder by zero, and of the least by -1");
            nd_release(out);
        }
        nd_release(x);
        nd_release(y);
        dense_release(&a);
        dense_release(&b);
        dense_release(&quotient);
        dense_release(&rest);
    }
}

void conform_margins(void)
{
    if (wanted("margins")) {
        begin_op("margins");
        margins();
        end_op();
    }
    if (wanted("divisions")) {
        begin_op("divisions");
        divisions();
        end_op();
    }
}
