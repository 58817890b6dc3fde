/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Fuzz target: chains of views, broadcasting and reductions of shapes. The input is a program of
 * one-byte operations whose operands are the numbers that follow, small or wild. Every view that
 * comes out must lie inside its storage and be readable; every refusal must have a message. */
#include "tests/fuzz/fuzz.h"

static int64_t number(fuzz_reader *r)
{
    return fuzz_number(r, 8, 8);
}

static int numbers(fuzz_reader *r, int64_t *out)
{
    int n = fuzz_byte(r) % 6;
    for (int i = 0; i < n; i++)
        out[i] = number(r);
    return n;
}

static int axes(fuzz_reader *r, int32_t *out)
{
    int n = fuzz_byte(r) % 5;
    for (int i = 0; i < n; i++)
        out[i] = (int32_t)number(r);
    return n;
}

static int entries(fuzz_reader *r, nd_index *out)
{
    int n = fuzz_byte(r) % 6;
    for (int i = 0; i < n; i++) {
        out[i] = (nd_index){
            .kind = fuzz_byte(r) % 6, .start = number(r), .stop = number(r), .step = number(r)};
        if (fuzz_byte(r) % 4 == 0)
            out[i].start = ND_END_OPEN;
        if (fuzz_byte(r) % 4 == 0)
            out[i].stop = ND_END_OPEN;
    }
    return n;
}

/* Elements of the view, checked against the whole storage, which as_strided sees as one line. */
static void check_view(const nd_array *a, int64_t room)
{
    int64_t low = nd_offset(a), high = low;
    for (int d = 0; d < nd_ndim(a); d++) {
        if (nd_size(a) == 0)
            return;
        int64_t reach = (nd_shape(a)[d] - 1) * nd_strides(a)[d];
        low += reach < 0 ? reach : 0;
        high += reach > 0 ? reach : 0;
    }
    if (low < 0 || high >= room)
        abort();
}

static nd_status step(fuzz_reader *r, const nd_array *a, nd_array **out)
{
    int64_t x[8], y[8];
    int32_t p[8], q[8];
    nd_index idx[8];
    nd_array *parts[1] = {NULL};
    int n;
    switch (fuzz_byte(r) % 16) {
    case 0:
        n = numbers(r, x);
        return nd_reshape(a, n, x, out);
    case 1:
        n = axes(r, p);
        return nd_permute(a, n, p, out);
    case 2:
        n = axes(r, p);
        axes(r, q);
        return nd_moveaxis(a, n, p, q, out);
    case 3:
        n = numbers(r, x);
        return nd_broadcast_to(a, n, x, out);
    case 4:
        n = axes(r, p);
        return nd_expand_dims(a, n, p, out);
    case 5:
        n = axes(r, p);
        return nd_squeeze(a, n, fuzz_byte(r) % 2 ? p : NULL, out);
    case 6:
        n = axes(r, p);
        return nd_flip(a, n, fuzz_byte(r) % 2 ? p : NULL, out);
    case 7:
        x[0] = number(r);
        x[1] = number(r);
        return nd_diagonal(a, x[0], (int)x[1], (int)number(r), out);
    case 8:
        n = numbers(r, x);
        for (int i = 0; i < n; i++)
            y[i] = number(r);
        return nd_as_strided(a, n, x, y, number(r), out);
    case 9:
        n = entries(r, idx);
        return nd_slice(a, idx, n, out);
    case 10:
        return nd_transpose(a, out);
    case 11:
        return nd_matrix_transpose(a, out);
    case 12:
        return nd_sum(a,
                      &(nd_reduce_opts){.size = sizeof(nd_reduce_opts),
                                        .axes = p,
                                        .naxes = axes(r, p),
                                        .keepdims = fuzz_byte(r) % 2},
                      out);
    case 13:
        return nd_repeat(a, number(r) % 8, (int)number(r), out);
    case 14:
        parts[0] = (nd_array *)a;
        return nd_concat(1, (const nd_array *const *)parts, (int)number(r), out);
    default:
        return nd_reshape_copy(a, numbers(r, x), x, out);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_reader r = {data, size};
    const int64_t shape[3] = {4, 3, 5};
    nd_array *now = NULL;
    if (nd_arange(NULL, ND_I16, nd_int(0), nd_int(60), nd_int(1), &now) != ND_OK)
        abort();
    nd_array *first = now;
    if (nd_reshape(first, 3, shape, &now) != ND_OK)
        abort();
    nd_release(first);
    for (int steps = 0; r.left > 0 && steps < 12; steps++) {
        nd_array *next = NULL;
        nd_status status = step(&r, now, &next);
        if (status == ND_OK && nd_size(next) < 100000) {
            if (nd_shares_storage(now, next) && nd_dtype_of(next) == ND_I16 && nd_size(next))
                check_view(next, 1 << 20);
            fuzz_result(status, nd_retain(next));
            nd_release(now);
            now = next;
        } else if (status == ND_OK) {
            nd_release(next);
        } else {
            fuzz_result(status, next);
        }
    }
    nd_release(now);
    return 0;
}
