/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Running sums of long lines of the CUDA plug-in without a GPU: the kernel is compiled for the host and the driver
 * pretends. Lines of less than a part's tiles, of a group's and of more; a last tile that is not full; several
 * lines at once. Results are compared with those of a loop. */
#include <math.h>
#include <ndock/ndock.h>
#include "tests/cuda/stubs.h"

enum { MOST = 12600000 };
static nd_device *dev;
static int64_t data[MOST], got[MOST];

static int sums_are_right(nd_dtype dtype, int64_t lines, int64_t n)
{
    const int64_t shape[2] = {lines, n};
    const nd_scan_opts opts = {.size = sizeof opts, .axis = 1};
    const nd_layout layout = {.size = sizeof layout, .dtype = dtype, .ndim = 2, .shape = shape};
    nd_array *a = NULL, *sums = NULL;
    for (int64_t i = 0; i < lines * n; i++) {
        const int64_t x = i * 7919 % 1000 - 400;
        if (dtype == ND_I64)
            data[i] = x;
        else
            ((int32_t *)data)[i] = (int32_t)x;
    }
    int right = nd_from_host(&layout, data, dev, &a) == ND_OK &&
                nd_cumulative_sum(a, &opts, &sums) == ND_OK &&
                nd_to_host(sums, got, (size_t)(lines * n) * sizeof *got) == ND_OK;
    for (int64_t line = 0; right && line < lines; line++) {
        int64_t sum = 0;
        for (int64_t i = line * n; i < (line + 1) * n; i++) {
            sum += i * 7919 % 1000 - 400;
            right &= got[i] == sum;
        }
    }
    if (!right)
        printf("%s, %d x %d: wrong %s\n", nd_dtype_name(dtype), (int)lines, (int)n,
               nd_last_error()->message);
    nd_release(a);
    nd_release(sums);
    return right;
}

/* Floats, subnormal ones too, whose sums are exact in double; behind an infinity in the last line, and a NaN,
 * all are such. */
static float float_at(int64_t i, int64_t all, int special)
{
    if (special && i == all - all / 4)
        return INFINITY;
    if (special && i == all - all / 8)
        return NAN;
    return (float)(i * 7919 % 1000 - 400) * (special ? 1 : 0x1p-145f);
}

static int float_sums_are_right(int64_t lines, int64_t n, int special)
{
    const int64_t shape[2] = {lines, n};
    const nd_scan_opts opts = {.size = sizeof opts, .axis = 1};
    const nd_layout layout = {.size = sizeof layout, .dtype = ND_F32, .ndim = 2, .shape = shape};
    nd_array *a = NULL, *sums = NULL;
    for (int64_t i = 0; i < lines * n; i++)
        ((float *)data)[i] = float_at(i, lines * n, special);
    int right = nd_from_host(&layout, data, dev, &a) == ND_OK &&
                nd_cumulative_sum(a, &opts, &sums) == ND_OK &&
                nd_to_host(sums, got, (size_t)(lines * n) * sizeof(float)) == ND_OK;
    for (int64_t line = 0; right && line < lines; line++) {
        double sum = -0.0;
        for (int64_t i = line * n; i < (line + 1) * n; i++) {
            const float is = ((const float *)got)[i];
            sum += (double)float_at(i, lines * n, special);
            right &= is == (float)sum || (is != is && sum != sum);
        }
    }
    if (!right)
        printf("f32, %d x %d, %d: wrong %s\n", (int)lines, (int)n, special,
               nd_last_error()->message);
    nd_release(a);
    nd_release(sums);
    return right;
}

static int look(void)
{
    static const int64_t sizes[][2] = {
        {1, 120004}, {3, 100000}, {1, 198000}, {2, 700004}, {1, 12600000}};
    enum { SIZES = sizeof sizes / sizeof *sizes };
    int wrong = 0;
    const char *idle = "";
    if (nd_device_get("cuda:0", &dev) != ND_OK) {
        puts(nd_last_error()->message);
        return 1;
    }
    for (int i = 0; i < SIZES; i++)
        wrong += !sums_are_right(ND_I32, sizes[i][0], sizes[i][1]) +
                 !sums_are_right(ND_I64, sizes[i][0], sizes[i][1]);
    for (int i = 2; i < SIZES; i++) /* the first two have too few of the longer tiles of floats */
        wrong += !float_sums_are_right(sizes[i][0], sizes[i][1], i % 2);
    const int n = idle_kernels("stub_scan_idle", &idle);
    printf("sums: %d wrong, idle: %d %s\n", wrong, n, idle);
    return 0;
}

static void results(void)
{
    ask(MACHINE("STUB_CUDA_COUNT=1", "STUB_CUDA_WORKS=1", "STUB_CUDA_MEMORY=1",
                "NDOCK_FALLBACK=error"),
        NO_NVML);
    if (!has_text(answer, "sums: 0 wrong, idle: 0", "running sums are those of a loop"))
        diag("%s", answer);
}

int main(int argc, char **argv)
{
    static const tap_case cases[] = {{"results", results}};
    if (argc > 1 && strcmp(argv[1], "--look") == 0)
        return look();
    return stubs_main(argc, argv, cases, (int)(sizeof cases / sizeof cases[0]));
}
