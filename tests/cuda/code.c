/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * X6, W12: modules of programs on a GPU: CUDA C++ and PTX, launches, what is wrong with either. */
#include "tests/cuda/gpu.h"

enum { N = 1000 };

/* y[i] = x[i] + 1 for u32, by one block. */
static const char ptx[] = ".version 6.0\n.target sm_50\n.address_size 64\n"
                          ".visible .entry increment(.param .u64 x, .param .u64 y, .param .u32 n)\n"
                          "{\n"
                          "    .reg .pred %p;\n"
                          "    .reg .b32 %i, %n, %v;\n"
                          "    .reg .b64 %x, %y, %at;\n"
                          "    mov.u32 %i, %tid.x;\n"
                          "    ld.param.u32 %n, [n];\n"
                          "    setp.ge.u32 %p, %i, %n;\n"
                          "    @%p ret;\n"
                          "    ld.param.u64 %x, [x];\n"
                          "    ld.param.u64 %y, [y];\n"
                          "    mul.wide.u32 %at, %i, 4;\n"
                          "    add.u64 %x, %x, %at;\n"
                          "    add.u64 %y, %y, %at;\n"
                          "    ld.global.u32 %v, [%x];\n"
                          "    add.u32 %v, %v, 1;\n"
                          "    st.global.u32 [%y], %v;\n"
                          "    ret;\n"
                          "}\n";
static const char source[] =
    "extern \"C\" __global__ void increment(const unsigned *x, unsigned *y, unsigned n)\n"
    "{\n"
    "    if (threadIdx.x < n)\n"
    "        y[threadIdx.x] = x[threadIdx.x] + STEP;\n"
    "}\n"
    "extern \"C\" __global__ void reversed(const unsigned *x, unsigned *y, unsigned n)\n"
    "{\n"
    "    extern __shared__ unsigned turned[];\n"
    "    for (unsigned i = threadIdx.x; i < n; i += blockDim.x)\n"
    "        turned[i] = x[i];\n"
    "    __syncthreads();\n"
    "    for (unsigned i = threadIdx.x; i < n; i += blockDim.x)\n"
    "        y[i] = turned[n - 1 - i];\n"
    "}\n";

static nd_status launch(nd_function *f, const nd_array *x, const nd_array *y, uint32_t n,
                        uint32_t threads, uint64_t shared_bytes)
{
    const nd_launch_arg args[] = {nd_launch_in(x), nd_launch_out(y), nd_launch_bytes(&n, sizeof n)};
    const nd_launch_opts opts = {
        .size = sizeof opts, .grid = {1}, .block = {threads}, .shared_bytes = shared_bytes};
    return nd_launch(f, args, 3, &opts);
}

static nd_array *counting(int64_t n)
{
    uint32_t *data = malloc((size_t)n * sizeof *data);
    for (int64_t i = 0; i < n; i++)
        data[i] = (uint32_t)i;
    nd_array *a = upload(data, ND_U32, n);
    free(data);
    return a;
}

/* y is x, shifted by step, or backwards. */
static int is_right(const nd_array *y, uint32_t n, uint32_t step, int backwards)
{
    uint32_t *data = calloc(n, sizeof *data);
    int right = 1;
    DO(nd_to_host(y, data, n * sizeof *data));
    for (uint32_t i = 0; i < n; i++)
        right &= data[i] == (backwards ? n - 1 - i : i + step);
    free(data);
    return right;
}

static void run(const nd_module_opts *opts, uint32_t step, const char *what)
{
    nd_module *m = NULL;
    nd_function *f = NULL;
    nd_array *x = counting(N), *y = NULL;
    DO(nd_zeros_like(x, 0, &y));
    DO(nd_module_load(gpu, opts, &m));
    if (m)
        DO(nd_module_function(m, "increment", &f));
    if (f)
        DO(launch(f, x, y, N, 1024, 0));
    nd_module_release(m); /* with the launch still queued */
    ok(f && is_right(y, N, step, 0), "X6: a function from %s", what);
    nd_release(x);
    nd_release(y);
}

static void kinds(void)
{
    nd_module_opts opts = {.size = sizeof opts, .kind = ND_CODE_PTX, .code = ptx};
    run(&opts, 1, "PTX");
    opts.kind = ND_CODE_SOURCE;
    opts.code = source;
    opts.options = "-DSTEP=7";
    run(&opts, 7, "CUDA C++");
    nd_kernel_stats before = {.size = sizeof before}, after = before;
    DO(nd_kernel_cache_stats(&before));
    run(&opts, 7, "CUDA C++, again");
    DO(nd_kernel_cache_stats(&after));
    is_int(after.compiles, before.compiles, "W11: it is compiled once");
    opts.options = "-DSTEP=8";
    run(&opts, 8, "CUDA C++ with other options");
}

