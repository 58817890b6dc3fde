/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Values sorted at every length that networks and partitions tell apart, with many that are equal,
 * zeros of both signs, NaNs of many bits and denormals, in both directions, against an insertion
 * of elements by an order of their bits; and where the thread takes denormals for zeros. */
#include <ndock/ndock.h>
#include <stdbool.h>
#include "tests/tap.h"
#if defined(__SSE__)
#include <xmmintrin.h>
#endif

enum { LONGEST = 1500 };
typedef struct {
    uint64_t bits;
    int64_t key;
} element;

static uint64_t seed = 7;
static uint64_t draw(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed * UINT64_C(0x2545f4914f6cdd1d);
}

/* Order of floats of so many bits, zeros alike and NaNs alike above all: of their bits' integers,
 * those of negative ones turned. */
static int64_t key_of(uint64_t bits, int width, bool is_float)
{
    const int64_t x = width == 16   ? (int16_t)(uint16_t)bits
                      : width == 32 ? (int32_t)(uint32_t)bits
                                    : (int64_t)bits;
    const int64_t infinity = width == 32 ? 0x7f800000 : INT64_C(0x7ff0000000000000);
    const uint64_t size = bits & (UINT64_MAX >> (65 - width));
    if (!is_float)
        return x;
    if ((int64_t)size > infinity)
        return INT64_MAX;
    return x < 0 ? -(int64_t)size : (int64_t)size;
}

/* Of four kinds of rows: all bits, few values, denormals and zeros, special values among others. */
static uint64_t bits_of(int kind, int width, bool is_float)
{
    static const double some[] = {0.0, -0.0, 1.5, -1.5, INFINITY, -INFINITY};
    const uint64_t x = draw(), mask = UINT64_MAX >> (64 - width);
    const uint64_t sign = x >> 63 << (width - 1);
    if (kind == 0 || (kind == 3 && x >> 8 & 1))
        return x & mask;
    if (kind == 1)
        return is_float
                   ? ((width == 32 ? 0x3f800000 : UINT64_C(0x3ff0000000000000)) + (x & 3)) ^ sign
                   : x & 3;
    if (kind == 2)
        return ((x & 7) ^ sign) & mask;
    const double value = some[x % 6];
    const float narrow = (float)value;
    uint32_t u4;
    uint64_t u8;
    memcpy(&u4, &narrow, 4);
    memcpy(&u8, &value, 8);
    return width == 64 ? u8 : u4 & mask;
}

static void insert_all(element *x, int n, bool descending)
{
    for (int i = 1; i < n; i++) {
        const element e = x[i];
        int at = i;
        for (; at > 0 && (descending ? x[at - 1].key < e.key : x[at - 1].key > e.key); at--)
            x[at] = x[at - 1];
        x[at] = e;
    }
}

static void put(void *row, int i, int width, uint64_t bits)
{
    if (width == 16)
        ((uint16_t *)row)[i] = (uint16_t)bits;
    else if (width == 32)
        ((uint32_t *)row)[i] = (uint32_t)bits;
    else
        ((uint64_t *)row)[i] = bits;
}

/* Whether a row of n is sorted as it should be. */
static bool sorts(nd_dtype dtype, int n, int kind, bool descending)
{
    const bool is_float = dtype == ND_F32 || dtype == ND_F64;
    const int width = (int)nd_dtype_size(dtype) * 8;
    static element x[LONGEST];
    static uint64_t row[LONGEST], want[LONGEST], got[LONGEST];
    const int64_t shape[1] = {n};
    const nd_layout layout = {.size = sizeof layout, .dtype = dtype, .ndim = 1, .shape = shape};
    const nd_sort_opts opts = {.size = sizeof opts, .axis = -1, .descending = descending};
    const size_t nbytes = (size_t)n * nd_dtype_size(dtype);
    nd_array *a = NULL, *r = NULL;
    for (int i = 0; i < n; i++) {
        x[i].bits = bits_of(kind, width, is_float);
        x[i].key = key_of(x[i].bits, width, is_float);
        put(row, i, width, x[i].bits);
    }
    insert_all(x, n, descending);
    for (int i = 0; i < n; i++)
        put(want, i, width, x[i].bits);
    const bool fine = nd_from_host(&layout, row, NULL, &a) == ND_OK &&
                      nd_sort(a, &opts, &r) == ND_OK && nd_to_host(r, got, nbytes) == ND_OK &&
                      memcmp(got, want, nbytes) == 0;
    nd_release(a);
    nd_release(r);
    if (!fine)
        diag("%s, %d elements of kind %d, %s", nd_dtype_name(dtype), n, kind,
             descending ? "descending" : "ascending");
    return fine;
}

static const nd_dtype dtypes[] = {ND_F32, ND_F64, ND_I16, ND_I32, ND_I64};

static void every_length(void)
{
    int wrong = 0;
    for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++)
        for (int n = 1; n <= LONGEST; n += n < 300 ? 1 : 67)
            for (int kind = 0; kind < 4; kind++)
                wrong += !sorts(dtypes[d], n, kind, (n + kind) % 2);
    is_int(wrong, 0, "rows of up to 1,500 elements are sorted");
}

static void denormals_as_zeros(void)
{
#if defined(__SSE__)
    const unsigned mode = _mm_getcsr();
    int wrong = 0;
    _mm_setcsr(mode | 0x8040);
    for (int n = 2; n < LONGEST; n += 113)
        for (int d = 0; d < 2; d++)
            wrong += !sorts(dtypes[d], n, 2, n % 2);
    is_int(_mm_getcsr() & 0x8040, 0x8040, "the thread's mode stays");
    _mm_setcsr(mode);
    is_int(wrong, 0, "denormals are told from zeros where the thread takes them for zeros");
#else
    skip(2, "no such mode on this processor");
#endif
}

TAP_MAIN({"every length", every_length}, {"denormals as zeros", denormals_as_zeros})
