/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * How a transform's length is cut up.
 *
 * A leaf runs a few passes over cells that stay in the nearest caches. A longer length is split
 * into two factors near its root. A prime that is too long for sums as they stand becomes a
 * convolution with a chirp, of a length that is easy (Bluestein, IEEE Trans. Audio Electroacoust.
 * 18, 1970). Costs count vector operations; only their order matters. */
#include <string.h>
#include "fft/fft.h"

enum {
    LEAF_MAX = 256,      /* elements of a leaf, whose buffers fit near caches in any vectors */
    ROOT_LEAF_MAX = 128, /* a transform up to here is too short to be cut into columns */
    NEAR_MAX = 4096,     /* beyond, cells no longer fit the second cache */
    WIDTH = 8,           /* lanes that costs assume, whatever the processor has */
    MOVE = 10,           /* cost of loading, turning and storing a cell once more */
    CHIRP_MOVE = 30,     /* the same for the products around a convolution */
    CHIRP_LOSS = 2,      /* a convolution rounds more, and has to be faster by this factor */
    RATIO = 64           /* factors of a split differ by this much at most, if that can be */
};
#define LONGEST ((int64_t)1 << 48)
#define NEVER (INT64_MAX / 4)

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t vectors(int64_t n)
{
    return (n + WIDTH - 1) / WIDTH;
}

/* ---- leaves ---- */

static int64_t radix_cost(int r)
{
    const int64_t h = r / 2;
    switch (r) {
    case 2:
        return 4 + 6;
    case 3:
        return 16 + 12;
    case 4:
        return 16 + 18;
    case 5:
        return 40 + 24;
    case 8:
        return 56 + 42;
    default: /* sums of pairs */
        return 8 * h * h + 14 * h;
    }
}

/* Radices for 2^twos: 8, and for the rest 4 or 2. */
static int power_of_two(int twos, int32_t *radix)
{
    int fours = twos % 3 == 2 ? 1 : twos % 3 == 1 && twos > 1 ? 2 : 0, count = 0;
    for (int left = (twos - 2 * fours) / 3; left > 0; left--)
        radix[count++] = 8;
    for (; fours > 0; fours--)
        radix[count++] = 4;
    if (twos == 1)
        radix[count++] = 2;
    return count;
}

/* The radices of a leaf of n > 1 elements; 0: it is too long, or has a prime that is. */
static int leaf_radices(int64_t n, int32_t radix[CPU_FFT_PASSES])
{
    int count = 0, twos = 0;
    if (n > LEAF_MAX)
        return 0;
    for (; n % 2 == 0; n /= 2)
        twos++;
    for (int32_t p = 3; p <= CPU_FFT_DIRECT && n > 1; p += 2)
        for (; n % p == 0; n /= p)
            radix[count++] = p;
    return n > 1 ? 0 : count + power_of_two(twos, radix + count);
}

static int64_t leaf_cost(int64_t n, const int32_t *radix, int passes)
{
    int64_t cost = 4 * n;
    for (int i = 0; i < passes; i++)
        cost += n / radix[i] * radix_cost(radix[i]);
    return cost;
}

/* ---- other nodes ---- */

/* The divisor closest to the root of n, from below; 1 for a prime. */
static int64_t middle_divisor(int64_t n)
{
    int64_t best = 1;
    for (int64_t d = 2; d * d <= n; d++)
        if (n % d == 0)
            best = d;
    return best;
}

/* Of lengths of convolutions; a radix above 5 would not pay. */
static const int32_t odd_parts[] = {1, 3, 5, 9, 15, 25, 27, 45, 75};
enum { ODD_PARTS = sizeof odd_parts / sizeof *odd_parts };

/* The smallest odd_parts[i]*2^k from n up. */
static int64_t easy_length(int64_t n, int i)
{
    int64_t m = odd_parts[i];
    while (m < n)
        m *= 2;
    return m;
}

static int64_t node_cost(int64_t n);

static int64_t convolution(int64_t n)
{
    int64_t best = easy_length(2 * n - 1, 0);
    for (int i = 1; i < ODD_PARTS; i++) {
        int64_t m = easy_length(2 * n - 1, i);
        best = m < best ? m : best;
    }
    return best;
}

/* Cost of a node over cells. */
static int64_t node_cost(int64_t n)
{
    int32_t radix[CPU_FFT_PASSES];
    int passes = n > 1 ? leaf_radices(n, radix) : 0;
    if (n == 1 || passes)
        return leaf_cost(n, radix, passes);
    int64_t d = middle_divisor(n), cost;
    if (d > 1)
        cost = n / d * node_cost(d) + d * node_cost(n / d) + MOVE * n;
    else
        cost = 2 * node_cost(convolution(n)) + CHIRP_MOVE * n;
    return n > NEAR_MAX ? cost + cost / 2 : cost;
}

/* Cost of one transform that is cut into d columns. */
static int64_t line_cost(int64_t n, int64_t d)
{
    return vectors(n / d) * (node_cost(d) + MOVE * d) +
           vectors(d) * (node_cost(n / d) + MOVE * n / d);
}

