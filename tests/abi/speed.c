/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Group P: figures, to be read and compared; none fails. The best of several runs each. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "abi.h"

/* Seconds of the best of several calls of fn; about a tenth of a second in all, 3 calls at least.
 */
static double best(void (*fn)(void *arg), void *arg)
{
    double least = 1e30, end = abi_seconds() + 0.1;
    for (int i = 0; i < 3 || abi_seconds() < end; i++) {
        double begin = abi_seconds();
        fn(arg);
        double took = abi_seconds() - begin;
        least = took < least ? took : least;
    }
    return least;
}

static void settle(void)
{
    abi_call(abi.p.sync(abi.dev, NULL), "sync");
}

enum { CALLS = 200 };

static void sync_many(void *arg)
{
    (void)arg;
    for (int i = 0; i < CALLS; i++)
        abi_call(abi.p.sync(abi.dev, NULL), "sync");
}

static void write_many(void *mem)
{
    char byte = 1;
    for (int i = 0; i < CALLS; i++)
        abi_write(NULL, mem, 0, &byte, 1);
    settle();
}

static void read_many(void *mem)
{
    char byte = 1;
    for (int i = 0; i < CALLS; i++)
        abi_read(NULL, mem, 0, &byte, 1);
}

static void copy_many(void *mem)
{
    for (int i = 0; i < CALLS; i++)
        abi_copy(NULL, mem, 0, mem, 32, 4);
    settle();
}

static void calls(void)
{
    ndp_mem *m = abi_alloc(64);
    char bytes[64] = "";
    abi_write(NULL, m, 0, bytes, sizeof bytes);
    abi_diag("sync %.2f us", best(sync_many, NULL) / CALLS * 1e6);
    abi_diag("write of a byte %.2f us", best(write_many, m) / CALLS * 1e6);
    abi_diag("read of a byte %.2f us", best(read_many, m) / CALLS * 1e6);
    if (abi.p.copy)
        abi_diag("copy of 4 bytes %.2f us", best(copy_many, m) / CALLS * 1e6);
}

static void alloc_one(void *nbytes)
{
    abi_free(abi_alloc(*(const uint64_t *)nbytes));
}

static void alloc(void)
{
    for (uint64_t n = 256; n <= UINT64_C(1) << 26; n <<= 6)
        abi_diag("alloc and free of %llu bytes %.2f us", (unsigned long long)n,
                 best(alloc_one, &n) * 1e6);
}

typedef struct {
    ndp_mem *a, *b;
    void *host;
    uint64_t n;
} transfer;

static void write_all(void *arg)
{
    transfer *t = arg;
    abi_write(NULL, t->a, 0, t->host, t->n);
    settle();
}

static void read_all(void *arg)
{
    transfer *t = arg;
    abi_read(NULL, t->a, 0, t->host, t->n);
}

static void copy_all(void *arg)
{
    transfer *t = arg;
    abi_copy(NULL, t->b, 0, t->a, 0, t->n);
    settle();
}

static void bandwidth(void)
{
    for (uint64_t n = 4096; n <= UINT64_C(1) << 26 && n <= abi.info.max_alloc_bytes / 4; n <<= 7) {
        transfer t = {abi_alloc(n), abi_alloc(n), abi_bytes(n), n};
        double gb = (double)n * 1e-9;
        write_all(&t);
        abi_diag("%llu bytes: write %.2f GB/s, read %.2f GB/s", (unsigned long long)n,
                 gb / best(write_all, &t), gb / best(read_all, &t));
        if (abi.p.copy)
            abi_diag("%llu bytes: copy %.2f GB/s (%.2f read and written)", (unsigned long long)n,
                     gb / best(copy_all, &t), 2 * gb / best(copy_all, &t));
        abi_free(t.a);
        abi_free(t.b);
        free(t.host);
    }
}

/* ---- kernels ---- */
typedef struct {
    const ndp_kernel *kernel;
    ndp_call call;
} job;

static void run_job(void *arg)
{
    job *j = arg;
    abi_call(j->kernel->run(j->kernel, NULL, &j->call), "run");
    settle();
}

