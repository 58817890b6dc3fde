/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Sorts by leading digits (backends/cuda/sort/leading.cuh): its kernels run on the host, with stable passes written
 * here in place of CUB's, and are compared with std::sort's order of keys of many shapes. Runs that are too long to be
 * counted, and keys whose width the sample does not see, must both occur. */
#include <algorithm>
#include <math.h>
#include <string.h>
#include <vector>
#include "tests/cuda/emulate.h"
#include "tests/tap.h"
#include "sort/leading_runs.cuh"

typedef unsigned long long word;
static word mix(word x)
{
    x += 0x9e3779b97f4a7c15ull;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
}

static word bits_of(double x)
{
    word bits;
    memcpy(&bits, &x, sizeof bits);
    return bits >> 63 ? ~bits : bits | 1ull << 63;
}

static double normal(word r)
{
    const double u = ((double)(r >> 32) + 1) * 0x1p-32, v = (double)(uint32_t)r * 0x1p-32;
    return sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
}

struct shape {
    const char *name;
    word (*key)(uint32_t i, uint32_t n, word r);
};
static const shape shapes[] = {
    {"62 bits", [](uint32_t, uint32_t, word r) { return r >> 2; }},
    {"64 bits", [](uint32_t, uint32_t, word r) { return r; }},
    {"20 bits", [](uint32_t, uint32_t, word r) { return r >> 44; }},
    {"37 bits", [](uint32_t, uint32_t, word r) { return r >> 27; }},
    {"all equal", [](uint32_t, uint32_t, word) { return (word)12345; }},
    {"ascending", [](uint32_t i, uint32_t, word) { return (word)i; }},
    {"descending", [](uint32_t i, uint32_t, word) { return (word)0 - i; }},
    {"normal deviates", [](uint32_t, uint32_t, word r) { return bits_of(normal(r)); }},
    {"exponential", [](uint32_t, uint32_t, word r) { return (word)exp(40 * ((double)(r >> 11) * 0x1p-53)); }},
    {"one much larger", [](uint32_t i, uint32_t n, word r) { return i == n / 3 ? 1ull << 60 : r >> 34; }},
    {"a thousand values", [](uint32_t, uint32_t, word r) { return mix(r % 1000); }},
    {"eight of each", [](uint32_t, uint32_t n, word r) { return mix(r % (n / 8 + 1)); }},
    {"half equal", [](uint32_t, uint32_t, word r) { return r & 1 ? 77 : r >> 2; }},
    {"a long run", [](uint32_t i, uint32_t, word r) { return i % 256 == 7 ? 5ull << 54 | mix(r) >> 40 : r >> 2; }},
    {"the longest run that is counted", [](uint32_t i, uint32_t, word r) { return i < 64 ? 5ull << 54 | mix(r) >> 40 : r >> 2; }},
    {"one more", [](uint32_t i, uint32_t, word r) { return i < 65 ? 5ull << 54 | mix(r) >> 40 : r >> 2; }},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

/* ---- the kernels ---- */
template <class K> struct job {
    leading_buffers<K> buffers;
    int again;
};
template <class K> static void sample(const void *j)
{
    leading_sample<K>(((const job<K> *)j)->buffers);
}
template <class K> static void count(const void *j)
{
    leading_count<K>(((const job<K> *)j)->buffers, ((const job<K> *)j)->again);
}
template <class K> static void scan(const void *j)
{
    leading_scan(((const job<K> *)j)->buffers.state, ((const job<K> *)j)->buffers.n);
}
template <class K> static void runs(const void *j)
{
    leading_runs<K>(((const job<K> *)j)->buffers);
}
template <class K> static void long_runs(const void *j)
{
    leading_long<K>(((const job<K> *)j)->buffers);
}

/* A stable pass as leading_pass does it, from the places that leading_scan found. */
template <class K> static void pass(const leading_buffers<K> &b, int number)
{
    uint32_t *place = b.state->bins[0][number];
    if (number >= b.state->passes)
        return;
    const leading_move<K> move = leading_move_of(b, number);
    for (uint32_t i = 0; i < b.n; i++) {
        const K key = move.from[i];
        move.to[place[leading_number(key) >> (b.state->bit[number]) & (LEADING_DIGITS - 1)]++] = key;
    }
}

template <class K> static int run(job<K> *j, void (*kernel)(const void *), unsigned blocks, unsigned threads)
{
    return emulated_launch(kernel, j, {blocks, 1, 1}, threads);
}

/* two: the keys may be overwritten, and no third array is there. */
template <class K> static leading_state sort(const std::vector<K> &keys, bool two, std::vector<K> *out)
{
    static leading_state state;
    const uint32_t n = (uint32_t)keys.size();
    std::vector<K> in = keys, other(n), sorted(n);
    std::vector<uint32_t> list(n / LEADING_BEYOND + 1);
    memset(&state, 0, sizeof state);
    job<K> j = {{in.data(), sorted.data(), two ? in.data() : other.data(), n, {}, list.data(), &state}, 0};
    int failed = run(&j, sample<K>, LEADING_MOST - LEADING_FEWEST + 1, LEADING_SAMPLE_THREADS);
    failed |= run(&j, count<K>, 3, LEADING_COUNT_THREADS);
    j.again = 1;
    failed |= run(&j, count<K>, 3, LEADING_COUNT_THREADS);
    failed |= run(&j, scan<K>, 1, LEADING_DIGITS);
    for (int p = 0; p < LEADING_MOST; p++)
        pass(j.buffers, p);
    failed |= run(&j, runs<K>, 3, LEADING_RUN_THREADS);
    failed |= run(&j, long_runs<K>, 2, LEADING_LONG_THREADS);
    ok(!failed && (two || in == keys), "kernels run to their ends%s", two ? "" : ", and keys stay as they were");
    *out = !two || state.moves % 2 == 1 ? sorted : in;
    return state;
}

template <class K> static void sorts(bool two)
{
    static const uint32_t sizes[] = {100003, 2049, 64, 1};
    int listed = 0, extended = 0, counted = 0;
    for (const shape &s : shapes)
        for (uint32_t n : sizes) {
            std::vector<K> keys(n), got, want;
            for (uint32_t i = 0; i < n; i++)
                keys[i] = (K)s.key(i, n, mix(i + n));
            want = keys;
            std::sort(want.begin(), want.end());
            const leading_state state = sort(keys, two, &got);
            ok(got == want, "%u keys, %s: %d passes from bit %d on, %u long runs", n, s.name, state.passes,
               state.begin, state.long_runs);
            listed += state.long_runs > 0;
            counted += state.begin > 0;
            extended += leading_length(state.differ) > leading_length(state.sampled);
        }
    ok(listed > 1 && extended > 1 && counted > 5, "long runs: %d, wider than the sample: %d, fewer digits: %d", listed,
       extended, counted);
}

static void kept()
{
    sorts<long long>(false);
    sorts<word>(false);
}
static void two_arrays()
{
    sorts<word>(true);
    sorts<long long>(true);
}

/* Digits are left out where the sample says so: of random keys as many as may meet LEADING_RUN others stay. */
static void digits()
{
    static leading_state s;
    s.sampled = ~0ull;
    const uint32_t n = 1u << 26;
    const double pairs = (double)LEADING_SAMPLES * LEADING_SAMPLES / 2;
    for (int d = LEADING_FEWEST; d <= LEADING_MOST; d++)
        s.alike[d] = (uint32_t)(pairs / pow(2, 8 * d));
    leading_choice c = leading_choose(&s, n);
    ok(c.digits == 3 && c.begin == 40 && c.end == 64, "2^26 random keys take three passes");
    s.alike[3] = (uint32_t)(LEADING_RUN * pairs / n) + 1;
    c = leading_choose(&s, n);
    ok(c.digits == 4 && c.begin == 32, "one more where keys meet more than %d others", LEADING_RUN);
}

TAP_MAIN({"digits", digits}, {"kept", kept}, {"two arrays", two_arrays})
