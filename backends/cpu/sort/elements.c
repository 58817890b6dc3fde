/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Sorting algorithms, once for each kind of element: radix for many keys, merging for few and for
 * c128. */
#include <string.h>
#include "sort/sort.h"

/* counts[chunk][digit] become places: digits in order, within a digit chunks in order. 0: all have
 * the same digit, nothing is to move. */
static int sort_counts_to_starts(int64_t *counts, int64_t chunks, int64_t digits, int64_t n)
{
    int64_t sum = 0;
    for (int64_t d = 0; d < digits; d++) {
        int64_t before = sum;
        for (int64_t c = 0; c < chunks; c++) {
            int64_t here = counts[c * SORT_DIGITS + d];
            counts[c * SORT_DIGITS + d] = sum;
            sum += here;
        }
        if (sum - before == n)
            return 0;
    }
    return 1;
}

/* a before b among complex numbers as NumPy sorts them: see keys_c64. */
static inline int complex_before(double a_re, double a_im, double b_re, double b_im)
{
    int a_nan = (a_re != a_re) * 2 + (a_im != a_im), b_nan = (b_re != b_re) * 2 + (b_im != b_im);
    if ((a_nan | b_nan) == 0)
        return (a_re < b_re) | ((a_re == b_re) & (a_im < b_im));
    if (a_nan != b_nan)
        return a_nan < b_nan;
    return a_nan == 1 ? a_re < b_re : a_nan == 2 ? a_im < b_im : 0;
}

#define UNSIGNED_BEFORE(x, y) ((x) < (y))
#define PAIR_BEFORE(x, y) ((x).key < (y).key)
#define COMPLEX_BEFORE(x, y) complex_before((x).re, (x).im, (y).re, (y).im)

#define E uint16_t
#define ELEMENT(name) name##_u16
#define BEFORE UNSIGNED_BEFORE
#define KEY(x) (x)
#include "sort/sort_tmpl.h"
#define E uint32_t
#define ELEMENT(name) name##_u32
#define BEFORE UNSIGNED_BEFORE
#define KEY(x) (x)
#include "sort/sort_tmpl.h"
#define E uint64_t
#define ELEMENT(name) name##_u64
#define BEFORE UNSIGNED_BEFORE
#define KEY(x) (x)
#include "sort/sort_tmpl.h"
#define E sort_pair
#define ELEMENT(name) name##_pairs
#define BEFORE PAIR_BEFORE
#define KEY(x) (x).key
#include "sort/sort_tmpl.h"
#define E sort_c128
#define ELEMENT(name) name##_c128s
#define BEFORE COMPLEX_BEFORE
#include "sort/sort_tmpl.h"
#define E sort_c128_at
#define ELEMENT(name) name##_c128s_at
#define BEFORE COMPLEX_BEFORE
#include "sort/sort_tmpl.h"

void sort_merge_pairs(const sort_pair *x, int64_t nx, const sort_pair *y, int64_t ny,
                      sort_pair *out, int64_t n)
{
    merge_pairs(x, nx, y, ny, out, n);
}
