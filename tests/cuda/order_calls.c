/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Order statistics and partitions of the CUDA plug-in without a GPU: the kernels of
 * backends/cuda/sort/order.cu are compiled for the host and the driver pretends. Rows of random bits,
 * or of few values, of every dtype and several layouts are compared with the same rows sorted here as
 * long doubles, which have all elements. Every kernel must have run. */
#include <math.h>
#include <ndock/ndock.h>
#include "core/ops/ops.h"
#include "tests/cuda/stubs.h"

static const nd_dtype dtypes[] = {ND_BOOL, ND_I8,  ND_U8,  ND_I16, ND_U16,  ND_I32, ND_U32,
                                  ND_I64,  ND_U64, ND_F16, ND_F32, ND_BF16, ND_F64};
enum { DTYPES = sizeof dtypes / sizeof *dtypes, TRIALS = 4 * DTYPES, MOST = 1 << 16 };

static nd_device *dev, *cpu;
static uint64_t state = 20261125;
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

/* ---- elements as numbers ---- */

static nd_status numbers_of(const nd_array *a, int64_t n, long double *out)
{
    nd_array *near = NULL, *wide = NULL;
    union {
        int64_t i;
        uint64_t u;
        double f;
    } *x = calloc((size_t)n + 1, sizeof *x);
    const nd_dtype as = a->dtype == ND_U64                    ? ND_U64
                        : nd__kind(a->dtype) == ND_KIND_FLOAT ? ND_F64
                                                              : ND_I64;
    nd_status status = nd_to_device(a, cpu, &near);
    status = status == ND_OK ? nd_astype(near, as, &wide) : status;
    status = status == ND_OK ? nd_to_host(wide, x, (size_t)n * sizeof *x) : status;
    for (int64_t i = 0; i < n; i++)
        out[i] = as == ND_U64   ? (long double)x[i].u
                 : as == ND_F64 ? (long double)x[i].f
                                : (long double)x[i].i;
    nd_release(near);
    nd_release(wide);
    free(x);
    return status;
}

static int by_number(const void *a, const void *b)
{
    const long double x = *(const long double *)a, y = *(const long double *)b;
    if (isnan(x) || isnan(y))
        return isnan(x) - isnan(y);
    return (x > y) - (x < y);
}

static int same(long double x, long double y)
{
    return x == y || (isnan(x) && isnan(y));
}

/* ---- rows ---- */

typedef struct {
    nd_array *base, *a; /* a: (rows, n), every `step`-th element of longer rows of base */
    int64_t rows, n, step;
    long double *e;
} rows;

static nd_status make_rows(rows *r, nd_dtype dtype, int few)
{
    static uint64_t room[MOST];
    const int64_t shape[2] = {r->rows, r->n * r->step};
    const size_t nbytes = nd_dtype_size(dtype), count = (size_t)(shape[0] * shape[1]);
    const nd_layout layout = {.size = sizeof layout, .dtype = dtype, .ndim = 2, .shape = shape};
    const nd_index cut[2] = {nd_range(0, r->rows, 1), nd_range(0, shape[1], r->step)};
    unsigned char *data = (unsigned char *)room;
    for (size_t i = 0; i < count * nbytes; i += sizeof(uint64_t)) {
        const uint64_t x = bits();
        memcpy(data + i, &x, sizeof x);
    }
    for (size_t i = 0; i < count; i++)
        if (dtype == ND_BOOL)
            data[i] &= 1;
        else if (few && i >= 5)
            memcpy(data + i * nbytes, data + (size_t)below(5) * nbytes, nbytes);
    nd_status status = nd_from_host(&layout, data, dev, &r->base);
    status = status == ND_OK ? nd_slice(r->base, cut, 2, &r->a) : status;
    r->e = calloc(count + 1, sizeof *r->e);
    status = status == ND_OK ? numbers_of(r->base, (int64_t)count, r->e) : status;
    for (int64_t i = 0; i < r->rows * r->n; i++)
        r->e[i] = r->e[i * r->step];
    return status;
}

static void free_rows(rows *r)
{
    nd_release(r->base);
    nd_release(r->a);
    free(r->e);
}

