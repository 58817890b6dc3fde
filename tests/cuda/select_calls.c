/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * topk by selection, compress and nonzero of the CUDA plug-in without a GPU: their kernels are compiled
 * for the host and the driver pretends. Results are compared with a stable sort of numbers, and with what
 * a loop selects. Every kernel must have run. */
#include <math.h>
#include <ndock/ndock.h>
#include "tests/cuda/stubs.h"

enum { MOST = (33 << 17) + 99, TOPKS = 64, LONGS = 24, SELECTIONS = 48 };
static nd_device *dev;
static uint64_t state = 20261126;
static uint64_t bits(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state * UINT64_C(0x2545f4914f6cdd1d);
}
static int64_t below(int64_t n)
{
    return (int64_t)(bits() >> 11) % n;
}

static nd_array *array_of(nd_dtype dtype, int ndim, const int64_t *shape, const void *data)
{
    const nd_layout layout = {.size = sizeof layout, .dtype = dtype, .ndim = ndim, .shape = shape};
    nd_array *a = NULL;
    return nd_from_host(&layout, data, dev, &a) == ND_OK ? a : NULL;
}

/* ---- topk ---- */

static double number[MOST];
static int smallest;
static uint32_t data[MOST];

/* The order of topk: NaN is the largest, equals keep their order. */
static int in_order(const void *a, const void *b)
{
    const int64_t i = *(const int64_t *)a, j = *(const int64_t *)b;
    const double x = number[i], y = number[j];
    const int less = isnan(y) ? !isnan(x) : x < y, more = isnan(x) ? !isnan(y) : x > y;
    const int sign = smallest ? more - less : less - more;
    return sign ? sign : (i > j) - (i < j);
}

/* x/8 in f16, 0 <= x < 2048. */
static uint16_t half_of_eighths(uint32_t x)
{
    int high = 0;
    while (x >> high > 1)
        high++;
    return x ? (uint16_t)((high + 12) << 10 | ((x << (10 - high)) & 0x3ff)) : 0;
}

/* Element i becomes a number of 16 bits: one in 97 is NaN, and zeros have either sign. */
static void make_half(nd_dtype dtype, int64_t i, int64_t x, uint16_t *to)
{
    const uint32_t few = (uint32_t)(x & (dtype == ND_F16 ? 2047 : 255)), high = (uint32_t)(x & 1)
                                                                                << 15;
    const float eighths = (float)few / 8;
    uint32_t bits;
    memcpy(&bits, &eighths, sizeof bits);
    to[i] = (uint16_t)((dtype == ND_F16 ? half_of_eighths(few) : bits >> 16) | high);
    number[i] = high ? -eighths : eighths;
    if (x % 97 == 1) {
        to[i] = (uint16_t)(high | 0x7fc1);
        number[i] = NAN;
    }
}

/* Elements of the dtype in memory, which are the numbers. */
static void make_elements(nd_dtype dtype, int64_t n, int few, void *to)
{
    for (int64_t i = 0; i < n; i++) {
        const int64_t x = few ? below(3) - 1 : (int64_t)(bits() >> 8);
        if (dtype == ND_U8)
            number[i] = ((uint8_t *)to)[i] = (uint8_t)x;
        else if (dtype == ND_I16)
            number[i] = ((int16_t *)to)[i] = (int16_t)x;
        else if (dtype == ND_I32)
            number[i] = ((int32_t *)to)[i] = few == 2 ? (int32_t)-i : (int32_t)x;
        else if (dtype == ND_F16 || dtype == ND_BF16)
            make_half(dtype, i, few ? x & 3 : x, to);
        else
            number[i] = ((float *)to)[i] = x % 97 == 1   ? NAN
                                           : x % 89 == 1 ? -0.0f
                                                         : (float)(x % 100000) / 8;
    }
}

/* The places of the first k of each row of the part `cut` of base, n in all. */
static int positions_of(const nd_array *base, const nd_index cut[2], int64_t k, int64_t n,
                        int64_t *got)
{
    nd_array *a = NULL, *values = NULL, *positions = NULL;
    const int fine = nd_slice(base, cut, 2, &a) == ND_OK &&
                     nd_topk(a, k, 1, smallest, &values, &positions) == ND_OK &&
                     nd_to_host(positions, got, (size_t)n * sizeof *got) == ND_OK;
    nd_release(a);
    nd_release(values);
    nd_release(positions);
    return fine;
}

