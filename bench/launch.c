/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Small work from C on a CUDA device, beside the floor of the same run: a plain launch of an empty
 * kernel, and ours. Prints one line a figure; `launch --json` one JSON object.
 *
 * Every figure is the median of ROUNDS turns, the contenders taking turns; a turn enqueues COUNT
 * operations and then waits. Enqueue is the host's time up to the wait. */
#include <cuda.h>
#include <dlfcn.h>
#include <ndock/ndock.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROUNDS = 31, COUNT = 500, FIGURES = 8 };

/* An empty kernel with parameters as large as those of a dense elementwise one. */
static const char empty_kernel[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                                   ".visible .entry empty(.param .align 8 .b8 p[88])\n{ ret; }\n";

static struct {
    __typeof__(cuModuleLoadData) *load;
    __typeof__(cuModuleGetFunction) *get;
    __typeof__(cuLaunchKernel) *launch;
    __typeof__(cuCtxSynchronize) *sync;
    __typeof__(cuDevicePrimaryCtxRetain) *retain;
    __typeof__(cuCtxSetCurrent) *set;
} driver;
static CUfunction plain;
static nd_device *device;
static nd_array *a, *b, *dst;

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void must(int bad, const char *what)
{
    if (bad) {
        fprintf(stderr, "launch: %s: %s\n", what, nd_last_error()->message);
        exit(1);
    }
}

static void launch_plain(void)
{
    static char p[88];
    void *arguments[] = {p};
    driver.launch(plain, 1, 1, 1, 256, 1, 1, 0, CU_STREAM_LEGACY, arguments, NULL);
}
static void add_into(void)
{
    must(nd_add_into(a, b, dst) != ND_OK, "add_into");
}
static void add_new(void)
{
    nd_array *out;
    must(nd_add(a, b, &out) != ND_OK, "add");
    nd_release(out);
}
static void add_scalar(void)
{
    nd_array *out;
    must(nd_add_scalar(a, nd_float(1), &out) != ND_OK, "add_scalar");
    nd_release(out);
}
static void sum_all(void)
{
    nd_array *out;
    must(nd_sum(a, NULL, &out) != ND_OK, "sum");
    nd_release(out);
}
static void alloc(int64_t n)
{
    nd_array *out;
    must(nd_empty(device, ND_U8, 1, &n, &out) != ND_OK, "empty");
    nd_release(out);
}
static void alloc_1k(void)
{
    alloc(1024);
}
static void alloc_64m(void)
{
    alloc(64 << 20);
}

static const struct {
    const char *name;
    void (*fn)(void);
} figures[] = {{"plain launch", launch_plain},
               {"add into, n = 16", add_into},
               {"add, n = 16", add_new},
               {"add scalar, n = 16", add_scalar},
               {"sum, n = 16", sum_all},
               {"empty + release, 1 KiB", alloc_1k},
               {"empty + release, 64 MiB", alloc_64m}};
enum { N = sizeof figures / sizeof *figures };

static int ascending(const void *x, const void *y)
{
    double p = *(const double *)x, q = *(const double *)y;
    return (p > q) - (p < q);
}

static void open_driver(void)
{
    CUmodule module;
    CUcontext context;
    void *cuda = dlopen("libcuda.so.1", RTLD_NOW);
    must(!cuda, "no CUDA driver");
    *(void **)&driver.load = dlsym(cuda, "cuModuleLoadData");
    *(void **)&driver.get = dlsym(cuda, "cuModuleGetFunction");
    *(void **)&driver.launch = dlsym(cuda, "cuLaunchKernel");
    *(void **)&driver.sync = dlsym(cuda, "cuCtxSynchronize");
    *(void **)&driver.retain = dlsym(cuda, "cuDevicePrimaryCtxRetain");
    *(void **)&driver.set = dlsym(cuda, "cuCtxSetCurrent");
    must(driver.retain(&context, 0) || driver.set(context), "no context");
    must(driver.load(&module, empty_kernel) || driver.get(&plain, module, "empty"), "no kernel");
}

static void turn(int i, double *enqueue, double *total)
{
    double begin = now_ns();
    for (int k = 0; k < COUNT; k++)
        figures[i].fn();
    *enqueue = (now_ns() - begin) / COUNT;
    driver.sync();
    *total = (now_ns() - begin) / COUNT;
}

/* Milliseconds to load a module from source: one that nobody has compiled yet, then the same from
 * the kernel cache. The sources differ from those of any run before, so that the first is what it
 * says. */
static void module_from_source(double *cold, double *cached)
{
    enum { TURNS = 15 };
    double ms[2][TURNS];
    unsigned long long never_before = (unsigned long long)time(NULL) * TURNS;
    for (int i = 0; i < TURNS; i++) {
        char source[256];
        nd_module *m;
        nd_module_opts opts = {.size = sizeof opts, .kind = ND_CODE_SOURCE, .code = source};
        snprintf(
            source, sizeof source,
            "extern \"C\" __global__ void f(float *y, const float *x, int n)\n"
            "{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = x[i] + %lluull; }",
            never_before + (unsigned)i);
        for (int k = 0; k < 2; k++) {
            double begin = now_ns();
            must(nd_module_load(device, &opts, &m) != ND_OK, "module_load");
            ms[k][i] = (now_ns() - begin) * 1e-6;
            nd_module_release(m);
        }
    }
    qsort(ms[0], TURNS, sizeof(double), ascending);
    qsort(ms[1], TURNS, sizeof(double), ascending);
    *cold = ms[0][TURNS / 2];
    *cached = ms[1][TURNS / 2];
}

int main(int argc, char **argv)
{
    double cold, cached;
    static double enqueue[N][ROUNDS], total[N][ROUNDS];
    int64_t n = 16;
    int json = argc > 1 && strcmp(argv[1], "--json") == 0;
    must(nd_device_get("cuda:0", &device) != ND_OK, "cuda:0");
    must(nd_ones(device, ND_F32, 1, &n, &a) || nd_ones(device, ND_F32, 1, &n, &b) ||
             nd_ones(device, ND_F32, 1, &n, &dst),
         "arrays");
    open_driver();
    for (int i = 0; i < N; i++) /* warm up */
        turn(i, &enqueue[i][0], &total[i][0]);
    for (int r = 0; r < ROUNDS; r++)
        for (int i = 0; i < N; i++)
            turn(i, &enqueue[i][r], &total[i][r]);
    for (int i = 0; i < N; i++) {
        qsort(enqueue[i], ROUNDS, sizeof(double), ascending);
        qsort(total[i], ROUNDS, sizeof(double), ascending);
    }
    for (int i = 0; i < N; i++) {
        double e = enqueue[i][ROUNDS / 2], t = total[i][ROUNDS / 2];
        if (json)
            printf("%s\"%s\": {\"enqueue_ns\": %.1f, \"total_ns\": %.1f}", i ? ", " : "{",
                   figures[i].name, e, t);
        else
            printf("%-26s enqueue %8.1f ns  %5.2f x plain   with the wait %8.1f ns\n",
                   figures[i].name, e, e / enqueue[0][ROUNDS / 2], t);
    }
    module_from_source(&cold, &cached);
    printf(json ? ", \"module from source\": {\"cold_ms\": %.3f, \"cached_ms\": %.3f}}\n"
                : "module from source         compiled %.1f ms, from the cache %.3f ms\n",
           cold, cached);
    nd_release(a);
    nd_release(b);
    nd_release(dst);
    return 0;
}