/* The divisor by which one transform is best cut, or 1. */
static int64_t best_cut(int64_t n, int64_t *cost)
{
    int64_t best = 1, from = 2;
    *cost = NEVER;
    while (from * from < n / RATIO)
        from++;
    for (int64_t d = from; d * d <= n; d++)
        if (n % d == 0 && line_cost(n, d) <= *cost) {
            *cost = line_cost(n, d);
            best = d;
        }
    if (best == 1 && (best = middle_divisor(n)) > 1)
        *cost = line_cost(n, best);
    return best;
}

/* The convolution for one transform of n elements. */
static int64_t best_convolution(int64_t n, int64_t *cost)
{
    int64_t best = 0;
    *cost = NEVER;
    for (int i = 0; i < ODD_PARTS; i++) {
        int64_t m = easy_length(2 * n - 1, i), one;
        best_cut(m, &one);
        one = 2 * one + vectors(n) * CHIRP_MOVE;
        if (one < *cost) {
            *cost = one;
            best = m;
        }
    }
    return best;
}

/* ---- the tree ---- */

static int add_node(int64_t n, int as_root, cpu_fft_shape *s);

static int add_parts(int at, int64_t first, int64_t second, int as_root, cpu_fft_shape *s)
{
    cpu_fft_node *node = &s->node[at];
    node->first = add_node(first, as_root && !second, s);
    node->second = second ? add_node(second, 0, s) : 0;
    if (node->first < 0 || node->second < 0)
        return -1;
    const cpu_fft_node *a = &s->node[node->first], *b = &s->node[node->second];
    node->kind = second ? CPU_FFT_SPLIT : CPU_FFT_CHIRP;
    node->work = second ? node->n + first + larger(a->work, b->work) : a->n + a->work;
    return at;
}

/* One transform of a whole line, that may be cut into columns. */
static int add_root(int64_t n, int at, cpu_fft_shape *s)
{
    int64_t cut_cost, chirp_cost, d = best_cut(n, &cut_cost), m = best_convolution(n, &chirp_cost);
    if (d > 1 && cut_cost <= CHIRP_LOSS * chirp_cost)
        return add_parts(at, n / d, d, 0, s);
    return add_parts(at, m, 0, 1, s);
}

static int add_node(int64_t n, int as_root, cpu_fft_shape *s)
{
    for (int i = 0; i < s->count; i++)
        if (s->node[i].n == n && s->node[i].as_root == as_root)
            return i;
    if (s->count == CPU_FFT_NODES)
        return -1;
    const int at = s->count++;
    cpu_fft_node *node = &s->node[at];
    *node = (cpu_fft_node){.n = n, .as_root = as_root};
    node->passes = n > 1 ? leaf_radices(n, node->radix) : 0;
    if (n == 1 || (node->passes && (!as_root || n <= ROOT_LEAF_MAX || middle_divisor(n) == 1))) {
        node->kind = CPU_FFT_LEAF;
        node->work = node->passes < 2 ? 0 : node->passes == 2 ? n : 2 * n;
        return at;
    }
    node->passes = 0;
    if (as_root)
        return add_root(n, at, s);
    const int64_t d = middle_divisor(n);
    return d > 1 ? add_parts(at, n / d, d, 0, s) : add_parts(at, convolution(n), 0, 0, s);
}

/* Numbers that the nodes need from the plan's table. */
static int64_t leaf_numbers(const cpu_fft_node *node)
{
    int64_t numbers = 0, left = node->n;
    for (int i = 0; i < node->passes; i++) {
        int32_t r = node->radix[i];
        left /= r;
        numbers += 2 * (r - 1) * (left - 1);
        if (r > 5 && r != 8)
            numbers += r - 1; /* cosines and sines of the sums */
    }
    return numbers;
}

static int64_t node_numbers(const cpu_fft_shape *s, const cpu_fft_node *node)
{
    if (node->kind == CPU_FFT_LEAF)
        return leaf_numbers(node);
    const int64_t n1 = s->node[node->first].n, n2 = node->n / n1;
    if (node->kind == CPU_FFT_CHIRP)
        return 2 * node->n + 2 * n1;
    if (node->n < CPU_FFT_TWO_TABLES)
        return 2 * node->n;
    return 2 * n1 * ((n2 + CPU_FFT_BLOCK - 1) / CPU_FFT_BLOCK + CPU_FFT_BLOCK);
}

int cpu_fft_cut(int64_t n, cpu_fft_shape *s)
{
    s->count = 0;
    s->numbers = 0;
    s->root = n >= 1 && n <= LONGEST ? add_node(n, 1, s) : -1;
    for (int i = 0; i < s->count; i++) {
        s->node[i].table = s->numbers;
        /* Vectors are read from any place on, so what follows a table is the plan's, too. */
        s->numbers += node_numbers(s, &s->node[i]) + CPU_FFT_LANES;
    }
    return s->root >= 0;
}