static int topk_is_right(int trial)
{
    static const nd_dtype dtypes[] = {ND_U8, ND_I16, ND_I32, ND_F32, ND_F16, ND_BF16};
    static const int64_t lengths[] = {128, 200, 1024, 700, 1500, 8192, 9000, 40000};
    enum { DTYPES = sizeof dtypes / sizeof *dtypes };
    static int64_t places[MOST], got[MOST];
    const nd_dtype dtype = dtypes[trial % DTYPES];
    const int64_t n = lengths[trial / DTYPES % 8], step = 1 + below(4) / 3,
                  rows = n > 8192 ? 1 : 1 + below(3);
    const int64_t most = n < 512 ? 32 : 256, shape[2] = {rows, n * step};
    const int64_t k = 1 + (below(2) ? below(32) : below(most));
    const nd_index cut[2] = {nd_range(0, rows, 1), nd_range(0, n * step, step)};
    nd_array *base;
    smallest = (int)below(2);
    make_elements(dtype, rows * n * step, (int)below(3), data);
    base = array_of(dtype, 2, shape, data);
    int right = base && positions_of(base, cut, k, rows * k, got);
    for (int64_t r = 0; right && r < rows; r++) {
        for (int64_t i = 0; i < n; i++)
            places[i] = (r * n + i) * step;
        qsort(places, (size_t)n, sizeof *places, in_order);
        for (int64_t i = 0; i < k; i++)
            right &= (r * n + got[r * k + i]) * step == places[i];
    }
    if (!right)
        printf("topk: %s, %d of %d x %d by %d: wrong %s\n", nd_dtype_name(dtype), (int)k, (int)rows,
               (int)n, (int)step, nd_last_error()->message);
    nd_release(base);
    return right;
}

/* ---- topk of long rows ---- */

/* The element that the sample of a long row takes from its part i of `sample` elements. */
static int64_t sampled(int64_t i, int64_t sample)
{
    return i * sample + ((int64_t)((uint32_t)i * 0x9e3779b1u >> 16) * sample >> 16);
}

/* How the elements of long rows lie: in any order, rising, falling, all equal, few different, and so
 * that the bound of the sample fails: its elements come before all others, or behind. */
enum { ANY, RISING, FALLING, EQUAL, FEW, FIRST, LAST, LAYS };

static void make_long(int32_t *row, int64_t n, int64_t sample, int lay)
{
    for (int64_t i = 0; i < n; i++)
        row[i] = lay == RISING    ? (int32_t)i
                 : lay == FALLING ? (int32_t)-i
                 : lay == EQUAL   ? 7
                 : lay == FEW     ? (int32_t)below(3)
                                  : (int32_t)(bits() >> 34);
    for (int64_t i = 0; i < n / sample && (lay == FIRST || lay == LAST); i++)
        row[sampled(i, sample)] = (lay == FIRST) != smallest ? INT32_MAX - (int32_t)below(9)
                                                             : INT32_MIN + (int32_t)below(9);
}

static double element(nd_dtype dtype, int64_t i)
{
    return dtype == ND_U8    ? ((uint8_t *)data)[i]
           : dtype == ND_I16 ? ((int16_t *)data)[i]
                             : ((int32_t *)data)[i];
}

static void narrow(nd_dtype dtype, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (dtype == ND_U8)
            ((uint8_t *)data)[i] = (uint8_t)(data[i] >> 9);
        else
            ((int16_t *)data)[i] = (int16_t)(data[i] >> 16);
}

/* got: k positions. They are in order, and there is nothing else before the last of them. */
static int are_first(const int64_t *got, int64_t k, int64_t n)
{
    int64_t before = 0;
    for (int64_t i = 0; i < k; i++)
        if (got[i] < 0 || got[i] >= n || (i > 0 && in_order(&got[i - 1], &got[i]) >= 0))
            return 0;
    for (int64_t i = 0; i < n; i++)
        before += in_order(&i, &got[k - 1]) < 0;
    return before == k - 1;
}

