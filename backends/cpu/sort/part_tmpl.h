/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Counting and dealing out keys of one width, for selection and partitions. The includer sets U,
 * the keys' type, and TYPE(name). */

static void TYPE(between)(const void *keys, int64_t n, uint64_t low, uint64_t high,
                          uint64_t *inside, sort_between *counts)
{
    const U *key = keys;
    sort_between c = {0};
    for (int64_t i = 0; i < n; i++) {
        const uint64_t x = key[i];
        c.below += x < low;
        c.at_low += x == low;
        c.at_high += x == high;
        inside[c.inside] = x;
        c.inside += (x > low) & (x < high);
    }
    sort_between_add(counts, &c, low, high);
}

static void TYPE(deal)(const void *keys, const void *elements, int64_t n, uint64_t by,
                       sort_places *p)
{
    const U *key = keys, *x = elements;
    U *to[3] = {(U *)p->to[0], (U *)p->to[1], (U *)p->to[2]};
    for (int64_t i = 0; i < n; i++)
        *to[(key[i] >= by) + (key[i] > by)]++ = x[i];
    for (int part = 0; part < 3; part++)
        p->to[part] = (char *)to[part];
}
#undef U
#undef TYPE
