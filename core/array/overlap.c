/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Whether views share elements: exact where that is cheap, assumed otherwise. */
#include "core/array/array.h"

/* Sorted by stride, each step must leap over everything below it. That is sufficient for "no";
 * views made by slicing always pass. */
bool nd__overlaps_itself(const nd_array *a)
{
    bool used[ND_MAX_NDIM] = {false};
    uint64_t reach = 0;
    if (a->size == 0 || (a->flags & ND_FLAG_CONTIGUOUS))
        return false;
    for (int round = 0; round < a->ndim; round++) {
        int best = -1;
        for (int d = 0; d < a->ndim; d++)
            if (!used[d] &&
                (best < 0 || nd__magnitude(a->stride[d]) < nd__magnitude(a->stride[best])))
                best = d;
        used[best] = true;
        if (a->shape[best] == 1)
            continue;
        if (nd__magnitude(a->stride[best]) <= reach)
            return true;
        reach += nd__magnitude(a->stride[best]) * (uint64_t)(a->shape[best] - 1);
    }
    return false;
}

bool nd__same_view(const nd_array *a, const nd_array *b)
{
    if (a->storage != b->storage || a->offset != b->offset || a->dtype != b->dtype ||
        !nd__same_shape(a->ndim, a->shape, b->ndim, b->shape))
        return false;
    for (int d = 0; d < a->ndim; d++)
        if (a->shape[d] != 1 && a->stride[d] != b->stride[d])
            return false;
    return true;
}

static uint64_t gcd(uint64_t a, uint64_t b)
{
    while (b) {
        uint64_t t = a % b;
        a = b;
        b = t;
    }
    return a;
}

/* Addresses of elements, in bytes from the start of the storage (or as host addresses where two
 * storages may wrap the same memory). */
static void byte_range(const nd_array *a, uintptr_t base, uintptr_t *low, uintptr_t *high)
{
    int64_t lo, hi, n = (int64_t)nd_dtype_size(a->dtype);
    (void)nd__extent(a->ndim, a->shape, a->stride, &lo, &hi); /* checked when the view was made */
    *low = base + (uintptr_t)((a->offset + lo) * n);
    *high = base + (uintptr_t)((a->offset + hi) * n);
}

bool nd__may_overlap(const nd_array *a, const nd_array *b)
{
    bool hosts = a->storage->host && b->storage->host;
    if (a->size == 0 || b->size == 0 || (a->storage != b->storage && !hosts))
        return false;
    uintptr_t a_low, a_high, b_low, b_high;
    byte_range(a, hosts ? (uintptr_t)a->storage->host : 0, &a_low, &a_high);
    byte_range(b, hosts ? (uintptr_t)b->storage->host : 0, &b_low, &b_high);
    if (a_high <= b_low || b_high <= a_low)
        return false;
    if (a->storage != b->storage || a->dtype != b->dtype)
        return true;
    /* Interleaved views, such as a[::2] and a[1::2]: every element of both lies at its offset
     * modulo the greatest common divisor of all strides. */
    uint64_t g = 0;
    for (int d = 0; d < a->ndim; d++)
        g = a->shape[d] != 1 ? gcd(g, nd__magnitude(a->stride[d])) : g;
    for (int d = 0; d < b->ndim; d++)
        g = b->shape[d] != 1 ? gcd(g, nd__magnitude(b->stride[d])) : g;
    return g == 0 ? a->offset == b->offset : (a->offset - b->offset) % (int64_t)g == 0;
}