/* Each row of its own layout, so that the bounds of some hold and those of others do not. */
static int long_topk_is_right(int trial)
{
    static int64_t got[33 * 256];
    static const nd_dtype dtypes[] = {ND_I32, ND_I32, ND_U8, ND_I16};
    const nd_dtype dtype = dtypes[trial / 6 % 4];
    const int one = trial % 2, step = trial % 8 == 5 ? 2 : 1;
    const int64_t n = one ? (4 << 20) / step + 37 : (1 << 17) + trial, rows = one ? 1 : 32;
    const int64_t k = trial % 3 ? 1 + below(256) : 1 + below(20), shape[2] = {rows, n * step};
    const int64_t sample = n >> 16 > 64 ? n >> 16 : 64;
    const nd_index cut[2] = {nd_range(0, rows, 1), nd_range(0, n * step, step)};
    nd_array *base;
    smallest = (int)below(2);
    for (int64_t r = 0; r < rows; r++)
        make_long((int32_t *)data + r * n, n, sample, (int)(one ? trial / 2 : r + trial) % LAYS);
    for (int64_t i = rows * n - 1; step > 1 && i >= 0; i--)
        data[i * step] = data[i];
    if (dtype != ND_I32) /* some of each element's bits */
        narrow(dtype, rows * n * step);
    base = array_of(dtype, 2, shape, data);
    int right = base && positions_of(base, cut, k, rows * k, got);
    for (int64_t r = 0; right && r < rows; r++) {
        for (int64_t i = 0; i < n; i++)
            number[i] = element(dtype, (r * n + i) * step);
        right = are_first(got + r * k, k, n);
    }
    if (!right)
        printf("topk: %d of %d x %d, trial %d: wrong %s\n", (int)k, (int)rows, (int)n, trial,
               nd_last_error()->message);
    nd_release(base);
    return right;
}

/* ---- compress and nonzero ---- */

static int64_t count_in(const nd_array *count)
{
    int64_t n = -1;
    return nd_to_host(count, &n, sizeof n) == ND_OK ? n : -1;
}

/* Into room for `room` rows of what the mask selects of n rows of `row` elements: 8 bytes or fewer. */
static int compress_is_right(const nd_array *mask, const uint8_t *flags, int64_t n, int trial)
{
    static const nd_dtype dtypes[] = {ND_I8, ND_I16, ND_I32, ND_I64, ND_C128, ND_I32};
    static unsigned char bytes[MOST * 16], got[MOST * 16];
    const nd_dtype dtype = dtypes[trial % 6];
    const int64_t row = trial % 6 == 5 ? 3 : 1, room = below(2) ? n : n / 3, none = 0;
    const int64_t shape[2] = {n, row}, space[2] = {room, row};
    const size_t nbytes = nd_dtype_size(dtype) * (size_t)row;
    for (size_t i = 0; i < nbytes * (size_t)n; i++)
        bytes[i] = (unsigned char)(bits() >> 20);
    nd_array *a = array_of(dtype, row > 1 ? 2 : 1, shape, bytes);
    nd_array *out = array_of(dtype, row > 1 ? 2 : 1, space, bytes),
             *count = array_of(ND_I64, 0, NULL, &none);
    int right = a && out && count && nd_select_into(a, mask, out, count) == ND_OK &&
                nd_to_host(out, got, (size_t)room * nbytes) == ND_OK;
    int64_t at = 0;
    for (int64_t i = 0; right && i < n; i++)
        if (flags[i]) {
            right &= at >= room ||
                     memcmp(got + (size_t)at * nbytes, bytes + (size_t)i * nbytes, nbytes) == 0;
            at++;
        }
    for (size_t i = (size_t)(at < room ? at : room) * nbytes; right && i < (size_t)room * nbytes;
         i++)
        right &= got[i] == bytes[i]; /* the rest is as it was */
    right = right && count_in(count) == at;
    nd_release(a);
    nd_release(out);
    nd_release(count);
    return right;
}

static int nonzero_is_right(const nd_array *a, const uint8_t *flags, int64_t n)
{
    static int64_t got[MOST];
    const int64_t room = below(2) ? n : n / 3, space[2] = {room, 1}, none = 0;
    nd_array *out = array_of(ND_I64, 2, space, got), *count = array_of(ND_I64, 0, NULL, &none);
    int right = out && count && nd_nonzero_into(a, out, count) == ND_OK &&
                nd_to_host(out, got, (size_t)room * sizeof *got) == ND_OK;
    int64_t at = 0;
    for (int64_t i = 0; right && i < n; i++)
        if (flags[i]) {
            right &= at >= room || got[at] == i;
            at++;
        }
    right = right && count_in(count) == at;
    nd_release(out);
    nd_release(count);
    return right;
}

