/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Conformance: arrays of more than 2^31 elements, on request. Every index of 32 bits would wrap. */
#include "tests/conform/grid.h"

enum { TAIL = 5 };
static const int64_t n = ((int64_t)1 << 31) + 4099;

static bool is_number(const nd_array *a, int64_t want, const char *what)
{
    nd_scalar got;
    if (!good(nd_item(a, &got), "item"))
        return false;
    if (got.v.i != want)
        fail_case("%s is %lld, not %lld", what, (long long)got.v.i, (long long)want);
    return got.v.i == want;
}

/* The last elements become 7 through a view that steps backwards. */
static bool set_tail(nd_array *a)
{
    const nd_index last = nd_range(-1, -1 - TAIL, -1);
    nd_array *tail = NULL;
    bool fine =
        good(nd_slice(a, &last, 1, &tail), "slice") && good(nd_fill(tail, nd_int(7)), "fill");
    nd_release(tail);
    return fine;
}

static void check_sums(nd_array *a)
{
    nd_reduce_opts opts = {.size = sizeof opts, .dtype = ND_I64};
    nd_array *r = NULL;
    if (good(nd_sum(a, &opts, &r), "sum"))
        (void)is_number(r, n + 6 * TAIL, "the sum");
    nd_release(r);
    r = NULL;
    if (good(nd_argmax(a, NULL, &r), "argmax"))
        (void)is_number(r, n - TAIL, "the position of the maximum");
    nd_release(r);
}

static void check_elements(nd_array *a)
{
    nd_array *twice = NULL, *tail = NULL;
    const nd_index last = nd_range(n - TAIL - 1, n, 1);
    const uint8_t want[TAIL + 1] = {2, 14, 14, 14, 14, 14};
    uint8_t got[TAIL + 1] = {0};
    if (good(nd_add(a, a, &twice), "add") && good(nd_slice(twice, &last, 1, &tail), "slice") &&
        good(nd_to_host(tail, got, sizeof got), "to_host") && memcmp(got, want, sizeof got) != 0)
        fail_case("a + a ends with %d %d ... %d, not 2 14 ... 14", got[0], got[1], got[TAIL]);
    nd_release(tail);
    nd_release(twice);
}

void conform_large(void)
{
    nd_array *a = NULL;
    if (!run.large || !wanted("large"))
        return;
    begin_op("large");
    (void)begin_case(0);
    nd_status status = nd_full(run.device, ND_U8, 1, &n, nd_int(1), &a);
    if (status == ND_ERR_MEMORY)
        skip_op("the device has no room for 2^31 elements");
    else if (good(status, "full") && set_tail(a)) {
        check_sums(a);
        check_elements(a);
    }
    nd_release(a);
    end_op();
}