/* The device's kernel for the call, with its scratch; without one, the check is skipped. */
static job find_job(const ndp_call *call, const char *name)
{
    char why[256] = "";
    job j = {.call = *call};
    static int64_t n_scratch, one = 1;
    if (!abi.op.find)
        abi_skip("the device has no ndp.op/1");
    if (abi.op.find(abi.dev, call, &j.kernel, why, sizeof why) != NDP_OK)
        abi_skip("no %s of f32: %s", name, why);
    n_scratch = j.kernel->scratch ? (int64_t)j.kernel->scratch(j.kernel, call) : 0;
    if (n_scratch)
        j.call.scratch = (ndp_view){
            abi_alloc((uint64_t)n_scratch), 0, &n_scratch, &one, NDP_U8, 1, NDP_VIEW_CONTIGUOUS};
    return j;
}

static void add(void)
{
    static int64_t n = 1 << 24, one = 1;
    if (abi.info.max_alloc_bytes < 4 * (uint64_t)n)
        abi_skip("the device has no room for 64 MiB");
    ndp_view v[3];
    for (int i = 0; i < 3; i++)
        v[i] = (ndp_view){abi_alloc(4 * (uint64_t)n), 0, &n, &one, NDP_F32, 1, NDP_VIEW_CONTIGUOUS};
    float *ones = abi_bytes(4 * (size_t)n);
    abi_write(NULL, v[0].mem, 0, ones, 4 * (uint64_t)n);
    abi_write(NULL, v[1].mem, 0, ones, 4 * (uint64_t)n);
    ndp_call call = {
        .size = sizeof call, .op = NDP_OP_add, .n_in = 2, .n_out = 1, .in = v, .out = v + 2};
    job j = find_job(&call, "add");
    run_job(&j);
    abi_diag("add of 2^24 f32 %.1f GB/s read and written", 12e-9 * (double)n / best(run_job, &j));
}

/* A slow plug-in on a busy machine has to end within the time of a check. */
enum { MATMUL_SECONDS = 10, MATMUL_CALLS = 4 };

static void matmul(void)
{
    static const int64_t sizes[] = {128, 512, 1024};
    double flops = 0;
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        int64_t n = sizes[k], shape[2] = {n, n}, stride[2] = {n, 1};
        double work = 2 * (double)n * (double)n * (double)n;
        if (k && MATMUL_CALLS * work > MATMUL_SECONDS * flops) {
            abi_diag("larger ones are left out: %lld x %lld would take %.0f s a product",
                     (long long)n, (long long)n, work / flops);
            break;
        }
        ndp_view v[3];
        float *values = abi_bytes(4 * (size_t)(n * n));
        for (int i = 0; i < 3; i++) {
            v[i] = (ndp_view){abi_alloc(4 * (uint64_t)(n * n)),
                              0,
                              shape,
                              stride,
                              NDP_F32,
                              2,
                              NDP_VIEW_CONTIGUOUS};
            abi_write(NULL, v[i].mem, 0, values, 4 * (uint64_t)(n * n));
        }
        ndp_matmul params = {.size = sizeof params, .alpha = 1};
        ndp_call call = {.size = sizeof call,
                         .op = NDP_OP_matmul,
                         .n_in = 2,
                         .n_out = 1,
                         .in = v,
                         .out = v + 2,
                         .params = &params};
        job j = find_job(&call, "matmul");
        run_job(&j);
        flops = work / best(run_job, &j);
        abi_diag("matmul of %lld x %lld f32 %.1f GFLOP/s", (long long)n, (long long)n,
                 1e-9 * flops);
    }
}

static void opening(void)
{
    abi_close();
    double begin = abi_seconds();
    abi_call(abi.p.open(0, &abi.dev), "open(0)");
    abi_diag("open of a device that was open before %.3f ms", (abi_seconds() - begin) * 1e3);
}

const abi_check abi_speed_checks[] = {{"P.open", "time to open", opening, ABI_DEVICE},
                                      {"P.calls", "time per call", calls, ABI_DEVICE},
                                      {"P.alloc", "time to allocate", alloc, ABI_DEVICE},
                                      {"P.bandwidth", "bytes per second", bandwidth, ABI_DEVICE},
                                      {"P.add", "an elementwise kernel", add, ABI_DEVICE},
                                      {"P.matmul", "matrix products", matmul, ABI_DEVICE},
                                      {NULL, NULL, NULL, 0}};