static int launches_that_count(void)
{
    int (*counts)(void);
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    *(void **)&counts = library ? dlsym(library, "stub_select_counts") : NULL;
    return counts ? counts() : -1;
}

/* Results that have the room of what was counted, and nothing is counted twice. */
static int results_of_their_own_are_right(const nd_array *mask, const uint8_t *flags, int64_t n)
{
    static int64_t places[MOST];
    static uint8_t taken[MOST];
    nd_array *positions = NULL, *selected = NULL;
    const int before = launches_that_count();
    int64_t at = 0;
    int right = before >= 0 && nd_nonzero(mask, &positions) == ND_OK &&
                nd_select(mask, mask, &selected) == ND_OK && launches_that_count() == before + 2;
    for (int64_t i = 0; i < n; i++)
        at += flags[i] != 0;
    right = right && nd_size(positions) == at && nd_size(selected) == at &&
            nd_to_host(positions, places, (size_t)at * sizeof *places) == ND_OK &&
            nd_to_host(selected, taken, (size_t)at) == ND_OK;
    for (int64_t i = 0, k = 0; right && i < n; i++)
        if (flags[i]) {
            right &= places[k] == i && taken[k] == 1;
            k++;
        }
    nd_release(positions);
    nd_release(selected);
    return right;
}

static int selection_is_right(int trial)
{
    static const int64_t lengths[] = {1, 100, 4095, 4096, 4097, 40000, 70001, 20000};
    static uint8_t flags[MOST];
    static float numbers[MOST];
    const int64_t n = lengths[trial % 8], skip = below(2), length = n + skip;
    const nd_index cut[1] = {nd_range(skip, length, 1)};
    for (int64_t i = 0; i < length; i++) {
        flags[i] = trial % 5 == 4 ? (uint8_t)(trial & 1) : (uint8_t)(below(3) == 0);
        numbers[i] = flags[i] ? (float)(1 + i) : i & 1 ? -0.0f : 0.0f;
    }
    nd_array *mask = array_of(ND_BOOL, 1, &length, flags), *m = NULL;
    nd_array *x = array_of(ND_F32, 1, &length, numbers), *y = NULL;
    const int right =
        mask && x && nd_slice(mask, cut, 1, &m) == ND_OK && nd_slice(x, cut, 1, &y) == ND_OK &&
        compress_is_right(m, flags + skip, n, trial) && nonzero_is_right(m, flags + skip, n) &&
        nonzero_is_right(y, flags + skip, n) && results_of_their_own_are_right(m, flags + skip, n);
    if (!right)
        printf("selection %d of %d from %d on: wrong %s\n", trial, (int)n, (int)skip,
               nd_last_error()->message);
    nd_release(mask);
    nd_release(m);
    nd_release(x);
    nd_release(y);
    return right;
}

static int look(void)
{
    int right = 0;
    const char *idle = "";
    if (nd_device_get("cuda:0", &dev) != ND_OK) {
        puts(nd_last_error()->message);
        return 1;
    }
    for (int i = 0; i < TOPKS; i++)
        right += topk_is_right(i);
    for (int i = 0; i < LONGS; i++)
        right += long_topk_is_right(i);
    for (int i = 0; i < SELECTIONS; i++)
        right += selection_is_right(i);
    const int n = idle_kernels("stub_select_idle", &idle);
    printf("selection: %d wrong, idle: %d %s\n", TOPKS + LONGS + SELECTIONS - right, n, idle);
    return 0;
}

static void results(void)
{
    ask(MACHINE("STUB_CUDA_COUNT=1", "STUB_CUDA_WORKS=1", "STUB_CUDA_MEMORY=1",
                "NDOCK_FALLBACK=error"),
        NO_NVML);
    if (!has_text(answer, "selection: 0 wrong, idle: 0",
                  "topk, compress and nonzero find what a sort and a loop find"))
        diag("%s", answer);
}

int main(int argc, char **argv)
{
    static const tap_case cases[] = {{"results", results}};
    if (argc > 1 && strcmp(argv[1], "--look") == 0)
        return look();
    return stubs_main(argc, argv, cases, (int)(sizeof cases / sizeof cases[0]));
}