static void mistakes(void)
{
    nd_module *m = NULL;
    nd_function *f = NULL;
    nd_array *x = counting(N), *y = NULL;
    nd_module_opts opts = {.size = sizeof opts,
                           .kind = ND_CODE_SOURCE,
                           .name = "wrong.cu",
                           .code = "extern \"C\" __global__ void f() { missing(); }"};
    DO(nd_zeros_like(x, 0, &y));
    is_int(nd_module_load(gpu, &opts, &m), ND_ERR_ARGUMENT, "W12: source with a mistake");
    has_text(nd_last_error()->message, "missing", "W12: the compiler's log is in the error");
    is_int(nd_module_load(gpu, &opts, &m), ND_ERR_ARGUMENT, "W11: the failure is remembered");
    has_text(nd_last_error()->message, "missing", "W11: with its log");
    opts.kind = ND_CODE_PTX;
    is_int(nd_module_load(gpu, &opts, &m), ND_ERR_ARGUMENT, "PTX with a mistake");
    diag("%s", nd_last_error()->message);
    opts.kind = ND_CODE_BINARY;
    opts.code = "nonsense, which is no cubin and no fat binary";
    opts.nbytes = 45;
    is_int(nd_module_load(gpu, &opts, &m), ND_ERR_ARGUMENT, "a binary that is none");
    opts.code = "\177ELF\2 cut off, as a copy of half a cubin would be";
    is_int(nd_module_load(gpu, &opts, &m), ND_ERR_ARGUMENT, "a binary that was cut off");
    opts = (nd_module_opts){.size = sizeof opts, .kind = ND_CODE_PTX, .code = ptx};
    DO(nd_module_load(gpu, &opts, &m));
    is_int(nd_module_function(m, "decrement", &f), ND_ERR_ARGUMENT, "no such function");
    DO(nd_module_function(m, "increment", &f));
    const nd_launch_arg args[] = {nd_launch_in(x), nd_launch_out(y)};
    const nd_launch_opts one = {.size = sizeof one, .grid = {1}, .block = {32}};
    nd_function_limits limits = {.size = sizeof limits};
    DO(nd_function_limits_get(f, &limits));
    if (limits.n_arguments != UINT32_MAX) {
        is_int(limits.n_arguments, 3, "the function's arguments are known");
        is_int(nd_launch(f, args, 2, &one), ND_ERR_ARGUMENT, "an argument too few");
        const nd_launch_arg wide[] = {args[0], args[1], nd_launch_bytes("12345678", 8)};
        is_int(nd_launch(f, wide, 3, &one), ND_ERR_ARGUMENT, "an argument too wide");
    } else {
        skip(3, "this driver does not tell the arguments of functions");
    }
    is_int(launch(f, x, y, N, 4096, 0), ND_ERR_ARGUMENT, "too many threads");
    is_int(launch(f, x, y, N, 32, 1 << 30), ND_ERR_ARGUMENT, "too much shared memory");
    DO(launch(f, x, y, N, 1000, 0));
    ok(is_right(y, N, 1, 0), "and all is well afterwards");
    nd_module_release(m);
    nd_release(x);
    nd_release(y);
}

static void shared(void)
{
    enum { MANY = 20000 }; /* 80,000 bytes, more than are had without asking */
    const nd_module_opts opts = {
        .size = sizeof opts, .kind = ND_CODE_SOURCE, .code = source, .options = "-DSTEP=1"};
    nd_module *m = NULL;
    nd_function *f = NULL;
    nd_function_limits limits = {.size = sizeof limits};
    nd_array *x = counting(MANY), *y = NULL;
    DO(nd_zeros_like(x, 0, &y));
    DO(nd_module_get(gpu, &opts, &m));
    DO(nd_module_function(m, "reversed", &f));
    DO(nd_function_limits_get(f, &limits));
    if (limits.shared_bytes < MANY * sizeof(uint32_t)) {
        skip(1, "the device has too little shared memory");
    } else {
        DO(launch(f, x, y, MANY, 1024, MANY * sizeof(uint32_t)));
        ok(is_right(y, MANY, 0, 1), "80,000 bytes of shared memory");
    }
    nd_release(x);
    nd_release(y);
}

GPU_MAIN({"kinds", kinds}, {"mistakes", mistakes}, {"shared", shared})