static int statistics_are_right(const rows *r, int64_t first, int64_t k)
{
    nd_array *found = NULL;
    long double *sorted = calloc((size_t)r->n, sizeof *sorted),
                *got = calloc((size_t)(r->rows * k) + 1, sizeof *got);
    int right = nd__order_statistics(r->a, first, k, &found) == ND_OK &&
                numbers_of(found, r->rows * k, got) == ND_OK;
    for (int64_t row = 0; right && row < r->rows; row++) {
        memcpy(sorted, r->e + row * r->n, (size_t)r->n * sizeof *sorted);
        qsort(sorted, (size_t)r->n, sizeof *sorted, by_number);
        for (int64_t i = 0; i < k; i++)
            right &= same(got[row * k + i], sorted[first + i]);
    }
    nd_release(found);
    free(sorted);
    free(got);
    return right;
}

/* Lesser ones, equals, greater ones, each in the order they had. */
static int partition_is_right(const rows *r, int64_t kth)
{
    nd_array *found = NULL;
    const int64_t all = r->rows * r->n;
    long double *sorted = calloc((size_t)r->n, sizeof *sorted),
                *got = calloc((size_t)all, sizeof *got);
    int right = nd__partition(ND_OP_partition, r->a, kth, -1, &found) == ND_OK &&
                numbers_of(found, all, got) == ND_OK;
    for (int64_t row = 0; right && row < r->rows; row++) {
        const long double *from = r->e + row * r->n, *to = got + row * r->n;
        memcpy(sorted, from, (size_t)r->n * sizeof *sorted);
        qsort(sorted, (size_t)r->n, sizeof *sorted, by_number);
        int64_t at = 0;
        for (int side = -1; side <= 1; side++)
            for (int64_t i = 0; i < r->n; i++)
                if (by_number(&from[i], &sorted[kth]) == side)
                    right &= same(to[at++], from[i]);
    }
    nd_release(found);
    free(sorted);
    free(got);
    return right;
}

static int trial(int i)
{
    static const int64_t lengths[] = {513, 1000, 2048, 700, 4100, 8193, 514, 9000};
    const nd_dtype dtype = dtypes[i % DTYPES];
    rows r = {.n = lengths[i % 8], .step = 1 + below(2)};
    r.rows = r.n > 8192 ? 1 : 1 + below(3);
    int right = make_rows(&r, dtype, below(2) == 0) == ND_OK;
    const int64_t k = below(3) ? 1 + below(2) : 1 + below(11), first = below(r.n - k + 1);
    right = right && statistics_are_right(&r, first, k) && statistics_are_right(&r, r.n - k, k) &&
            (r.rows > 1 || partition_is_right(&r, first));
    if (!right)
        printf("%s, %d x %d by %d, %d from %d on: wrong %s\n", nd_dtype_name(dtype), (int)r.rows,
               (int)r.n, (int)r.step, (int)k, (int)first, nd_last_error()->message);
    free_rows(&r);
    return right;
}

static int look(void)
{
    int right = 0;
    const char *idle = "";
    if (nd_device_get("cuda:0", &dev) != ND_OK || nd_device_get("cpu", &cpu) != ND_OK) {
        puts(nd_last_error()->message);
        return 1;
    }
    const int trials = getenv("NDOCK_TEST_SLICE") ? TRIALS / 2 : TRIALS;
    for (int i = 0; i < trials; i++)
        right += trial(i);
    const int n = idle_kernels("stub_order_idle", &idle);
    printf("order: %d wrong, idle: %d %s\n", trials - right, n, idle);
    return 0;
}

static void results(void)
{
    ask(MACHINE("STUB_CUDA_COUNT=1", "STUB_CUDA_WORKS=1", "STUB_CUDA_MEMORY=1",
                "NDOCK_FALLBACK=error"),
        NO_NVML);
    if (!has_text(answer, "order: 0 wrong, idle: 0",
                  "elements of the order and partitions are those of sorted rows"))
        diag("%s", answer);
}

int main(int argc, char **argv)
{
    static const tap_case cases[] = {{"results", results}};
    if (argc > 1 && strcmp(argv[1], "--look") == 0)
        return look();
    return stubs_main(argc, argv, cases, (int)(sizeof cases / sizeof cases[0]));
}
